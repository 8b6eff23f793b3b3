"""Which rows each class works on at the start of a tree solve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.problem import Problem
from taxolearn.solvers.tree_forest import Forest

_ANYWHERE = 64  # random rows of all that each class works on
_NEAR = 32  # random rows under each ancestor that each class works on


def first_rows(
    problem: Problem,
    forest: Forest,
    rng: np.random.Generator,
    start: sp.csr_array | None,
    highest: float,
    dtype: Any = np.float64,
) -> Any:
    """A class's own rows, random ones, and those with a dual in `start`.

    Duals are moved to between 0 and `highest` times the cost of their row. The random rows stand for all those that
    nobody looks at, and last: without them weights would drift to where many of those have a loss. Duals are kept in
    `dtype`.
    """
    from taxolearn.kernels.tree_descent import Active

    own_indptr, own_rows = _own_rows(problem, forest)
    given = sp.csr_array((problem.n_classes, problem.n_rows)) if start is None else sp.csr_array(start)
    weighted = problem.row_weight > 0
    seen = np.zeros(problem.n_rows, dtype=bool)
    rows, permanent = [], np.empty(len(forest.classes), dtype=np.int64)
    for k, guards in enumerate(_random_rows(problem, forest, own_indptr, own_rows, rng)):
        own = own_rows[own_indptr[k] : own_indptr[k + 1]]
        seen[own] = True
        guards = guards[~seen[guards]]
        seen[guards] = True
        wanted = given.indices[_span(given, forest.classes[k])]
        wanted = wanted[weighted[wanted] & ~seen[wanted]]
        mine = np.concatenate((own, guards, wanted), dtype=np.int32, casting="same_kind")
        seen[mine] = False
        permanent[k] = len(own) + len(guards)
        rows.append(mine)
    indptr = np.concatenate(([0], np.cumsum([len(mine) for mine in rows], dtype=np.int64)))
    every = np.concatenate(rows) if rows else np.empty(0, dtype=np.int32)
    active = Active(indptr, np.diff(own_indptr), every, np.zeros(len(every), dtype=dtype), permanent)
    if start is not None:
        _fill(problem, forest, given, highest, active)
    return active


def _span(matrix: sp.csr_array, number: int) -> slice:
    return slice(matrix.indptr[number], matrix.indptr[number + 1])


def _own_rows(problem: Problem, forest: Forest) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Weighted rows of each class in the forest's order."""
    weighted = sp.csr_array(problem.targets.multiply((problem.row_weight > 0)[:, None]))
    weighted.eliminate_zeros()
    by_class = weighted.tocsc()[:, forest.classes]
    return by_class.indptr.astype(np.int64), by_class.indices.astype(np.int32)


def _random_rows(
    problem: Problem, forest: Forest, own_indptr: Any, own_rows: Any, rng: np.random.Generator
) -> Iterator[npt.NDArray[np.int64]]:
    """For each class in the forest's order rows from anywhere and rows under each of its ancestors."""
    weighted = np.flatnonzero(problem.row_weight > 0)
    path: list[int] = []
    for node in range(len(forest.end)):
        while path and forest.end[path[-1]] <= node:
            path.pop()
        path.append(node)
        for _ in range(forest.first[node], forest.own[node]):
            picks = [_some(rng, weighted, _ANYWHERE)]
            for above in path:
                under = own_rows[own_indptr[forest.first[above]] : own_indptr[forest.last[above]]]
                picks.append(under if len(under) <= _NEAR else _some(rng, under, _NEAR))
            yield np.unique(np.concatenate(picks))


def _some(rng: np.random.Generator, rows: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """Random ones, some perhaps twice: what `rng.choice` does at a fifth of its cost."""
    return rows[rng.integers(0, len(rows), size)]


def _fill(problem: Problem, forest: Forest, given: sp.csr_array, highest: float, active: Any) -> None:
    """Write the given duals to the places of their rows."""
    value = np.zeros(problem.n_rows)
    for k, number in enumerate(forest.classes.tolist()):
        place, stored = slice(active.indptr[k], active.indptr[k + 1]), _span(given, number)
        rows = active.rows[place]
        cost = np.full(len(rows), problem.negative_weight[number])
        cost[: active.positive[k]] = problem.positive_weight[number]
        if np.isfinite(highest):
            cost *= highest * problem.row_weight[rows]
        else:
            cost[cost > 0] = np.inf
        value[given.indices[stored]] = given.data[stored]
        active.dual[place] = np.clip(value[rows], 0.0, cost)
        value[given.indices[stored]] = 0.0
