"""What every estimator offers once it has vectors and a decoder: scores, predictions, paths, explanations, storage."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from taxolearn.certificates import Certificate
from taxolearn.decoders import Answers, Coverage, Decoder
from taxolearn.engines import worker_count
from taxolearn.errors import DataError
from taxolearn.explain import Explanation, explain, one_row
from taxolearn.methods.inputs import check_rows, names_array
from taxolearn.methods.parameters import estimator, parameter
from taxolearn.methods.stopping import StopsWhenUnsure
from taxolearn.problem import Problem, align_labels
from taxolearn.problem.inputs import check_sample_weight
from taxolearn.storage.classifiers import pack_classifier, unpack_classifier
from taxolearn.storage.writing import save_model
from taxolearn.structure import Taxonomy
from taxolearn.vectors import Vectors

if TYPE_CHECKING:
    from taxolearn.solvers import Progress


class Fitted:
    """What a fit leaves behind; no parameters."""

    _fitted: ClassVar[Mapping[str, str]] = {
        "classes_": "array: The labels learned, in the order of the columns of scores.",
        "taxonomy_": "Taxonomy or None: The given one, or the one that y spells.",
        "certificate_": "Certificate: Upper and lower bound on the optimum, recomputed after the fit.",
        "vectors_": "Vectors: What scores rows: one vector per class, node or decision, or support rows.",
        "coef_, intercept_": "arrays: The vectors and intercepts of the classes, classes x features.",
        "decoder_": "Decoder: How scores become labels.",
        "thresholds_": "array: Above which score a class is predicted, with several labels per row.",
        "calibration_": "pair of arrays or None: Slopes and offsets of the sigmoids behind `predict_proba`.",
        "coverage_": "Coverage or None: What `calibrate` learned from its rows.",
        "label_form_": "str: In which form y was given, and `predict` answers.",
        "n_iter_": "int: Passes of the solver.",
        "history_": "list of Progress: Bounds and seconds after each pass.",
        "n_features_in_": "int: Number of features.",
        "feature_names_in_": "array: Names of the features, where X was a table with names.",
        "data_": "dict: Number of rows and a fingerprint of what the model was fitted on.",
    }
    vectors_: Vectors
    decoder_: Decoder
    classes_: npt.NDArray[Any]
    certificate_: Certificate
    n_iter_: int
    n_features_in_: int
    taxonomy_: Taxonomy | None
    history_: list[Progress]
    label_form_: str
    data_: dict[str, Any]
    calibration_: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None
    coverage_: Coverage | None
    _indicator: tuple[str, int, str, bool] | None


def _threads(name: str, value: Any) -> None:
    worker_count(value)


@estimator
class TaxonomyClassifier(StopsWhenUnsure, Fitted, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the estimators: vectors that score, and a decoder that answers.

    >>> from taxolearn import OneVsRestSVM
    >>> issubclass(OneVsRestSVM, TaxonomyClassifier)
    True
    """

    taxonomy: Taxonomy | None = parameter(
        default=None,
        doc=(
            "Tree or DAG whose nodes the labels are, inner ones too. None: the one that y spells (level columns, "
            'tuples, strings such as "Books/History"), in `taxonomy_`; flat where y spells none.'
        ),
        kw_only=False,
    )
    n_jobs: int | None = parameter(
        default=None, doc="Threads, as in scikit-learn: None is one, -1 all cores.", check=_threads
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags

    def _remember_labels(self, problem: Problem, y: Any) -> None:
        """Keep what is needed to answer in the form in which y was given."""
        self.label_form_, self.taxonomy_ = problem.labels.form, problem.taxonomy
        self.classes_ = names_array(problem.classes, y)
        self._indicator = None
        self.coverage_ = None  # a new fit needs a new calibration
        if problem.labels.form == "indicator":
            # columns of the indicator, its type and whether it was sparse
            kind = str(y.dtype) if hasattr(y, "dtype") else "int64"
            self._indicator = ("columns", len(problem.labels.names), kind, bool(sp.issparse(y)))

    @property
    def _binary(self) -> bool:
        return len(self.classes_) == 2 and not self.decoder_.several

    @property
    def weights_(self) -> Vectors:
        """The name that `vectors_` had before.

        >>> from taxolearn import OneVsRestSVM
        >>> model = OneVsRestSVM().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
        >>> model.weights_ is model.vectors_
        True
        """
        return self.vectors_

    @property
    def thresholds_(self) -> npt.NDArray[np.float64]:
        """Above which score each class is predicted, with several labels per row; zeros unless they were tuned.

        >>> from taxolearn import OneVsRestSVM
        >>> OneVsRestSVM().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"]).thresholds_.tolist()
        [0.0, 0.0, 0.0]
        """
        check_is_fitted(self)
        thresholds = getattr(self.decoder_, "thresholds", None)
        return np.zeros(len(self.classes_)) if thresholds is None else thresholds

    @property
    def coef_(self) -> Any:
        """Weights, classes x features (for two classes one row, half their difference: its sign decides).

        >>> from taxolearn import OneVsRestSVM
        >>> OneVsRestSVM().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"]).coef_.shape
        (3, 1)
        """
        check_is_fitted(self)
        coef = self.vectors_.coef
        return 0.5 * (coef[[1]] - coef[[0]]) if self._binary else coef

    @property
    def intercept_(self) -> npt.NDArray[np.float64]:
        """Intercepts, one per class (one for two classes).

        >>> from taxolearn import OneVsRestSVM
        >>> OneVsRestSVM().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"]).intercept_.shape
        (3,)
        """
        check_is_fitted(self)
        intercept = self.vectors_.intercept
        return 0.5 * (intercept[1:] - intercept[:1]) if self._binary else intercept

    def decision_function(self, X: Any) -> npt.NDArray[Any]:
        """Scores, rows x classes in the order of `classes_`; for two classes one score per row, half their difference.

        >>> from taxolearn import OneVsRestSVM
        >>> OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"]).decision_function([[2.0]]) > 0
        array([ True])
        """
        rows = self._rows(X)
        scores = self.decoder_.scores(self.vectors_, rows, n_threads=self._n_threads)
        return 0.5 * (scores[:, 1] - scores[:, 0]) if self._binary else scores

    def predict(
        self,
        X: Any,
        *,
        beam: int | None = None,
        coverage: float | None = None,
        risk: float | None = None,
        by: str | None = None,
        max_nodes: int | None = None,
    ) -> Any:
        """The best class of each row, or its set of classes, in the form in which y was given to `fit`.

        Names and level tables give an array of names; lists of lists give lists of names; an indicator gives an
        indicator. With several labels per row, those whose score is above the class's threshold are predicted.
        `beam` as in `top_k`; of several labels it finds at most so many per row.

        With `coverage` or `risk`, after `calibrate`: the deepest node on the way to the best class that keeps the
        promise, or with `max_nodes` a list of nodes that cover together. `by` as in `stops`, which says more.

        >>> from taxolearn import OneVsRestSVM
        >>> OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"]).predict([[2.0]]).tolist()
        ['b']
        """
        if coverage is not None or risk is not None or by is not None or max_nodes is not None:
            return self._stopped(X, coverage=coverage, risk=risk, by=by, max_nodes=max_nodes)
        answers = self.decode(X, beam=beam)
        if self._indicator is not None:
            return self._as_indicator(answers)
        if self.label_form_ != "sets":
            return self.classes_[answers.ids]
        # in the order of the classes, not of their scores
        rows = np.repeat(np.arange(len(answers.indptr) - 1), np.diff(answers.indptr))
        names = self.classes_[answers.ids[np.lexsort((answers.ids, rows))]].tolist()
        return [names[start:end] for start, end in pairwise(answers.indptr.tolist())]

    def decode(self, X: Any, *, k: int | None = None, beam: int | None = None) -> Answers:
        """The predicted classes of each row, best first, as numbers into `classes_`, and their scores.

        All other answers are made of these. With k, the k best classes of each row instead, which begin with the
        predicted ones.

        >>> from taxolearn import OneVsRestSVM
        >>> answers = OneVsRestSVM().fit([[-1.0], [0.0], [1.0]], ["a", "b", "c"]).decode([[2.0], [-2.0]])
        >>> answers.indptr.tolist(), answers.ids.tolist()
        ([0, 1, 2], [2, 0])
        """
        rows = self._rows(X)
        if k is None:
            return self.decoder_.decode(self.vectors_, rows, beam=beam, n_threads=self._n_threads)
        best, scores = self.decoder_.top_k(self.vectors_, rows, k, beam=beam, n_threads=self._n_threads)
        return Answers(best.shape[1] * np.arange(len(best) + 1), best.ravel(), scores.ravel())

    def _as_indicator(self, answers: Answers) -> Any:
        assert self._indicator is not None
        _, width, dtype, sparse = self._indicator
        columns = np.arange(len(self.classes_))
        if self.taxonomy_ is not None:
            columns = np.asarray(self.taxonomy_.ids_of(self.classes_.tolist()))
        ones = np.ones(len(answers.ids), dtype=dtype)
        shape = (len(answers.indptr) - 1, width)
        matrix = sp.csr_array((ones, columns[answers.ids], answers.indptr), shape=shape)
        matrix.sort_indices()
        return matrix if sparse else matrix.toarray()

    def predict_path(self, X: Any, *, beam: int | None = None, **promise: Any) -> list[Any]:
        """The path from the top of the taxonomy to each predicted class (a list of paths per row with several labels).

        `beam` as in `predict`, and so are `coverage`, `risk`, `by` and `max_nodes`.

        >>> from taxolearn import OneVsRestSVM, Taxonomy
        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> OneVsRestSVM(taxonomy=tree).fit([[-1.0], [1.0]], ["Cat", "Dog"]).predict_path([[2.0]])
        [('Animal', 'Dog')]
        """
        if promise:
            found = self.predict(X, **promise)
            if isinstance(found, list):
                return [[self._path(name) for name in row] for row in found]
            return [self._path(name) for name in found.tolist()]
        answers = self.decode(X, beam=beam)
        names = self.classes_.tolist()
        path = cache(lambda c: self._path(names[c]))  # many rows share a class, most classes have no row
        if not self.decoder_.several:
            return [path(c) for c in answers.ids.tolist()]
        rows = np.repeat(np.arange(len(answers.indptr) - 1), np.diff(answers.indptr))
        ids = answers.ids[np.lexsort((answers.ids, rows))].tolist()
        return [[path(c) for c in ids[a:b]] for a, b in pairwise(answers.indptr.tolist())]

    def _path(self, name: Hashable) -> tuple[Hashable, ...]:
        return (name,) if self.taxonomy_ is None else self.taxonomy_.shown_path(name)

    def top_k(
        self, X: Any, k: int = 5, *, beam: int | None = None
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The k best classes of each row, best first, and their scores, without a rows x classes matrix.

        With `beam` the taxonomy is searched from the top down: of each level only the `beam` nodes with the best
        scores are looked below. That is quicker on large taxonomies, and may miss the best class. It needs vectors
        at the nodes; methods, or sizes, that keep one vector per class say so.

        >>> from taxolearn import OneVsRestSVM
        >>> names, scores = OneVsRestSVM().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"]).top_k([[3.0]], 2)
        >>> names.shape, scores.shape
        ((1, 2), (1, 2))
        """
        rows = self._rows(X)
        best, scores = self.decoder_.top_k(self.vectors_, rows, k, beam=beam, n_threads=self._n_threads)
        return self.classes_[best], scores

    @property
    def _n_threads(self) -> int:
        return worker_count(self.n_jobs)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows whose label, or whole set of labels, is right.

        >>> from taxolearn import OneVsRestSVM
        >>> OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"]).score([[2.0], [3.0]], ["b", "a"])
        0.5
        """
        predicted = self.predict(X)
        # labels that a taxonomy made of y does not have are wrong answers, no errors
        true, found = align_labels(y, predicted, self.taxonomy_ if self._fixed_names else None)
        same = abs(true.matrix() - found.matrix()).sum(axis=1) == 0
        weights = check_sample_weight(sample_weight, len(same))
        return float(np.average(np.asarray(same).ravel(), weights=weights))

    @property
    def _fixed_names(self) -> bool:
        """Whether labels can only be nodes of the taxonomy, or columns of an indicator over it."""
        return self.taxonomy is not None or self._indicator is not None

    def explain(
        self, x: Any, k: int = 6, runners_up: int = 3, *, label: Hashable = None, **promise: Any
    ) -> Explanation:
        """Why one row gets its best class: its score, and the margin at each node of its path, by features.

        `k` features are shown by the explanation's `to_text`, and `runners_up` other classes are named;
        `label` asks about another class than the best one. With `coverage` or `risk` as in `predict` it also says
        where the answer stops, and why.

        >>> from taxolearn import OneVsRestSVM, Taxonomy
        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> explanation = OneVsRestSVM(taxonomy=tree).fit([[-1.0], [1.0]], ["Cat", "Dog"]).explain([2.0])
        >>> explanation.path, explanation.nodes[1].runner_up, explanation.nodes[1].margin > 0
        (('Animal', 'Dog'), 'Cat', True)
        """
        found = explain(self, x, k=k, runners_up=runners_up, label=label)
        return replace(found, stop=self._why_stopped(one_row(x), **promise)) if promise else found

    def save(self, folder: str | Path) -> None:
        """Write the fitted model to a folder (no pickle; replaces an older model there atomically).

        >>> import tempfile, taxolearn
        >>> model = taxolearn.OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(folder)
        ...     taxolearn.load(folder).predict([[2.0]]).tolist()
        ['b']
        """
        save_model(self, folder)

    def _learned_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What a method learns besides vectors and scales, as arrays of float64 by name, for storage."""
        return {}

    def _take_learned(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Undo `_learned_arrays`; names and finiteness are checked, sizes are not."""

    def _pack(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Header and arrays of the fitted model."""
        return pack_classifier(self)

    @classmethod
    def _unpack(cls, header: dict[str, Any], arrays: dict[str, Any], full: bool) -> Self:
        """The model of a header and arrays, every entry checked."""
        made: Self = unpack_classifier(cls, header, arrays, full=full)
        return made

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False)
        if rows.shape[1] != self.vectors_.n_features:
            raise DataError(f"X has {rows.shape[1]} features, but the model has {self.vectors_.n_features}")
        return rows

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "vectors_")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the vectors.

        >>> from taxolearn import OneVsRestSVM
        >>> OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"]).classes_.tolist()
        ['a', 'b']
        """
        raise NotImplementedError
