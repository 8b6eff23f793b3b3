"""Serial, threads and joblib: the same shards give the same digits, and clocks end them alike. Ray has its own file."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import sys
import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import joblib
import numpy as np
import pytest
from engine_tasks import broken, noting, own_process, stretched, wait_for_the_flag

import taxolearn
from taxolearn import OneVsRestLogistic, OneVsRestSVM, RecursiveSVM, TopDownSVM
from taxolearn.auditing.folds import held_out_scores
from taxolearn.certificates import margin, sums
from taxolearn.datasets import make_text_like
from taxolearn.engines import ENGINES, Clock, Outcome, current_engine, memory, running
from taxolearn.errors import DataError, EngineError
from taxolearn.problem import make_problem
from taxolearn.solvers import one_vs_rest, tree_sweeps

DATA = make_text_like(600, 2000, 60, 90, depth=4, mean_length=40.0, random_state=0)
WORKERS = 2


class Fitted:
    """What came out of fits and predictions on one engine."""

    def __init__(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in (tree_sweeps, one_vs_rest):
            monkeypatch.setattr(module, "_LIGHT_STEPS", 0)  # no task is done in passing
        for module in (margin, sums):
            monkeypatch.setattr(module, "_LIGHT", 0)
        monkeypatch.setattr(tree_sweeps, "_SPAN_CLASSES", 16)  # several spans of classes
        monkeypatch.setattr(margin, "_WIDEST", 16)
        with taxolearn.engine(name, n_jobs=WORKERS) as engine:
            engine.n_workers = WORKERS  # as many shards, also where they are done one after the other
            models = [
                RecursiveSVM(DATA.taxonomy, tol=0.02, random_state=0),
                OneVsRestSVM(random_state=0),
                TopDownSVM(DATA.taxonomy, random_state=0),
            ]
            self.certificates, self.answers, self.shards = [], [], []
            for model in models:
                with noting(engine) as handed:
                    model.fit(DATA.X, DATA.y)
                self.shards.append(handed)
                self.certificates.append((model.certificate_.primal, model.certificate_.dual))
                self.answers += [
                    model.predict(DATA.X),
                    *model.top_k(DATA.X, 3),
                    model.decision_function(DATA.X),
                ]


@pytest.fixture(scope="module")
def on_threads() -> Fitted:
    with pytest.MonkeyPatch.context() as patch:
        return Fitted("threads", patch)


@pytest.mark.parametrize("name", ["serial", "joblib"])
def test_the_same_digits_on_every_engine(name, on_threads, monkeypatch):
    found = Fitted(name, monkeypatch)
    assert found.certificates == on_threads.certificates
    assert found.shards[:2] == on_threads.shards[:2]  # the problems of top-down fits are tasks elsewhere only
    names = [{name for name, _ in handed} for handed in found.shards]
    assert names[0] == {"sweep_task", "price_task", "_squares_of", "_class_losses"}
    assert names[1] == {"solve_classes", "_squares_of", "_class_losses"}
    assert ("_solve_part" in names[2]) is (name == "joblib")
    for function, tasks in found.shards[0][:3] + found.shards[1]:
        assert len(tasks) > 1 or function == "_squares_of"
    for one, other in zip(found.answers, on_threads.answers, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("method", [OneVsRestSVM, OneVsRestLogistic], ids=["ascent", "side by side"])
def test_warm_fits_have_the_same_digits_on_every_engine(method, monkeypatch):
    """What classes begin with is sent with their task."""
    for limit in ("_LIGHT_STEPS", "_LIGHT_SIDE"):
        monkeypatch.setattr(one_vs_rest, limit, 0)
    rows, labels = DATA.X[:, :30].toarray(), DATA.y
    found = []
    for name in ("threads", "serial", "joblib"):
        model = method(warm_start=True, random_state=0, C=1.0).fit(rows, labels)
        with taxolearn.engine(name, n_jobs=WORKERS) as engine:
            engine.n_workers = WORKERS
            with noting(engine) as handed:
                model.set_params(C=2.0).fit(rows, labels)
        assert len(handed[0][1]) > 1
        found.append((handed, model.certificate_.primal, model.certificate_.dual))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("name", ["serial", "threads", "joblib"])
def test_what_is_shared_is_for_reading_and_what_is_sent_stays(name):
    with taxolearn.engine(name, n_jobs=WORKERS) as engine, running() as run:
        assert run.cluster is engine
        shared, own = run.share((np.arange(3.0),)), np.ones(3)
        first, second = run.map(stretched, shared, [(own.copy(), 1), (own.copy(), 2)], anywhere=True)
    assert (first[0], second[0]) == (False, False)
    np.testing.assert_array_equal(first[1], 2.0 * np.arange(3))
    np.testing.assert_array_equal(second[1], 4.0 * np.arange(3))
    assert first[1].flags.writeable


@pytest.mark.parametrize("name", ["serial", "threads", "joblib"])
def test_a_time_limit_ends_tasks_and_drops_others(name):
    with taxolearn.engine(name, n_jobs=WORKERS), running(max_seconds=0.5) as run:
        found = run.map(wait_for_the_flag, None, list(range(9)), anywhere=True)
    assert run.outcome is Outcome.TIME_LIMIT
    assert found[0] == 0
    assert found[-1] is None


@pytest.mark.parametrize("name", ["serial", "threads", "joblib"])
def test_a_raised_flag_ends_tasks_and_drops_others(name):
    clock, found = Clock(), []
    threading.Timer(0.2, clock.stop.__setitem__, (0, 1)).start()
    with taxolearn.engine(name, n_jobs=1) as engine:
        outcome = engine.map(wait_for_the_flag, None, [1, 2, 3], clock, lambda task, _: found.append(task))
    assert (outcome, found) == (Outcome.INTERRUPTED, [1])


def test_ctrl_c_of_a_terminal_leaves_workers_of_joblib_alive():
    """It goes to all processes: to workers between tasks, and while they compute."""
    old = signal.signal(signal.SIGINT, signal.default_int_handler)

    def press() -> None:
        for pid in (*workers, os.getpid()):
            os.kill(pid, signal.SIGINT)

    try:
        with taxolearn.engine("joblib", n_jobs=WORKERS):
            with running() as run:
                workers = set(run.map(own_process, None, list(range(6)), anywhere=True))
                assert os.getpid() not in workers
                for pid in workers:
                    os.kill(pid, signal.SIGINT)
                threading.Timer(0.5, press).start()
                found = run.map(wait_for_the_flag, None, list(range(9)), anywhere=True)
            assert run.outcome is Outcome.INTERRUPTED
            assert found[:WORKERS] == list(range(WORKERS))
            assert found[-1] is None
            with running() as run:
                assert set(run.map(own_process, None, list(range(6)), anywhere=True)) <= workers
    finally:
        signal.signal(signal.SIGINT, old)


@pytest.mark.parametrize("name", ["serial", "threads", "joblib"])
def test_errors_of_tasks_are_those_of_the_caller(name):
    with (
        taxolearn.engine(name, n_jobs=WORKERS),
        pytest.raises(DataError, match=r"^task 3 cannot be done$"),
        running() as run,
    ):
        run.map(broken, None, [3], anywhere=True)


def test_candidates_and_folds_are_tasks_of_their_own():
    few = make_text_like(120, 200, 6, 9, depth=2, random_state=1)
    candidates = [OneVsRestSVM(intercept_scaling=s, random_state=0) for s in (1.0, 2.0)]
    problem = make_problem(few.X, few.y, few.taxonomy)
    fold = np.arange(problem.n_rows) % 3
    found = []
    for name in ("serial", "joblib"):
        with (
            joblib.parallel_config(
                backend="threading"
            ),  # processes would have to import all this; bytes are the same
            taxolearn.engine(name, n_jobs=WORKERS) as engine,
            noting(engine) as handed,
        ):
            chosen = taxolearn.select(candidates, few.X, few.y, lambdas=[0.5, 0.05], refit=False)
            scores = held_out_scores(candidates[0], problem, np.asarray(few.y), fold)
        found.append((chosen, scores))
    assert [(name, len(tasks)) for name, tasks in handed] == [("_try_candidate", 2), ("_fit_fold", 3)]
    (here, scores), (there, same) = found
    for one, other in zip(there.trials, here.trials, strict=True):
        assert repr(replace(one, seconds=0.0)) == repr(replace(other, seconds=0.0))  # it has NaN
    np.testing.assert_array_equal(same, scores)


def test_a_model_does_not_know_where_it_was_fitted():
    few = make_text_like(120, 200, 6, 9, depth=2, random_state=1)

    def fitted() -> dict[str, Any]:
        model = RecursiveSVM(few.taxonomy, random_state=0).fit(few.X, few.y)
        model.history_ = [step._replace(seconds=0.0) for step in model.history_]
        return model.__getstate__()

    plain = fitted()
    with taxolearn.engine("serial"):
        assert pickle.dumps(fitted()) == pickle.dumps(plain)


def test_an_exception_ends_the_context():
    with pytest.raises(ValueError, match="mine"), taxolearn.engine("threads", n_jobs=2):
        raise ValueError("mine")
    assert current_engine() is None


def test_a_thread_enters_a_context_of_its_own():
    seen = []

    def look() -> None:
        seen.append(current_engine())
        with taxolearn.engine("serial") as own:
            seen.append(current_engine() is own)
            seen.append(OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"]).certificate_.status.value)

    with taxolearn.engine("threads", n_jobs=2) as engine:
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        assert current_engine() is engine
    assert seen == [None, True, "converged"]


def test_contexts_may_be_nested():
    assert current_engine() is None
    with taxolearn.engine("serial") as outer:
        with taxolearn.engine("threads", n_jobs=3) as inner:
            assert current_engine() is inner
            assert inner.n_workers == 3
        assert current_engine() is outer
    assert current_engine() is None


def test_memory_in_sight_bounds_a_task(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_of_machine", lambda: 8000)
    monkeypatch.setattr(memory, "_of_container", lambda: 4000)
    monkeypatch.setattr(memory.os, "cpu_count", lambda: 4)
    assert memory.spare_bytes() == 4000
    assert memory.share_of_memory(0.5) == 500
    monkeypatch.setattr(memory, "_of_container", lambda: None)
    assert memory.share_of_memory(0.5) == 1000


def test_what_is_not_there_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(
            EngineError, match=r"^engine 'ray' needs Ray; run `pip install 'taxolearn\[cluster\]'`$"
        ),
        taxolearn.engine("ray"),
    ):
        pass
    with pytest.raises(DataError, match=r"^engine 'spark' is not known; choose"), taxolearn.engine("spark"):
        pass
    with (
        pytest.raises(DataError, match=r"^engine 'threads' has no address"),
        taxolearn.engine("threads", address="x"),
    ):
        pass
    for name in ENGINES:
        with pytest.raises(DataError, match=r"^n_jobs must be"), taxolearn.engine(name, n_jobs=0):
            pass


@pytest.mark.parametrize(
    "error",
    [RuntimeError("Version mismatch:\n  Python: 3.9\n"), ConnectionError("Failed to connect")],
    ids=type,
)
def test_a_cluster_that_cannot_be_joined_says_why(error, monkeypatch):
    """One that answers, and runs another Python or asks for a token."""
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(
        exceptions=SimpleNamespace(RayError=KeyError), is_initialized=lambda: False, init=Mock(side_effect=error)
    ))  # fmt: skip
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        address = f"127.0.0.1:{one.getsockname()[1]}"
        with (
            pytest.raises(
                EngineError, match=rf"^the Ray cluster at '{address}' cannot be joined; .*\)$"
            ) as said,
            taxolearn.engine("ray", address=address),
        ):
            pass
    assert str(said.value).endswith(f"({' '.join(str(error).split())})")
