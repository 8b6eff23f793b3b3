"""A model read from its folder, and what the commands ask of it."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from taxolearn.cli.outputs import Answer
from taxolearn.errors import FileFormatError
from taxolearn.structure.terms import check_shown_as
from taxolearn.terminal import printable
from taxolearn.vectors import PathVectors

if TYPE_CHECKING:
    from taxolearn.cli.inputs import Source
    from taxolearn.structure import Taxonomy

_SCORE_BYTES = 32 * 2**20  # bytes of scores at a time
_MAX_ROWS = 4096  # rows answered at a time, at most
_CHECKED_BYTES = 256 * 2**20  # bytes of arrays up to which the checksum is worth the wait


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
        self.taxonomy: Taxonomy | None = self.estimator.taxonomy_
        terms = {} if self.taxonomy is None else self.taxonomy.terms
        self.titles: dict[Hashable, str] = {name: term.label for name, term in terms.items() if term.label}
        self.titles.update(getattr(fitted, "titles", None) or {})
        self.classes: list[Hashable] = fitted.classes_.tolist()
        self.multilabel = self.estimator.decoder_.several
        self._shown_by = "name"
        self._decision: str | None = None
        self._inner = False
        self.path = lru_cache(maxsize=None)(self._path)

    @classmethod
    def load(cls, folder: str) -> Model:
        """Read a model folder; a large one is mapped without being read through first."""
        import taxolearn
        from taxolearn.storage import read_manifest

        large = read_manifest(folder).file_bytes > _CHECKED_BYTES
        return cls(taxolearn.load(folder, verify="sizes" if large else "full"))

    @property
    def chunk_rows(self) -> int:
        """Rows whose scores fit into the memory set aside for a chunk."""
        if (
            not self.multilabel
            and not self.has_probabilities
            and isinstance(self.estimator.vectors_, PathVectors)
        ):
            return _MAX_ROWS  # no matrix of all scores; and all vectors are read for each chunk
        return max(16, min(_MAX_ROWS, _SCORE_BYTES // (8 * max(1, len(self.classes)))))

    def check_takes(self, source: Source) -> None:
        """Texts need a model of texts, libsvm rows one of features."""
        if self.is_text == (source.format == "libsvm"):
            wants, found = ("texts", "libsvm rows") if self.is_text else ("libsvm rows", "texts")
            raise FileFormatError(source.name, None, f"this model takes {wants}, but the file holds {found}")

    def _path(self, name: Hashable) -> tuple[Hashable, ...]:
        return (name,) if self.taxonomy is None else self.taxonomy.shown_path(name)

    def show(self, by: str) -> None:
        """Call labels in answers by this: name, label, notation or id."""
        check_shown_as(by)
        self._shown_by = by

    def decide(self, decision: str | None, inner: bool = False) -> None:
        """Answer by this decision from now on, with inner nodes where `inner` says so; None: the model's own."""
        self.estimator._deciding(decision, inner)  # rather now than after reading rows
        self._decision, self._inner = decision, inner

    def _shown(self, name: Hashable) -> Hashable:
        if self.taxonomy is None or self._shown_by == "name" or name not in self.taxonomy:
            return name
        shown: Hashable = self.taxonomy.show_as([name], self._shown_by)[0]
        return shown

    def title(self, name: Hashable, shown: Hashable = None) -> str:
        """The name, or what is shown for it, with its human title where there is one, as a terminal may show it."""
        title, shown = self.titles.get(name), name if shown is None else shown
        return printable(str(shown) if title is None or title == name else f"{shown} {title}")

    def answers(self, rows: Any, top_k: int | None, beam: int | None = None) -> list[list[Answer]]:
        """The best labels of each row: top_k of them, or those that the model predicts; probabilities without beam."""
        features = self.fitted.features_.transform(rows) if self.is_text else rows
        known = self.taxonomy.nodes if self._inner and self.taxonomy is not None else self.classes
        k = None if top_k is None else min(top_k, len(known))
        found = self.estimator.decode(features, k=k, beam=beam, decision=self._decision, inner=self._inner)
        names = [known[number] for number in found.ids.tolist()]
        chances: list[float | None] = [None] * len(names)
        if self.has_probabilities and beam is None:
            row = np.repeat(np.arange(len(found.indptr) - 1), np.diff(found.indptr))
            ask = self.estimator.node_proba if self._inner else self.estimator.predict_proba
            chances = ask(features)[row, found.ids].tolist()
        answers = [
            Answer(self._shown(name), tuple(map(self._shown, self.path(name))), score, chance)
            for name, score, chance in zip(names, found.scores.tolist(), chances, strict=True)
        ]
        return [answers[a:b] for a, b in pairwise(found.indptr.tolist())]

    @property
    def has_probabilities(self) -> bool:
        """Whether `predict_proba` works: for logistic regression, and for an SVM that was calibrated."""
        return self.estimator.calibration_ is not None or self.estimator._own_link() is not None

    def labels(self, rows: Any) -> list[Any]:
        """The predicted label of each row, or its list of labels."""
        answers = self.answers(rows, None)  # by name, unless told otherwise
        if self.multilabel:
            return [[answer.label for answer in found] for found in answers]
        return [found[0].label for found in answers]
