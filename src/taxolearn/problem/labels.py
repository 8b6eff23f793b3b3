"""Labels of every accepted form, as one CSR of ids.

Accepted: a 1-D array, series or list of names, of paths such as "Books/History" or of tuples ("Books", "History"); a
list of lists or sets of these (multi-label); a sparse or dense 0/1 indicator over the nodes; a table, or 2-D array of
strings, with one column per level and empty cells for shorter paths.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import LabelError, TaxonomyError
from taxolearn.problem.inputs import check_sparse_indices
from taxolearn.problem.label_paths import (
    and_others,
    find_label,
    nodes_at,
    nodes_called,
    one_of,
    parts_of,
    path_name,
    separator_of,
    taxonomy_of_paths,
    warn_of_marks,
    warn_of_paths,
)
from taxolearn.structure import Taxonomy
from taxolearn.structure.names import is_blank, show
from taxolearn.structure.path_builders import path_of_row
from taxolearn.structure.tables import read_table

Form = Literal["names", "sets", "indicator", "levels"]


@dataclass(frozen=True)
class Labels:
    """Which labels each row has: ids `indices[indptr[i]:indptr[i+1]]`, sorted, into `names`.

    `taxonomy` is the one whose nodes the names are: the given one, or the one that the labels spell.

    >>> labels = encode_labels([["b"], ["a", "b"]])
    >>> labels.names, labels.indptr.tolist(), labels.indices.tolist(), labels.multilabel
    (('a', 'b'), [0, 1, 3], [1, 0, 1], True)
    """

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    names: tuple[Hashable, ...]
    form: Form
    taxonomy: Taxonomy | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows.

        >>> encode_labels(["a", "b", "a"]).n_rows
        3
        """
        return len(self.indptr) - 1

    @property
    def multilabel(self) -> bool:
        """Whether the form allows several labels a row.

        >>> encode_labels(["a", "b"]).multilabel
        False
        """
        return self.form in ("sets", "indicator")

    def matrix(self, dtype: npt.DTypeLike = np.float64) -> sp.csr_array:
        """Rows x names, 1 where the row has the label.

        >>> encode_labels([["b"], ["a", "b"]]).matrix(int).toarray().tolist()
        [[0, 1], [1, 1]]
        """
        ones = np.ones(len(self.indices), dtype=dtype)
        return sp.csr_array((ones, self.indices, self.indptr), shape=(self.n_rows, len(self.names)))

    def counts(self) -> npt.NDArray[np.int64]:
        """How many rows have each label.

        >>> encode_labels([["b"], ["a", "b"]]).counts().tolist()
        [1, 2]
        """
        return np.bincount(self.indices, minlength=len(self.names)).astype(np.int64)


def encode_labels(
    y: Any,
    taxonomy: Taxonomy | None = None,
    *,
    allow_empty: bool = False,
    what: str = "y",
    build: bool = False,
) -> Labels:
    """Labels of any accepted form as ids of the taxonomy's nodes, or of the sorted distinct labels.

    With `build`, and without a taxonomy, labels that spell one (level columns, tuples, paths in strings) are ids of its
    nodes.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> encode_labels(["Dog", "Animal"], tree).indices.tolist()
    [2, 0]
    >>> encode_labels(["Dgo"], tree)
    Traceback (most recent call last):
    ...
    taxolearn.errors.LabelError: y, row 0: unknown label 'Dgo'; did you mean 'Dog'?
    """
    form, rows = _recognise(y, taxonomy, what)
    if form == "indicator":
        return _from_indicator(rows, taxonomy, allow_empty, what)
    if form == "levels":
        return _from_levels(rows, taxonomy, what, build)
    if form == "sets":
        return _from_sets(rows, taxonomy, allow_empty, what, build)
    return _from_names(rows, taxonomy, what, build)


