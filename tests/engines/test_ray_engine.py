"""Fits on a Ray cluster of three nodes on loopback: the digits of threads, whatever is killed on the way."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_tasks import PATIENCE, broken, noting, short_of_memory, stretched, wait_for_the_flag

import taxolearn
from cli.cli_data import FIT_OPTIONS, pet_rows, write_csv
from taxolearn import OneVsRestSVM, RecursiveSVM, TopDownSVM
from taxolearn.auditing.folds import held_out_scores
from taxolearn.cli.app import run as run_command
from taxolearn.datasets import make_text_like
from taxolearn.engines import Clock, Outcome, listening, running
from taxolearn.errors import DataError, EngineError
from taxolearn.problem import make_problem
from taxolearn.solvers import Status

# read when Ray is first imported: a token of its own, and nothing in the user's folders
TOKEN = Path(tempfile.mkdtemp(prefix="taxolearn-ray-")) / "token"
TOKEN.write_text(secrets.token_hex(32))
os.environ["PYTHONPATH"] = os.pathsep.join((str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")))
os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_AUTH_MODE="token", RAY_AUTH_TOKEN_PATH=str(TOKEN))
os.environ.update(
    RAY_enable_worker_prestart="0", RAY_prestart_worker_first_driver="0"
)  # workers that may be needed
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = (
    "0"  # else Ray takes 127.0.0.1 for the machine's address outside
)

ray = pytest.importorskip("ray")
from ray.cluster_utils import Cluster  # noqa: E402

from taxolearn.engines import ray_engine  # noqa: E402

NODES = 3
LOOPBACK = "127.0.0.1"
DATA = make_text_like(1500, 6000, 600, 800, depth=4, mean_length=40.0, random_state=0)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """One cluster for all tests here; the last two take a node and the head from it."""
    options: dict[str, Any] = {
        "num_cpus": 1,
        "object_store_memory": 100 * 2**20,
        "include_dashboard": False,
        "node_ip_address": LOOPBACK,
    }
    quick = {"health_check_initial_delay_ms": 1000, "health_check_period_ms": 500}
    made = Cluster(
        initialize_head=True,
        head_node_args={**options, "_system_config": quick},
    )
    for _ in range(NODES - 1):
        made.add_node(**options)
    yield made
    ray.shutdown()
    made.shutdown()
    shutil.rmtree(TOKEN.parent)


@pytest.fixture(scope="module")
def on_ray(cluster) -> Iterator[Any]:
    with taxolearn.engine("ray", address=cluster.address) as engine:
        yield engine


def recursive(**options: Any) -> RecursiveSVM:
    return RecursiveSVM(DATA.taxonomy, **{"tol": 0.05, "random_state": 0, **options})


def certified(model: Any) -> tuple[float, float]:
    return model.certificate_.primal, model.certificate_.dual


@pytest.fixture(scope="module")
def undisturbed() -> tuple[float, float]:
    with taxolearn.engine("threads", n_jobs=NODES):
        return certified(recursive().fit(DATA.X, DATA.y))


def raylet(node: Any) -> int:
    """The process of a node."""
    return int(node.all_processes["raylet"][0].process.pid)


def working(cluster: Any) -> dict[int, Any]:
    """Processes that compute a task right now, and the nodes that they are on."""
    nodes, found = {raylet(node): node for node in cluster.list_all_nodes()}, {}
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            parent = int(status.read_text().split("PPid:")[1].split()[0])
            if parent in nodes and (status.parent / "cmdline").read_text().startswith("ray::work"):
                found[int(status.parent.name)] = nodes[parent]
    return found


@contextlib.contextmanager
def disturbing(cluster: Any, *actions: Any) -> Iterator[list[int]]:
    """After the k-th pass of a fit, as soon as workers compute, the k-th action is given these processes; yields what
    the actions return."""
    passes, done = threading.Semaphore(0), []

    def disturb() -> None:
        for action in actions:
            passes.acquire()
            while not (found := working(cluster)):
                time.sleep(0.01)
            done.append(action(found))

    thread = threading.Thread(target=disturb, daemon=True)
    thread.start()
    with listening(lambda *_: passes.release()):
        yield done


def test_the_cluster_that_is_there_is_joined(on_ray):
    assert on_ray.n_workers == on_ray.n_processes == NODES
    assert len([node for node in ray.nodes() if node["Alive"]]) == NODES
    assert {node["NodeManagerAddress"] for node in ray.nodes()} == {LOOPBACK}


def test_shared_arrays_are_for_reading_and_those_of_a_task_its_own(on_ray):
    with running() as run:
        assert run.cluster is on_ray
        shared = run.share((np.arange(3.0),))
        own = np.ones(3)
        found = run.map(stretched, shared, [(own, k) for k in range(4)], anywhere=True)
    assert [writeable for writeable, _ in found] == [False] * 4
    np.testing.assert_array_equal(
        [product for _, product in found], [2.0 * k * np.arange(3) for k in range(4)]
    )
    assert all(product.flags.writeable for _, product in found)
    np.testing.assert_array_equal(own, 1.0)


def test_the_same_digits_as_on_threads(on_ray, undisturbed):
    with noting(on_ray) as of_trees:
        models = [recursive().fit(DATA.X, DATA.y)]
    assert certified(models[0]) == undisturbed
    with noting(on_ray) as of_flat:
        models.append(OneVsRestSVM(random_state=0).fit(DATA.X, DATA.y))
    few = make_text_like(300, 500, 12, 20, depth=3, random_state=0)
    with noting(on_ray) as handed:
        models.append(TopDownSVM(few.taxonomy, random_state=0).fit(few.X, few.y))
        answers = [(model.predict(DATA.X), *model.top_k(DATA.X, 5)) for model in models[:2]]
        answers.append((models[2].predict(few.X), *models[2].top_k(few.X, 2)))
    names = [{name for name, _ in noted} for noted in (of_trees, of_flat, handed)]
    assert names[0] >= {"sweep_task", "price_task", "_class_losses", "_squares_of"}
    assert names[1] >= {"solve_classes", "_class_losses"}
    assert names[2] >= {"_solve_part", "_answer"}
    with taxolearn.engine("threads", n_jobs=NODES) as threads:
        with noting(threads) as noted:
            flat = OneVsRestSVM(random_state=0).fit(DATA.X, DATA.y)
        assert noted == of_flat
        np.testing.assert_array_equal(flat.vectors_.coef, models[1].vectors_.coef)
        assert certified(flat) == certified(models[1])
        down = TopDownSVM(few.taxonomy, random_state=0).fit(few.X, few.y)
        assert certified(down) == certified(models[2])
        for model, rows, found in zip(models, (DATA.X, DATA.X, few.X), answers, strict=True):
            k = found[1].shape[1]
            for here, there in zip((model.predict(rows), *model.top_k(rows, k)), found, strict=True):
                np.testing.assert_array_equal(here, there)


def test_a_warm_fit_has_the_digits_of_threads(on_ray):
    """Classes begin with duals that were sent with their task."""
    few = make_text_like(300, 500, 12, 20, depth=3, random_state=0)

    def warm() -> tuple[float, float]:
        model = OneVsRestSVM(warm_start=True, random_state=0).fit(few.X, few.y)
        return certified(model.set_params(C=2.0).fit(few.X, few.y))

    there = warm()
    with taxolearn.engine("threads", n_jobs=NODES):
        assert warm() == there


def test_a_selection_tries_its_candidates_there(on_ray):
    few = make_text_like(200, 300, 8, 12, depth=2, random_state=1)
    candidates = [OneVsRestSVM(random_state=0), OneVsRestSVM(loss="hinge", random_state=0)]
    told: list[int] = []
    options: dict[str, Any] = {"lambdas": [0.5, 0.05], "refit": False}
    there = taxolearn.select(candidates, few.X, few.y, on_trial=lambda done, *_: told.append(done), **options)
    with taxolearn.engine("serial"):
        here = taxolearn.select(candidates, few.X, few.y, **options)
    assert told == [1, 2, 3, 4]
    problem = make_problem(few.X, few.y)
    fold = np.arange(problem.n_rows) % 3
    with noting(on_ray) as handed:
        scores = held_out_scores(candidates[0], problem, np.asarray(few.y), fold)
    assert [(name, len(tasks)) for name, tasks in handed] == [("_fit_fold", 3)]
    np.testing.assert_array_equal(scores, held_out_scores(candidates[0], problem, np.asarray(few.y), fold))
    assert [trial.accuracy for trial in there.trials] == [trial.accuracy for trial in here.trials]
    assert [trial.gap for trial in there.trials] == [trial.gap for trial in here.trials]


def test_a_time_limit_keeps_a_certified_model(on_ray):
    with pytest.warns(UserWarning, match="stopped by time limit"):
        model = recursive(tol=1e-12, max_seconds=1.5).fit(DATA.X, DATA.y)
    assert model.certificate_.status is Status.TIME_LIMIT
    assert np.isfinite(model.certificate_.gap)


def test_tasks_that_are_told_to_stop_return_what_they_have(on_ray):
    clock, found = Clock(), []
    threading.Timer(2.0, clock.stop.__setitem__, (0, 1)).start()
    began = time.monotonic()
    outcome = on_ray.map(wait_for_the_flag, None, list(range(20)), clock, lambda task, _: found.append(task))
    assert outcome is Outcome.INTERRUPTED
    assert time.monotonic() - began < PATIENCE
    assert 1 <= len(found) <= NODES


def test_ctrl_c_keeps_a_certified_model(cluster, on_ray):
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with (
            pytest.warns(UserWarning, match="stopped by interrupted"),
            disturbing(cluster, lambda _: os.kill(os.getpid(), signal.SIGINT)),
        ):
            model = recursive(tol=1e-12).fit(DATA.X, DATA.y)
    finally:
        signal.signal(signal.SIGINT, old)
    assert model.certificate_.status is Status.INTERRUPTED
    assert np.isfinite(model.certificate_.gap)


def test_errors_of_tasks_are_those_of_the_caller(on_ray):
    with pytest.raises(DataError, match=r"^task 3 cannot be done$"), running() as run:
        run.map(broken, None, [3], anywhere=True)


def test_other_versions_are_refused_before_any_work(on_ray, monkeypatch):
    other = tuple((name, "0.0.1" if name == "numpy" else value) for name, value in ray_engine.versions())
    monkeypatch.setattr(ray_engine.RayEngine, "expected", staticmethod(lambda: other))
    message = rf"^node {LOOPBACK} has numpy [\d.]+ instead of 0.0.1; install the same versions on all nodes$"
    with pytest.raises(EngineError, match=message), taxolearn.engine("ray"):
        pass
    with pytest.raises(EngineError, match=r"^a worker has numpy"):  # one that has come later
        ray_engine.work(other, b"", None)


def test_every_node_is_asked_for_its_versions(on_ray, monkeypatch):
    """Also where several have one address, as here."""
    asked = []
    monkeypatch.setattr(ray_engine, "difference", lambda here, there: asked.append(there) or "")
    with taxolearn.engine("ray"):
        pass
    assert asked == [ray_engine.versions()] * NODES


def test_an_engine_inside_another_leaves_its_cluster_alone(cluster, on_ray):
    with taxolearn.engine("ray", address=cluster.address, n_jobs=1) as inner:
        assert inner.n_workers == 1
    assert ray.is_initialized()
    assert on_ray.n_workers == NODES


def test_the_command_line_fits_and_predicts_there(cluster, on_ray, tmp_path, capsys):
    rows = write_csv(tmp_path / "train.csv", pet_rows())
    lines = []
    for name in ("threads", "ray"):
        model, options = str(tmp_path / name), ["--engine", name]
        options += ["--address", cluster.address] if name == "ray" else []
        assert run_command(["fit", str(rows), "--sep", "/", "-o", model, *FIT_OPTIONS, *options]) == 0
        certificate = capsys.readouterr().out.splitlines()[-2]
        assert run_command(["predict", model, str(rows), *options]) == 0
        lines.append((certificate, capsys.readouterr().out))
    assert lines[0] == lines[1]


DRIVER = """
import sys, taxolearn
from taxolearn.datasets import make_text_like
data = make_text_like(1500, 6000, 600, 800, depth=4, mean_length=40.0, random_state=0)
model = taxolearn.RecursiveSVM(data.taxonomy, tol=1e-9, random_state=0, checkpoint=sys.argv[2], checkpoint_seconds=1e-9)
with taxolearn.engine("ray", address=sys.argv[1]):
    model.fit(data.X, data.y)
