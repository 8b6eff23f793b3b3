"""Smooth objectives over classes tied in any way: vectors W = L U, their scores, objective and gradient."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import DataError
from taxolearn.objective import Objective
from taxolearn.solvers.base import Start
from taxolearn.solvers.newton_terms import score_terms
from taxolearn.solvers.tied_classes import fitting_nodes
from taxolearn.vectors import ClassVectors, NodeVectors

Array = npt.NDArray[np.float64]

_MOST_AXES = 2000  # principal axes of more features cost more than they save
_TURNED_FOR = 16  # turning the factor takes as long as so many products with the rows
_NO_EIGENVALUE = 1e-12  # as a share of the largest
_DENSE_SHARE = 0.25  # entries of a factor that are not zero, from which on it is kept as an array,
# and its size up to which it is kept so anyway: SciPy takes longer to look at it than to multiply
_DENSE_SIZE = 2**12
_TINY_WORK = 2**20  # multiplications of a step by dense linear algebra


class Point(NamedTuple):
    """Vectors (features x columns of the factor), biases, and what is known of them."""

    theta: Array
    bias: Array
    scores: Array
    primal: float


class TiedVariables:
    """The variables of an objective: U with W = L U, in which the penalty has curvature one, features x columns.

    Where they may be `turned`, columns that many classes share are told apart from those of the classes themselves;
    that costs the last digits.
    """

    def __init__(self, objective: Objective, turned: bool) -> None:
        self.problem, self.tie = objective.problem, objective.tie
        self.bias_feature, self.bias_prior = objective.bias_feature, objective.bias_prior
        by_feature = self.tie.facts.by_feature
        self.matrix, self.columns, self.root_scale = _columns(self.tie)
        self.own_scale = self.root_scale if by_feature else None  # features x columns, besides the factor
        may_turn = turned and self.tie.facts.shares and not by_feature
        if not may_turn and self.matrix.shape[0] * self.matrix.shape[1] <= _DENSE_SIZE:
            self.turn, dense = None, self.matrix.toarray()[:, self.columns]
            self.factor = dense if by_feature else dense * self.root_scale
            return
        used = self.matrix[:, self.columns]
        factor = sp.csr_array(used if by_feature else used * self.root_scale[None, :])
        has_losses = self.problem.counted if objective.loss.facts.kind == "margin" else slice(None)
        self.turn = _turn(factor, factor[has_losses], self.problem.X) if may_turn else None
        self.factor = _handy(factor) if self.turn is None else factor @ self.turn

    def of_state(self, state: Any) -> tuple[Array, Array] | None:
        """The variables and biases that a start's state stands for, None if it is of another tie."""
        found = fitting_nodes(state, self.matrix, self.problem.n_features)
        if found is None:
            return None
        nodes = found.nodes[self.columns].toarray().T if found.is_sparse else found.nodes[:, self.columns]
        theta = np.ascontiguousarray(nodes / self.root_scale, dtype=np.float64)
        prior = np.full(self.problem.n_classes, self.bias_prior)
        bias = found.intercept / self.bias_feature if self.bias_feature else prior
        return theta if self.turn is None else theta @ self.turn, bias

    def node_vectors(self, theta: Array, bias: Array) -> NodeVectors:
        """The vectors and intercepts that variables stand for."""
        theta = theta if self.turn is None else theta @ self.turn.T
        nodes = np.zeros((self.problem.n_features, self.matrix.shape[1]))
        nodes[:, self.columns] = theta * self.root_scale
        return NodeVectors(nodes, self.matrix, self.bias_feature * bias)

    def vectors(self, theta: Array, bias: Array) -> tuple[NodeVectors | ClassVectors, NodeVectors | None]:
        """The vectors as a solution has them, and what a later solve begins with, if it is not these."""
        nodes = self.node_vectors(theta, bias)
        if not self.tie.facts.precision:
            return nodes, None
        return ClassVectors(np.asarray(nodes.coef), nodes.intercept), nodes


