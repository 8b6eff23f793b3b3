"""`TextClassifier`: text in, classes and paths out; features, weights and titles are one model."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from taxolearn.certificates import Certificate
from taxolearn.decoders import Answers
from taxolearn.errors import DataError
from taxolearn.explain import ExplainedRow, Explanation, explain, explain_row
from taxolearn.methods.base import VectorClassifier
from taxolearn.methods.migrating import Migration
from taxolearn.selection.taxonomy_classifier import TaxonomyClassifier
from taxolearn.storage.writing import save_model
from taxolearn.structure import Taxonomy
from taxolearn.structure.names import show
from taxolearn.text.estimator_choice import prepare
from taxolearn.text.features import TextFeatures
from taxolearn.text.label_texts import with_texts_about
from taxolearn.text.reading import check_texts
from taxolearn.text.stored import pack_text_classifier, unpack_text_classifier
from taxolearn.vectors import ClassVectors, Vectors

# Share of non-zero weights up to which vectors are sparse: a column's number takes as much room as a float32 does.
_SPARSE_BELOW = 0.5


def _has_probabilities(classifier: Any) -> bool:
    estimator = getattr(classifier, "estimator_", classifier.estimator)
    # Asking for the attribute repeats the estimator's own sentence about what is missing.
    return estimator is not None and callable(estimator.predict_proba)


class TextClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A taxolearn method on texts, with the features of the texts learned along.

    Parameters
    ----------
    estimator : taxolearn estimator or None
        The method, for example `OneVsRestSVM(taxonomy=tree)`; None: `TaxonomyClassifier()`, which chooses one.
    features : TextFeatures, "auto", "ngrams", "embeddings", "both" or None
        How texts become rows. "ngrams": the n-grams with the best held-out accuracy of `estimator` on a part of the
        texts. "embeddings": the vectors of `embedder` alone. "both": side by side, with a weight chosen on held-out
        texts. "auto" and None: the best of these; without an embedder, n-grams.
    random_state : int, RandomState instance or None
        Decides which texts are held out for that choice.
    verbose : int
        Lines about the choice on standard error.
    titles : dict or None
        Node name -> human title; kept with the model and shown by `explain`.
    embedder : None, str, callable, dict or Embedder
        As for `TextFeatures`; None: the static vectors of the extra `words`, if installed.
    label_texts : "names", dict or None
        What is known about classes in words: "names" are the labels, synonyms and definitions of the taxonomy's terms,
        or the names of nodes; a dict has a text or a list of texts per name. They are learned from as rows are, with
        the names of the nodes above, and classes without rows answer by them.
    label_weight : float or None
        What such a row weighs, a text weighing 1. None: chosen on held-out texts; classes without rows keep 1.

    Attributes
    ----------
    features_, estimator_ : TextFeatures and estimator
        Fitted.
    classes_, certificate_ : array, Certificate
        Those of `estimator_`.
    tried_ : list of dict
        For each candidate its settings, held-out score, number of features and seconds; empty when `features`
        was given.
    label_weight_ : float
        What rows of `label_texts` weighed.

    >>> from taxolearn import OneVsRestSVM, Taxonomy
    >>> tree = Taxonomy.from_paths(["bone/femur", "bone/tibia", "skin"])
    >>> texts = ["left femur", "right femur", "tibia left", "burnt skin"]
    >>> model = TextClassifier(OneVsRestSVM(taxonomy=tree), TextFeatures())
    >>> model = model.fit(texts, ["femur", "femur", "tibia", "skin"])
    >>> model.predict_path(["a femur, broken"])
    [('bone', 'femur')]
    """

    features_: TextFeatures
    estimator_: Any
    tried_: list[dict[str, Any]]
    label_weight_: float

    def __init__(
        self,
        estimator: VectorClassifier | None = None,
        features: TextFeatures | str | None = None,
        random_state: Any = None,
        verbose: int = 0,
        titles: Mapping[Any, str] | None = None,
        embedder: Any = None,
        label_texts: Mapping[Any, Any] | str | None = None,
        label_weight: float | None = None,
    ) -> None:
        self.estimator = estimator
        self.features = features
        self.random_state = random_state
        self.verbose = verbose
        self.titles = titles
        self.embedder = embedder
        self.label_texts = label_texts
        self.label_weight = label_weight

    def fit(self, texts: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn features and class weights.

        >>> model = TextClassifier(features=TextFeatures()).fit(["left femur", "skin"], ["bone", "skin"])
        >>> model.classes_.tolist()
        ['bone', 'skin']

        With label texts there may be no texts at all: classes are told by their names alone.

        >>> model = TextClassifier(features="embeddings", label_texts={"bone": "femur", "skin": "dermis"})
        >>> model.fit([], []).predict(["tibia"]).tolist()
        ['bone']
        """
        estimator = self._new_estimator()
        _check_titles(self.titles)
        _check_label_weight(self.label_weight)
        texts = check_texts(texts)  # a list: the choice and the fit both read it
        features, about, weight, tried = prepare(self, estimator, texts, y)
        if about is not None:
            texts, y, sample_weight = with_texts_about(about, weight, texts, y, sample_weight)
        rows = features.fit_transform(texts)
        estimator.fit(rows, y, sample_weight=sample_weight)
        learned: Any = getattr(estimator, "estimator_", estimator)  # of a choice of methods the chosen one
        learned.vectors_ = _compact(learned.vectors_)
        self.features_, self.estimator_, self.tried_, self.label_weight_ = features, estimator, tried, weight
        return self

    @property
    def taxonomy(self) -> Taxonomy | None:
        """The taxonomy of the estimator; once fitted, also one that the labels spell.

        >>> TextClassifier().taxonomy is None
        True
        """
        fitted = getattr(self, "estimator_", None)
        taxonomy: Taxonomy | None = getattr(self.estimator, "taxonomy", None)
        return taxonomy if fitted is None else fitted.taxonomy_

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes learned, in the order of scores.

        >>> model = TextClassifier(features=TextFeatures()).fit(["left femur", "skin"], ["bone", "skin"])
        >>> model.classes_.tolist()
        ['bone', 'skin']
        """
        check_is_fitted(self)
        classes: npt.NDArray[Any] = self.estimator_.classes_
        return classes

    @property
    def certificate_(self) -> Certificate:
        """The certificate of the weights.

        >>> model = TextClassifier(features=TextFeatures()).fit(["left femur", "skin"], ["bone", "skin"])
        >>> model.certificate_.holds(1e-4)
        True
        """
        check_is_fitted(self)
        certificate: Certificate = self.estimator_.certificate_
        return certificate

    def predict(self, texts: Any, *, beam: int | None = None, **options: Any) -> Any:
        """The best class of each text, or its set of classes, in the form in which y was given to `fit`.

        `beam`, here and below: search the taxonomy from the top down, as the estimator's `top_k` says. Other options
        (`decision`, `inner`; after `calibrate` also `coverage`, `risk`, `by` and `max_nodes`, for answers that stop at
        an inner node when unsure) are those of the estimator's method of the same name.

        >>> model = TextClassifier(features=TextFeatures()).fit(["left femur", "skin"], ["bone", "skin"])
        >>> model.predict(["the femur"]).tolist()
        ['bone']
        """
        return self._ask("predict", texts, beam=beam, **options)

    def calibrate(self, texts: Any, y: Any, *, max_nodes: int = 3) -> Self:
        """Learn from texts that it was not fitted on how far down the model may answer; see the estimators' method.

        >>> from taxolearn import OneVsRestSVM
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

        >>> from taxolearn import OneVsRestSVM
        >>> model = TextClassifier(OneVsRestSVM(Taxonomy.from_paths(["all/bone", "all/skin"])), TextFeatures())
        >>> model = model.fit(["left femur", "skin"], ["bone", "skin"])
        >>> model = model.calibrate(["femur", "burnt skin", "femur"] * 10, ["bone", "skin", "bone"] * 10)
        >>> model.stops(["the femur"], coverage=0.9).depth.tolist()
        [1.0]
        """
        return self._ask("stops", texts, **promise)

    def predict_path(self, texts: Any, *, beam: int | None = None, **options: Any) -> list[Any]:
        """The path from the top of the taxonomy to each predicted class; a list of them with several labels.

        >>> model = TextClassifier(features=TextFeatures()).fit(["left femur", "skin"], ["bone", "skin"])
        >>> model.predict_path(["the femur"])
        [('bone',)]
        """
        paths: list[Any] = self._ask("predict_path", texts, beam=beam, **options)
        return paths

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, texts: Any) -> npt.NDArray[np.float64]:
        """Probability of each class, texts x classes; for estimators that have them.

        >>> from taxolearn import OneVsRestLogistic
        >>> model = TextClassifier(OneVsRestLogistic(), TextFeatures())
        >>> model = model.fit(["left femur", "skin"], ["bone", "skin"])
        >>> model.predict_proba(["the femur"]).shape
        (1, 2)
        """
        probabilities: npt.NDArray[np.float64] = self._ask("predict_proba", texts)
        return probabilities

    def decision_function(self, texts: Any) -> npt.NDArray[Any]:
        """Scores, texts x classes in the order of `classes_`; one score per text for two classes.

        >>> model = TextClassifier(features=TextFeatures()).fit(["left femur", "skin"], ["bone", "skin"])
        >>> model.decision_function(["the femur", "skin"]) > 0
        array([False,  True])
        """
        scores: npt.NDArray[Any] = self._ask("decision_function", texts)
        return scores

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def node_proba(self, texts: Any, nodes: Any = None) -> npt.NDArray[np.float64]:
        """Probability that a label of the text lies at or below each node, as the estimator's `node_proba` says.

        >>> from taxolearn import OneVsRestLogistic
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

        >>> model = TextClassifier(features=TextFeatures()).fit(["left femur", "skin"], ["bone", "skin"])
        >>> model.top_k(["the femur"], 2)[0].tolist()
        [['bone', 'skin']]
        """
        best: tuple[npt.NDArray[Any], ...] = self._ask("top_k", texts, k, beam=beam, **options)
        return best

    def decode(self, texts: Any, *, k: int | None = None, beam: int | None = None, **options: Any) -> Answers:
        """The predicted classes of each text, best first, as numbers into `classes_`, and their scores; or the k best.

        >>> model = TextClassifier(features=TextFeatures()).fit(["left femur", "skin"], ["bone", "skin"])
        >>> model.decode(["the femur"]).ids.tolist()
        [0]
        """
        answers: Answers = self._ask("decode", texts, k=k, beam=beam, **options)
        return answers

    def score(self, texts: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of texts whose label, or whole set of labels, is right.

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

    def _explained(self, text: str, rows: Any, k: int, runners_up: int, label: Hashable) -> Explanation:
        if (
            not self.estimator_.vectors_.by_features
        ):  # words have no part of their own in products of a kernel
            return explain(self.estimator_, rows, k=k, runners_up=runners_up, label=label, titles=self.titles)
        found = self.features_.feature_spans(text)
        columns = np.array([feature.column for feature in found], dtype=np.intp)
        words, shares = self.features_.word_shares(text)
        row = ExplainedRow(
            columns,
            np.array([feature.value for feature in found], dtype=np.float64),
            [feature.name for feature in found],
            words,
            shares[:, columns],
        )
        return explain_row(
            self.estimator_, rows, row, k=k, runners_up=runners_up, label=label, titles=self.titles
        )

    def migrate(
        self,
        texts: Any,
        y: Any,
        taxonomy: Taxonomy,
        mapping: Mapping[Hashable, Any] | None = None,
        **options: Any,
    ) -> Migration:
        """The classifier over a new version of its taxonomy, its features as they are; see the estimators' `migrate`.

        >>> from taxolearn import OneVsRestSVM
        >>> old, new = Taxonomy.from_paths(["all/bone", "all/skin"]), Taxonomy.from_paths(["all/bone", "all/cutis"])
        >>> texts, y = ["left femur", "burnt skin"], ["bone", "skin"]
        >>> model = TextClassifier(OneVsRestSVM(taxonomy=old), TextFeatures()).fit(texts, y)
        >>> model.migrate(texts, y, new, {"skin": "cutis"}).model.predict(["the skin"]).tolist()
        ['cutis']
        """
        migration: Migration = self.estimator_.migrate(self._rows(texts), y, taxonomy, mapping, **options)
        known = _titles_after(self.titles, migration)
        made = clone(self).set_params(estimator=clone(migration.model), titles=known)
        learned = getattr(migration.model, "estimator_", migration.model)
        learned.vectors_ = _compact(learned.vectors_)
        made.features_, made.estimator_, made.tried_ = self.features_, migration.model, self.tried_
        made.label_weight_ = getattr(self, "label_weight_", 0.0)
        return replace(migration, model=made)

    def save(self, folder: str | Path) -> None:
        """Write features, weights and titles to one folder; an older model there is replaced atomically.

        >>> import tempfile, taxolearn
        >>> model = TextClassifier(features=TextFeatures()).fit(["left femur", "skin"], ["bone", "skin"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(folder)
        ...     taxolearn.load(folder).predict(["the femur"]).tolist()
        ['bone']
        """
        save_model(self, folder)

    def _pack(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Header and arrays of the fitted model."""
        return pack_text_classifier(self)

    @classmethod
    def _unpack(cls, header: dict[str, Any], arrays: dict[str, Any], estimator: Any) -> Self:
        """The model of a header and arrays, given the estimator in it; every entry checked."""
        made: Self = unpack_text_classifier(cls, header, arrays, estimator)
        return made

    def _ask(self, method: str, texts: Any, *arguments: Any, **options: Any) -> Any:
        rows = self._rows(texts)
        return getattr(self.estimator_, method)(rows, *arguments, **options)

    def _rows(self, texts: Any) -> sp.csr_array:
        check_is_fitted(self)
        rows = self.features_.transform(texts)
        if not rows.shape[0]:
            raise DataError("texts is empty; give at least one text")
        return rows

    def _new_estimator(self) -> VectorClassifier:
        if self.estimator is None:
            return TaxonomyClassifier(random_state=self.random_state)
        if not isinstance(self.estimator, VectorClassifier):
            raise DataError(f"estimator={show(self.estimator)} is not one of taxolearn's; try OneVsRestSVM()")
        estimator: VectorClassifier = clone(self.estimator)
        return estimator

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.classifier_tags.multi_label = True
        return tags


def _titles_after(titles: Mapping[Any, str] | None, migration: Migration) -> dict[Any, str] | None:
    """Titles follow a node that one node became; those of nodes that were split or removed are dropped."""
    if titles is None:
        return None
    fate = migration.changes.fate
    return {fate[name][0]: title for name, title in titles.items() if len(fate.get(name, ())) == 1}


def _compact(weights: Vectors) -> Vectors:
    """The same weights without zeros, of which text models have many; what is in memory is what is saved."""
    if not isinstance(weights, ClassVectors):
        return weights  # vectors of inner nodes are full
    weights = weights.sparsified(_SPARSE_BELOW)
    if weights.is_sparse and not weights.coef.data.all():
        coef = weights.coef.copy()
        coef.eliminate_zeros()
        return ClassVectors(coef, weights.intercept)
    return weights


def _check_label_weight(weight: Any) -> None:
    if weight is not None and not (isinstance(weight, int | float | np.number) and 0 <= weight < np.inf):
        raise DataError(f"label_weight={show(weight)} is not valid; give a number from 0 on, or None")


def _check_titles(titles: Any) -> None:
    if titles is None:
        return
    if not isinstance(titles, Mapping):
        raise DataError(f"titles={show(titles)} is not valid; give a dict from node name to title")
    for name, title in titles.items():
        if not isinstance(title, str):
            raise DataError(f"the title of {show(name)} is {show(title)}; give a str")
