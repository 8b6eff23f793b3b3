"""A fitted model as the server asks it: suggestions for many texts, and everything about one."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from taxolearn.decoders import Answers
from taxolearn.errors import DataError, LabelError
from taxolearn.explain import ExplainedRow, Explanation, explain_row
from taxolearn.explain.explanation import INTERCEPT
from taxolearn.serving.nodes import NodeBook
from taxolearn.serving.numbers import rows_of_numbers
from taxolearn.storage.manifest import MANIFEST_NAME
from taxolearn.structure.names import show

COVERAGE = 0.95
_SIBLINGS = 3  # beside each node of a path
_WORDS = 400  # of an explanation; the strongest
LONG = 20_000  # characters from which on words are not looked for in the text


class ServedModel:
    """A model ready to answer one text after the other.

    Answers are those of the model's own `decode`, `top_k`, `predict_proba`, `node_proba`, `stops` and `explain`.

    >>> from taxolearn import OneVsRestLogistic, Taxonomy, TextClassifier
    >>> from taxolearn.text import TextFeatures
    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> model = TextClassifier(OneVsRestLogistic(tree), TextFeatures()).fit(["it purrs", "it barks"], ["Cat", "Dog"])
    >>> served = ServedModel(model, "pets")
    >>> [(found["label"], found["score"] > 0.5) for found in served.suggest(["purrs"], 1)[0]]
    [('Cat', True)]
    """

    def __init__(self, fitted: Any, name: str, folder: str | None = None) -> None:
        self.fitted, self.name = fitted, name
        self.folder = folder
        self.is_text = hasattr(fitted, "features_")
        self.estimator = fitted.estimator_ if self.is_text else fitted
        self.several = bool(self.estimator.decoder_.several)
        self.classes: list[Hashable] = fitted.classes_.tolist()
        self.book = NodeBook(self.estimator.taxonomy_, self.classes, getattr(fitted, "titles", None) or {})
        self.has_probabilities = (
            self.estimator.calibration_ is not None or self.estimator._own_link() is not None
        )
        self.estimator.set_params(n_jobs=1)  # requests are what runs side by side
        self.few_rows = self.estimator.vectors_.prepare_for_few_rows()

    @property
    def takes(self) -> str:
        """What a text is here, in a sentence for people."""
        if self.is_text:
            return "This model reads texts."
        return (
            f"This model reads rows of {self.estimator.n_features_in_:,} numbers: give all of them, separated by "
            "commas or blanks, or pairs index:value, counted from 1."
        )

    @property
    def no_stop(self) -> str | None:
        """Why it cannot be said where a 95% answer stops, and what to do; None where it can."""
        if self.several:
            return (
                "Where a 95% answer stops is known for models with one label per text; this one has several."
            )
        if self.book.taxonomy is None:
            return "Without a taxonomy there is no node above a class to stop at."
        if getattr(self.estimator, "coverage_", None) is None:
            rows = "texts" if self.is_text else "rows"
            return (
                f"To see where a 95% answer stops, run `taxolearn calibrate {Path(self.folder or 'MODEL').name} ROWS` "
                f"with labelled {rows} that the model has not seen, and start the server again."
            )
        return None

    @property
    def no_probabilities(self) -> str | None:
        """What to do for probabilities; None where there are some."""
        if self.has_probabilities:
            return None
        return "This model has scores, no probabilities; learn it with `taxolearn fit --probability` to see them."

    def rows(self, texts: Sequence[str]) -> Any:
        """The texts as rows of features."""
        if self.is_text:
            return self.fitted.features_.transform(list(texts))
        return rows_of_numbers(texts, self.estimator.n_features_in_)

    def suggest(self, texts: Sequence[str], limit: int) -> list[list[dict[str, Any]]]:
        """The best classes of each text, best first, as Annif writes them, with path, probability and raw score."""
        k = min(limit, len(self.classes))
        if not texts or k < 1:
            return [[] for _ in texts]
        rows = self.rows(texts)
        return self._results(rows, self.estimator.decode(rows, k=k))

    def predicted(self, texts: Sequence[str]) -> list[list[dict[str, Any]]]:
        """What `predict` says of each text: one class, or a set of them (maybe none), as suggestions."""
        rows = self.rows(texts)
        return self._results(rows, self.estimator.decode(rows))

    def _results(self, rows: Any, found: Answers) -> list[list[dict[str, Any]]]:
        chances: list[float | None] = [None] * len(found.ids)
        if self.has_probabilities:
            row = np.repeat(np.arange(rows.shape[0]), np.diff(found.indptr))
            chances = self.estimator.predict_proba(rows)[row, found.ids].tolist()
        results = [
            self._suggestion(self.classes[number], score, chance)
            for number, score, chance in zip(found.ids.tolist(), found.scores.tolist(), chances, strict=True)
        ]
        return [results[a:b] for a, b in pairwise(found.indptr.tolist())]

    def _suggestion(self, name: Hashable, score: float, chance: float | None) -> dict[str, Any]:
        path = self.book.path(name)
        card = path[-1]
        return {
            "uri": card["uri"],
            "label": card["title"],
            "notation": card["notation"],
            "score": _logistic(score) if chance is None else chance,
            "name": card["name"],
            "path": [node["title"] for node in path],
            "probability": chance,
            "raw_score": score,
        }

    def node_called(self, text: str) -> Hashable:
        """The node that is written so."""
        name = self.book.node(text)
        if name is None:
            raise LabelError(f"{show(text)} is not a label of this model")
        return name

    def class_called(self, text: str) -> Hashable:
        """The class that is written so."""
        name = self.node_called(text)
        if not self.book.is_class(name):
            raise LabelError(f"{show(text)} is a node of the taxonomy, but no class of this model")
        return name

    def explain(
        self, text: str, label: Hashable = None, runners_up: int = 5, words: int = _WORDS
    ) -> dict[str, Any]:
        """Why a text gets its best class, or the class `label`: as `Explanation.to_dict`, with probabilities and paths.

        Added are `predicted` (what `predict` says), `probability` and `title` of all that is named, `siblings` beside
        each node, and where a 95% answer stops. Of a long text the strongest words are kept.
        """
        promise = {} if self.no_stop else {"coverage": COVERAGE}
        is_long = self.is_text and len(text) > LONG
        if is_long:
            explained = self._explained_by_features(text, label, runners_up, promise)
        else:
            row: Any = text if self.is_text else self.rows([text])
            explained = self.fitted.explain(row, runners_up=runners_up, label=label, **promise)
        found: dict[str, Any] = explained.to_dict()
        chances = self._chances(text)
        found["predicted"] = self.predicted([text])[0]
        found |= self._named(explained.label, chances)
        found["path"] = [
            {**card, "probability": self._of(chances, card)} for card in self.book.path(explained.label)
        ]
        found["runners_up"] = [
            {"score": score, **self._named(name, chances)} for name, score in explained.runners_up
        ]
        for entry, node in zip(found["nodes"], explained.nodes, strict=True):
            entry |= self._named(node.name, chances)
            for key in ("best", "runner_up", "rival"):
                entry[key] = None if entry[key] is None else self.book.card(entry[key])
            entry["siblings"] = self._siblings(node.name, chances)
            _shorten(entry, words)
        _shorten(found, words)
        found["known"] = any(value for name, value in explained.contributions if name != INTERCEPT)
        found["long"] = is_long
        found["no_stop"], found["no_probabilities"] = self.no_stop, self.no_probabilities
        if explained.stop is not None:
            stop = explained.stop
            found["stop"] |= {**self.book.card(stop.answer), "sentence": stop.to_text()}
            found["stop"]["path"] = list(self.book.path(stop.answer))
            found["stop"]["answer"] = str(stop.answer)
            found["stop"]["further"] = None if stop.further is None else self.book.card(stop.further)
        found.pop("titles", None)
        return found

    def _explained_by_features(
        self, text: str, label: Hashable, runners_up: int, promise: dict[str, float]
    ) -> Explanation:
        """The same for a long text, as a sum over its features: where they stand in it would take long to find."""
        rows = self.rows([text])
        label = self.estimator._decided_label(rows, None) if label is None else label
        if self.estimator.vectors_.by_features:
            entries = sparse.csr_array(rows)
            names = self._feature_names[entries.indices].tolist()
            row = ExplainedRow(entries.indices, entries.data.astype(np.float64), names)
            titles = self.fitted.titles
            found = explain_row(
                self.estimator, rows, row, k=6, runners_up=runners_up, label=label, titles=titles
            )
        else:
            found = self.estimator.explain(rows, runners_up=runners_up, label=label)
        return replace(found, stop=self.estimator._why_stopped(rows, **promise)) if promise else found

    @cached_property
    def _feature_names(self) -> npt.NDArray[np.object_]:
        """Columns of an embedding have one name, so that they are one thing."""
        names: list[str] = self.fitted.features_.get_feature_names_out().tolist()
        shown = [
            "(embedding)" if name.startswith("embedding__") else name.split("__", 1)[-1] for name in names
        ]
        return np.array(shown, dtype=object)

    def _named(self, name: Hashable, chances: dict[str, float] | None) -> dict[str, Any]:
        path = self.book.path(name)
        return {
            **path[-1],
            "label": path[-1]["name"],
            "path": [{**card, "probability": self._of(chances, card)} for card in path],
            "probability": self._of(chances, path[-1]),
        }

    @staticmethod
    def _of(chances: dict[str, float] | None, card: dict[str, Any]) -> float | None:
        return None if chances is None else chances.get(card["name"])

    def _chances(self, text: str) -> dict[str, float] | None:
        """The probability of every node, by name."""
        if not self.has_probabilities:
            return None
        found = self.estimator.node_proba(self.rows([text]))[0]
        return dict(zip(map(str, self.book.nodes), found.tolist(), strict=True))

    def _siblings(self, name: Hashable, chances: dict[str, float] | None) -> list[dict[str, Any]]:
        """The most probable nodes beside a node."""
        taxonomy = self.book.taxonomy
        if chances is None or taxonomy is None or name == taxonomy.root:
            return []
        beside = sorted(taxonomy.siblings(name), key=lambda other: -chances[str(other)])
        return [{**self.book.card(other), "probability": chances[str(other)]} for other in beside[:_SIBLINGS]]

    def libsvm(self, text: str) -> str:
        """A row of numbers as libsvm files have it."""
        row = self.rows([text])
        return " ".join(
            f"{column + 1}:{value!r}"
            for column, value in zip(row.indices.tolist(), row.data.tolist(), strict=True)
        )

    @property
    def modified(self) -> str | None:
        """When the model was saved, as Annif writes it; None where that is not known."""
        if self.folder is None:
            return None
        saved = datetime.fromtimestamp(Path(self.folder, MANIFEST_NAME).stat().st_mtime, UTC)
        return saved.isoformat(timespec="seconds").replace("+00:00", "Z")

    def vocabulary(self) -> list[tuple[str, str, str]]:
        """(uri, label, notation) of every class, for a vocabulary of Annif."""
        cards = map(self.book.card, self.classes)
        return [(card["uri"], card["title"], card["notation"] or "") for card in cards]


def _logistic(score: float) -> float:
    """Between 0 and 1, and in the order of the scores: what Annif asks of a score. No probability."""
    return 1.0 / (1.0 + math.exp(-score)) if score > -700 else 0.0


def _shorten(entry: dict[str, Any], most: int) -> None:
    """Keep the strongest of long sums, words in their order, and say how many are left out."""
    for key in ("contributions", "deciding", "words", "deciding_words"):
        terms = entry.get(key)
        if terms is None or len(terms) <= most:
            continue
        order = sorted(range(len(terms)), key=lambda place: -abs(terms[place]["value"]))
        entry[key] = [terms[place] for place in sorted(order[:most])]
        entry[f"{key}_left_out"] = len(terms) - most


def check_name(name: str) -> str:
    """A project's id as Annif allows it: letters, digits, hyphens and underscores.

    >>> check_name("my model")
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: the project 'my model' may have letters, digits, - and _ alone; give --project
    """
    if not name or not all(c.isascii() and (c.isalnum() or c in "-_") for c in name) or len(name) > 100:
        raise DataError(f"the project {show(name)} may have letters, digits, - and _ alone; give --project")
    return name
