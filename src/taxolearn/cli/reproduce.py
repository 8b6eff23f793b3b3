"""`taxolearn reproduce`: run a table of the documentation again, and say OK or FAIL for each of its figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from taxolearn.cli.console import out, out_json, say, table
from taxolearn.cli.options import Json

if TYPE_CHECKING:
    from taxolearn.reproduce import Figure, Outcome


def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="Which one; all are listed without it.")
    ] = None,
    data: Annotated[str | None, typer.Option("--data", help="Folder of the data sets.")] = None,
    scripts: Annotated[
        str | None,
        typer.Option(
            "--scripts", help="Folder `benchmarks` of the source.", show_default="that of the checkout"
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a published table again, and print OK or FAIL for each figure.

    Every figure of the papers and of the documentation is a row of a list that comes with the package: the script that
    prints it, its data, what is expected, and the tolerance. The scripts come with the source, not with the wheel.
    Exit code 1: a figure is out of its tolerance, or was not printed.
    """
    from taxolearn.reproduce import figures, find_scripts, of_table, rerun

    if name is None:
        _list(figures(), as_json)
        return
    wanted = of_table(name)
    outcomes = []
    for outcome in rerun(wanted, find_scripts(scripts), data, tell=say):
        outcomes.append(outcome)
        if not as_json:
            out(_told(outcome))
    n_ok = sum(outcome.ok for outcome in outcomes)
    if as_json:
        out_json([{**each.figure._asdict(), "found": each.found, "ok": each.ok} for each in outcomes])
    else:
        out(f"{name}: {n_ok} of {len(outcomes)} figures OK")
    if n_ok < len(outcomes):
        raise typer.Exit(1)


def _list(rows: Sequence[Figure], as_json: bool) -> None:
    """All tables, a line each."""
    if as_json:
        out_json([figure._asdict() for figure in rows])
        return
    tables: dict[str, list[Figure]] = {}
    for figure in rows:
        tables.setdefault(figure.table, []).append(figure)
    lines = [
        [
            name,
            str(len(found)),
            " ".join(sorted({each for one in found for each in one.data})) or "-",
            found[0].page,
        ]
        for name, found in tables.items()
    ]
    table(["table", "figures", "data", "page"], lines)


def _told(outcome: Outcome) -> str:
    figure = outcome.figure
    found = "not printed" if outcome.found is None else f"{outcome.found:g}"
    published = "" if figure.published is None else f"; published {figure.published:g}"
    verdict = "OK  " if outcome.ok else "FAIL"
    return f"{verdict} {figure.figure}: {found} (expected {figure.expected:g} +- {figure.tolerance:g}{published})"