class SmoothIterate(TiedVariables):
    """An iterate of an objective that is smooth in the vectors, and what is known at it.

    With the dual that belongs to the vectors the gap is half the squared length of the gradient.
    """

    def __init__(self, objective: Objective, start: Start) -> None:
        super().__init__(objective, turned=False)
        self.terms = score_terms(objective)
        # scales by feature are those of the features as they are, and exact steps need no axes
        turned = self.own_scale is None and not self.is_tiny
        rows: tuple[Any, Any] = (along_axes if turned else as_given)(self.problem.X)
        self.X, self.axes = rows
        self.factor_transposed = self.factor.T  # W = factor theta'
        # few features: multiply with the factor first, then with the rows of X; many: the other way round, so that
        # nothing of the size features x classes is made
        self.by_class = self.problem.n_features <= self.problem.n_rows
        self.point = min(self._starts(start), key=lambda point: point.primal)
        self.terms.at(self.point.scores)
        self.gradient, self.bias_gradient = self._gradient()

    @cached_property
    def is_tiny(self) -> bool:
        """Whether the Hessian takes no longer to be made and solved than a few products with it."""
        X, width = self.problem.X, float(self.problem.n_features)
        size = width * self.factor.shape[1] + self.problem.n_classes
        return not sp.issparse(X) and not sp.issparse(self.factor) and (len(X) + size) * size**2 <= _TINY_WORK

    @cached_property
    def squares(self) -> Any:
        """Of the entries of X."""
        return self.X.multiply(self.X).tocsr() if sp.issparse(self.X) else self.X * self.X

    def _starts(self, start: Start) -> list[Point]:
        """Zero, and what a start offers."""
        shape = (self.problem.n_features, self.factor.shape[1])
        found = [self._point(np.zeros(shape), np.full(self.problem.n_classes, self.bias_prior))]
        if start.dual is not None:
            theta, bias = self._adjoint(self.terms.gradient_of(start.dual))
            found.append(self._point(-theta, self.bias_prior - bias))
        state = self.of_state(start.state)
        if state is not None:
            theta, bias = state
            found.append(self._point(theta if self.axes is None else self.axes.T @ theta, bias))
        return [point for point in found if np.isfinite(point.primal)] or [found[0]]

    def solved(self) -> tuple[NodeVectors | ClassVectors, NodeVectors | None]:
        """The vectors of the iterate as a solution has them, and what a later solve begins with."""
        theta = self.point.theta if self.axes is None else self.axes @ self.point.theta
        return self.vectors(theta, self.point.bias)

    def _point(self, theta: Array, bias: Array) -> Point:
        scores = self._scores(theta, bias)
        return Point(theta, bias, scores, self._primal(theta, bias, scores))

    def _primal(self, theta: Array, bias: Array, scores: Array) -> float:
        return self.terms.value(scores) + half_square(theta, bias - self.bias_prior)

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


def half_square(theta: Array, bias: Array) -> float:
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


def _turn(factor: sp.csr_array, with_losses: sp.csr_array, X: Any) -> Array | None:
    """Orthonormal columns Q that make those of factor @ Q orthogonal; None where that costs more than it saves.

    Only the rows of classes that have losses count: what no such class has stays zero. Vectors shared by many classes
    and those of the classes themselves are then told apart, and the Hessian is closer to its diagonal: U = Q V has the
    penalty of V, and no other U with the same scores has a smaller one.
    """
    n_classes = factor.shape[0]
    if sp.issparse(X) or n_classes > _MOST_AXES or n_classes**2 > _TURNED_FOR * X.size:
        return None
    values, classes = np.linalg.eigh((with_losses @ with_losses.T).toarray())
    kept = values > _NO_EIGENVALUE * values[-1]
    return np.asarray(with_losses.T @ (classes[:, kept] / np.sqrt(values[kept])))


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


def too_large(X: Any) -> DataError:
    sizes = np.asarray(abs(X).max(axis=0).todense() if sp.issparse(X) else np.abs(X).max(axis=0)).ravel()
    column = int(np.argmax(sizes))
    return DataError(
        f"column {column} of X reaches {sizes[column]:.3g}, too large for sums of its squares; scale the features, for "
        "example with sklearn.preprocessing.StandardScaler"
    )
