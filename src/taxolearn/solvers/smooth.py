"""Newton's method with conjugate gradients for smooth losses: logistic, squared hinge and softmax over tied classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import ThreadEngine
from taxolearn.losses import MarginLoss
from taxolearn.losses.softmax import Softmax
from taxolearn.models import NodeWeights
from taxolearn.problem import Problem
from taxolearn.regularizers import PathSum
from taxolearn.solvers.rounds import OnPass, Rounds, run_rounds
from taxolearn.solvers.smooth_terms import score_terms
from taxolearn.solvers.solution import Solution

Array = npt.NDArray[np.float64]

_FORCING = 0.1  # conjugate gradients stop when the residual is this share of the gradient
_GRADIENT_STEPS = 250  # of conjugate gradients a Newton step
_ARMIJO = 1e-4
_MOST_AXES = 2000  # principal axes of more features cost more than they save


def solve_smooth(
    problem: Problem,
    loss: MarginLoss | Softmax,
    tie: PathSum,
    C: float,
    *,
    bias_feature: float = 1.0,
    bias_prior: float = 0.0,
    tol: float = 1e-4,
    max_iter: int = 200,
    max_seconds: float | None = None,
    start: NodeWeights | sp.csr_array | None = None,
    on_pass: OnPass | None = None,
) -> Solution:
    """Minimise 1/2 sum_n ||u_n||^2 / a_n + 1/2 sum_l (b_l - b_0)^2 + the losses of the scores w_l . x_i + s b_l.

    Needs a smooth loss. For logistic and squared hinge the losses are those of HR-LR and HR-SVM (Gopal, Yang
    2013), sum_il c_il loss(y_il s_il); for softmax sum_i c_i (log sum_l exp(s_il) - s_{i, y_i}) with one label
    y_i a row, and classes without rows stand in the sum too. The variables are u_n / sqrt(a_n), in which the
    penalty has curvature one.

    With the dual that belongs to the weights, d = -c loss'(m) (for softmax the probabilities p), the gap is half the
    squared length of the gradient: the solver stops when that is at most `tol` of the objective, or after `max_iter`
    Newton steps. `start` are the weights of an earlier solve, or a dual, whose weights are taken if they are better
    than none. For softmax `Solution.dual` holds p, rows x classes.
    `on_pass(progress, dual)` is called after each pass, from a worker thread.

    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.regularizers import flat
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> solution = solve_smooth(problem, Softmax(), flat(2), C=1.0, tol=1e-8)
    >>> solution.weights.coef.round(3).tolist(), solution.status.value
    ([[-0.521], [0.521]], 'converged')
    """
    newton = _Newton(problem, loss, tie, C, bias_feature, bias_prior, start)
    rounds = run_rounds(newton.minimise, tol, max_iter, max_seconds, on_pass, newton.terms.dual)
    return Solution(
        newton.weights(),
        newton.terms.dual(),
        rounds.status,
        rounds.done,
        rounds.history,
        {"products": newton.products},
    )


class _Newton:
    """The iterate theta = (u_n / sqrt(a_n)), b, and what is known at it.

    Scores move linearly along a direction, so a line search reads no rows.
    """

    def __init__(
        self,
        problem: Problem,
        loss: MarginLoss | Softmax,
        tie: PathSum,
        C: float,
        bias_feature: float,
        bias_prior: float,
        start: NodeWeights | sp.csr_array | None,
    ) -> None:
        self.problem, self.tie = problem, tie
        self.bias_feature, self.bias_prior = float(bias_feature), float(bias_prior)
        self.terms = score_terms(problem, loss, C)
        self.X, self.turn = _turned(problem.X)
        self.squares = self.X.multiply(self.X).tocsr() if sp.issparse(self.X) else self.X * self.X
        self.live = np.flatnonzero(tie.scale > 0)
        self.root_scale = np.sqrt(tie.scale[self.live])
        self.factor = sp.csr_array(tie.paths[:, self.live] * self.root_scale[None, :])  # W = factor theta'
        # few features: add up paths first, then multiply with the rows of X; many: the other way round, so that nothing
        # of the size features x classes is made
        self.by_class = problem.n_features <= problem.n_rows
        self.theta = np.zeros((problem.n_features, len(self.live)))
        self.bias = np.full(problem.n_classes, self.bias_prior)
        if sp.issparse(start):
            theta, bias = self._pull(self.terms.slope_of(start))
            made = (-theta, self.bias_prior - bias)
            if self._objective(*made) < self._objective(self.theta, self.bias):
                self.theta, self.bias = made
        elif start is not None:
            nodes = start.nodes[self.live].toarray().T if start.is_sparse else start.nodes[:, self.live]
            theta = np.ascontiguousarray(nodes / self.root_scale, dtype=np.float64)
            self.theta = theta if self.turn is None else self.turn.T @ theta
            if self.bias_feature:
                self.bias = start.intercept / self.bias_feature
        self.products = 0

    def weights(self) -> NodeWeights:
        """The node vectors and intercepts of the iterate."""
        nodes = np.zeros((self.problem.n_features, self.tie.n_nodes))
        nodes[:, self.live] = self.theta if self.turn is None else self.turn @ self.theta
        nodes[:, self.live] *= self.root_scale
        return NodeWeights(nodes, self.tie.paths, self.bias_feature * self.bias)

    def minimise(self, rounds: Rounds) -> None:
        """Newton steps until the gap is at most tol of the objective."""
        scores = self._scores(self.theta, self.bias)
        losses = self.terms.value(scores)
        while True:
            self.terms.move_to(scores)
            slope, bias_slope = self._pull(self.terms.slope)
            slope += self.theta
            bias_slope += self.bias - self.bias_prior
            primal = losses + self._penalty(self.theta, self.bias - self.bias_prior)
            gap = self._penalty(slope, bias_slope)
            if not rounds.go_on(primal, gap):
                return
            step, bias_step, shift = self._direction(
                slope, bias_slope, 0.25 * rounds.tol * primal, rounds.engine
            )
            if shift is None:
                return  # stopped before the first product: the iterate is unchanged
            rounds.done += 1
            descent = float(np.vdot(slope, step) + bias_slope @ bias_step)
            length = 1.0
            while True:
                trial = scores + length * shift
                trial_losses = self.terms.value(trial)
                theta, bias = self.theta + length * step, self.bias + length * bias_step
                value = trial_losses + self._penalty(theta, bias - self.bias_prior)
                # near the optimum the decrease drowns in rounding: a full step is right there
                if value <= primal + _ARMIJO * length * descent + 1e-13 * primal or length < 1e-10:
                    break
                length *= 0.5
            self.theta, self.bias, scores, losses = theta, bias, trial, trial_losses

    def _direction(
        self, slope: Array, bias_slope: Array, enough: float, engine: ThreadEngine
    ) -> tuple[Array, Array, Any]:
        """Minus the inverse Hessian times the gradient, roughly, and the change of the scores that it brings.

        A residual whose half square is below `enough` would, on a quadratic, end the solve: no need to go on.
        """
        diagonal, bias_diagonal = self.terms.diagonal(self.squares, self.factor)
        diagonal += 1.0
        bias_diagonal = 1.0 + self.bias_feature**2 * bias_diagonal
        step, bias_step = np.zeros_like(slope), np.zeros_like(bias_slope)
        left, bias_left = -slope, -bias_slope
        way, bias_way = left / diagonal, bias_left / bias_diagonal
        rho = float(np.vdot(left, way) + bias_left @ bias_way)
        goal = _FORCING**2 * rho
        shift = None
        for _ in range(_GRADIENT_STEPS):
            if engine.stop[0]:
                break
            moved = self._scores(way, bias_way)
            bent, bias_bent = self._pull(self.terms.bend(moved))
            bent += way
            bias_bent += bias_way
            self.products += 1
            length = rho / float(np.vdot(way, bent) + bias_way @ bias_bent)
            step += length * way
            bias_step += length * bias_way
            shift = length * moved if shift is None else shift + length * moved
            left -= length * bent
            bias_left -= length * bias_bent
            scaled, bias_scaled = left / diagonal, bias_left / bias_diagonal
            rho, old = float(np.vdot(left, scaled) + bias_left @ bias_scaled), rho
            if rho <= goal or self._penalty(left, bias_left) <= enough:
                break
            way *= rho / old
            way += scaled
            bias_way *= rho / old
            bias_way += bias_scaled
        return step, bias_step, shift

    def _scores(self, theta: Array, bias: Array) -> Array:
        scores = self.X @ (theta @ self.factor.T) if self.by_class else (self.X @ theta) @ self.factor.T
        scores += self.bias_feature * bias
        return np.ascontiguousarray(scores)

    def _pull(self, slope: Array) -> tuple[Array, Array]:
        """The adjoint of `_scores`."""
        pulled = (self.X.T @ slope) @ self.factor if self.by_class else self.X.T @ (slope @ self.factor)
        return np.ascontiguousarray(pulled), self.bias_feature * slope.sum(axis=0)

    def _objective(self, theta: Array, bias: Array) -> float:
        return self.terms.value(self._scores(theta, bias)) + self._penalty(theta, bias - self.bias_prior)

    @staticmethod
    def _penalty(theta: Array, bias: Array) -> float:
        return 0.5 * float(np.vdot(theta, theta) + bias @ bias)


def _turned(X: Any) -> tuple[Any, Any]:
    """Dense rows along the principal axes of X, and these axes; other rows as they are, and None.

    Penalty and scores do not change when rows and weights are turned together, but along these axes the Hessian is
    closer to its diagonal, which is the preconditioner.
    """
    if sp.issparse(X):
        return X.astype(np.float64, copy=False), None
    X = np.asarray(X, dtype=np.float64)
    if X.shape[1] > _MOST_AXES:
        return X, None
    axes = np.linalg.eigh(X.T @ X)[1]
    return X @ axes, axes
