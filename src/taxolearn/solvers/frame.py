"""Coordinates of vectors and biases in which columns of any size and offset are alike; the objective stays the same."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dpotrf, dpotrs

from taxolearn.objective import Objective
from taxolearn.solvers.score_hessian import losses_hessian

Array = npt.NDArray[np.float64]

_LEAST_SIZE = (
    1e-100  # columns that are smaller are taken for no smaller: squares of the inverse must be finite
)
_RANK = 1e-13  # singular values of a factor below this share of the largest count as zero
_LEAST_RIDGE, _MOST_RIDGE = 1e-15, 1e-6  # added to a scaled diagonal where rounding made it indefinite


class Place(NamedTuple):
    """A point of the frame, or a direction: vectors (features x columns) and offsets of the scores.

    >>> Place(np.zeros((2, 1)), np.ones(1)).moved(Place(np.ones((2, 1)), np.ones(1)), 0.5).offset.tolist()
    [1.5]
    """

    vectors: Array
    offset: Array

    def moved(self, direction: Place, length: float) -> Place:
        """The point so far along a direction."""
        return Place(
            self.vectors + length * direction.vectors,
            self.offset + length * direction.offset,
        )


class Frame:
    """Rows x_i' = (x_i - shift) / size, so that scores are W' x_i' + offset with vectors and offsets of order one.

    With W' = F Z', F F' being the covariance of the classes, a class's vector is w = W' / size, and its bias
    b = (offset - w . shift) / s: the penalty is a quadratic form in vectors and offsets. Nothing cancels, however far a
    column is from zero and however small its spread is beside that. The shift is the median: one outlier does not move
    it. What vectors draw from the bias, sum_j Z_j shift_j / size_j, is stiff where shifts are large; it takes the place
    of the feature that it has most of (`pivot`), the `ratio` being that of the other features to this one.

    The variables are the vectors (features x columns of F) and the offsets: one per column of F where biases are tied,
    else one per class; none without a bias.

    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[1e9], [1e9 + 1.0], [1e9 + 2.0]], ["a", "b", "b"])
    >>> frame = Frame(Objective(problem, Hinge(), flat(2)))
    >>> frame.rows.tolist(), frame.first().offset.tolist()
    ([[-1.0], [0.0], [1.0]], [0.0, 0.0])
    """

    def __init__(self, objective: Objective) -> None:
        problem, loss = objective.problem, objective.loss.facts
        X = np.asarray(problem.X, dtype=np.float64)
        self.bias_feature, self.bias_prior = objective.bias_feature, objective.bias_prior
        self.shift = np.median(X, axis=0) if self.bias_feature else np.zeros(X.shape[1])
        rows = X - self.shift
        size = np.abs(rows).max(axis=0, initial=0.0)
        self.size = np.maximum(np.where(size > 0, size, 1.0), _LEAST_SIZE)
        self.rows = rows / self.size
        # what vectors draw from a bias
        pull = self.shift / self.size / (self.bias_feature or 1.0)
        self.pivot = int(np.argmax(np.abs(pull)))
        self.pull = float(pull[self.pivot])
        self.ratio = pull / self.pull if self.pull else np.zeros_like(pull)
        self.ratio[self.pivot] = 0.0
        self.rows -= np.outer(self.rows[:, self.pivot], self.ratio)
        self.tied = loss.tied_bias
        self.apart = loss.kind == "margin" and not objective.tie.facts.shares
        self.factor, self.columns = _factored(objective.tie.factor().toarray(), self.apart)
        # of which classes offsets are, and how the columns of F enter the biases
        self.of_offset = self.factor if self.tied else np.eye(problem.n_classes)
        self.from_vectors = np.eye(self.factor.shape[1]) if self.tied else self.factor
        self.n_offsets = self.of_offset.shape[1] if self.bias_feature else 0
        # rows with a feature for tied offsets, which then are like vectors
        self.with_offset = np.hstack([self.rows, np.ones((len(X), 1))]) if self.n_offsets else self.rows
        self._penalty = None if self.apart else self._penalty_matrix(self.from_vectors)

    def first(self) -> Place:
        """The point of vectors that are zero and biases that are at their prior."""
        vectors = np.zeros((self.rows.shape[1], self.factor.shape[1]))
        return Place(vectors, np.full(self.n_offsets, self.bias_prior * self.bias_feature))

    def taken_over(self, place: Place, other: Frame) -> Place:
        """The point here that has the scores of a point of another frame of the same rows, F being invertible."""
        change = np.linalg.solve(self.factor, other.factor)
        offset = change @ place.offset if self.tied and self.n_offsets else place.offset
        return Place(place.vectors @ change.T, offset)

    def scores(self, place: Place) -> Array:
        """Scores of all rows, rows x classes."""
        scores = (self.rows @ place.vectors) @ self.factor.T
        if self.n_offsets:
            scores += self.of_offset @ place.offset
        return scores

    def natural(self, place: Place) -> tuple[Array, Array]:
        """U, features x columns of F, with W = F U' in the user's features, and the biases."""
        vectors = place.vectors.copy()
        vectors[self.pivot] -= self.ratio @ place.vectors
        vectors /= self.size[:, None]
        if not self.n_offsets:
            return vectors, np.zeros(0)
        drawn = self.pull * (self.from_vectors @ place.vectors[self.pivot])
        return vectors, place.offset / self.bias_feature - drawn

    def penalty(self, place: Place) -> float:
        """1/2 ||U||^2 + 1/2 ||b - b_0||^2."""
        vectors, bias = self.natural(place)
        bias = bias - self.bias_prior
        return 0.5 * float(np.vdot(vectors, vectors) + bias @ bias)

    def gradient(self, place: Place, pulls: Array) -> Place:
        """Of the penalty, minus what rows pull their scores up by (rows x classes)."""
        vectors, bias = self.natural(place)
        drawn = self.adjoint(pulls)
        gradient = vectors / self.size[:, None]
        gradient -= np.outer(self.ratio, gradient[self.pivot])
        gradient -= drawn.vectors
        if not self.n_offsets:
            return Place(gradient, drawn.offset)
        beyond = bias - self.bias_prior
        gradient[self.pivot] -= self.pull * (beyond @ self.from_vectors)
        return Place(gradient, beyond / self.bias_feature - drawn.offset)

    def adjoint(self, pulls: Array) -> Place:
        """The adjoint of `scores`."""
        offset = pulls.sum(axis=0) @ self.of_offset if self.n_offsets else np.zeros(0)
        return Place(self.rows.T @ (pulls @ self.factor), offset)

    def half_square(self, gradient: Place) -> float:
        """Half the square of a gradient in the user's features, by which a point misses its own dual."""
        vectors = gradient.vectors.copy()
        if self.n_offsets:
            vectors[self.pivot] += self.bias_feature * self.pull * (gradient.offset @ self.from_vectors)
        vectors += np.outer(self.ratio, vectors[self.pivot])
        vectors *= self.size[:, None]
        bias = self.bias_feature * gradient.offset
        return 0.5 * float(np.vdot(vectors, vectors) + bias @ bias)

    def newton_step(self, curvature: Array) -> _System:
        """Solves (Hessian of penalty + losses) step = right for losses of this second derivative in the scores.

        It is rows x classes where no two scores of a row have to do with each other, else rows x classes x classes.
        """
        if self.apart:
            return _System([self._of_class(k, curvature[:, k]) for k in range(curvature.shape[1])], self)
        assert self._penalty is not None
        return _System([self._penalty + self._of_losses(curvature)], self)

    def _penalty_matrix(self, from_vectors: Array) -> Array:
        """The Hessian of the penalty, vectors first (feature by feature), then offsets."""
        n_features, n_columns = len(self.size), from_vectors.shape[1]
        other = self.size**-2.0
        own, other[self.pivot] = other[self.pivot], 0.0
        way = -self.ratio
        way[self.pivot] = 1.0
        features, every = np.diag(other) + own * np.outer(way, way), np.arange(n_columns)
        apart: Array = np.zeros((n_features, n_columns, n_features, n_columns))
        apart[:, every, :, every] = features
        curvature = apart.reshape(n_features * n_columns, -1)
        if not self.n_offsets:
            return curvature
        at_pivot = np.zeros((1, n_features))
        at_pivot[0, self.pivot] = -self.pull
        whole = np.hstack([np.kron(at_pivot, from_vectors), np.eye(len(from_vectors)) / self.bias_feature])
        found: Array = whole.T @ whole
        found[: len(curvature), : len(curvature)] += curvature
        return found

    def _of_class(self, number: int, curvature: Array) -> Array:
        """The Hessian of one class that has nothing in common with others."""
        own = self.factor[number, number]
        rows = own * self.rows
        if self.n_offsets:
            rows = np.hstack([rows, np.ones((len(rows), 1))])
        found: Array = self._penalty_matrix(np.array([[own]])) + rows.T @ (curvature[:, None] * rows)
        return found

    def _of_losses(self, curvature: Array) -> Array:
        """The Hessian of the losses in vectors and offsets."""
        if self.tied or not self.n_offsets:
            return losses_hessian(curvature, self.with_offset, self.factor, None)
        return losses_hessian(curvature, self.rows, self.factor, self.of_offset)


