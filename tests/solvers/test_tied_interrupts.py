"""Ctrl-C ends a solve of tied classes with usable weights and bounds."""

from __future__ import annotations

import signal
import threading

import pytest
from tied_cases import CASES

from taxolearn import ClassGraph
from taxolearn.certificates import certify
from taxolearn.losses import Softmax, SquaredHinge
from taxolearn.objective import Objective
from taxolearn.solvers import Limits, Status
from taxolearn.solvers.graph import solve_graph
from taxolearn.solvers.level_sweep import solve_level_sweep
from taxolearn.solvers.newton import solve_newton
from taxolearn.solvers.path_descent import solve_path_descent
from taxolearn.solvers.softmax_rows import solve_softmax_rows
from taxolearn.ties.graph import graph_tie

SOLVERS = [solve_path_descent, solve_level_sweep, solve_newton, solve_graph, solve_softmax_rows]


@pytest.mark.parametrize("solve", SOLVERS, ids=lambda solve: solve.__name__)
def test_the_best_so_far_is_kept(solve):
    case = CASES["tree, root pinned"]
    problem = case.problem()
    on_graph = solve is solve_graph
    loss = Softmax() if solve is solve_softmax_rows else SquaredHinge()
    graph = ClassGraph.from_taxonomy(case.taxonomy)
    tie = graph_tie(graph, problem.classes, pinned=["r"]) if on_graph else case.tie(problem)
    objective, passes = Objective(problem, loss, tie), []
    # compiled before the clock runs
    whole = solve(objective, watch=lambda progress, dual: passes.append((progress, dual().shape)))
    assert passes == [(progress, (6, 24)) for progress in whole.history]
    assert whole.dual.shape == (6, 24)
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.3, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    try:
        solution = solve(objective, Limits(tol=-1.0, max_iter=10**9))
    finally:
        timer.join()
    assert solution.status is Status.INTERRUPTED
    certificate = certify(objective, solution)
    assert certificate.dual <= certificate.primal * (1 + 1e-12)
    assert certificate.holds(1e-6)
