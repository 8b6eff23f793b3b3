"""Compiled kernels are found again by what their sources say, wherever these lie.

Numba names the folder of what it keeps after the place of a source. So every new environment, and every new clone,
compiled all kernels once more, though an older one had compiled the very same. Our folder has the hash of all sources
in its name: the place adds nothing. As in `_called`, Numba's insides are only touched in versions that were tried.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, ClassVar, Self

import numba
from numba.core import caching

from taxolearn.kernels._called import TRIED

_CONFIG: Any = numba.config
_FILES: Any = caching.CompileResultCacheImpl
_CACHE: Any = caching.FunctionCache


class _BySource:
    """Tells Numba where the code of a function is kept, and by what it knows that the source has changed."""

    def __init__(self, function: Any, file: str) -> None:
        source = Path(file)
        self._folder = Path(_CONFIG.CACHE_DIR) / source.parent.name
        self._stamp = hashlib.sha256(source.read_bytes()).hexdigest()
        self._line = function.__code__.co_firstlineno
        self._py_file = file  # Numba names it in a warning

    @classmethod
    def from_function(cls, function: Any, file: str) -> Self | None:
        """None where there is no file, or nothing can be written: Numba then asks its own."""
        try:
            found = cls(function, file)
            found.ensure_cache_path()
        except OSError:
            return None
        return found

    def ensure_cache_path(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return str(self._line)


class _Files(_FILES):  # type: ignore[misc]
    _locator_classes: ClassVar[list[Any]] = [_BySource, *_FILES._locator_classes]


class _Kept(_CACHE):  # type: ignore[misc]
    _impl_class = _Files


def keep_by_source(made: Any) -> None:
    """Keep the code of a compiled function in `numba.config.CACHE_DIR`, found by its source and not by its place."""
    if TRIED:
        made._cache = _Kept(made.py_func)
