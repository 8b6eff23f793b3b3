"""A row of numbers out of a line of text, for models over features."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from taxolearn.errors import DataError
from taxolearn.structure.names import show

_BETWEEN = re.compile(r"[\s,;]+")


def rows_of_numbers(lines: Sequence[str], n_features: int) -> sparse.csr_array:
    """Rows of features: each line has pairs `index:value`, counted from 1, or all the numbers of a row.

    >>> rows_of_numbers(["1:0.5 3:2", "1, 0, 4"], 3).toarray().tolist()
    [[0.5, 0.0, 2.0], [1.0, 0.0, 4.0]]
    >>> rows_of_numbers(["1, 0"], 3)
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: row 1 has 2 numbers, but the model takes 3; give all of them, or index:value pairs
    """
    indptr, columns, values = [0], [np.zeros(0, np.int64)], [np.zeros(0)]
    for number, line in enumerate(lines, 1):
        found, numbers = _row(line, number, n_features)
        columns.append(found)
        values.append(numbers)
        indptr.append(indptr[-1] + len(found))
    shape = len(lines), n_features
    return sparse.csr_array((np.concatenate(values), np.concatenate(columns), np.array(indptr)), shape=shape)


def _row(line: str, number: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    cells = [cell for cell in _BETWEEN.split(line) if cell]
    pairs = [cell.split(":", 1) for cell in cells if ":" in cell]
    if pairs and len(pairs) != len(cells):
        raise DataError(f"row {number} mixes pairs index:value with numbers alone; give one or the other")
    if pairs:
        columns = np.array([_whole(index, number, n_features) - 1 for index, _ in pairs], np.int64)
        values = np.array([_number(value, number) for _, value in pairs])
        order = np.argsort(columns, kind="stable")
        columns, values = columns[order], values[order]
        if len(np.unique(columns)) != len(columns):
            raise DataError(f"row {number} gives a feature twice; give each once")
        return columns, values
    if len(cells) != n_features:
        raise DataError(
            f"row {number} has {len(cells):,} numbers, but the model takes {n_features:,}; give all of them, or "
            "index:value pairs"
        )
    values = np.array([_number(cell, number) for cell in cells])
    columns = np.flatnonzero(values)
    return columns, values[columns]


def _whole(text: str, number: int, n_features: int) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18 or not 1 <= int(text) <= n_features:
        raise DataError(
            f"row {number}: {show(text)} is no feature of the model; they go from 1 to {n_features:,}"
        )
    return int(text)


def _number(text: str, number: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise DataError(f"row {number}: expected a number, found {show(text)}")
    return value
