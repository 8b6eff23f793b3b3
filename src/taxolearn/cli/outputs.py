"""Answers on their way out: CSV or JSON lines, to standard output or to a file that appears as a whole."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, NamedTuple, cast

from taxolearn.cli.inputs import STDIN, plain_suffix
from taxolearn.datasets._files import safe_cell, writing
from taxolearn.errors import DataError
from taxolearn.files import same_target
from taxolearn.terminal import printable

OUTPUT_FORMATS = ("csv", "jsonl")
_COLUMNS = ("row", "rank", "label", "path", "score", "probability")


class Answer(NamedTuple):
    """One label of one row; the probability is None where the model has none.

    >>> Answer("Cat", ("Pet", "Cat"), 1.5, None).path
    ('Pet', 'Cat')
    """

    label: Any
    path: tuple[Any, ...]
    score: float
    probability: float | None


def output_format(path: str | None, asked: str | None) -> str:
    """The format of the answers: as asked, or by the suffix, or CSV.

    >>> output_format("answers.jsonl.gz", None), output_format(None, None)
    ('jsonl', 'csv')
    """
    if asked is not None:
        if asked not in OUTPUT_FORMATS:
            raise DataError(f"--to {asked} is not known; choose csv or jsonl")
        return asked
    return "jsonl" if path is not None and plain_suffix(path) in (".jsonl", ".ndjson") else "csv"


def keep_input(source: str, output: str, option: str = "--output") -> None:
    """Refuse to write over a file that is read.

    >>> keep_input("rows.csv", "./rows.csv")
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: --output ./rows.csv is the file that is read, and would be lost; give another name
    """
    if source != STDIN and same_target(output, source):
        raise DataError(f"{option} {output} is the file that is read, and would be lost; give another name")


def keep_apart(output: str, listed: str) -> None:
    """Refuse to write the answers and the rows that got none into one file.

    >>> keep_apart("answers.csv", "./answers.csv")
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: --output and --skip-bad are both answers.csv; give two names
    """
    if same_target(output, listed):
        raise DataError(f"--output and --skip-bad are both {output}; give two names")


@contextlib.contextmanager
def text_output(path: str | None) -> Iterator[IO[str]]:
    """A stream to a file, which appears only when all went well, or to standard output.

    >>> with text_output(None) as stream:
    ...     _ = stream.write("done\\n")
    done
    """
    if path is not None:
        with writing(path) as stream:
            yield stream
        return
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="", errors="backslashreplace")
    yield cast(IO[str], _Shown()) if sys.stdout.isatty() else sys.stdout
    sys.stdout.flush()


class _Shown:
    """Standard output on a terminal, which no character of an answer may control."""

    def write(self, text: str) -> int:
        return sys.stdout.write(printable(text, keep="\n"))


def answer_writer(
    stream: IO[str], format: str, keep: Sequence[str], csv_safe: bool = False
) -> Callable[[int, Sequence[Any], Sequence[Answer]], None]:
    """A function that writes the answers of one row: (number of the row, kept columns, answers).

    `csv_safe` keeps spreadsheets from taking a cell of CSV for a formula, see `safe_cell`.

    >>> write = answer_writer(sys.stdout, "jsonl", ["id"])
    >>> write(1, ["a7"], [Answer("Cat", ("Cat",), 1.5, None)])
    {"row": 1, "id": "a7", "answers": [{"label": "Cat", "path": ["Cat"], "score": 1.5, "probability": null}]}
    """
    if format == "jsonl":
        if csv_safe:
            raise DataError("--csv-safe goes with CSV only; JSON lines hold texts as they are")

        def write_json(row: int, kept: Sequence[Any], answers: Sequence[Answer]) -> None:
            record = {
                "row": row,
                **dict(zip(keep, kept, strict=True)),
                "answers": [{**answer._asdict(), "path": list(answer.path)} for answer in answers],
            }
            stream.write(json.dumps(record, ensure_ascii=False, default=str) + "\n")

        return write_json

    taken = [name for name in keep if name in _COLUMNS]
    if taken:
        raise DataError(f"--keep {taken[0]}: the answers have a column of that name; choose --to jsonl")
    writer = csv.writer(_Rows(stream), lineterminator="\r\n")
    safe = safe_cell if csv_safe else _as_it_is
    writer.writerow([*map(safe, keep), *_COLUMNS])

    def write_csv(row: int, kept: Sequence[Any], answers: Sequence[Answer]) -> None:
        for rank, answer in enumerate(answers, 1):
            path = "/".join(map(str, answer.path))
            probability = "" if answer.probability is None else f"{answer.probability:.6g}"
            cells = [*map(safe, kept), row, rank, safe(answer.label), safe(path)]
            writer.writerow([*cells, f"{answer.score:.6g}", probability])

    return write_csv


class _Rows:
    """Rows of a CSV writer that end in CR LF, only then does it quote a lone CR in a cell, as rows that end in LF."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, row: str) -> int:
        return self._stream.write(row.removesuffix("\r\n") + "\n")


def _as_it_is(cell: Any) -> Any:
    return cell
