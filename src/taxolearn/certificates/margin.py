"""The losses of the margin: each score by itself, and one part per class."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.certificates.columns import Columns
from taxolearn.certificates.rounding import (
    LEAST_COST,
    TINY,
    UNIT,
    Array,
    Ball,
    gamma,
    pairwise,
    segment_sums,
    weighted_sums,
)
from taxolearn.certificates.scores import Scores, exact_products
from taxolearn.certificates.sums import Adjoint
from taxolearn.engines import Run
from taxolearn.objective import Objective

_BLOCK_BYTES = 144 * 2**20  # of vectors at a time: one read of X serves them all
_WIDEST = 64  # classes at a time
_ROWS = 2**14  # scored at a time: their losses are added up while in cache
_DUALS = 2**20  # looked at together
_TABLE = 2**16  # rows x classes that are kept as a table
_LIGHT = 2**20  # products that take a millisecond
_TASKS_PER_WORKER = 8  # several even out what differs in work
_SLACK = 2.0**-48  # share by which a dual may exceed its bound; it is then lowered to it
_OF_VALUE = 64  # roundings in one value of a loss
_ROUNDED_UP = 1.0 + 1e-9  # for bounds that are computed in floating point themselves
_UNKNOWN = 2.0**-40  # error of a conjugate, relative to it and its dual, of a loss that does not say


def losses(objective: Objective, scores: Scores, classes: npt.NDArray[np.bool_], run: Run) -> Ball:
    """The sum over all rows of c_il loss(y_il s_il), one per class; `classes` are those that count.

    A class's own rows and all others are added up by themselves: nothing cancels.
    """
    problem = objective.problem
    numbers = np.flatnonzero(classes)
    each = (4 if scores.short else 8) * max(problem.n_rows, problem.n_features)
    width = max(1, min(_WIDEST, _BLOCK_BYTES // each))
    blocks = -(-len(numbers) // width)  # neighbours in one task: vectors of nodes above both are made once
    stride = width * max(1, blocks // (_TASKS_PER_WORKER * run.cluster.n_workers))
    tasks = [(numbers[first : first + stride], width) for first in range(0, len(numbers), stride)]
    scores.prepare()
    weights = problem.row_weight, problem.positive_weight, problem.negative_weight
    shared = run.share(_Shared(problem.targets, *weights, objective.loss, scores))
    parts = run.map(_class_losses, shared, tasks, light=scores.products < _LIGHT, anywhere=True)
    found = Ball(np.zeros(problem.n_classes), np.zeros(problem.n_classes))
    for (some, _), (total, seen) in zip(tasks, parts, strict=True):
        found.value[some], found.error[some] = total.value, total.error
        scores.columns.note(seen)
    return found * objective.C


class _Shared(NamedTuple):
    """What all tasks read."""

    targets: sp.csr_array
    row_weight: Array
    positive_weight: Array
    negative_weight: Array
    loss: Any
    scores: Scores


class _Block(NamedTuple):
    """Some classes and their vectors."""

    numbers: npt.NDArray[Any]
    place: npt.NDArray[Any]  # of each class in the block, -1 outside
    columns: Columns


def _class_losses(shared: _Shared, task: tuple[npt.NDArray[Any], int], clock: Any) -> tuple[Ball, Any]:
    """The weighted losses of some classes over all rows, C left out, and what was seen of their vectors."""
    numbers, width = task
    n_rows, n_classes = shared.targets.shape
    own = shared.scores.columns.apart()
    found = Ball(np.zeros(len(numbers)), np.zeros(len(numbers)))
    for start in range(0, len(numbers), width):
        some = numbers[start : start + width]
        place = np.full(n_classes, -1)
        place[some] = np.arange(len(some))
        block = _Block(some, place, own.of(some, shared.scores.tight, shared.scores.short))
        spans = ((first, min(first + _ROWS, n_rows)) for first in range(0, n_rows, _ROWS))
        total = _losses_of(shared, block, next(spans))
        for span in spans:
            total = total + _losses_of(shared, block, span)
        found.value[start : start + width], found.error[start : start + width] = total.value, total.error
    return found, own.seen()


def _losses_of(shared: _Shared, of: _Block, span: tuple[int, int]) -> Ball:
    """The weighted losses of some rows, one sum per class of the block."""
    with np.errstate(all="ignore"):
        loss, scores = shared.loss, shared.scores
        block, place, columns = of
        first, last = span
        X = scores.rows.part(first, last)
        intercept = scores.intercept[block]
        found = exact_products(X, columns.vectors)
        found += intercept
        weight = shared.row_weight[first:last]
        own, ends = _own_entries(shared.targets, first, last, place, len(block))
        at_own = found[own]
        np.negative(found, out=found)
        values, own_values = loss.value(found), loss.value(at_own)
        values[own] = 0.0

        margin = abs(float(getattr(loss, "margin", 1.0)))
        norms, g = scores.rows.norms[first:last, None], scores.gammas[first:last, None]
        steepest = float(loss.kernel_upper(loss, 1.0))
        lost = scores.lost(columns.sizes) + scores.offset[block]
        fixed = np.abs(intercept) + margin
        slack = scores.slack[block] + (scores.rounded(columns.sizes) if scores.short else 0.0)
        steepness = getattr(loss, "steepness", None)
        if not scores.tight and steepness is not None:
            # loss(m - e) - loss(m) <= |loss'(m)| e + curvature e^2 / 2, and e is a product of two thin matrices
            of_row = np.hstack([g, norms, np.ones_like(g), g * norms])
            of_class = np.vstack([fixed, slack, lost, columns.sizes])
            slopes, curvature = steepness(values)
            squares = (
                len(of_class) * (weight @ of_row**2) @ of_class**2
            )  # (a + b + c + d)^2 <= 4 (a^2 + b^2 + c^2 + d^2)
            others = _ROUNDED_UP * (
                np.sum(of_class * ((weight[:, None] * of_row).T @ slopes), axis=0) + 0.5 * curvature * squares
            )
            at = np.sum(of_row[own[0]] * of_class.T[own[1]], axis=1)
            of_own = _ROUNDED_UP * segment_sums(
                weight[own[0]] * (steepness(own_values)[0] * at + 0.5 * curvature * at * at), ends
            )
        elif scores.tight or not np.isfinite(steepest):
            # g (||x|| sizes + fixed) + ||x|| slack + lost, in one product
            left, right = [g, norms, np.ones_like(g)], [fixed, slack, lost]
            if columns.magnitudes is None:
                left, right = [*left, g * norms], [*right, columns.sizes]
            errors = np.hstack(left) @ np.vstack(right)
            if columns.magnitudes is not None:
                errors += g * (abs(X) @ columns.magnitudes)
            # losses are convex and do not rise: to the left they change most
            own_errors = loss.value(at_own - errors[own]) - own_values
            errors = loss.value(found - errors) - values
            errors[own] = 0.0
            others = weighted_sums(weight, errors)
            of_own = segment_sums(weight[own[0]] * own_errors, ends)
        else:
            one = weight * g[:, 0], weight * norms[:, 0], weight
            two = one[0] * norms[:, 0]
            by_class = [segment_sums(part[own[0]], ends) for part in (two, *one)]
            others, of_own = (
                steepest * (a * columns.sizes + b * fixed + c * slack + d * lost)
                for a, b, c, d in ([part.sum() for part in (two, *one)], by_class)
            )
        rounding = gamma(2 * pairwise(len(weight)) + _OF_VALUE)
        sums = weighted_sums(weight, values)
        own_sums = segment_sums(weight[own[0]] * own_values, ends)
        lost = TINY * (np.count_nonzero(weight) + weight.sum())
        of_others: Ball = Ball(sums, others + rounding * sums + lost) * shared.negative_weight[block]
        of_rows: Ball = Ball(own_sums, of_own + rounding * own_sums + lost) * shared.positive_weight[block]
        return of_others + of_rows


def _own_entries(
    targets: sp.csr_array, first: int, last: int, place: npt.NDArray[Any], width: int
) -> tuple[tuple[npt.NDArray[Any], npt.NDArray[Any]], npt.NDArray[Any]]:
    """Where in a block rows x classes the rows' own classes stand, class after class, and where each class ends."""
    indptr = targets.indptr[first : last + 1]
    column = place[targets.indices[indptr[0] : indptr[-1]]]
    row = np.repeat(np.arange(last - first), np.diff(indptr))
    order = np.argsort(column, kind="stable")
    order = order[np.count_nonzero(column < 0) :]
    row, column = row[order], column[order]
    return (row, column), np.searchsorted(column, np.arange(width + 1))


