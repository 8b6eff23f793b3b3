"""The choice of n-grams, of the weight of embeddings and of that of label texts, with a default that must be beaten.

With few rows per class the best of many candidates is best by luck. So words, characters and embeddings side by side,
label texts counted as rows, are the default; something else is taken where it is right about more texts by more than
some standard errors.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import check_random_state

from taxolearn.errors import DataError
from taxolearn.methods.base import VectorClassifier
from taxolearn.text.choice import default_candidates
from taxolearn.text.embedder import EmbedderError
from taxolearn.text.features import TextFeatures
from taxolearn.text.held_out import HeldOut
from taxolearn.text.judged_rows import judged_rows
from taxolearn.text.label_texts import LabelRows
from taxolearn.text.leave_one_out import LeaveOneOut

KINDS = ("auto", "ngrams", "embeddings", "both")
_OTHER_WEIGHTS = (0.5, 2.0)
_OTHER_LABEL_WEIGHTS = (0.3, 0.0)
_FEWEST_JUDGED = 30  # with fewer rows no difference could be told from chance
_MOST_LEFT_OUT = 2_500  # rows that are left out one by one; their products are one dense matrix
_MOST_TEXTS, _MOST_CHARACTERS = (
    10_000,
    5_000_000,
)  # that the estimator itself is learned from, in a comparison
_STANDARD_ERRORS = 1.5
# Up to so many texts and characters those of n-grams of characters cost little.
_FEW_TEXTS, _FEW_CHARACTERS = 5_000, 2_000_000


class Trial(NamedTuple):
    """Features to try, and the weight of label texts.

    >>> Trial(TextFeatures(), 0.0).label_weight
    0.0
    """

    features: TextFeatures
    label_weight: float


Round = Callable[[Trial], list[Trial]]


def usual_ngrams(texts: list[str]) -> TextFeatures:
    """The n-grams that are taken unless others are better: of words, and with few texts of characters, too.

    >>> usual_ngrams(["left femur"])
    TextFeatures(analyzer='word+char', sublinear_tf=True)
    """
    few = len(texts) <= _FEW_TEXTS and sum(map(len, texts)) <= _FEW_CHARACTERS
    return TextFeatures(analyzer="word+char" if few else "word", sublinear_tf=True)


def rounds(kind: str, weigh_labels: bool) -> list[Round]:
    """What is tried, round by round: each starts from what won before, the default that must be beaten.

    >>> first, second = rounds("both", weigh_labels=False)
    >>> start = Trial(TextFeatures(embedder="words"), 0.0)
    >>> [trial.features.embedding_weight for trial in second(start)]
    [1.0, 0.5, 2.0]
    """
    found: list[Round] = []
    if kind in ("auto", "both", "ngrams"):
        found.append(_other_ngrams)
    if kind in ("auto", "both"):

        def weights(best: Trial) -> list[Trial]:
            features = [clone(best.features).set_params(embedding_weight=weight) for weight in _OTHER_WEIGHTS]
            if kind == "auto":
                features.append(clone(best.features).set_params(embedder=None))
                features.append(TextFeatures(analyzer=None, embedder=best.features.embedder))
            return [best, *(best._replace(features=tried) for tried in features)]

        found.append(weights)
    if weigh_labels:
        found.append(
            lambda best: [best, *(best._replace(label_weight=weight) for weight in _OTHER_LABEL_WEIGHTS)]
        )
    return found


def _other_ngrams(best: Trial) -> list[Trial]:
    embedder = best.features.embedder
    others = [features.set_params(embedder=embedder) for features in default_candidates()]
    same = best.features.get_params()
    return [best, *(best._replace(features=tried) for tried in others if tried.get_params() != same)]


def choose_mixture(
    estimator: VectorClassifier,
    start: Trial,
    to_try: Sequence[Round],
    texts: list[str],
    y: Any,
    about: LabelRows | None,
    *,
    random_state: Any,
    verbose: int,
) -> tuple[Trial, list[dict[str, Any]]]:
    """The winner of the last round, and the table of what was tried; the default where too little can be judged.

    >>> from taxolearn import OneVsRestSVM
    >>> start, to_try = Trial(TextFeatures(embedder="words"), 0.0), rounds("both", weigh_labels=False)
    >>> best, table = choose_mixture(OneVsRestSVM(), start, to_try, ["a cat", "a dog"], ["c", "d"], None,
    ...     random_state=0, verbose=0)
    >>> best.features.embedder, len(table)
    ('words', 0)
    """
    judge = _judge(estimator, texts, y, about, check_random_state(random_state))
    if judge.n_judged < _FEWEST_JUDGED:
        return start, []
    comparison = _Comparison(judge, verbose)
    best = start
    for more in to_try:
        best = comparison.best_of(more(best))
    return best, comparison.table


def _judge(
    estimator: VectorClassifier, texts: list[str], y: Any, about: LabelRows | None, random: Any
) -> Any:
    """By leaving out one by one where that is cheap: all rows, or all rows of some classes; else the estimator."""
    rows = judged_rows(texts, y, about, estimator.taxonomy)
    n_texts = len(texts)
    if rows.size > _MOST_LEFT_OUT:
        part = rows.of_some_classes(_MOST_LEFT_OUT, random)
        if part is None:
            order = random.permutation(n_texts)[:_MOST_TEXTS]
            sizes = np.cumsum([len(texts[row]) for row in order])
            order = order[: max(int(np.searchsorted(sizes, _MOST_CHARACTERS, side="right")), 1)]
            return HeldOut(estimator, rows.some(order), n_texts, random)
        rows = part
    C = estimator.get_params(deep=False).get("C", 1.0)
    return LeaveOneOut(rows, n_texts, C if isinstance(C, float | int) and C > 0 else 1.0)


class _Comparison:
    """Candidates against a default, each judged once."""

    def __init__(self, judge: Any, verbose: int) -> None:
        self._judge, self._verbose = judge, verbose
        self.table: list[dict[str, Any]] = []

    def best_of(self, candidates: Sequence[Trial]) -> Trial:
        default = self._rate(candidates[0])
        best, gain = candidates[0], 0.0
        for candidate in candidates[1:]:
            lead = self._rate(candidate) - default
            error = lead.std() / np.sqrt(len(lead))
            if lead.mean() > max(gain, _STANDARD_ERRORS * error):
                best, gain = candidate, lead.mean()
        for entry in self.table:
            entry["chosen"] = entry["trial"] is best
        return best

    def _rate(self, trial: Trial) -> npt.NDArray[np.float64]:
        """How right each judged row is."""
        for entry in self.table:
            if entry["trial"] is trial:
                return np.asarray(entry["right"])
        started = time.perf_counter()
        problem, width = None, 0
        try:
            found = self._judge.right(trial.features, trial.label_weight)
            width = self._judge.parts.width(trial.features)
        except EmbedderError:
            raise  # without embeddings no fit can be what was asked for
        except DataError as error:  # a vocabulary may be empty on a part of the texts
            found, problem = np.zeros(self._judge.n_judged), str(error)
        self.table.append(
            {
                "trial": trial,
                "right": found,
                "score": float(found.mean()),
                "n_features": width,
                "seconds": time.perf_counter() - started,
                "problem": problem,
            }
        )
        if self._verbose:
            print(f"taxolearn: {width:,} features, held-out accuracy {found.mean():.4f}", file=sys.stderr)
        return np.asarray(found)


def table_of(judged: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was tried, as a model keeps it.

    >>> trial = Trial(TextFeatures(embedder="words"), 1.0)
    >>> told = {"score": 0.5, "n_features": 9, "seconds": 0.1, "problem": None, "chosen": True}
    >>> table_of([{"trial": trial} | told])[0]["settings"]
    {'embedder': 'words', 'label_weight': 1.0}
    """
    told = ("score", "n_features", "seconds", "problem", "chosen")
    return [{"settings": _told(entry["trial"])} | {name: entry[name] for name in told} for entry in judged]


def _told(trial: Trial) -> dict[str, Any]:
    usual = TextFeatures().get_params()
    settings = {name: value for name, value in trial.features.get_params().items() if value != usual[name]}
    embedder = settings.get("embedder")
    if embedder is not None and not isinstance(embedder, str):
        settings["embedder"] = getattr(
            embedder, "name", getattr(embedder, "__name__", type(embedder).__name__)
        )
    return settings | ({"label_weight": trial.label_weight} if trial.label_weight else {})
