"""Labelled rows read as a whole, for `fit` and `evaluate`: texts or features, labels, taxonomy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from taxolearn.cli.inputs import Source
from taxolearn.cli.labels import Columns, names_of, taxonomy_of, text_rows, without_unknown
from taxolearn.cli.left_out import LeftOut
from taxolearn.cli.libsvm_rows import read_libsvm
from taxolearn.cli.outputs import keep_input
from taxolearn.cli.rows import open_table
from taxolearn.errors import FileFormatError
from taxolearn.files import check_output

if TYPE_CHECKING:
    from taxolearn.structure import Taxonomy


@dataclass(frozen=True)
class Labelled:
    """Rows (a list of texts or a CSR array of features) and their labels.

    >>> Labelled(["it purrs", "it barks"], ["Cat", "Dog"], None).take([1]).y
    ['Dog']
    """

    rows: Any
    y: Sequence[Any]
    taxonomy: Taxonomy | None

    @property
    def taxonomy_text(self) -> str:
        """What people are told of the taxonomy.

        >>> Labelled(["it purrs"], ["Cat"], None).taxonomy_text
        'flat labels'
        """
        return "flat labels" if self.taxonomy is None else repr(self.taxonomy)

    def take(self, which: Sequence[int]) -> Labelled:
        """Some of the rows."""
        rows = [self.rows[i] for i in which] if isinstance(self.rows, list) else self.rows[list(which)]
        return Labelled(rows, [self.y[i] for i in which], self.taxonomy)


def read_labelled(
    source: Source,
    columns: Columns,
    taxonomy: Taxonomy | None,
    *,
    n_features: int | None = None,
    fixed: bool = False,
    skip_bad: str | None = None,
) -> Labelled:
    """Read all rows; the taxonomy is the given one or the one that label paths spell.

    `fixed`: labels are those of a model, whose taxonomy (or lack of one) is not up for discussion. `skip_bad`: rows
    that cannot be used are left out and listed in this file.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.csv")
    ...     _ = path.write_text("text,label\\nit purrs,Pet/Cat\\n")
    ...     data = read_labelled(Source(str(path), "csv"), Columns(sep="/"), None)
    >>> data.rows, data.y, data.taxonomy
    (['it purrs'], ['Pet/Cat'], Taxonomy(tree, 2 nodes, 1 leaf, depth 1))
    """
    if skip_bad is not None:
        check_list(source, skip_bad)
    found = LeftOut()
    source = replace(source, left_out=found)
    features: Any = None
    if source.format == "libsvm":
        features, rows = read_libsvm(source, columns, n_features)
    else:
        with open_table(source) as table:
            rows = list(text_rows(source, table, columns, labels=True))
    if found.count and skip_bad is None:
        first = found.problems[0]
        raise FileFormatError(source.name, first.line, first.message + found.others(source.name))
    kept = rows
    if skip_bad is not None:
        kept = rows if taxonomy is None else without_unknown(source, rows, columns, taxonomy)
        found.tell(source.name, skip_bad)
    if not kept:
        where = "" if features is not None else " after the header"
        raise FileFormatError(source.name, None, f"expected rows{where}, found none that can be used")
    if taxonomy is None and not fixed:
        taxonomy = taxonomy_of(source, kept, columns)
    names = names_of(source, kept, columns, taxonomy)
    if features is None:
        return Labelled([row.text for row in kept], names, taxonomy)
    places = {id(row): place for place, row in enumerate(rows)}
    whole = len(kept) == len(rows)
    return Labelled(features if whole else features[[places[id(row)] for row in kept]], names, taxonomy)


def check_list(source: Source, path: str) -> None:
    """Whether the file of rows that are left out can be written, and is not the one that is read."""
    check_output(path)
    keep_input(source.path, path, "--skip-bad")


def split(data: Labelled, share: float, seed: int) -> tuple[Labelled, Labelled]:
    """Training and held-out rows, at random; every class keeps a training row.

    >>> train, test = split(Labelled(list("abcd"), ["x", "x", "x", "y"], None), 0.5, seed=0)
    >>> len(train.y), len(test.y), "y" in train.y
    (2, 2, True)
    """
    import numpy as np

    label_sets = [set(labels) if isinstance(labels, list) else {labels} for labels in data.y]
    left: dict[Any, int] = {}
    for labels in label_sets:
        for label in labels:
            left[label] = left.get(label, 0) + 1
    wanted = round(share * len(data.y))
    held: set[int] = set()
    for i in np.random.default_rng(seed).permutation(len(data.y)).tolist():
        if len(held) == wanted:
            break
        if all(left[label] > 1 for label in label_sets[i]):
            held.add(i)
            for label in label_sets[i]:
                left[label] -= 1
    kept = [i for i in range(len(data.y)) if i not in held]
    return data.take(kept), data.take(sorted(held))
