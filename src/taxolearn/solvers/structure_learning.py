"""Learn the taxonomy matrix together with the classifier: one for the other fixed, by turns.

Minimised over W and Theta, A being the inverse of Theta and S = W W':

    C losses of W  +  1/2 (tr(Theta S) + scale * what speaks against Theta).

It is convex in W and in Theta, not in both together (the paper says so of (8) and (11), wrongly). Each turn lowers the
objective; the end is a stationary point, which need not be the best one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import Run
from taxolearn.objective import Objective
from taxolearn.problem import Problem
from taxolearn.solvers.base import Limits, Start
from taxolearn.solvers.ridge import Spectrum
from taxolearn.solvers.ridge_gradients import solve_ridge_gradients
from taxolearn.solvers.structure_steps import Prior
from taxolearn.ties import covariance_tie

Array = npt.NDArray[np.float64]

_LEAST_TOL = 1e-8  # gap of the classifier in each turn


class Turn(NamedTuple):
    """What a turn of the classifier leaves: S = W W', biases included, and the summed losses times C.

    >>> Turn(np.eye(2), 1.0).losses
    1.0
    """

    S: Array
    losses: float


class Classifier(Protocol):
    """The best class vectors for a covariance.

    >>> Classifier.__name__
    'Classifier'
    """

    def turn(self, covariance: Array) -> Turn:
        """S and the losses at the optimum."""


class InEigenbasis:
    """A turn for the price of two small products: rows are decomposed, and only W W' and the losses are wanted.

    With Z = P diag(sqrt(k)) R' and F = P' Y, eigenvector j of A has the vector R (a sqrt(k) / (h + a k) F q_j).

    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.solvers.ridge import spectrum_of
    >>> from taxolearn.solvers.ridge_rows import ridge_rows
    >>> rows = ridge_rows(make_problem([[-1.0], [1.0]], ["a", "b"]), 0.0)
    >>> InEigenbasis(spectrum_of(rows), 1.0).turn(np.eye(2)).S.round(3).tolist()
    [[0.111, -0.111], [-0.111, 0.111]]
    """

    def __init__(self, spectrum: Spectrum, h: float) -> None:
        rows = spectrum.rows
        kept = spectrum.values > 1e-14 * spectrum.values.max(initial=0.0)
        self.h, self.values = h, spectrum.values[kept]
        vectors = spectrum.vectors[:, kept]
        if spectrum.of_features:
            self.targets = (vectors.T @ (rows.Z.T @ rows.targets)) / np.sqrt(self.values)[:, None]
        else:
            self.targets = np.asarray(vectors.T @ rows.targets)
        self.square = float(rows.targets.multiply(rows.targets).sum())

    def turn(self, covariance: Array) -> Turn:
        """S and the losses at the optimum."""
        a, Q = np.linalg.eigh(covariance)
        a = np.maximum(a, 0.0)
        F = self.targets @ Q
        shrunk = self.h + np.multiply.outer(self.values, a)
        vectors = a * np.sqrt(self.values)[:, None] / shrunk * F
        rest = self.square - float(np.sum(F**2)) + float(np.sum((self.h / shrunk * F) ** 2))
        S = Q @ (vectors.T @ vectors) @ Q.T
        return Turn(0.5 * (S + S.T), rest / (2.0 * self.h))


class ByGradients:
    """A turn by conjugate gradients, each from the last: for rows and features too many to decompose.

    >>> from taxolearn.losses import Square
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> objective = Objective(problem, Square(), flat(2), C=0.5, bias_feature=0.0)
    >>> ByGradients(objective, Limits()).turn(np.eye(2)).S.round(3).tolist()
    [[0.111, -0.111], [-0.111, 0.111]]
    """

    def __init__(self, objective: Objective, limits: Limits) -> None:
        self.objective, self.start = objective, Start()
        self.limits = replace(limits, tol=min(_LEAST_TOL, limits.tol))

    def turn(self, covariance: Array) -> Turn:
        """S and the losses, nearly at the optimum."""
        objective = replace(self.objective, tie=covariance_tie(covariance))
        solution = solve_ridge_gradients(objective, self.limits, self.start)
        self.start = Start(solution.dual, solution.state)
        coef, s = np.asarray(solution.vectors.coef), objective.bias_feature
        bias = solution.vectors.intercept / s if s else np.zeros(len(coef))
        S = coef @ coef.T + np.multiply.outer(bias, bias)
        penalty = 0.5 * float(np.sum(np.linalg.inv(covariance) * S))
        return Turn(S, solution.history[-1].primal - penalty)


class FromCovariance:
    """A turn under a lambda so large that only the sums M of the rows of each class count: W = A M up to a factor.

    In that limit the losses are -tr(W M'), and of M only G = M M' is needed: S = A G A.

    >>> FromCovariance(np.eye(2)).turn(2.0 * np.eye(2))
    Turn(S=array([[4., 0.],
           [0., 4.]]), losses=-4.0)
    """

    def __init__(self, covariance: Array) -> None:
        self.covariance = covariance

    def turn(self, covariance: Array) -> Turn:
        """S and the losses at the optimum."""
        S = covariance @ self.covariance @ covariance
        return Turn(0.5 * (S + S.T), -float(np.sum(covariance * self.covariance)))


def covariance_of_means(problem: Problem) -> Array:
    """The products of the class means around their own mean, without what the noise of the rows adds.

    A mean of n rows is off by the noise of a row divided by n; its square would be too large by that, and most for the
    class with the fewest rows. The noise is that of all classes together.

    >>> from taxolearn.problem import make_problem
    >>> covariance_of_means(make_problem([[0.0], [2.0], [5.0], [7.0]], ["a", "a", "b", "b"])).round(9).tolist()
    [[5.75, -5.75], [-5.75, 5.75]]
    """
    X, weight = problem.X, problem.row_weight
    by_class = sp.csr_array(sp.csr_array(problem.targets.T) * weight)
    total = np.asarray(by_class.sum(axis=1)).ravel()
    safe = np.where(total > 0, total, 1.0)
    shares = sp.csr_array(sp.diags_array(1.0 / safe) @ by_class)
    if problem.products is None:
        X = (
            X if sp.issparse(X) else X - X.mean(axis=0)
        )  # an offset would take the digits of what is around it
        means = shares @ X
        gram: Any = means @ means.T
        gram = gram.toarray() if sp.issparse(gram) else np.asarray(gram)
        squares = np.asarray((X.multiply(X) if sp.issparse(X) else X * X).sum(axis=1)).ravel()
    else:
        every = np.arange(problem.n_rows)
        K = problem.products.between(X, every, every)
        gram, squares = np.asarray(shares @ (shares @ K.T).T), np.diag(K)
    within = float(by_class.sum(axis=0) @ squares - total @ np.diag(gram))
    freedom = float(np.maximum(total - 1.0, 0.0).sum())  # a weight of two is a row given twice
    noise = max(0.0, within) / freedom if freedom > 0 else 0.0  # one row per class shows none
    gram = gram - np.diag(noise / safe)
    seen = total > 0
    around = np.diag(seen.astype(np.float64)) - np.multiply.outer(seen, seen) / max(1, int(seen.sum()))
    gram = around @ gram @ around
    values, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


@dataclass(frozen=True, eq=False)
class Learned:
    """A learned matrix; the objective after every half turn, which never rises; and what the matrix could still gain,
    per class and in units of the scale (the classifier is at its optimum).

    >>> Learned(np.eye(2), np.eye(2), [3.0, 2.0], 0.0, 1.0, 1).stationarity
    0.0
    """

    covariance: Array
    precision: Array
    history: list[float]
    stationarity: float
    scale: float
    n_turns: int


def learn_structure(
    classifier: Classifier, prior: Prior, first: Array, scale: float | None, run: Run, *, tol: float, max_turns: int
) -> Learned:  # fmt: skip
    """Turns of classifier and matrix until the matrix has at most `tol` to gain, per class and in units of `scale`.

    `scale` None is the mean of the diagonal of S after the first turn, so that the identity is about what classes that
    share nothing have. The classifier is at its optimum for the matrix returned.

    >>> from taxolearn.engines import running
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.solvers.ridge import spectrum_of
    >>> from taxolearn.solvers.ridge_rows import ridge_rows
    >>> from taxolearn.solvers.structure_steps import GraphicalLasso
    >>> rows = ridge_rows(make_problem([[-1.0], [1.0], [1.1]], ["a", "b", "c"]), 0.0)
    >>> with running() as run:
    ...     turns = InEigenbasis(spectrum_of(rows), 1.0)
    ...     found = learn_structure(turns, GraphicalLasso(0.1), np.eye(3), None, run, tol=1e-6, max_turns=50)
    >>> bool(np.all(np.diff(found.history) <= 1e-9)), bool(found.precision[1, 2] < 0)
    (True, True)
    """
    covariance: Array = first
    precision: Array = np.linalg.inv(first).astype(np.float64)
    turn = classifier.turn(covariance)
    size = float(np.mean(np.diag(turn.S))) if scale is None else scale
    size = size if size > 0 else 1.0
    history: list[float] = []
    for n_turns in range(max_turns + 1):
        now = prior.value(precision, turn.S / size)
        history.append(turn.losses + 0.5 * size * now)
        better = prior.best(turn.S / size, precision)
        residual = max(0.0, now - better.value + better.gap) / len(first)
        if residual <= tol or n_turns == max_turns or run.over():
            break
        covariance, precision = better.covariance, better.precision
        history.append(turn.losses + 0.5 * size * better.value)
        turn = classifier.turn(covariance)
    return Learned(covariance, precision, history, residual, size, n_turns)
