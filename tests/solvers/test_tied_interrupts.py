"""Ctrl-C ends a solve of tied classes with usable weights and bounds."""

from __future__ import annotations

import signal
import threading

import pytest
from tied_cases import CASES

from taxolearn import ClassGraph
from taxolearn.certificates.graph import certify_graph
from taxolearn.certificates.path_sum import certify_path_sum
from taxolearn.certificates.softmax import certify_softmax
from taxolearn.losses import Softmax, SquaredHinge
from taxolearn.regularizers.graph_laplacian import graph_tie
from taxolearn.solvers import Status
from taxolearn.solvers.graph import solve_graph
from taxolearn.solvers.level_sweep import solve_level_sweep
from taxolearn.solvers.path_descent import solve_path_descent
from taxolearn.solvers.smooth import solve_smooth
from taxolearn.solvers.softmax_rows import solve_softmax_rows

SOLVERS = [solve_path_descent, solve_level_sweep, solve_smooth, solve_graph, solve_softmax_rows]


@pytest.mark.parametrize("solve", SOLVERS, ids=lambda solve: solve.__name__)
def test_the_best_so_far_is_kept(solve):
    case = CASES["tree, root pinned"]
    problem = case.problem()
    on_graph = solve is solve_graph
    loss = Softmax() if solve is solve_softmax_rows else SquaredHinge()
    graph = ClassGraph.from_taxonomy(case.taxonomy)
    tie = graph_tie(graph, problem.classes, pinned=["r"]) if on_graph else case.tie(problem)
    passes = []
    whole = solve(
        problem, loss, tie, 1.0, on_pass=lambda progress, dual: passes.append(progress)
    )  # compiled before the clock runs
    assert passes == whole.history
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.3, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    try:
        solution = solve(problem, loss, tie, 1.0, tol=-1.0, max_iter=10**9)
    finally:
        timer.join()
    assert solution.status is Status.INTERRUPTED
    if isinstance(loss, Softmax):
        certificate = certify_softmax(problem, solution, tie, 1.0, 1.0)
    else:
        certify = certify_graph if on_graph else certify_path_sum
        certificate = certify(problem, solution, loss, tie, 1.0, 1.0)
    assert certificate.dual <= certificate.primal * (1 + 1e-12)
    assert certificate.holds(1e-6)
