"""What every test run needs before the first import."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

if os.environ.get("NUMBA_DISABLE_JIT") != "1":
    # kernels are kept between runs, not among those of the user
    os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / "taxolearn-test-kernels"))

# a shell that starts the tests in the background makes them deaf to Ctrl-C, and tests of Ctrl-C would wait for ever
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# `make test` says the same thing twice about the same code; TAXOLEARN_SEARCH=1 draws other examples each time
# and no test asserts a time: a busy machine is no failure
settings.register_profile("taxolearn", derandomize=os.environ.get("TAXOLEARN_SEARCH") != "1", deadline=None)
settings.load_profile("taxolearn")


_COMPILING = {
    "solvers",
    "kernels",
    "certificates",
    "methods",
    "decoders",
    "auditing",
    "gram",
    "losses",
    "vectors",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Compiling tests first: the first of two workers begins with them, and the second does not compile the same.

    By the time it takes over what is left, the kernels are in their folder. scikit-learn's checks, the most numerous of
    those that need kernels, are last.
    """

    def turn(item: pytest.Item) -> int:
        return 2 if item.path.stem == "test_sklearn_checks" else int(_COMPILING.isdisjoint(item.path.parts))

    items.sort(key=turn)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """No search for garbage while tests are collected (a third of that time), nor later through what stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000, 20, 20)
        gc.enable()


@pytest.fixture(autouse=True)
def same_seeds_in_every_run() -> None:
    """Fits without a `random_state` draw theirs from numpy's global generator: each test starts it anew."""
    if os.environ.get("TAXOLEARN_SEARCH") != "1":
        np.random.seed(0)  # noqa: NPY002  scikit-learn's random_state=None is this generator
