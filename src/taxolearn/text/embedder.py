"""What an embedder is: texts in, one dense vector each out, known by a name and a fingerprint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from taxolearn.errors import DataError

Matrix = npt.NDArray[np.float32]
STATIC = "words"  # the name of the static embedder


class EmbedderError(DataError):
    """An embedder returns what cannot be used: no reason to do without it unsaid, as of features that are tried.

    >>> issubclass(EmbedderError, DataError)
    True
    """


@runtime_checkable
class Embedder(Protocol):
    """What turns texts into vectors: a name to find it by, and a fingerprint that tells whether it is still the same.

    >>> from taxolearn.text.embedders import embedder_of
    >>> isinstance(embedder_of(lambda texts: np.ones((len(texts), 2))), Embedder)
    True
    """

    @property
    def name(self) -> str:
        """What `load` finds it by."""

    @property
    def dimension(self) -> int:
        """Number of columns."""

    @property
    def fingerprint(self) -> str:
        """Changes when the vectors do."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row per text."""
