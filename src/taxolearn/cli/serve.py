"""`taxolearn serve`: a page where colleagues try a model, and a REST interface beside it."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Annotated

import typer

from taxolearn.cli.console import say
from taxolearn.cli.options import ModelFolder
from taxolearn.errors import DataError


def serve(
    model: ModelFolder,
    host: Annotated[
        str,
        typer.Option(
            "--host",
            help="Address to listen at; 0.0.0.0 is every network of this machine, see docs/serve.md.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=65535, help="Port; 0 takes a free one.")
    ] = 8000,
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=256, help="Processes, which share one model in memory.")
    ] = 1,
    project: Annotated[
        str | None,
        typer.Option(
            "--project", help="Name in addresses, as Annif's projects have; else that of the folder."
        ),
    ] = None,
    language: Annotated[
        str, typer.Option("--language", help="Language of the labels, as Annif's clients are told.")
    ] = "und",
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="Name by which browsers may call the server; may be repeated.",
        ),
    ] = None,
    corrections: Annotated[
        str | None,
        typer.Option(
            "--corrections", metavar="FILE", help="Where corrections go; else MODEL-corrections.jsonl."
        ),
    ] = None,
    no_corrections: Annotated[bool, typer.Option("--no-corrections", help="Take none.")] = False,
    text: Annotated[str, typer.Option("--text", help="Field of the texts in the corrections.")] = "text",
    label: Annotated[
        str | None,
        typer.Option(
            "--label", help="Field of the labels in the corrections.", show_default="label or labels"
        ),
    ] = None,
    max_bytes: Annotated[int, typer.Option("--max-bytes", min=1024, help="Of a request.")] = 8 * 2**20,
    max_seconds: Annotated[float, typer.Option("--max-seconds", min=0.1, help="Until an answer.")] = 30.0,
    max_waiting: Annotated[
        int, typer.Option("--max-waiting", min=1, help="Requests at work or in line, per worker.")
    ] = 256,
) -> None:
    """Serve a page where people try the model, and a REST interface in the shapes of Annif's.

    The page shows path, runners-up, probabilities and words, and takes corrections, which `fit` reads.
    Only this machine can reach it, unless --host says otherwise: there is no login, see docs/serve.md.
    Ctrl-C or SIGTERM ends it, when requests at work are answered.
    """
    _check_extra()
    import taxolearn
    from taxolearn.cli.uploads import upload_reader
    from taxolearn.serving import Corrections, Limits, create_app
    from taxolearn.serving.run import listening
    from taxolearn.serving.run import serve as serve_until_told
    from taxolearn.serving.served import check_name

    if corrections is not None and no_corrections:
        raise DataError("--corrections and --no-corrections exclude each other; leave one of them out")
    folder = Path(model)
    name = check_name(project if project is not None else _name_of(folder))
    with listening(host, port) as at:  # rather now than after reading the model
        fitted = taxolearn.load(model)
        limits = Limits(body_bytes=max_bytes, seconds=max_seconds, waiting=max_waiting)
        kept = None
        if not no_corrections:
            of_texts = hasattr(fitted, "features_")
            path = _beside(folder, of_texts) if corrections is None else Path(corrections)
            if path.resolve().parent == folder.resolve():
                raise DataError(f"--corrections {path} is inside the model folder; give another place")
            kept = Corrections(path, text_field=text, label_field=label, libsvm=not of_texts)
        app = create_app(
            fitted,
            name=name,
            limits=limits,
            corrections=kept,
            read_table=upload_reader(fitted),
            hosts=[*(allow_host or ()), host],
            language=language,
            folder=model,
        )
        say(_welcome(model, host, at.getsockname()[1], kept))
        serve_until_told(app, at, limits, workers)
    say("ended")


def _check_extra() -> None:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise DataError(f"serve needs the package {error.name}; install taxolearn[serve]") from None


def _name_of(folder: Path) -> str:
    """A project's id out of the name of a folder.

    >>> _name_of(Path("models/ICD 10"))
    'ICD-10'
    """
    return re.sub(r"[^A-Za-z0-9_-]+", "-", folder.resolve().name).strip("-") or "model"


def _beside(folder: Path, of_texts: bool) -> Path:
    whole = folder.resolve()
    return whole.with_name(f"{whole.name}-corrections.{'jsonl' if of_texts else 'svm'}")


def _welcome(model: str, host: str, port: int, kept: object) -> str:
    shown = f"[{host}]" if ":" in host else host
    if _is_anywhere(host):
        shown = "127.0.0.1" if ":" not in host else "[::1]"
    lines = [f"{model} is served at http://{shown}:{port}/ (Ctrl-C ends it)"]
    path = getattr(kept, "path", None)
    lines.append("corrections are not taken" if path is None else f"corrections are appended to {path}")
    if not _is_loopback(host):
        lines.append(
            "warning: other machines can reach this. There is no login and no encryption: who reaches it can ask the "
            "model and send corrections. Put a proxy with both before it, or give --no-corrections; see docs/serve.md"
        )
    else:
        lines.append("only this machine can reach it; --host says who else may, see docs/serve.md")
    return "\n".join(lines)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_anywhere(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
