"""The choice of how much embeddings and label texts weigh, on held-out rows, with a default that must be beaten.

With few rows per class little can be held out, and the best of many candidates is best by luck. So n-grams and
embeddings side by side, label texts counted as rows, are the default; something else is taken where its held-out rows
are right more often by more than a standard error.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from taxolearn.errors import TaxolearnError
from taxolearn.methods.base import VectorClassifier
from taxolearn.text.choice import default_candidates, row_picker
from taxolearn.text.features import TextFeatures
from taxolearn.text.label_texts import LabelRows, label_names, with_label_rows

KINDS = ("auto", "ngrams", "embeddings", "both")
_OTHER_WEIGHTS = (0.5, 2.0)
_OTHER_LABEL_WEIGHTS = (0.3, 0.0)
_ENOUGH_HELD_OUT = 500  # rows; with fewer, several splits are averaged
_MOST_SPLITS = 3
_STANDARD_ERRORS = 1.0
_SHARE = 0.25


class Trial(NamedTuple):
    """Features to try, and the weight of label texts.

    >>> Trial(TextFeatures(), 0.0).label_weight
    0.0
    """

    features: TextFeatures
    label_weight: float


Round = Callable[[Trial], list[Trial]]


def rounds(kind: str, embedder: Any, weigh_labels: bool) -> list[Round]:
    """What is tried, round by round: each starts from what won before, the default that must be beaten.

    >>> first, second = rounds("both", "words", weigh_labels=False)
    >>> [trial.features.embedding_weight for trial in second(first(Trial(TextFeatures(), 0.0))[0])]
    [1.0, 0.5, 2.0]
    """
    found: list[Round] = []
    if kind in ("auto", "both"):
        found.append(lambda best: [best._replace(features=_both(ngrams)) for ngrams in default_candidates()])

        def _both(ngrams: TextFeatures) -> TextFeatures:
            made: TextFeatures = ngrams.set_params(embedder=embedder)
            return made

        def weights(best: Trial) -> list[Trial]:
            features = [clone(best.features).set_params(embedding_weight=weight) for weight in _OTHER_WEIGHTS]
            if kind == "auto":
                features.append(clone(best.features).set_params(embedder=None))
                features.append(TextFeatures(analyzer=None, embedder=embedder))
            return [best, *(best._replace(features=tried) for tried in features)]

        found.append(weights)
    if weigh_labels:
        found.append(
            lambda best: [best, *(best._replace(label_weight=weight) for weight in _OTHER_LABEL_WEIGHTS)]
        )
    return found


def choose_mixture(
    estimator: VectorClassifier,
    start: Trial,
    to_try: Sequence[Round],
    texts: list[str],
    y: Any,
    about: LabelRows | None,
    *,
    max_texts: int,
    random_state: Any,
    verbose: int,
) -> tuple[Trial, list[dict[str, Any]]]:
    """The winner of the last round, and the table of what was tried; the default where nothing can be held out.

    >>> from taxolearn import OneVsRestSVM
    >>> start, to_try = Trial(TextFeatures(), 0.0), rounds("both", "words", weigh_labels=False)
    >>> best, table = choose_mixture(OneVsRestSVM(), start, to_try, ["a cat", "a dog"], ["c", "d"], None,
    ...     max_texts=100, random_state=0, verbose=0)
    >>> best.features.embedder, len(table)
    ('words', 0)
    """
    judge = _Judge(estimator, texts, y, about, max_texts, random_state, verbose)
    best = start
    for more in to_try:
        best = judge.best_of(more(best)) if judge.splits else more(best)[0]
    return best, judge.table


class _Judge:
    """Held-out rows, the same for all candidates, and how many of them each candidate gets right."""

    def __init__(
        self,
        estimator: VectorClassifier,
        texts: list[str],
        y: Any,
        about: LabelRows | None,
        max_texts: int,
        random_state: Any,
        verbose: int,
    ) -> None:
        self._estimator = clone(estimator)
        quick = {"tol": 0.1, "probability": False, "thresholds": "zero", "verbose": 0}
        known = estimator.get_params(deep=False)
        self._estimator.set_params(**{name: value for name, value in quick.items() if name in known})
        self._pick = row_picker(y, len(texts))
        self._texts, self._about, self._verbose = texts, about, verbose
        random = check_random_state(random_state)
        rows = random.permutation(len(texts))[:max_texts]
        self.splits = list(_splits(rows, _strata(self._pick(rows.tolist())), random))
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
        """How right each held-out row is."""
        for entry in self.table:
            if entry["trial"] is trial:
                return np.asarray(entry["right"])
        started = time.perf_counter()
        parts, width = [], 0
        for train, held in self.splits:
            right, width = self._split(trial, train, held)
            parts.append(right)
        found = np.concatenate(parts)
        self.table.append(
            {
                "trial": trial,
                "right": found,
                "score": float(found.mean()),
                "n_features": width,
                "seconds": time.perf_counter() - started,
            }
        )
        if self._verbose:
            print(f"taxolearn: {width:,} features, held-out accuracy {found.mean():.4f}", file=sys.stderr)
        return found

    def _split(self, trial: Trial, train: list[int], held: list[int]) -> tuple[npt.NDArray[np.float64], int]:
        texts, y, true = [self._texts[row] for row in train], self._pick(train), self._pick(held)
        weights = np.ones(len(train))
        if self._about is not None and trial.label_weight > 0:
            about = self._about.of({*label_names(y), *label_names(true)})
            texts, y = texts + about.texts, with_label_rows(y, about.labels)
            weights = np.concatenate([weights, np.full(len(about.texts), trial.label_weight)])
        features = clone(trial.features)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # classes are missing in a part of the rows: no news to the user
            try:
                rows = features.fit_transform(texts)
                model = clone(self._estimator).fit(rows, y, sample_weight=weights)
                answers = model.predict(features.transform([self._texts[row] for row in held]))
            except TaxolearnError:  # the fit on all rows says so if it cannot either
                return np.zeros(len(held)), 0
        return _rightness(answers, true), rows.shape[1]


def table_of(judged: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was tried, as a model keeps it.

    >>> trial = Trial(TextFeatures(embedder="words"), 1.0)
    >>> table_of([{"trial": trial, "score": 0.5, "n_features": 9, "seconds": 0.1, "chosen": True}])[0]["settings"]
    {'embedder': 'words', 'label_weight': 1.0}
    """
    return [
        {
            "settings": _told(entry["trial"]),
            "score": entry["score"],
            "n_features": entry["n_features"],
            "seconds": entry["seconds"],
            "problem": None,
            "chosen": entry["chosen"],
        }
        for entry in judged
    ]


