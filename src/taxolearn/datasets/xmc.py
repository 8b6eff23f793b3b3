"""The format of the extreme classification repository: a header `n d L`, then zero-based rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taxolearn.datasets._files import PathLike, decoded, quoted, reading, writing
from taxolearn.datasets._names import name_reader
from taxolearn.datasets._numbers import sparse_rows
from taxolearn.datasets._rows import MAX_INDEX, RowReader
from taxolearn.datasets.dataset import Dataset
from taxolearn.errors import DataError, FileFormatError, LabelError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from taxolearn.structure import Taxonomy

_MAX_HEADER_BYTES = 200  # three numbers and blanks; a longer first line is no header


def read_xmc(
    path: PathLike,
    *,
    label_names: Sequence[Hashable] | None = None,
    dtype: DTypeLike = np.float64,
    allow_nan: bool = False,
    taxonomy: Taxonomy | None = None,
) -> Dataset:
    r"""Read `n d L` and n rows of `label,label index:value ...`, labels and features counted from 0.

    A row without labels starts with a space or with its first feature; a blank line is a row with neither.

    Parameters
    ----------
    path : str or path
    label_names : sequence, optional
        The names of labels 0 to L - 1; by default the numbers themselves.
    dtype : float32 or float64
    allow_nan : bool
        Whether values that are not finite are kept rather than an error.
    taxonomy : Taxonomy, optional
        The taxonomy to put beside the rows.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.txt")
    ...     _ = path.write_text("2 3 2\n0,1 0:0.5 2:1\n 1:2\n")
    ...     read_xmc(path).y, read_xmc(path, label_names=["cat", "dog"]).y
    ([[0, 1], []], [['cat', 'dog'], []])
    """
    with reading(path) as stream:
        header = decoded(path, 1, stream.readline(_MAX_HEADER_BYTES))
        n_rows, n_features, n_labels = _parse_header(path, header)
        if label_names is not None and len(label_names) != n_labels:
            raise DataError(
                f"label_names has {len(label_names):,} names, the header of {path} says {n_labels:,} labels"
            )
        rows = RowReader(
            path,
            _label_reader(n_labels, label_names),
            first_index=0,
            n_features=n_features,
            keep_blank=True,
            allow_nan=allow_nan,
            dtype=dtype,
        )
        rows.read(stream, first_line=2)
    X, y = rows.matrix(), rows.labels
    if len(y) != n_rows and (len(y) < n_rows or any(y[n_rows:]) or X.indptr[n_rows] < X.nnz):
        raise FileFormatError(path, 1, f"expected {n_rows:,} rows as the header says, found {len(y):,}")
    # Blank lines after the last row.
    return Dataset(X[:n_rows], y[:n_rows], taxonomy, name=Path(path).name)


def _parse_header(path: PathLike, header: str) -> tuple[int, int, int]:
    parts = header.removeprefix("\ufeff").split()
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() and len(part) < 19 for part in parts):
        found = quoted(header.rstrip("\n")) if header else "an empty file"
        raise FileFormatError(
            path, 1, f"expected a header of three numbers 'rows features labels', found {found}"
        )
    n_rows, n_features, n_labels = map(int, parts)
    if not 0 < n_features <= MAX_INDEX + 1:
        raise FileFormatError(path, 1, f"expected from 1 to {MAX_INDEX + 1:,} features, found {n_features:,}")
    return n_rows, n_features, n_labels


def _label_reader(n_labels: int, label_names: Sequence[Hashable] | None) -> Callable[[str], Hashable]:
    integer = name_reader(int)

    def read(text: str) -> Hashable:
        number = integer(text)
        if not isinstance(number, int) or not 0 <= number < n_labels:
            raise ValueError(
                f"expected a label from 0 to {n_labels - 1} as the header says, found {quoted(text)}"
            )
        return number if label_names is None else label_names[number]

    return read


def write_xmc(
    path: PathLike, dataset: Dataset, *, label_names: Sequence[Hashable] | None = None
) -> tuple[Hashable, ...]:
    r"""Write what `read_xmc` reads and return the names of the labels; a name's position is its number.

    Labels that are whole numbers from 0 stay the same numbers; other labels are numbered as in
    `label_names`, or else in order of first appearance.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.txt")
    ...     names = write_xmc(path, Dataset(np.eye(2), [["dog", "cat"], []]))
    ...     print(names, path.read_text().splitlines())
    ('dog', 'cat') ['2 2 2', '0,1 0:1.0', ' 1:1.0']
    """
    label_rows = dataset.label_rows()
    names = _number_labels(label_rows) if label_names is None else tuple(label_names)
    number = {name: position for position, name in enumerate(names)}
    if len(number) < len(names):
        raise LabelError("label_names holds a name twice; a name needs one number")
    if dataset.n_features == 0:
        raise DataError("the dataset has no features; the extreme classification format needs one at least")
    with writing(path) as stream:
        stream.write(f"{dataset.n_rows} {dataset.n_features} {len(names)}\n")
        features = sparse_rows(dataset, "the extreme classification format", first_index=0)
        for row, (labels, values) in enumerate(zip(label_rows, features, strict=True)):
            try:
                numbers = [str(number[label]) for label in labels]
            except KeyError as error:
                raise LabelError(f"row {row}: the label {error.args[0]!r} is not in label_names") from error
            stream.write(f"{','.join(numbers)} {values}\n" if values else f"{','.join(numbers)}\n")
    return names


def _number_labels(label_rows: list[list[Hashable]]) -> tuple[Hashable, ...]:
    distinct = dict.fromkeys(label for labels in label_rows for label in labels)
    numbers = [label for label in distinct if isinstance(label, int | np.integer) and label >= 0]
    if distinct and len(numbers) == len(distinct):
        return tuple(range(int(max(numbers)) + 1))
    return tuple(distinct)
