"""What Numba has found out about an operator of some types is not looked for again while a kernel is compiled.

For every `a + b` and `a[i]` Numba asks dozens of implementations, one after the other, whether they take these types,
and writes down why they do not. A kernel has hundreds of such places and a few dozen different ones. Their answers
depend on the types alone, so that the first is kept: a third of a compilation's time was spent on the others.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from numba.core.types import functions

from taxolearn.kernels._called import TRIED

_OPERATORS = "_operator"  # the module of operator.add and its like
_FUNCTION: Any = functions.BaseFunction
_found: dict[tuple[Any, ...], tuple[Any, Any]] = {}


@contextlib.contextmanager
def remembered_operators() -> Iterator[None]:
    """Inside this context Numba looks up the signature of an operator once; whoever else compiles is not concerned."""
    if not TRIED:
        yield
        return
    look_up = _FUNCTION.get_call_type

    def remembered(self: Any, context: Any, args: Any, kws: Any) -> Any:
        if kws or getattr(self.typing_key, "__module__", None) != _OPERATORS:
            return look_up(self, context, args, kws)
        key = (context, self.typing_key, args)
        if key not in _found:
            signature = look_up(self, context, args, kws)
            _found[key] = signature, self.get_impl_key(signature)
        signature, implementation = _found[key]
        self._impl_keys[signature.args] = implementation
        return signature

    _FUNCTION.get_call_type = remembered
    try:
        yield
    finally:
        _FUNCTION.get_call_type = look_up
