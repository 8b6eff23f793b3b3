"""A model read from its folder, and what the commands ask of it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from taxolearn.cli.outputs import Answer
from taxolearn.errors import FileFormatError
from taxolearn.models.path_weights import PathWeights

if TYPE_CHECKING:
    from taxolearn.cli.inputs import Source
    from taxolearn.structure import Taxonomy

_ARTIFICIAL_ROOT = "<root>"
_CHUNK_BYTES = 32 * 2**20
_CHUNK_ROWS = 4096
_READ_THROUGH = 256 * 2**20  # bytes of arrays whose checksum is worth the wait


class Model:
    """A fitted model and what the commands ask of it; `estimator` is the part with class weights.

    >>> import numpy as np
    >>> from taxolearn import OneVsRestSVM
    >>> model = Model(OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"]))
    >>> model.labels(np.array([[2.0]])), model.has_probabilities
    (['b'], False)
    """

    def __init__(self, fitted: Any) -> None:
        self.fitted = fitted
        self.is_text = hasattr(fitted, "features_")
        self.estimator = fitted.estimator_ if self.is_text else fitted
        self.taxonomy: Taxonomy | None = self.estimator.taxonomy
        self.titles: dict[Hashable, str] = dict(getattr(fitted, "titles", None) or {})
        self.classes: list[Hashable] = fitted.classes_.tolist()
        self.multilabel = self.estimator.label_form_ in ("sets", "indicator")
        self.path = lru_cache(maxsize=None)(self._path)

    @classmethod
    def load(cls, folder: str) -> Model:
        """Read a model folder; a large one is mapped without being read through first."""
        import taxolearn
        from taxolearn.models import read_manifest

        large = read_manifest(folder).file_bytes > _READ_THROUGH
        return cls(taxolearn.load(folder, verify="sizes" if large else "full"))

    @property
    def chunk_rows(self) -> int:
        """Rows whose scores fit into the memory set aside for a chunk."""
        if (
            not self.multilabel
            and not self.has_probabilities
            and isinstance(self.estimator.weights_, PathWeights)
        ):
            return _CHUNK_ROWS  # no matrix of all scores; and all vectors are read for each chunk
        return max(16, min(_CHUNK_ROWS, _CHUNK_BYTES // (8 * max(1, len(self.classes)))))

    def check_takes(self, source: Source) -> None:
        """Texts need a model of texts, libsvm rows one of features."""
        if self.is_text == (source.format == "libsvm"):
            wants, found = ("texts", "libsvm rows") if self.is_text else ("libsvm rows", "texts")
            raise FileFormatError(source.name, None, f"this model takes {wants}, but the file holds {found}")

    def _path(self, name: Hashable) -> tuple[Hashable, ...]:
        if self.taxonomy is None:
            return (name,)
        path = self.taxonomy.path(name)
        return path[1:] if len(path) > 1 and path[0] == _ARTIFICIAL_ROOT else path

    def title(self, name: Hashable) -> str:
        """The name, with its human title where there is one."""
        title = self.titles.get(name)
        return str(name) if title is None or title == name else f"{name} {title}"

    def answers(self, rows: Any, top_k: int | None, beam: int | None = None) -> list[list[Answer]]:
        """The best labels of each row: top_k of them, or those that the model predicts; probabilities without beam."""
        features = self.fitted.features_.transform(rows) if self.is_text else rows
        every_score = self.has_probabilities and beam is None
        probabilities = self.estimator.predict_proba(features) if every_score else None
        if self.multilabel and top_k is None:
            if beam is None:
                return self._label_sets(features, probabilities)
            return self._searched_sets(features, beam)
        best, scores = self.estimator.weights_.top_k(features, min(top_k or 1, len(self.classes)), beam=beam)
        chances = None if probabilities is None else np.take_along_axis(probabilities, best, axis=1)
        return [self._row(best[i].tolist(), scores[i].tolist(), chances, i) for i in range(len(best))]

    @property
    def has_probabilities(self) -> bool:
        """Whether `predict_proba` works: for logistic regression, and for an SVM that was calibrated."""
        if hasattr(self.estimator, "calibration_") and hasattr(self.estimator, "probability"):
            return self.estimator.calibration_ is not None
        return hasattr(self.estimator, "predict_proba")

    def _row(self, best: Sequence[int], scores: Sequence[float], chances: Any, i: int) -> list[Answer]:
        found = [None] * len(best) if chances is None else chances[i].tolist()
        names = [self.classes[k] for k in best]
        return [
            Answer(name, self.path(name), score, chance)
            for name, score, chance in zip(names, scores, found, strict=True)
        ]

    def _label_sets(self, features: Any, probabilities: Any) -> list[list[Answer]]:
        scores = self.estimator.weights_.scores(features)
        out = []
        for i, row in enumerate(scores):
            chosen = np.flatnonzero(row > self.estimator.thresholds_)
            chosen = chosen[np.argsort(-row[chosen], kind="stable")]
            chances = None if probabilities is None else probabilities[:, chosen]
            out.append(self._row(chosen.tolist(), row[chosen].tolist(), chances, i))
        return out

    def _searched_sets(self, features: Any, beam: int) -> list[list[Answer]]:
        best, scores = self.estimator.weights_.top_k(features, min(beam, len(self.classes)), beam=beam)
        chosen = scores > self.estimator.thresholds_[best]
        return [
            self._row(best[i, chosen[i]].tolist(), scores[i, chosen[i]].tolist(), None, i)
            for i in range(len(best))
        ]

    def labels(self, rows: Any) -> list[Any]:
        """The predicted label of each row, or its list of labels."""
        answers = self.answers(rows, None)
        if self.multilabel:
            return [[answer.label for answer in found] for found in answers]
        return [found[0].label for found in answers]
