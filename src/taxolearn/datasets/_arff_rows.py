"""The data rows of an ARFF file, dense or sparse, as columns of numbers, labels and texts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from taxolearn.datasets._arff_header import Attribute, Header
from taxolearn.datasets._arff_text import split_cells, split_values
from taxolearn.datasets._files import PathLike, quoted
from taxolearn.datasets._numbers import csr, parse_number
from taxolearn.errors import FileFormatError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

_MISSING = "?"


class DataRows:
    """Collects the rows one by one; a nominal attribute fills one column per value."""

    def __init__(self, path: PathLike, header: Header) -> None:
        self.path = path
        self.taxonomy = header.taxonomy
        self.attributes = tuple(header.attributes.values())
        self.labels: list[list[str]] = []
        self.texts: list[str] = []
        self.feature_names: list[str] = []
        self.any_sparse = False
        self._first: list[int] = []
        self._offsets: list[dict[str, int]] = []
        self._columns: list[int] = []
        self._values: list[float] = []
        self._ends: list[int] = [0]
        for attribute in self.attributes:
            self._first.append(len(self.feature_names))
            self._offsets.append({value: k for k, value in enumerate(attribute.values)})
            if attribute.kind == "numeric":
                self.feature_names.append(attribute.name)
            self.feature_names.extend(f"{attribute.name}={value}" for value in attribute.values)

    def add(self, line: int, text: str) -> None:
        """Add the row `text`, the line `line` of the file."""
        labels: list[str] = []
        words = ""
        for position, value in self._cells(line, text).items():
            attribute = self.attributes[position]
            if attribute.kind == "class":
                labels = self._read_labels(line, value)
            elif attribute.kind == "string":
                words = value
            elif attribute.kind == "numeric":
                self._add_number(line, position, attribute, value)
            elif attribute.kind == "nominal":
                self._add_nominal(line, position, attribute, value)
        self.labels.append(labels)
        self.texts.append(words)
        self._ends.append(len(self._columns))

    def matrix(self) -> NDArray[np.float64] | sparse.csr_array:
        """X of all rows: a CSR array when one of them was sparse."""
        X = csr(
            np.array(self._values, np.float64),
            np.array(self._columns, np.int32),
            np.array(self._ends),
            (len(self.labels), len(self.feature_names)),
        )
        X.sort_indices()
        if self.any_sparse:
            return X
        dense: NDArray[np.float64] = X.toarray()
        return dense

    def _cells(self, line: int, text: str) -> dict[int, str]:
        """The values of a row by the position of their attribute."""
        size = len(self.attributes)
        if not text.startswith("{"):
            values = split_values(self.path, line, text)
            if len(values) != size:
                raise FileFormatError(self.path, line, f"expected {size} values, found {len(values)}")
            return dict(enumerate(values))
        if not text.endswith("}"):
            raise FileFormatError(
                self.path, line, f"expected '}}' at the end of the row, found {quoted(text[-20:])}"
            )
        self.any_sparse = True
        cells = split_cells(self.path, line, text[1:-1])
        if cells and max(cells) >= size:
            raise FileFormatError(self.path, line, f"expected positions up to {size - 1}, found {max(cells)}")
        # ARFF leaves out zeros, and the zero of a nominal attribute is its first value.
        first_values = {k: a.values[0] for k, a in enumerate(self.attributes) if a.kind == "nominal"}
        return first_values | cells

    def _add_number(self, line: int, position: int, attribute: Attribute, value: str) -> None:
        try:
            number = math.nan if value == _MISSING else parse_number(value)
        except ValueError as error:
            message = f"expected a number or ? for {quoted(attribute.name)}, found {quoted(value)}"
            raise FileFormatError(self.path, line, message) from error
        if number != 0.0:
            self._columns.append(self._first[position])
            self._values.append(number)

    def _add_nominal(self, line: int, position: int, attribute: Attribute, value: str) -> None:
        first = self._first[position]
        if value in self._offsets[position]:
            self._columns.append(first + self._offsets[position][value])
            self._values.append(1.0)
        elif value == _MISSING:
            self._columns.extend(range(first, first + len(attribute.values)))
            self._values.extend([math.nan] * len(attribute.values))
        else:
            message = f"expected one of the {len(attribute.values)} values of {quoted(attribute.name)}"
            raise FileFormatError(self.path, line, f"{message}, found {quoted(value)}")

    def _read_labels(self, line: int, value: str) -> list[str]:
        if value == _MISSING:
            return []
        labels = value.split("@")
        for label in labels:
            if self.taxonomy is None or label not in self.taxonomy:
                raise FileFormatError(
                    self.path, line, f"expected a class of the hierarchy, found {quoted(label)}"
                )
        return labels
