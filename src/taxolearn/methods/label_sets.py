"""Several labels per row for the structured methods: label sets instead of labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from taxolearn.decoders import LabelSpace, Sets, calibrated_sets, fit_link, sets_f1, tune_offset
from taxolearn.decoders.label_sets import check_at_most
from taxolearn.errors import DataError, ModelError
from taxolearn.losses import RelaxedSetHinge, SetHinge, set_hinge
from taxolearn.losses.sets import SET_COSTS
from taxolearn.methods.held_out import hold_out
from taxolearn.methods.parameters import estimator, number_or, parameter
from taxolearn.methods.structured import StructuredMethod
from taxolearn.objective import Objective, Parts
from taxolearn.problem import Problem
from taxolearn.problem.node_sets import MUST
from taxolearn.solvers import Limits, Solution, Start
from taxolearn.structure.names import show
from taxolearn.ties import PathSum, flat

ANSWERS = ("best_sum", "expected_f1")
RELAXATIONS: dict[str, type[SetHinge]] = {"closures": SetHinge, "paper": RelaxedSetHinge}
_MISS_COSTS = (1.0, 2.5)  # tried on held-out rows
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
    decoder: Sets
    solution: Solution


def _count_or_none(name: str, value: Any) -> None:
    check_at_most(value)


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

    _fitted: ClassVar[Mapping[str, str]] = {
        "miss_cost_": "float: Several labels per row: the cost of a missed node that was chosen."
    }

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
    relaxation: str = parameter(
        default="closures",
        doc=(
            "Several labels per row on a DAG: what is learned over. All sets that are closed under ancestors, or the "
            "relaxed sets of the paper (19), where inner nodes need children: by linear programmes, one per row and "
            "pass, for comparison at moderate sizes. On trees both are the label sets themselves."
        ),
        choices=tuple(RELAXATIONS),
    )
    offset: float | str = parameter(
        default="auto",
        doc=(
            'Several labels per row: added to the score of every node when sets are predicted. "auto" is chosen by '
            "example-F1 on held-out rows."
        ),
        check=number_or("auto"),
    )
    answer: str = parameter(
        default="best_sum",
        doc=(
            "Several labels per row: which set is predicted. That of the best sum of node scores, or that of the "
            "largest expected F1, by probabilities of nodes (Platt's sigmoids of max-marginals, from held-out rows; "
            "with fewer than 50 of these the best sum)."
        ),
        choices=ANSWERS,
    )
    at_most: int | None = parameter(
        default=None,
        doc="Several labels per row: the most labels that are predicted for a row; None is any number.",
        check=_count_or_none,
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = not self._by_products
        return tags

    def _check_labels(self, problem: Problem) -> None:
        """Any number of labels will do, but for rows that are known by a kernel."""
        if self._by_products:
            super()._check_labels(problem)

    def _objective(self, problem: Problem) -> Objective | Parts:
        if self._by_products or not has_several(problem):
            self.__dict__.pop("miss_cost_", None)  # of an earlier fit
            return super()._objective(problem)
        self._refuse_pegasos()
        if self.leaf_only:
            raise DataError("leaf_only=True is for one label per row; with several use must='all'")
        tied = self._tie(problem)
        scale = self._set_scales(problem, tied)
        cost = 1.0 if isinstance(self.miss_cost, str) else float(self.miss_cost)
        return self._over_sets(problem, scale, cost)

    def _refuse_pegasos(self) -> None:
        if self._by_pegasos or self.solver not in ("auto", "dual"):
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
        must: Any = self.must
        kind = RELAXATIONS[self.relaxation]
        loss = set_hinge(problem, scale, self.set_cost, miss_cost, must, flat=self._is_flat, kind=kind)
        tie = PathSum(flat(loss.n_nodes).paths, scale)
        return Objective(problem, loss, tie, float(self.C), self._bias_feature)

    def _sets_decoder(self, problem: Problem, offset: float) -> Sets:
        if self._is_flat or problem.taxonomy is None:
            return Sets(LabelSpace.star(problem.n_classes), offset, self.at_most)
        must: Any = self.must
        return Sets(LabelSpace.of(problem, must), offset, self.at_most)

    def _learned_arrays(self) -> dict[str, npt.NDArray[Any]]:
        found = super()._learned_arrays()
        return found | {"miss_cost": np.array([self.miss_cost_])} if hasattr(self, "miss_cost_") else found

    def _take_learned(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        super()._take_learned({name: array for name, array in arrays.items() if name != "miss_cost"})
        if "miss_cost" in arrays:
            if arrays["miss_cost"].shape != (1,) or not arrays["miss_cost"][0] > 0:
                raise ModelError("the array 'learned/miss_cost' should hold one positive number")
            self.miss_cost_ = float(arrays["miss_cost"][0])

    def _fit_on_held_out(self, objective: Objective | Parts, limits: Limits) -> Objective | Parts:
        if objective.loss.facts.kind not in ("sets", "relaxed_sets"):
            return super()._fit_on_held_out(objective, limits)
        assert isinstance(objective, Objective)
        problem = objective.problem
        given = 0.0 if isinstance(self.offset, str) else float(self.offset)
        self.decoder_, self.calibration_ = self._sets_decoder(problem, given), None
        open_costs = _MISS_COSTS if isinstance(self.miss_cost, str) else (self.miss_cost_,)
        choosing = len(open_costs) > 1 or isinstance(self.offset, str) or self.answer != "best_sum"
        if not (choosing or self._wants_probabilities()):
            return objective
        if not self._wants_probabilities() and round(self.holdout * problem.n_rows) < _LEAST_ROWS:
            return objective  # too few rows to tell
        try:
            held, kept = hold_out(problem, self.holdout, limits.seed)
        except DataError:
            if self._wants_probabilities():
                raise
            return objective  # every class has a single row: nothing can be chosen
        few = len(held) < _LEAST_ROWS
        best = self._best_trial(objective, limits, held, kept, open_costs[:1] if few else open_costs, few)
        self.decoder_ = best.decoder
        if self._wants_probabilities():
            scores = self.decoder_.scores(best.solution.vectors, problem.X[held]).astype(np.float64)
            weight = problem.row_weight[held]
            self.calibration_ = fit_link(scores, problem.targets[held], weight, several=True)
        return self._over_sets(problem, objective.tie.scale, best.miss_cost)

    def _best_trial(
        self, objective: Objective, limits: Limits, held: Any, kept: Any, costs: tuple[float, ...], few: bool
    ) -> _Trial:
        """Fits without the held-out rows, one per cost of a miss, each with the decoder that suits; with few rows the
        decoder is left alone."""
        trial_limits = replace(
            limits, tol=max(limits.tol, _TRIAL_TOL), max_iter=min(limits.max_iter, _TRIAL_ITERATIONS)
        )
        problem, plain = objective.problem, self.decoder_
        assert isinstance(plain, Sets)
        space = plain.space
        some = held[: _TRIAL_ROWS if space.is_tree else _TRIAL_DAG_ROWS]
        targets, weight = problem.targets[some], problem.row_weight[some]
        truth = space.label_sets(targets)
        best: _Trial | None = None
        start: Start | None = None
        for miss_cost in costs:
            trial = self._over_sets(problem, objective.tie.scale, miss_cost).restricted(kept)
            solution = self._solve(trial, trial_limits, start, None)
            start = Start(solution.dual)
            scores = np.asarray(solution.vectors.scores(problem.X[some]), dtype=np.float64)
            potentials = scores if space.unit_nodes is None else scores[:, space.unit_nodes]
            decoder = plain
            if self.answer == "expected_f1" and not few:
                decoder = calibrated_sets(plain, potentials, targets, weight)
            elif isinstance(self.offset, str) and not few:
                decoder = replace(plain, offset=tune_offset(space, potentials, targets, weight))
            score = float(weight @ sets_f1(decoder.sets_of(potentials), truth))
            if best is None or score > best.score:
                best = _Trial(score, miss_cost, decoder, solution)
        assert best is not None
        return best


def has_several(problem: Problem) -> bool:
    """Whether rows have several labels, or none.

    >>> from taxolearn.problem import make_problem
    >>> has_several(make_problem([[0.0], [1.0]], [["a"], ["b"]]))
    False
    """
    return problem.labels.multilabel and bool(np.any(np.diff(problem.labels.indptr) != 1))
