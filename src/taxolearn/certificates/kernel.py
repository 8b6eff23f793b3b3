"""Vectors in the space of a kernel: both objectives through products of rows, each product evaluated once.

Values of the kernel are taken as they are computed, and as symmetric. What its matrix misses to be positive
semi-definite, `shift`, is added to its diagonal: the optimum is that of K + shift I, and the bounds are widened by what
this can change.
"""

from __future__ import annotations

from functools import cached_property
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.certificates.kernel_ties import GramTie
from taxolearn.certificates.rounding import PAIRWISE, TINY, Array, Ball, gamma, segment_sums, square
from taxolearn.certificates.sums import Adjoint, node_sums
from taxolearn.engines import Run
from taxolearn.errors import DataError
from taxolearn.objective import Objective
from taxolearn.solvers.base import Solution

_BLOCK_BYTES = 16 * 2**20  # of products of rows at a time


class _Form(NamedTuple):
    """Coefficients C (nodes x rows), and sizes (nodes x rows) of which each is right to a given share."""

    coef: sp.csr_array
    sizes: sp.csr_array


class _Noted(NamedTuple):
    """Of some rows: their part of c K c' of the vectors and of the dual, and of the same with absolute values."""

    vectors: Array
    vector_sizes: Array
    dual: Array
    dual_sizes: Array


