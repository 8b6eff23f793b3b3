"""What people see while they wait: a progress bar on a terminal, plain lines without one."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import IO, Any, Self

from taxolearn.terminal import printable

_SECONDS_BETWEEN_LINES = 5.0


class Interrupted(BaseException):
    """Ctrl-C: not KeyboardInterrupt, with which the solver would stop and keep its best weights so far.

    >>> issubclass(Interrupted, Exception)
    False
    """


def say(message: str = "") -> None:
    """Tell the person something that is no result: on standard error.

    >>> say("reading rows.csv")
    """
    print(printable(message, keep="\n"), file=sys.stderr, flush=True)


def out(message: str = "") -> None:
    r"""Print a result for people to read; control characters of names and files cannot act on their terminal.

    >>> out("saved to \x1b[31mmodel")
    saved to \u001b[31mmodel
    """
    print(printable(message, keep="\n"))


def out_json(value: Any, indent: int | None = None) -> None:
    r"""Print JSON, in which control characters that JSON would allow as they are stand escaped too.

    >>> out_json({"label": "é \x9b31m"})
    {"label": "é \u009b31m"}
    """
    out(json.dumps(value, ensure_ascii=False, default=str, indent=indent))


def escape_what_cannot_be_encoded() -> None:
    """Let standard output show half characters, and those that its encoding lacks, as escapes instead of failing.

    >>> escape_what_cannot_be_encoded()
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


class Progress:
    """How far some work is; `total=None` when nobody knows.

    >>> with Progress("reading", total=2) as progress:
    ...     progress.update(1)
    """

    def __init__(self, title: str, total: int | None = None) -> None:
        self.title, self.total = title, total
        self.stream: IO[str] = sys.stderr
        self._bar: Any = None
        self._task: Any = None
        self._last = time.monotonic()

    def __enter__(self) -> Self:
        if self.stream.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar
            from rich.table import Column

            # a long note is cut to what room there is: it must not push the bar out of a narrow window
            room = Column(ratio=1, no_wrap=True, overflow="ellipsis")
            columns = (
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[note]}", markup=False, table_column=room),
            )
            self._bar = Bar(*columns, console=Console(file=self.stream), expand=True)
            self._task = self._bar.add_task(self.title, total=self.total, note="")
            self._bar.start()
        return self

    def update(self, done: int, total: int | None = None, note: str = "") -> None:
        """Say how much is done.

        >>> Progress("reading").update(10)
        """
        self.total = self.total if total is None else total
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=self.total, note=note)
        elif time.monotonic() - self._last >= _SECONDS_BETWEEN_LINES:
            self._last = time.monotonic()
            of = "" if self.total is None else f"/{self.total:,}"
            print(f"{self.title} {done:,}{of} {note}".rstrip(), file=self.stream, flush=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


@contextlib.contextmanager
def solver_progress(title: str) -> Iterator[Progress]:
    """Show the blocks that an estimator finishes inside this context as steps of one bar, and say when kernels are
    being compiled.

    >>> with solver_progress("learning") as progress:
    ...     progress.update(1, 2)
    """
    from taxolearn.engines import listening
    from taxolearn.kernels._jit import on_compilation

    with (
        on_compilation(lambda: say("compiling kernels for this machine; they are kept for the next time")),
        Progress(title) as progress,
        listening(lambda done, total, gap: progress.update(done, total, f"gap {gap:.1e}")),
    ):
        yield progress


def on_engine(name: str | None, address: str | None) -> AbstractContextManager[object]:
    """Inside this context tasks run where --engine and --address say.

    >>> with on_engine(None, None):
    ...     pass
    """
    if name is None and address is None:
        return contextlib.nullcontext()
    from taxolearn.engines import engine

    return engine("ray" if name is None else name, address=address)


def table(columns: list[str], rows: list[list[str]], title: str | None = None, words: int = 0) -> None:
    """Print a table to standard output; every column but the one numbered `words` is a number.

    >>> table(["metric", "value"], [["accuracy", "0.5"]])
    metric    value
    accuracy    0.5
    >>> table(["rows", "what"], [["12", "no text"]], words=1)
    rows  what
      12  no text
    """
    if title:
        out(title)
    columns, rows = [printable(cell) for cell in columns], [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    for row in [columns, *rows]:
        cells = [
            cell.ljust(width) if place == words else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
