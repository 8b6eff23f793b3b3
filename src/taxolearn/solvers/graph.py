"""One-vs-rest losses over a graph of classes, by block coordinate descent one colour at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.losses import MarginLoss
from taxolearn.models import LinearWeights
from taxolearn.problem import Problem
from taxolearn.regularizers.graph_laplacian import GraphTie
from taxolearn.solvers.block_sweep import BlockSweep
from taxolearn.solvers.rounds import OnPass, run_rounds
from taxolearn.solvers.solution import Solution
from taxolearn.solvers.tied_classes import TiedClasses

Ids = npt.NDArray[np.intp]


def solve_graph(
    problem: Problem,
    loss: MarginLoss,
    tie: GraphTie,
    C: float,
    *,
    bias_feature: float = 1.0,
    bias_prior: float = 0.0,
    tol: float = 1e-4,
    max_iter: int = 1000,
    n_jobs: int | None = None,
    max_seconds: float | None = None,
    seed: int = 0,
    start: sp.csr_array | None = None,
    start_nodes: npt.NDArray[np.float64] | None = None,
    on_pass: OnPass | None = None,
) -> Solution:
    """Minimise 1/2 (sum over edges e_ij ||w_i - w_j||^2 + ridge sum_i ||w_i||^2) + 1/2 sum_l (b_l - b_0)^2 + losses.

    The graph form of HR-SVM and HR-LR (Gopal, Yang 2013); the losses are sum_il c_il loss(y_il (w_l . x_i + s
    b_l)). Nodes of the graph are coloured greedily so that neighbours differ; all nodes of a colour are solved at
    once, on `n_jobs` threads. Latent nodes take the mean of their neighbours. Needs a loss of the margin with a
    dual step; `start` are duals, classes x rows, `start_nodes` the vectors of the free nodes to begin with (the
    `details["state"]` of another solution), if there are as many. The weights returned are those of the classes.
    `on_pass(progress, dual)` is called after each pass, from a worker thread.

    >>> from taxolearn import ClassGraph
    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.regularizers.graph_laplacian import graph_tie
    >>> problem = make_problem([[0.0], [1.0], [5.0]], ["lion", "puma", "dog"])
    >>> tie = graph_tie(ClassGraph.from_edges([("lion", "puma")], nodes=["dog"]), problem.classes, ridge=1.0)
    >>> solve_graph(problem, Hinge(), tie, C=1.0).status
    <Status.CONVERGED: 'converged'>
    """
    tied = TiedClasses(problem, loss, C, bias_feature)
    position = np.full(tie.graph.n_nodes, -1)
    position[tie.free] = np.arange(len(tie.free))
    precision = tie.precision()
    sweep = BlockSweep(
        tied, precision, position[tie.class_nodes], colour_classes(precision), bias_prior, start, start_nodes
    )
    limits = (tol, max_iter, max_seconds, on_pass)
    rounds = run_rounds(
        lambda rounds: sweep.solve(rounds, n_jobs, seed), *limits, lambda: sp.csr_array(sweep.duals)
    )
    weights = LinearWeights(sweep.class_weights(), tied.bias_feature * sweep.biases)
    state = {"state": sweep.weights}
    return Solution(weights, sp.csr_array(sweep.duals), rounds.status, rounds.done, rounds.history, state)


def colour_classes(precision: sp.csr_array) -> list[Ids]:
    """Nodes in groups without an edge inside: the nodes of most neighbours first, each the first colour left to it.

    >>> path = sp.csr_array(np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]]))
    >>> [group.tolist() for group in colour_classes(path)]
    [[1], [0, 2]]
    """
    indptr, indices = precision.indptr, precision.indices
    colour = np.full(precision.shape[0], -1)
    for node in np.argsort(-np.diff(indptr), kind="stable"):
        taken = set(colour[indices[indptr[node] : indptr[node + 1]]].tolist())
        free = 0
        while free in taken:
            free += 1
        colour[node] = free
    return [np.flatnonzero(colour == k) for k in range(colour.max(initial=-1) + 1)]
