"""`TextClassifier`: text in, classes and paths out; features, weights and titles are one model."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from taxolearn.certificates import Certificate
from taxolearn.errors import DataError
from taxolearn.methods.base import VectorClassifier
from taxolearn.methods.migrating import Migration
from taxolearn.selection.taxonomy_classifier import TaxonomyClassifier
from taxolearn.storage.writing import save_model
from taxolearn.structure import Taxonomy
from taxolearn.structure.names import show
from taxolearn.structure.versions import diff
from taxolearn.text.answers import TextAnswers
from taxolearn.text.estimator_choice import prepare
from taxolearn.text.features import TextFeatures
from taxolearn.text.label_texts import with_texts_about
from taxolearn.text.new_version import said_after, told_after
from taxolearn.text.reading import check_texts
from taxolearn.text.sharing import SharesEmbedder
from taxolearn.text.stored import pack_text_classifier, unpack_text_classifier
from taxolearn.vectors import ClassVectors, Vectors

# Share of non-zero weights up to which vectors are sparse: a column's number takes as much room as a float32 does.
_SPARSE_BELOW = 0.5


class TextClassifier(TextAnswers, ClassifierMixin, SharesEmbedder):  # type: ignore[misc]
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
        As for `TextFeatures`, where features are chosen; None: the static vectors of the extra `words`, if installed.
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
        features, about, weight, seen, tried = prepare(self, estimator, texts, y)
        if about is not None:
            texts, y, sample_weight = with_texts_about(about, weight, texts, y, sample_weight, seen)
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

    def migrate(
        self,
        texts: Any,
        y: Any,
        taxonomy: Taxonomy,
        mapping: Mapping[Hashable, Any] | None = None,
        **options: Any,
    ) -> Migration:
        """The classifier over a new version of its taxonomy, its features as they are; see the estimators' `migrate`.

        Texts about classes are those of the new version: added classes answer by their names.

        >>> from taxolearn import OneVsRestSVM
        >>> old, new = Taxonomy.from_paths(["all/bone", "all/skin"]), Taxonomy.from_paths(["all/bone", "all/cutis"])
        >>> texts, y = ["left femur", "burnt skin"], ["bone", "skin"]
        >>> model = TextClassifier(OneVsRestSVM(taxonomy=old), TextFeatures()).fit(texts, y)
        >>> model.migrate(texts, y, new, {"skin": "cutis"}).model.predict(["the skin"]).tolist()
        ['cutis']
        """
        check_is_fitted(self)
        texts = check_texts(texts)
        n_texts, said, old = len(texts), self.label_texts, self.estimator_.taxonomy_
        if said is not None and isinstance(old, Taxonomy) and isinstance(taxonomy, Taxonomy):
            changes = diff(old, taxonomy, mapping, guess=False)
            said, told = said_after(said, changes), told_after(said, y, old, taxonomy, changes)
            weights = options.pop("sample_weight", None)
            texts, y, options["sample_weight"] = with_texts_about(
                told.about, self.label_weight_, texts, told.y, weights, told.seen
            )
        migration: Migration = self.estimator_.migrate(self._rows(texts), y, taxonomy, mapping, **options)
        undecided = tuple(one for one in migration.undecided if one.row < n_texts)
        migration = replace(migration, y=migration.y[:n_texts], undecided=undecided)
        known = {"titles": said_after(self.titles, migration.changes), "label_texts": said}
        made = clone(self).set_params(estimator=clone(migration.model), **known)
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
    if weight is None:
        return
    number = isinstance(weight, int | float | np.number) and not isinstance(weight, bool)
    if not (number and 0 <= weight < np.inf):
        raise DataError(f"label_weight={show(weight)} is not valid; give a number from 0 on, or None")


def _check_titles(titles: Any) -> None:
    if titles is None:
        return
    if not isinstance(titles, Mapping):
        raise DataError(f"titles={show(titles)} is not valid; give a dict from node name to title")
    for name, title in titles.items():
        if not isinstance(title, str):
            raise DataError(f"the title of {show(name)} is {show(title)}; give a str")
