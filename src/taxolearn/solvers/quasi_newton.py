"""L-BFGS in the metric of the rows, along a path of C, for smooth losses: a step costs two products with the rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import Run, blas_threads
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
    check_start,
)
from taxolearn.solvers.line_losses import Ended, Floats, RowProducts, line_losses
from taxolearn.solvers.line_search import search
from taxolearn.solvers.row_metric import RowMetric
from taxolearn.solvers.smooth import TiedVariables, as_given, too_large

Array = npt.NDArray[np.float64]

# the vectors of a dual may be far above those it came from: no checkpoints
REQUIRES = Requires(("margin", "softmax"), smooth=True, starts=False)
LIMITS = Limits(max_iter=1000)
_MEMORY = 10  # steps that L-BFGS remembers
_STEEP, _LATER_STEEP = (
    0.3,
    0.9,
)  # share of the slope that may be left after a line search: first steps, later ones
_FIRST_STEPS = 6
_SLOW_STEPS = 5  # in a row that lower the objective by rounding errors only
_FIRST_CURVATURE = 0.3  # of the losses where the path of C begins, beside the penalty's of one
_PATH = 10.0**0.5  # by which C grows with a step,
_LONGEST_PATH = 6  # or faster, to be at its end after so many
_SINGLE_SIZE = 2**22  # products rows x features x classes from which on single precision saves time
_AIM = 0.9  # share of the tolerated gap that single precision aims at
_TRUSTED = 0.09  # share of the tolerated gap that the errors of single precision may amount to
_CHECKED_ROWS, _CHECKED_CLASSES = 128, 4  # on which they are measured


def solve_quasi_newton(
    objective: Objective, limits: Limits = LIMITS, start: Start | None = None, watch: Watch | None = None
) -> Solution:
    """Minimise over U and b as `solve_newton` does, by L-BFGS (Liu, Nocedal 1989).

    It measures steps by the Hessian that the losses have in the mean, I + c_k X'X for column k of the factor, which the
    principal axes of the rows diagonalise; c_k is taken from the iterates. From zero it follows a path of C: the first
    steps minimise for a smaller C, where the Hessian does not change much, and as losses grow with C alone, gradients
    and remembered steps are known for the next C without another look at the rows.

    Large problems are first solved in single precision. Its errors are measured on some rows and classes; where they
    are not far below the tolerated gap, what was found is evaluated in double precision, and steps in double precision
    follow.

    >>> from taxolearn.losses import Softmax
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> solution = solve_quasi_newton(Objective(problem, Softmax(), flat(2)), Limits(tol=1e-6))
    >>> solution.vectors.coef.round(3).tolist(), solution.status.value
    ([[-0.521], [0.521]], 'converged')
    """
    check_requirements("lbfgs", REQUIRES, objective)
    with (
        np.errstate(over="ignore", invalid="ignore"),
        limits.run() as run,
        blas_threads(1),
    ):
        solver = _QuasiNewton(objective, start or Start(), limits, run)
        rounds = Rounds(limits, run, watch, lambda: solver.descent.dual())
        stuck = solver.minimise(rounds)
        vectors, state = solver.solved()
        dual = solver.descent.dual()
    # a gap that is left although no limit ended the steps is one that they cannot close
    status = Status.ROUNDING if stuck and not rounds.converged else rounds.status
    details = {"evaluations": solver.evaluations}
    return Solution(vectors, dual, status, rounds.done, rounds.history, details, state)


class _QuasiNewton(TiedVariables):
    """The steps in single and in double precision."""

    def __init__(self, objective: Objective, start: Start, limits: Limits, run: Run) -> None:
        super().__init__(objective, turned=True)
        self.objective, self.limits, self.run = objective, limits, run
        X = self.problem.X
        self.evaluations = 0
        self.given = self._given(start)
        softmax = objective.loss.facts.kind == "softmax"
        large = X.shape[0] * X.shape[1] * self.problem.n_classes >= _SINGLE_SIZE
        self.single = softmax and large and not sp.issparse(X)
        self.descent = self._in(np.float32 if self.single else np.float64)
        if self.single and not self.descent.is_finite:  # numbers too large for single precision
            self.single, self.descent = False, self._in(np.float64)

    def _given(self, start: Start) -> list[tuple[Array | None, Array, Any]]:
        """Variables, biases and a dual that a start offers; the variables of a dual are found later."""
        shape = (self.problem.n_classes, self.problem.n_rows)
        check_start(start.dual, shape)
        nothing = np.full(self.problem.n_classes, self.bias_prior)
        found: list[tuple[Array | None, Array, Any]] = []
        if start.dual is not None:
            found.append((None, nothing, start.dual))
        state = self.of_state(start.state)
        if state is not None:
            found.append((*state, None))
        return found

    def _in(self, dtype: Any) -> _Descent:
        """Steps from the best of zero and what was given on, in this precision."""
        factor = None if _is_identity(self.factor) else self.factor
        rows = RowProducts(as_given(self.problem.X)[0], factor, self.problem.n_classes, dtype, self.run)
        return _Descent(self, rows)

    def minimise(self, rounds: Rounds) -> bool:
        """Steps until the gap, a limit or the end of what a precision can do is reached; whether it was the last."""
        if not self.single:
            return self._descend(rounds)
        limits = rounds.limits
        rounds.limits = replace(limits, tol=_AIM * limits.tol)
        self._descend(rounds)
        rounds.limits = limits
        if not rounds.converged and (rounds.run.over() or rounds.done >= limits.max_iter):
            return False
        if rounds.converged and self.descent.error_of_single() <= _TRUSTED * limits.tol * self.descent.primal:
            return False
        rounds.converged = False
        self.given = [(*self.descent.variables(), None)]
        self.descent = self._in(np.float64)
        return self._descend(rounds)

    def _descend(self, rounds: Rounds) -> bool:
        if not self.descent.is_finite:
            raise too_large(self.problem.X)
        stuck = self.descent.minimise(rounds)
        self.evaluations += self.descent.evaluations
        return stuck

    def solved(self) -> Any:
        """Vectors and state as a solution has them."""
        return self.vectors(*self.descent.variables())


class _Point(NamedTuple):
    """Variables (vectors, then biases less their prior, one after the other), their losses and the losses' gradient."""

    z: Floats
    losses: float
    drawn: Floats

    @property
    def primal(self) -> float:
        return self.losses + 0.5 * float(np.vdot(self.z, self.z))

    @property
    def gap(self) -> float:
        """Half the squared length of the gradient: above the dual of these very vectors."""
        gradient = self.z + self.drawn
        return 0.5 * float(np.vdot(gradient, gradient))


