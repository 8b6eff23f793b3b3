"""What solves by ascent on the duals of rows share: passes by threads, an exact look, and an end that nothing cuts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import Run, running
from taxolearn.engines.base import TaskFunction
from taxolearn.objective import Objective
from taxolearn.solvers.base import Limits, Progress, Solution, Watch, status_of

_THREAD_ENTRIES = (
    2**20
)  # of X: with fewer, threads cost more than they save, and overwrite each other too often
_LIGHT_STEPS = 2**21  # multiplications in a pass over all rows: with fewer, the calling thread makes it
_LEFT = 0.7  # share of the gap seen in passing that is left after the pass, as long as nothing is known

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.intp]


class AscentRun:
    """A solve by ascent; `run` is what its work runs on."""

    run: Run

    @contextmanager
    def to_the_end(self) -> Iterator[None]:
        """What is done in here tells what was reached: neither time nor the first Ctrl-C cuts it short."""
        limited = self.run
        with running(limited.engine, to_the_end=True) as self.run:
            yield
            if self.run.clock.stop[0]:
                raise KeyboardInterrupt  # asked twice: leave at once
        self.run = limited


class RowAscent(AscentRun):
    """A solve that improves row after row while the vectors of the nodes follow.

    A subclass fills `arrays` and has one pass over all rows (`one_pass`), the making of the vectors from the duals
    (`make_vectors`), the duals (`dual`) and what is returned (`solution`). `arrays` have vectors `nodes` and
    `bias`, and `gaps` of the rows. `price_task` tells the losses and gaps of some rows. A task over rows
    returns a tuple: summed losses and gaps first.
    """

    arrays: Any
    scale: Array  # a_n of every node
    price_task: TaskFunction
    make_vectors: Callable[[], None]
    dual: Callable[[], sp.csr_array]
    solution: Callable[[], Solution]

    def begin(
        self, objective: Objective, limits: Limits, run: Run, watch: Watch | None, cost: Array, steps: int
    ) -> None:
        """What every solve begins with; `cost` is that of the rows, `steps` the multiplications in a pass."""
        X = objective.problem.X
        self.objective, self.limits, self.watch, self.run, self.clock = (
            objective,
            limits,
            watch,
            run,
            run.clock,
        )
        self.weighted: Ids = np.flatnonzero(cost > 0)
        entries = X.nnz if sp.issparse(X) else X.size
        self.n_threads = run.engine.n_workers if entries >= _THREAD_ENTRIES else 1
        self.light = self.n_threads == 1 and steps <= _LIGHT_STEPS
        self.rng = np.random.default_rng(limits.seed)
        self.done = 0
        self.exact: Progress | None = None  # of the vectors as they stand
        self.history: list[Progress] = []

    def one_pass(self) -> tuple[Array, bool]:
        """Improve all rows once; summed losses and gaps as met on the way, and whether nothing was cut short."""
        raise NotImplementedError

    def solve(self) -> Solution:
        """Passes until the gap or a limit is reached; the last entry of the history is exact."""
        self._passes()
        if self.exact is None:
            with self.to_the_end():
                self.make_vectors()  # those of the start may have been cut short
                self.exact = self.price()
        return self.solution()

    def _passes(self) -> None:
        gap, last, share = np.inf, np.inf, _LEFT
        while self.done < self.limits.max_iter and not self.hopeless() and not self.run.over():
            self.exact = None
            self.done += 1
            report, whole = self.one_pass()
            if not whole:
                return
            last, gap = gap, self._note(*self.bounds(report)).gap
            self.after_pass()
            if self.n_threads > 1:
                self.make_vectors()
            # the gap seen in passing is that of the past; what it fell by since is guessed from its last fall and from
            # the last exact look
            fall = 1.0 if self.done == 1 or last <= 0.0 else min(share, 0.9 * gap / last)
            if gap * fall <= self.limits.tol:
                self.exact = self.price()
                if self.exact is not None:
                    if self.exact.gap <= self.limits.tol:
                        return
                    share = min(1.0, self.exact.gap / gap) if gap > 0.0 else 1.0
            if self.ends_at_the_mean(gap):
                return

    def ends_at_the_mean(self, gap: float) -> bool:
        """Whether the mean of the last passes, taken over then, is within the gap asked for; `gap` is that seen in
        passing."""
        return False

    def after_pass(self) -> None:
        """What follows a pass over all rows, before the next one."""

    def hopeless(self) -> bool:
        """Whether what was reached does not promise an end."""
        return False

    def before_price(self) -> None:
        """What precedes an exact look."""

    def price(self) -> Progress | None:
        """Primal and dual of the vectors as they stand; None where this is cut short."""
        self.before_price()
        report, _, whole = self._reports(self.price_task, self._pieces(self.weighted))
        if not whole:
            return None
        return self._note(*self.bounds(report))

    def bounds(self, report: Array) -> tuple[float, float]:
        """Primal and dual from summed losses and gaps."""
        primal = self._penalty() + float(report[0])
        return primal, primal - float(report[1])

    def _penalty(self) -> float:
        from taxolearn.kernels.simplex_passes import node_squares

        squares = node_squares(self.arrays.nodes, self.arrays.bias)
        has = self.scale > 0
        return 0.5 * float(np.sum(squares[has] / self.scale[has]))

    def _note(self, primal: float, dual: float) -> Progress:
        progress = Progress(self.clock.seconds, self.done, primal, dual)
        self.history.append(progress)
        if self.watch is not None:
            self.watch(progress, self.dual)
        return progress

    def _pieces(self, rows: Ids) -> list[Ids]:
        if self.n_threads == 1:
            return [rows] if len(rows) else []
        return [piece for piece in np.array_split(rows, self.n_threads) if len(piece)]

    def _reports(self, function: TaskFunction, tasks: list[Any]) -> tuple[Array, list[Any], bool]:
        """The sum of what tasks report, all they return, and whether none was dropped or cut short."""
        found = self.run.map(function, self.arrays, tasks, light=self.light)
        done = [one for one in found if one is not None]
        whole = len(done) == len(tasks) and not self.run.clock.stop[0]
        if len(done) == 1:
            return done[0][0], done, whole
        return np.sum([one[0] for one in done], axis=0) if done else np.zeros(2), done, whole

    def _finished(self, vectors: Any, details: dict[str, Any]) -> Solution:
        """What was reached, `exact` being its bounds."""
        assert self.exact is not None
        dual = self.dual()
        self.run.over()  # a last look, so that no request goes unheard
        status = status_of(self.exact.gap <= self.limits.tol, self.run.outcome)
        return Solution(vectors, dual, status, self.done, self.history, details)
