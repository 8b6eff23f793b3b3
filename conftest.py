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


# folders and files of tests that are the first to need some kernel; the first examples of the sources are, too
_COMPILING = {
    "auditing",
    "certificates",
    "explain",
    "kernels",
    "solvers",
    "test_beam_and_mapped_models",
    "test_cli_outputs",
    "test_cli_select",
    "test_collect",
    "test_docs_code",
}
# tests that need hardly any kernel
_PLAIN = {
    "benchmarks",
    "datasets",
    "losses",
    "metrics",
    "norms",
    "problem",
    "scales",
    "structure",
    "test_architecture",
}
_ROOT = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Kernels are compiled by one of two workers, which begins with the first half of the tests; the other reads them.

    What a kernel has in common with those before it is known to the process that compiled them, and compiled in less
    time there. So the first half begins with the tests that compile, and the second with tests that need no kernels.
    By the time a worker takes over what is left of the other's half, the kernels are in their folder.
    (Where the second half begins is seen by `--collect-only`; it should be about at the tests of the datasets.)
    """

    def turn(item: pytest.Item) -> int:
        place = item.path.relative_to(_ROOT)
        names = {*place.parts, place.stem}
        if "src" in names:
            return 0
        if "test_contract" in names:  # every method, with dense rows and sparse ones
            return 1
        if not names.isdisjoint(_COMPILING):
            return 2
        if "test_sklearn_checks" in names:  # the most numerous of those that need kernels
            return 7
        if "methods" in names:
            return 3
        if "cli" in names:
            return 6
        return 4 if not names.isdisjoint(_PLAIN) else 5

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
