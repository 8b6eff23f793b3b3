"""A block of one-vs-rest problems: sweeps and prices are kernels, Newton steps on a free face are LAPACK's."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from taxolearn.kernels import dual_descent as kernels
from taxolearn.kernels.working_rows import grow_rows
from taxolearn.losses.for_kernels import for_kernels
from taxolearn.solvers.margin_face import face_step

Array = npt.NDArray[np.float64]

MAX_ROWS_UNSHRUNK = 512  # number of rows up to which all are worked on from the start
# multiplications in sweeps, some milliseconds, after which a Newton step is worth its overhead; a class that creeps on
# gets its next steps after a quarter, a sixteenth ... of them
_STEP_WORK, _NEXT_STEP = 2.0**22, 0.25


def solve_block(
    loss: Any, rows: Any, squares: Array, positive_indptr: Any, positive_rows: Any, classes: Any, row_weight: Array,
    positive_weight: Array, negative_weight: Array, bias_feature: float, tol: float, max_epochs: int, seed: int,
    stop: Any, weights: Array, biases: Array, duals: Array, report: Array,
) -> None:  # fmt: skip
    """Solve the one-vs-rest problems of `classes`, from the given duals on.

    Fills weights (block x features), biases, duals (block x rows) and the report. Classes whose sweeps have not reached
    their goal after some epochs creep: each takes a Newton step on its free duals, and sweeps again. Few rows need no
    choice of those to work on, and its kernels are not compiled for them.
    """
    n, width, compiled, sparse = len(squares), len(classes), for_kernels(loss), loss.facts.sparse_dual
    # one stream per class: the answer does not depend on how classes are grouped
    state = (seed + classes).astype(np.uint64) * np.uint64(2654435761) + np.uint64(88172645463325252)
    grow = sparse and n > MAX_ROWS_UNSHRUNK
    working = np.full((width, n), not grow, dtype=np.uint8)
    if grow:
        kernels.first_rows(rows, positive_indptr, positive_rows, classes, weights.shape[1], state, working)
        working[duals > 0.0] = 1
    problem = (positive_indptr, positive_rows, classes, row_weight, positive_weight, negative_weight)
    answer, losses = (weights, biases, duals, report), np.empty((width, n))
    goals, creeping, per_row = np.zeros(width), np.zeros(width, dtype=np.int64), _row_size(rows, n)
    relative = 0.2 if grow else 0.5 * tol  # of a first working set's own primal: no more before it has grown
    unsolved, begin = np.arange(width), True
    while len(unsolved):
        bursts, todo, least = np.full(width, kernels.FACE_FROM), unsolved, _STEP_WORK
        while len(todo):
            kernels.sweep_block(
                compiled, sparse, rows, squares, *problem, bias_feature, begin, goals, relative, least, per_row,
                bursts, max_epochs, state, working, todo, stop, *answer, creeping,
            )  # fmt: skip
            begin = False
            todo = todo[creeping[todo] > 0]
            for b in todo.tolist():
                number = int(classes[b])
                own = positive_rows[positive_indptr[number] : positive_indptr[number + 1]]
                sign, cost = np.full(n, -1.0), row_weight * negative_weight[number]
                sign[own], cost[own] = 1.0, row_weight[own] * positive_weight[number]
                work = 2.0 * per_row * creeping[b]
                face_step(
                    loss, rows, sign, cost, squares, duals[b], weights[b], biases[b : b + 1], bias_feature, work,
                    int(creeping[b]),
                )  # fmt: skip
            bursts[todo], least = kernels.FACE_EVERY, _NEXT_STEP * least
        relative = 0.0
        unsolved = kernels.price_block(
            compiled,
            rows,
            *problem,
            bias_feature,
            tol,
            goals,
            max_epochs,
            working,
            unsolved,
            stop,
            *answer,
            losses,
        )
        for b in unsolved.tolist() if grow else ():
            grow_rows(losses[b], 0.01 * tol * report[b, kernels.REPORT_PRIMAL] / n, working[b])


def _row_size(rows: Any, n: int) -> float:
    """Stored values a row, at least 1: what a visit costs."""
    stored = rows.data.size + (rows.tail.size if hasattr(rows, "tail") else 0)
    return float(max(1.0, stored / max(1, n)))
