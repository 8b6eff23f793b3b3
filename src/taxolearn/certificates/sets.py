"""The structured hinge over label sets: the largest violation among sets of nodes, with biases tied like vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.certificates.rounding import LEAST_COST, PAIRWISE, TINY, UNIT, Array, Ball, gamma
from taxolearn.certificates.scores import Scores
from taxolearn.certificates.sums import Adjoint
from taxolearn.engines import Run
from taxolearn.objective import Objective

_SCORE_BYTES = 8 * 2**20  # of scores at a time
_LIGHT = 2**20  # products that take a millisecond
_SLACK = 1e-9  # by which marginals may break a bound; they are then moved into their bounds


def losses(objective: Objective, scores: Scores, classes: npt.NDArray[np.bool_], run: Run) -> Ball:
    """sum_i c_i max over sets z of sum_n theta_in (z_n - y_in), theta being scores with the costs of mistakes."""
    problem, loss = objective.problem, objective.loss
    height = max(1, _SCORE_BYTES // (8 * loss.n_nodes))
    spans = [(first, min(first + height, problem.n_rows)) for first in range(0, problem.n_rows, height)]
    shared = _Rows(loss.sets(problem), loss.weights(problem), loss, scores)
    parts = run.map(_losses_of, shared, spans, light=scores.products < _LIGHT)
    total = Ball(np.array([part.value for part in parts]), np.array([part.error for part in parts])).sum()
    return total * objective.C


class _Rows(NamedTuple):
    """What all tasks read."""

    sets: sp.csr_array
    weight: Array
    loss: Any
    scores: Scores


def _losses_of(shared: _Rows, span: tuple[int, int], clock: Any) -> Ball:
    """The weighted losses of some rows, C left out."""
    with np.errstate(all="ignore"):
        theta, errors = shared.scores.of_rows(*span)
        errors = np.ascontiguousarray(np.broadcast_to(errors, (len(theta), np.shape(errors)[-1])))
        loss, weight = shared.loss, shared.weight[slice(*span)]
        ends = shared.sets.indptr[span[0] : span[1] + 1]
        nodes = shared.sets.indices[ends[0] : ends[-1]]
        ends = ends - ends[0]
        rows = np.repeat(np.arange(len(theta)), np.diff(ends))
        at_own = theta[rows, nodes] - loss.miss[nodes]
        sizes = np.abs(theta).max(axis=1, initial=0.0) + max(
            float(loss.miss.max()), float(loss.false_alarm.max())
        )
        theta += loss.false_alarm
        theta[rows, nodes] = at_own
        errors = errors + (2 * UNIT * sizes)[:, None]
        found = np.zeros((len(theta), 3))
        counted = (weight > 0) & np.isfinite(theta).all(axis=1) & np.isfinite(errors).all(axis=1)
        theta[~counted] = 0.0
        errors[~counted] = 0.0
        _set_losses(loss, theta, errors, ends.astype(np.int64), nodes.astype(np.int64), found)
        value, above, below = found.T
        change = np.where(counted, np.maximum(above - value, value - below), 0.0)
        change[(weight > 0) & ~(counted & np.isfinite(found).all(axis=1))] = np.inf
        total = Ball(np.where(counted, weight * value, 0.0)).sum()
        lost = len(weight) * TINY + 2 * UNIT * abs(total.value)
        error = total.error + float(np.where(weight > 0, weight * change, 0.0).sum()) * (1 + gamma(PAIRWISE))
        return Ball(total.value, error + lost)


def _set_losses(loss: Any, theta: Array, errors: Array, indptr: Any, indices: Any, out: Array) -> None:
    from taxolearn.kernels.exact_sets import closure_losses, tree_losses

    up, parents = loss.parent_indptr.astype(np.int64), loss.parent_indices.astype(np.int64)
    if loss.is_tree:
        first = np.concatenate(([-1], parents))
        tree_losses(theta, errors, indptr, indices, first, np.array(loss.must), loss.has_children, out)
    else:
        closure_losses(theta, errors, indptr, indices, up, parents, out)


def adjoint(objective: Objective, dual: sp.csr_array, classes: npt.NDArray[np.bool_]) -> Adjoint:
    """c_i (y_in - mu_in), and minus sum_i c_i Delta(mu_i, y_i), the dual being c_i |mu_in - y_in|.

    The marginals mu_i must lie in the convex hull of the sets: 1 at the root, between 0 and every parent's, and on a
    tree, where a node must have a chosen child, children that add up to their parent at least. Where rounding alone can
    have moved them out they are moved back; any other dual is outside its bounds.
    """
    return adjoint_of(objective, dual, _moved_back)


def adjoint_of(
    objective: Objective,
    dual: sp.csr_array,
    moved_back: Callable[[Any, sp.csr_array], tuple[sp.csr_array, Array]],
) -> Adjoint:
    """`adjoint`, marginals being moved into their bounds by `moved_back`, which says how far each row had to be."""
    problem, loss = objective.problem, objective.loss
    cost = objective.C * loss.weights(problem)
    nothing = sp.csr_array(dual.shape)
    if not (np.all(np.isfinite(cost)) and np.all(np.isfinite(dual.data)) and np.all(dual.data >= 0)):
        return Adjoint((nothing,), Ball(np.inf))
    if np.any((cost > 0) & (cost < LEAST_COST)):
        return Adjoint((nothing,), Ball(0.0, np.inf))
    own, marginals = _marginals(loss.sets(problem), dual, cost)
    if marginals is None:
        return Adjoint((nothing,), Ball(np.inf))
    marginals, moved = moved_back(loss, marginals)
    if not np.all(moved[cost > 0] <= _SLACK):
        return Adjoint((nothing,), Ball(np.inf))
    row = np.repeat(np.arange(problem.n_rows), np.diff(marginals.indptr))
    change = (own - marginals.data) * (cost[row] > 0)
    entries = cost[row] * change
    node = marginals.indices
    delta = np.abs(entries) * np.where(own > 0, loss.miss[node], loss.false_alarm[node])
    linear = Ball(-delta).sum()
    kept = entries != 0
    matrix = sp.csr_array((entries[kept], (node[kept], row[kept])), shape=dual.shape)
    error = linear.error + gamma(6) * abs(linear.value) + np.count_nonzero(delta) * TINY
    return Adjoint((matrix,), Ball(linear.value, error), relative=gamma(4))


def _marginals(sets: sp.csr_array, dual: sp.csr_array, cost: Array) -> tuple[Array, sp.csr_array | None]:
    """y and mu, rows x nodes, at all entries of the rows' own sets and of the dual, nodes in rising order."""
    n_rows, n_nodes = sets.shape
    by_row = dual.tocoo()
    if np.any((cost[by_row.col] <= 0) & (by_row.data > 0)):
        return np.zeros(0), None
    row_of_set = np.repeat(np.arange(n_rows, dtype=np.int64), np.diff(sets.indptr))
    ours, theirs = row_of_set * n_nodes + sets.indices, by_row.col.astype(np.int64) * n_nodes + by_row.row
    every = np.union1d(ours, theirs)
    own, share = np.zeros(len(every)), np.zeros(len(every))
    own[np.searchsorted(every, ours)] = 1.0
    with np.errstate(all="ignore"):
        share[np.searchsorted(every, theirs)] = np.where(by_row.data > 0, by_row.data / cost[by_row.col], 0.0)
    mu = np.where(own > 0, 1.0 - share, share)
    indptr = np.searchsorted(every, np.arange(n_rows + 1, dtype=np.int64) * n_nodes)
    return own, sp.csr_array((mu, every % n_nodes, indptr), shape=sets.shape)


def _moved_back(loss: Any, mu: sp.csr_array) -> tuple[sp.csr_array, Array]:
    """Marginals put exactly into their bounds, in place; how far that moves those of each row."""
    from taxolearn.kernels.exact_sets import feasible_marginals

    n = loss.n_nodes
    up, parents = loss.parent_indptr.astype(np.int64), loss.parent_indices.astype(np.int64)
    below = np.concatenate(([0], np.cumsum(np.bincount(parents, minlength=n)))).astype(np.int64)
    children = np.repeat(np.arange(n), np.diff(up))[np.argsort(parents, kind="stable")]
    must = loss.must & loss.has_children & loss.is_tree
    moved = np.zeros(mu.shape[0])
    arrays = (mu.indptr.astype(np.int64), mu.indices.astype(np.int64), mu.data)
    feasible_marginals(*arrays, up, parents, below, children, must, moved)
    return mu, moved
