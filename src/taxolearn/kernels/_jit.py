"""The one place that decides how kernels are compiled."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numba


def _may_cache() -> bool:
    """Cache compiled kernels only for a regular installation.

    Numba does not notice a change in a function that a cached one calls from another file (numba #1833), so
    an editable installation, where files change, compiles anew. `TAXOLEARN_CACHE=0` or `=1` decides outright.
    """
    asked = os.environ.get("TAXOLEARN_CACHE")
    if asked is not None:
        return asked not in ("", "0")
    return "site-packages" in Path(__file__).parts or "dist-packages" in Path(__file__).parts


def kernel(function: Any) -> Any:
    """Compile an array-only function; it runs without the interpreter's lock."""
    return numba.njit(nogil=True, cache=_may_cache())(function)