def adjoint(objective: Objective, dual: sp.csr_array, classes: npt.NDArray[np.bool_]) -> Adjoint:
    """d_il y_il, and sum_i (c_il loss)*(-d_il) per class: infinite outside the bounds and without losses."""
    problem, loss = objective.problem, objective.loss
    own = _OwnClasses(problem.targets)
    signed = np.empty(dual.nnz)
    conjugates, errors = np.zeros(problem.n_classes), np.zeros(problem.n_classes)
    size = np.zeros(problem.n_classes)
    for start in range(0, dual.nnz, _DUALS):
        last = min(start + _DUALS, dual.nnz)
        ends = np.clip(dual.indptr, start, last) - start
        k = np.repeat(np.arange(problem.n_classes), np.diff(ends))
        i, d = dual.indices[start:last], dual.data[start:last].astype(np.float64)
        has = own.holds(i, k)
        weight = np.where(has, problem.positive_weight[k], problem.negative_weight[k])
        cost = objective.C * problem.row_weight[i] * weight
        upper = loss.kernel_upper(loss, 1.0) * cost
        d = np.where((d > upper) & (d <= upper * (1 + _SLACK)), upper, d)
        terms = loss.conjugate(d, cost)
        terms[(d != 0) & ~classes[k]] = np.inf
        error = _conjugate_error(loss, d, cost, terms)
        error[(d != 0) & ~((cost >= LEAST_COST) & np.isfinite(cost))] = np.inf
        conjugates += segment_sums(terms, ends)
        errors += segment_sums(error, ends)
        size += segment_sums(np.abs(terms), ends)
        signed[start:last] = np.where(has, d, -d)
    rounds = pairwise(np.diff(dual.indptr)) + 1 + dual.nnz // _DUALS
    matrix = copy(dual)  # its entries are where the duals are: nothing of them has to be checked again
    matrix.data = signed
    return Adjoint((matrix,), Ball(conjugates, errors + gamma(rounds) * size), relative=8 * UNIT)


