"""The rounds of a solve: price, tell, and go on or stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import scipy.sparse as sp

from taxolearn.engines import ThreadEngine
from taxolearn.solvers.solution import Progress, Status, status_of

OnPass = Callable[[Progress, Callable[[], sp.csr_array]], None]


@dataclass
class Rounds:
    """What a solve in rounds is told and has reached; `engine` has the clock and the flag that ends it.

    >>> rounds = Rounds(tol=0.1, max_iter=5, engine=ThreadEngine())
    >>> rounds.go_on(primal=10.0, gap=5.0), rounds.go_on(primal=10.0, gap=0.5), rounds.converged
    (True, False, True)
    """

    tol: float
    max_iter: int
    engine: ThreadEngine
    on_pass: OnPass | None = None
    dual: Callable[[], sp.csr_array] = sp.csr_array
    done: int = 0
    converged: bool = False
    status: Status = Status.ITERATION_LIMIT
    history: list[Progress] = field(default_factory=list)

    def go_on(self, primal: float, gap: float) -> bool:
        """Note what pricing found; False when the solve is over. Who goes on counts `done` up."""
        self.history.append(Progress(self.engine.seconds, self.done, primal, primal - gap))
        if self.on_pass is not None:
            self.on_pass(self.history[-1], self.dual)
        self.converged = gap <= 0.999 * self.tol * primal  # the certificate adds up in another order
        return not (self.converged or self.done >= self.max_iter or self.engine.stop[0])


def run_rounds(
    solve: Callable[[Rounds], None],
    tol: float,
    max_iter: int,
    max_seconds: float | None,
    on_pass: OnPass | None,
    dual: Callable[[], sp.csr_array] = sp.csr_array,
) -> Rounds:
    """Run `solve(rounds)` on a worker: the calling thread stays free to notice Ctrl-C and the time.

    `on_pass(progress, dual)` is called there after each pass, dual() being the duals so far.

    >>> def halve(rounds):
    ...     while rounds.go_on(1.0, 0.5**rounds.done):
    ...         rounds.done += 1
    >>> rounds = run_rounds(halve, tol=1e-3, max_iter=100, max_seconds=None, on_pass=None)
    >>> rounds.done, rounds.status.value
    (10, 'converged')
    """
    engine = ThreadEngine(max_seconds=max_seconds)
    rounds = Rounds(tol, max_iter, engine, on_pass, dual)
    outcome = engine.run(lambda _: solve(rounds), [None], lambda task, result: None)
    rounds.status = status_of(rounds.converged, outcome)
    return rounds
