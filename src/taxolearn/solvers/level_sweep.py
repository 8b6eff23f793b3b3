"""The paper's own alternation over the levels of a tree: odd ones, then even ones, all nodes of a level at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import TaxonomyError
from taxolearn.losses import MarginLoss
from taxolearn.models import NodeWeights
from taxolearn.problem import Problem
from taxolearn.regularizers import PathSum
from taxolearn.solvers.block_sweep import BlockSweep
from taxolearn.solvers.rounds import OnPass, run_rounds
from taxolearn.solvers.solution import Solution
from taxolearn.solvers.tied_classes import TiedClasses

Ids = npt.NDArray[np.intp]


def solve_level_sweep(
    problem: Problem,
    loss: MarginLoss,
    tie: PathSum,
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
    start_weights: NodeWeights | None = None,
    on_pass: OnPass | None = None,
) -> Solution:
    """LevelSweep (Gopal, Yang 2013, parallelization): the objective of `solve_path_descent`, on trees.

    The variables are the vectors w_n of all nodes, with penalty 1/2 sum_n ||w_n - w_parent||^2 / a_n. Nodes of
    odd depth depend only on nodes of even depth and the other way round. A node without losses takes the mean of
    its neighbours, (w_parent / a_n + sum_c w_c / a_c) / (1 / a_n + sum_c 1 / a_c), which with a_n = 1 is the
    paper's (w_parent + sum_c w_c) / (|children| + 1); a class, leaf or inner node, adds dual coordinate descent
    around that mean. A node with a_n = 0 is one with its parent; the root's parent is the zero vector.

    A block of nodes is a task on plain arrays that shares nothing with others. This is the reference; information
    travels one level a half round, so deep trees take more of them. Needs a tree and a loss of the margin with a dual
    step; `start` are duals, classes x rows, `start_weights` the vectors of the nodes of this tie to begin with instead
    of those that belong to the duals. `on_pass(progress, dual)` is called after each pass, from a worker thread.

    >>> from taxolearn import Taxonomy
    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.regularizers import path_sum
    >>> tree = Taxonomy.from_paths(["all/cat/lion", "all/cat/puma", "all/dog"])
    >>> problem = make_problem([[0.0], [1.0], [5.0]], ["lion", "puma", "dog"], tree)
    >>> tie = path_sum(tree, problem.class_nodes, np.array([0.0, 1.0, 1.0, 1.0, 1.0]))
    >>> solve_level_sweep(problem, Hinge(), tie, C=1.0).status
    <Status.CONVERGED: 'converged'>
    """
    parent, seat = _tree_of(tie)
    merged = _merged(parent, tie.scale)
    live = np.flatnonzero(tie.scale > 0)
    position = np.full(tie.n_nodes + 1, -1)  # the last entry stands for the zero vector
    position[live] = np.arange(len(live))
    above = position[np.where(parent[live] >= 0, merged[parent[live]], -1)]
    tied = TiedClasses(problem, loss, C, bias_feature)
    place = position[merged[seat]]
    first = None if start_weights is None else _summed(start_weights, parent)[live]
    precision = _precision(above, 1.0 / tie.scale[live])
    sweep = BlockSweep(tied, precision, place, _levels(above), bias_prior, start, first)
    limits = (tol, max_iter, max_seconds, on_pass)
    rounds = run_rounds(
        lambda rounds: sweep.solve(rounds, n_jobs, seed), *limits, lambda: sp.csr_array(sweep.duals)
    )
    with_zero = np.vstack([sweep.weights, np.zeros((1, problem.n_features))])
    nodes = np.zeros((problem.n_features, tie.n_nodes))
    nodes[:, live] = (sweep.weights - with_zero[above]).T
    weights = NodeWeights(nodes, tie.paths, tied.bias_feature * sweep.biases)
    return Solution(weights, sp.csr_array(sweep.duals), rounds.status, rounds.done, rounds.history)


def _tree_of(tie: PathSum) -> tuple[Ids, Ids]:
    """The parent of each node, -1 for tops and nodes without classes, and the node at which each class sits."""
    indptr, nodes = tie.paths.indptr, tie.paths.sorted_indices().indices
    parent = np.full(tie.n_nodes, -1, dtype=np.intp)
    above = np.concatenate(([-1], nodes[:-1]))
    above[indptr[:-1]] = -1
    parent[nodes] = above
    if not np.array_equal(parent[nodes], above):
        raise TaxonomyError("solve_level_sweep needs a tie over a tree; use solve_path_descent for DAGs")
    return parent, nodes[indptr[1:] - 1].astype(np.intp)


def _summed(weights: NodeWeights, parent: Ids) -> npt.NDArray[np.float64]:
    """w_n, the sum of the vectors of all nodes above n and its own; ids go from the root down."""
    nodes = weights.nodes.toarray() if weights.is_sparse else weights.nodes.T
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


def _precision(above: Ids, pull: npt.NDArray[np.float64]) -> sp.csr_array:
    """The matrix of 1/2 sum_n pull_n ||w_n - w_above||^2."""
    size = len(above)
    has = np.flatnonzero(above >= 0)
    every = np.arange(size)
    rows = np.concatenate([every, above[has], has, above[has]])
    columns = np.concatenate([every, above[has], above[has], has])
    values = np.concatenate([pull, pull[has], -pull[has], -pull[has]])
    return sp.csr_array(sp.coo_array((values, (rows, columns)), shape=(size, size)))


def _levels(above: Ids) -> list[Ids]:
    """Nodes of odd and of even depth; the classes lie at the bottom, so the parity of the deepest comes first."""
    depth = np.zeros(len(above), dtype=np.intp)
    for node, parent in enumerate(above):
        depth[node] = depth[parent] + 1 if parent >= 0 else 0
    last = depth.max(initial=0) % 2
    return [np.flatnonzero(depth % 2 == parity) for parity in (last, 1 - last)]
