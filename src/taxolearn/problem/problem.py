"""Problem: checked rows, targets, structure and weights, the only thing a solver gets."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import DataError, EmptyClassWarning, LabelError
from taxolearn.gram import RowProducts
from taxolearn.problem.inputs import Array, Matrix, check_class_weight, check_matrix, check_sample_weight
from taxolearn.problem.label_paths import find_label
from taxolearn.problem.labels import Labels, encode_labels
from taxolearn.problem.scale import ColumnScales, column_scales
from taxolearn.structure import Taxonomy
from taxolearn.structure.names import show


@dataclass(frozen=True)
class Problem:
    """Rows X, which classes each row has, and how much every (row, class) loss weighs.

    `targets` is rows x classes (CSR of ones). The loss of row i for class l weighs `row_weight[i]` times
    `positive_weight[l]` if the row has the class, else `negative_weight[l]`. With `products` the rows are no vectors:
    only a kernel of two of them is known.

    >>> problem = make_problem([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    >>> problem.classes, problem.targets.toarray().tolist()
    (('a', 'b'), [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    """

    X: Matrix
    targets: sp.csr_array
    classes: tuple[Hashable, ...]
    labels: Labels
    taxonomy: Taxonomy | None
    row_weight: Array
    positive_weight: Array
    negative_weight: Array
    products: RowProducts | None = None

    def __post_init__(self) -> None:
        # one kind of array for the kernels, which are compiled anew for each kind; and no way to write into a
        # user's rows
        object.__setattr__(self, "X", _read_only(self.X))

    @property
    def n_rows(self) -> int:
        """Number of rows.

        >>> make_problem([[0.0], [1.0]], ["a", "b"]).n_rows
        2
        """
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features.

        >>> make_problem([[0.0], [1.0]], ["a", "b"]).n_features
        1
        """
        return int(self.X.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of classes.

        >>> make_problem([[0.0], [1.0]], ["a", "b"]).n_classes
        2
        """
        return len(self.classes)

    @cached_property
    def class_nodes(self) -> npt.NDArray[np.int32]:
        """The taxonomy's node of every class; without a taxonomy, the classes themselves.

        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> make_problem([[0.0], [1.0]], ["Cat", "Dog"], tree).class_nodes
        array([1, 2], dtype=int32)
        """
        if self.taxonomy is None:
            return np.arange(self.n_classes, dtype=np.int32)
        return np.asarray(self.taxonomy.ids_of(self.classes), dtype=np.int32)

    @cached_property
    def counted(self) -> npt.NDArray[np.bool_]:
        """Which classes have a weighted row of their own; the others have no losses of the margin.

        >>> make_problem([[0.0], [1.0]], ["a", "b"]).counted
        array([ True,  True])
        """
        return _summed(self.targets, self.row_weight > 0) > 0

    @cached_property
    def rows_of_classes(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The rows of each class, class after class: where each begins, and the rows.

        >>> [part.tolist() for part in make_problem([[0.0], [1.0], [2.0]], ["b", "a", "b"]).rows_of_classes]
        [[0, 1, 3], [1, 0, 2]]
        """
        targets = self.targets
        rows = np.repeat(np.arange(self.n_rows), np.diff(targets.indptr))
        counts = np.bincount(targets.indices, minlength=self.n_classes)
        short = targets.indices.astype(np.min_scalar_type(self.n_classes))  # sorted in no time
        return np.concatenate(([0], np.cumsum(counts))), rows[np.argsort(short, kind="stable")]

    @cached_property
    def scales(self) -> ColumnScales:
        """Size and spread of every column of X.

        >>> make_problem([[0.0], [3.0]], ["a", "b"]).scales.size.tolist()
        [3.0]
        """
        return column_scales(self.X)

    @cached_property
    def one_label(self) -> tuple[npt.NDArray[np.int64], Array]:
        """The class of every row and its weight, row_weight[i] positive_weight[y_i], for losses that compare classes.

        A row without a label has class 0 and weighs nothing. Several labels in a weighted row are an error.

        >>> make_problem([[0.0], [1.0]], ["a", "b"]).one_label
        (array([0, 1]), array([1., 1.]))
        """
        counts = np.diff(self.targets.indptr)
        wrong = np.flatnonzero((counts > 1) & (self.row_weight > 0))
        if len(wrong):
            raise LabelError(
                f"row {wrong[0]} has {counts[wrong[0]]} labels, and this loss takes one label per row; use a "
                "one-vs-rest or recursive method with a loss of the margin"
            )
        label = np.zeros(self.n_rows, dtype=np.int64)
        label[counts == 1] = self.targets.indices[np.repeat(counts == 1, counts)]
        return label, self.row_weight * self.positive_weight[label] * (counts == 1)

    @cached_property
    def weight_by_labels(self) -> Array:
        """row_weight[i] times the mean positive weight of the row's labels: one weight for all classes of a row.

        A row without a label has its row weight.

        >>> make_problem([[0.0], [1.0]], ["a", "b"], class_weight={"a": 3.0}).weight_by_labels.tolist()
        [3.0, 1.0]
        """
        counts = np.diff(self.targets.indptr)
        sums = np.asarray(self.targets @ self.positive_weight)
        return self.row_weight * np.where(counts > 0, sums / np.maximum(counts, 1), 1.0)

    def counts(self) -> dict[str, Any]:
        """How many rows there are, and how many of each class.

        >>> make_problem([[0.0], [1.0], [2.0]], ["a", "b", "b"]).counts()
        {'rows': 3, 'class_rows': [1, 2]}
        """
        of_class = np.bincount(self.targets.indices, minlength=self.n_classes)
        return {"rows": self.n_rows, "class_rows": of_class.tolist()}

    def fingerprint(self) -> str:
        """A hash of the rows, their labels and their weights: equal data give equal fingerprints.

        >>> first, second = make_problem([[0.0], [1.0]], ["a", "b"]), make_problem([[0.0], [2.0]], ["a", "b"])
        >>> first.fingerprint() == first.fingerprint(), first.fingerprint() == second.fingerprint()
        (True, False)
        """
        digest = hashlib.blake2b(digest_size=16)
        digest.update(repr((self.X.shape, str(self.X.dtype), self.classes)).encode())
        rows = (self.X.data, self.X.indices, self.X.indptr) if sp.issparse(self.X) else (self.X,)
        weights = (self.row_weight, self.positive_weight, self.negative_weight)
        for array in (*rows, self.targets.indices, self.targets.indptr, *weights):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def regrouped(
        self, group: npt.NDArray[np.integer], n_groups: int
    ) -> tuple[Problem, npt.NDArray[np.intp]]:
        """The problem of telling groups of classes apart, one label per row; and which rows it has.

        `group` holds the group of every class, -1 for none: rows of those classes, and rows without weight, are left
        out. The weights of classes become weights of their rows.

        >>> problem = make_problem([[0.0], [1.0], [2.0]], ["a", "b", "c"])
        >>> grouped, rows = problem.regrouped(np.array([0, 1, 1]), 2)
        >>> grouped.targets.toarray().tolist(), rows.tolist()
        ([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [0, 1, 2])
        """
        label, weight = self.one_label
        of_row = np.where(weight > 0, np.asarray(group)[label], -1)
        rows = np.flatnonzero(of_row >= 0)
        indptr = np.arange(len(rows) + 1, dtype=np.int64)
        indices = of_row[rows].astype(np.int32)
        labels = Labels(indptr, indices, tuple(range(n_groups)), "names")
        targets = sp.csr_array((np.ones(len(rows)), indices, indptr), shape=(len(rows), n_groups))
        ones = np.ones(n_groups)
        products = None if self.products is None else self.products.subset(rows)
        grouped = Problem(
            self.X[rows], targets, labels.names, labels, None, weight[rows], ones, ones, products
        )
        return grouped, rows

    def compacted(self) -> tuple[Problem, npt.NDArray[np.intp] | None]:
        """The same problem on those features alone that a sparse row has, and which these are; None: all of them.

        Vectors are zero at all others. It pays where a problem has few of many rows.

        >>> problem = make_problem(sp.csr_array([[0.0, 1.0, 0.0], [0.0, 2.0, 0.0]]), ["a", "b"])
        >>> few, features = problem.compacted()
        >>> few.X.shape, features.tolist()
        ((2, 1), [1])
        """
        if not sp.issparse(self.X):
            return self, None
        indices = self.X.indices
        if len(indices) < self.n_features:
            features, place = np.unique(indices, return_inverse=True)
        else:  # a mark per feature takes less than sorting the entries
            used = np.zeros(self.n_features, dtype=bool)
            used[indices] = True
            features, place = np.flatnonzero(used), (np.cumsum(used) - 1)[indices]
        if 2 * len(features) > self.n_features or not len(features):
            return self, None
        shape = (self.n_rows, len(features))
        X = sp.csr_array((self.X.data, place.astype(indices.dtype), self.X.indptr), shape=shape)
        return replace(self, X=X), features

    def with_features(self, X: Any) -> Problem:
        """The same problem with other features of its rows.

        >>> make_problem([[0.0], [1.0]], ["a", "b"]).with_features(np.eye(2)).n_features
        2
        """
        return replace(self, X=X)

    def subset(self, rows: npt.NDArray[np.intp]) -> Problem:
        """The same problem on some of its rows (the classes stay).

        >>> make_problem([[0.0], [1.0], [2.0]], ["a", "b", "b"]).subset(np.array([0, 2])).n_rows
        2
        """
        indptr = np.concatenate(([0], np.cumsum(np.diff(self.labels.indptr)[rows])))
        indices = self.labels.matrix(np.int8)[rows].indices.astype(np.int32)
        labels = Labels(indptr.astype(np.int64), indices, self.labels.names, self.labels.form)
        return Problem(
            self.X[rows],
            self.targets[rows],
            self.classes,
            labels,
            self.taxonomy,
            self.row_weight[rows],
            self.positive_weight,
            self.negative_weight,
            None if self.products is None else self.products.subset(rows),
        )


def make_problem(
    X: Any,
    y: Any,
    taxonomy: Taxonomy | None = None,
    *,
    sample_weight: Any = None,
    class_weight: Any = None,
    empty_classes: Literal["drop", "keep"] = "drop",
    checked: bool = False,
    build: bool = False,
    leaf_only: bool = False,
) -> Problem:
    """Check everything a user hands to `fit` and put it into one form.

    The classes are the labels seen in y: all columns of an indicator without a taxonomy, otherwise the labels with
    at least one row, in the taxonomy's order or sorted. `class_weight` follows LIBLINEAR: with two classes of one
    label per row each row weighs as its class; with more, the weight of class l applies to the rows of l in the problem
    l against the rest, while the rest weighs 1. `empty_classes="keep"` makes every leaf of the taxonomy a class, those
    without rows too: for methods in which the taxonomy gives them vectors. `checked` says that X comes from
    `check_matrix`. With `build`, and without a taxonomy, that is the one which the labels spell, if they do.
    With `leaf_only` only leaves of the taxonomy are classes; rows without a leaf among their labels weigh nothing.

    >>> make_problem([[0.0], [1.0]], ["a"])
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: X has 2 rows and y has 1; give one label per row
    """
    matrix = X if checked else check_matrix(X)
    if taxonomy is not None and not isinstance(taxonomy, Taxonomy):
        raise DataError(
            f"taxonomy must be a taxolearn.Taxonomy or None, not {show(taxonomy)}; build one with from_edges"
        )
    labels = encode_labels(y, taxonomy, build=build)
    taxonomy = labels.taxonomy
    n = matrix.shape[0]
    if n == 0:
        raise DataError("X has no rows (0 samples); at least one row per class is required")
    if matrix.shape[1] == 0:
        raise DataError(f"X has 0 feature(s) (shape={matrix.shape}) while a minimum of 1 is required.")
    if labels.n_rows != n:
        raise DataError(f"X has {n} rows and y has {labels.n_rows}; give one label per row")
    rows = check_sample_weight(sample_weight, n)
    row_weight = np.ones(n) if rows is None else rows

    indicator = labels.matrix()
    if leaf_only and taxonomy is not None:
        indicator = sp.csr_array(indicator * taxonomy.is_leaf[None, :].astype(np.float64))
        indicator.eliminate_zeros()
        row_weight = row_weight * (np.diff(indicator.indptr) > 0)
    counts = _summed(indicator, row_weight > 0)
    if labels.form == "indicator" and taxonomy is None:
        kept = np.arange(len(labels.names))
    else:
        kept = np.flatnonzero(counts)
    if len(kept) < 2 and not (labels.multilabel and len(kept) == 1):
        found = (
            f"only 1 class, {show(labels.names[kept[0]])}" if len(kept) else "no class with a weighted row"
        )
        raise LabelError(f"y has {found}; a classifier needs at least two classes")
    if taxonomy is not None and empty_classes == "keep":
        kept = np.union1d(kept, taxonomy.leaf_ids)
    elif taxonomy is not None:
        _warn_of_empty_leaves(taxonomy, counts)

    classes = tuple(labels.names[i] for i in kept)
    targets = indicator if len(kept) == len(labels.names) else indicator[:, kept]
    if taxonomy is not None and isinstance(class_weight, Mapping):  # its keys are labels, too
        class_weight = {
            name if (node := find_label(name, taxonomy)) is None else node: weight
            for name, weight in class_weight.items()
        }
    positive = np.ones(len(kept))
    if class_weight is not None:
        positive = check_class_weight(class_weight, classes, _summed(targets, row_weight))
    binary = len(kept) == 2 and not labels.multilabel
    negative = positive[::-1].copy() if binary else np.ones(len(kept))
    return Problem(matrix, targets, classes, labels, taxonomy, row_weight, positive, negative)


def _summed(targets: sp.csr_array, weight: npt.NDArray[Any]) -> Array:
    """The summed weights of the rows of each class."""
    of_entry = np.repeat(weight, np.diff(targets.indptr))
    return np.bincount(targets.indices, of_entry, minlength=targets.shape[1]).astype(np.float64)


def _read_only(X: Matrix) -> Matrix:
    """X over the same memory, which can be read but not written through it."""
    if sp.issparse(X):
        parts: tuple[Any, ...] = (X.data.view(), X.indices.view(), X.indptr.view())
    else:
        parts = (X.view(),)
    for part in parts:
        part.flags.writeable = False
    return sp.csr_array(parts, shape=X.shape) if sp.issparse(X) else parts[0]


def _warn_of_empty_leaves(taxonomy: Taxonomy, counts: Array) -> None:
    empty = taxonomy.leaf_ids[counts[taxonomy.leaf_ids] == 0]
    if len(empty):
        names = ", ".join(show(taxonomy.name_of(i)) for i in empty[:3])
        more = ", ..." if len(empty) > 3 else ""
        warnings.warn(
            f"{len(empty)} of the taxonomy's {taxonomy.n_leaves} leaves have no rows and cannot be predicted: "
            f"{names}{more}",
            EmptyClassWarning,
            stacklevel=4,
        )