class KernelSide:
    """Penalty 1/2 sum_n (b_n K b_n' + beta_n^2) / a_n of vectors u_n = sum_i b_ni phi(x_i), and square
    sum_n a_n (z_n K z_n' + s^2 (sum_i z_ni)^2) of the dual; and scores, which are read once for all rows. Of a
    factor the nodes are its columns. Of ties over units, which have neither, penalty and square are those of the
    products of units with each other (`GramTie`).

    >>> from dataclasses import replace
    >>> from taxolearn.certificates import structured
    >>> from taxolearn.gram import row_kernel, row_products
    >>> from taxolearn.losses import structured_hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.solvers.kernel_rows import solve_kernel_rows
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> problem = replace(problem, products=row_products(row_kernel("linear"), problem.X))
    >>> objective = Objective(problem, structured_hinge(problem, flat(2)), flat(2), C=10.0, bias_feature=0.0)
    >>> solution = solve_kernel_rows(objective)
    >>> side = KernelSide(objective, solution, structured.adjoint(objective, solution.dual, np.ones(2, dtype=bool)))
    >>> side.of_rows(0, 2)[0].round(6).tolist(), round(side.penalty().value, 6), round(side.square().value, 6)
    ([[0.5, -0.5], [-0.5, 0.5]], 0.25, 0.5)
    """

    def __init__(self, objective: Objective, solution: Solution, adjoint: Adjoint) -> None:
        problem, tie, vectors = objective.problem, objective.tie, solution.vectors
        products = problem.products
        assert products is not None
        pinned = tie.facts.precision and tie.pinned.any()
        if pinned or tie.facts.learned or tie.facts.by_feature or not objective.loss.facts.tied_bias:
            raise DataError(
                "there is no certificate through kernels for this tie, or for biases of their own"
            )
        self.X, self.problem_products = problem.X, products
        self.between: GramTie | None = None
        self.paths, self.scale = sp.csr_array(sp.eye_array(objective.n_units)), np.ones(objective.n_units)
        if tie.facts.paths:
            self.paths, self.scale = tie.paths, tie.scale
        elif tie.facts.absolute or tie.facts.precision:
            self.between = GramTie(tie, solution.details.get("signs"))
        else:
            self.paths = tie.factor()
            self.scale = np.ones(self.paths.shape[1])
        self.bias_feature, self.adjoint = objective.bias_feature, adjoint
        self.n_rows, self.n_nodes = problem.n_rows, self.paths.shape[1]
        self.products = problem.n_rows * problem.n_rows  # what the losses cost
        own = _in_problem(vectors, products.numbers)
        wide = (self.n_nodes, self.n_rows)
        given: sp.csr_array = vectors.nodes.tocoo()  # type: ignore[attr-defined]
        coef = sp.csr_array((given.data, (given.row, own[given.col])), shape=wide)
        self.vectors = _Form(coef, abs(coef))
        under = sp.csr_array(self.paths.T)
        dual = adjoint.under(under)
        # entries that cancel are off by the sizes of what they are made of
        most = abs(under)
        sizes = sum((most @ abs(part) for part in adjoint.parts[1:]), most @ abs(adjoint.parts[0]))
        self.dual = _Form(sp.csr_array(dual), sp.csr_array(sizes))
        self.dual_share = float(
            adjoint.relative + gamma(len(adjoint.parts) * np.diff(under.indptr).max(initial=1) + 2.0)
        )
        counted = np.zeros(self.n_rows, dtype=bool)
        for form in (self.vectors, self.dual):
            counted[form.sizes.indices] = True
        self.columns = np.flatnonzero(counted)
        self.narrow = [
            _Form(form.coef[:, self.columns], form.sizes[:, self.columns])
            for form in (self.vectors, self.dual)
        ]
        self.by_row = [_Form(*(part.T.tocsr() for part in form)) for form in (self.vectors, self.dual)]
        self.terms = float(len(self.columns) + 4)
        self.intercept = np.asarray(vectors.intercept, dtype=np.float64)
        self._noted: dict[int, _Noted] = {}

    @cached_property
    def bias(self) -> Ball:
        """beta_n = s sum_i b_ni."""
        coef = self.vectors.coef
        sums = Ball(
            segment_sums(coef.data, coef.indptr),
            gamma(PAIRWISE) * segment_sums(np.abs(coef.data), coef.indptr),
        )
        return sums * self.bias_feature

    @cached_property
    def offset(self) -> Array:
        """By how much the intercepts are off those that the vectors have."""
        bias = self.bias * self.bias_feature
        paths = self.paths.astype(np.float64, copy=False)
        depth = gamma(np.diff(self.paths.indptr) + 2.0)
        return np.asarray(
            np.abs(paths @ bias.value - self.intercept)
            + abs(paths) @ bias.error
            + depth * (abs(paths) @ np.abs(bias.value))
        )

    def of_rows(self, first: int, last: int) -> tuple[Array, Array]:
        """The scores of some rows and bounds on their errors; their parts of penalty and square are noted."""
        n_classes = len(self.intercept)
        scores, errors = np.empty((last - first, n_classes)), np.empty((last - first, n_classes))
        shape = self.n_nodes if self.between is None else (self.n_nodes, self.n_nodes)
        noted = [np.zeros(shape) for _ in _Noted._fields]
        step = max(1, _BLOCK_BYTES // (8 * max(1, len(self.columns))))
        with np.errstate(all="ignore"):
            for start in range(first, last, step):
                end = min(start + step, last)
                some = slice(start - first, end - first)
                scores[some], errors[some] = self._block(start, end, noted)
        self._noted[first] = _Noted(*noted)
        return scores, errors

    def _block(self, first: int, last: int, noted: list[Array]) -> tuple[Array, Array]:
        values = self.problem_products.between(self.X, slice(first, last), self.columns).T
        sizes = np.abs(values)
        by_node: list[tuple[Array, Array]] = [
            (form.coef @ values, form.sizes @ sizes) for form in self.narrow
        ]
        for k, (found, most) in enumerate(by_node):
            coef, size = (part[first:last].T.tocsr() for part in self.by_row[k])
            if self.between is None:
                noted[2 * k] += np.asarray(coef.multiply(found).sum(axis=1)).ravel()
                noted[2 * k + 1] += np.asarray(size.multiply(most).sum(axis=1)).ravel()
            else:
                noted[2 * k] += coef @ found.T
                noted[2 * k + 1] += size @ most.T
        scored, most = by_node[0]
        paths = self.paths.astype(np.float64, copy=False)
        depth = float(np.diff(self.paths.indptr).max(initial=1))
        moved = self.problem_products.shift * self.by_row[0].sizes[first:last].toarray().T
        error = abs(paths) @ (gamma(self.terms + depth) * most + moved) + self.terms * TINY
        error = error + gamma(4) * np.abs(self.intercept)[:, None] + self.offset[:, None]
        return (paths @ scored).T + self.intercept, np.asarray(error.T)

    def _forms(self, k: int, share: float) -> Ball:
        """c_n K c_n' of every node, or c_n K c_m' of all pairs, after all rows were read; coefficients are right to
        `share` of their sizes."""
        values = np.sum([noted[2 * k] for noted in self._noted.values()], axis=0)
        sizes = np.sum([noted[2 * k + 1] for noted in self._noted.values()], axis=0)
        wide = self.by_row[k].sizes
        squares = wide.power(2).sum(axis=0) if self.between is None else (wide.T @ wide).toarray()
        rounding = gamma(2 * self.terms + self.n_rows) + share * (2.0 + share)
        error = rounding * sizes + self.problem_products.shift * (1.0 + share) ** 2 * np.asarray(squares)
        lost = self.terms**2 * TINY * (sizes > 0)
        return Ball(values, error + lost)

    def penalty(self) -> Ball:
        """1/2 sum_n (b_n K b_n' + beta_n^2) / a_n; infinite where a node of no scale has a vector."""
        if self.between is not None:
            return self.between.penalty(self._forms(0, 0.0) + _outer(self.bias))
        has = self.scale > 0
        if np.any(segment_sums(np.abs(self.vectors.coef.data), self.vectors.coef.indptr)[~has] > 0):
            return Ball(np.inf)
        squares = self._forms(0, 0.0) + square(self.bias)
        found: Ball = (squares[has] / self.scale[has] * 0.5).sum()
        return found

    def square(self) -> Ball:
        """sum_n a_n (z_n K z_n' + s^2 (sum_i z_ni)^2)."""
        squares = self._forms(1, self.dual_share)
        sums = node_sums(sp.csr_array(self.paths.T), self.adjoint) * self.bias_feature
        if self.between is not None:
            return self.between.square(squares + _outer(sums))
        if self.bias_feature:
            squares = squares + square(sums)
        found: Ball = (squares * self.scale).sum()
        return found


def kernel_objectives(
    objective: Objective, solution: Solution, dual: sp.csr_array, loss: ModuleType, run: Run
) -> tuple[Ball, Ball]:
    """The primal and the dual objective of vectors in the space of a kernel.

    >>> kernel_objectives.__name__
    'kernel_objectives'
    """
    everybody = np.ones(objective.n_units, dtype=bool)
    adjoint: Adjoint = loss.adjoint(objective, dual, everybody)
    side = KernelSide(objective, solution, adjoint)
    losses = loss.losses(objective, side, everybody, run).sum()
    primal = side.penalty() + losses
    lower = Ball(0.0) - adjoint.conjugates.sum()
    return primal, lower if np.isinf(lower.value) else lower - side.square() * 0.5


def _outer(numbers: Ball) -> Ball:
    """The products of all pairs."""
    errors = np.broadcast_to(numbers.error, numbers.value.shape)
    return Ball(numbers.value[:, None], errors[:, None]) * Ball(numbers.value[None], errors[None])


def _in_problem(vectors: Any, numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Which rows of the problem the support rows are."""
    support = getattr(vectors, "support", None)
    if support is None:
        raise DataError(
            "the problem has a kernel, and these vectors are not of its space; certify them as solved"
        )
    order = np.argsort(numbers, kind="stable")
    places = np.searchsorted(numbers, support, sorter=order)
    places = order[np.minimum(places, len(numbers) - 1)] if len(numbers) else np.zeros(0, dtype=np.intp)
    if not np.array_equal(numbers[places], support):
        raise DataError("a support row of the vectors is no row of the problem")
    return np.asarray(places)
