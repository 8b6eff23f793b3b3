"""The paper's own alternation over the levels of a tree: odd ones, then even ones, all nodes of a level at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.objective import Objective
from taxolearn.solvers.base import Limits, Requires, Solution, Start, Watch, check_requirements
from taxolearn.solvers.block_sweep import BlockSweep
from taxolearn.solvers.tied_classes import fitting_nodes
from taxolearn.vectors import NodeVectors

Ids = npt.NDArray[np.intp]

# duals without their vectors lose several rounds: no checkpoints
REQUIRES = Requires(("margin",), paths=True, tree=True, starts=False)
LIMITS = Limits()


def solve_level_sweep(
    objective: Objective, limits: Limits = LIMITS, start: Start | None = None, watch: Watch | None = None
) -> Solution:
    """LevelSweep (Gopal, Yang 2013, parallelization): the objective of `solve_path_descent`, on trees.

    The variables are the vectors w_n of all nodes, with penalty 1/2 sum_n ||w_n - w_parent||^2 / a_n. Nodes of
    odd depth depend only on nodes of even depth and the other way round. A node without losses takes the mean of
    its neighbours, (w_parent / a_n + sum_c w_c / a_c) / (1 / a_n + sum_c 1 / a_c), which with a_n = 1 is the
    paper's (w_parent + sum_c w_c) / (|children| + 1); a class, leaf or inner node, adds dual coordinate descent
    around that mean. A node with a_n = 0 is one with its parent; the root's parent is the zero vector.

    A block of nodes is a task on plain arrays that shares nothing with others. This is the reference; information
    travels one level per half round, so deep trees take more of them. A start's state, the node vectors of this very
    tie, is taken instead of the vectors that belong to its duals.

    >>> from taxolearn import Taxonomy
    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import path_sum
    >>> tree = Taxonomy.from_paths(["all/cat/lion", "all/cat/puma", "all/dog"])
    >>> problem = make_problem([[0.0], [1.0], [5.0]], ["lion", "puma", "dog"], tree)
    >>> tie = path_sum(tree, problem.class_nodes, np.array([0.0, 1.0, 1.0, 1.0, 1.0]))
    >>> solve_level_sweep(Objective(problem, Hinge(), tie)).status
    <Status.CONVERGED: 'converged'>
    """
    check_requirements("levels", REQUIRES, objective)
    problem, tie, start = objective.problem, objective.tie, start or Start()
    parent: Ids = tie.parents
    merged = _merged(parent, tie.scale)
    scaled = np.flatnonzero(tie.scale > 0)
    position = np.full(tie.n_nodes + 1, -1)  # the last entry stands for the zero vector
    position[scaled] = np.arange(len(scaled))
    above = position[np.where(parent[scaled] >= 0, merged[parent[scaled]], -1)]
    place = position[np.where(tie.seats >= 0, merged[tie.seats], -1)]
    state = fitting_nodes(start.state, tie.paths, problem.n_features)
    first = None if state is None else _summed(state, parent)[scaled]
    precision = _precision(above, 1.0 / tie.scale[scaled])
    sweep = BlockSweep(objective, precision, place, _levels(above), start, first)
    rounds = sweep.solve(limits, watch)
    with_zero = np.vstack([sweep.weights, np.zeros((1, problem.n_features))])
    nodes = np.zeros((problem.n_features, tie.n_nodes))
    nodes[:, scaled] = (sweep.weights - with_zero[above]).T
    vectors = NodeVectors(nodes, tie.paths, objective.bias_feature * sweep.biases)
    return Solution(vectors, sp.csr_array(sweep.duals), rounds.status, rounds.done, rounds.history)


def _summed(vectors: NodeVectors, parent: Ids) -> npt.NDArray[np.float64]:
    """w_n, the sum of the vectors of all nodes above n and its own; ids go from the root down."""
    nodes = vectors.nodes.toarray() if vectors.is_sparse else vectors.nodes.T
    nodes = np.array(nodes, dtype=np.float64)
    for node in np.flatnonzero(parent >= 0):
        nodes[node] += nodes[parent[node]]
    return nodes


def _merged(parent: Ids, scale: npt.NDArray[np.float64]) -> Ids:
    """The node whose vector each node has: itself, or that of its parent where its own scale is zero; -1 is zero."""
    merged = np.arange(len(scale))
    for node in np.flatnonzero(scale == 0):  # ids go from the root down
        merged[node] = merged[parent[node]] if parent[node] >= 0 else -1
    return merged


def _precision(above: Ids, curvature: npt.NDArray[np.float64]) -> sp.csr_array:
    """The matrix of 1/2 sum_n curvature_n ||w_n - w_above||^2."""
    size = len(above)
    has = np.flatnonzero(above >= 0)
    every = np.arange(size)
    rows = np.concatenate([every, above[has], has, above[has]])
    columns = np.concatenate([every, above[has], above[has], has])
    values = np.concatenate([curvature, curvature[has], -curvature[has], -curvature[has]])
    return sp.csr_array(sp.coo_array((values, (rows, columns)), shape=(size, size)))


def _levels(above: Ids) -> list[Ids]:
    """Nodes of odd and of even depth; the classes lie at the bottom, so the parity of the deepest comes first."""
    depth = np.zeros(len(above), dtype=np.intp)
    for node, parent in enumerate(above):
        depth[node] = depth[parent] + 1 if parent >= 0 else 0
    last = depth.max(initial=0) % 2
    return [np.flatnonzero(depth % 2 == parity) for parity in (last, 1 - last)]
