"""Block-coordinate Frank-Wolfe (Lacoste-Julien, Jaggi, Schmidt, Pletscher 2013) for the structured hinge, as a rival.

One row is a block: the worst class of the row is the corner, the step is found by exact line search, and the update is
as sparse as the row. Scores come from the same vectorised kernel as those of taxolearn's solver, so that the two
differ in the algorithm only. The weighted average of the iterates is kept through the duals, of which the weights are
a linear function: no second copy of the weights is needed while it runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taxolearn.kernels._jit import kernel
from taxolearn.kernels.simplex_passes import _price_row, _spread, price, repack, weights_of
from taxolearn.kernels.simplex_rows import delta, row_gram, scaling_of
from taxolearn.solvers.structured import StructuredRun


@kernel
def frank_wolfe_pass(
    rows,
    square,
    label,
    cost,
    tie,
    costs,
    nodes,
    bias,
    bias_feature,
    slots,
    mean,
    last,
    step,
    order,
    scores,
    stop,
):
    """One step for each row of `order`; `mean` collects k * alpha over the steps k, up to step `last` of the row."""
    n_classes = tie.indptr.shape[0] - 1
    widest = 2
    for r in range(order.shape[0]):
        widest = max(widest, slots.indptr[order[r] + 1] - slots.indptr[order[r]] + 2)
    classes = np.empty(widest, dtype=np.int64)
    scaling = np.zeros(widest)
    toward = np.empty(widest)
    gradient_of = np.empty(n_classes)
    costs_of = np.empty(n_classes)
    marks = np.zeros(costs.paths.weight.shape[0])
    place = np.full(nodes.shape[1], -1, dtype=np.int64)
    chosen = np.empty(nodes.shape[1], dtype=np.int64)
    values = np.empty(nodes.shape[1])
    gram = np.empty((widest, widest))
    for r in range(order.shape[0]):
        i = order[r]
        y = label[i]
        c = cost[i]
        step += 1
        known = slots.count[i]
        _price_row(
            rows, i, y, c, tie, costs, nodes, bias, bias_feature, slots, scores, costs_of, marks, gradient_of
        )
        slots.count[i] = known  # only the corner may join
        corner = -1
        highest = 0.0
        for other in range(n_classes):
            if other != y and gradient_of[other] > highest:
                highest = gradient_of[other]
                corner = other
        first = slots.indptr[i]
        size = known + 1
        at = -1
        classes[0] = y
        for p in range(1, size):
            classes[p] = slots.classes[first + p - 1]
            if classes[p] == corner:
                at = p
        if corner >= 0 and at < 0:
            at = size
            size += 1
            classes[at] = corner
            slots.classes[first + at - 1] = corner
            slots.alpha[first + at - 1] = 0.0
            mean[first + at - 1] = 0.0
            slots.count[i] += 1
        slope = 0.0
        for p in range(1, size):
            toward[p] = (c if p == at else 0.0) - slots.alpha[first + p - 1]
            scaling[p] = scaling_of(costs.rescaling, delta(costs, classes[p], y))
            slope += toward[p] * gradient_of[classes[p]]
        if slope <= 0.0:
            continue
        scaling[0] = 0.0
        row_gram(tie, y, classes, scaling, size, square[i], gram)
        curvature = 0.0
        for p in range(1, size):
            for q in range(1, size):
                curvature += toward[p] * toward[q] * gram[p, q]
        length = 1.0 if slope >= curvature else slope / curvature
        passed = 0.5 * (step * (step - 1.0) - last[i] * (last[i] + 1.0))  # sum of the k since the last visit
        last[i] = step - 1
        for p in range(1, size):
            mean[first + p - 1] += passed * slots.alpha[first + p - 1]
            slots.alpha[first + p - 1] += length * toward[p]
            toward[p] = length * toward[p] * scaling[p]
        _spread(rows, i, classes, toward, size, tie, nodes, bias, bias_feature, place, chosen, values)
    return step


class FrankWolfe:
    """Passes over the rows; `gap()` and `mean_gap()` look at the iterates from outside."""

    def __init__(self, run: StructuredRun, max_passes: int) -> None:
        self.run = run
        kernels = run.kernels
        n = len(run.arrays.label)
        room = max_passes + kernels.MAX_NEW_CLASSES + 1  # a pass brings at most one class to a row
        indptr = np.arange(n + 1, dtype=np.int64) * room
        self.slots = kernels.Slots(
            indptr, np.zeros(n, np.int32), np.zeros(n * room, np.int32), np.zeros(n * room)
        )
        self.mean, self.last, self.step = np.zeros(n * room), np.zeros(n), 0

    def one_pass(self) -> None:
        a, order = self.run.arrays, self.run.rng.permutation(self.run.weighted)
        scores = np.empty(a.nodes.shape[1], dtype=a.nodes.dtype)
        self.step = frank_wolfe_pass(
            a.rows, a.square, a.label, a.cost, a.paths, a.costs, a.nodes, a.bias, a.bias_feature,
            self.slots, self.mean, self.last, self.step, order, scores, self.run.clock.stop,
        )  # fmt: skip

    def gap(self) -> float:
        return self._gap(self.slots, self.run.arrays.nodes, self.run.arrays.bias)

    def mean_gap(self, nodes: Any) -> float:
        """The gap of the weighted average; `nodes` is space for its weights."""
        run, slots, a = self.run, self.slots, self.run.arrays
        row = np.repeat(np.arange(len(self.last)), np.diff(slots.indptr))
        passed = 0.5 * (self.step * (self.step + 1.0) - self.last * (self.last + 1.0))
        alpha = (self.mean + passed[row] * slots.alpha) * 2.0 / (self.step * (self.step + 1.0))
        averaged = repack(slots._replace(alpha=alpha), run.kernels.MAX_NEW_CLASSES)
        bias = np.zeros_like(a.bias)
        weights_of(
            a.rows, a.label, a.paths, a.costs, nodes, bias, a.bias_feature, averaged, run.clock.stop
        )  # fmt: skip
        return self._gap(averaged, nodes, bias)

    def _gap(self, slots: Any, nodes: Any, bias: Any) -> float:
        run, a = self.run, self.run.arrays
        report = np.zeros(2)
        price(
            a.rows, a.label, a.cost, a.paths, a.costs, nodes, bias, a.bias_feature, repack(slots, 0),
            run.weighted, np.empty(nodes.shape[1]), np.zeros(len(self.last)), report, run.clock.stop,
        )  # fmt: skip
        squares = run.kernels.node_squares(nodes, bias)
        has = run.scale > 0
        primal = 0.5 * float(np.sum(squares[has] / run.scale[has])) + report[0]
        return float(report[1] / primal)
