"""`taxolearn predict`: rows in, paths out, in constant memory."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taxolearn.cli.console import Progress
from taxolearn.cli.options import (
    CsvSafe,
    Decision,
    Delimiter,
    Encoding,
    Format,
    Inner,
    ModelFolder,
    Show,
    Text,
)

if TYPE_CHECKING:
    from taxolearn.cli.inputs import Source
    from taxolearn.cli.labels import Columns
    from taxolearn.cli.models import Model


def predict(
    model: ModelFolder,
    rows: Annotated[
        str,
        typer.Argument(
            metavar="[ROWS]", help="CSV, TSV, JSON lines, Parquet, libsvm or text file; - is stdin."
        ),
    ] = "-",
    format: Format = None,
    text: Text = None,
    sentence: Annotated[
        list[str] | None,
        typer.Option(
            "--sentence", "-s", metavar="TEXT", help="Answer this text instead of a file; may be repeated."
        ),
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", help="Column of the input to copy to the answers.")
    ] = None,
    top_k: Annotated[
        int | None, typer.Option("--top-k", "-k", min=1, help="Best labels of each row, best first.")
    ] = None,
    beam: Annotated[
        int | None,
        typer.Option(
            "--beam",
            min=1,
            help="Search the taxonomy from the top down, with so many nodes of a level; quicker.",
        ),
    ] = None,
    decision: Decision = None,
    inner: Inner = False,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="File of the answers, compressed as its suffix says.")
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", help="csv or jsonl; else by the suffix of --output.")
    ] = None,
    csv_safe: CsvSafe = False,
    show: Show = "name",
    encoding: Encoding = None,
    delimiter: Delimiter = None,
) -> None:
    """Answer each row of a file, or of standard input, with path, score and probability.

    Rows are read and answered in chunks, so memory does not grow with the input.
    The probability is empty when the model has none (fit with --probability), and with --beam.
    With --decision the answer is what costs least in expectation, and the score minus that cost.
    With --output the file appears only when every row was answered.
    """
    from taxolearn.cli.inputs import STDIN, open_source
    from taxolearn.cli.labels import Columns
    from taxolearn.cli.models import Model
    from taxolearn.cli.outputs import answer_writer, keep_input, output_format, text_output
    from taxolearn.errors import DataError
    from taxolearn.files import check_output

    kept = keep or []
    answers_format = output_format(output, to)
    if output is not None:
        check_output(output)  # rather now than after reading the model
        keep_input(rows, output)
        if Path(output).resolve().parent == Path(model).resolve():
            raise DataError(f"--output {output} is inside the model folder; give another place")
    if sentence and rows != STDIN:
        raise DataError(f"--sentence and the file {rows} are two ways to give texts; give one")
    source = None if sentence else open_source(rows, format, encoding, delimiter)
    loaded = Model.load(model)
    loaded.show(show)
    loaded.decide(decision, inner)
    if source is not None:
        loaded.check_takes(source)
        chunks = _chunks(source, loaded, Columns(text=text), kept)
    else:
        loaded.check_takes(open_source(STDIN, "lines"))
        texts = sentence or []
        chunks = iter([(texts, [()] * len(texts))])
    with text_output(output) as stream, Progress("answered") as progress:
        write = answer_writer(stream, answers_format, kept if source is not None else (), csv_safe)
        row = 0
        for batch, kept_values in chunks:
            for answers, values in zip(loaded.answers(batch, top_k, beam), kept_values, strict=True):
                row += 1
                write(row, values, answers)
            progress.update(row)


Chunk = tuple[Any, Sequence[Sequence[Any]]]


def _chunks(source: Source, model: Model, columns: Columns, keep: Sequence[str]) -> Iterator[Chunk]:
    """(texts or features, kept columns) of some rows at a time."""
    if source.format == "libsvm":
        yield from _libsvm_chunks(source, model, keep)
        return
    from taxolearn.cli.labels import text_rows
    from taxolearn.cli.rows import open_table

    with open_table(source) as table:
        rows = text_rows(source, table, columns, labels=False, keep=keep)
        while chunk := list(islice(rows, model.chunk_rows)):
            yield [row.text for row in chunk], [row.kept for row in chunk]


def _libsvm_chunks(source: Source, model: Model, keep: Sequence[str]) -> Iterator[Chunk]:
    from taxolearn.cli.data import finite_only
    from taxolearn.datasets._files import line_blocks
    from taxolearn.datasets._rows import RowReader
    from taxolearn.errors import DataError, FileFormatError

    if keep:
        raise DataError("libsvm rows have no columns to --keep")
    width = model.estimator.n_features_in_
    line = 0
    with finite_only(), source.bytes() as stream:
        for block, line in line_blocks(stream):
            reader = RowReader(source.name, str, n_features=width)
            reader.read(io.BytesIO(block), first_line=line)
            features = reader.matrix()
            for first in range(0, features.shape[0], model.chunk_rows):
                some = features[first : first + model.chunk_rows]
                yield some, [()] * some.shape[0]
    if line == 0:
        raise FileFormatError(source.name, None, "the file is empty")
