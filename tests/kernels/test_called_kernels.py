"""A kernel that another one calls is a part of it, and does what it does in plain Python."""

from __future__ import annotations

import gc
import operator
import os
from typing import Any

import numpy as np
import pytest
from numba.core import event

from taxolearn.kernels import _called, _jit

compiled_only = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")


doubled_to: Any = None  # each test makes its own


def _doubled_to(values, size, out):
    if size > values.shape[0]:
        raise ValueError("more than there are")
    for i in range(size):
        out[i] = 2.0 * values[i]
    return out[:size]


def _sum_of_doubled(values, size):
    found = doubled_to(values, size, np.empty(values.shape[0]))
    total = 0.0
    for value in found:
        total += value
    return total


@pytest.fixture(params=["parts", "as Numba does"])
def made(request, monkeypatch, tmp_path):
    """The inner and the outer kernel, nothing of them compiled; with a version of Numba that was tried, and another."""
    if request.param == "as Numba does":
        monkeypatch.setattr(_called, "PART_OPTIONS", {})
        monkeypatch.setattr(_jit, "WHOLE_OPTIONS", {})
    monkeypatch.setattr(_jit, "_cache_folder", lambda: tmp_path)
    monkeypatch.setitem(globals(), "doubled_to", _jit.kernel(_doubled_to))
    return doubled_to, _jit.kernel(_sum_of_doubled)


def test_calls_from_kernels_and_from_python_do_the_same(made):
    inner, outer = made
    values = np.array([1.0, 2.5, 4.0])
    assert outer(values, 2) == 7.0
    np.testing.assert_array_equal(inner(values, 2, np.empty(3)), [2.0, 5.0])
    assert outer(values, 3) == 15.0


def test_an_error_in_a_part_is_raised_whether_compiled_now_or_kept(made):
    _, outer = made
    for kernel in (outer, _jit.kernel(_sum_of_doubled)):
        with pytest.raises(ValueError, match="more than there are"):
            kernel(np.ones(3), 4)
        assert kernel(np.ones(3), 3) == 6.0


@compiled_only
@pytest.mark.parametrize("made", ["parts"], indirect=True)
def test_a_part_has_no_machine_code_of_its_own(made):
    inner, outer = made
    assert outer(np.ones(3), 3) == 6.0
    assert [len(kernel.signatures) for kernel in (inner, outer)] == [0, 1]
    libraries = {type(cres.library).__name__ for cres in outer.overloads.values()}
    assert libraries == {"JITCodeLibrary"}
    seen: list[str] = []

    class Seen(event.Listener):
        def on_start(self, event):
            seen.append(event.data["dispatcher"].py_func.__name__)

        def on_end(self, event):
            pass

    with event.install_listener("numba:compile", Seen()):
        assert _jit.kernel(_sum_of_doubled)(np.ones(3), 3) == 6.0  # it was kept, with its part
        inner(np.ones(3), 3, np.empty(3))
    assert seen == ["_doubled_to"]


@compiled_only
@pytest.mark.usefixtures("made")
def test_garbage_is_looked_for_again_after_a_compilation_and_after_one_that_failed():
    def no_such_thing(x):
        return x.no_such_thing

    collecting = gc.isenabled()
    try:
        gc.enable()
        with pytest.raises(Exception, match="no_such_thing"):
            _jit.kernel(no_such_thing)(1.0)
        assert gc.isenabled()
        gc.disable()
        assert _jit.kernel(_sum_of_doubled)(np.ones(2), 2) == 4.0
        assert not gc.isenabled()  # as it was
    finally:
        (gc.enable if collecting else gc.disable)()


@compiled_only
def test_an_operator_is_looked_up_once_and_only_while_kernels_are_compiled():
    from numba import njit
    from numba.core.types import functions

    before = functions.BaseFunction.get_call_type
    looked_up: list[Any] = []

    def counted(self, context, args, kws):
        looked_up.append((self.typing_key, args))
        return before(self, context, args, kws)

    def polynomial(x, y):
        return x * y + x * y * (x + y) + x * (y + x)

    functions.BaseFunction.get_call_type = counted
    try:
        assert _jit.kernel(polynomial)(2.0, np.float32(3.0)) == 46.0
        assert functions.BaseFunction.get_call_type is counted
        once = [call for call in looked_up if call[0] is operator.mul]
        assert len(once) == len(set(once))
        looked_up.clear()
        assert njit(polynomial)(2.0, 3) == 46.0  # not a kernel of ours: Numba does as it always does
        every = [call for call in looked_up if call[0] is operator.mul]
        assert len(every) > len(set(every))
    finally:
        functions.BaseFunction.get_call_type = before
