"""Piecewise linear losses as constraints: what an interior-point method reads of the hinge and the structured hinge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.objective import Objective

Array = npt.NDArray[np.float64]


class ConstraintTerms(Protocol):
    """Losses sum_g cost_g slack_g with slack_g >= 0 and ahead_k(S) + slack_g >= margin_k for the constraints k of g.

    Constraints are arrays rows x classes, of which those that are `on` count. A group is a row, or a row and class.
    """

    on: npt.NDArray[np.bool_]
    margin: Array
    cost: Array  # of the groups; zero where no constraint is on

    def ahead(self, scores: Array) -> Array:
        """How far each constraint is met, without slack: linear in the scores."""

    def pulls(self, duals: Array) -> Array:
        """The adjoint: what duals of the constraints pull each score up by."""

    def spread(self, groups: Array) -> Array:
        """Numbers of groups, one for each constraint or fit to be broadcast so."""

    def sums(self, constraints: Array) -> Array:
        """Numbers of constraints added up by group."""

    def largest(self, constraints: Array) -> Array:
        """The largest number of each group, at least zero."""

    def curvature(self, weight: Array, free: Array) -> Array:
        """The second derivative in the scores: weights w_k = dual / distance of the constraints, and of the slacks."""


class HingeTerms:
    """c_il max(0, margin - y_il s_il): every pair of a row and a class is a group of one constraint.

    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> terms = HingeTerms(Objective(make_problem([[0.0], [1.0]], ["a", "b"]), Hinge(), flat(2), C=3.0))
    >>> terms.cost.tolist(), terms.pulls(np.ones((2, 2))).tolist()
    ([[3.0, 3.0], [3.0, 3.0]], [[1.0, -1.0], [-1.0, 1.0]])
    """

    def __init__(self, objective: Objective) -> None:
        problem = objective.problem
        own = problem.targets.toarray() > 0
        self.sign = np.where(own, 1.0, -1.0)
        weight = np.where(own, problem.positive_weight, problem.negative_weight) * problem.counted
        self.cost = objective.C * problem.row_weight[:, None] * weight
        self.on = self.cost > 0
        self.margin = np.full(self.cost.shape, float(objective.loss.margin))

    def ahead(self, scores: Array) -> Array:
        """y_il s_il."""
        return self.sign * scores

    def pulls(self, duals: Array) -> Array:
        """y_il d_il."""
        return self.sign * duals

    def spread(self, groups: Array) -> Array:
        """Groups and constraints are one."""
        return groups

    def sums(self, constraints: Array) -> Array:
        """Groups and constraints are one."""
        return constraints

    def largest(self, constraints: Array) -> Array:
        """The positive part."""
        return np.maximum(0.0, constraints)

    def curvature(self, weight: Array, free: Array) -> Array:
        """Both springs in a row: 1 / (1 / w + 1 / free), rows x classes."""
        return weight * (free / (weight + free))


class StructuredTerms:
    """c_i max(0, max_l D(l, y_i) - S(l, y_i) (s_y - s_l)): a row is a group, and every other class a constraint.

    >>> from taxolearn.losses import structured_hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[0.0], [1.0]], ["a", "b"])
    >>> terms = StructuredTerms(Objective(problem, structured_hinge(problem, flat(2)), flat(2), C=3.0))
    >>> terms.cost.tolist(), terms.on.tolist(), terms.ahead(np.array([[1.0, 0.0], [1.0, 3.0]])).tolist()
    ([3.0, 3.0], [[False, True], [True, False]], [[0.0, 1.0], [2.0, 0.0]])
    """

    def __init__(self, objective: Objective) -> None:
        label, weight = objective.problem.one_label
        names, number = np.unique(label, return_inverse=True)
        self.margin, self.scaling = (part[number] for part in objective.loss.margins_and_scalings(names))
        self.own = np.arange(len(label)), label
        self.cost = objective.C * weight
        self.on = (self.scaling > 0) & (self.cost > 0)[:, None]

    def ahead(self, scores: Array) -> Array:
        """S (s_y - s_l)."""
        return np.asarray(self.scaling * (scores[self.own][:, None] - scores))

    def pulls(self, duals: Array) -> Array:
        """Every dual pulls the own class up and another one down."""
        moved = self.scaling * duals
        pulls: Array = -moved
        pulls[self.own] += moved.sum(axis=1)
        return pulls

    def spread(self, groups: Array) -> Array:
        """One number a row."""
        return groups[:, None]

    def sums(self, constraints: Array) -> Array:
        """Over the classes."""
        return np.asarray(constraints.sum(axis=1))

    def largest(self, constraints: Array) -> Array:
        """The largest violation of each row."""
        return np.asarray(np.maximum(0.0, np.where(self.on, constraints, 0.0).max(axis=1)))

    def curvature(self, weight: Array, free: Array) -> Array:
        """S (diag(w) - w w' / (free + sum w)) S in the differences s_y - s_l, rows x classes x classes."""
        found = _springs(weight, free)
        found *= self.scaling[:, :, None] * self.scaling[:, None, :]
        down = found.sum(axis=1)
        row, label = self.own
        found[row, label, :] = -down  # the own class has no constraint, so that these were zero
        found[row, :, label] = -down
        found[row, label, label] = down.sum(axis=1)
        return found


class SiblingTerms:
    """c_i max(0, max over rivals j of 1 - (s_own(j) - s_j)): a row is a group, and each of its rivals a constraint.

    >>> from taxolearn.losses import sibling_hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import transfer_tie
    >>> loss = sibling_hinge([(slice(0, 2), [0, 1], [0, 1])], 2)
    >>> problem = make_problem([[0.0], [1.0]], ["a", "b"])
    >>> terms = SiblingTerms(Objective(problem, loss, transfer_tie(None, [0, 1]), C=3.0))
    >>> terms.on.tolist(), terms.ahead(np.array([[1.0, 0.0], [1.0, 3.0]])).tolist()
    ([[False, True], [True, False]], [[0.0, 1.0], [2.0, 0.0]])
    """

    def __init__(self, objective: Objective) -> None:
        label, weight = objective.problem.one_label
        names, number = np.unique(label, return_inverse=True)
        n_units = objective.n_units
        # per class a matrix of what is ahead of each rival
        matrices = np.zeros((len(names), n_units, n_units))
        for matrix, name in zip(matrices, names.tolist(), strict=True):
            rivals, own = objective.loss.rivals(name)
            matrix[rivals, rivals], matrix[rivals, own] = -1.0, 1.0
        self.matrices = matrices[number]
        self.on = np.any(matrices != 0, axis=2)[number] & (weight > 0)[:, None]
        # where in scores, rows x units, the own unit of each rival stands; of others, they themselves
        own = np.where(self.on, matrices.argmax(axis=2)[number], np.arange(n_units))
        self.own = own + n_units * np.arange(len(own))[:, None]
        self.cost = np.where(self.on.any(axis=1), objective.C * weight, 0.0)
        self.margin = np.ones(self.on.shape)

    def ahead(self, scores: Array) -> Array:
        """s_own(j) - s_j."""
        return np.asarray(scores.take(self.own) - scores)

    def pulls(self, duals: Array) -> Array:
        """Every dual pulls the own unit up and a rival down."""
        return np.bincount(self.own.ravel(), duals.ravel(), duals.size).reshape(duals.shape) - duals

    def spread(self, groups: Array) -> Array:
        """One number a row."""
        return groups[:, None]

    def sums(self, constraints: Array) -> Array:
        """Over the rivals."""
        return np.asarray(constraints.sum(axis=1))

    def largest(self, constraints: Array) -> Array:
        """The largest violation of each row."""
        return np.asarray(np.maximum(0.0, np.where(self.on, constraints, 0.0).max(axis=1)))

    def curvature(self, weight: Array, free: Array) -> Array:
        """That of the differences s_own(j) - s_j, in the scores: rows x units x units."""
        return np.asarray(self.matrices.transpose(0, 2, 1) @ _springs(weight, free) @ self.matrices)


def _springs(weight: Array, free: Array) -> Array:
    """diag(w) - w w' / (free + sum w), rows x constraints x constraints.

    The diagonal is w_l times the share of all others, added up without a subtraction.
    """
    total = free + weight.sum(axis=1)
    before, after = np.zeros_like(weight), np.zeros_like(weight)
    np.cumsum(weight[:, :-1], axis=1, out=before[:, 1:])
    np.cumsum(weight[:, :0:-1], axis=1, out=after[:, -2::-1])
    share = weight / total[:, None]
    found: Array = -weight[:, :, None] * share[:, None, :]
    every = np.arange(weight.shape[1])
    found[:, every, every] = share * (free[:, None] + before + after)
    return found


_TERMS: dict[str, Callable[[Objective], ConstraintTerms]] = {
    "margin": HingeTerms,
    "structured": StructuredTerms,
    "siblings": SiblingTerms,
}


def constraint_terms(objective: Objective) -> ConstraintTerms:
    """The losses of an objective as constraints.

    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> objective = Objective(make_problem([[0.0], [1.0]], ["a", "b"]), Hinge(), flat(2))
    >>> type(constraint_terms(objective)).__name__
    'HingeTerms'
    """
    return _TERMS[objective.loss.facts.kind](objective)


def by_class(duals: Array) -> sp.csr_array:
    """Duals that are kept rows x classes as a solution holds them.

    >>> by_class(np.array([[0.0, 1.0]])).toarray().tolist()
    [[0.0], [1.0]]
    """
    return sp.csr_array(duals.T)
