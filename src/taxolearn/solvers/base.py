"""What every solver takes, declares and returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import Engine, Outcome, Run, running
from taxolearn.errors import DataError
from taxolearn.losses.base import Kind
from taxolearn.objective import Objective
from taxolearn.vectors import Vectors


class Status(StrEnum):
    """Why a solver stopped.

    >>> Status.CONVERGED.value
    'converged'
    """

    CONVERGED = "converged"
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"
    ROUNDING = "rounding errors"


def status_of(converged: bool, outcome: Outcome) -> Status:
    """Why a solver stopped whose run ended so; whatever the end, what is reached counts.

    >>> status_of(False, Outcome.COMPLETED).value, status_of(True, Outcome.INTERRUPTED).value
    ('iteration limit', 'converged')
    """
    if converged:
        return Status.CONVERGED
    if outcome is Outcome.INTERRUPTED:
        return Status.INTERRUPTED
    return Status.TIME_LIMIT if outcome is Outcome.TIME_LIMIT else Status.ITERATION_LIMIT


class Progress(NamedTuple):
    """One entry of a history: what was known after so many seconds; `total` is what `done` counts up to, if known.

    >>> Progress(seconds=1.5, done=16, primal=10.0, dual=9.5).gap
    0.05
    """

    seconds: float
    done: int
    primal: float
    dual: float
    total: int | None = None

    @property
    def gap(self) -> float:
        """Relative gap (primal - dual) / primal.

        >>> Progress(0.0, 1, 0.0, 0.0).gap
        0.0
        """
        return (self.primal - self.dual) / self.primal if self.primal > 0 else 0.0

    @property
    def complete(self) -> bool:
        """Whether the bounds are those of the whole objective, and not of the first parts of it.

        >>> Progress(0.0, 1, 0.0, 0.0).complete, Progress(0.0, 1, 0.0, 0.0, total=2).complete
        (True, False)
        """
        return self.total is None or self.done >= self.total


# told after each pass, from the calling thread: the progress, and how to make the duals so far
Watch = Callable[[Progress, Callable[[], sp.csr_array]], None]


@dataclass(frozen=True)
class Limits:
    """When to stop: at a relative gap of `tol`, after `max_iter` passes, or after `max_seconds`; the seed of random
    orders; and where the work runs (None: on one thread).

    >>> Limits(tol=1e-3).max_iter
    1000
    """

    tol: float = 1e-4
    max_iter: int = 1000
    max_seconds: float | None = None
    seed: int = 0
    engine: Engine | None = None

    @contextmanager
    def run(self) -> Iterator[Run]:
        """The run of one solve within these limits.

        >>> with Limits(max_seconds=60.0).run() as run:
        ...     run.over()
        False
        """
        with running(self.engine, self.max_seconds) as run:
            yield run


class Start(NamedTuple):
    """Where a solve may begin: the dual of an earlier one, and what only the solver that made it can read.

    >>> Start().dual is None
    True
    """

    dual: sp.csr_array | None = None
    state: Any = None


@dataclass(frozen=True)
class Solution:
    """Vectors, dual, status and history of one solve.

    `dual` is classes x rows, whatever the loss. Of a loss of the margin it holds d_il >= 0, row i standing in
    the vector of class l as d_il y_il x_i; of softmax the probabilities p_il, which sum to one per row; of a structured
    hinge alpha_il >= 0, by which row i pushes its own class up and class l down; of the square loss m_il of any sign,
    row i standing in the vector of class l as m_il x_i. `state` is what a solver can begin
    with besides a dual; None: the vectors.

    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.solvers import solve_one_vs_rest
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    >>> solve_one_vs_rest(Objective(problem, Hinge(), flat(3))).status
    <Status.CONVERGED: 'converged'>
    """

    vectors: Vectors
    dual: sp.csr_array
    status: Status
    n_iter: int
    history: list[Progress] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    state: Any = None


@dataclass(frozen=True)
class Requires:
    """What a solver needs of an objective; `missing` says in words what is not there.

    `kinds` of losses; a `smooth` loss or one with a `sparse_dual`; a tie over `paths`, of a `tree`, with a sparse
    `precision`, a `definite` one, with `learned` scales or with none (None: either); a penalty with `absolute` products
    and scales that differ `by_feature` only where the solver says that it can. Losses of the kinds `paths_for` need
    paths, others do not. `starts` says whether a dual can be gone on from, so that checkpoints make sense. With
    `row_products` it is for rows of which a kernel gives products only; else rows must be vectors.

    >>> from taxolearn.losses import Logistic
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> objective = Objective(make_problem([[0.0], [1.0]], ["a", "b"]), Logistic(), flat(2))
    >>> Requires(("margin",), sparse_dual=True).missing(objective)
    "a loss whose dual is sparse, not 'logistic'"
    """

    kinds: tuple[Kind, ...]
    smooth: bool = False
    sparse_dual: bool = False
    paths: bool = False
    tree: bool = False
    precision: bool = False
    definite: bool = False
    independent: bool = False
    learned: bool | None = False
    absolute: bool = False
    starts: bool = True
    paths_for: tuple[Kind, ...] = ()
    row_products: bool = False
    by_feature: bool = False

    def missing(self, objective: Objective) -> str | None:
        """What the objective lacks, None if nothing."""
        loss, tie = objective.loss.facts, objective.tie.facts
        products = objective.problem.products
        if self.row_products != (products is not None):
            return "rows as vectors, not a kernel of them" if products is not None else "a kernel of the rows"
        if loss.kind not in self.kinds:
            return f"a loss of the kind {' or '.join(self.kinds)}, not {loss.name!r}"
        if self.smooth and not loss.smooth:
            return f"a loss with a derivative everywhere, not {loss.name!r}"
        if self.sparse_dual and not loss.sparse_dual:
            return f"a loss whose dual is sparse, not {loss.name!r}"
        if tie.absolute and not self.absolute:
            return "a penalty that is a quadratic form"
        if tie.by_feature and not self.by_feature:
            return "scales that are the same for all features"
        if (self.paths or loss.kind in self.paths_for) and not (tie.paths or tie.by_feature):
            return "classes whose vectors are sums along the paths of a taxonomy"
        if self.tree and not tie.tree:
            return "a tree"
        if self.precision and not tie.precision:
            return "a graph of classes"
        if self.definite and not tie.definite:
            return "a covariance of classes that has an inverse"
        if self.independent and tie.shares:
            return "classes that have nothing in common"
        if self.learned is not None and self.learned != tie.learned:
            return "scales that are learned" if self.learned else "scales that are given, not learned"
        return None


def check_requirements(name: str, requires: Requires, objective: Objective) -> None:
    """Refuse an objective that a solver cannot solve, in one sentence.

    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> objective = Objective(make_problem([[0.0], [1.0]], ["a", "b"]), Hinge(), flat(2))
    >>> check_requirements("newton", Requires(("margin",), smooth=True), objective)
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: solver='newton' needs a loss with a derivative everywhere, not 'hinge'
    """
    missing = requires.missing(objective)
    if missing is not None:
        raise DataError(f"solver={name!r} needs {missing}")


@dataclass
class Rounds:
    """The rounds of a solve: note what pricing found, tell who watches, and go on or stop.

    >>> with Limits(tol=0.1, max_iter=5).run() as run:
    ...     rounds = Rounds(Limits(tol=0.1, max_iter=5), run)
    ...     rounds.another(primal=10.0, gap=5.0), rounds.another(primal=10.0, gap=0.5), rounds.status.value
    (True, False, 'converged')
    """

    limits: Limits
    run: Run
    watch: Watch | None = None
    dual: Callable[[], sp.csr_array] = sp.csr_array
    done: int = 0
    converged: bool = False
    history: list[Progress] = field(default_factory=list)

    def another(self, primal: float, gap: float) -> bool:
        """Whether to go on, the objective being `primal` and at most `gap` above the optimum; counts the rounds."""
        self.history.append(Progress(self.run.clock.seconds, self.done, primal, primal - gap))
        if self.watch is not None:
            self.watch(self.history[-1], self.dual)
        self.converged = gap <= 0.999 * self.limits.tol * primal  # the certificate adds up in another order
        if self.converged or self.done >= self.limits.max_iter or self.run.over():
            return False
        self.done += 1
        return True

    @property
    def status(self) -> Status:
        """Why the rounds ended."""
        return status_of(self.converged, self.run.outcome)


def check_start(dual: sp.csr_array | None, shape: tuple[int, int]) -> None:
    """Refuse a dual to begin with that is of another problem.

    >>> check_start(sp.csr_array((2, 1)), (1, 2))
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: start has shape (2, 1), but the duals, classes x rows, have (1, 2)
    """
    if dual is not None and dual.shape != shape:
        raise DataError(f"start has shape {dual.shape}, but the duals, classes x rows, have {shape}")


def dense_start(dual: sp.csr_array | None, shape: tuple[int, int]) -> npt.NDArray[np.float64]:
    """The duals that a solve begins with, classes x rows, as an array to write to: those given, or zero.

    >>> dense_start(None, (1, 2))
    array([[0., 0.]])
    """
    check_start(dual, shape)
    if dual is None:
        return np.zeros(shape)
    return np.array(dual.toarray(), dtype=np.float64, order="C")
