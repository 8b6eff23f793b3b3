"""Newton's method with conjugate gradients for smooth losses over classes tied in any way."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dpotrf, dpotrs

from taxolearn.engines import Run
from taxolearn.objective import Objective
from taxolearn.solvers.base import Limits, Requires, Rounds, Solution, Start, Watch, check_requirements
from taxolearn.solvers.score_hessian import losses_hessian
from taxolearn.solvers.smooth import Point, SmoothIterate, half_square, too_large

Array = npt.NDArray[np.float64]

# the vectors of a dual may be far above those it came from: no checkpoints
REQUIRES = Requires(("margin", "softmax"), smooth=True, starts=False, by_feature=True)
LIMITS = Limits(max_iter=200)
_FORCING = 0.1  # conjugate gradients stop when the residual is this share of the gradient
_ENOUGH = 0.25  # or when on a quadratic this share of the tolerated gap would be left
_MOST_PRODUCTS = 250  # Hessian-vector products per Newton step
_ARMIJO = 1e-4  # decrease that a step must bring, as a share of what the gradient promises
_SHORTEST_STEP = 1e-10


def solve_newton(
    objective: Objective,
    limits: Limits = LIMITS,
    start: Start | None = None,
    watch: Watch | None = None,
) -> Solution:
    """Minimise over U and b, the vectors of the classes being W = L U with the factor L of the tie.

    Of a path sum the variables are u_n / sqrt(a_n); in all of them the penalty has curvature one. For softmax, classes
    without rows stand in the sum too.

    With the dual that belongs to the vectors, d = -c loss'(m) (for softmax the probabilities p), the gap is half the
    squared length of the gradient. The objective falls with every step; `limits.max_iter` counts them. It begins at the
    best of zero, the vectors of a start's state (node vectors of this very tie), and those that belong to its dual.

    The result has one vector per node of a path sum, one per column of another factor, one per class of a graph, whose
    `state` then has those per column.

    >>> from taxolearn.losses import Softmax
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> solution = solve_newton(Objective(problem, Softmax(), flat(2)), Limits(tol=1e-8))
    >>> solution.vectors.coef.round(3).tolist(), solution.status.value
    ([[-0.521], [0.521]], 'converged')
    """
    check_requirements("newton", REQUIRES, objective)
    with np.errstate(over="ignore", invalid="ignore"), limits.run() as run:
        newton = _Newton(objective, start or Start())
        rounds = Rounds(limits, run, watch, newton.terms.dual)
        newton.minimise(rounds, run, limits.tol)
    vectors, state = newton.solved()
    details = {"products": newton.products}
    return Solution(vectors, newton.terms.dual(), rounds.status, rounds.done, rounds.history, details, state)


class _Direction(NamedTuple):
    theta: Array
    bias: Array
    scores: Array
    descent: float


class _Newton(SmoothIterate):
    """The iterate and its steps. Scores move linearly along a direction: a line search reads no rows."""

    products = 0  # Hessian-vector products so far

    def minimise(self, rounds: Rounds, run: Run, tol: float) -> None:
        """Newton steps until the gap is at most tol of the objective."""
        while True:
            gap = half_square(self.gradient, self.bias_gradient)
            if not np.isfinite(self.point.primal + gap):
                raise too_large(self.problem.X)
            if not rounds.another(self.point.primal, gap):
                return
            direction = self._exact_direction() if self.is_tiny else None
            direction = direction or self._direction(_ENOUGH * tol * self.point.primal, run)
            if direction is None:
                rounds.done -= 1  # stopped before the first product: the iterate is unchanged
                return
            if not np.isfinite(direction.descent):
                raise too_large(self.problem.X)
            lower = self._search(direction)
            if lower is not None:  # else rounding errors hide what is left to gain
                self.point = lower
                self.terms.at(lower.scores)
                self.gradient, self.bias_gradient = self._gradient()

    def _search(self, direction: _Direction) -> Point | None:
        """A point along the direction that is lower, as far as the sums can tell; None if there is none."""
        point, length = self.point, 1.0
        while length >= _SHORTEST_STEP:
            theta, bias = point.theta + length * direction.theta, point.bias + length * direction.bias
            scores = point.scores + length * direction.scores
            primal = self._primal(theta, bias, scores)
            # near the optimum the decrease drowns in rounding: a full step that raises nothing is right there
            promised = _ARMIJO * length * direction.descent + 1e-13 * point.primal
            if primal <= point.primal and primal <= point.primal + promised:
                return Point(theta, bias, scores, primal)
            length *= 0.5
        return None

    def _exact_direction(self) -> _Direction | None:
        """Minus the inverse Hessian times the gradient; None where rounding leaves none."""
        biases = self.bias_feature * np.eye(len(self.bias_gradient)) if self.bias_feature else None
        matrix = losses_hessian(self.terms.curvature(), self.X, self.factor, biases)
        size = self.gradient.size
        if self.own_scale is not None:
            scale = np.ones(len(matrix))
            scale[:size] = self.own_scale.ravel()
            matrix *= scale[:, None] * scale
        matrix.flat[:: len(matrix) + 1] += 1.0
        gradient = np.append(self.gradient.ravel(), self.bias_gradient if self.bias_feature else [])
        lower, failed = dpotrf(matrix, lower=True, overwrite_a=True)
        step = -dpotrs(lower, gradient, lower=True)[0]
        descent = float(gradient @ step)
        if failed or not descent < 0:
            return None
        theta = step[:size].reshape(self.gradient.shape)
        bias = step[size:] if self.bias_feature else -self.bias_gradient
        return _Direction(theta, bias, self._scores(theta, bias), descent)

    def _direction(self, enough: float, run: Run) -> _Direction | None:
        """Minus the inverse Hessian times the gradient, roughly, by preconditioned conjugate gradients.

        A residual whose half square is below `enough` would, on a quadratic, end the solve: no need to go on.
        """
        diagonal, bias_diagonal = self.terms.diagonal(self.squares, self.factor)
        if self.own_scale is not None:
            diagonal *= self.own_scale**2
        diagonal += 1.0
        bias_diagonal = 1.0 + self.bias_feature**2 * bias_diagonal
        step, bias_step = np.zeros_like(self.gradient), np.zeros_like(self.bias_gradient)
        moved = np.zeros_like(self.point.scores)
        left, bias_left = -self.gradient, -self.bias_gradient
        way, bias_way = left / diagonal, bias_left / bias_diagonal
        rho = float(np.vdot(left, way) + bias_left @ bias_way)
        goal = _FORCING**2 * rho
        for made in range(_MOST_PRODUCTS):
            if run.over():
                if made == 0:
                    return None
                break
            scores = self._scores(way, bias_way)
            product, bias_product = self._adjoint(self.terms.hessian_product(scores))
            product += way
            bias_product += bias_way
            self.products += 1
            length = rho / float(np.vdot(way, product) + bias_way @ bias_product)
            step += length * way
            bias_step += length * bias_way
            moved += length * scores
            left -= length * product
            bias_left -= length * bias_product
            scaled, bias_scaled = left / diagonal, bias_left / bias_diagonal
            rho, old = float(np.vdot(left, scaled) + bias_left @ bias_scaled), rho
            if not rho > goal or half_square(left, bias_left) <= enough:
                break
            way *= rho / old
            way += scaled
            bias_way *= rho / old
            bias_way += bias_scaled
        descent = float(np.vdot(self.gradient, step) + self.bias_gradient @ bias_step)
        return _Direction(step, bias_step, moved, descent)