def _told(trial: Trial) -> dict[str, Any]:
    usual = TextFeatures().get_params()
    settings = {name: value for name, value in trial.features.get_params().items() if value != usual[name]}
    embedder = settings.get("embedder")
    if embedder is not None and not isinstance(embedder, str):
        settings["embedder"] = getattr(
            embedder, "name", getattr(embedder, "__name__", type(embedder).__name__)
        )
    return settings | ({"label_weight": trial.label_weight} if trial.label_weight else {})


def _splits(
    rows: npt.NDArray[np.intp], keys: list[Hashable], random: Any
) -> Iterator[tuple[list[int], list[int]]]:
    """Rows to learn from and rows held out: of each class a share, and never its last row."""
    by_class: dict[Hashable, list[int]] = {}
    for row, key in zip(rows.tolist(), keys, strict=True):
        by_class.setdefault(key, []).append(row)
    found = 0
    for _ in range(_MOST_SPLITS):
        held: list[int] = []
        for members in by_class.values():
            share = _SHARE * len(members)
            n = min(int(share) + int(random.random_sample() < share % 1), len(members) - 1)
            if len(members) in (2, 3):
                n = 1
            held += random.permutation(members)[:n].tolist()
        if not held:
            return
        left = set(held)
        yield [row for row in rows.tolist() if row not in left], held
        found += len(held)
        if found >= _ENOUGH_HELD_OUT:
            return


def _strata(y: Any) -> list[Hashable]:
    """The class of each row; sets of labels are hardly ever alike, so they are all of one."""
    if isinstance(y, list | tuple) or (isinstance(y, np.ndarray) and y.ndim == 1):
        several = (set, frozenset, list, np.ndarray)
        return [None if isinstance(label, several) else label for label in y]
    return [None] * y.shape[0]


def _rightness(answers: Any, true: Any) -> npt.NDArray[np.float64]:
    """How right each answer is: 0 or 1, or with several labels the overlap of the sets."""
    if sparse.issparse(true) or getattr(true, "ndim", 1) > 1:
        dense = [np.asarray(part.toarray() if sparse.issparse(part) else part) for part in (answers, true)]
        return np.asarray((dense[0] == dense[1]).all(axis=1), dtype=np.float64)
    pairs = [(_names(answer), _names(label)) for answer, label in zip(answers, true, strict=True)]
    return np.array([len(a & b) / max(len(a | b), 1) for a, b in pairs])


def _names(label: Any) -> set[Any]:
    return set(label) if isinstance(label, set | frozenset | list | np.ndarray) else {label}
