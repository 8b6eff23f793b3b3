"""Rows of `label,label index:value ...` as arrays: shared by the libsvm and extreme-classification readers.

The text is parsed block by block by a compiled kernel; this module makes its error codes readable.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import pairwise
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from taxolearn.datasets._files import PathLike, line_blocks, quoted
from taxolearn.datasets._numbers import csr
from taxolearn.errors import DataError, FileFormatError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray
    from scipy import sparse

MAX_INDEX = 2**31 - 2  # the number of columns still fits an int32

_TOKEN = re.compile(rb"[^\s#]*")


@dataclass
class RowReader:
    """Parse blocks of rows, keep the pieces, join them at the end."""

    path: PathLike
    name_of: Callable[[str], Hashable]
    first_index: int = 1
    n_features: int | None = None
    keep_blank: bool = False
    single_label: bool = False
    allow_nan: bool = False
    dtype: DTypeLike = np.float64

    def __post_init__(self) -> None:
        if np.dtype(self.dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise DataError(f"dtype must be float32 or float64, found {self.dtype!r}")
        if self.n_features is not None and not 0 < self.n_features <= MAX_INDEX + 1:
            raise DataError(f"n_features must be from 1 to {MAX_INDEX + 1:,}, found {self.n_features!r}")
        self._names: dict[bytes, Hashable] = {}
        self._data: list[NDArray[Any]] = []
        self._indices: list[NDArray[np.int32]] = []
        self._lengths: list[NDArray[np.int64]] = []
        self.labels: list[list[Hashable]] = []

    def read(self, stream: IO[bytes], first_line: int = 1) -> None:
        """Parse all rows of `stream`, whose first line is number `first_line` of the file."""
        for block, line in line_blocks(stream, first_line):
            self._parse(block, line)

    def matrix(self) -> sparse.csr_array:
        """The features of all rows read."""
        indices = np.concatenate([np.empty(0, np.int32), *self._indices])
        lengths = np.concatenate([np.zeros(1, np.int64), *self._lengths])
        data = np.concatenate([np.empty(0, self.dtype), *self._data])
        found = int(indices.max()) + 1 if indices.size else 0
        columns = found if self.n_features is None else self.n_features
        return csr(data, indices, np.cumsum(lengths), (lengths.size - 1, columns))

    def _parse(self, block: bytes, line: int) -> None:
        from taxolearn.kernels import libsvm_parse

        buffer = np.frombuffer(block, np.uint8)
        n_lines, n_commas, n_colons = block.count(b"\n"), block.count(b","), block.count(b":")
        row_start = np.empty(n_lines, np.int64)
        indptr, label_indptr = np.empty(n_lines + 1, np.int64), np.empty(n_lines + 1, np.int64)
        indices, data, slow = np.empty(n_colons, np.int32), np.empty(n_colons), np.empty(n_colons, np.bool_)
        label_start, label_end = np.empty((2, n_lines + n_commas), np.int64)
        max_index = MAX_INDEX if self.n_features is None else self.n_features - 1
        n_rows, nnz, n_labels, ascending, code, offset = libsvm_parse.parse_rows(
            buffer, self.first_index, max_index, self.keep_blank,
            row_start, indptr, indices, data, slow, label_indptr, label_start, label_end,
        )  # fmt: skip
        if code != libsvm_parse.OK:
            raise self._error(
                block, line, int(offset), self._message(code, max_index, _found(block, int(offset)))
            )
        self._read_slow(block, line, data, np.flatnonzero(slow[:nnz]))
        indptr = indptr[: n_rows + 1]
        if not ascending:
            self._sort(block, line, row_start, indptr, indices, data)
        label_indptr = label_indptr[: n_rows + 1]
        if self.single_label:
            self._check_single(block, line, row_start, label_indptr)
        self._read_labels(block, line, label_start[:n_labels], label_end[:n_labels], label_indptr)
        self._data.append(data[:nnz].astype(self.dtype))
        self._indices.append(indices[:nnz].copy())
        self._lengths.append(np.diff(indptr))

    def _read_slow(self, block: bytes, line: int, data: NDArray[np.float64], where: NDArray[np.intp]) -> None:
        """Replace the offsets the kernel left in `data` by the numbers found there."""
        for k, offset in zip(where.tolist(), data[where].astype(np.int64).tolist(), strict=True):
            token = _token(block, offset)
            try:
                # float() also takes underscores between digits.
                value = float(b"_" if b"_" in token else token)
            except ValueError as error:
                raise self._error(block, line, offset, f"expected a number, found {quoted(token)}") from error
            if not self.allow_nan and not math.isfinite(value):
                message = f"expected a finite number, found {quoted(token)}; pass allow_nan=True to keep it"
                raise self._error(block, line, offset, message)
            data[k] = value

    def _sort(
        self,
        block: bytes,
        line: int,
        row_start: NDArray[np.int64],
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        data: NDArray[np.float64],
    ) -> None:
        """Bring every row's indices into ascending order, in place; a repeated one is an error."""
        nnz = int(indptr[-1])
        rows = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
        order = np.lexsort((indices[:nnz], rows))
        indices[:nnz], data[:nnz] = indices[:nnz][order], data[:nnz][order]
        twice = np.flatnonzero((np.diff(indices[:nnz]) == 0) & (np.diff(rows) == 0))
        if twice.size:
            index = int(indices[twice[0]]) + self.first_index
            message = f"expected each feature once a row, found feature {index} twice"
            raise self._error(block, line, int(row_start[rows[twice[0]]]), message)

    def _check_single(
        self, block: bytes, line: int, row_start: NDArray[np.int64], bounds: NDArray[np.int64]
    ) -> None:
        others = np.flatnonzero(np.diff(bounds) != 1)
        if others.size:
            row = others[0]
            message = f"expected one label, found {bounds[row + 1] - bounds[row]}; pass multilabel=True"
            raise self._error(block, line, int(row_start[row]), message)

    def _read_labels(
        self,
        block: bytes,
        line: int,
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        bounds: NDArray[np.int64],
    ) -> None:
        tokens = [block[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        for token in set(tokens).difference(self._names):
            try:
                self._names[token] = self.name_of(token.decode())
            except ValueError as error:
                wrong = "expected UTF-8 text, found " + quoted(token)
                message = wrong if isinstance(error, UnicodeDecodeError) else str(error)
                raise self._error(block, line, int(starts[tokens.index(token)]), message) from error
        names = [self._names[token] for token in tokens]
        self.labels.extend(names[start:end] for start, end in pairwise(bounds.tolist()))

    def _error(self, block: bytes, line: int, offset: int, message: str) -> FileFormatError:
        """An error at `offset` of the block, whose first line is number `line`."""
        return FileFormatError(self.path, line + block.count(b"\n", 0, offset), message)

    def _message(self, code: int, max_index: int, found: str) -> str:
        from taxolearn.kernels import libsvm_parse

        expected = {
            libsvm_parse.EXPECTED_FEATURE: "index:value",
            libsvm_parse.INDEX_BELOW_FIRST: "feature indices from 1",
            libsvm_parse.INDEX_TOO_LARGE: f"a feature index up to {max_index + self.first_index}",
            libsvm_parse.EMPTY_VALUE: "a number after the colon",
            libsvm_parse.EMPTY_LABEL: "a label",
            libsvm_parse.CONTROL_BYTE: "a label",
        }[code]
        hint = {
            libsvm_parse.INDEX_BELOW_FIRST: "; pass zero_based=True if they count from 0",
            libsvm_parse.CONTROL_BYTE: "; the file looks binary",
        }.get(code, "")
        return f"expected {expected}, found {found}{hint}"


def _token(block: bytes, offset: int) -> bytes:
    found = _TOKEN.match(block, offset)
    return found[0] if found else b""


def _found(block: bytes, offset: int) -> str:
    token = _token(block, offset)
    return quoted(token) if token else "the end of the line"
