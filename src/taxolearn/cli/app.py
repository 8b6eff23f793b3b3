"""All commands under one name, and how each of them ends: exit codes, and errors in one line."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from taxolearn.cli.audit import audit
from taxolearn.cli.calibrate import calibrate
from taxolearn.cli.check import check
from taxolearn.cli.console import Interrupted, escape_what_cannot_be_encoded
from taxolearn.cli.convert import convert
from taxolearn.cli.deferred import defer
from taxolearn.cli.demo import demo
from taxolearn.cli.diff import diff
from taxolearn.cli.evaluate import evaluate
from taxolearn.cli.explain import explain
from taxolearn.cli.fit import fit
from taxolearn.cli.inspect import inspect
from taxolearn.cli.methods import methods
from taxolearn.cli.predict import predict
from taxolearn.cli.report import report
from taxolearn.cli.reproduce import reproduce
from taxolearn.cli.select import select
from taxolearn.cli.serve import serve
from taxolearn.errors import TaxolearnError
from taxolearn.terminal import printable

OK, FELL_SHORT, BAD_INPUT, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143

# Typer moved its exceptions between releases; the base of BadParameter is the usage error in all of them.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]

_HELP = "Learn to put texts into a taxonomy, with a certificate of how well the learning problem was solved."
_EXIT_CODES = (
    "Exit codes: 0 all is well; 1 the goal was missed (certificate above --tol, accuracy below --at-least), or check "
    "found something; "
    "2 bad input or usage, told in one line; 130 interrupted."
)


class _FlagsAsFlags:
    """Help that shows a flag as `--json`, without the type of a value that it does not take."""

    def get_params(self, ctx: Any) -> Any:
        parameters = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return parameters


class _Command(_FlagsAsFlags, TyperCommand):
    """One command."""


class _Commands(_FlagsAsFlags, TyperGroup):
    """All of them."""


app = typer.Typer(
    cls=_Commands, help=_HELP, epilog=_EXIT_CODES, add_completion=False, pretty_exceptions_enable=False
)

_EXAMPLES: dict[Callable[..., Any], str] = {
    check: "taxolearn check train.csv --text title --label path --sep / --fix clean.csv",
    fit: "taxolearn fit train.csv --text title --label path --sep / --output model",
    select: "taxolearn select train.svm --taxonomy tree.txt -m multiclass -m normalized -o model --plot tried.png",
    predict: "taxolearn predict model texts.jsonl.gz --top-k 3 --output answers.csv",
    evaluate: "taxolearn evaluate model test.csv --text title --label path --sep / --by-chapter",
    report: "taxolearn report model test.csv --text title --label path --sep / --output report.html",
    calibrate: "taxolearn calibrate model fresh.csv --text title --label path --sep /",
    inspect: "taxolearn inspect model --node S72",
    explain: 'taxolearn explain model "fracture of left femur, initial encounter"',
    serve: "taxolearn serve model --port 8000",
    audit: "taxolearn audit train.csv --text title --label path --sep /",
    diff: "taxolearn diff old.tsv new.tsv --mapping renamed.tsv",
    convert: "taxolearn convert train.svm train.arff --taxonomy hierarchy.txt",
    demo: 'taxolearn demo --text "fracture of left femur, initial encounter"',
    methods: "taxolearn methods --json",
    reproduce: "taxolearn reproduce synthetic",
}
for _function, _example in _EXAMPLES.items():
    app.command(cls=_Command, epilog=f"Example: {_example}")(_function)


@app.callback(invoke_without_command=True)
def _top(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    if version:
        from taxolearn import __version__

        typer.echo(f"taxolearn {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


@cache
def _commands() -> Any:
    """The commands with their options, read from all signatures once: that takes longer than many a command."""
    return typer.main.get_command(app)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; `arguments` are those of the process by default.

    >>> run(["--version"])
    taxolearn 0.1.0
    0
    """
    try:
        code: Any = _commands()(args=None if arguments is None else list(arguments), standalone_mode=False)
        sys.stdout.flush()
    except (typer.Abort, KeyboardInterrupt, Interrupted):
        return _tell("interrupted; nothing was written", INTERRUPTED)
    except (BrokenPipeError, SystemExit) as error:
        if isinstance(error, SystemExit) and error.code == TERMINATED:
            raise
        # Whoever read our output has left, as `head` does (Typer turns that into SystemExit); a second attempt
        # at the flush would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except TaxolearnError as error:
        return _tell(str(error), BAD_INPUT)
    except _UsageError as error:
        return _tell(_usage(error), BAD_INPUT)
    except UnicodeEncodeError as error:
        return _tell(f"{error.object[:40]!r} cannot be written as {error.encoding}", BAD_INPUT)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _tell(f"{where}{error.strerror or error}", BAD_INPUT)
    except MemoryError:
        return _tell("not enough memory", BAD_INPUT)
    if code == INTERRUPTED:  # how Typer reports Ctrl-C
        return _tell("interrupted; nothing was written", INTERRUPTED)
    return code if isinstance(code, int) else OK


def _tell(message: str, code: int) -> int:
    print(f"taxolearn: {printable(' '.join(message.split()))}", file=sys.stderr, flush=True)
    return code


def _usage(error: Any) -> str:
    context = getattr(error, "ctx", None)
    hint = f" (see {context.command_path} --help)" if context is not None else ""
    return f"{error.format_message()}{hint}"


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    print(f"taxolearn: warning: {printable(' '.join(str(message).split()))}", file=sys.stderr)


def prepare_process() -> None:
    """Imports, signals and warnings of a process that is nothing but the command line."""
    defer("scipy.stats")
    warnings.showwarning = _show_warning
    escape_what_cannot_be_encoded()
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _terminate)


def _interrupt(*_: object) -> None:
    # KeyboardInterrupt would be caught by the solver, which then goes on with what it has.
    raise Interrupted


def _terminate(*_: object) -> None:
    raise SystemExit(TERMINATED)