def _recognise(y: Any, taxonomy: Taxonomy | None, what: str) -> tuple[Form, Any]:
    """Which form y has, and y as something that form's reader can walk through."""
    if y is None or isinstance(y, str | bytes | dict):
        raise LabelError(f"{what} must hold one label or set of labels a row, not {show(y)}")
    if sp.issparse(y):
        if y.ndim != 2:
            raise LabelError(
                f"{what} is a sparse array of shape {y.shape}; give an indicator, rows x classes"
            )
        check_sparse_indices(y, what)
        return "indicator", y
    if hasattr(y, "columns") or hasattr(y, "column_names"):
        return _recognise_table(y, taxonomy, what)
    if not isinstance(y, np.ndarray):
        if hasattr(y, "to_numpy"):  # a series or an index of any table library
            y = y.to_numpy()
        elif not isinstance(y, list):
            try:
                y = list(y) if isinstance(y, Iterable) and not hasattr(y, "__array__") else np.asarray(y)
            except (TypeError, ValueError) as error:
                raise LabelError(f"{what} cannot be read as labels: {error}") from None
    if isinstance(y, np.ndarray):
        if y.ndim == 2:
            if y.dtype.kind in "biuf":
                return "indicator", y
            if y.dtype.kind in "OUS":
                return "levels", ([f"column {j}" for j in range(y.shape[1])], y.tolist())
        if y.ndim != 1 or y.dtype.kind in "cV":
            raise LabelError(
                f"{what} has shape {y.shape} and type {y.dtype}; "
                "give names, a list of lists, an indicator or level columns"
            )
        if y.dtype.kind != "O":
            return "names", y
        y = y.tolist()
    if _holds_indicator_rows(y, taxonomy):
        return "indicator", np.array(y)
    kinds = {_is_collection(entry) for entry in y}
    # a taxonomy may have tuples as names: then such tuples, among other names or alone, are one name a row
    if kinds <= {None} or (taxonomy is not None and all(entry in taxonomy for entry in y)):
        return "names", y
    if "set" in kinds:
        return "sets", y
    paths = [entry if isinstance(entry, tuple) else (entry,) for entry in y]
    return "levels", ([f"name {j}" for j in range(max(map(len, paths)))], paths)


def _holds_indicator_rows(y: list[Any], taxonomy: Taxonomy | None) -> bool:
    """Whether the rows are lists of 0 and 1 of one length, one of which would name a label twice as a set."""
    if not y or not _is_row(y[0]) or len(y[0]) < 2:
        return False
    width = len(y[0])
    if taxonomy is not None and width != taxonomy.n_nodes:
        return False
    zeros_and_ones = all(
        _is_row(row)
        and len(row) == width
        and all(isinstance(cell, int | np.integer | np.bool_) and 0 <= cell <= 1 for cell in row)
        for row in y
    )
    return zeros_and_ones and any(len(set(row)) < width for row in y)


def _is_row(entry: Any) -> bool:
    return isinstance(entry, list) or (isinstance(entry, np.ndarray) and entry.ndim == 1)


def _is_collection(entry: Any) -> Literal["path", "set"] | None:
    """Tuples are paths; lists and sets are sets of labels."""
    if isinstance(entry, tuple):
        return "path"
    return "set" if isinstance(entry, list | set | frozenset | np.ndarray) else None


def _recognise_table(y: Any, taxonomy: Taxonomy | None, what: str) -> tuple[Form, Any]:
    if hasattr(y, "set_axis") and not y.columns.is_unique:  # pandas; what levels are called does not matter
        y = y.set_axis([f"{name} ({place})" for place, name in enumerate(y.columns, 1)], axis=1)
    try:
        frame = read_table(y)
    except TaxonomyError as error:
        raise LabelError(f"{what}: {error}") from None
    if taxonomy is not None and len(frame.columns) == taxonomy.n_nodes and len(frame.columns) > 1:
        dense = frame.to_numpy()
        if dense.dtype.kind in "biuf":
            return "indicator", dense
    return "levels", (list(frame.columns), list(frame.iter_rows()))


