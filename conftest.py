"""What every test run needs before the first import."""

from __future__ import annotations

import hashlib
import os
import signal
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings


def _cache_folder() -> str:
    """A folder for compiled kernels that belongs to exactly these sources.

    Numba does not notice a change in a function that a cached one calls from another file (numba #1833); a folder named
    after the hash of all sources cannot be stale.
    """
    source = Path(__file__).parent / "src" / "taxolearn"
    digest = hashlib.sha256()
    for file in sorted([*source.glob("kernels/*.py"), *source.glob("losses/*.py")]):
        digest.update(file.read_bytes())
    return str(Path(tempfile.gettempdir()) / f"taxolearn-test-kernels-{digest.hexdigest()[:16]}")


if os.environ.get("NUMBA_DISABLE_JIT") != "1":
    os.environ.setdefault("NUMBA_CACHE_DIR", _cache_folder())
    os.environ.setdefault("TAXOLEARN_CACHE", "1")

# a shell that starts the tests in the background makes them deaf to Ctrl-C, and tests of Ctrl-C would wait for ever
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# `make test` says the same thing twice about the same code; TAXOLEARN_SEARCH=1 draws other examples each time
# and no test asserts a time: a busy machine is no failure
settings.register_profile("taxolearn", derandomize=os.environ.get("TAXOLEARN_SEARCH") != "1", deadline=None)
settings.load_profile("taxolearn")


@pytest.fixture(autouse=True)
def same_seeds_in_every_run() -> None:
    """Fits without a `random_state` draw theirs from numpy's global generator: each test starts it anew."""
    if os.environ.get("TAXOLEARN_SEARCH") != "1":
        np.random.seed(0)  # noqa: NPY002  scikit-learn's random_state=None is this generator
