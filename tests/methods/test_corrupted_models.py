"""2,000 damaged and forged models of several methods: an error of taxolearn, or an answer, and never a crash."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from corrupted_models import save_samples

import warm_process

SCRIPT = Path(__file__).with_name("corrupted_models.py")
COUNT = 2000


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_two_thousand_corrupted_models(tmp_path: Path) -> None:
    save_samples(tmp_path)
    command = [sys.executable, str(SCRIPT), str(tmp_path), str(COUNT)]
    done = warm_process.run(command, capture_output=True, text=True, timeout=600)
    seed = (tmp_path / "seed").read_text() if (tmp_path / "seed").exists() else "none"
    assert done.returncode == 0, f"at seed {seed}:\n{done.stdout[-5000:]}{done.stderr[-5000:]}"
    found = json.loads(done.stdout.splitlines()[-1])
    assert sum(found.values()) == COUNT
    assert found["refused"] > COUNT // 2
