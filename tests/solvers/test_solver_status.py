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

from taxolearn.certificates import certify
from taxolearn.engines import Outcome, ThreadEngine
from taxolearn.losses import Hinge
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, Progress, Solution, Status, solve_one_vs_rest
from taxolearn.ties import flat

NEVER = {"tol": -1.0, "max_iter": 10**9}  # no gap is below this tolerance: only a stop ends the solve


@pytest.fixture(scope="module")
def objective():
    """Twenty overlapping classes: two blocks."""
    rng = np.random.default_rng(0)
    label = np.arange(400) % 20
    problem = make_problem(rng.normal(size=(20, 10))[label] + 2.0 * rng.normal(size=(400, 10)), label)
    return Objective(problem, Hinge(), flat(20))


@pytest.fixture(scope="module")
def optimum(objective):
    solution = solve_one_vs_rest(objective, Limits(tol=1e-7, max_iter=50_000))
    assert solution.status is Status.CONVERGED
    return certify(objective, solution)


def honest(objective, solution, optimum):
    """The certificate of whatever came back: a true bracket of the optimum, class by class."""
    assert np.isfinite(solution.vectors.coef).all()
    assert solution.vectors.coef.shape == (20, 10)
    assert solution.dual.shape == (20, 400)
    certificate = certify(objective, solution)
    assert certificate.status is solution.status
    assert np.all(certificate.class_dual <= optimum.class_primal * (1 + 1e-9))
    assert np.all(certificate.class_primal >= optimum.class_dual * (1 - 1e-9))
    return certificate


def test_iteration_limit(objective, optimum):
    solution = solve_one_vs_rest(objective, Limits(tol=1e-6, max_iter=1))
    assert solution.status is Status.ITERATION_LIMIT
    assert solution.n_iter == 1
    certificate = honest(objective, solution, optimum)
    assert 1e-6 < certificate.gap < 1.0
    assert solution.history[-1].gap == pytest.approx(certificate.gap, rel=1e-6)

    more = solve_one_vs_rest(objective, Limits(tol=1e-9, max_iter=8))
    assert more.n_iter == 8
    assert honest(objective, more, optimum).dual > certificate.dual


def test_a_time_limit_before_the_first_look_keeps_the_first_block(objective, optimum):
    solution = solve_one_vs_rest(objective, Limits(max_seconds=1e-9))
    assert solution.status is Status.TIME_LIMIT
    certificate = honest(objective, solution, optimum)
    solved = np.abs(solution.vectors.coef).sum(axis=1) > 0
    assert solved.tolist() == [True] * 16 + [False] * 4
    # a class that was never begun: zero weights lose C per row, and the zero dual proves nothing
    np.testing.assert_allclose(certificate.class_primal[16:], 400.0)
    np.testing.assert_array_equal(certificate.class_dual[16:], 0.0)
    assert certificate.gap < 1.0
    assert len(solution.history) == 1
    assert solution.history[0].done == 16


def test_a_time_limit_within_a_block(objective, optimum):
    solution = solve_one_vs_rest(objective, Limits(max_seconds=0.3, **NEVER))
    assert solution.status is Status.TIME_LIMIT
    assert solution.n_iter > 1
    certificate = honest(objective, solution, optimum)
    # the class at work when the time was over has what it had; those behind it in the block were not begun
    assert solution.vectors.coef[0].any()
    assert certificate.class_dual[0] > 0.9 * optimum.class_dual[0]


def test_time_to_spare_is_no_limit(objective, optimum):
    with ThreadEngine(2) as engine:
        solution = solve_one_vs_rest(objective, Limits(max_seconds=3600.0, engine=engine))
    assert solution.status is Status.CONVERGED
    assert honest(objective, solution, optimum).holds(1e-4)


def test_interrupted_after_the_first_block(objective, optimum):
    def interrupt(progress, dual):
        if progress.done == 16:
            raise KeyboardInterrupt  # as if Ctrl-C came here

    solution = solve_one_vs_rest(objective, watch=interrupt)
    assert solution.status is Status.INTERRUPTED
    certificate = honest(objective, solution, optimum)
    assert np.all(certificate.class_primal[:16] <= optimum.class_primal[:16] * (1 + 2e-4))
    np.testing.assert_array_equal(solution.vectors.coef[16:], 0.0)


def test_an_interrupt_when_all_is_done_changes_nothing(objective, optimum):
    def interrupt(progress, dual):
        if progress.done == progress.total:
            raise KeyboardInterrupt

    solution = solve_one_vs_rest(objective, watch=interrupt)
    assert solution.status is Status.CONVERGED
    assert honest(objective, solution, optimum).holds(1e-4)


def test_an_error_in_the_callback_reaches_the_caller(objective):
    def fail(progress, dual):
        raise ValueError("no more paper")

    with pytest.raises(ValueError, match="no more paper"):
        solve_one_vs_rest(objective, watch=fail)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_history_and_callback(objective, n_jobs):
    calls = []
    with ThreadEngine(n_jobs) as engine:
        solution = solve_one_vs_rest(
            objective,
            Limits(engine=engine),
            watch=lambda progress, dual: calls.append((progress, dual())),
        )
    history = solution.history
    assert len(history) == len(calls) >= 2
    assert [progress for progress, _ in calls] == history
    assert {progress.total for progress in history} == {20}
    assert np.all(np.diff([entry.done for entry in history]) > 0)
    assert np.all(np.diff([entry.seconds for entry in history]) >= 0)
    assert history[-1].done == 20
    for progress, dual in calls:
        rows = dual.toarray()
        known = rows.any(axis=1)
        assert known.sum() == progress.done
        np.testing.assert_array_equal(rows[known], solution.dual.toarray()[known])
    certificate = certify(objective, solution)
    assert history[-1].primal == pytest.approx(certificate.primal, rel=1e-9)
    assert history[-1].dual == pytest.approx(certificate.dual, rel=1e-9)


def test_history_counts_the_classes_that_are_done(objective):
    class Backwards(ThreadEngine):
        """An engine whose last and smallest block ends first."""

        def map(self, function, shared, tasks, clock, on_result):
            for task in reversed(tasks):
                on_result(task, function(shared, task, clock))
            return Outcome.COMPLETED

    solution = solve_one_vs_rest(objective, Limits(engine=Backwards()))
    assert [entry.done for entry in solution.history] == [4, 20]


def test_two_classes_count_as_two_in_the_history():
    problem = make_problem(np.random.default_rng(1).normal(size=(30, 3)), np.arange(30) % 2)
    objective = Objective(problem, Hinge(), flat(2))
    solution = solve_one_vs_rest(objective)
    certificate = certify(objective, solution)
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
from taxolearn.solvers import one_vs_rest

solve_classes = one_vs_rest.solve_classes

def telling(shared, task, clock):
    print("started", flush=True)
    return solve_classes(shared, task, clock)

rng = np.random.default_rng(0)
label = np.arange(8000) % 40
X = rng.normal(size=(40, 60))[label] + 3.0 * rng.normal(size=(8000, 60))
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    OneVsRestSVM(loss="hinge", C=10.0, max_iter=1).fit(X, label)  # compiles what this size needs
one_vs_rest.solve_classes = telling
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model = OneVsRestSVM(loss="hinge", C=10.0, tol=1e-300, max_iter=10**9).fit(X, label)
certificate = model.certificate_
print(json.dumps({
    "status": certificate.status.value, "gap": certificate.gap, "dual": certificate.dual,
    "finite": bool(np.isfinite(model.vectors_.coef).all()), "any": bool(model.vectors_.coef.any()),
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
