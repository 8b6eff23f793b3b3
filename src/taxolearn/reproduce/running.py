"""Running the scripts again, in a process of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from taxolearn.errors import DataError
from taxolearn.reproduce.figures import Figure
from taxolearn.reproduce.outcomes import Outcome, judge

_SOURCE = Path(__file__).parents[3]  # a checkout has the scripts beside src


def find_scripts(folder: str | None) -> Path:
    """The folder of the benchmark scripts: the one given, that of the checkout, or ./benchmarks.

    >>> find_scripts("/no/such/folder")
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: /no/such/folder is not a folder of benchmark scripts; they come with the source of \
taxolearn, not with the wheel: unpack the sdist or clone it, and give its folder benchmarks by --scripts
    """
    places = [Path(folder)] if folder else [_SOURCE / "benchmarks", Path("benchmarks")]
    for place in places:
        if (place / "_data.py").is_file():
            return place.resolve()
    raise DataError(
        f"{places[-1]} is not a folder of benchmark scripts; they come with the source of taxolearn, not with the "
        "wheel: unpack the sdist or clone it, and give its folder benchmarks by --scripts"
    )


def rerun(
    figures: Sequence[Figure],
    scripts: Path,
    data: str | None,
    tell: Callable[[str], None] = lambda line: None,
) -> Iterator[Outcome]:
    """Run every command of the figures once, and yield what came out as soon as it ends.

    `tell` is called with each line as it is printed. A missing data set or script is an error before anything runs.

    >>> from taxolearn.reproduce import of_table
    >>> next(rerun(of_table("synthetic"), Path("/no/such/folder"), None))
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: /no/such/folder has no table_synthetic.py; give the folder benchmarks of this version \
by --scripts
    """
    commands: dict[str, list[Figure]] = {}
    for figure in figures:
        commands.setdefault(figure.command, []).append(figure)
    for figure in figures:
        _check(figure, scripts, data)
    for command, wanted in commands.items():
        yield from judge(wanted, _printed(command, scripts, data, tell))


def _check(figure: Figure, scripts: Path, data: str | None) -> None:
    script = figure.command.split()[0]
    if not (scripts / script).is_file():
        raise DataError(f"{scripts} has no {script}; give the folder benchmarks of this version by --scripts")
    if not figure.data:
        return
    if data is None:
        raise DataError(
            f"{figure.table} needs the data sets {', '.join(figure.data)}; give their folder by --data"
        )
    for name in figure.data:
        if not (Path(data) / name).is_dir() and not (Path(data) / f"{name}.tar.xz").is_file():
            raise DataError(f"{data} has neither a folder {name} nor {name}.tar.xz; {figure.table} needs it")


def _printed(command: str, scripts: Path, data: str | None, tell: Callable[[str], None]) -> list[str]:
    words = [str(Path(data).resolve()) if word == "{data}" and data else word for word in command.split()]
    lines: list[str] = []
    with subprocess.Popen(
        [sys.executable, "-u", *words], cwd=scripts, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            tell(lines[-1])
    return lines
