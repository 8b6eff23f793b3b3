"""Small dense problems whose features have any size and offset: interior points, or exact Newton steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import blas_threads
from taxolearn.errors import DataError
from taxolearn.objective import Objective
from taxolearn.solvers.base import (
    Limits,
    Requires,
    Rounds,
    Solution,
    Start,
    Status,
    Watch,
    check_requirements,
)
from taxolearn.solvers.frame import Frame, Place
from taxolearn.solvers.interior_terms import ConstraintTerms, by_class, constraint_terms
from taxolearn.solvers.newton_terms import ScoreTerms, score_terms
from taxolearn.vectors import ClassVectors, NodeVectors

Array = npt.NDArray[np.float64]

# an interior point cannot begin on the boundary, where good duals are: no checkpoints
REQUIRES = Requires(("margin", "softmax", "structured", "siblings"), starts=False, paths_for=("structured",))
LIMITS = Limits(max_iter=200)
_TO_BOUNDARY = 0.995  # share of the way to the boundary that a step may take
_PATIENCE = 12  # steps without a smaller gap after which rounding is what is left
_ARMIJO = 1e-4  # decrease that a Newton step must bring, as a share of what the gradient promises
_SHORTEST_STEP = 1e-12
# products of slacks and duals wait for the gradient: they do not go below this share of what it adds to the gap,
_ABREAST = 1e-3
_SLOWEST = 0.5  # but fall by this factor with every step
_SAFE = (
    0.1  # share of the tolerated gap that is aimed at: the certificate adds the roundings of its evaluation
)
_REACHED = 0.999  # share that is enough where no more can be had: the certificate adds up in another order


def solve_interior(
    objective: Objective, limits: Limits = LIMITS, start: Start | None = None, watch: Watch | None = None
) -> Solution:
    """Minimise in a frame where all columns are alike, by dense linear algebra: for small problems on raw features.

    The hinge, the structured and the sibling hinge are constraints with slacks, and Mehrotra's predictor and corrector
    (1992) follows the central path, slacks being eliminated row by row: each step factors one matrix of the size of the
    vectors, or one per class where classes have nothing in common. Smooth losses take Newton steps with that matrix.
    The objective is the user's, and so are vectors and duals. Vectors are those of the frame, not made of the duals
    anew: a column at 1e9 would lose them in rounding. A start is not used.

    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[1e9, 0.0], [1e9 + 5.0, 1.0]], ["a", "b"])
    >>> solution = solve_interior(Objective(problem, Hinge(), flat(2)), Limits(tol=1e-6))
    >>> scores = solution.vectors.scores(problem.X)
    >>> solution.status.value, scores[0, 0] > scores[1, 0]
    ('converged', np.True_)
    """
    check_requirements("interior", REQUIRES, objective)
    return follow_path(objective, limits, watch)[0]


def follow_path(
    objective: Objective, limits: Limits, watch: Watch | None = None, begin: Inside | None = None
) -> tuple[Solution, Inside | None]:
    """`solve_interior`, from a point inside where one is known, and the last point inside where there is one.

    A point inside stays so when the tie changes, all constraints being on scores.

    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> objective = Objective(make_problem([[0.0], [1.0]], ["a", "b"]), Hinge(), flat(2))
    >>> _, inside = follow_path(objective, Limits(tol=1e-1))
    >>> precise = Limits(tol=1e-6)
    >>> follow_path(objective, precise, begin=inside)[0].n_iter < follow_path(objective, precise)[0].n_iter
    True
    """
    if sp.issparse(objective.problem.X):
        raise DataError("solver='interior' needs dense rows; use X.toarray() or solver='auto'")
    rows = np.flatnonzero(_counting_rows(objective))
    whole = len(rows) == objective.problem.n_rows
    own = objective if whole else objective.restricted(rows)
    shape = (objective.n_units, objective.problem.n_rows)
    # threads of BLAS wait for each other longer than these matrices take
    with np.errstate(all="ignore"), limits.run() as run, blas_threads(1):
        frame = Frame(own)
        follow: _Path | _Newton = _Newton(own, frame) if own.loss.facts.smooth else _Path(own, frame, begin)

        def dual() -> sp.csr_array:
            found = follow.dual()
            if whole:
                return found
            found = found.tocoo()
            return sp.csr_array((found.data, (found.row, rows[found.col])), shape=shape)

        rounds = Rounds(replace(limits, tol=_SAFE * limits.tol), run, watch, dual)
        stuck = follow.minimise(rounds)
        found = dual()
    converged = rounds.history[-1].gap <= _REACHED * limits.tol
    status = Status.CONVERGED if converged else Status.ROUNDING if stuck else rounds.status
    vectors, details = _of_user(own, frame, follow.place)
    if own.loss.facts.kind == "structured" and own.tie.facts.paths and isinstance(follow, _Path):
        details |= follow.details()
    last = Inside(frame, follow.state) if isinstance(follow, _Path) else None
    return Solution(vectors, found, status, rounds.done, rounds.history, details), last


def _counting_rows(objective: Objective) -> npt.NDArray[np.bool_]:
    """Rows that weigh something; all where none does."""
    problem = objective.problem
    weight = problem.row_weight if objective.loss.facts.kind == "margin" else problem.one_label[1]
    counting = np.asarray(objective.C * weight > 0)
    return counting if counting.any() else np.ones_like(counting)


class _State(NamedTuple):
    """A point inside: vectors, distances z and duals a of the constraints, slacks x and what duals leave of costs t."""

    place: Place
    distance: Array
    dual: Array
    slack: Array
    rest: Array


class Inside(NamedTuple):
    """A point inside, and the frame that its place is of."""

    frame: Frame
    state: _State


class _Path:
    """The central path of distance x dual = slack x rest = mu, and the best primal and dual points met on it."""

    def __init__(self, objective: Objective, frame: Frame, begin: Inside | None = None) -> None:
        self.frame, self.objective = frame, objective
        self.terms: ConstraintTerms = constraint_terms(objective)
        terms = self.terms
        self.on, self.cost = terms.on, terms.cost
        self.counts = self.on.astype(
            np.float64
        )  # as factors: these arrays are small, and calls are what costs
        self.groups = self.cost > 0
        self.all_groups = bool(self.groups.all())
        self.products = max(1, int(self.on.sum() + self.groups.sum()))
        self.state = (
            self._first()
            if begin is None
            else begin.state._replace(place=frame.taken_over(begin.state.place, begin.frame))
        )
        self.place, self.best_dual = self.state.place, np.zeros_like(self.state.dual)
        self.primal, self.lower = np.inf, 0.0  # the dual objective of no dual at all

    def _first(self) -> _State:
        """Vectors of zero, and duals that share a half or more of the costs."""
        terms, place = self.terms, self.frame.first()
        short = terms.margin - terms.ahead(self.frame.scores(place))
        slack = 1.0 + terms.largest(short)
        dual = self.counts * terms.spread(self.cost / (1.0 + terms.sums(self.counts)))
        # constraints that are not on keep a distance of one and a dual of zero, and other groups what they begin with
        return _State(
            place,
            np.where(self.on, terms.spread(slack) - short, 1.0),
            dual,
            slack,
            np.where(self.groups, self.cost - terms.sums(dual), 1.0),
        )

    def _of_groups(self, numbers: Array) -> Array:
        """Zero where a group does not count."""
        return numbers if self.all_groups else np.where(self.groups, numbers, 0.0)

    def dual(self) -> sp.csr_array:
        """The best dual so far."""
        return by_class(self.best_dual)

    def minimise(self, rounds: Rounds) -> bool:
        """Steps until the gap or a limit is reached; whether rounding ended it."""
        waited, last = 0, np.inf
        while True:
            ahead = self.terms.ahead(self.frame.scores(self.state.place))
            gradient = self.frame.gradient(self.state.place, self.terms.pulls(self.state.dual))
            gap = self._note(ahead, gradient)
            waited, last = (0, gap) if gap < 0.9 * last else (waited + 1, last)
            if not rounds.another(self.primal, self.primal - self.lower):
                return False
            if waited > _PATIENCE or not self._step(ahead, gradient):
                rounds.done -= 1
                return True

    def _note(self, ahead: Array, gradient: Place) -> float:
        """Keep the point or the dual if it is better; the gap between the two is a sum of what is lost."""
        terms, state = self.terms, self.state
        short = terms.margin - ahead
        losses = float(np.sum(self.cost * terms.largest(short)))
        primal = self.frame.penalty(state.place) + losses
        gap = losses - float(np.sum(state.dual * short)) + self.frame.half_square(gradient)
        if primal < self.primal:
            self.primal, self.place = primal, state.place
        if primal - gap > self.lower:
            self.lower, self.best_dual = primal - gap, state.dual
        return gap

    def _step(self, ahead: Array, gradient: Place) -> bool:
        """One predictor and one corrector; False where none can be found."""
        terms, (_, distance, dual, slack, rest) = self.terms, self.state
        weight = dual / distance
        try:
            system = self.frame.newton_step(terms.curvature(weight, rest / slack))
        except (np.linalg.LinAlgError, ValueError):
            return False
        missed = self.counts * (ahead + terms.spread(slack) - distance - terms.margin)
        over = self._of_groups(self.cost - terms.sums(dual) - rest)
        total = rest + slack * terms.sums(weight)

        def direction(of_constraints: Array, of_groups: Array) -> _State:
            """The Newton direction for these changes of the products distance x dual and slack x rest."""
            pushed = of_constraints / distance
            wanted = pushed - weight * missed
            first = (of_groups - slack * (over - terms.sums(wanted))) / total
            drawn = self.frame.adjoint(terms.pulls(wanted - weight * terms.spread(first)))
            place = system.solve(drawn.moved(gradient, -1.0))
            moved = terms.ahead(self.frame.scores(place))
            more_slack = self._of_groups(first - slack / total * terms.sums(weight * moved))
            further = self.counts * (moved + terms.spread(more_slack) + missed)
            more_dual = pushed - weight * further
            return _State(
                place, further, more_dual, more_slack, self._of_groups(over - terms.sums(more_dual))
            )

        products, group_products = distance * dual, self._of_groups(slack * rest)
        mu = float(products.sum() + group_products.sum()) / self.products
        try:
            predictor = direction(-products, -group_products)
            ahead_mu = self._mu(predictor, self._length(predictor, 1.0))
            target = mu * (ahead_mu / mu) ** 3 if mu > 0 else 0.0
            # no faster than the gradient vanishes: else an outlier's duals are held at zero before they fit
            held = _ABREAST * self.frame.half_square(gradient) / self.products
            target = max(target, min(_SLOWEST * mu, held))
            step = direction(
                self.counts * (target - products - predictor.distance * predictor.dual),
                self._of_groups(target - group_products - predictor.slack * predictor.rest),
            )
        except (np.linalg.LinAlgError, ValueError):
            return False
        length = self._length(step, _TO_BOUNDARY)
        if not (length > _SHORTEST_STEP and np.isfinite(step.place.vectors).all()):
            return False
        self.state = self._moved(step, length)
        return True

    def _moved(self, step: _State, length: float) -> _State:
        """So far along a step."""
        old = self.state
        return _State(
            old.place.moved(step.place, length),
            old.distance + length * step.distance,
            old.dual + length * step.dual,
            old.slack + length * step.slack,
            old.rest + length * step.rest,
        )

    def _length(self, step: _State, share: float) -> float:
        """The longest step, at most 1, that goes this share of the way to the boundary."""
        # duals that are off are zero and stay so: what is no number is passed over
        pairs = zip(step[1:], self.state[1:], strict=True)
        falls = -min(float(np.fmin.reduce((change / value).ravel())) for change, value in pairs)
        return min(1.0, share / falls) if falls > 0 else 1.0

    def _mu(self, step: _State, length: float) -> float:
        """The mean product after a step."""
        z, a, x, t = (old + length * new for old, new in zip(self.state[1:], step[1:], strict=True))
        return float(np.vdot(z, a) + self._of_groups(x * t).sum()) / self.products

    def details(self) -> dict[str, Any]:
        """What the alternation over learned scales reads: sum alpha D, and ||z_n||^2 of the dual's node sums."""
        pulls, tie, problem = self.terms.pulls(self.best_dual), self.objective.tie, self.objective.problem
        sums = tie.paths.T @ np.column_stack(
            [pulls.T @ problem.X, self.objective.bias_feature * pulls.sum(axis=0)]
        )
        found = {"linear": float(np.sum(self.best_dual * self.terms.margin))}
        return found | {"dual_squares": np.einsum("nj,nj->n", sums, sums)}


