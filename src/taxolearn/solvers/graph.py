"""One-vs-rest losses over a graph of classes, by block coordinate descent one colour at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.objective import Objective
from taxolearn.solvers.base import Limits, Requires, Solution, Start, Watch, check_requirements
from taxolearn.solvers.block_sweep import BlockSweep
from taxolearn.vectors import ClassVectors

Ids = npt.NDArray[np.intp]

# duals without their vectors lose several rounds: no checkpoints
REQUIRES = Requires(("margin",), precision=True, starts=False)
LIMITS = Limits()


def solve_graph(
    objective: Objective, limits: Limits = LIMITS, start: Start | None = None, watch: Watch | None = None
) -> Solution:
    """The graph form of HR-SVM and HR-LR (Gopal, Yang 2013).

    Nodes of the graph are coloured greedily so that neighbours differ; all nodes of a colour are solved at once, on
    the workers of the engine. Latent nodes take the mean of their neighbours. The vectors returned are those of the
    classes; `state` holds those of the free nodes, to begin with in another solve with as many.

    >>> from taxolearn import ClassGraph
    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties.graph import graph_tie
    >>> problem = make_problem([[0.0], [1.0], [5.0]], ["lion", "puma", "dog"])
    >>> tie = graph_tie(ClassGraph.from_edges([("lion", "puma")], nodes=["dog"]), problem.classes, ridge=1.0)
    >>> solve_graph(Objective(problem, Hinge(), tie)).status
    <Status.CONVERGED: 'converged'>
    """
    check_requirements("graph", REQUIRES, objective)
    tie, start = objective.tie, start or Start()
    position = np.full(tie.graph.n_nodes, -1)
    position[tie.free] = np.arange(len(tie.free))
    precision = tie.precision()
    first = start.state if isinstance(start.state, np.ndarray) else None
    sweep = BlockSweep(
        objective, precision, position[tie.class_nodes], colour_classes(precision), start, first
    )
    rounds = sweep.solve(limits, watch)
    vectors = ClassVectors(sweep.class_weights(), objective.bias_feature * sweep.biases)
    dual = sp.csr_array(sweep.duals)
    return Solution(vectors, dual, rounds.status, rounds.done, rounds.history, state=sweep.weights)


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
