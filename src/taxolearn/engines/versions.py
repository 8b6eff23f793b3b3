"""What must be the same in all processes that work on one problem."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

_LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")  # what results depend on


def versions() -> tuple[tuple[str, str], ...]:
    """Names and versions of Python and of the libraries; of taxolearn a hash of its sources, so that edits count.

    >>> dict(versions())["python"].count(".")
    2
    """
    return _read()


@cache
def _read() -> tuple[tuple[str, str], ...]:
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for source in sorted(package.rglob("*.py")):
        digest.update(source.relative_to(package).as_posix().encode())
        digest.update(source.read_bytes())
    libraries = ((name, version(name)) for name in _LIBRARIES)
    own = digest.hexdigest()[:12]
    return (("python", platform.python_version()), ("taxolearn of sources", own), *libraries)


def difference(here: tuple[tuple[str, str], ...], there: tuple[tuple[str, str], ...]) -> str:
    """In words what is not the same, empty if all is.

    >>> difference((("numpy", "2.1.0"), ("scipy", "1.14.0")), (("numpy", "2.0.0"), ("scipy", "1.14.0")))
    'numpy 2.0.0 instead of 2.1.0'
    """
    other = dict(there)
    return ", ".join(
        f"{name} {other.get(name, '(none)')} instead of {wanted}"
        for name, wanted in here
        if other.get(name) != wanted
    )
