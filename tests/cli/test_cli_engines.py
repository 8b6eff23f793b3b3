"""--engine and --address: where tasks run, and one sentence where they cannot."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import joblib
import pytest
from cli_data import FIT_OPTIONS, pet_rows, write_csv

from taxolearn.cli.app import run


def fit(folder: Path, *options: str) -> int:
    rows = write_csv(folder / "train.csv", pet_rows())
    return run(["fit", str(rows), "--sep", "/", "-o", str(folder / "model"), *FIT_OPTIONS, *options])


def test_the_same_model_and_answers_on_every_engine(
    tmp_path: Path, pets: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = []
    for name in ("serial", "threads", "joblib"):
        (tmp_path / name).mkdir()
        with joblib.parallel_config(backend="threading"):  # rather than start processes
            assert fit(tmp_path / name, "-m", "svm", "--engine", name) == 0
            certificate = capsys.readouterr().out.splitlines()[-2]
            model = str(tmp_path / name / "model")
            assert run(["predict", model, str(pets), "--engine", name]) == 0
        found.append((certificate, capsys.readouterr().out))
    assert found[0] == found[1] == found[2]
    assert found[0][0].startswith("certificate: converged")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--engine", "spark"],
            "engine 'spark' is not known; choose 'serial', 'threads', 'ray', 'joblib'",
        ),
        (
            ["--engine", "threads", "--address", "auto"],
            "engine 'threads' has no address; leave it out, or choose 'ray'",
        ),
    ],
)
def test_what_cannot_be_is_said_without_the_name_of_the_rows(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fit(tmp_path, *options) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"taxolearn: {message}"


def test_without_ray_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert fit(tmp_path, "--engine", "ray") == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "taxolearn: engine 'ray' needs Ray; run `pip install 'taxolearn[cluster]'`"


@pytest.mark.parametrize("noted", [False, True], ids=["given", "noted"])
def test_where_nobody_listens_is_said_at_once(
    noted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the address is that of a cluster that was killed."""
    monkeypatch.setitem(sys.modules, "ray", _NoRay)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{one.getsockname()[1]}"  # bound, and not listening
        if noted:
            (tmp_path / "ray").mkdir()
            (tmp_path / "ray" / "ray_current_cluster").write_text(address + "\n")
        assert fit(tmp_path, "--engine", "ray", "--address", "auto" if noted else address) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(
        f"taxolearn: no Ray cluster answers at '{address}'; start one by `ray start --head`"
    )


class _NoRay:
    """Ray as it is before `init`; asked for more, the test fails."""

    @staticmethod
    def is_initialized() -> bool:
        return False
