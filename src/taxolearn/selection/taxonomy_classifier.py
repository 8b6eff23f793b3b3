"""`TaxonomyClassifier`: the estimator to begin with."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from taxolearn.decoders import Decoder, labels_are_closed
from taxolearn.errors import DataError, EmptyClassWarning
from taxolearn.methods.base import VectorClassifier
from taxolearn.methods.deciding import WORDS
from taxolearn.methods.held_out import held_out_parts
from taxolearn.methods.inputs import check_rows, check_seed, check_targets
from taxolearn.methods.migrating import Migration
from taxolearn.methods.one_vs_rest_svm import OneVsRestSVM
from taxolearn.methods.parameters import (
    check_parameters,
    estimator,
    parameter,
    positive,
    positive_or_none,
)
from taxolearn.methods.stopping import calibration_split
from taxolearn.problem import Problem, make_problem
from taxolearn.selection.attempts import Attempt, Option
from taxolearn.selection.budget import Budget
from taxolearn.selection.measures import BALANCED, SCORINGS, Measure, check_scoring
from taxolearn.selection.row_labels import RowLabels
from taxolearn.selection.search import Race, pooled_link
from taxolearn.selection.starting import scaled, starting_candidates
from taxolearn.selection.stored import pack_starter, unpack_starter
from taxolearn.selection.tables import trials_of
from taxolearn.selection.trials import Selection, Trial
from taxolearn.structure import Taxonomy

_HELD_OUT = 0.2
_ENOUGH_HELD_OUT = 2000  # held-out rows: with fewer, further folds are held out by turns
_SMALL = 2**22  # entries of X times classes up to which a search has no limit
_DECISIONS = (
    "best", "mostly_accuracy_and_f1", "mostly_accuracy_and_tree_loss", "accuracy_and_f1", "accuracy_and_tree_loss",
    "hierarchical_f1", "tree_loss",
)  # fmt: skip
_DECISIONS_OF_SETS = ("best", "hierarchical_f1", "probable")
_DECISION_OF_OPEN_SETS = "label_f1"  # where labels come without their ancestors
_SECOND, _SECOND_OF_SETS = "tree_loss", "macro_f1"  # among those about as good
# what is asked of the chosen method
_OF_ESTIMATOR = frozenset(
    ("vectors_", "decoder_", "classes_", "taxonomy_", "certificate_", "calibration_", "coverage_", "label_form_",
     "_indicator", "n_iter_", "history_", "data_", "_own_link", "_link")
)  # fmt: skip


def _scoring_or_none(name: str, value: Any) -> None:
    if value is not None and value not in SCORINGS:
        check_scoring(value, None)


def _has_probabilities(model: Any) -> bool:
    chosen = vars(model).get("estimator_")
    # asking for the attribute repeats the method's own sentence about what is missing
    return chosen is None or callable(chosen.predict_proba)


@estimator
class TaxonomyClassifier(VectorClassifier):
    """The estimator to begin with: chooses a method, its C and its decision on held-out rows, and learns it.

    Some of the library's methods, flat ones among them, are fitted without a fifth of the rows and asked about these;
    with few rows the fifths take turns. Each goes along C from the last fit on while its answers get better, and ends
    early when it is far behind. Of all that are not below the best flat one by `scoring`, nor below the best of all
    by more than one standard error of the difference (row by row), the one with the least tree loss is chosen, then
    the simplest. The best flat one is taken unless it is beaten by two standard errors on a hundred rows or more;
    with fewer only flat ones are tried. Then two linear methods may answer together, the sum of their scores
    (`Blend`), where that is two standard errors better than the one that was chosen. With several labels per row the
    best geometric mean of four F1 takes the place of the least tree loss, or macro-F1 where a `scoring` is given.
    What is chosen is then fitted on all rows and certified; its probabilities are calibrated by the scores of
    held-out rows. Where every class has a single row nothing can be held out: the flat SVM is learned, without
    probabilities.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog", "Plant/Oak"])
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 5.0]] * 4) + 0.1 * np.random.default_rng(0).normal(size=(12, 2))
    >>> model = TaxonomyClassifier(tree, random_state=0).fit(X, ["Cat", "Dog", "Oak"] * 4)
    >>> model.predict_path([[0.0, 4.0]]), model.certificate_.holds(model.tol)
    ([('Plant', 'Oak')], True)
    """

    _fitted: ClassVar[Mapping[str, str]] = {
        "estimator_": "taxolearn estimator: The chosen method, fitted on all rows; it gives all answers.",
        "trials_": "Selection: All that was tried and what was chosen: `to_text()` is a table, `plot(file)` a picture.",
        "decision_": "str: The decision that was chosen, as in the methods' parameter `decision`.",
    }
    scoring: str | None = parameter(
        default=None,
        doc=(
            'What counts: a metric of `taxolearn.metrics`. None: "accuracy"; with several labels per row the geometric '
            "mean of example-F1, micro-F1, macro-F1 and hierarchical F1."
        ),
        choices=SCORINGS,
        check=_scoring_or_none,
    )
    decision: str = parameter(
        default="auto",
        doc=(
            'How labels are decided, as in the methods; "auto": as is best on held-out rows. It may be set on a fitted '
            "model, or given to `predict`."
        ),
        choices=("auto", *WORDS),
    )
    max_seconds: float | None = parameter(
        default=None,
        doc=(
            "Time limit of the search and the last fit together. None: the search may take as many CPU seconds as "
            "eight flat fits, and sixty at least; a small problem has no limit, and does not depend on the machine."
        ),
        check=positive_or_none,
    )
    tol: float = parameter(default=1e-3, doc="Certified relative gap of the last fit.", check=positive)
    random_state: Any = parameter(default=None, doc="Seed of held-out rows and of the visiting order.")
    verbose: int = parameter(default=0, doc="Lines about trials on standard error.")

    def __getattr__(self, name: str) -> Any:
        if name in _OF_ESTIMATOR and "estimator_" in vars(self):
            return getattr(self.estimator_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose on held-out rows, then learn from all rows.

        >>> model = TaxonomyClassifier(random_state=0).fit([[-1.0], [1.0], [-2.0], [2.0]], ["a", "b", "a", "b"])
        >>> model.classes_.tolist(), len(model.trials_.trials) > 3
        (['a', 'b'], True)
        """
        check_parameters(self)
        seed = check_seed(self.random_state)
        rows = check_rows(self, X, reset=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptyClassWarning)  # the last fit tells
            problem = make_problem(
                rows, check_targets(self, y), self.taxonomy, sample_weight=sample_weight, build=True
            )
        several = problem.labels.multilabel
        if self.coverage_holdout:
            return self._fit_and_calibrate(problem, RowLabels(problem, y, several), sample_weight)
        scoring = self._scoring(several)
        if scoring != BALANCED:
            check_scoring(scoring, problem.taxonomy)
        budget = Budget(self.max_seconds, small=_entries(rows) * problem.n_classes <= _SMALL)
        race = self._race(problem, RowLabels(problem, y, several), several, scoring, seed)
        if race is None:
            chosen, final = None, OneVsRestSVM(self.taxonomy)
        else:
            chosen = race.run(budget)
            final = race.estimator(chosen.attempt)
        final.set_params(
            taxonomy=self.taxonomy,
            tol=self.tol,
            random_state=seed,
            max_seconds=_rest(budget, self.max_seconds),
        )
        final.fit(X, y, sample_weight=sample_weight)
        return self._adopt(final, chosen, race, scoring)

    def _fit_and_calibrate(self, problem: Problem, labels: RowLabels, sample_weight: Any) -> Self:
        """Choose and learn without some rows, drawn by chance, and calibrate on these: the choice must not see them."""
        held, kept = calibration_split(self, problem)
        weight = None if sample_weight is None else problem.row_weight[kept]
        whole = clone(self).set_params(taxonomy=problem.taxonomy, coverage_holdout=0.0)
        whole.fit(problem.X[kept], labels[kept], sample_weight=weight).calibrate(
            problem.X[held], labels[held]
        )
        return self._take(whole.estimator_, whole.decision_, whole.trials_)

    def calibrate(self, X: Any, y: Any, *, max_nodes: int = 3) -> Self:
        """Learn from rows that it was not fitted on how far down the model may answer; see the methods' `calibrate`.

        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> model = TaxonomyClassifier(tree, random_state=0).fit([[-1.0], [1.0]] * 9, ["Cat", "Dog"] * 9)
        >>> model.calibrate([[-1.0], [1.0]] * 9, ["Cat", "Dog"] * 9).predict([[2.0]], coverage=0.9).tolist()
        ['Dog']
        """
        self.estimator_.calibrate(self._rows(X), y, max_nodes=max_nodes)
        return self

    def stops(self, X: Any, **promise: Any) -> Any:
        """How far down each row is answered, and why not further; see the methods' `stops`.

        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> model = TaxonomyClassifier(tree, random_state=0).fit([[-1.0], [1.0]] * 9, ["Cat", "Dog"] * 9)
        >>> model = model.calibrate([[-1.0], [1.0]] * 9, ["Cat", "Dog"] * 9)
        >>> model.stops([[2.0]], coverage=0.9).depth.tolist()
        [1.0]
        """
        return self.estimator_.stops(self._rows(X), **promise)

    def _scoring(self, several: bool) -> str:
        if self.scoring is not None:
            return self.scoring
        return BALANCED if several else "accuracy"

    def _race(
        self, problem: Problem, labels: RowLabels, several: bool, scoring: str, seed: int
    ) -> Race | None:
        """The search, None where there is nothing to hold out."""
        taxonomy = problem.taxonomy
        if problem.n_classes < 2:
            return None
        try:
            folds = held_out_parts(problem, _HELD_OUT, seed, enough=_ENOUGH_HELD_OUT)
        except DataError:  # every class has a single row
            return None
        common = {"tol": self.tol, "random_state": seed, "n_jobs": self.n_jobs}
        candidates = scaled(starting_candidates(taxonomy, several, problem, **common), problem.X)
        decisions = _DECISIONS_OF_SETS if several else _DECISIONS if taxonomy is not None else ("best",)
        if several and taxonomy is not None and not labels_are_closed(problem):
            decisions = (*decisions, _DECISION_OF_OPEN_SETS)
        if self.decision != "auto":
            decisions = (self.decision,)
        second = None
        if taxonomy is not None and scoring != BALANCED:  # that has macro-F1 in it
            second = Measure(_SECOND_OF_SETS if several else _SECOND, taxonomy)
        return Race(
            problem,
            labels,
            folds,
            candidates,
            decisions,
            Measure(scoring, taxonomy),
            second,
            self._tell if self.verbose else None,
        )

    def _tell(self, attempt: Attempt, name: str, score: float) -> None:
        print(
            f"taxolearn: {name}, C {attempt.C:g}: {score:.4f} on held-out rows", file=sys.stderr, flush=True
        )

    def _adopt(self, final: Any, chosen: Option | None, race: Race | None, scoring: str) -> Self:
        self.decision_ = "best"
        trials: list[Trial] = []
        number, n_held_out = 0, 0
        if chosen is not None and race is not None:
            self.decision_ = chosen.decision
            final.set_params(probability=True, decision=chosen.decision)
            several = final.decoder_.several
            final.calibration_ = pooled_link(chosen.attempt.links, len(final.classes_), several)
            if several:
                cuts = np.mean(chosen.attempt.thresholds, axis=0)
                final.decoder_ = replace(final.decoder_, thresholds=cuts)
            trials, number = trials_of(race, chosen)
            n_held_out = race.n_held_out
        self.estimator_ = final
        self.trials_ = Selection(trials, number, final, n_held_out, scoring)
        return self

    def _judge(self) -> Any:
        """Features are compared by the flat method."""
        return OneVsRestSVM(self.taxonomy, n_jobs=self.n_jobs, random_state=self.random_state)._judge()

    def _deciding(self, decision: Any, inner: bool = False) -> tuple[Decoder, npt.NDArray[Any]]:
        if decision is None and self.decision != "auto":
            decision = self.decision
        found: tuple[Decoder, npt.NDArray[Any]] = self.estimator_._deciding(decision, inner)
        return found

    def _probable(self, X: Any, ids: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        found: tuple[npt.NDArray[Any], npt.NDArray[Any]] = self.estimator_._probable(X, ids)
        return found

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Probability of each class, rows x classes; see the chosen method.

        >>> model = TaxonomyClassifier(random_state=0).fit([[-1.0], [1.0], [-2.0], [2.0]], ["a", "b", "a", "b"])
        >>> model.predict_proba([[3.0]]).argmax()
        np.int64(1)
        """
        rows = self._rows(X)
        found: npt.NDArray[np.float64] = self.estimator_.predict_proba(rows)
        return found

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Logarithm of `predict_proba`.

        >>> model = TaxonomyClassifier(random_state=0).fit([[-1.0], [1.0], [-2.0], [2.0]], ["a", "b", "a", "b"])
        >>> model.predict_log_proba([[3.0]]).shape
        (1, 2)
        """
        rows = self._rows(X)
        found: npt.NDArray[np.float64] = self.estimator_.predict_log_proba(rows)
        return found

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def node_proba(self, X: Any, nodes: Any = None) -> npt.NDArray[np.float64]:
        """Probability that a label of the row lies at or below each node, rows x nodes; see the chosen method.

        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> model = TaxonomyClassifier(tree, random_state=0)
        >>> model.fit([[-1.0], [1.0], [-2.0], [2.0]], ["Cat", "Dog", "Cat", "Dog"]).node_proba([[3.0]], ["Animal"])
        array([[1.]])
        """
        rows = self._rows(X)
        found: npt.NDArray[np.float64] = self.estimator_.node_proba(rows, nodes)
        return found

    def migrate(
        self,
        X: Any,
        y: Any,
        taxonomy: Taxonomy,
        mapping: Mapping[Hashable, Any] | None = None,
        **options: Any,
    ) -> Migration:
        """The chosen method over a new version of its taxonomy; see the methods' `migrate`.

        >>> old, new = Taxonomy.from_paths(["all/bone", "all/skin"]), Taxonomy.from_paths(["all/bone", "all/cutis"])
        >>> X, y = [[-1.0], [1.0], [-2.0], [2.0]], ["bone", "skin", "bone", "skin"]
        >>> model = TaxonomyClassifier(old, random_state=0).fit(X, y)
        >>> model.migrate(X, y, new, {"skin": "cutis"}).model.predict([[3.0]]).tolist()
        ['cutis']
        """
        migration: Migration = self.estimator_.migrate(X, y, taxonomy, mapping, **options)
        made = type(self)(**{**self.get_params(deep=False), "taxonomy": taxonomy})
        return replace(migration, model=made._take(migration.model, self.decision_, self.trials_))

    def _take(self, chosen: Any, decision: str, trials: Selection) -> Self:
        """Answer by a fitted method."""
        self.estimator_, self.decision_, self.trials_ = chosen, decision, replace(trials, model=chosen)
        self.n_features_in_ = chosen.n_features_in_
        if hasattr(chosen, "feature_names_in_"):
            self.feature_names_in_ = chosen.feature_names_in_
        return self

    def _pack(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Header and arrays of the fitted model."""
        return pack_starter(self)

    @classmethod
    def _unpack(cls, header: dict[str, Any], arrays: dict[str, Any], full: bool) -> Self:
        """The model of a header and arrays, every entry checked."""
        made: Self = unpack_starter(cls, header, arrays, full)
        return made


def _entries(X: Any) -> int:
    return int(X.nnz) if hasattr(X, "nnz") else int(X.size)


def _rest(budget: Budget, max_seconds: float | None) -> float | None:
    """What the last fit gets of the time that was asked for: what is left, and never less than a fifth."""
    return None if max_seconds is None else max(budget.left, 0.2 * max_seconds)