def _from_indicator(y: Any, taxonomy: Taxonomy | None, allow_empty: bool, what: str) -> Labels:
    width = y.shape[1]
    if taxonomy is not None and width != taxonomy.n_nodes:
        raise LabelError(
            f"{what} is an indicator with {width} columns, but the taxonomy has {taxonomy.n_nodes} nodes; "
            "give one column per node, in the order of taxonomy.nodes"
        )
    matrix = y.tocsr(copy=True) if sp.issparse(y) else sp.csr_array(y)
    if sp.issparse(y):
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    odd = np.flatnonzero(matrix.data != 1)
    if len(odd):
        row = int(np.searchsorted(matrix.indptr, odd[0], side="right")) - 1
        raise LabelError(
            f"{what}, row {row}: an indicator holds only 0 and 1, found {show(matrix.data[odd[0]].item())}; for level "
            "columns of numbers give tuples, a table or an array of strings"
        )
    matrix.sort_indices()
    names = taxonomy.nodes if taxonomy is not None else tuple(range(width))
    indptr = matrix.indptr.astype(np.int64)
    # without a taxonomy a row of zeros is a plain "none of these", as scikit-learn has it
    _check_empty(indptr, allow_empty or taxonomy is None, what)
    return Labels(indptr, matrix.indices.astype(np.int32), names, "indicator", taxonomy)


def _from_names(y: Any, taxonomy: Taxonomy | None, what: str, build: bool) -> Labels:
    distinct, inverse = _factorize(y, what)
    for position, name in enumerate(distinct):
        if is_blank(name):
            row = int(np.flatnonzero(inverse == position)[0])
            raise LabelError(f"{what}, row {row} has an empty label {show(name)}; every row needs a label")
    ids, names, known = _resolve(distinct, inverse, taxonomy, what, build=build)
    indptr = np.arange(len(inverse) + 1, dtype=np.int64)
    return Labels(indptr, ids[inverse], names, "names", known)


def _factorize(y: Any, what: str) -> tuple[list[Any], npt.NDArray[np.int64]]:
    """Distinct labels, and for each entry which of them it is."""
    if isinstance(y, np.ndarray):
        values, inverse = np.unique(y, return_inverse=True)
        return values.tolist(), inverse.astype(np.int64)
    seen: dict[Any, int] = {}
    try:
        codes = np.fromiter((seen.setdefault(label, len(seen)) for label in y), dtype=np.int64, count=len(y))
    except TypeError:
        row, culprit = next((i, label) for i, label in enumerate(y) if not isinstance(label, Hashable))
        raise LabelError(
            f"{what}, row {row}: {show(culprit)} ({type(culprit).__name__}) cannot be a label; use strings or numbers"
        ) from None
    distinct = [label.item() if isinstance(label, np.generic) else label for label in seen]
    return distinct, codes


def _resolve(
    distinct: Sequence[Any],
    inverse: npt.NDArray[np.int64],
    taxonomy: Taxonomy | None,
    what: str,
    rows: Any = None,
    *,
    build: bool = False,
) -> tuple[npt.NDArray[np.int32], tuple[Hashable, ...], Taxonomy | None]:
    """Ids of the distinct labels: nodes of the taxonomy, given or built, or places in their sorted list."""
    if taxonomy is None and build and (sep := separator_of(distinct)) is not None:
        taxonomy = taxonomy_of_paths([parts_of(name, sep) for name in distinct], sep)
    if taxonomy is None:
        if build:
            warn_of_marks(distinct, what)
        names = sorted_names(distinct)
        lookup = {name: i for i, name in enumerate(names)}
        return np.array([lookup[name] for name in distinct], dtype=np.int32), names, None
    found = [find_label(name, taxonomy) for name in distinct]
    unknown = [position for position, name in enumerate(found) if name is None]
    if unknown:
        first = int(np.flatnonzero(inverse == unknown[0])[0])
        row, name = first if rows is None else int(rows[first]), distinct[unknown[0]]
        others = and_others(len(unknown) - 1, "label")
        if called := nodes_called((name,), taxonomy):
            raise LabelError(f"{what}, row {row}: {show(name)} {one_of(called)}{others}")
        todo = taxonomy.hint_at(name, "correct it, or add it to the taxonomy")
        raise LabelError(f"{what}, row {row}: unknown label {show(name)}{todo}{others}")
    return taxonomy.ids_of(found), taxonomy.nodes, taxonomy