class _System:
    """Cholesky factors of the Hessian, whole or class by class, its diagonal made one first."""

    def __init__(self, matrices: list[Array], frame: Frame) -> None:
        self.frame = frame
        self.parts = [_decomposed(matrix) for matrix in matrices]

    def solve(self, right: Place) -> Place:
        """The step of a right-hand side, corrected once by what it leaves."""
        if self.frame.apart:
            rights: Any = (
                np.vstack([right.vectors, right.offset[None, :]]) if len(right.offset) else right.vectors
            )
            found = np.stack([_solved(part, rights[:, k]) for k, part in enumerate(self.parts)], axis=1)
            n_features = len(right.vectors)
            return Place(found[:n_features], found[n_features] if len(right.offset) else right.offset)
        flat = _solved(self.parts[0], np.concatenate([right.vectors.ravel(), right.offset]))
        return Place(flat[: right.vectors.size].reshape(right.vectors.shape), flat[right.vectors.size :])


def _factored(factor: Array, apart: bool) -> tuple[Array, Array]:
    """F and Q with L = F Q' and Q' Q = 1: no more columns than classes, and one per class where these are apart."""
    if apart:
        own = np.sqrt(np.einsum("lc,lc->l", factor, factor))
        return np.diag(own), factor.T / np.where(own > 0, own, 1.0)
    left, values, right = np.linalg.svd(factor, full_matrices=False)
    kept = values > _RANK * values.max(initial=0.0)
    return left[:, kept] * values[kept], right[kept].T


def _decomposed(matrix: Array) -> tuple[Array, Array, Any]:
    scale = 1.0 / np.sqrt(np.diag(matrix))
    scaled = matrix * scale[:, None] * scale[None, :]
    if not np.isfinite(scaled).all():
        raise ValueError("the Hessian is not finite")
    ridge = 0.0
    while True:
        # LAPACK itself: SciPy's checks take longer than these matrices
        lower, failed = dpotrf(scaled + ridge * np.eye(len(scaled)) if ridge else scaled, lower=True)
        if not failed:
            return scaled, scale, lower
        ridge = max(_LEAST_RIDGE, 100 * ridge)
        if ridge > _MOST_RIDGE:
            raise np.linalg.LinAlgError("the Hessian is not positive definite")


def _solved(part: tuple[Array, Array, Any], right: Array) -> Array:
    scaled, scale, lower = part
    right = right * scale
    if not np.isfinite(right).all():
        raise ValueError("the right-hand side is not finite")
    found = dpotrs(lower, right, lower=True)[0]
    found += dpotrs(lower, right - scaled @ found, lower=True)[0]
    step: Array = found * scale
    return step