class _Descent:
    """L-BFGS in one precision."""

    def __init__(self, whole: _QuasiNewton, rows: RowProducts) -> None:
        problem = whole.problem
        self.whole, self.rows, self.dtype = whole, rows, rows.dtype
        self.line: Any = line_losses(whole.objective, rows)
        self.shape = (problem.n_features, whole.factor.shape[1])
        self.n_theta = self.shape[0] * self.shape[1]
        self.evaluations = 0
        self.pairs: list[tuple[Floats, Floats, float]] = []
        self.point, self.cold = self._first()
        self.metric = RowMetric(
            rows.X, whole.bias_feature, self.shape, rows.factor is None, problem.n_classes
        )
        self.lower, self.best = -np.inf, self.point
        self.primal, self.gap = self.point.primal, np.inf

    @property
    def is_finite(self) -> bool:
        return bool(np.isfinite(self.point.primal + self.point.gap) and self.metric.is_finite)

    def variables(self) -> tuple[Array, Array]:
        """Vectors and biases of the iterate."""
        return self._split(self.point.z)

    def dual(self) -> sp.csr_array:
        """The dual of the best lower bound so far."""
        if self.best is self.point:
            scores = self.line.scores
        else:
            scores = self._scores(*self._split(self.best.z))
        dual: sp.csr_array = self.line.dual(scores)
        return dual

    def _split(self, z: Floats) -> tuple[Array, Array]:
        theta = z[: self.n_theta].reshape(self.shape).astype(np.float64)
        return theta, self.whole.bias_prior + z[self.n_theta :].astype(np.float64)

    def _scores(self, theta: Array, bias: Array) -> Floats:
        scores = np.empty_like(self.line.scores)
        self.rows.scores(theta.astype(self.dtype), scores)
        scores += (self.whole.bias_feature * bias).astype(self.dtype)
        return np.asarray(scores)

    def _drawn(self, gradient: Floats, theta: Floats | None = None) -> Floats:
        """The gradient of losses in the variables, from that in the scores; `theta`: that in the vectors, if known."""
        if theta is None:
            theta = self.rows.adjoint(gradient)
        bias = np.zeros(gradient.shape[1])
        if self.whole.bias_feature:
            bias = self.whole.bias_feature * gradient.sum(axis=0, dtype=np.float64)
        return np.asarray(np.concatenate([theta.ravel(), bias.astype(self.dtype)]))

    def _first(self) -> tuple[_Point, bool]:
        """The best of zero and what a start offers; whether it is zero."""
        prior = np.full(self.line.scores.shape[1], self.whole.bias_prior)
        found: list[tuple[float, Array, Array, Floats]] = []
        for theta, bias, dual in self.whole.given:
            if dual is not None:
                drawn = self._drawn(self.line.gradient_of(dual))
                theta, bias = self._split(-drawn)
            assert theta is not None
            self.line.scores = self._scores(theta, bias)
            penalty = 0.5 * float(np.vdot(theta, theta) + (bias - prior) @ (bias - prior))
            found.append((self.line.at(0.0)[0] + penalty, theta, bias, self.line.scores))
        self.line.scores = np.empty_like(self.line.gradient)
        self.line.scores[:] = self.whole.bias_feature * prior
        losses = self.line.at(0.0)[0]
        better = [one for one in found if one[0] < losses]
        if not better:
            z = np.zeros(self.n_theta + len(prior), dtype=self.dtype)
            drawn = self._drawn(self.line.gradient, self.line.drawn_at_zero())
            return _Point(z, losses, drawn), True
        _, theta, bias, self.line.scores = min(better, key=lambda one: one[0])
        z = np.concatenate([theta.ravel(), bias - prior]).astype(self.dtype)
        losses = self.line.at(0.0)[0]
        return _Point(z, losses, self._drawn(self.line.gradient)), False

    def minimise(self, rounds: Rounds) -> bool:
        """Steps until the gap or a limit is reached; whether they ended before, by rounding."""
        self._measure()
        share = min(1.0, _FIRST_CURVATURE / max(_FIRST_CURVATURE, self.metric.size)) if self.cold else 1.0
        growth = max(_PATH, share ** (-1.0 / _LONGEST_PATH))
        steps = slow = 0
        least = float(np.finfo(self.dtype).eps)
        while True:
            if not self._note(rounds):
                return False
            try:
                moved = self._step(share, _STEEP if steps < _FIRST_STEPS else _LATER_STEEP)
            except Ended:
                return False
            if moved:
                steps += 1
                slow = slow + 1 if self.primal - self.point.primal < least * self.primal else 0
                if slow == _SLOW_STEPS:
                    return True
                if steps & (steps - 1) == 0:  # after 1, 2, 4, 8 ... steps
                    self._measure()
                grown = min(1.0, share * growth)
            elif share < 1.0:
                grown = 1.0
            elif self.pairs:
                self.pairs, grown = [], 1.0
            else:
                return True
            if not moved:
                rounds.done -= 1
                rounds.history.pop()
            self._rescale(grown / share)
            share = grown

    def _measure(self) -> None:
        """Take the curvatures of the iterate; columns that many classes share have less than the diagonal says."""
        curvature, of_class = self.line.curvature()
        self.metric.measure(np.sqrt(curvature * np.mean(curvature)), of_class)

    def _note(self, rounds: Rounds) -> bool:
        """Keep the better dual and tell the round; whether to go on."""
        self.primal, gap = self.point.primal, self.point.gap
        if not np.isfinite(self.primal + gap):
            raise too_large(self.whole.problem.X)
        if self.primal - gap > self.lower:
            self.lower, self.best = self.primal - gap, self.point
        self.gap = self.primal - self.lower
        return rounds.another(self.primal, self.gap)

    def _rescale(self, ratio: float) -> None:
        """What is remembered of steps, for losses that weigh so many times as much."""
        if ratio == 1.0:
            return
        kept = [(s, s + self.dtype(ratio) * (y - s)) for s, y, _ in self.pairs]
        self.pairs = [(s, y, float(np.vdot(s, y))) for s, y in kept]

    def _step(self, share: float, steep: float) -> bool:
        """One step for losses of which only this share counts; False where none lowers the whole objective."""
        z, losses, drawn = self.point
        gradient = z + self.dtype(share) * drawn
        way = self._direction(gradient, share)
        slope = float(np.vdot(gradient, way))
        if not slope < 0:
            return False
        theta, bias = way[: self.n_theta].reshape(self.shape), way[self.n_theta :]
        self.rows.scores(theta, self.line.direction)
        if self.whole.bias_feature:
            self.line.direction += self.dtype(self.whole.bias_feature) * bias
        half, across, square = (0.5 * float(np.vdot(z, z)), float(np.vdot(z, way)), float(np.vdot(way, way)))

        def evaluate(t: float) -> tuple[float, float]:
            nonlocal losses
            losses, along = self.line.at(t)
            self.evaluations += 1
            penalty = half + t * across + 0.5 * t * t * square
            return share * losses + penalty, share * along + across + t * square

        t, last = search(evaluate, share * losses + half, slope, steep)
        if not t:
            return False
        if t != last:
            evaluate(t)  # the gradient there
        if not losses + half + t * across + 0.5 * t * t * square < self.primal:
            return False
        step = self.dtype(t) * way
        new = _Point(z + step, losses, self._drawn(self.line.gradient))
        change = step + self.dtype(share) * (new.drawn - drawn)
        along = float(np.vdot(step, change))
        self.line.move(t)
        self.point = new
        if along > 0:
            self.pairs = [*self.pairs[1 - _MEMORY :], (step, change, along)]
        return True

    def _direction(self, gradient: Floats, share: float) -> Floats:
        """Minus the inverse Hessian times the gradient, as far as the remembered steps tell."""
        left, factors = gradient.copy(), []
        for step, change, along in reversed(self.pairs):
            factors.append(float(np.vdot(step, left)) / along)
            left -= self.dtype(factors[-1]) * change
        way = self.metric.applied(left, share)
        if self.pairs:
            _, change, along = self.pairs[-1]
            way *= self.dtype(along / float(np.vdot(change, self.metric.applied(change, share))))
        for (step, change, along), factor in zip(self.pairs, reversed(factors), strict=True):
            way += self.dtype(factor - float(np.vdot(change, way)) / along) * step
        return np.negative(way, out=way)

    def error_of_single(self) -> float:
        """About how far the gap is off by rows in single precision, measured on some rows and some classes.

        With p the dual and w the vectors, the gap is half the squared length of w - v(p) and the sum of c_i KL(p_i, p_i
        of the exact scores). Errors of v are found on some classes, the divergences and errors of losses on some rows.
        """
        whole, line = self.whole, self.line
        n, k = line.scores.shape
        X, loss = as_given(whole.problem.X)[0], whole.objective.loss
        rows = np.unique(np.linspace(0, n - 1, _CHECKED_ROWS).astype(int))
        theta, bias = self.variables()
        columns = theta if self.rows.factor is None else theta @ np.asarray(whole.factor.T)
        exact = X[rows] @ columns + whole.bias_feature * bias
        believed = line.scores[rows].astype(np.float64)
        off = np.abs(exact - believed).max(axis=1)
        differ = np.abs(loss.value(exact, line.own[rows]) - loss.value(believed, line.own[rows]))
        cost, share = line.cost[rows], n / len(rows)
        of_losses = share * float(cost @ (differ + off * off))
        classes = np.unique(np.linspace(0, k - 1, _CHECKED_CLASSES).astype(int))
        gradient = line.gradient[:, classes]
        wrong = X.T @ gradient.astype(np.float64) - self.rows.X.T @ gradient
        # errors of different classes have nothing to do with each other
        stretch = 1.0 if self.rows.factor is None else float(np.sum(whole.factor**2)) / k
        length = float(np.sqrt(stretch * k / len(classes) * np.vdot(wrong, wrong)))
        return float(of_losses + length * np.sqrt(2.0 * self.point.gap) + 0.5 * length**2)


def _is_identity(factor: Any) -> bool:
    """Whether a factor leaves everything as it is."""
    n, m = factor.shape
    if n != m:
        return False
    if sp.issparse(factor):
        return bool(factor.nnz == n and np.all(factor.diagonal() == 1.0))
    return bool(np.all(factor.diagonal() == 1.0) and np.count_nonzero(factor) == n)
