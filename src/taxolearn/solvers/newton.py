"""Newton's method with conjugate gradients for smooth losses over classes tied in any way."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import Run
from taxolearn.errors import DataError
from taxolearn.objective import Objective
from taxolearn.solvers.base import Limits, Requires, Rounds, Solution, Start, Watch, check_requirements
from taxolearn.solvers.newton_terms import score_terms
from taxolearn.solvers.tied_classes import fitting_nodes
from taxolearn.vectors import ClassVectors, NodeVectors

Array = npt.NDArray[np.float64]

# the vectors of a dual may be far above those it came from: no checkpoints
REQUIRES = Requires(("margin", "softmax"), smooth=True, starts=False, by_feature=True)
LIMITS = Limits(max_iter=200)
_FORCING = 0.1  # conjugate gradients stop when the residual is this share of the gradient
_ENOUGH = 0.25  # or when on a quadratic this share of the tolerated gap would be left
_MOST_PRODUCTS = 250  # Hessian-vector products per Newton step
_ARMIJO = 1e-4  # decrease that a step must bring, as a share of what the gradient promises
_SHORTEST_STEP = 1e-10
_MOST_AXES = 2000  # principal axes of more features cost more than they save
_DENSE_SHARE = 0.25  # entries of a factor that are not zero, from which on it is kept as an array,
_DENSE_SIZE = (
    2**12
)  # and its size up to which it is kept so anyway: SciPy takes longer to look at it than to multiply


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
    nodes, state = newton.node_vectors(), None
    vectors: NodeVectors | ClassVectors = nodes
    if objective.tie.facts.precision:
        vectors, state = ClassVectors(np.asarray(nodes.coef), nodes.intercept), nodes
    details = {"products": newton.products}
    return Solution(vectors, newton.terms.dual(), rounds.status, rounds.done, rounds.history, details, state)


class _Point(NamedTuple):
    """Vectors (features x columns of the factor), biases, and what is known of them."""

    theta: Array
    bias: Array
    scores: Array
    primal: float


class _Direction(NamedTuple):
    theta: Array
    bias: Array
    scores: Array
    descent: float


class _Newton:
    """The iterate, and what is known at it. Scores move linearly along a direction: a line search reads no rows."""

    def __init__(self, objective: Objective, start: Start) -> None:
        self.problem, self.tie = objective.problem, objective.tie
        self.bias_feature, self.bias_prior = objective.bias_feature, objective.bias_prior
        self.terms = score_terms(objective)
        by_feature = self.tie.facts.by_feature
        # scales by feature are those of the features as they are
        rows: tuple[Any, Any] = (as_given if by_feature else along_axes)(self.problem.X)
        self.X, self.axes = rows
        self.squares = self.X.multiply(self.X).tocsr() if sp.issparse(self.X) else self.X * self.X
        self.matrix, self.columns, self.root_scale = _columns(self.tie)
        self.own_scale = self.root_scale if by_feature else None  # features x columns, besides the factor
        used = self.matrix[:, self.columns]
        self.factor = _handy(sp.csr_array(used if by_feature else used * self.root_scale[None, :]))
        self.factor_transposed = self.factor.T  # W = factor theta'
        # few features: multiply with the factor first, then with the rows of X; many: the other way round, so that
        # nothing of the size features x classes is made
        self.by_class = self.problem.n_features <= self.problem.n_rows
        self.point = min(self._starts(start), key=lambda point: point.primal)
        self.terms.at(self.point.scores)
        self.gradient, self.bias_gradient = self._gradient()
        self.products = 0

    def _starts(self, start: Start) -> list[_Point]:
        """Zero, and what a start offers."""
        shape = (self.problem.n_features, len(self.columns))
        found = [self._point(np.zeros(shape), np.full(self.problem.n_classes, self.bias_prior))]
        if start.dual is not None:
            theta, bias = self._adjoint(self.terms.gradient_of(start.dual))
            found.append(self._point(-theta, self.bias_prior - bias))
        state = fitting_nodes(start.state, self.matrix, self.problem.n_features)
        if state is not None:
            nodes = state.nodes[self.columns].toarray().T if state.is_sparse else state.nodes[:, self.columns]
            theta = np.ascontiguousarray(nodes / self.root_scale, dtype=np.float64)
            bias = state.intercept / self.bias_feature if self.bias_feature else found[0].bias
            found.append(self._point(theta if self.axes is None else self.axes.T @ theta, bias))
        return [point for point in found if np.isfinite(point.primal)] or [found[0]]

    def node_vectors(self) -> NodeVectors:
        """The vectors and intercepts of the iterate."""
        theta = self.point.theta if self.axes is None else self.axes @ self.point.theta
        nodes = np.zeros((self.problem.n_features, self.matrix.shape[1]))
        nodes[:, self.columns] = theta * self.root_scale
        return NodeVectors(nodes, self.matrix, self.bias_feature * self.point.bias)

    def minimise(self, rounds: Rounds, run: Run, tol: float) -> None:
        """Newton steps until the gap is at most tol of the objective."""
        while True:
            gap = _half_square(self.gradient, self.bias_gradient)
            if not np.isfinite(self.point.primal + gap):
                raise _too_large(self.problem.X)
            if not rounds.another(self.point.primal, gap):
                return
            direction = self._direction(_ENOUGH * tol * self.point.primal, run)
            if direction is None:
                rounds.done -= 1  # stopped before the first product: the iterate is unchanged
                return
            if not np.isfinite(direction.descent):
                raise _too_large(self.problem.X)
            lower = self._search(direction)
            if lower is not None:  # else rounding errors hide what is left to gain
                self.point = lower
                self.terms.at(lower.scores)
                self.gradient, self.bias_gradient = self._gradient()

    def _search(self, direction: _Direction) -> _Point | None:
        """A point along the direction that is lower, as far as the sums can tell; None if there is none."""
        point, length = self.point, 1.0
        while length >= _SHORTEST_STEP:
            theta, bias = point.theta + length * direction.theta, point.bias + length * direction.bias
            scores = point.scores + length * direction.scores
            primal = self._primal(theta, bias, scores)
            # near the optimum the decrease drowns in rounding: a full step that raises nothing is right there
            promised = _ARMIJO * length * direction.descent + 1e-13 * point.primal
            if primal <= point.primal and primal <= point.primal + promised:
                return _Point(theta, bias, scores, primal)
            length *= 0.5
        return None

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
            if not rho > goal or _half_square(left, bias_left) <= enough:
                break
            way *= rho / old
            way += scaled
            bias_way *= rho / old
            bias_way += bias_scaled
        descent = float(np.vdot(self.gradient, step) + self.bias_gradient @ bias_step)
        return _Direction(step, bias_step, moved, descent)

    def _point(self, theta: Array, bias: Array) -> _Point:
        scores = self._scores(theta, bias)
        return _Point(theta, bias, scores, self._primal(theta, bias, scores))

    def _primal(self, theta: Array, bias: Array, scores: Array) -> float:
        return self.terms.value(scores) + _half_square(theta, bias - self.bias_prior)

    def _gradient(self) -> tuple[Array, Array]:
        """Of the whole objective at the iterate, in its vectors and in its biases."""
        gradient, bias_gradient = self._adjoint(self.terms.gradient)
        return gradient + self.point.theta, bias_gradient + (self.point.bias - self.bias_prior)

    def _scores(self, theta: Array, bias: Array) -> Array:
        factor = self.factor_transposed
        if self.own_scale is not None:
            theta = theta * self.own_scale
        scores = self.X @ (theta @ factor) if self.by_class else (self.X @ theta) @ factor
        scores += self.bias_feature * bias
        return np.ascontiguousarray(scores)

    def _adjoint(self, scores: Array) -> tuple[Array, Array]:
        """The adjoint of `_scores`."""
        theta = (self.X.T @ scores) @ self.factor if self.by_class else self.X.T @ (scores @ self.factor)
        if self.own_scale is not None:
            theta = theta * self.own_scale
        return np.ascontiguousarray(theta), self.bias_feature * scores.sum(axis=0)


def _half_square(theta: Array, bias: Array) -> float:
    return 0.5 * float(np.vdot(theta, theta) + bias @ bias)


def _columns(tie: Any) -> tuple[sp.csr_array, npt.NDArray[np.intp], Array]:
    """The matrix of the result's vectors, its columns that have one, and by what their variables are multiplied."""
    if tie.facts.by_feature:
        scaled = np.flatnonzero((tie.scale > 0).any(axis=1))
        return tie.paths, scaled, np.sqrt(tie.scale[scaled].T)
    if tie.facts.paths:
        scaled = np.flatnonzero(tie.scale > 0)
        return tie.paths, scaled, np.sqrt(tie.scale[scaled])
    factor = tie.factor()
    return factor, np.arange(factor.shape[1]), np.ones(factor.shape[1])


