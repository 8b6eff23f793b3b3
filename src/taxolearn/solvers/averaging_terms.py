"""An objective as dual averaging wants it: phi with a subgradient, Psi with its minimiser, the dual of the steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.objective import Objective
from taxolearn.solvers.unit_geometry import Orthogonal

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


class Losses:
    """The losses of vectors W (units x features, the bias last), a subgradient, and which rivals the rows met.

    >>> from taxolearn.losses import structured_hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> losses = Losses(Objective(problem, structured_hinge(problem, flat(2)), flat(2)))
    >>> losses.of(np.zeros((2, 2)))[0]
    2.0
    """

    def __init__(self, objective: Objective) -> None:
        self.objective, self.X = objective, objective.problem.X
        self.label, weight = objective.problem.one_label
        self.cost = objective.C * weight
        self.groups = [
            np.flatnonzero((self.label == k) & (self.cost > 0)) for k in range(objective.problem.n_classes)
        ]
        self.met: tuple[Ids, Ids] = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))

    def of(self, W: Array) -> tuple[float, Array]:
        """The summed losses and their subgradient by W."""
        feature = self.objective.bias_feature
        scores = np.asarray(self.X @ W[:, :-1].T) + feature * W[:, -1]
        rows, units, own, scaling, total = [], [], [], [], 0.0
        for number, some in enumerate(self.groups):
            if not len(some):
                continue
            rivals, mine, margin, factor = self._rivals(number)
            if not len(rivals):
                continue
            found = scores[some]
            violation = margin - factor * (found[:, mine] - found[:, rivals])
            worst = np.argmax(violation, axis=1)
            value = violation[np.arange(len(some)), worst]
            hurt = value > 0
            total += float(self.cost[some[hurt]] @ value[hurt])
            rows.append(some[hurt])
            units.append(rivals[worst[hurt]])
            own.append(mine[worst[hurt]])
            scaling.append(factor[worst[hurt]])
        joined = [
            np.concatenate(part) if part else np.empty(0, dtype=np.int64) for part in (rows, units, own)
        ]
        row, unit, mine = (part.astype(np.int64) for part in joined)
        moved = self.cost[row] * (np.concatenate(scaling) if scaling else np.empty(0))
        self.met = row, unit
        shape = (W.shape[0], len(self.label))
        data, at = np.concatenate((moved, -moved)), np.concatenate((unit, mine))
        factors = sp.csr_array((data, (at, np.tile(row, 2))), shape=shape)
        slope = np.empty_like(W)
        slope[:, :-1] = _dense(factors @ self.X)
        slope[:, -1] = feature * np.asarray(factors.sum(axis=1)).ravel()
        return total, slope

    def _rivals(self, number: int) -> tuple[Ids, Ids, Array, Array]:
        """Rivals of rows of a class, who must beat them, by which margin, and the factor of the difference."""
        loss = self.objective.loss
        if loss.facts.kind == "siblings":
            units, own = loss.rivals(number)
            return units, own, np.ones(len(units)), np.ones(len(units))
        margin, factor = (part[0] for part in loss.margins_and_scalings(np.array([number])))
        units = np.flatnonzero(np.arange(len(margin)) != number)
        return units, np.full(len(units), number), margin[units], factor[units]


class Quadratic:
    """A quadratic penalty 1/2 ||U||^2, W = L U: phi is the losses, and Psi all of the penalty."""

    def __init__(self, objective: Objective) -> None:
        self.objective, self.losses = objective, Losses(objective)
        self.factor = self._factor()
        self.counts = np.zeros((objective.n_units, objective.problem.n_rows), dtype=np.int32)
        self.steps = 0
        self.value_at_zero = self.phi(self.start())[0]
        self.met = self.losses.met

    def _factor(self) -> Any:
        return self.objective.tie.factor()

    def start(self) -> Array:
        """Zero."""
        return np.zeros((self.factor.shape[1], self.objective.problem.n_features + 1))

    def phi(self, U: Array) -> tuple[float, Array]:
        """The losses and a subgradient."""
        value, slope = self.losses.of(np.asarray(self.factor @ U))
        return value, np.asarray(self.factor.T @ slope)

    def psi(self, g: Array) -> tuple[Array, float]:
        """The U that makes g . U + 1/2 ||U||^2 least."""
        return -g, 0.5 * float(np.vdot(g, g))

    def count(self) -> None:
        """Note the rivals of the point whose subgradient was averaged last; the step has met new ones since."""
        rows, units = self.met
        self.counts[units, rows] += 1
        self.steps += 1
        self.met = self.losses.met

    def dual(self) -> sp.csr_array:
        """c_i times the share of steps in which row i met a rival."""
        found = sp.csr_array(self.counts, dtype=np.float64)
        found.data *= self.losses.cost[found.indices] / max(1, self.steps)
        return found

    def vectors(self, U: Array) -> tuple[Array, Array]:
        """Coefficients and intercepts of the units."""
        W = np.asarray(self.factor @ U)
        return W[:, :-1], self.objective.bias_feature * W[:, -1]

    def details(self, dual: sp.csr_array) -> dict[str, Any]:
        """Nothing to tell."""
        return {}


class Absolute(Quadratic):
    """Orthogonal transfer, split as in section 4.3: Psi is lambda / 2 ||w||^2, phi all the rest."""

    def _factor(self) -> Any:
        tie = self.objective.tie
        self.matrix = tie.matrix.toarray()
        self.least = tie.smallest_eigenvalue
        return sp.csr_array(sp.eye_array(tie.n_classes))

    def phi(self, U: Array) -> tuple[float, Array]:
        """Omega - lambda / 2 ||w||^2 + losses, and the subgradient of Theorem 4."""
        value, slope = self.losses.of(U)
        products = U @ U.T
        signs = np.sign(products)
        np.fill_diagonal(signs, 1.0)
        omega = 0.5 * float(np.sum(self.matrix * np.abs(products)))
        held = 0.5 * self.least * float(np.trace(products))
        return omega - held + value, (self.matrix * signs) @ U - self.least * U + slope

    def psi(self, g: Array) -> tuple[Array, float]:
        """(11): w = -g / lambda."""
        return -g / self.least, 0.5 * float(np.vdot(g, g)) / self.least

    def details(self, dual: sp.csr_array) -> dict[str, Any]:
        """The signs that make this dual best, for the certificate."""
        entries = dual.tocoo()
        own = self.objective.loss.own_units(self.losses.label[entries.col], entries.row)
        data, row = np.concatenate((entries.data, -entries.data)), np.concatenate((own, entries.row))
        factors = sp.csr_array((data, (row, np.tile(entries.col, 2))), shape=dual.shape)
        geometry = Orthogonal(self.objective.tie, None)
        sums = np.asarray(factors.sum(axis=1)).ravel() * self.objective.bias_feature
        geometry.learn(factors @ self.losses.X, sums)
        return geometry.details()


def terms_of(objective: Objective) -> Quadratic:
    """The terms of an objective, by the facts of its tie."""
    return Absolute(objective) if objective.tie.facts.absolute else Quadratic(objective)


def _dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix)
