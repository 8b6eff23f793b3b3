"""`taxolearn diff`: what changed between two versions of a taxonomy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taxolearn.cli.console import out, out_json, table
from taxolearn.cli.options import Json
from taxolearn.errors import DataError

if TYPE_CHECKING:
    from taxolearn.structure import Taxonomy


def diff(
    old: Annotated[
        str, typer.Argument(metavar="OLD", help="File of `parent child` lines, or a model folder.")
    ],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The same, of the new version.")],
    mapping: Annotated[
        str | None,
        typer.Option(
            "--mapping",
            help="File of `old new` lines; several lines of one old name are a split, an old name alone is gone.",
        ),
    ] = None,
    guess: Annotated[
        bool, typer.Option(help="Guess by place and name what became of nodes that nothing is said about.")
    ] = True,
    as_json: Json = False,
) -> None:
    """List what was added, removed, renamed, merged, split and moved between two versions of a taxonomy.

    Files are read like --taxonomy of the other commands: tabs between names in a .tsv file, commas in a .csv file,
    else blanks. A name stands for the same node in both versions, unless --mapping says otherwise.
    """
    from taxolearn.structure.versions import diff as compare

    first, second = _taxonomy(old), _taxonomy(new)
    found = compare(first, second, None if mapping is None else _mapping(mapping), guess=guess)
    if as_json:
        out_json(found.to_dict())
        return
    out(found.to_text())
    if found.changes:
        out()
        table(*found.table())


def _taxonomy(path: str) -> Taxonomy:
    from taxolearn.cli.models import Model
    from taxolearn.cli.taxonomy_files import read_taxonomy

    if not Path(path).is_dir():
        return read_taxonomy(path)
    taxonomy = Model.load(path).taxonomy
    if taxonomy is None:
        raise DataError(f"{path}: this model has no taxonomy")
    return taxonomy


def _mapping(path: str) -> dict[Any, list[Any]]:
    """Old names and what became of them."""
    from taxolearn.cli.labels import read_pairs

    found: dict[Any, list[Any]] = {}
    for name, target in read_pairs(path):
        found.setdefault(name, []).extend([] if target is None else [target])
    return found