def _handy(factor: sp.csr_array) -> Any:
    """The factor as an array where that is faster, else as it is."""
    size = factor.shape[0] * factor.shape[1]
    return factor.toarray() if size <= _DENSE_SIZE or factor.nnz > _DENSE_SHARE * size else factor


def as_given(X: Any) -> tuple[Any, None]:
    """Rows in double precision, and no axes.

    >>> as_given(np.ones((1, 2)))
    (array([[1., 1.]]), None)
    """
    if sp.issparse(X):
        return X.astype(np.float64, copy=False), None
    return np.asarray(X, dtype=np.float64), None


def along_axes(X: Any, weight: Array | None = None) -> tuple[Any, Any]:
    """Dense rows along the principal axes of X, and these axes; other rows as they are, and None.

    Penalty and scores do not change when rows and vectors are rotated together, but along these axes the Hessian is
    closer to its diagonal, which is the preconditioner. With a weight per row, the axes are those of weighted rows.

    >>> along_axes(np.array([[3.0, 0.0], [0.0, 1.0]]))[1].tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    X, _ = as_given(X)
    if sp.issparse(X) or X.shape[1] > _MOST_AXES:
        return X, None
    squared = X.T @ (X if weight is None else weight[:, None] * X)
    if not np.isfinite(squared).all():
        return X, None
    axes = np.linalg.eigh(squared)[1]
    return X @ axes, axes


def _too_large(X: Any) -> DataError:
    sizes = np.asarray(abs(X).max(axis=0).todense() if sp.issparse(X) else np.abs(X).max(axis=0)).ravel()
    column = int(np.argmax(sizes))
    return DataError(
        f"column {column} of X reaches {sizes[column]:.3g}, too large for sums of its squares; scale the features, for "
        "example with sklearn.preprocessing.StandardScaler"
    )
