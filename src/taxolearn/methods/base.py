"""What every estimator offers once it has class weights: scores, predictions, paths, probabilities, storage."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from taxolearn.certificates import Certificate
from taxolearn.decoders import above
from taxolearn.engines.threads import worker_count
from taxolearn.errors import DataError
from taxolearn.methods.inputs import check_rows, names_array
from taxolearn.models import ClassWeights
from taxolearn.problem import Problem, align_labels
from taxolearn.problem.inputs import check_sample_weight
from taxolearn.structure import Taxonomy

if TYPE_CHECKING:
    from taxolearn.methods.explanation import Explanation

_ARTIFICIAL_ROOT = "<root>"


class TaxonomyClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the estimators: one weight vector and one intercept a class.

    Fitted attributes: `classes_`, `coef_`, `intercept_`, `certificate_`, `n_iter_`, `n_features_in_`,
    `feature_names_in_`, `data_` (number of rows and a fingerprint of what the model was fitted on).

    >>> from taxolearn import OneVsRestSVM
    >>> issubclass(OneVsRestSVM, TaxonomyClassifier)
    True
    """

    taxonomy: Taxonomy | None
    weights_: ClassWeights
    classes_: npt.NDArray[Any]
    certificate_: Certificate
    n_iter_: int
    n_features_in_: int
    thresholds_: npt.NDArray[np.float64]
    label_form_: str
    data_: dict[str, Any]
    _indicator: tuple[str, int, str, bool] | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags

    def _remember_labels(self, problem: Problem, y: Any) -> None:
        """Keep what is needed to answer in the form in which y was given."""
        self.label_form_ = problem.labels.form
        self.classes_ = names_array(problem.classes, y)
        self._indicator = None
        if problem.labels.form == "indicator":
            # columns of the indicator, its type and whether it was sparse
            kind = str(y.dtype) if hasattr(y, "dtype") else "int64"
            self._indicator = ("columns", len(problem.labels.names), kind, bool(sp.issparse(y)))

    @property
    def _multilabel(self) -> bool:
        return self.label_form_ in ("sets", "indicator")

    @property
    def _binary(self) -> bool:
        return len(self.classes_) == 2 and not self._multilabel

    @property
    def coef_(self) -> Any:
        """Weights, classes x features (for two classes one row, half their difference: its sign decides).

        >>> from taxolearn import OneVsRestSVM
        >>> OneVsRestSVM().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"]).coef_.shape
        (3, 1)
        """
        check_is_fitted(self)
        coef = self.weights_.coef
        return 0.5 * (coef[[1]] - coef[[0]]) if self._binary else coef

    @property
    def intercept_(self) -> npt.NDArray[np.float64]:
        """Intercepts, one a class (one for two classes).

        >>> from taxolearn import OneVsRestSVM
        >>> OneVsRestSVM().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"]).intercept_.shape
        (3,)
        """
        check_is_fitted(self)
        intercept = self.weights_.intercept
        return 0.5 * (intercept[1:] - intercept[:1]) if self._binary else intercept

    def decision_function(self, X: Any) -> npt.NDArray[Any]:
        """Scores, rows x classes in the order of `classes_`; for two classes one score a row, half their difference.

        >>> from taxolearn import OneVsRestSVM
        >>> OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"]).decision_function([[2.0]]) > 0
        array([ True])
        """
        rows = self._rows(X)
        scores = self.weights_.scores(rows, n_threads=self._n_threads)
        return 0.5 * (scores[:, 1] - scores[:, 0]) if self._binary else scores

    def predict(self, X: Any, *, beam: int | None = None) -> Any:
        """The best class of each row, or its set of classes, in the form in which y was given to `fit`.

        Names and level tables give an array of names; lists of lists give lists of names; an indicator gives an
        indicator. With several labels a row, those whose score is above the class's threshold are predicted.
        `beam` as in `top_k`; of several labels it finds at most so many a row.

        >>> from taxolearn import OneVsRestSVM
        >>> OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"]).predict([[2.0]]).tolist()
        ['b']
        """
        rows = self._rows(X)
        if not self._multilabel:
            best, _ = self._best(rows, 1, beam)
            return self.classes_[best[:, 0]]
        parts = self._label_sets(rows, beam)
        if self._indicator is not None:
            return self._as_indicator(parts, rows.shape[0])
        found: list[list[Hashable]] = []
        for indptr, indices in parts:
            names = self.classes_[indices].tolist()
            found += [names[start:end] for start, end in pairwise(indptr)]
        return found

    def _as_indicator(self, parts: list[Any], n_rows: int) -> Any:
        assert self._indicator is not None
        _, width, dtype, sparse = self._indicator
        columns = self._columns()
        lengths = [np.diff(indptr) for indptr, _ in parts]
        indptr = (
            np.concatenate(([0], np.cumsum(np.concatenate(lengths))))
            if parts
            else np.zeros(1, dtype=np.int64)
        )
        indices = (
            columns[np.concatenate([indices for _, indices in parts])]
            if parts
            else np.zeros(0, dtype=np.int64)
        )
        matrix = sp.csr_array((np.ones(len(indices), dtype=dtype), indices, indptr), shape=(n_rows, width))
        return matrix if sparse else matrix.toarray()

    def _columns(self) -> npt.NDArray[Any]:
        """Columns of the indicator that the classes stand in."""
        if self.taxonomy is None:
            return np.arange(len(self.classes_))
        return self.taxonomy.ids_of(self.classes_.tolist())

    def predict_path(self, X: Any, *, beam: int | None = None) -> list[Any]:
        """The path from the top of the taxonomy to each predicted class (a list of paths a row with several labels).

        `beam` as in `predict`.

        >>> from taxolearn import OneVsRestSVM, Taxonomy
        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> OneVsRestSVM(taxonomy=tree).fit([[-1.0], [1.0]], ["Cat", "Dog"]).predict_path([[2.0]])
        [('Animal', 'Dog')]
        """
        rows = self._rows(X)
        names = self.classes_.tolist()
        path = cache(lambda c: self._path(names[c]))  # many rows share a class, most classes have no row
        if not self._multilabel:
            best, _ = self._best(rows, 1, beam)
            return [path(c) for c in best[:, 0].tolist()]
        out: list[list[tuple[Hashable, ...]]] = []
        for indptr, indices in self._label_sets(rows, beam):
            out += [[path(c) for c in indices[a:b].tolist()] for a, b in pairwise(indptr)]
        return out

    def _path(self, name: Hashable) -> tuple[Hashable, ...]:
        if self.taxonomy is None:
            return (name,)
        path = self.taxonomy.path(name)
        return path[1:] if len(path) > 1 and path[0] == _ARTIFICIAL_ROOT else path

    def top_k(
        self, X: Any, k: int = 5, *, beam: int | None = None
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The k best classes of each row, best first, and their scores, without a rows x classes matrix.

        With `beam` the taxonomy is searched from the top down: of each level only the `beam` nodes with the best
        scores are looked below. That is quicker on large taxonomies, and may miss the best class. It needs weights
        at the nodes; methods, or sizes, that keep one vector a class say so.

        >>> from taxolearn import OneVsRestSVM
        >>> names, scores = OneVsRestSVM().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"]).top_k([[3.0]], 2)
        >>> names.shape, scores.shape
        ((1, 2), (1, 2))
        """
        rows = self._rows(X)
        best, scores = self._best(rows, k, beam)
        return self.classes_[best], scores

    def _best(self, rows: Any, k: int, beam: int | None) -> Any:
        return self.weights_.top_k(rows, k, beam=beam, n_threads=self._n_threads)

    def _label_sets(self, rows: Any, beam: int | None) -> list[Any]:
        """(indptr, indices) of the classes above their thresholds, block by block of rows."""
        if beam is None:
            blocks = self.weights_.score_blocks(rows, n_threads=self._n_threads)
            return [above(scores, self.thresholds_) for _, scores in blocks]
        found, scores = self._best(rows, max(1, min(beam, len(self.classes_))), beam)
        chosen = scores > self.thresholds_[found]
        order = np.argsort(np.where(chosen, found, len(self.classes_)), axis=1)
        found, chosen = np.take_along_axis(found, order, 1), np.take_along_axis(chosen, order, 1)
        return [(np.concatenate(([0], np.cumsum(chosen.sum(axis=1)))), found[chosen])]

    @property
    def _n_threads(self) -> int:
        return worker_count(getattr(self, "n_jobs", None))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows whose label, or whole set of labels, is right.

        >>> from taxolearn import OneVsRestSVM
        >>> OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"]).score([[2.0], [3.0]], ["b", "a"])
        0.5
        """
        predicted = self.predict(X)
        true, found = align_labels(y, predicted, self.taxonomy)
        same = abs(true.matrix() - found.matrix()).sum(axis=1) == 0
        weights = check_sample_weight(sample_weight, len(same))
        return float(np.average(np.asarray(same).ravel(), weights=weights))

    def explain(self, x: Any, k: int = 6, runners_up: int = 3, *, label: Hashable = None) -> Explanation:
        """Why one row gets its best class: its score, and the margin at each node of its path, by features.

        `k` features are shown by the explanation's `to_text`, and `runners_up` other classes are named;
        `label` asks about another class than the best one.

        >>> from taxolearn import OneVsRestSVM, Taxonomy
        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> explanation = OneVsRestSVM(taxonomy=tree).fit([[-1.0], [1.0]], ["Cat", "Dog"]).explain([2.0])
        >>> explanation.path, explanation.nodes[1].runner_up, explanation.nodes[1].margin > 0
        (('Animal', 'Dog'), 'Cat', True)
        """
        from taxolearn.methods.explain import explain

        return explain(self, x, k=k, runners_up=runners_up, label=label)

    def save(self, folder: str | Path) -> None:
        """Write the fitted model to a folder (no pickle; replaces an older model there atomically).

        >>> import tempfile, taxolearn
        >>> model = taxolearn.OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(folder)
        ...     taxolearn.load(folder).predict([[2.0]]).tolist()
        ['b']
        """
        from taxolearn.methods.persistence import save

        save(self, folder)

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False)
        if rows.shape[1] != self.weights_.n_features:
            raise DataError(f"X has {rows.shape[1]} features, but the model has {self.weights_.n_features}")
        return rows

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the class weights.

        >>> from taxolearn import OneVsRestSVM
        >>> OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"]).classes_.tolist()
        ['a', 'b']
        """
        raise NotImplementedError
