"""A race of candidates on held-out rows: each climbs along C, the best go on to further folds, losers stop early."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from taxolearn.decoders import Link, common_threshold, fit_link, link_of, tune_thresholds
from taxolearn.errors import EmptyClassWarning
from taxolearn.methods.held_out import Split
from taxolearn.methods.probabilities import LikelihoodProbabilities
from taxolearn.problem import Problem
from taxolearn.selection.attempts import Attempt, Candidate, Option
from taxolearn.selection.blend import Blend, blends, member_of
from taxolearn.selection.blending import MOST_SCORES, blended_scores, pairs, shares_of, stand_in
from taxolearn.selection.budget import Budget
from taxolearn.selection.choosing import CLEAR, Choice, goodness
from taxolearn.selection.measures import BALANCED, Measure, Score
from taxolearn.selection.row_labels import RowLabels
from taxolearn.selection.selection import title
from taxolearn.solvers import Status

STEP = 4.0  # from one C to the next
C_RANGE = (1e-8, 1e8)
_LOSER = 3.0  # standard errors below the best at which a candidate's path is not followed
_FEW_ROWS = 100  # held-out rows below which nobody is left behind, and nothing is clear
_PATH_ROWS = 200  # held-out rows that C is looked for on, if there are so many
_MOST = 6  # that go on to the next fold
_SERVED = {"micro_f1": "micro", "macro_f1": "macro"}  # what thresholds are tuned for, by metric
_ALIVE = 2.0  # standard errors below the best up to which a trial goes on to the next fold


@dataclass(eq=False)
class _Path:
    """A candidate on its way along C on the first folds, with the last models, which the next ones start from."""

    candidate: int
    C: float
    best: Attempt | None = None
    models: dict[int, Any] = field(default_factory=dict)
    seconds: float = 0.0
    n_steps: int = 0


class Race:
    """A search over candidates, C and decisions on the folds of one problem.

    >>> from taxolearn import MulticlassSVM
    >>> from taxolearn.problem import make_problem
    >>> X, y = np.array([[-1.0], [-1.2], [0.0], [0.1], [1.0], [1.1]]), np.array(["a", "a", "b", "b", "c", "c"])
    >>> problem = make_problem(X, y)
    >>> labels, folds = RowLabels(problem, y, several=False), [(np.array([0, 2, 4]), np.array([1, 3, 5]))]
    >>> measure = Measure("accuracy", None)
    >>> race = Race(problem, labels, folds, [Candidate(MulticlassSVM())], ("best",), measure, None)
    >>> race.run(Budget(None, small=True)).score.value
    1.0
    """

    def __init__(
        self,
        problem: Problem,
        labels: RowLabels,
        folds: Sequence[Split],
        candidates: Sequence[Candidate],
        decisions: Sequence[str],
        measure: Measure,
        second: Measure | None,
        on_trial: Callable[[Attempt, str, float], None] | None = None,
    ) -> None:
        self._problem, self._labels, self._folds = problem, labels, folds
        self._candidates, self.decisions = candidates, decisions
        if any(one.plain for one in candidates) and sum(len(held) for held, _ in folds) < _FEW_ROWS:
            self.decisions = decisions[:1]  # nothing else could be chosen: see `choice`
            self._racing = [number for number, one in enumerate(candidates) if one.plain]
        else:
            self._racing = list(range(len(candidates)))
        self.measure, self._second, self._on_trial = measure, second, on_trial
        self.attempts: list[Attempt] = []
        self._known: dict[tuple[int, str, str, int], Score] = {}
        self._budget = Budget(None, small=True)
        self._answering: dict[int, Blend] = {}  # by fold: what blends of its models answer by
        self.n_folds = 0  # on which all that are left were tried
        sizes = np.cumsum([len(held) for held, _ in folds])
        self._first_folds = min(len(folds), int(np.searchsorted(sizes, _PATH_ROWS)) + 1)

    def run(self, budget: Budget) -> Option:
        """Race within the budget; the choice."""
        self._budget = budget
        for dear in (False, True):
            paths = [
                _Path(number, self._candidates[number].C)
                for number in self._racing
                if self._candidates[number].dear == dear
            ]
            for path in paths:
                self._step(path, path.C, budget)
            for path in sorted((path for path in paths if path.best is not None), key=self._path_order):
                self._climb(path, budget)
        self.n_folds = self._first_folds
        for fold in range(self._first_folds, len(self._folds)):
            alive = self._alive()
            while len(alive) > 2 and not budget.allows(_seconds_per_fold(alive)):
                alive = alive[: max(2, len(alive) // 2)]
            if len(alive) < 2 or not budget.allows(_seconds_per_fold(alive)):
                break  # one alone has nothing to be compared with
            self._next_fold(alive, fold)
        self._blend(budget)
        return self.choice()

    def _blend(self, budget: Budget) -> None:
        """The best attempts of the candidates that blend with each other, two and two together."""
        if self.n_held_out < _FEW_ROWS:
            return
        whole = [one for one in self.attempts if len(one.scores) == self.n_folds == one.n_folds]
        whole.sort(key=lambda one: -goodness(self._best(one)))
        seconds = 0.0
        for blend in pairs(whole, len(self._candidates), self._is_likelihood):
            if not budget.allows(seconds):
                break
            began = budget.now()
            for fold in range(self.n_folds):
                self._ask_blend(blend, fold, blended_scores(blend, fold))
            seconds = blend.seconds = budget.now() - began
            self.attempts.append(blend)
            if self._on_trial is not None:
                self._on_trial(blend, self.title(blend), self._latest(blend))

    def _ask_blend(self, blend: Attempt, fold: int, scores: Any) -> None:
        held = self._folds[fold][0]
        model, rows = stand_in(self._answering[fold], scores)
        targets, weight = self._targets(model, held), self._problem.row_weight[held]
        blend.links.append(fit_link(scores, targets, weight, several=False))
        blend.answers.append(self._answers(model, rows, scores, targets, weight, blend.links[-1]))

    def _next_fold(self, alive: Sequence[Attempt], fold: int) -> None:
        """All that are left on one more fold, those of a candidate from the smallest C on."""
        for number in sorted({one.candidate for one in alive}):
            model = None
            for attempt in sorted((one for one in alive if one.candidate == number), key=lambda one: one.C):
                model = self._try(attempt, fold, model, self._budget.share(1))
        self.n_folds = fold + 1

    def _climb(self, path: _Path, budget: Budget) -> None:
        """Along C while answers on the first folds get better: up first, and down if that was worse at once."""
        for factor in (STEP, 1.0 / STEP):
            C, climbed = path.C * factor, False
            while C_RANGE[0] <= C <= C_RANGE[1] and not self._lost(path):
                before = path.best
                if not self._step(path, C, budget):
                    return
                if path.best is before:
                    break
                climbed, C = True, C * factor
            if climbed:
                return

    def _step(self, path: _Path, C: float, budget: Budget) -> bool:
        """One trial on the first folds, if there is time for it."""
        if self.attempts and not budget.allows(path.seconds or max(one.seconds for one in self.attempts)):
            return False
        attempt = Attempt(path.candidate, C)
        for fold in range(self._first_folds):
            share = budget.share(self._first_folds - fold)
            path.models[fold] = self._try(attempt, fold, path.models.get(fold), share)
        path.seconds, path.n_steps = attempt.seconds, path.n_steps + 1
        if not self.attempts:
            budget.first_fit(attempt.seconds)
        self.attempts.append(attempt)
        if path.best is None or self._best(attempt).better(self._best(path.best)) > 0.0:
            path.best = attempt
        return True

    def _path_order(self, path: _Path) -> tuple[float, int]:
        assert path.best is not None
        return -goodness(self._best(path.best)), path.candidate

    def _lost(self, path: _Path) -> bool:
        """Whether a path is not worth following: after two trials it is still far below the best of all."""
        if path.n_steps < 2 or path.best is None:
            return False
        best = max((self._best(one) for one in self.attempts), key=goodness)
        return self._best(path.best).errors_below(best) > _LOSER

    def _try(self, attempt: Attempt, fold: int, model: Any, max_seconds: float | None = None) -> Any:
        """Fit a candidate without the rows of one fold, from the last model on, and ask it about them."""
        held, kept = self._folds[fold]
        began = self._budget.now()
        if model is None:
            model = clone(self._candidates[attempt.candidate].estimator).set_params(warm_start=True)
        candidate = self._candidates[attempt.candidate]
        tol = candidate.estimator.tol
        tol = max(tol, candidate.trial_tol) if self.attempts else tol
        model.set_params(C=attempt.C, tol=tol, max_seconds=max_seconds)
        X, weight = self._problem.X, self._problem.row_weight
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # gaps are in the table
            warnings.simplefilter("ignore", EmptyClassWarning)  # the last fit tells
            model.fit(X[kept], self._labels[kept], sample_weight=self._kept_weight(kept))
        if model.certificate_.status is Status.INTERRUPTED:
            raise KeyboardInterrupt  # a fit would keep what it has; half a search is none
        scores = model.decoder_.scores(model.vectors_, X[held]).astype(np.float64)
        targets, several = self._targets(model, held), model.decoder_.several
        attempt.links.append(fit_link(scores, targets, weight[held], several))
        if several:
            attempt.thresholds.append(self._tuned(model, scores, targets, weight[held]))
        elif blends(model) and scores.size <= MOST_SCORES:
            attempt.scores.append(scores.astype(np.float32))
            self._answering.setdefault(fold, Blend().answering_as(model))
        attempt.answers.append(
            self._answers(model, X[held], scores, targets, weight[held], attempt.links[-1])
        )
        attempt.gap = max(attempt.gap, model.certificate_.gap)
        attempt.certified &= model.certificate_.holds(model.tol)
        seconds = self._budget.now() - began
        attempt.seconds += seconds
        self._budget.one_fit(seconds * len(self._problem.row_weight) / len(kept))
        if self._on_trial is not None:
            self._on_trial(attempt, self.title(attempt), self._latest(attempt))
        return model

    def _kept_weight(self, kept: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        """Weights of the rows that a trial learns from. The classes of held-out rows lack these, and get so much more
        weight that their share is that of all rows.
        """
        weight = self._problem.row_weight
        if self._labels.several:
            return np.asarray(weight[kept])
        number = self._problem.targets.indices
        n_classes = self._problem.n_classes
        total, left = (np.bincount(number[rows], weight[rows], n_classes) for rows in (slice(None), kept))
        found = weight[kept] * (total[number[kept]] / np.maximum(left[number[kept]], 1e-300))
        return np.asarray(found * (left.sum() / found.sum()))

    def _targets(self, model: Any, held: npt.NDArray[np.intp]) -> Any:
        """Which classes of a model the held-out rows have, rows x classes."""
        targets = sp.coo_array(self._problem.targets[held])
        place = {name: number for number, name in enumerate(model.classes_.tolist())}
        columns = np.array([place[name] for name in self._problem.classes])[targets.coords[1]]
        shape = (targets.shape[0], len(place))
        return sp.csr_array((targets.data, (targets.coords[0], columns)), shape=shape)

    def _answers(
        self, model: Any, X: Any, scores: Any, targets: Any, weight: Any, link: Link
    ) -> dict[str, Any]:
        """The answers by each decision. A temperature is one number, and may be fitted on the same rows; sigmoids and
        thresholds are fitted on one half for the answers of the other.
        """
        own = model.decoder_
        if not own.several or len(scores) < 4:
            model.calibration_ = link
            told = {decision: model.predict(X, decision=decision) for decision in self.decisions}
            model.calibration_ = None
            return told
        parts: dict[str, list[Any]] = {decision: [None] * len(scores) for decision in self.decisions}
        for half in (0, 1):
            mine, other = np.arange(half, len(scores), 2), np.arange(1 - half, len(scores), 2)
            cuts = self._tuned(model, scores[other], targets[other], weight[other])
            model.calibration_ = fit_link(scores[other], targets[other], weight[other], True)
            for decision, answers in parts.items():
                model.decoder_ = replace(own, thresholds=cuts) if decision == "best" else own
                for row, answer in zip(mine.tolist(), model.predict(X[mine], decision=decision), strict=True):
                    answers[row] = answer
        model.decoder_, model.calibration_ = own, None
        return {
            decision: np.array(answers) if isinstance(answers[0], np.ndarray) else answers
            for decision, answers in parts.items()
        }

    def _tuned(self, model: Any, scores: Any, targets: Any, weight: Any) -> npt.NDArray[np.float64]:
        """Thresholds that are best for the metric on these rows: one per class for macro-F1, else one for all."""
        true, serve = targets.toarray() > 0, _SERVED.get(self.measure.name, "example")
        if serve == "macro":
            return tune_thresholds(scores, true, row_weight=weight)
        return common_threshold(scores, true, serve, model.decoder_.fill, row_weight=weight)

    def score(self, attempt: Attempt, decision: str, measure: Measure) -> Score:
        """On the held-out rows of all folds that were finished."""
        n_folds = min(attempt.n_folds, max(self._first_folds, self.n_folds))
        key = (id(attempt), decision, measure.name, n_folds)
        if key in self._known:
            return self._known[key]
        held = np.concatenate([self._folds[fold][0] for fold in range(n_folds)])
        found = [attempt.answers[fold][decision] for fold in range(n_folds)]
        together = (
            np.concatenate(found)
            if isinstance(found[0], np.ndarray)
            else [one for some in found for one in some]
        )
        self._known[key] = measure(self._labels[held], together, self._problem.row_weight[held])
        return self._known[key]

    def estimator(self, attempt: Attempt) -> Any:
        """The estimator of an attempt, not fitted."""
        if attempt.of:
            members = [member_of(self.estimator(one)) for one in attempt.of]
            n_jobs = self._candidates[0].estimator.n_jobs
            return Blend(members=members, shares=shares_of(attempt), n_jobs=n_jobs)
        return clone(self._candidates[attempt.candidate].estimator).set_params(C=attempt.C)

    def title(self, attempt: Attempt) -> str:
        """The estimator of an attempt as it would be written."""
        if attempt.of:
            return " + ".join(f"{self.title(one)} C={one.C:g}" for one in attempt.of)
        return title(self._candidates[attempt.candidate].estimator)

    def _latest(self, attempt: Attempt) -> float:
        """The best score on the last fold."""
        held = self._folds[attempt.n_folds - 1][0]
        truth, weight = self._labels[held], self._problem.row_weight[held]
        scores = [self.measure(truth, answers, weight) for answers in attempt.answers[-1].values()]
        return max(scores, key=goodness).value

    @property
    def several(self) -> bool:
        """Whether rows have several labels."""
        return self._labels.several

    def n_rows(self, attempt: Attempt) -> int:
        """Held-out rows that an attempt is scored on."""
        n_folds = min(attempt.n_folds, max(self._first_folds, self.n_folds))
        return sum(len(self._folds[fold][0]) for fold in range(n_folds))

    @property
    def n_held_out(self) -> int:
        """Rows that were asked about."""
        return sum(len(self._folds[fold][0]) for fold in range(self.n_folds))

    def options(self) -> Iterator[Option]:
        """All attempts that were tried on every finished fold, by decision."""
        for attempt in self.attempts:
            if attempt.n_folds < max(self._first_folds, self.n_folds):
                continue
            for decision in self.decisions:
                second = None if self._second is None else self.score(attempt, decision, self._second)
                yield Option(attempt, decision, self.score(attempt, decision, self.measure), second)

    def choice(self) -> Option:
        """The option that the rule takes."""
        rule = Choice(self.decisions, self._is_plain, clear=0.0 if self.measure.name == BALANCED else CLEAR)
        return rule.of(list(self.options()), few=self.n_held_out < _FEW_ROWS)

    def _is_plain(self, attempt: Attempt) -> bool:
        return not attempt.of and self._candidates[attempt.candidate].plain

    def _is_likelihood(self, attempt: Attempt) -> bool:
        return isinstance(self._candidates[attempt.candidate].estimator, LikelihoodProbabilities)

    def _best(self, attempt: Attempt) -> Score:
        return max((self.score(attempt, decision, self.measure) for decision in self.decisions), key=goodness)

    def _alive(self) -> list[Attempt]:
        """What goes on to the next fold: the best plain attempt, then the others from the best on."""
        tried = [one for one in self.attempts if one.n_folds == self.n_folds]
        scores = {id(one): self._best(one) for one in tried}
        best = max(scores.values(), key=goodness)
        seen = self.n_rows(tried[0])
        near = [one for one in tried if seen < _FEW_ROWS or scores[id(one)].errors_below(best) <= _ALIVE]
        near.sort(key=lambda one: -goodness(scores[id(one)]))
        plain = max(
            (one for one in tried if self._is_plain(one)),
            key=lambda one: goodness(scores[id(one)]),
            default=None,
        )
        others = [one for one in near if one is not plain]
        going = others[:_MOST] if plain is None else [plain, *others[: _MOST - 1]]
        # what is not good enough alone may be, together with one of the other kind
        tried.sort(key=lambda one: -goodness(scores[id(one)]))
        kinds = {self._is_likelihood(one) for one in going}
        others = [one for one in tried if one.scores and self._is_likelihood(one) not in kinds]
        return going + others[:1]


def _seconds_per_fold(attempts: Sequence[Attempt]) -> float:
    return sum(one.seconds / one.n_folds for one in attempts)


def pooled_link(links: Sequence[Link], n_classes: int, several: bool) -> Link | None:
    """The mean of what the folds say about probabilities, with the doubt that their rows leave together.

    >>> from taxolearn.decoders import Temperature
    >>> pooled_link([Temperature(1.0, doubt=0.25), Temperature(3.0, doubt=0.25)], 2, False)  # of two rows each
    Temperature(slope=2.0, offset=None, doubt=0.16666666666666666)
    """
    arrays = [link.arrays() for link in links]
    mean = {name: np.mean([one[name] for one in arrays], axis=0) for name in arrays[0]} if arrays else {}
    if "doubt" in mean:
        n_rows = sum(1.0 / one["doubt"] - 2.0 for one in arrays)
        mean["doubt"] = 1.0 / (n_rows + 2.0)
    return link_of(mean, n_classes, several)
