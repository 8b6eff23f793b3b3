"""Ctrl-C at any moment of a structured fit: never lost, never an exception, and what was reached is usable."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest

from taxolearn import Taxonomy
from taxolearn.certificates import certify
from taxolearn.engines import interrupts
from taxolearn.losses import structured_hinge
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.scales import node_weights
from taxolearn.solvers import Limits, PegasosSGD, Start, Status, row_ascent, solve_shared, solve_structured
from taxolearn.ties import path_sum, shared_tie

TREE = Taxonomy.from_paths([f"r/{a}/{a}{b}" for a in "abc" for b in range(3)])
LONGEST = 0.15  # seconds until a press
FOREVER = Limits(tol=-1.0, max_iter=10**9, max_seconds=60.0)


def objective(learned: bool) -> Objective:
    rng = np.random.default_rng(0)
    label = np.arange(90) % TREE.n_leaves
    X = rng.normal(size=(TREE.n_leaves, 8))[label] + rng.normal(size=(90, 8))
    problem = make_problem(X, [TREE.leaves[k] for k in label], TREE)
    scale = node_weights(TREE, "maxmin", class_nodes=problem.class_nodes)
    tie = (shared_tie if learned else path_sum)(TREE, problem.class_nodes, scale)
    return Objective(problem, structured_hinge(problem, tie), tie)


SOLVERS = {
    "shared": (solve_shared, True),
    "structured": (solve_structured, False),
    "pegasos": (PegasosSGD(10**9).solve, False),
}


@pytest.mark.parametrize("light", [True, False], ids=["in this thread", "on a thread"])
@pytest.mark.parametrize("name", SOLVERS)
def test_every_press_ends_the_fit(name, light, monkeypatch):
    if not light:
        monkeypatch.setattr(row_ascent, "_LIGHT_STEPS", 0)
    solve, learned = SOLVERS[name]
    case = objective(learned)
    solve(case, Limits(max_iter=2))  # compiled before the first press
    for seconds in np.random.default_rng(1).uniform(0.0, LONGEST, size=10):
        with interrupts() as request:  # as `fit` does: a press comes inside even if it is before the solve
            timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            solution = solve(case, FOREVER)
            timer.join()
        assert request.pressed
        assert solution.status is Status.INTERRUPTED
        last = solution.history[-1]
        assert np.isfinite(last.primal)
        assert 0.0 <= last.dual <= last.primal


@pytest.mark.parametrize("name", ["shared", "structured"])
def test_a_press_near_the_end_leaves_a_solution_that_goes_on(name):
    solve, learned = SOLVERS[name]
    case = objective(learned)
    limits = Limits(tol=1e-4, max_iter=100_000)
    whole = solve(case, limits)
    assert whole.status is Status.CONVERGED
    seconds = whole.history[-1].seconds
    for share in np.random.default_rng(2).uniform(0.0, 1.5, size=10):
        with interrupts() as request:
            timer = threading.Timer(share * seconds, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            solution = solve(case, limits)
            timer.join()
            request.heard = True  # a press after the end is nobody's
        assert solution.status in (Status.INTERRUPTED, Status.CONVERGED)
        again = solve(case, limits, Start(solution.dual, solution.state))
        assert again.status is Status.CONVERGED
        assert again.history[-1].primal == pytest.approx(whole.history[-1].primal, rel=2e-4)


def test_a_shared_fit_that_is_cut_short_proves_more_than_nothing():
    """After five passes the penalty of the dual is above its linear term, and a part of the dual proves more."""
    case = objective(True)
    solution = solve_shared(case, Limits(tol=0.0, max_iter=5))
    assert solution.history[-1].dual > 0.0
    assert certify(case, solution).dual == pytest.approx(solution.history[-1].dual, rel=1e-9)
