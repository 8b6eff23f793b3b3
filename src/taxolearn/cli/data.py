"""Labelled rows read as a whole, for `fit` and `evaluate`: texts or features, labels, taxonomy."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from taxolearn.cli.console import say
from taxolearn.cli.inputs import STDIN, Source
from taxolearn.cli.labels import Columns, TextRow, names_of, taxonomy_of, text_rows, without_unknown
from taxolearn.cli.left_out import LeftOut
from taxolearn.cli.outputs import keep_input
from taxolearn.cli.rows import open_table
from taxolearn.errors import DataError, FileFormatError
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
    if source.format == "libsvm":
        if skip_bad is not None:
            raise DataError("--skip-bad is for tables of texts; libsvm rows are made by programs")
        return _read_libsvm(source, columns, taxonomy, n_features, fixed)
    if skip_bad is not None:
        check_output(skip_bad)
        keep_input(source.path, skip_bad, "--skip-bad")
    found = LeftOut()
    source = replace(source, left_out=found)
    with open_table(source) as table:
        rows = list(text_rows(source, table, columns, labels=True))
    if found.count and skip_bad is None:
        first = found.problems[0]
        raise FileFormatError(source.name, first.line, first.message + found.others(source.name))
    if skip_bad is not None and taxonomy is not None:
        rows = without_unknown(source, rows, columns, taxonomy)
    if skip_bad is not None and found.count:
        found.write(skip_bad)
        say(f"{found.count:,} row{'s' * (found.count > 1)} of {source.name} left out, listed in {skip_bad}")
    if not rows:
        raise FileFormatError(source.name, None, "expected rows after the header, found none")
    return _labelled(source, [row.text for row in rows], rows, columns, taxonomy, fixed)


def _labelled(
    source: Source,
    texts: Any,
    rows: Sequence[TextRow],
    columns: Columns,
    taxonomy: Taxonomy | None,
    fixed: bool,
) -> Labelled:
    if taxonomy is None and not fixed:
        taxonomy = taxonomy_of(source, rows, columns)
    return Labelled(texts, names_of(source, rows, columns, taxonomy), taxonomy)


def _read_libsvm(
    source: Source, columns: Columns, taxonomy: Taxonomy | None, n_features: int | None, fixed: bool
) -> Labelled:
    from taxolearn.datasets._rows import RowReader

    reader = RowReader(source.name, str, n_features=n_features)
    with finite_only(), source.bytes() as stream:
        reader.read(stream)
    if not reader.labels:
        raise FileFormatError(source.name, None, "expected rows, found none; the file is empty")
    rows = [
        TextRow(number, "", [_libsvm_path(label, columns) for label in labels], ())
        for number, labels in enumerate(reader.labels, 1)
    ]
    try:
        for row in rows:
            if not row.paths:
                raise FileFormatError(
                    source.name, row.line, "expected a label, found none; every row needs one"
                )
        return _labelled(source, reader.matrix(), rows, columns, taxonomy, fixed)
    except FileFormatError as error:
        if error.line is None:
            raise
        raise FileFormatError(source.name, _line_of_row(source, error.line), error.message) from error


@contextlib.contextmanager
def finite_only() -> Iterator[None]:
    """Say what a person at the command line can do about a missing value.

    >>> with finite_only():
    ...     raise FileFormatError("a.svm", 3, "expected a finite number, found 'nan'; pass allow_nan=True to keep it")
    Traceback (most recent call last):
    ...
    taxolearn.errors.FileFormatError: a.svm:3: expected a finite number, found 'nan'; leave the entry out, or fill it in
    """
    try:
        yield
    except FileFormatError as error:
        said = error.message.replace("pass allow_nan=True to keep it", "leave the entry out, or fill it in")
        raise FileFormatError(error.path, error.line, said) from error


def _line_of_row(source: Source, row: int) -> int | None:
    """The line of a row, found by reading the file again; rows are the lines with more than a comment."""
    if source.path == STDIN:
        return None
    with source.bytes() as stream:
        lines = (number for number, raw in enumerate(stream, 1) if raw.split(b"#")[0].strip())
        return next(islice(lines, row - 1, None), None)


def _libsvm_path(label: Hashable, columns: Columns) -> tuple[str, ...]:
    return tuple(str(label).split(columns.sep)) if columns.sep else (str(label),)


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
