"""Shared SVM: node vectors and the scales of the nodes learned together, by turns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import Run
from taxolearn.errors import DataError
from taxolearn.objective import Objective
from taxolearn.scales import largest_penalty, shared_scales
from taxolearn.solvers.base import (
    Limits,
    Progress,
    Requires,
    Solution,
    Start,
    Status,
    Watch,
    check_requirements,
    status_of,
)
from taxolearn.solvers.choice import suits_interior
from taxolearn.solvers.interior import solve_interior
from taxolearn.solvers.structured import solve_structured
from taxolearn.structure.names import show
from taxolearn.ties import PathSum, SharedTie

REQUIRES = Requires(("structured",), paths=True, learned=True)

_FIRST_GAP, _FINEST_GAP = 1e-2, 1e-14  # largest and smallest gap that a turn of u is solved to
_FIRST_GAP_INSIDE = 0.1  # largest one of interior points, which reach closer gaps in a step or two
_INNER_TOL_SHARE = 0.2  # gap that a turn of u is solved to, as a share of the joint gap,
_LEAST_TOL_SHARE = 1e-4  # down to this where turns gain nothing
# A gap of u is one of its dual vectors' squares: the joint bound, a maximum over scales, is off by the gap's root.
_SQUARE_SHARE = 10.0  # gap that a turn of u is solved to, as a share of the square of the joint gap
_CORNER_TOL_SHARE = 0.5  # gap that u is solved to in what may be the last turn, as a share of the joint one
_LEAST_SCALE = 1e-10  # a scale of exactly zero could never rise again
_ENOUGH_GAIN = 0.02  # a turn that gains a smaller share of the joint gap is slow
_SLOW_TURNS = 5  # after so many slow turns a step towards a corner is made
_LONGEST_STRETCH = 16.0  # largest power that a step of the scales is raised to
_FIRST_MIX = 0.1  # share of the corner in the first step towards it
_LIMITS = Limits(tol=1e-3)

Array = npt.NDArray[np.float64]


def solve_shared(
    objective: Objective, limits: Limits = _LIMITS, start: Start | None = None, watch: Watch | None = None
) -> Solution:
    """Minimise (14) of Choi, Sasaki and Srebro over node vectors u and scales a,

        1/2 sum_n ||u_n||^2 / a_n + sum_i c_i max(0, max_l D(l, y_i) - S(l, y_i) (w_{y_i} - w_l) . x_i),
        sum of a_n along every path at most one,

    which is convex in both together. By turns u for fixed a (the structured solver, started from its last dual) and a
    for fixed u (closed form on trees, a cone programme on DAGs), in steps stretched for as long as the objective falls.
    The tie's scale is the first a: strictly positive, because u_n = 0 where a_n = 0, and then a_n stays zero. The lower
    bound is that of the joint problem: for any feasible dual, sum alpha D - 1/2 max over a of sum_n a_n ||z_n||^2.
    The learned scales are `details["scale"]`, and the `state` that a start goes on from; the history's primal never
    rises.

    >>> from taxolearn import Taxonomy
    >>> from taxolearn.losses import structured_hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import shared_tie
    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> problem = make_problem([[-1.0], [1.0]], ["Cat", "Dog"], tree)
    >>> tie = shared_tie(tree, problem.class_nodes, np.array([0.5, 0.5, 0.5]))
    >>> solution = solve_shared(Objective(problem, structured_hinge(problem, tie, "zero_one"), tie))
    >>> solution.state.round(3).tolist()
    [0.0, 1.0, 1.0]
    """
    check_requirements("shared", REQUIRES, objective)
    tie: SharedTie = objective.tie
    zero = np.flatnonzero(tie.used & ~(tie.scale > 0))
    if len(zero):
        raise DataError(
            f"the first weight of {show(tie.taxonomy.name_of(zero[0]))} is {tie.scale[zero[0]]:g}, and a weight of "
            "zero can never rise; start from strictly positive weights"
        )
    with limits.run() as run:
        return Alternation(objective, limits, run, start or Start(), watch).solve()


class _Turn(NamedTuple):
    """What a turn of u and one of a found."""

    solution: Solution | None  # None: let go, as its vectors can be made anew from dual and scales
    dual: sp.csr_array
    of_scale: Array  # the a that u was solved for
    tol: float  # to which u was solved
    scale: Array  # the a that suits u best
    corner: Array  # the allowed a of the largest penalty
    primal: float  # the joint objective at u and `scale`
    bound: float  # below the joint optimum,
    share: float  # reached by this share of the dual


@dataclass
class _Pace:
    """How exactly the next u is solved for, and how far the next a goes."""

    tol_share: float = _INNER_TOL_SHARE
    stretch: float = 1.0
    mix: float = _FIRST_MIX
    slow: int = 0  # turns without enough gain

    def solve_finer(self) -> None:
        self.tol_share, self.stretch = max(0.1 * self.tol_share, _LEAST_TOL_SHARE), 1.0


class Alternation:
    """Both turns, the best u and a they found, and the dual with the best lower bound."""

    def __init__(
        self, objective: Objective, limits: Limits, run: Run, start: Start, watch: Watch | None
    ) -> None:
        self.objective, self.limits, self.run, self.watch = objective, limits, run, watch
        self.tie: SharedTie = objective.tie
        self.scale = start.state if self._fits(start.state) else self.tie.scale
        self.dual = self.best_dual = start.dual
        self.best: _Turn | None = None
        self.primal, self.lower, self.done = np.inf, -np.inf, 0
        self.pace = _Pace()
        self.history: list[Progress] = []
        self.interior = suits_interior(self._for_scales(), begun=start.dual is not None)
        self.at_corner = False
        self.best_solution: Solution | None = (
            None  # only of interior points: their vectors are not those of a dual
        )

    def _fits(self, state: Any) -> bool:
        """Whether it holds scales to begin with: one per node, none of them zero, at most one along every path."""
        if (
            not isinstance(state, np.ndarray)
            or state.dtype != np.float64
            or state.shape != (self.tie.n_nodes,)
        ):
            return False
        return bool(np.all(state[self.tie.used] > 0) and np.all(self.tie.paths @ state <= 1 + 1e-9))

    def solve(self) -> Solution:
        """Turn by turn, until the joint gap or a limit is reached."""
        while True:
            turn = self._turn()
            gained = self._keep_if_best(turn)
            self._note()
            converged = self.history[-1].gap <= self.limits.tol
            over = self.run.over() or converged or self.done >= self.limits.max_iter
            solution = turn.solution if over and gained else None
            turn = turn._replace(
                solution=None
            )  # duals are kept, vectors are not: there is room for them once
            if over:
                return self._solution(solution, converged)
            self.at_corner = self.interior and len(self.history) == 1
            if self.at_corner:
                # often the best scales are a corner already: if not, an interior point has lost a dozen steps
                self.scale = self._lifted(turn.corner)
            else:
                # few rows alone are a reason for two turns only
                self.interior = suits_interior(self._for_scales())
                self._step(gained, turn.scale)

    def _turn(self) -> _Turn:
        """The turn of u, the turn of a, and both bounds on the joint optimum."""
        gap = self.history[-1].gap if self.history else 1.0
        first = _FIRST_GAP_INSIDE if self.interior else _FIRST_GAP
        tol = max(min(first, self.pace.tol_share * gap, _SQUARE_SHARE * gap**2), _FINEST_GAP)
        if self.at_corner:
            tol = min(tol, _CORNER_TOL_SHARE * self.limits.tol)
        solution = self.turn_of_vectors(tol, self.limits.max_iter - self.done)
        self.dual, self.done = solution.dual, self.done + max(1, solution.n_iter)
        last = solution.history[-1]
        squares = solution.details["node_squares"]  # ||u_n||^2, the bias included
        scale = self.turn_of_scales(squares)
        penalty = _penalty(squares, self.scale)
        largest, corner = self._largest_penalty(solution)
        primal = last.primal - penalty + _penalty(squares, scale)
        # of a dual that is cut short a part may prove more: its term is linear in it, its largest penalty quadratic
        linear = solution.details["linear"]
        share = min(1.0, max(0.0, linear / largest)) if largest > 0 else 1.0
        bound = share * linear - 0.5 * share**2 * largest
        return _Turn(solution, solution.dual, self.scale, tol, scale, corner, primal, bound, share)

    def turn_of_vectors(self, tol: float, max_iter: int) -> Solution:
        """The best u for the scales as they are."""
        limits = Limits(tol, max_iter, self.run.clock.left, self.limits.seed, self.run.engine)
        if self.interior:
            found = solve_interior(self._for_scales(), limits)
            if found.n_iter > 0 or found.status is not Status.ROUNDING:
                return found  # else rounding allows no step at all
        return solve_structured(self._for_scales(), limits, Start(self.dual))

    def _for_scales(self) -> Objective:
        """The objective for the scales as they are."""
        return replace(self.objective, tie=PathSum(self.tie.paths, self.scale))

    def turn_of_scales(self, squares: Array) -> Array:
        """The best a for these ||u_n||^2, kept strictly positive where a class passes."""
        best = shared_scales(self.tie.taxonomy, squares, class_nodes=self.tie.class_nodes)
        return self._lifted(best)

    def _largest_penalty(self, solution: Solution) -> tuple[float, Array]:
        """max over allowed a of sum_n a_n ||z_n||^2, and where it is reached."""
        return largest_penalty(self.tie.taxonomy, self.tie.paths, solution.details["dual_squares"])

    def _keep_if_best(self, turn: _Turn) -> bool:
        """Keep the best of both bounds; whether the primal fell."""
        if turn.bound > self.lower:
            self.lower, self.best_dual = (
                turn.bound,
                turn.dual if turn.share == 1.0 else turn.share * turn.dual,
            )
        enough = self.best is None or self.primal - turn.primal > _ENOUGH_GAIN * (self.primal - self.lower)
        self.pace.slow = 0 if enough else self.pace.slow + 1
        gained = self.best is None or turn.primal < self.primal
        if gained:
            self.primal, self.best = turn.primal, turn._replace(solution=None)
            self.best_solution = turn.solution if self.interior else None
        return gained

    def _note(self) -> None:
        self.history.append(Progress(self.run.clock.seconds, self.done, self.primal, self.lower))
        if self.watch is not None:
            self.watch(self.history[-1], lambda: self.best_dual)

    def _step(self, gained: bool, fresh: Array) -> None:
        """The scales of the next turn of u, and how exactly it is solved for."""
        assert self.best is not None
        pace = self.pace
        if pace.slow >= _SLOW_TURNS:
            # A scale so small that it takes ages to rise: towards the corner the objective falls for certain
            # (Frank and Wolfe), if the step is short enough.
            self.scale = self._lifted((1 - pace.mix) * self.best.scale + pace.mix * self.best.corner)
            pace.solve_finer()
            pace.mix, pace.slow = 0.5 * pace.mix, 0
        elif gained:
            self.scale = self._stretched(fresh, pace.stretch)
            pace.tol_share, pace.stretch = _INNER_TOL_SHARE, min(_LONGEST_STRETCH, 1.5 * pace.stretch)
            pace.mix = pace.mix if pace.slow else _FIRST_MIX
        else:
            # too long a step, or u not good enough for its turn to gain anything
            self.scale = self.best.scale
            pace.solve_finer()

    def _lifted(self, scale: Array) -> Array:
        used = self.tie.used
        return np.where(used, (1 - _LEAST_SCALE * used.sum()) * scale + _LEAST_SCALE, 0.0)

    def _stretched(self, fresh: Array, stretch: float) -> Array:
        """A step of a that goes further, on a logarithmic scale, than its turn would, and stays feasible.

        Scales that go to zero do so by a constant factor per turn; taking its power takes several turns at once.
        """
        if stretch == 1.0:
            return fresh
        used, paths = self.tie.used, self.tie.paths
        longer = np.zeros_like(fresh)
        longer[used] = fresh[used] * np.clip((fresh[used] / self.scale[used]) ** (stretch - 1.0), 1e-2, 1e2)
        # each node is scaled down by the largest sum of the paths that it is on
        largest = sp.csc_array(paths.multiply((paths @ longer)[:, None])).max(axis=0).toarray().ravel()
        return self._lifted(longer / np.maximum(largest, 1.0))

    def _solution(self, solution: Solution | None, converged: bool) -> Solution:
        """The best u and a, and the dual of the best bound; without the solution of the best turn, u is made anew."""
        assert self.best is not None
        solution = solution or self.best_solution
        if solution is None:
            self.dual, self.scale = self.best.dual, self.best.of_scale
            solution = self.turn_of_vectors(self.best.tol, 0)
        self.run.over()  # a last look, so that no request goes unheard
        return replace(
            solution,
            dual=self.best_dual,
            status=status_of(converged, self.run.outcome),
            n_iter=self.done,
            history=self.history,
            details={**solution.details, "scale": self.best.scale},
            state=self.best.scale,
        )


def _penalty(squares: Array, scale: Array) -> float:
    has = squares > 0
    return 0.5 * float((squares[has] / scale[has]).sum())