"""


def test_a_fit_whose_driver_was_killed_goes_on_from_its_checkpoint(cluster, on_ray, tmp_path):
    folder, said = tmp_path / "duals", tmp_path / "said.txt"
    with said.open("w") as output:
        command = [sys.executable, "-c", DRIVER, cluster.address, str(folder)]
        driver = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    end = time.monotonic() + PATIENCE
    written = folder / "model.json"  # the folder alone is there before what it holds
    while not written.exists() and driver.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    driver.kill()
    driver.wait()
    assert written.exists(), said.read_text()
    with pytest.warns(UserWarning, match="stopped by iteration limit"):
        first = recursive(tol=1e-9, max_iter=1).fit(DATA.X, DATA.y)
    with pytest.warns(UserWarning, match="stopped by iteration limit"):
        resumed = recursive(tol=1e-9, max_iter=1, checkpoint=folder).fit(DATA.X, DATA.y)
    assert resumed.history_[0].dual > first.history_[0].dual


def test_a_straggler_changes_no_digit(cluster, on_ray, undisturbed):
    def halt(found: dict[int, Any]) -> int:
        pid = next(iter(found))
        os.kill(pid, signal.SIGSTOP)
        threading.Timer(2.0, os.kill, (pid, signal.SIGCONT)).start()
        return pid

    with disturbing(cluster, halt) as halted:
        model = recursive().fit(DATA.X, DATA.y)
    assert len(halted) == 1
    assert certified(model) == undisturbed


@pytest.mark.parametrize("how", ["raised", "killed"])
def test_a_task_that_dies_for_want_of_memory_is_done_again(how, on_ray, tmp_path):
    """As NumPy raises it, and as the system ends a process."""
    with running() as run:
        found = run.map(short_of_memory, str(tmp_path), [(how, k) for k in range(2)], anywhere=True)
    assert found == [0.5 * k for k in range(2)]
    assert len(list(tmp_path.iterdir())) == 2  # each died once


def test_a_killed_worker_and_a_killed_node_change_no_digit(cluster, on_ray):
    """The last test but one: it takes a node from the cluster."""
    accurate = {"tol": 0.005}  # many passes: there is work left to do when the node goes
    with taxolearn.engine("threads", n_jobs=NODES):
        undisturbed = certified(recursive(**accurate).fit(DATA.X, DATA.y))

    def kill_worker(found: dict[int, Any]) -> int:
        pid = next(iter(found))
        os.kill(pid, signal.SIGKILL)
        return pid

    def kill_node(found: dict[int, Any]) -> int:
        while not (others := [node for node in found.values() if node is not cluster.head_node]):
            found = working(cluster)  # one that has work
        os.kill(raylet(others[0]), signal.SIGKILL)
        return raylet(others[0])

    with disturbing(cluster, kill_worker, kill_node) as killed:
        model = recursive(**accurate).fit(DATA.X, DATA.y)
    assert len(killed) == 2
    assert certified(model) == undisturbed
    end = time.monotonic() + PATIENCE  # a fit may end before the head has missed enough signs of life
    while (alive := sum(node["Alive"] for node in ray.nodes())) == NODES and time.monotonic() < end:
        time.sleep(0.1)
    assert alive == NODES - 1


def test_a_fit_that_lost_the_head_of_its_cluster_ends(cluster, on_ray, tmp_path, monkeypatch):
    """The last test: there is no cluster after it. Ray itself would end the process."""
    monkeypatch.setattr(ray_engine, "_HEAD_SECONDS", 1.0)
    head = cluster.head_node.all_processes["gcs_server"][0].process.pid
    folder = tmp_path / "duals"

    def kill() -> None:
        while not (folder / "model.json").exists():
            time.sleep(0.01)
        os.kill(head, signal.SIGKILL)

    threading.Thread(target=kill, daemon=True).start()
    model = recursive(tol=1e-12, checkpoint=folder, checkpoint_seconds=1e-9)
    with pytest.raises(
        EngineError, match="is gone; start the cluster again, and a fit with `checkpoint` goes on"
    ):
        model.fit(DATA.X, DATA.y)
