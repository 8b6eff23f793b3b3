"""One solver after another, as one solve: the second has what the first has left of the limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import scipy.sparse as sp

from taxolearn.engines import Clock
from taxolearn.solvers.base import Limits, Progress, Solution, Status, Watch


def gone_on(
    first: Solution,
    solve: Callable[[Limits, Watch], Solution],
    limits: Limits,
    clock: Clock,
    watch: Watch | None,
) -> Solution:
    """What `solve` finds with the rest of the limits, with the rounds and the history of both.

    A first solution that was not cut short by a limit of rounds of its own is the answer.

    >>> from taxolearn.losses import Logistic
    >>> from taxolearn.objective import Objective
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.solvers.base import Start
    >>> from taxolearn.solvers.newton import solve_newton
    >>> from taxolearn.ties import flat
    >>> objective = Objective(make_problem([[-1.0], [1.0]], ["a", "b"]), Logistic(), flat(2))
    >>> limits, clock = Limits(tol=1e-9), Clock(None)
    >>> first = solve_newton(objective, replace(limits, max_iter=1))
    >>> both = gone_on(
    ...     first, lambda rest, watch: solve_newton(objective, rest, Start(first.dual), watch), limits, clock, None
    ... )
    >>> both.status.value, both.n_iter == both.history[-1].done
    ('converged', True)
    """
    passes = first.n_iter
    if first.status is not Status.ITERATION_LIMIT or passes >= limits.max_iter:
        return first
    seconds = first.history[-1].seconds

    def later(progress: Progress) -> Progress:
        return progress._replace(seconds=progress.seconds + seconds, done=progress.done + passes)

    def tell(progress: Progress, dual: Callable[[], sp.csr_array]) -> None:
        if watch is not None:
            watch(later(progress), dual)

    found = solve(replace(limits, max_iter=limits.max_iter - passes, max_seconds=clock.left), tell)
    history = first.history + [later(one) for one in found.history]
    return replace(found, n_iter=found.n_iter + passes, history=history)
