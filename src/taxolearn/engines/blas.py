"""How many threads dense products take."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1)
def _controller() -> Any:
    """Of all libraries; looking for them takes milliseconds, as long as a small fit, and is done once."""
    import scipy.linalg  # noqa: F401  # with the libraries that it loads
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def blas_threads(n: int) -> AbstractContextManager[Any]:
    """Inside this context BLAS takes at most n threads.

    >>> with blas_threads(1):
    ...     pass
    """
    limit: AbstractContextManager[Any] = _controller().limit(limits=n, user_api="blas")
    return limit
