"""`taxolearn predict`: rows in, paths out, in constant memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taxolearn.cli.console import Progress, on_engine, say
from taxolearn.cli.options import (
    Address,
    CsvSafe,
    Decision,
    Delimiter,
    Encoding,
    Engine,
    Format,
    Inner,
    ModelFolder,
    Show,
    SkipBad,
    Text,
)
from taxolearn.cli.promises import ByOption, CoverageOption, MaxNodes, Reached, RiskOption, promised

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
    coverage: CoverageOption = None,
    risk: RiskOption = None,
    by: ByOption = None,
    max_nodes: MaxNodes = None,
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
    skip_bad: SkipBad = None,
    engine: Engine = None,
    address: Address = None,
) -> None:
    """Answer each row of a file, or of standard input, with path, score and probability.

    Rows are read and answered in chunks, so memory does not grow with the input.
    The probability is empty when the model has none (fit with --probability), and with --beam.
    With --decision the answer is what costs least in expectation, and the score minus that cost.
    With --coverage or --risk, after `taxolearn calibrate`, answers stop at an inner node when unsure.
    With --output the file appears only when every row was answered. With --skip-bad rows that cannot be read get no
    answer and are listed; all others keep their numbers.
    """
    from taxolearn.cli.data import check_list
    from taxolearn.cli.inputs import STDIN, open_source
    from taxolearn.cli.labels import Columns
    from taxolearn.cli.left_out import LeftOut
    from taxolearn.cli.models import Model
    from taxolearn.cli.outputs import answer_writer, keep_apart, keep_input, output_format, text_output
    from taxolearn.errors import DataError
    from taxolearn.files import check_output

    kept = keep or []
    promise = promised(coverage, risk, by, max_nodes)
    if promise and (top_k is not None or beam is not None):
        raise DataError(
            "--coverage and --risk answer with nodes, so that --top-k and --beam do not go with them"
        )
    answers_format = output_format(output, to)
    if output is not None:
        check_output(output)  # rather now than after reading the model
        keep_input(rows, output)
        if Path(output).resolve().parent == Path(model).resolve():
            raise DataError(f"--output {output} is inside the model folder; give another place")
    if sentence and rows != STDIN:
        raise DataError(f"--sentence and the file {rows} are two ways to give texts; give one")
    source = None if sentence else open_source(rows, format, encoding, delimiter)
    left_out = LeftOut()
    if skip_bad is not None:
        if source is None:
            raise DataError("--skip-bad is for files, and --sentence gives texts; leave one of them out")
        check_list(source, skip_bad)
        if output is not None:
            keep_apart(output, skip_bad)
        source = replace(source, left_out=left_out)
    loaded = Model.load(model)
    loaded.show(show)
    loaded.decide(decision, inner)
    if promise:
        loaded.estimator._promised(**promise)  # rather now than after the first line of answers
    if source is not None:
        loaded.check_takes(source)
        chunks = _chunks(source, loaded, Columns(text=text), kept)
    else:
        loaded.check_takes(open_source(STDIN, "lines"))
        texts = sentence or []
        chunks = iter([(texts, [()] * len(texts), range(1, len(texts) + 1))])
    with on_engine(engine, address), text_output(output) as stream, Progress("answered") as progress:
        write = answer_writer(stream, answers_format, kept if source is not None else (), csv_safe)
        reached = Reached(promise)
        for batch, kept_values, numbers in chunks:
            found = loaded.stopped(batch, promise, reached) if promise else loaded.answers(batch, top_k, beam)
            for answers, values, row in zip(found, kept_values, numbers, strict=True):
                write(row, values, answers)
            progress.update(numbers[-1])
        if skip_bad is not None:
            left_out.tell(source.name if source is not None else "", skip_bad)
    if promise:
        say(reached.line())


Chunk = tuple[Any, Sequence[Sequence[Any]], Sequence[int]]


def _chunks(source: Source, model: Model, columns: Columns, keep: Sequence[str]) -> Iterator[Chunk]:
    """(texts or features, kept columns, numbers) of some rows at a time; rows that are left out have a number, too."""
    if source.format == "libsvm":
        yield from _libsvm_chunks(source, model, keep)
        return
    from taxolearn.cli.labels import text_rows
    from taxolearn.cli.rows import open_table

    with open_table(source) as table:
        rows = text_rows(source, table, columns, labels=False, keep=keep)
        numbered = ((n + _passed_over(source), row) for n, row in enumerate(rows, 1))
        while chunk := list(islice(numbered, model.chunk_rows)):
            yield [row.text for _, row in chunk], [row.kept for _, row in chunk], [n for n, _ in chunk]


def _passed_over(source: Source) -> int:
    return 0 if source.left_out is None else source.left_out.rows


def _libsvm_chunks(source: Source, model: Model, keep: Sequence[str]) -> Iterator[Chunk]:
    from taxolearn.cli.libsvm_rows import libsvm_blocks
    from taxolearn.errors import DataError

    if keep:
        raise DataError("libsvm rows have no columns to --keep")
    answered = 0
    for block in libsvm_blocks(source, model.estimator.n_features_in_):
        features = block.reader.matrix()
        for first in range(0, features.shape[0], model.chunk_rows):
            some = features[first : first + model.chunk_rows]
            before = answered + _passed_over(source)
            answered += some.shape[0]
            yield some, [()] * some.shape[0], range(before + 1, before + some.shape[0] + 1)
