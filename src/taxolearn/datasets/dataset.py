"""What every reader and generator returns, and what every writer takes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from taxolearn.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from taxolearn.structure import Taxonomy

_LABEL_SETS = (list, tuple, set, frozenset, np.ndarray)


@dataclass(frozen=True, repr=False, eq=False)
class Dataset:
    """Rows with their labels and, when known, the taxonomy of the labels.

    Parameters
    ----------
    X : csr_array or 2-D ndarray or None
        The features; None for a set of texts.
    y : sequence
        One entry a row: a name, or a list of names (multi-label; the list may be empty).
    taxonomy : Taxonomy or None
        The structure over the labels.
    texts : list of str or None
        The text of each row.
    feature_names : tuple of str or None
        The names of the columns of X.
    name : str
        Where the rows come from.

    >>> Dataset(None, ["cat", "dog"], texts=["it purrs", "it barks"], name="pets")
    Dataset('pets', 2 rows, texts, 2 single labels)
    >>> Dataset(np.eye(2), [["cat"], ["cat", "dog"]]).label_rows()
    [['cat'], ['cat', 'dog']]
    >>> Dataset(np.eye(3), ["cat", "dog"])
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: X has 3 rows and y has 2; they must agree
    """

    X: sparse.csr_array | NDArray[Any] | None
    y: Sequence[Any]
    taxonomy: Taxonomy | None = None
    texts: list[str] | None = None
    feature_names: tuple[str, ...] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if self.X is None and self.texts is None:
            raise DataError("a Dataset needs X, texts or both; both are None")
        for what, size in (("X", self._x_rows()), ("texts", None if self.texts is None else len(self.texts))):
            if size is not None and size != len(self.y):
                raise DataError(f"{what} has {size:,} rows and y has {len(self.y):,}; they must agree")
        if self.feature_names is not None and len(self.feature_names) != self.n_features:
            raise DataError(
                f"feature_names has {len(self.feature_names):,} names for {self.n_features:,} columns of X"
            )

    def _x_rows(self) -> int | None:
        return None if self.X is None else int(self.X.shape[0])

    @property
    def n_rows(self) -> int:
        """The number of rows.

        >>> Dataset(np.eye(2), ["a", "b"]).n_rows
        2
        """
        return len(self.y)

    @property
    def n_features(self) -> int:
        """The number of columns of X; 0 without X.

        >>> Dataset(np.eye(2), ["a", "b"]).n_features
        2
        """
        return 0 if self.X is None else int(self.X.shape[1])

    @property
    def multilabel(self) -> bool:
        """Whether y holds a list of names per row.

        >>> Dataset(np.eye(2), [["a"], []]).multilabel
        True
        """
        return self.n_rows > 0 and isinstance(self.y[0], _LABEL_SETS)

    def label_rows(self) -> list[list[Hashable]]:
        """The labels as one list per row, whatever the form of y.

        >>> Dataset(np.eye(2), ["a", "b"]).label_rows()
        [['a'], ['b']]
        """
        if self.multilabel:
            return [list(labels) for labels in self.y]
        return [[label] for label in self.y]

    def __repr__(self) -> str:
        parts = [repr(self.name)] if self.name else []
        parts.append(f"{self.n_rows:,} rows")
        if self.X is not None:
            parts.append(
                f"{self.n_features:,} features" + ("" if isinstance(self.X, np.ndarray) else " (sparse)")
            )
        if self.texts is not None:
            parts.append("texts")
        rows = self.label_rows()
        distinct = len({label for labels in rows for label in labels})
        if self.multilabel:
            mean = sum(map(len, rows)) / max(len(rows), 1)
            parts.append(f"{distinct:,} labels, {mean:.2f} a row")
        else:
            parts.append(f"{distinct:,} single labels")
        if self.taxonomy is not None:
            parts.append(repr(self.taxonomy))
        return f"Dataset({', '.join(parts)})"
