"""Bad checkpoints are named and set aside, and the fit starts anew; what is no checkpoint is left alone."""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from corrupted_checkpoints import TREE, data

import warm_process
from taxolearn import OneVsRestSVM, RecursiveSVM
from taxolearn.errors import DataError
from taxolearn.methods.checkpoint import Checkpoint

SCRIPT = Path(__file__).with_name("corrupted_checkpoints.py")
COUNT = 80  # the script takes any number


def test_corrupted_checkpoints(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), str(tmp_path), str(COUNT)]
    done = warm_process.run(command, capture_output=True, text=True, timeout=900)
    seed = (tmp_path / "seed").read_text() if (tmp_path / "seed").exists() else "none"
    assert done.returncode == 0, f"at seed {seed}:\n{done.stdout[-5000:]}{done.stderr[-5000:]}"
    found = json.loads(done.stdout.splitlines()[-1])
    assert sum(found.values()) == COUNT
    assert found["set aside"] > 0.9 * COUNT


MARK = "0123456789abcdef" * 2
DUAL = sp.csr_array(np.eye(2))


def saved(folder: Path) -> Checkpoint:
    checkpoint = Checkpoint(folder, MARK, (2, 2))
    checkpoint.write(DUAL)
    return checkpoint


def test_nothing_is_deleted_and_names_are_unique(tmp_path: Path) -> None:
    folder = tmp_path / "duals"
    for number in (1, 2, 3):
        checkpoint = saved(folder)
        (folder / "model.json").write_text(f"damage {number}")
        with pytest.warns(UserWarning, match=f"duals' is damaged .*damaged-{number}'") as told:
            assert checkpoint.read() is None
        assert len(told) == 1
        assert not folder.exists()
    aside = sorted(path for path in tmp_path.iterdir())
    assert [path.name for path in aside] == [f"duals.damaged-{n}" for n in (1, 2, 3)]
    assert [(path / "model.json").read_text() for path in aside] == [f"damage {n}" for n in (1, 2, 3)]


def test_folders_that_are_no_checkpoints_stay(tmp_path: Path) -> None:
    X, y = data()
    thesis, model, named = tmp_path / "thesis", tmp_path / "model", tmp_path / "named"
    for folder in (thesis, named):
        folder.mkdir()
        (folder / "thesis.txt").write_text("precious")
    (named / "model.json").write_text('{"of": "another program"}')
    OneVsRestSVM().fit(X, y).save(model)
    before = sorted(tmp_path.rglob("*"))
    for folder, sentence in (
        (thesis, "holds something else than a taxolearn model"),
        (named, "holds something else than a checkpoint; give another folder"),
        (model, "belongs to other rows, labels or parameters"),
        (thesis / "thesis.txt" / "duals", "is not a folder"),
    ):
        with pytest.raises(DataError, match=sentence):
            RecursiveSVM(TREE, checkpoint=folder).fit(X, y)
    assert sorted(tmp_path.rglob("*")) == before


def test_what_cannot_be_set_aside_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = saved(tmp_path / "duals")
    (tmp_path / "duals" / "model.json").write_text("damage")

    def refuse(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(DataError, match=r"is damaged .* and cannot be set aside .*Permission denied"):
        checkpoint.read()


def test_a_link_to_a_good_checkpoint_is_followed(tmp_path: Path) -> None:
    saved(tmp_path / "duals")
    (tmp_path / "link").symlink_to("duals")
    found = Checkpoint(tmp_path / "link", MARK, (2, 2)).read()
    assert found is not None
    assert found.toarray().tolist() == np.eye(2).tolist()
    Checkpoint(tmp_path / "link", MARK, (2, 2)).write(DUAL)
    assert (tmp_path / "link").is_symlink()


def test_what_was_read_does_not_depend_on_the_file_any_more(tmp_path: Path) -> None:
    found = saved(tmp_path).read()
    for path in tmp_path.iterdir():
        os.truncate(path, 0)
    assert found is not None
    assert found.sum() == 2.0


def test_rows_out_of_order_are_written_in_order(tmp_path: Path) -> None:
    dual = sp.csr_array((np.array([1.0, 2.0, 3.0]), np.array([1, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    checkpoint = Checkpoint(tmp_path, MARK, (2, 2))
    checkpoint.write(dual)
    found = checkpoint.read()
    assert found is not None
    assert found.toarray().tolist() == [[2.0, 1.0], [0.0, 3.0]]
    assert dual.indices.tolist() == [1, 0, 1]


@pytest.mark.parametrize("highest", [0.5, 2.0])
def test_duals_above_their_bound_are_refused(highest: float, tmp_path: Path) -> None:
    checkpoint = saved(tmp_path / "duals")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = checkpoint.read(highest)
    assert (found is None) == (highest < 1)
    assert len(told) == (highest < 1)