def sorted_names(names: Iterable[Any]) -> tuple[Hashable, ...]:
    """Names in their order; those of several types by type, then by text.

    >>> sorted_names(["b", 2, "a"])
    (2, 'a', 'b')
    """
    unique = list(names)
    try:
        return tuple(sorted(unique))
    except TypeError:  # several types: by type, then by text
        return tuple(sorted(unique, key=lambda name: (type(name).__name__, repr(name))))


def _from_sets(y: list[Any], taxonomy: Taxonomy | None, allow_empty: bool, what: str, build: bool) -> Labels:
    if build and taxonomy is None:
        warn_of_paths(y, what)
    lengths = np.empty(len(y), dtype=np.int64)
    flat: list[Any] = []
    for row, entry in enumerate(y):
        if not (_is_row(entry) or isinstance(entry, tuple | set | frozenset)):
            raise LabelError(
                f"{what}, row {row}: expected a list of labels as in the other rows, found {show(entry)}; "
                "wrap a single label in a list"
            )
        lengths[row] = len(entry)
        flat.extend(entry)
    if taxonomy is None:
        flat = [path_name(name) if isinstance(name, tuple) else name for name in flat]
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    _check_empty(indptr, allow_empty, what)
    row_of = np.repeat(np.arange(len(y)), lengths)
    try:
        distinct, inverse = _factorize(flat, what)
    except LabelError:
        at = next(i for i, label in enumerate(flat) if not isinstance(label, Hashable))
        raise LabelError(
            f"{what}, row {row_of[at]}: {show(flat[at])} cannot be a label; use strings or numbers"
        ) from None
    for position, name in enumerate(distinct):
        if is_blank(name):
            row = int(row_of[np.flatnonzero(inverse == position)[0]])
            raise LabelError(f"{what}, row {row} has an empty label {show(name)} among its labels; remove it")
    ids, names, known = _resolve(distinct, inverse, taxonomy, what, row_of, build=build)
    indicator = sp.csr_array(
        (np.ones(len(inverse)), ids[inverse], indptr), shape=(len(y), max(1, len(names)))
    )
    indicator.sum_duplicates()  # a label said twice counts once
    return Labels(indicator.indptr.astype(np.int64), indicator.indices.astype(np.int32), names, "sets", known)


def _from_levels(
    table: tuple[list[str], list[Sequence[Any]]], taxonomy: Taxonomy | None, what: str, build: bool
) -> Labels:
    levels, rows = table
    paths: dict[tuple[Hashable, ...], int] = {}
    codes = np.empty(len(rows), dtype=np.int64)
    known, several = taxonomy, len(levels) > 1
    try:
        for position, row in enumerate(rows):
            codes[position] = paths.setdefault(
                tuple(path_of_row(row, levels, position, is_blank)), len(paths)
            )
        if known is None and build and several:
            known = taxonomy_of_paths(paths)
    except TaxonomyError as error:
        raise LabelError(f"{what}: {error}") from None
    if taxonomy is not None:
        distinct = nodes_at(list(paths), taxonomy, codes, what)
    else:
        distinct = [path_name(path) if several else path[0] for path in paths]
    ids, names, known = _resolve(distinct, codes, known, what, build=build)
    return Labels(np.arange(len(rows) + 1, dtype=np.int64), ids[codes], names, "levels", known)


def _check_empty(indptr: npt.NDArray[np.int64], allow_empty: bool, what: str) -> None:
    if allow_empty:
        return
    empty = np.flatnonzero(np.diff(indptr) == 0)
    if len(empty):
        raise LabelError(
            f"{what}, row {empty[0]} has an empty label set ({len(empty)} such rows); drop these rows or label them"
        )
