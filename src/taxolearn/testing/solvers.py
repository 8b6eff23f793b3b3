"""What every solver must satisfy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from taxolearn.certificates import certify
from taxolearn.engines import ThreadEngine
from taxolearn.errors import DataError
from taxolearn.objective import Objective
from taxolearn.solvers import Limits, Progress, Requires, Solution, Start, Status

Solve = Callable[..., Solution]


def check_solver(solve: Solve, requires: Requires, objective: Objective, *, tol: float = 1e-3) -> None:
    """Assert that a solver keeps its contract on an objective; see docs/adding.md.

    What it calls converged is certified by the independent certificate; its dual is classes x rows; its history ends
    at its bounds; it tells who watches; it goes on from its own dual; it stops at its limits with something certified;
    threads change nothing but rounding; and it refuses what it does not require.

    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.solvers import one_vs_rest
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[-1.0], [0.0], [1.0], [2.0]], ["a", "b", "c", "c"])
    >>> check_solver(one_vs_rest.solve_one_vs_rest, one_vs_rest.REQUIRES, Objective(problem, Hinge(), flat(3)))
    """
    missing = requires.missing(objective)
    if missing is not None:
        refusal = _refusal(solve, objective, tol)
        assert refusal is not None, f"the solver must refuse an objective without {missing}"
        assert missing in refusal, f"the refusal must say what is missing: {refusal}"
        return
    told: list[Progress] = []
    solution = solve(objective, Limits(tol), None, lambda progress, dual: told.append(progress))
    assert solution.status is Status.CONVERGED, f"stopped by {solution.status.value}"
    certificate = certify(objective, solution)
    assert certificate.holds(tol), f"called converged at a certified gap of {certificate.gap:.2e}"
    shape = (objective.n_units, objective.problem.n_rows)
    assert solution.dual.shape == shape, "the dual must be classes x rows"
    assert told, "who watches must be told"
    assert solution.history, "a history must be kept"
    assert told[-1] == solution.history[-1], "who watches must be told the last bounds"
    _check_limits(solve, objective, tol)
    with ThreadEngine(2) as engine:
        parallel = solve(objective, Limits(tol, engine=engine))
    assert certify(objective, parallel, engine).holds(tol), "two threads do not reach the gap"
    if requires.starts:
        again = solve(objective, Limits(tol), Start(solution.dual, solution.state))
        assert certify(objective, again).holds(tol), "from its own dual it does not reach the gap"
        assert again.n_iter <= solution.n_iter, "from its own dual it takes longer than from nothing"


def _refusal(solve: Solve, objective: Any, tol: float) -> str | None:
    try:
        solve(objective, Limits(tol))
    except DataError as error:
        return str(error)
    return None


def _check_limits(solve: Solve, objective: Any, tol: float) -> None:
    for limits in (Limits(1e-15, max_iter=1), Limits(1e-15, max_seconds=1e-9)):
        stopped = solve(objective, limits)
        certificate = certify(objective, stopped)
        assert np.isfinite(certificate.primal), "a stopped solve must leave finite vectors"
        assert certificate.lower <= certificate.upper, "a stopped solve must leave a true certificate"
        assert stopped.status is not Status.CONVERGED or certificate.gap <= 1e-9, (
            "stopped, yet called converged"
        )
