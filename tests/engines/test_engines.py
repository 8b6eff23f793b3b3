"""Serial, threads and joblib: the same shards give the same digits, and clocks end them alike. Ray has its own file."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest
from engine_tasks import stretched, wait_for_the_flag

import taxolearn
from taxolearn import OneVsRestSVM, RecursiveSVM, TopDownSVM
from taxolearn.certificates import margin, sums
from taxolearn.datasets import make_text_like
from taxolearn.engines import Clock, Outcome, current_engine, memory, running
from taxolearn.errors import DataError, EngineError
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
        with taxolearn.engine(name, n_jobs=WORKERS) as engine:
            engine.n_workers = WORKERS  # as many shards, also where they are done one after the other
            models = [
                RecursiveSVM(DATA.taxonomy, tol=0.02, random_state=0),
                OneVsRestSVM(random_state=0),
                TopDownSVM(DATA.taxonomy, random_state=0),
            ]
            self.certificates, self.answers = [], []
            for model in models:
                model.fit(DATA.X, DATA.y)
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
    for one, other in zip(found.answers, on_threads.answers, strict=True):
        np.testing.assert_array_equal(one, other)


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


@pytest.mark.parametrize("name", ["serial", "threads"])
def test_a_raised_flag_ends_tasks_and_drops_others(name):
    clock, found = Clock(), []
    threading.Timer(0.2, clock.stop.__setitem__, (0, 1)).start()
    with taxolearn.engine(name, n_jobs=1) as engine:
        outcome = engine.map(wait_for_the_flag, None, [1, 2, 3], clock, lambda task, _: found.append(task))
    assert (outcome, found) == (Outcome.INTERRUPTED, [1])


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