class _Newton:
    """Newton steps with the exact Hessian, for smooth losses; the dual is that of the gradient."""

    def __init__(self, objective: Objective, frame: Frame) -> None:
        self.frame = frame
        self.terms: ScoreTerms = score_terms(objective)
        self.place = frame.first()
        self.primal, self.lower = self._primal(self.place), 0.0
        # no dual at all, or all probability at the own class
        nothing = sp.csr_array(objective.problem.targets.shape[::-1])
        of_margin = objective.loss.facts.kind == "margin"
        self.best_dual = nothing if of_margin else sp.csr_array(objective.problem.targets.T)

    def _primal(self, place: Place) -> float:
        self.scores = np.ascontiguousarray(self.frame.scores(place))
        return self.terms.value(self.scores) + self.frame.penalty(place)

    def dual(self) -> sp.csr_array:
        """The best dual so far."""
        return self.best_dual

    def minimise(self, rounds: Rounds) -> bool:
        """Steps until the gap or a limit is reached; whether rounding ended it."""
        while True:
            self.terms.at(self.scores)
            gradient = self.frame.gradient(self.place, -self.terms.gradient)
            lower = self.primal - self.frame.half_square(gradient)
            if lower > self.lower:
                self.lower, self.best_dual = lower, self.terms.dual()
            if not rounds.another(self.primal, self.primal - self.lower):
                return False
            if not self._step(gradient):
                rounds.done -= 1
                return True

    def _step(self, gradient: Place) -> bool:
        """One step down; False where there is none."""
        try:
            system = self.frame.newton_step(self.terms.curvature())
            step = system.solve(Place(-gradient.vectors, -gradient.offset))
        except (np.linalg.LinAlgError, ValueError):
            return False
        descent = float(np.vdot(gradient.vectors, step.vectors) + gradient.offset @ step.offset)
        length = 1.0
        while length >= _SHORTEST_STEP:
            place = self.place.moved(step, length)
            primal = self._primal(place)
            # near the optimum the decrease drowns in rounding: a full step that raises nothing is right there
            if primal <= self.primal + _ARMIJO * length * descent + 1e-14 * self.primal:
                self.place, self.primal = place, primal
                return True
            length *= 0.5
        self._primal(self.place)
        return False


def _of_user(
    objective: Objective, frame: Frame, place: Place
) -> tuple[NodeVectors | ClassVectors, dict[str, Any]]:
    """The vectors of the user's features: per class, or per node where a tie has nodes."""
    tie, s = objective.tie, objective.bias_feature
    vectors, bias = frame.natural(place)
    if tie.facts.precision or frame.apart:
        intercept = s * (frame.of_offset @ bias) if s else np.zeros(tie.n_classes)
        return ClassVectors(np.ascontiguousarray((vectors @ frame.factor.T).T), intercept), {}
    scale = np.sqrt(tie.scale) if tie.facts.paths else np.ones(len(frame.columns))
    nodes = (vectors @ frame.columns.T) * scale
    matrix = tie.paths if tie.facts.paths else tie.factor()
    if not frame.tied:
        return NodeVectors(nodes, matrix, s * bias if s else np.zeros(tie.n_classes)), {}
    node_bias = scale * (frame.columns @ bias) if s else np.zeros(len(scale))
    squares = np.einsum("jn,jn->n", nodes, nodes) + node_bias**2
    return NodeVectors(nodes, matrix, s * (matrix @ node_bias)), {
        "node_bias": node_bias,
        "node_squares": squares,
    }
