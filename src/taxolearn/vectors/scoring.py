"""What all kinds of class weights can do: score rows in blocks, and keep the best classes of each."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse

from taxolearn.engines import Engine, ThreadEngine
from taxolearn.errors import DataError

_BLOCK_BYTES = 64 * 2**20  # bytes of scores at a time
FLOATS = (np.float32, np.float64)
Best = tuple[np.ndarray[Any, np.dtype[np.int32]], np.ndarray[Any, Any]]


class Terms(NamedTuple):
    """What the score of one row is a sum over: columns of `Vectors.entries`, what the row has there, and names.

    >>> Terms(np.array([0]), np.array([2.0]), ["length"]).names
    ['length']
    """

    columns: Any
    values: Any
    names: Sequence[str]


class Vectors:
    """Base of the weights: needs `n_classes`, `n_features`, `dtype`, `intercept` and `_product`.

    >>> from taxolearn.vectors import ClassVectors, NodeVectors
    >>> issubclass(ClassVectors, Vectors), issubclass(NodeVectors, Vectors)
    (True, True)
    """

    by_features: ClassVar[bool] = True  # whether scores are sums over the features of a row

    if TYPE_CHECKING:
        coef: Any  # weights of the classes, classes x features, dense or a csr_array
        intercept: np.ndarray[Any, np.dtype[np.float64]]

    _by_feature: Any = None  # a second copy of sparse weights, see `prepare_for_few_rows`

    def prepare_for_few_rows(self, max_bytes: int = 2**29) -> bool:
        """Keep sparse weights feature by feature, too, so that a few rows at a time are scored without reading all.

        That takes as much memory again, and nothing is done above `max_bytes`, or where it would not help. Scores are
        the same to the last bit. Returns whether there is such a copy.

        >>> from taxolearn.vectors import ClassVectors
        >>> ClassVectors(sparse.csr_array(np.eye(2)), np.zeros(2)).prepare_for_few_rows()
        True
        """
        return False

    @property
    def n_classes(self) -> int:
        """Number of classes.

        >>> from taxolearn.vectors import ClassVectors
        >>> ClassVectors(np.zeros((2, 5)), np.zeros(2)).n_classes
        2
        """
        return int(self.intercept.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features a row must have.

        >>> from taxolearn.vectors import ClassVectors
        >>> ClassVectors(np.zeros((2, 5)), np.zeros(2)).n_features
        5
        """
        raise NotImplementedError

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the weights and of all scores.

        >>> from taxolearn.vectors import ClassVectors
        >>> ClassVectors(np.zeros((2, 5), dtype=np.float32), np.zeros(2)).dtype
        dtype('float32')
        """
        raise NotImplementedError

    @property
    def is_sparse(self) -> bool:
        """Whether the weights are stored sparse.

        >>> from taxolearn.vectors import ClassVectors
        >>> ClassVectors(np.zeros((2, 5)), np.zeros(2)).is_sparse
        False
        """
        raise NotImplementedError

    def entries(self, number: int, columns: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The weights of one class at some features, in float64.

        >>> from taxolearn.vectors import ClassVectors
        >>> ClassVectors(np.array([[1.0, 2.0, 3.0]]), np.zeros(1)).entries(0, [2, 0])
        array([3., 1.])
        """
        raise NotImplementedError

    def terms(self, X: Any, feature_names: Any = None, classes: Sequence[Any] = ()) -> Terms:
        """What a score of X, one row, is a sum over: its entries, named by their features.

        >>> from taxolearn.vectors import ClassVectors
        >>> ClassVectors(np.eye(2), np.zeros(2)).terms(np.array([[0.0, 3.0]])).names
        ['x1']
        """
        row = sparse.csr_array(X)
        columns = row.indices
        names = [
            f"x{column}" if feature_names is None else str(feature_names[column])
            for column in columns.tolist()
        ]
        return Terms(columns, row.data.astype(np.float64), names)

    def unit_scores(self, X: Any, units: Any) -> np.ndarray[Any, Any]:
        """The scores of some classes, picked by a slice or an index array, on all rows of X.

        Each depends on its row and its class alone: to the last bit the same in any company.

        >>> from taxolearn.vectors import ClassVectors
        >>> ClassVectors(np.eye(3), np.zeros(3)).unit_scores(np.array([[1.0, 5.0, 2.0]]), slice(1, 3))
        array([[5., 2.]])
        """
        raise NotImplementedError

    def walked(self, X: Any, decisions: tuple[Any, Any, Any], n_threads: int = 1) -> Any:
        """The last option of each row that goes down a tree of decisions (indptr, children, unit_start of `TopDown`),
        scored as `unit_scores` does; None where these vectors have no quick way.

        >>> from taxolearn.vectors import ClassVectors
        >>> ClassVectors(np.eye(2), np.zeros(2)).walked(np.eye(2), ([0, 2], [-1, -1], [0, 2])) is None
        True
        """
        return None

    def with_intercept(self, intercept: Any) -> Self:
        """The same vectors with other intercepts; nothing else is copied.

        >>> from taxolearn.vectors import ClassVectors
        >>> ClassVectors(np.eye(2), np.zeros(2)).with_intercept([1.0, 0.0]).scores(np.array([[3.0, 4.0]]))
        array([[4., 4.]])
        """
        intercept = np.array(intercept, dtype=np.float64)
        if intercept.shape != self.intercept.shape:
            raise DataError(f"the intercept has shape {intercept.shape}, not {self.intercept.shape}")
        intercept.flags.writeable = False
        other = copy.copy(self)
        object.__setattr__(other, "intercept", intercept)
        return other

    def mean_entries(self, classes: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The mean weights of some classes: features in which one has a weight, rising, and the means there.

        >>> from taxolearn.vectors import ClassVectors
        >>> ClassVectors(np.array([[1.0, 0.0], [3.0, 0.0]]), np.zeros(2)).mean_entries([0, 1])
        (array([0]), array([2.]))
        """
        rows = self.coef[classes]
        if sparse.issparse(rows):
            return added_up(rows.indices, rows.data / rows.shape[0])
        means = np.asarray(rows, dtype=np.float64).mean(axis=0)
        return np.flatnonzero(means), means[means != 0]

    def _product(self, X: Any) -> Callable[[Any], np.ndarray[Any, Any]]:
        """The function that maps a block of rows of X to their scores without the intercept."""
        raise NotImplementedError

    def scores(self, X: Any, rows: Any = None, *, n_threads: int = 1) -> np.ndarray[Any, Any]:
        """Return the dense scores of all rows of X, or of those picked by a slice or an index array.

        Threads help large sparse node vectors only.

        >>> from taxolearn.vectors import ClassVectors
        >>> ClassVectors(np.eye(2), np.zeros(2)).scores(np.array([[1.0, 2.0], [3.0, 4.0]]), rows=[1])
        array([[3., 4.]])
        """
        X = self._checked(X)
        if rows is not None:
            X = X[rows]
        with _threads(n_threads) as engine:
            return self._scorer(X, engine)(X)

    def score_blocks(
        self, X: Any, *, max_bytes: int = _BLOCK_BYTES, n_threads: int = 1
    ) -> Iterator[tuple[slice, np.ndarray[Any, Any]]]:
        """Yield (slice of rows, dense scores of these rows), in blocks of at most `max_bytes`, or one row.

        >>> from taxolearn.vectors import ClassVectors
        >>> weights = ClassVectors(np.eye(2), np.zeros(2))
        >>> [(rows, block.shape) for rows, block in weights.score_blocks(np.zeros((3, 2)), max_bytes=32)]
        [(slice(0, 2, None), (2, 2)), (slice(2, 3, None), (1, 2))]
        """
        return self._threaded_blocks(self._checked(X), max_bytes, n_threads)

    def top_k(self, X: Any, k: int, *, beam: int | None = None, n_threads: int = 1) -> Best:
        """Return the k best classes of each row, best first, and their scores; equals go to the smaller id.

        With `beam` only the classes below the `beam` best nodes of each level are looked at, which needs weights
        at the nodes of a taxonomy (`NodeVectors`, `DualVectors`).

        >>> from taxolearn.vectors import ClassVectors
        >>> ids, scores = ClassVectors(np.eye(3), np.zeros(3)).top_k(np.array([[1.0, 5.0, 1.0]]), 2)
        >>> ids, scores
        (array([[1, 0]], dtype=int32), array([[5., 1.]]))
        """
        check_k(k, self.n_classes)
        X = self._checked(X)
        check_beam(beam)
        with _threads(n_threads) as engine:
            if beam is not None:
                return self._beam_top_k(X, int(k), int(beam), engine)
            return self._top_k(X, int(k), engine)

    def _top_k(self, X: Any, k: int, engine: Engine) -> Best:
        ids = np.empty((X.shape[0], k), dtype=np.int32)
        best = np.empty((X.shape[0], k), dtype=self.dtype)
        for rows, block in self._score_blocks(X, _BLOCK_BYTES, engine):
            ids[rows] = _best_columns(block, k)
            best[rows] = np.take_along_axis(block, ids[rows], axis=1)
        return ids, best

    def _beam_top_k(self, X: Any, k: int, beam: int, engine: Engine) -> Best:
        raise DataError(
            "beam search needs weights at the nodes of a taxonomy, and this model has one vector per class; "
            "leave beam out"
        )

    def _threaded_blocks(
        self, X: Any, max_bytes: int, n_threads: int
    ) -> Iterator[tuple[slice, np.ndarray[Any, Any]]]:
        with _threads(n_threads) as engine:
            yield from self._score_blocks(X, max_bytes, engine)

    def _score_blocks(
        self, X: Any, max_bytes: int, engine: Engine
    ) -> Iterator[tuple[slice, np.ndarray[Any, Any]]]:
        scorer = self._scorer(X, engine)
        step = max(1, max_bytes // max(1, self.n_classes * self.dtype.itemsize))
        for first in range(0, X.shape[0], step):
            rows = slice(first, min(first + step, X.shape[0]))
            yield rows, scorer(X[rows])

    def _scorer(self, X: Any, engine: Engine) -> Callable[[Any], np.ndarray[Any, Any]]:
        """The function that maps a block of rows of X to their scores."""
        product = self._product(X)
        return lambda block: self._finished(product, block)

    def _finished(self, product: Any, block: Any) -> np.ndarray[Any, Any]:
        # The weights set the precision: casting rows is cheap, casting all the weights is not.
        scores = np.ascontiguousarray(product(block.astype(self.dtype, copy=False)))
        scores += self.intercept
        return scores

    def _checked(self, X: Any) -> Any:
        if sparse.issparse(X):
            if X.format != "csr":
                raise DataError(f"X must be a dense array or CSR, not {X.format.upper()}; use X.tocsr()")
            X = sparse.csr_array(X)
        elif not isinstance(X, np.ndarray):
            raise DataError(f"X must be a NumPy array or a SciPy CSR array, not {type(X).__qualname__}")
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise DataError(f"X has shape {X.shape}, but the weights are for {self.n_features} features")
        if X.dtype not in FLOATS:
            raise DataError(f"X must be float32 or float64, not {X.dtype}")
        return X


def check_k(k: Any, n_classes: int) -> None:
    """Whether so many best classes can be asked for.

    >>> check_k(3, 2)
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: k must be between 1 and the number of classes, 2, not 3
    """
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k <= n_classes:
        raise DataError(f"k must be between 1 and the number of classes, {n_classes}, not {k}")


def check_beam(beam: Any) -> None:
    """Whether this is a number of nodes to keep, or None.

    >>> check_beam(0)
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: beam must be a whole number from 1 on, or None, not 0
    """
    if beam is None:
        return
    if isinstance(beam, bool) or not isinstance(beam, (int, np.integer)) or beam < 1:
        raise DataError(f"beam must be a whole number from 1 on, or None, not {beam!r}")


def _threads(n_threads: int) -> ThreadEngine:
    """The engine of one call; its threads start with the first work for them."""
    return ThreadEngine(max(1, n_threads))


def added_up(indices: Any, values: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Different indices, rising, and the sums of the values at each; as many as there are, not as there could be.

    >>> added_up(np.array([7, 2, 7]), np.array([1.0, 2.0, 3.0]))
    (array([2, 7]), array([2., 4.]))
    """
    places, position = np.unique(indices, return_inverse=True)
    return places, np.bincount(position, weights=values, minlength=len(places))


def picked(indices: Any, values: Any, columns: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The values of a sparse vector in some columns; it is never made dense, its length may be anything.

    >>> picked(np.array([7, 2]), np.array([1.0, 2.0]), [2, 3, 7])
    array([2., 0., 1.])
    """
    wanted, position = np.unique(columns, return_inverse=True)
    sums = np.zeros(len(wanted) + 1)  # the last one takes what nobody wants
    places = np.searchsorted(wanted, indices)
    places[np.append(wanted, -1)[places] != indices] = len(wanted)
    np.add.at(sums, places, values)
    return sums[position]


def _best_columns(scores: np.ndarray[Any, Any], k: int) -> np.ndarray[Any, Any]:
    """Return the columns of the k largest entries of each row, largest first, equals by column."""
    if k == 1:
        first: np.ndarray[Any, Any] = np.argmax(scores, axis=1, keepdims=True)
        return first
    n_columns = scores.shape[1]
    if k == n_columns:
        return np.argsort(-scores, axis=1, kind="stable")
    columns = np.sort(np.argpartition(scores, n_columns - k, axis=1)[:, n_columns - k :], axis=1)
    chosen = np.take_along_axis(scores, columns, axis=1)
    best = np.take_along_axis(columns, np.argsort(-chosen, axis=1, kind="stable"), axis=1)
    # Where more than k reach the k-th score, the partition has picked any of them.
    tied = np.flatnonzero(np.count_nonzero(scores >= chosen.min(axis=1)[:, None], axis=1) > k)
    best[tied] = np.argsort(-scores[tied], axis=1, kind="stable")[:, :k]
    return best
