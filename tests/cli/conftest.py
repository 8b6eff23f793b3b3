"""Models that the tests of the command line share: fitted once."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_data import FIT_OPTIONS, pet_rows, write_csv, write_svm

from taxolearn.cli.app import run


@pytest.fixture(scope="session")
def text_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("cli-text")
    rows = write_csv(folder / "train.csv", pet_rows())
    assert run(["fit", str(rows), "--sep", "/", "-m", "svm", "-o", str(folder / "model"), *FIT_OPTIONS]) == 0
    return str(folder / "model")


@pytest.fixture(scope="session")
def svm_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("cli-svm")
    rows = write_svm(folder / "train.svm", pet_rows())
    assert run(["fit", str(rows), "-o", str(folder / "model"), "--jobs", "1"]) == 0
    return str(folder / "model")


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "pets.csv", pet_rows(12, seed=1))
