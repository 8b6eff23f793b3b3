"""L-BFGS along principal axes, for smooth losses on dense rows: each step costs two products with the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from taxolearn.objective import Objective
from taxolearn.solvers.base import (
    Limits,
    Requires,
    Rounds,
    Solution,
    Start,
    Status,
    Watch,
    check_requirements,
)
from taxolearn.solvers.smooth import Point, SmoothIterate, half_square, too_large

Array = npt.NDArray[np.float64]

# the vectors of a dual may be far above those it came from: no checkpoints
REQUIRES = Requires(("margin", "softmax"), smooth=True, starts=False)
LIMITS = Limits(max_iter=1000)
_MEMORY = 10  # steps that L-BFGS remembers
_MOST_EVALUATIONS = 30  # of the objective in one line search
_SINGLE_SIZE = 2**22  # products rows x features x classes from which on single precision saves time
_AIM = 0.5  # share of the tolerated gap that single precision aims at


def solve_quasi_newton(
    objective: Objective, limits: Limits = LIMITS, start: Start | None = None, watch: Watch | None = None
) -> Solution:
    """Minimise over U and b as `solve_newton` does, by L-BFGS (Liu, Nocedal 1989) in scaled variables.

    The variables are scaled by the roots of the Hessian's diagonal at the start, dense rows being turned to their
    principal axes: there the Hessian of softmax at zero is diagonal. Large problems are first solved in single
    precision. What is found is evaluated in double precision, and steps in double precision follow where the gap is not
    reached.

    >>> from taxolearn.losses import Softmax
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> solution = solve_quasi_newton(Objective(problem, Softmax(), flat(2)), Limits(tol=1e-6))
    >>> solution.vectors.coef.round(3).tolist(), solution.status.value
    ([[-0.521], [0.521]], 'converged')
    """
    check_requirements("lbfgs", REQUIRES, objective)
    threads = 1 if limits.engine is None else limits.engine.n_workers
    with (
        np.errstate(over="ignore", invalid="ignore"),
        limits.run() as run,
        threadpool_limits(threads, user_api="blas"),
    ):
        iterate = _QuasiNewton(objective, start or Start())
        rounds = Rounds(limits, run, watch, iterate.dual)
        iterate.minimise(rounds)
    vectors, state = iterate.vectors()
    # a gap that is left although no limit ended the steps is one that they cannot close
    status = Status.ROUNDING if iterate.stuck and not rounds.converged else rounds.status
    details = {"evaluations": iterate.evaluations}
    return Solution(vectors, iterate.dual(), status, rounds.done, rounds.history, details, state)


class _QuasiNewton(SmoothIterate):
    """The iterate and its steps; the dual is that of the iterate with the smallest gap below the best objective."""

    turned = True

    def __init__(self, objective: Objective, start: Start) -> None:
        super().__init__(objective, start)
        diagonal, bias_diagonal = self.terms.diagonal(self.squares, self.factor)
        del self.squares
        # Alike for all classes: those with many rows are soon told apart and have no more curvature than others; and
        # for the same reason columns that many classes share have less than their size says (tried: the diagonal as it
        # is, shares of the classes, other powers of the size; up to three times as many steps).
        sizes = np.asarray((self.factor**2).sum(axis=0)).ravel()
        level = (diagonal / sizes).mean(axis=1)
        self.scale = 1.0 / np.sqrt(1.0 + level[:, None] * np.sqrt(sizes * sizes.mean()))
        self.bias_scale = np.full(
            len(bias_diagonal), 1.0 / np.sqrt(1.0 + self.bias_feature**2 * bias_diagonal.mean())
        )
        self.kind = objective.loss.facts.kind
        self.evaluations = 0
        self.stuck = False
        self.lower = -np.inf
        self.of_dual = self.point.theta, self.point.bias

    def dual(self) -> sp.csr_array:
        """The dual of the best lower bound so far."""
        theta, bias = self.of_dual
        self.terms.at(self._scores(theta, bias))
        return self.terms.dual()

    def minimise(self, rounds: Rounds) -> None:
        """Steps until the gap, a limit or the end of what a precision can do is reached."""
        size = self.X.shape[0] * self.X.shape[1] * self.problem.n_classes
        if not self._note(self.point, half_square(self.gradient, self.bias_gradient), rounds):
            return
        if self.kind == "softmax" and not sp.issparse(self.X) and size >= _SINGLE_SIZE:
            tol = rounds.limits.tol
            self._descend(rounds, _SoftmaxInSingle(self), lambda gap: gap <= _AIM * tol)
            if rounds.run.over():
                return
            self._settle()
            if not self._note(self.point, half_square(self.gradient, self.bias_gradient), rounds):
                return
        self.stuck = self._descend(rounds, _InDouble(self), lambda gap: False)

    def _note(self, point: Point, gap: float, rounds: Rounds) -> bool:
        """Keep the better dual and tell the round; whether to go on."""
        if not np.isfinite(point.primal + gap):
            raise too_large(self.problem.X)
        if point.primal - gap > self.lower:
            self.lower, self.of_dual = point.primal - gap, (point.theta, point.bias)
        return rounds.another(point.primal, point.primal - self.lower)

    def _settle(self) -> None:
        """Evaluate the iterate in double precision; what single precision believed is forgotten."""
        self.point = self._point(self.point.theta, self.point.bias)
        self.terms.at(self.point.scores)
        self.gradient, self.bias_gradient = self._gradient()
        self.lower = -np.inf

    def _descend(self, rounds: Rounds, rows: Any, reached: Any) -> bool:
        """L-BFGS from the iterate on; whether it ended although neither gap nor limit was reached."""
        from scipy.optimize import minimize

        shape, n_theta = self.point.theta.shape, self.point.theta.size
        last: list[tuple[Point, float]] = []

        def value(variables: Array) -> tuple[float, Array]:
            theta = variables[:n_theta].reshape(shape) * self.scale
            bias = self.bias_prior + variables[n_theta:] * self.bias_scale
            losses, gradient, bias_gradient = rows.evaluate(theta, bias)
            self.evaluations += 1
            gradient += theta
            bias_gradient += bias - self.bias_prior
            primal = losses + half_square(theta, bias - self.bias_prior)
            last[:] = [(Point(theta, bias, self.point.scores, primal), half_square(gradient, bias_gradient))]
            gradient *= self.scale
            return primal, np.concatenate([gradient.ravel(), bias_gradient * self.bias_scale])

        ended = False

        def each(intermediate_result: Any) -> None:
            nonlocal ended
            point, gap = last[0]
            self.point = point
            more = self._note(point, gap, rounds)
            if not more or rounds.run.over() or reached((point.primal - self.lower) / point.primal):
                ended = True
                raise StopIteration

        first = np.concatenate(
            [
                (self.point.theta / self.scale).ravel(),
                (self.point.bias - self.bias_prior) / self.bias_scale,
            ]
        )
        options = {
            "maxcor": _MEMORY,
            "maxls": _MOST_EVALUATIONS,
            "ftol": 0.0,
            "gtol": 0.0,
            "maxiter": 2**31 - 1,
            "maxfun": 2**31 - 1,
        }
        minimize(value, first, jac=True, method="L-BFGS-B", callback=each, options=options)
        return not ended


class _InDouble:
    """Losses and their gradient in double precision."""

    def __init__(self, iterate: _QuasiNewton) -> None:
        self.iterate = iterate

    def evaluate(self, theta: Array, bias: Array) -> tuple[float, Array, Array]:
        """The summed losses, and their gradient in the vectors and in the biases."""
        iterate = self.iterate
        scores = iterate._scores(theta, bias)
        losses = iterate.terms.value(scores)
        iterate.terms.at(scores)
        return losses, *iterate._adjoint(iterate.terms.gradient)


class _SoftmaxInSingle:
    """Losses of softmax and their gradient, products with the rows in single precision and sums in double."""

    def __init__(self, iterate: _QuasiNewton) -> None:
        self.iterate = iterate
        self.X = np.asarray(iterate.X, dtype=np.float32)
        self.own, weight = iterate.problem.one_label
        self.cost = iterate.C * weight
        self.every = np.arange(len(self.own))

    def evaluate(self, theta: Array, bias: Array) -> tuple[float, Array, Array]:
        """The summed losses, and their gradient in the vectors and in the biases."""
        iterate = self.iterate
        scores = self.X @ np.asarray(theta @ iterate.factor_transposed, dtype=np.float32)
        scores += (iterate.bias_feature * bias).astype(np.float32)
        scores -= scores.max(axis=1, keepdims=True)
        ahead = scores[self.every, self.own].astype(np.float64)
        np.exp(scores, out=scores)
        total = scores.sum(axis=1)
        losses = float(self.cost @ (np.log(total, dtype=np.float64) - ahead))
        scores *= (self.cost / total).astype(np.float32)[:, None]
        scores[self.every, self.own] -= self.cost.astype(np.float32)
        drawn = (self.X.T @ scores).astype(np.float64)
        return (
            losses,
            np.ascontiguousarray(drawn @ iterate.factor),
            iterate.bias_feature * scores.sum(axis=0, dtype=np.float64),
        )
