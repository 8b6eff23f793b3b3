"""How a solve ends: limits, Ctrl-C, and the history; always with usable weights and an honest certificate."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from taxolearn.certificates import certify_one_vs_rest
from taxolearn.engines import Outcome
from taxolearn.losses import Hinge
from taxolearn.problem import make_problem
from taxolearn.solvers import Progress, Solution, Status, one_vs_rest, solve_one_vs_rest

NEVER = {"tol": -1.0, "max_iter": 10**9}  # no gap is below this tolerance: only a stop ends the solve


@pytest.fixture(scope="module")
def problem():
    """Twenty overlapping classes: two blocks."""
    rng = np.random.default_rng(0)
    label = np.arange(400) % 20
    return make_problem(rng.normal(size=(20, 10))[label] + 2.0 * rng.normal(size=(400, 10)), label)


@pytest.fixture(scope="module")
def optimum(problem):
    solution = solve_one_vs_rest(problem, Hinge(), 1.0, tol=1e-7, max_iter=50_000)
    assert solution.status is Status.CONVERGED
    return certify_one_vs_rest(problem, solution, Hinge(), 1.0, 1.0)


def honest(problem, solution, optimum):
    """The certificate of whatever came back: a true bracket of the optimum, class by class."""
    assert np.isfinite(solution.weights.coef).all()
    assert solution.weights.coef.shape == (20, 10)
    assert solution.dual.shape == (20, 400)
    certificate = certify_one_vs_rest(problem, solution, Hinge(), 1.0, 1.0)
    assert certificate.status is solution.status
    assert np.all(certificate.class_dual <= optimum.class_primal * (1 + 1e-9))
    assert np.all(certificate.class_primal >= optimum.class_dual * (1 - 1e-9))
    return certificate


def test_iteration_limit(problem, optimum):
    solution = solve_one_vs_rest(problem, Hinge(), 1.0, tol=1e-6, max_iter=1)
    assert solution.status is Status.ITERATION_LIMIT
    assert solution.n_iter == 1
    certificate = honest(problem, solution, optimum)
    assert 1e-6 < certificate.gap < 1.0
    assert solution.history[-1].gap == pytest.approx(certificate.gap, rel=1e-6)

    more = solve_one_vs_rest(problem, Hinge(), 1.0, tol=1e-9, max_iter=8)
    assert more.n_iter == 8
    assert honest(problem, more, optimum).dual > certificate.dual


def test_a_time_limit_before_the_first_look_keeps_the_first_block(problem, optimum):
    solution = solve_one_vs_rest(problem, Hinge(), 1.0, tol=1e-4, max_seconds=1e-9, n_jobs=1)
    assert solution.status is Status.TIME_LIMIT
    certificate = honest(problem, solution, optimum)
    solved = np.abs(solution.weights.coef).sum(axis=1) > 0
    assert solved.tolist() == [True] * 16 + [False] * 4
    # a class that was never begun: zero weights lose C a row, and the zero dual proves nothing
    np.testing.assert_allclose(certificate.class_primal[16:], 400.0)
    np.testing.assert_array_equal(certificate.class_dual[16:], 0.0)
    assert certificate.gap < 1.0
    assert len(solution.history) == 1
    assert solution.history[0].done == 16


def test_a_time_limit_within_a_block(problem, optimum):
    solution = solve_one_vs_rest(problem, Hinge(), 1.0, max_seconds=0.3, n_jobs=1, **NEVER)
    assert solution.status is Status.TIME_LIMIT
    assert solution.n_iter > 1
    certificate = honest(problem, solution, optimum)
    # the class at work when the time was over has what it had; those behind it in the block were not begun
    assert solution.weights.coef[0].any()
    assert certificate.class_dual[0] > 0.9 * optimum.class_dual[0]


def test_time_to_spare_is_no_limit(problem, optimum):
    solution = solve_one_vs_rest(problem, Hinge(), 1.0, max_seconds=3600.0, n_jobs=2)
    assert solution.status is Status.CONVERGED
    assert honest(problem, solution, optimum).holds(1e-4)


def test_interrupted_after_the_first_block(problem, optimum):
    def interrupt(done, total, progress):
        if done == 1:
            raise KeyboardInterrupt  # as if Ctrl-C came here

    solution = solve_one_vs_rest(problem, Hinge(), 1.0, n_jobs=1, on_block=interrupt)
    assert solution.status is Status.INTERRUPTED
    certificate = honest(problem, solution, optimum)
    assert np.all(certificate.class_primal[:16] <= optimum.class_primal[:16] * (1 + 2e-4))
    np.testing.assert_array_equal(solution.weights.coef[16:], 0.0)


def test_an_interrupt_when_all_is_done_changes_nothing(problem, optimum):
    def interrupt(done, total, progress):
        if done == total:
            raise KeyboardInterrupt

    solution = solve_one_vs_rest(problem, Hinge(), 1.0, on_block=interrupt)
    assert solution.status is Status.CONVERGED
    assert honest(problem, solution, optimum).holds(1e-4)


def test_an_error_in_the_callback_reaches_the_caller(problem):
    def fail(done, total, progress):
        raise ValueError("no more paper")

    with pytest.raises(ValueError, match="no more paper"):
        solve_one_vs_rest(problem, Hinge(), 1.0, on_block=fail)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_history_and_callback(problem, n_jobs):
    calls = []
    solution = solve_one_vs_rest(
        problem, Hinge(), 1.0, n_jobs=n_jobs, on_block=lambda *call: calls.append(call)
    )
    history = solution.history
    assert len(history) == len(calls) >= 2
    assert [call[0] for call in calls] == list(range(1, len(calls) + 1))
    assert {call[1] for call in calls} == {len(calls)}
    assert [call[2] for call in calls] == history
    assert np.all(np.diff([entry.done for entry in history]) > 0)
    assert np.all(np.diff([entry.seconds for entry in history]) >= 0)
    assert history[-1].done == 20
    certificate = certify_one_vs_rest(problem, solution, Hinge(), 1.0, 1.0)
    assert history[-1].primal == pytest.approx(certificate.primal, rel=1e-9)
    assert history[-1].dual == pytest.approx(certificate.dual, rel=1e-9)


def test_history_counts_the_classes_that_are_done(problem, monkeypatch):
    class Backwards(one_vs_rest.ThreadEngine):
        """An engine whose last and smallest block ends first."""

        def run(self, function, tasks, on_result):
            for task in reversed(tasks):
                on_result(task, function(task))
            return Outcome.COMPLETED

    monkeypatch.setattr(one_vs_rest, "ThreadEngine", Backwards)
    solution = solve_one_vs_rest(problem, Hinge(), 1.0)
    assert [entry.done for entry in solution.history] == [4, 20]


def test_two_classes_count_as_two_in_the_history():
    problem = make_problem(np.random.default_rng(1).normal(size=(30, 3)), np.arange(30) % 2)
    solution = solve_one_vs_rest(problem, Hinge(), 1.0)
    certificate = certify_one_vs_rest(problem, solution, Hinge(), 1.0, 1.0)
    assert solution.history[-1].gap == pytest.approx(certificate.gap, rel=1e-6, abs=1e-12)


def test_progress_and_solution_defaults():
    assert Progress(1.0, 2, 4.0, 3.0).gap == 0.25
    assert Progress(1.0, 2, 0.0, 0.0).gap == 0.0
    assert Status("time limit") is Status.TIME_LIMIT
    solution = Solution(None, None, Status.CONVERGED, 3)
    assert solution.history == []
    assert solution.details == {}


CHILD = """
import json, sys, warnings
import numpy as np
from taxolearn import OneVsRestSVM
from taxolearn.engines import ThreadEngine
from taxolearn.solvers import one_vs_rest

