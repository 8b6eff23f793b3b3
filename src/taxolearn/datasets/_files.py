"""Data files as lines of text, compressed or not; what is wrong is a FileFormatError with the line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

from taxolearn.errors import FileFormatError
from taxolearn.opening import BOM
from taxolearn.opening import PathLike as PathLike
from taxolearn.opening import decoded as decoded
from taxolearn.opening import quoted as quoted
from taxolearn.opening import reading as reading
from taxolearn.opening import writing as writing

_BLOCK_BYTES = 2**25  # bytes read at a time
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def safe_cell(cell: Any) -> Any:
    """A cell of CSV that no spreadsheet takes for a formula: an apostrophe before = + - @, tab and CR.

    Numbers stay numbers.

    >>> safe_cell("=1+1"), safe_cell("cat"), safe_cell(-1.5)
    ("'=1+1", 'cat', -1.5)
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS) else cell


def line_blocks(stream: IO[bytes], first_line: int = 1) -> Iterator[tuple[bytes, int]]:
    """Pieces of whole lines of some 32 MB, each ending in a newline, with the number of its first line."""
    rest = b""
    first = first_line == 1
    while True:
        piece = stream.read(_BLOCK_BYTES)
        if first:
            piece, first = piece.removeprefix(BOM), False
        if not piece:
            break
        cut = piece.rfind(b"\n") + 1
        if cut == 0:
            rest += piece
            continue
        block = rest + piece[:cut]
        rest = piece[cut:]
        yield block, first_line
        first_line += block.count(b"\n")
    if rest:
        yield rest + b"\n", first_line


def text_lines(path: PathLike) -> Iterator[tuple[int, str]]:
    """(line number, line without its end) of a UTF-8 file that is not empty."""
    with reading(path) as stream:
        number = 0
        for number, raw in enumerate(stream, 1):
            if number == 1:
                raw = raw.removeprefix(BOM)
            yield number, decoded(path, number, raw.rstrip(b"\r\n"))
        if number == 0:
            raise FileFormatError(path, None, "the file is empty")
