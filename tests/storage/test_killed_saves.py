"""kill -9 in the middle of a save: the folder always holds one of the two models, whole."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from model_folders import fingerprint, load_content, sample_content, save_content

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="kills forked copies of itself, and Windows cannot fork"
)

HERE = Path(__file__).parent

SAVE_FOR_EVER = """
import sys
from pathlib import Path
from model_folders import sample_content, save_content

contents = [sample_content(2.0), sample_content(1.0)]
print("ready", flush=True)
while True:
    for content in contents:
        save_content(Path(sys.argv[1]), content)
"""

# Every call that changes the disk is one step; the n-th one kills the process before or after it happens.
DIE_AT_EACH_STEP = """
import os, signal, sys
from pathlib import Path
from model_folders import fingerprint, load_content, sample_content, save_content
from taxolearn.storage import folders

folder = Path(sys.argv[1])
old, new = sample_content(1.0), sample_content(2.0)


def save_and_die(step, after):
    done = 0

    def deadly(real):
        def call(*arguments, **named):
            nonlocal done
            done += 1
            if done == step and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            result = real(*arguments, **named)
            if done == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return call

    os.replace, os.fsync, os.close = deadly(os.replace), deadly(os.fsync), deadly(os.close)
    Path.unlink, Path.mkdir = deadly(Path.unlink), deadly(Path.mkdir)
    folders.write_arrays = deadly(folders.write_arrays)
    folders._sync_folder = deadly(folders._sync_folder)
    save_content(folder, new)
    os._exit(0)


outcomes = []
for after in (False, True):
    for step in range(1, 100):
        save_content(folder, old)
        child = os.fork()
        if child == 0:
            save_and_die(step, after)
        status = os.waitpid(child, 0)[1]
        found = fingerprint(load_content(folder))
        assert found in (fingerprint(old), fingerprint(new)), (step, after)
        outcomes.append(found == fingerprint(new))
        if status == 0:
            assert found == fingerprint(new)
            break
        assert os.WTERMSIG(status) == signal.SIGKILL, status
    else:
        raise AssertionError("the save never ended")
save_content(folder, old)
print(len(outcomes), sum(outcomes), len(list(folder.iterdir())))
"""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, sys.path)])}


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    save_content(tmp_path, sample_content(1.0))
    process = subprocess.Popen(
        [sys.executable, "-c", SAVE_FOR_EVER, str(tmp_path)],
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.parametrize("seed", range(6))
def test_a_save_killed_at_any_moment_leaves_a_whole_model(
    tmp_path: Path, saver: subprocess.Popen[str], seed: int
) -> None:
    expected = {fingerprint(sample_content(scale)) for scale in (1.0, 2.0)}
    # While it saves, every load gets one of the two; after the kill too.
    for _ in range(20):
        assert fingerprint(load_content(tmp_path)) in expected
    time.sleep(random.Random(seed).uniform(0.0, 0.05))
    saver.send_signal(signal.SIGKILL)
    assert saver.wait() == -signal.SIGKILL
    assert fingerprint(load_content(tmp_path)) in expected
    save_content(tmp_path, sample_content(3.0))
    assert load_content(tmp_path)["params"]["C"] == 3.0
    assert len(list(tmp_path.iterdir())) == 2


def test_a_save_killed_at_each_step_leaves_a_whole_model(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-c", DIE_AT_EACH_STEP, str(tmp_path / "model")],
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    n_outcomes, n_new, n_files = map(int, result.stdout.split())
    assert n_outcomes > 15
    assert 4 < n_new < n_outcomes - 4
    assert n_files == 2


def test_two_savers_at_once_leave_a_whole_model(tmp_path: Path, saver: subprocess.Popen[str]) -> None:
    expected = {fingerprint(sample_content(scale)) for scale in (1.0, 2.0, 3.0)}
    for scale in (3.0, 1.0, 2.0) * 5:
        save_content(tmp_path, sample_content(scale))
        assert fingerprint(load_content(tmp_path)) in expected