class Telling(ThreadEngine):
    def run(self, function, tasks, on_result):
        def told(task):
            print("started", flush=True)
            return function(task)
        return super().run(told, tasks, on_result)

rng = np.random.default_rng(0)
label = np.arange(8000) % 40
X = rng.normal(size=(40, 60))[label] + 3.0 * rng.normal(size=(8000, 60))
OneVsRestSVM(loss="hinge").fit(X[:80], label[:80])  # compiles
one_vs_rest.ThreadEngine = Telling
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model = OneVsRestSVM(loss="hinge", C=10.0, tol=1e-300, max_iter=10**9).fit(X, label)
certificate = model.certificate_
print(json.dumps({
    "status": certificate.status.value, "gap": certificate.gap, "dual": certificate.dual,
    "finite": bool(np.isfinite(model.weights_.coef).all()), "any": bool(model.weights_.coef.any()),
    "warnings": [str(w.message) for w in caught],
}))
"""


@pytest.mark.skipif(os.name != "posix", reason="on Windows no process can press Ctrl-C for another one alone")
def test_a_real_ctrl_c_keeps_the_weights_of_a_fit():
    child = subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "started\n"
        time.sleep(1.0)  # well within a solve that would take hours
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=300)
    finally:
        child.kill()
    assert child.returncode == 0
    answer = json.loads(out.splitlines()[-1])
    assert answer["status"] == "interrupted"
    assert answer["finite"]
    assert answer["any"]
    assert 0.0 < answer["gap"] <= 1.0
    assert answer["dual"] > 0.0  # which no weights at all would have
    assert any("stopped by interrupted at a certified relative gap" in text for text in answer["warnings"])