def _conjugate_error(loss: Any, dual: Array, cost: Array, terms: Array) -> Array:
    error = getattr(loss, "conjugate_error", None)
    if error is None:
        return np.asarray(_UNKNOWN * (np.abs(terms) + dual))
    return np.asarray(error(dual, cost))


class _OwnClasses:
    """Which classes rows have: a table, or where that would be large, a sorted number for each row and class of it."""

    def __init__(self, targets: sp.csr_array) -> None:
        n, self.n_classes = targets.shape
        self.table = targets.toarray() > 0 if n * self.n_classes <= _TABLE else None
        if self.table is None:
            rows = np.arange(n, dtype=np.int64) * self.n_classes
            self.keys: npt.NDArray[np.int64] = np.repeat(rows, np.diff(targets.indptr)) + targets.indices
            self.keys.sort()

    def holds(self, rows: Any, classes: Any) -> npt.NDArray[np.bool_]:
        """Whether row rows[j] has class classes[j], for every j."""
        if self.table is not None:
            return np.asarray(self.table[rows, classes])
        if not len(self.keys):
            return np.zeros(len(rows), dtype=bool)
        wanted = rows.astype(np.int64) * self.n_classes + classes
        place = np.searchsorted(self.keys, wanted)
        place[place == len(self.keys)] = 0
        return np.asarray(self.keys[place] == wanted)
