"""Libsvm rows with any number of comma-separated labels."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taxolearn.datasets._files import PathLike, reading, writing
from taxolearn.datasets._names import name_reader, name_texts
from taxolearn.datasets._numbers import sparse_rows
from taxolearn.datasets._rows import RowReader
from taxolearn.datasets.dataset import Dataset
from taxolearn.errors import DataError, FileFormatError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from taxolearn.structure import Taxonomy

# A first token of digits and a colon is a feature, whatever follows.
_FORBIDDEN = re.compile(r"[\s,#\x00-\x1f\x7f]|^[0-9]+:")


def read_libsvm(
    path: PathLike,
    *,
    multilabel: bool = True,
    n_features: int | None = None,
    zero_based: bool = False,
    label_type: type = str,
    dtype: DTypeLike = np.float64,
    allow_nan: bool = False,
    taxonomy: Taxonomy | None = None,
) -> Dataset:
    """Read rows of `label,label index:value index:value # comment`.

    A row may have no labels: its first token is then `index:value`. Indices may stand in any order, each once
    a row. Blank lines are skipped. The file may be compressed (gz, xz, bz2, zst).

    Parameters
    ----------
    path : str or path
    multilabel : bool
        False: every row has one label, and y is a list of names rather than a list of lists.
    n_features : int, optional
        Number of columns; by default the largest index found. A larger index is then an error.
    zero_based : bool
        Whether the first feature is called 0 rather than 1.
    label_type : str or int
        What the labels are, to agree with the names of a taxonomy.
    dtype : float32 or float64
    allow_nan : bool
        Whether values that are not finite are kept rather than an error.
    taxonomy : Taxonomy, optional
        The taxonomy to put beside the rows.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.svm")
    ...     _ = path.write_text("cat,pet 1:0.5 3:2\\ndog 2:1\\n")
    ...     pets = read_libsvm(path)
    >>> pets.y, pets.X.toarray().tolist()
    ([['cat', 'pet'], ['dog']], [[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]])
    """
    rows = RowReader(
        path,
        name_reader(label_type),
        first_index=0 if zero_based else 1,
        n_features=n_features,
        single_label=not multilabel,
        allow_nan=allow_nan,
        dtype=dtype,
    )
    with reading(path) as stream:
        rows.read(stream)
    if not rows.labels:
        raise FileFormatError(path, None, "expected rows, found none; the file is empty")
    y = rows.labels if multilabel else [labels[0] for labels in rows.labels]
    return Dataset(rows.matrix(), y, taxonomy, name=Path(path).name)


def write_libsvm(path: PathLike, dataset: Dataset, *, zero_based: bool = False) -> None:
    """Write what `read_libsvm` reads; numbers keep every bit.

    The names of the features and of the taxonomy's inner nodes are not part of the format.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.svm")
    ...     write_libsvm(path, Dataset(np.eye(2), [["cat", "pet"], ["dog"]]))
    ...     print(path.read_text(), end="")
    cat,pet 1:1.0
    dog 2:1.0
    """
    label_rows = dataset.label_rows()
    texts = name_texts((label for labels in label_rows for label in labels), _FORBIDDEN, "a libsvm file")
    if not label_rows:
        raise DataError("the dataset has no rows; a libsvm file needs one at least")
    with writing(path) as stream:
        rows = sparse_rows(dataset, "a libsvm file", first_index=0 if zero_based else 1)
        for labels, features in zip(label_rows, rows, strict=True):
            line = ",".join([texts[label] for label in labels])
            if not labels and not features:
                # A blank line would be skipped; an explicit zero keeps the row.
                features = f"{0 if zero_based else 1}:0"
            stream.write(f"{line} {features}\n" if features else f"{line}\n")
