"""Small fits that load the kernels of large ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from taxolearn.solvers import tree_tasks


@contextmanager
def as_if_large() -> Iterator[None]:
    """Tree solves inside price as those with many products do."""
    before = tree_tasks._MANY_PRODUCTS, tree_tasks._CACHED_BYTES
    tree_tasks._MANY_PRODUCTS, tree_tasks._CACHED_BYTES = 0, 0
    try:
        yield
    finally:
        tree_tasks._MANY_PRODUCTS, tree_tasks._CACHED_BYTES = before
