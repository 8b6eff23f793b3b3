"""Solve an objective by the solver that suits it, and a sum of objectives part by part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from taxolearn.engines import Clock, Run, under
from taxolearn.errors import DataError
from taxolearn.objective import Objective, Parts
from taxolearn.solvers.base import Limits, Progress, Solution, Start, Status, Watch
from taxolearn.solvers.choice import Solver, choose_solver
from taxolearn.vectors import ClassVectors, KernelVectors, Vectors

_SPARSE = 0.1  # share of entries up to which the vectors of parts on features of their own are kept sparse
_SMALLEST_STUCK_GAP = 1e-9  # relative; below it double precision gives no more, and no other solver is tried


def solve(
    objective: Objective | Parts,
    limits: Limits,
    start: Start | None = None,
    watch: Watch | None = None,
    *,
    asked: Any = "auto",
    among: Sequence[str],
    goes_on: bool = False,
) -> Solution:
    """The solution by the solver asked for: one of `among` by name, "auto", or options that are a solver themselves.

    `goes_on` asks for a solver that can go on from duals. Where rounding ends the one that "auto" takes, the next one
    tries, and the closer of the two stays.

    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> objective = Objective(make_problem([[-1.0], [1.0]], ["a", "b"]), Hinge(), flat(2))
    >>> solve(objective, Limits(), among=["one_vs_rest"]).status.value
    'converged'
    """
    if isinstance(objective, Parts):
        return _solve_parts(objective, limits, start, watch, asked, among, goes_on)
    if not isinstance(asked, str):
        solution: Solution = asked.solve(objective, limits, start, watch)
        return solution
    begun = start is not None and start.dual is not None
    solver = choose_solver(objective, limits, asked, among=among, checkpoint=goes_on, begun=begun)
    solution = solver.solve(objective, limits, start, watch)
    stuck = solution.status is Status.ROUNDING and solution.history[-1].gap > _SMALLEST_STUCK_GAP
    if asked == "auto" and stuck:
        return _closer_of(
            solution, _by_another(objective, limits, start, watch, solver, among, goes_on, solution)
        )
    return solution


def _by_another(
    objective: Objective,
    limits: Limits,
    start: Start | None,
    watch: Watch | None,
    first: Solver,
    among: Sequence[str],
    goes_on: bool,
    found: Solution,
) -> Solution | None:
    """What the next solver makes of an objective that rounding kept the first from solving; None if there is none."""
    others = [name for name in among if name != first.name]
    left = None if limits.max_seconds is None else limits.max_seconds - found.history[-1].seconds
    if not others or (left is not None and left <= 0):
        return None
    try:
        second = choose_solver(objective, limits, among=others, checkpoint=goes_on)
    except DataError:  # none of them can
        return None
    return second.solve(objective, replace(limits, max_seconds=left), start, watch)


def _closer_of(first: Solution, second: Solution | None) -> Solution:
    """The solution with the smaller gap, as the solvers measure it."""
    if second is None or not second.history:
        return first
    return second if second.history[-1].gap < first.history[-1].gap else first


def _solve_parts(
    whole: Parts,
    limits: Limits,
    start: Start | None,
    watch: Watch | None,
    asked: Any,
    among: Sequence[str],
    goes_on: bool,
) -> Solution:
    """One part after the other, within the limits of the whole; a part that was not begun keeps vectors of zero."""
    duals: list[Any] = [None] * len(whole.parts)
    if start is not None and start.dual is not None:
        duals = list(whole.split(start.dual))
    found: list[Solution] = []
    history: list[Progress] = []
    with limits.run() as run:
        tasks = [
            _Part(part, None if dual is None else Start(dual))
            for part, dual in zip(whole.parts, duals, strict=True)
        ]
        how = _How(replace(limits, engine=None), asked, tuple(among), goes_on)
        solved: list[Any] = [None] * len(tasks)
        if (
            run.cluster.n_processes > 1
        ):  # elsewhere each is solved by one worker, here one after the other by all
            solved = run.map(_solve_part, run.share(how), tasks, anywhere=True)
        for task, one in zip(tasks, solved, strict=True):
            if one is None:
                ended = run.over()
                inner = replace(limits, engine=run.engine, max_seconds=run.clock.left)
                inner = replace(inner, max_iter=1, max_seconds=1e-9) if ended else inner
                one = solve(task.objective, inner, task.start, asked=asked, among=among, goes_on=goes_on)
            found.append(one)
            history.append(_progress(run, one, history, len(whole.parts)))
            if watch is not None:
                watch(history[-1], lambda: _joined(whole, found, duals))
    status = next((one.status for one in found if one.status is not Status.CONVERGED), Status.CONVERGED)
    return Solution(
        _vectors(whole, found),
        _joined(whole, found, duals),
        status,
        max((one.n_iter for one in found), default=0),
        history,
        {"parts": found},
    )


class _How(NamedTuple):
    """What the solves of all parts have in common."""

    limits: Limits
    asked: Any
    among: tuple[str, ...]
    goes_on: bool


class _Part(NamedTuple):
    """One part of a sum, and where to begin."""

    objective: Objective
    start: Start | None


def _solve_part(how: _How, part: _Part, clock: Clock) -> Solution:
    """One part, solved to its end or until the clock says so."""
    limits, asked, among, goes_on = how
    with under(clock):
        limits = replace(limits, max_seconds=clock.left)
        return solve(part.objective, limits, part.start, asked=asked, among=among, goes_on=goes_on)


def _progress(run: Run, one: Solution, before: Sequence[Progress], total: int) -> Progress:
    """What is known after one more part."""
    primal, dual = (before[-1].primal, before[-1].dual) if before else (0.0, 0.0)
    if one.history:
        primal, dual = primal + one.history[-1].primal, dual + one.history[-1].dual
    return Progress(run.clock.seconds, len(before) + 1, primal, dual, total)


def _joined(whole: Parts, found: Sequence[Solution], duals: Sequence[Any]) -> sp.csr_array:
    """The dual so far: what was found, then what was begun with."""
    known: list[sp.csr_array] = [one.dual for one in found]
    for dual, units, rows in list(zip(duals, whole.units, whole.rows, strict=True))[len(known) :]:
        known.append(sp.csr_array((len(units), len(rows))) if dual is None else dual)
    return whole.join(known)


def _vectors(whole: Parts, found: Sequence[Solution]) -> Vectors:
    if whole.problem.products is not None:
        return _kernel_vectors(whole, [one.vectors for one in found])
    intercept = np.zeros(whole.n_units)
    for one, units in zip(found, whole.units, strict=True):
        intercept[units] = one.vectors.intercept
    n_features = whole.problem.n_features
    features = [
        np.arange(n_features) if some is None else some for some in whole.features or (None,) * len(found)
    ]
    entries = sum(len(units) * len(some) for units, some in zip(whole.units, features, strict=True))
    few = entries <= _SPARSE * whole.n_units * n_features
    coef = np.zeros((0 if few else whole.n_units, n_features))
    kept: list[tuple[Any, Any, Any]] = []
    for one, units, some in zip(found, whole.units, features, strict=True):
        part = one.vectors.coef
        part = part.toarray() if sp.issparse(part) else part
        if few:
            row, column = np.nonzero(part)
            kept.append((part[row, column], units[row], some[column]))
        else:
            coef[units[:, None], some] = part
    if not few:
        return ClassVectors(coef, intercept)
    data, row, column = (np.concatenate(part) for part in zip(*kept, strict=True))
    shape = (whole.n_units, n_features)
    return ClassVectors(sp.csr_array((data, (row, column)), shape=shape), intercept)


def _kernel_vectors(whole: Parts, found: Sequence[Any]) -> KernelVectors:
    """The vectors of all parts over the support rows of any of them."""
    problem = whole.problem
    products = problem.products
    assert products is not None
    support = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(one.support for one in found)]))
    places = [np.searchsorted(support, one.support) for one in found]
    nodes = [
        sp.csr_array((one.class_coef.data, place[one.class_coef.indices], one.class_coef.indptr))
        for one, place in zip(found, places, strict=True)
    ]
    for one in nodes:
        one.resize(one.shape[0], len(support))
    units = np.concatenate([np.zeros(0, dtype=np.intp), *whole.units]).astype(np.intp)
    intercept = np.zeros(whole.n_units)
    intercept[units] = np.concatenate([np.zeros(0), *(one.intercept for one in found)])
    stacked = sp.coo_array(sp.vstack([sp.csr_array((0, len(support))), *nodes]))
    shape = (whole.n_units, len(support))
    coef = sp.csr_array((stacked.data, (units[stacked.row], stacked.col)), shape=shape)
    order = np.argsort(products.numbers, kind="stable")
    own = order[np.searchsorted(products.numbers, support, sorter=order)]
    return KernelVectors(
        products.kernel,
        None if products.kernel.is_precomputed else problem.X[own],
        coef,
        sp.csr_array(sp.eye_array(whole.n_units)),
        intercept,
        support,
        problem.one_label[0][own].astype(np.int32),
        problem.n_features,
    )
