"""Several labels per row for the structured methods: label sets instead of labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.decoders import LabelSpace, Sets, decode_sets, fit_sigmoids
from taxolearn.errors import DataError
from taxolearn.losses import set_hinge
from taxolearn.losses.sets import MUST, SET_COSTS
from taxolearn.methods.held_out import hold_out
from taxolearn.methods.parameters import estimator, number_or, parameter
from taxolearn.methods.structured import StructuredMethod
from taxolearn.objective import Objective, Parts
from taxolearn.problem import Problem
from taxolearn.solvers import Limits, Solution, Start
from taxolearn.structure.names import show
from taxolearn.ties import PathSum, flat

_MISS_COSTS = (1.0, 2.5)  # tried on held-out rows
_OFFSETS = (-0.5, -0.25, 0.0, 0.25, 0.5)  # likewise, in units of the mean cost of a false alarm
_TRIAL_TOL = 1e-2  # gap of the fits that costs and offsets are chosen by
_TRIAL_ITERATIONS = 20
_TRIAL_ROWS = 2000  # held-out rows that are decoded for the choice
_TRIAL_DAG_ROWS = 500  # on a DAG, where a set may take milliseconds
_LEAST_ROWS = 50  # with fewer held-out rows nothing is chosen

Array = npt.NDArray[np.float64]


class _Trial(NamedTuple):
    """A fit without the held-out rows, and how well it does on them."""

    score: float
    miss_cost: float
    offset: float
    solution: Solution


def _positive_or_auto(name: str, value: Any) -> None:
    number_or("auto")(name, value)
    if not isinstance(value, str) and not value > 0:
        raise DataError(f"{name}={show(value)} is not allowed; give a positive number or 'auto'")


@estimator
class SetMethod(StructuredMethod):
    """Base of the structured methods that take several labels per row: a label is then a set of nodes.

    With one label per row in all rows nothing changes. Else every node n of the taxonomy has a vector u_n, a row's
    label Y_i is the set of its labels with all their ancestors, and the objective is

        1/2 sum_n ||u_n||^2 / a_n + C sum_i c_i max over sets Y of Delta(Y, Y_i) + sum_{n in Y} u_n . x_i
            - sum_{n in Y_i} u_n . x_i

    with Delta(Y, Y_i) the summed costs of the nodes in one of the two alone (section 7.1 of Choi, Sasaki and Srebro).

    >>> from taxolearn import MulticlassSVM
    >>> issubclass(MulticlassSVM, SetMethod)
    True
    """

    set_cost: str = parameter(
        default="hamming",
        doc=(
            "Several labels per row: what a wrong node costs. 1 for each, 1 for leaves only (the paper), or its scale "
            "a_n."
        ),
        choices=SET_COSTS,
    )
    miss_cost: float | str = parameter(
        default="auto",
        doc=(
            "Several labels per row: how many times as much a missed node costs as a false alarm; a `class_weight` "
            'multiplies it for the node of its class. "auto" takes 1 or 2.5, by example-F1 on held-out rows.'
        ),
        check=_positive_or_auto,
    )
    must: str = parameter(
        default="auto",
        doc=(
            'Several labels per row: which inner nodes need a chosen child. "all" (labels are leaves), only the '
            '"root", or "auto", those where no row of y ends. While learning, nodes of a DAG need none.'
        ),
        choices=MUST,
    )
    offset: float | str = parameter(
        default="auto",
        doc=(
            'Several labels per row: added to the score of every node when sets are predicted. "auto" is chosen by '
            "example-F1 on held-out rows."
        ),
        check=number_or("auto"),
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _check_labels(self, problem: Problem) -> None:
        """Any number of labels will do."""

    def _objective(self, problem: Problem) -> Objective | Parts:
        if not has_several(problem):
            return super()._objective(problem)
        self._refuse_pegasos()
        tied = self._tie(problem)
        scale = self._set_scales(problem, tied)
        cost = 1.0 if isinstance(self.miss_cost, str) else float(self.miss_cost)
        return self._over_sets(problem, scale, cost)

    def _refuse_pegasos(self) -> None:
        if self._by_pegasos or self.solver == "interior":
            raise DataError(
                f"solver={show(self.solver)} learns from one label per row; with several use solver='auto'"
            )

    @property
    def _is_flat(self) -> bool:
        """Whether classes know nothing of each other, with a taxonomy too."""
        return False

    def _set_scales(self, problem: Problem, tied: PathSum) -> Array:
        """a_n of the nodes of the sets: those of the taxonomy, or a root and the classes."""
        if self._is_flat or problem.taxonomy is None:
            return np.ones(problem.n_classes + 1)
        return np.asarray(tied.scale)

    def _over_sets(self, problem: Problem, scale: Array, miss_cost: float) -> Objective:
        self.miss_cost_ = miss_cost
        loss = set_hinge(problem, scale, self.set_cost, miss_cost, self.must, flat=self._is_flat)
        tie = PathSum(flat(loss.n_nodes).paths, scale)
        return Objective(problem, loss, tie, float(self.C), self._bias_feature)

    def _sets_decoder(self, problem: Problem, offset: float) -> Sets:
        if self._is_flat or problem.taxonomy is None:
            return Sets(LabelSpace.star(problem.n_classes), offset)
        must: Any = self.must
        return Sets(LabelSpace.of(problem, must), offset)

    def _fit_on_held_out(self, objective: Objective | Parts, limits: Limits) -> Objective | Parts:
        if objective.loss.facts.kind != "sets":
            return super()._fit_on_held_out(objective, limits)
        assert isinstance(objective, Objective)
        problem = objective.problem
        given = 0.0 if isinstance(self.offset, str) else float(self.offset)
        self.decoder_, self.calibration_ = self._sets_decoder(problem, given), None
        open_costs = _MISS_COSTS if isinstance(self.miss_cost, str) else (self.miss_cost_,)
        open_offsets = _OFFSETS if isinstance(self.offset, str) else (given,)
        choosing = len(open_costs) + len(open_offsets) > 2
        if not (choosing or self._wants_probabilities()):
            return objective
        if (
            choosing
            and not self._wants_probabilities()
            and round(self.holdout * problem.n_rows) < _LEAST_ROWS
        ):
            return objective  # too few rows to tell
        try:
            held, kept = hold_out(problem, self.holdout, limits.seed)
        except DataError:
            if self._wants_probabilities():
                raise
            return objective  # every class has a single row: nothing can be chosen
        if len(held) < _LEAST_ROWS:
            open_costs, open_offsets = (self.miss_cost_,), (given,)
        best = self._best_trial(objective, limits, held, kept, open_costs, open_offsets)
        self.decoder_ = replace(self.decoder_, offset=best.offset)
        if self._wants_probabilities():
            scores = self.decoder_.scores(best.solution.vectors, problem.X[held]).astype(np.float64)
            targets = problem.targets[held].toarray() > 0
            self.calibration_ = fit_sigmoids(scores, targets, problem.row_weight[held])
        return self._over_sets(problem, objective.tie.scale, best.miss_cost)

    def _best_trial(
        self, objective: Objective, limits: Limits, held: Any, kept: Any, miss_costs: Any, offsets: Any
    ) -> _Trial:
        """Fits without the held-out rows, one for each cost of a miss, and the offset that suits each."""
        trial_limits = replace(
            limits, tol=max(limits.tol, _TRIAL_TOL), max_iter=min(limits.max_iter, _TRIAL_ITERATIONS)
        )
        decoder = self.decoder_
        assert isinstance(decoder, Sets)
        some = held[: _TRIAL_ROWS if decoder.space.is_tree else _TRIAL_DAG_ROWS]
        unit = float(objective.loss.false_alarm[1:].mean())
        best: _Trial | None = None
        start: Start | None = None
        for miss_cost in miss_costs:
            trial = self._over_sets(objective.problem, objective.tie.scale, miss_cost).restricted(kept)
            solution = self._solve(trial, trial_limits, start, None)
            start = Start(solution.dual)
            for offset in offsets:
                shift = offset * unit if len(offsets) > 1 else offset
                score = example_f1(decoder.space, objective.problem, solution.vectors, some, shift)
                if best is None or score > best.score:
                    best = _Trial(score, miss_cost, shift, solution)
        assert best is not None
        return best


def has_several(problem: Problem) -> bool:
    """Whether rows have several labels, or none.

    >>> from taxolearn.problem import make_problem
    >>> has_several(make_problem([[0.0], [1.0]], [["a"], ["b"]]))
    False
    """
    return problem.labels.multilabel and bool(np.any(np.diff(problem.labels.indptr) != 1))


def example_f1(space: LabelSpace, problem: Problem, vectors: Any, rows: Any, offset: float) -> float:
    """The mean F1 of some rows' best label sets, over their nodes without the root.

    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.vectors import ClassVectors
    >>> problem = make_problem([[1.0], [-1.0]], [["a"], ["a", "b"]])
    >>> vectors = ClassVectors(np.array([[0.0], [1.0], [-1.0]]), np.zeros(3))
    >>> round(example_f1(LabelSpace.star(2), problem, vectors, np.arange(2), 0.0), 3)
    0.5
    """
    true = space.label_sets(problem.targets[rows])
    hits = sizes = np.zeros(0)
    for block, scores in vectors.score_blocks(problem.X[rows]):
        chosen = scores if space.unit_nodes is None else scores[:, space.unit_nodes]
        potentials = np.array(chosen, dtype=np.float64)
        potentials[:, 1:] += offset
        sets = decode_sets(space, potentials, exact=False)
        ones = np.ones(len(sets.indices))
        found = sp.csr_array((ones, sets.indices, sets.indptr), shape=potentials.shape)
        both = np.asarray(found.multiply(true[block]).sum(axis=1)).ravel() - 1.0
        hits = np.concatenate((hits, both))
        sizes = np.concatenate((sizes, np.diff(found.indptr) + np.diff(true[block].indptr) - 2.0))
    f1 = np.divide(2.0 * hits, sizes, out=np.zeros(len(hits)), where=sizes > 0)
    return float(np.average(f1, weights=problem.row_weight[rows])) if problem.row_weight[rows].any() else 0.0
