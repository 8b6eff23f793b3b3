"""Which rows each class works on at the start of a tree solve."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.problem import Problem
from taxolearn.solvers.tree_forest import Forest

_ANYWHERE, _NEAR = 64, 32  # random rows: of all, and under each ancestor


def first_rows(problem: Problem, forest: Forest, rng: np.random.Generator, dtype: Any) -> Any:
    """A class's own rows, random ones, and random ones under each of its ancestors, all at dual zero."""
    own_indptr, own_rows = _own_rows(problem, forest)
    weighted = np.flatnonzero(problem.row_weight > 0)
    chosen: list[Any] = [None] * len(forest.classes)
    path: list[int] = []
    for node in range(len(forest.end)):
        while path and forest.end[path[-1]] <= node:
            path.pop()
        path.append(node)
        for k in range(forest.first[node], forest.own[node]):
            picks = [rng.choice(weighted, _ANYWHERE)]
            for above in path:
                under = own_rows[own_indptr[forest.first[above]] : own_indptr[forest.last[above]]]
                picks.append(under if len(under) <= _NEAR else rng.choice(under, _NEAR))
            chosen[k] = np.unique(np.concatenate(picks))
    return _pack(own_indptr, own_rows, chosen, problem.n_rows, dtype)


def given_rows(problem: Problem, forest: Forest, start: sp.csr_array, highest: float, dtype: Any) -> Any:
    """A class's own rows and those with a dual in `start`, which is moved to between 0 and `highest` times its cost."""
    own_indptr, own_rows = _own_rows(problem, forest)
    weighted = problem.row_weight > 0
    given = sp.csr_array(start)
    spans = [slice(*given.indptr[k : k + 2].tolist()) for k in forest.classes.tolist()]
    chosen = [given.indices[span][weighted[given.indices[span]]] for span in spans]
    active = _pack(own_indptr, own_rows, chosen, problem.n_rows, dtype)
    active = active._replace(lasting=active.positive)
    value = np.zeros(problem.n_rows)
    for k, (number, stored) in enumerate(zip(forest.classes.tolist(), spans, strict=True)):
        first, last = active.indptr[k], active.indptr[k + 1]
        rows = active.rows[first:last]
        cost = np.full(len(rows), problem.negative_weight[number])
        cost[: active.positive[k]] = problem.positive_weight[number]
        if np.isfinite(highest):
            cost *= highest * problem.row_weight[rows]
        else:
            cost[cost > 0] = np.inf
        value[given.indices[stored]] = given.data[stored]
        active.dual[first:last] = np.clip(value[rows], 0.0, cost)
        value[given.indices[stored]] = 0.0
    return active


def _own_rows(problem: Problem, forest: Forest) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Weighted rows of each class in the forest's order."""
    weighted = sp.csr_array(problem.targets.multiply((problem.row_weight > 0)[:, None]))
    weighted.eliminate_zeros()
    by_class = weighted.tocsc()[:, forest.classes]
    return by_class.indptr.astype(np.int64), by_class.indices.astype(np.int32)


def _pack(
    own_indptr: npt.NDArray[np.int64],
    own_rows: npt.NDArray[np.int32],
    chosen: list[Any],
    n_rows: int,
    dtype: Any,
) -> Any:
    """Each class's own rows, then those of the chosen ones that are not its own, at dual zero."""
    from taxolearn.kernels.tree_descent import Active

    pieces = []
    is_own = np.zeros(n_rows, dtype=bool)
    for k, rows in enumerate(chosen):
        own = own_rows[own_indptr[k] : own_indptr[k + 1]]
        is_own[own] = True
        pieces += [own, rows[~is_own[rows]].astype(np.int32)]
        is_own[own] = False
    sizes = np.array([len(piece) for piece in pieces], dtype=np.int64).reshape(-1, 2).sum(axis=1)
    indptr = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))
    every = np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int32)
    # random rows stand for all those that nobody looks at: without them weights would drift to where they have a loss
    return Active(indptr, np.diff(own_indptr), every, np.zeros(len(every), dtype=dtype), sizes)
