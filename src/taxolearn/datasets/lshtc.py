"""The files of the LSHTC challenges: libsvm rows and a hierarchy file (`cat_hier.txt`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from taxolearn.datasets._files import PathLike
from taxolearn.datasets.dataset import Dataset
from taxolearn.datasets.edges import read_edges, write_edges
from taxolearn.datasets.libsvm import read_libsvm, write_libsvm
from taxolearn.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


def read_lshtc(
    rows: PathLike,
    hierarchy: PathLike | None = None,
    *,
    multilabel: bool = True,
    n_features: int | None = None,
    label_type: type = str,
    dtype: DTypeLike = np.float64,
    allow_nan: bool = False,
) -> Dataset:
    r"""Read libsvm rows and, when given, the hierarchy of their labels.

    The hierarchy has `parent child` pairs, or whole chains from the root down as in the first challenge.
    Labels and nodes are read as the same `label_type`.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows, hierarchy = pathlib.Path(folder, "train.txt"), pathlib.Path(folder, "cat_hier.txt")
    ...     _ = rows.write_text("33, 29 5:1 7:2\n33 6:1\n")
    ...     _ = hierarchy.write_text("1 4 33\n1 29\n")
    ...     train = read_lshtc(rows, hierarchy)
    >>> train.y, train.taxonomy
    ([['33', '29'], ['33']], Taxonomy(tree, 4 nodes, 2 leaves, depth 2))
    """
    taxonomy = None if hierarchy is None else read_edges(hierarchy, chains=True, label_type=label_type)
    return read_libsvm(
        rows,
        multilabel=multilabel,
        n_features=n_features,
        label_type=label_type,
        dtype=dtype,
        allow_nan=allow_nan,
        taxonomy=taxonomy,
    )


def write_lshtc(rows: PathLike, dataset: Dataset, hierarchy: PathLike | None = None) -> None:
    """Write the rows and, when a second path is given, the hierarchy as `read_lshtc` reads them.

    >>> import tempfile, pathlib
    >>> from taxolearn.structure import Taxonomy
    >>> pets = Dataset(np.eye(2), ["Cat", "Dog"], Taxonomy.from_edges([("Pet", "Cat"), ("Pet", "Dog")]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows, hierarchy = pathlib.Path(folder, "rows.svm"), pathlib.Path(folder, "cat_hier.txt")
    ...     write_lshtc(rows, pets, hierarchy)
    ...     hierarchy.read_text()
    'Pet Cat\\nPet Dog\\n'
    """
    if hierarchy is not None:
        if dataset.taxonomy is None:
            raise DataError("the dataset has no taxonomy to write as a hierarchy; leave the second path out")
        write_edges(hierarchy, dataset.taxonomy)
    write_libsvm(rows, dataset)
