"""What a text classifier answers: texts become rows, and its estimator is asked."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from taxolearn.decoders import Answers
from taxolearn.errors import DataError
from taxolearn.explain import ExplainedRow, Explanation, explain, explain_row
from taxolearn.structure.names import show
from taxolearn.text.features import TextFeatures

if TYPE_CHECKING:
    from taxolearn.report import Report


def _has_probabilities(classifier: Any) -> bool:
    estimator = getattr(classifier, "estimator_", classifier.estimator)
    # Asking for the attribute repeats the estimator's own sentence about what is missing.
    return estimator is not None and callable(estimator.predict_proba)


class TextAnswers:
    """The answers of a fitted `TextClassifier`.

    >>> from taxolearn import TextClassifier
    >>> issubclass(TextClassifier, TextAnswers)
    True
    """

    features_: TextFeatures
    estimator_: Any
    titles: Mapping[Any, str] | None

    def predict(self, texts: Any, *, beam: int | None = None, **options: Any) -> Any:
        """The best class of each text, or its set of classes, in the form in which y was given to `fit`.

        `beam`, here and below: search the taxonomy from the top down, as the estimator's `top_k` says. Other options
        (`decision`, `inner`; after `calibrate` also `coverage`, `risk`, `by` and `max_nodes`, for answers that stop at
        an inner node when unsure) are those of the estimator's method of the same name.

        >>> from taxolearn import TextClassifier
        >>> model = TextClassifier(features=TextFeatures()).fit(["left femur", "skin"], ["bone", "skin"])
        >>> model.predict(["the femur"]).tolist()
        ['bone']
        """
        return self._ask("predict", texts, beam=beam, **options)

    def calibrate(self, texts: Any, y: Any, *, max_nodes: int = 3) -> Self:
        """Learn from texts that it was not fitted on how far down the model may answer; see the estimators' method.

        >>> from taxolearn import OneVsRestSVM, Taxonomy, TextClassifier
        >>> model = TextClassifier(OneVsRestSVM(Taxonomy.from_paths(["all/bone", "all/skin"])), TextFeatures())
        >>> model = model.fit(["left femur", "skin"], ["bone", "skin"])
        >>> model = model.calibrate(["femur", "burnt skin", "femur"] * 10, ["bone", "skin", "bone"] * 10)
        >>> model.predict(["the femur"], coverage=0.9).tolist()
        ['bone']
        """
        self._ask("calibrate", texts, y, max_nodes=max_nodes)
        return self

    def stops(self, texts: Any, **promise: Any) -> Any:
        """How far down each text is answered, and why not further; see the estimators' method.

        >>> from taxolearn import OneVsRestSVM, Taxonomy, TextClassifier
        >>> model = TextClassifier(OneVsRestSVM(Taxonomy.from_paths(["all/bone", "all/skin"])), TextFeatures())
        >>> model = model.fit(["left femur", "skin"], ["bone", "skin"])
        >>> model = model.calibrate(["femur", "burnt skin", "femur"] * 10, ["bone", "skin", "bone"] * 10)
        >>> model.stops(["the femur"], coverage=0.9).depth.tolist()
        [1.0]
        """
        return self._ask("stops", texts, **promise)

    def predict_path(self, texts: Any, *, beam: int | None = None, **options: Any) -> list[Any]:
        """The path from the top of the taxonomy to each predicted class; a list of them with several labels.

        >>> from taxolearn import TextClassifier
        >>> model = TextClassifier(features=TextFeatures()).fit(["left femur", "skin"], ["bone", "skin"])
        >>> model.predict_path(["the femur"])
        [('bone',)]
        """
        paths: list[Any] = self._ask("predict_path", texts, beam=beam, **options)
        return paths

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, texts: Any) -> npt.NDArray[np.float64]:
        """Probability of each class, texts x classes; for estimators that have them.

        >>> from taxolearn import OneVsRestLogistic, TextClassifier
        >>> model = TextClassifier(OneVsRestLogistic(), TextFeatures())
        >>> model = model.fit(["left femur", "skin"], ["bone", "skin"])
        >>> model.predict_proba(["the femur"]).shape
        (1, 2)
        """
        probabilities: npt.NDArray[np.float64] = self._ask("predict_proba", texts)
        return probabilities

    def decision_function(self, texts: Any) -> npt.NDArray[Any]:
        """Scores, texts x classes in the order of `classes_`; one score per text for two classes.

        >>> from taxolearn import TextClassifier
        >>> model = TextClassifier(features=TextFeatures()).fit(["left femur", "skin"], ["bone", "skin"])
        >>> model.decision_function(["the femur", "skin"]) > 0
        array([False,  True])
        """
        scores: npt.NDArray[Any] = self._ask("decision_function", texts)
        return scores

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def node_proba(self, texts: Any, nodes: Any = None) -> npt.NDArray[np.float64]:
        """Probability that a label of the text lies at or below each node, as the estimator's `node_proba` says.

        >>> from taxolearn import OneVsRestLogistic, TextClassifier
        >>> model = TextClassifier(OneVsRestLogistic(), TextFeatures())
        >>> model.fit(["left femur", "skin"], ["bone", "skin"]).node_proba(["the femur"], ["bone"]) > 0.5
        array([[ True]])
        """
        probabilities: npt.NDArray[np.float64] = self._ask("node_proba", texts, nodes)
        return probabilities

    def top_k(
        self, texts: Any, k: int = 5, *, beam: int | None = None, **options: Any
    ) -> tuple[npt.NDArray[Any], ...]:
        """The k best classes of each text, best first, and their scores; options as in the estimator's `top_k`.

        >>> from taxolearn import TextClassifier
        >>> model = TextClassifier(features=TextFeatures()).fit(["left femur", "skin"], ["bone", "skin"])
        >>> model.top_k(["the femur"], 2)[0].tolist()
        [['bone', 'skin']]
        """
        best: tuple[npt.NDArray[Any], ...] = self._ask("top_k", texts, k, beam=beam, **options)
        return best

    def decode(self, texts: Any, *, k: int | None = None, beam: int | None = None, **options: Any) -> Answers:
        """The predicted classes of each text, best first, as numbers into `classes_`, and their scores; or the k best.

        >>> from taxolearn import TextClassifier
        >>> model = TextClassifier(features=TextFeatures()).fit(["left femur", "skin"], ["bone", "skin"])
        >>> model.decode(["the femur"]).ids.tolist()
        [0]
        """
        answers: Answers = self._ask("decode", texts, k=k, beam=beam, **options)
        return answers

    def score(self, texts: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of texts whose label, or whole set of labels, is right.

        >>> from taxolearn import TextClassifier
        >>> model = TextClassifier(features=TextFeatures()).fit(["left femur", "skin"], ["bone", "skin"])
        >>> model.score(["the femur", "the skin"], ["bone", "bone"])
        0.5
        """
        return float(self._ask("score", texts, y, sample_weight))

    def explain(
        self,
        text: str,
        k: int = 6,
        runners_up: int = 3,
        *,
        label: Hashable = None,
        decision: Any = None,
        **promise: Any,
    ) -> Explanation:
        """Why one text gets its best class: as for any estimator, and also by the words of the text.

        >>> from taxolearn import TextClassifier
        >>> model = TextClassifier(features=TextFeatures()).fit(["left femur", "skin"], ["bone", "skin"])
        >>> explanation = model.explain("The femur!")
        >>> explanation.label, [word for word, _ in explanation.words], explanation.contributions[0][0]
        ('bone', ['The', 'femur', '(intercept)'], 'word: femur')
        """
        check_is_fitted(self)
        if not isinstance(text, str):
            raise DataError(f"explain takes one text, a str, not {show(text)}")
        rows = self._rows([text])
        label = self.estimator_._decided_label(rows, decision) if label is None else label
        found = self._explained(text, rows, k, runners_up, label)
        return replace(found, stop=self.estimator_._why_stopped(rows, **promise)) if promise else found

    def report(self, texts: Any, y: Any, **options: Any) -> Report:
        """What the model knows, where it fails and what to do about it, on labelled texts; see the estimators' method.

        >>> from taxolearn import TextClassifier
        >>> model = TextClassifier(features=TextFeatures()).fit(["left femur", "skin"], ["bone", "skin"])
        >>> model.report(["the femur", "the skin"], ["bone", "bone"])
        Report(2 rows, accuracy 0.5000)
        """
        from taxolearn.report import Report, collect

        return Report(collect(self, texts, y, **options))

    def _explained(self, text: str, rows: Any, k: int, runners_up: int, label: Hashable) -> Explanation:
        if (
            not self.estimator_.vectors_.by_features
        ):  # words have no part of their own in products of a kernel
            return explain(self.estimator_, rows, k=k, runners_up=runners_up, label=label, titles=self.titles)
        entries, words, shares = self.features_.explained(text)
        row = ExplainedRow(*entries, words, shares)
        return explain_row(
            self.estimator_, rows, row, k=k, runners_up=runners_up, label=label, titles=self.titles
        )

    def _ask(self, method: str, texts: Any, *arguments: Any, **options: Any) -> Any:
        rows = self._rows(texts)
        return getattr(self.estimator_, method)(rows, *arguments, **options)

    def _rows(self, texts: Any) -> sp.csr_array:
        check_is_fitted(self)
        rows = self.features_.transform(texts)
        if not rows.shape[0]:
            raise DataError("texts is empty; give at least one text")
        return rows
