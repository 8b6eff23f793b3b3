"""One label per row: the class of the best score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy.typing as npt

from taxolearn.decoders.base import Answers, Arrays, Ids, check_units, one_per_row
from taxolearn.decoders.scored_row import ScoredRow
from taxolearn.errors import DataError, ModelError
from taxolearn.vectors import Vectors


@dataclass(frozen=True)
class Best:
    """Answers the class of the best score; of equal ones that of the smallest id.

    >>> import numpy as np
    >>> from taxolearn.vectors import ClassVectors
    >>> vectors, X = ClassVectors(np.eye(3), np.zeros(3)), np.array([[1.0, 5.0, 1.0]])
    >>> Best(3).decode(vectors, X).ids, Best(3).top_k(vectors, X, 2)[0]
    (array([1], dtype=int32), array([[1, 0]], dtype=int32))
    """

    n_classes: int
    name: ClassVar[str] = "best"
    several: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if isinstance(self.n_classes, bool) or not isinstance(self.n_classes, int) or self.n_classes < 1:
            raise DataError(f"the number of classes must be a whole number from 1 on, not {self.n_classes!r}")

    def decode(self, vectors: Vectors, X: Any, *, beam: int | None = None, n_threads: int = 1) -> Answers:
        """The best class of each row; with `beam` the best of those that a beam search finds.

        >>> import numpy as np
        >>> from taxolearn.vectors import ClassVectors
        >>> Best(2).decode(ClassVectors(np.eye(2), np.zeros(2)), np.array([[1.0, 5.0]])).scores
        array([5.])
        """
        ids, scores = self.top_k(vectors, X, 1, beam=beam, n_threads=n_threads)
        return one_per_row(ids[:, 0], scores[:, 0])

    def top_k(
        self, vectors: Vectors, X: Any, k: int, *, beam: int | None = None, n_threads: int = 1
    ) -> tuple[Ids, npt.NDArray[Any]]:
        """The k best classes of each row and their scores; `beam` as in `Vectors.top_k`.

        >>> import numpy as np
        >>> from taxolearn.vectors import ClassVectors
        >>> Best(2).top_k(ClassVectors(np.eye(2), np.zeros(2)), np.array([[1.0, 5.0]]), 2)
        (array([[1, 0]], dtype=int32), array([[5., 1.]]))
        """
        check_units(vectors, self.n_classes)
        return vectors.top_k(X, k, beam=beam, n_threads=n_threads)

    def scores(self, vectors: Vectors, X: Any, *, n_threads: int = 1) -> npt.NDArray[Any]:
        """The scores of all classes, rows x classes.

        >>> import numpy as np
        >>> from taxolearn.vectors import ClassVectors
        >>> Best(2).scores(ClassVectors(np.eye(2), np.zeros(2)), np.array([[1.0, 5.0]]))
        array([[1., 5.]])
        """
        check_units(vectors, self.n_classes)
        return vectors.scores(X, n_threads=n_threads)

    def row_facts(self, vectors: Vectors, X: Any) -> ScoredRow:
        """How X, a single row, is decided on.

        >>> import numpy as np
        >>> from taxolearn.vectors import ClassVectors
        >>> Best(2).row_facts(ClassVectors(np.eye(2), np.zeros(2)), np.array([[1.0, 5.0]])).scores
        array([1., 5.])
        """
        check_units(vectors, self.n_classes)
        return ScoredRow.of(vectors, X)

    def arrays(self) -> Arrays:
        """Nothing needs to be stored.

        >>> Best(2).arrays()
        {}
        """
        return {}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], n_classes: int) -> Best:
        """The decoder of a stored model.

        >>> Best.from_arrays({}, 3)
        Best(n_classes=3)
        """
        try:
            return cls(n_classes)
        except DataError as error:
            raise ModelError(f"stored decoder: {error}") from None
