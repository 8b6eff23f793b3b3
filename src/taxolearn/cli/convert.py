"""`taxolearn convert`: from one data format to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from taxolearn.cli.console import out
from taxolearn.cli.options import CsvSafe
from taxolearn.errors import DataError

if TYPE_CHECKING:
    from taxolearn.datasets import Dataset

_FORMATS = ("libsvm", "lshtc", "xmc", "arff", "levels", "jsonl")
_SUFFIXES = {
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".arff": "arff",
    ".csv": "levels",
    ".tsv": "levels",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
_CHOICES = f"{', '.join(_FORMATS[:-1])} or {_FORMATS[-1]}"


def convert(
    source: Annotated[str, typer.Argument(metavar="FROM", help="File to read.")],
    target: Annotated[
        str, typer.Argument(metavar="TO", help="File to write, compressed as its suffix says.")
    ],
    source_format: Annotated[
        str | None, typer.Option("--from", help=f"{_CHOICES}; else by the suffix.")
    ] = None,
    target_format: Annotated[str | None, typer.Option("--to", help="The same for TO.")] = None,
    taxonomy: Annotated[
        str | None,
        typer.Option("--taxonomy", help="The taxonomy of the labels, in any form that `fit` reads."),
    ] = None,
    taxonomy_output: Annotated[
        str | None,
        typer.Option(
            "--taxonomy-output",
            help="File for the taxonomy: `parent child` lines, or SKOS (.ttl).",
        ),
    ] = None,
    names: Annotated[
        str | None, typer.Option("--names", help="File with the name of xmc label 0, 1, ...; one a line.")
    ] = None,
    names_output: Annotated[
        str | None, typer.Option("--names-output", help="File to write these names to, when TO is xmc.")
    ] = None,
    csv_safe: CsvSafe = False,
) -> None:
    """Convert a data file: libsvm, lshtc, xmc (extreme classification), arff (Clus), levels (CSV) and jsonl.

    Formats of features do not hold texts and JSON lines do not hold features: what does not fit is an error.
    Nothing is written when anything fails.
    """
    from taxolearn.cli.inputs import plain_suffix
    from taxolearn.cli.outputs import keep_input
    from taxolearn.cli.taxonomy_files import read_taxonomy
    from taxolearn.datasets import write_edges
    from taxolearn.files import together
    from taxolearn.structure.skos import SUFFIXES as SKOS_SUFFIXES

    read_as, write_as = _format(source, source_format, "--from"), _format(target, target_format, "--to")
    if names_output is not None and write_as != "xmc":
        raise DataError("--names-output goes with xmc files only; other formats hold the names themselves")
    if csv_safe and write_as != "levels":
        raise DataError("--csv-safe goes with CSV (levels) only; other formats hold texts as they are")
    written = {"TO": target, "--taxonomy-output": taxonomy_output, "--names-output": names_output}
    _check_outputs(written)
    for option, path in written.items():
        for read in (source, taxonomy, names):
            if path is not None and read is not None:
                keep_input(read, path, option)
    dataset = _read(source, read_as, taxonomy, names)
    if dataset.taxonomy is None and taxonomy is not None:
        from dataclasses import replace

        dataset = replace(dataset, taxonomy=read_taxonomy(taxonomy))
    if taxonomy_output is not None and dataset.taxonomy is None:
        raise DataError(f"{source}: there is no taxonomy to write; give one with --taxonomy")
    with together():
        if taxonomy_output is not None and dataset.taxonomy is not None:
            if plain_suffix(taxonomy_output) in SKOS_SUFFIXES:
                dataset.taxonomy.to_skos(taxonomy_output)
            else:
                sep = "\t" if taxonomy_output.endswith(".tsv") else " "
                write_edges(taxonomy_output, dataset.taxonomy, sep=sep)
        _write(target, write_as, dataset, names_output, csv_safe)
    out(f"{dataset.n_rows:,} rows written to {target}")


def _check_outputs(outputs: dict[str, str | None]) -> None:
    """Each can be written, and no two are one."""
    from taxolearn.files import check_output, same_target

    given = [(option, path) for option, path in outputs.items() if path is not None]
    for number, (option, path) in enumerate(given):
        check_output(path)
        for other, other_path in given[:number]:
            if same_target(path, other_path):
                raise DataError(f"{option} and {other} are one file, {path}; give each its own")


def _format(path: str, asked: str | None, option: str) -> str:
    from taxolearn.cli.inputs import plain_suffix

    if asked is None:
        asked = _SUFFIXES.get(plain_suffix(path))
        if asked is None:
            raise DataError(f"{path}: the name does not tell the format; give {option} {_CHOICES}")
    if asked not in _FORMATS:
        raise DataError(f"{option} {asked} is not known; choose {_CHOICES}")
    return asked


def _read(path: str, format: str, taxonomy: str | None, names: str | None) -> Dataset:
    from taxolearn import datasets
    from taxolearn.cli.inputs import plain_suffix
    from taxolearn.datasets._files import text_lines

    if format in ("libsvm", "lshtc"):
        return datasets.read_lshtc(path, taxonomy if format == "lshtc" else None)
    if format == "xmc":
        return datasets.read_xmc(path, label_names=[text for _, text in text_lines(names)] if names else None)
    if format == "arff":
        return datasets.read_arff(path)
    if format == "levels":
        return datasets.read_level_table(path, delimiter="\t" if plain_suffix(path) == ".tsv" else ",")
    return datasets.read_jsonl(path)


def _write(path: str, format: str, dataset: Dataset, names_output: str | None, csv_safe: bool) -> None:
    from taxolearn import datasets
    from taxolearn.cli.inputs import plain_suffix
    from taxolearn.datasets._files import writing

    if format in ("libsvm", "lshtc"):
        datasets.write_libsvm(path, dataset)
    elif format == "xmc":
        names = datasets.write_xmc(path, dataset)
        if names_output is not None:
            with writing(names_output) as stream:
                stream.writelines(f"{name}\n" for name in names)
    elif format == "arff":
        datasets.write_arff(path, dataset)
    elif format == "levels":
        delimiter = "\t" if plain_suffix(path) == ".tsv" else ","
        datasets.write_level_table(path, dataset, delimiter=delimiter, csv_safe=csv_safe)
    else:
        datasets.write_jsonl(path, dataset)
