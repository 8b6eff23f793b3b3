"""What every estimator offers once it has vectors and a decoder: scores, predictions, paths, explanations, storage."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from taxolearn.decoders import Answers, Decoder, labels_are_closed
from taxolearn.engines import worker_count
from taxolearn.errors import DataError
from taxolearn.explain import Explanation, explain, one_row
from taxolearn.methods.fitted import Fitted
from taxolearn.methods.inputs import check_rows, names_array
from taxolearn.methods.parameters import estimator, parameter
from taxolearn.methods.spreading import Question, ask
from taxolearn.methods.stopping import StopsWhenUnsure
from taxolearn.problem import Problem, align_labels
from taxolearn.problem.inputs import check_sample_weight
from taxolearn.storage.classifiers import pack_classifier, unpack_classifier
from taxolearn.storage.writing import save_model
from taxolearn.structure import Taxonomy

if TYPE_CHECKING:
    from taxolearn.report import Report


def _threads(name: str, value: Any) -> None:
    worker_count(value)


@estimator
class VectorClassifier(StopsWhenUnsure, Fitted, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the estimators: vectors that score, and a decoder that answers.

    >>> from taxolearn import OneVsRestSVM
    >>> issubclass(OneVsRestSVM, VectorClassifier)
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
        self._closed_labels = labels_are_closed(problem)
        self._indicator = None
        self.coverage_ = None  # a new fit needs a new calibration
        if problem.labels.form == "indicator":
            # columns of the indicator, its type and whether it was sparse
            kind = str(y.dtype) if hasattr(y, "dtype") else "int64"
            self._indicator = ("columns", len(problem.labels.names), kind, bool(sp.issparse(y)))

    def decision_function(self, X: Any) -> npt.NDArray[Any]:
        """Scores, rows x classes in the order of `classes_`; for two classes one score per row, half their difference.

        >>> from taxolearn import OneVsRestSVM
        >>> OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"]).decision_function([[2.0]]) > 0
        array([ True])
        """
        rows = self._rows(X)
        scores = ask(Question(self.decoder_, self.vectors_, "scores", {}), rows, self._n_threads)
        return np.asarray(0.5 * (scores[:, 1] - scores[:, 0]) if self._binary else scores)

    def predict(
        self,
        X: Any,
        *,
        beam: int | None = None,
        decision: Any = None,
        inner: bool = False,
        coverage: float | None = None,
        risk: float | None = None,
        by: str | None = None,
        max_nodes: int | None = None,
    ) -> Any:
        """The best class of each row, or its set of classes, in the form in which y was given to `fit`.

        Names and level tables give an array of names; lists of lists give lists of names; an indicator gives an
        indicator. With several labels per row, those whose score is above the class's threshold are predicted.
        `beam` as in `top_k`; of several labels it finds at most so many per row.

        `decision` says what is best, for this call: a word as in the parameter, a table of costs (a row per true class
        and a column per answer, in the order of `classes_`) or a function of the true and the answered name. The answer
        is then the class of least expected cost; with `inner=True` the node, so that a row may get an inner node.
        With `coverage` or `risk`, after `calibrate`: the deepest node on the way to the best class that keeps the
        promise, or with `max_nodes` a list of nodes that cover together. `by` as in `stops`, which says more.

        >>> from taxolearn import OneVsRestSVM
        >>> OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"]).predict([[2.0]]).tolist()
        ['b']
        """
        if coverage is not None or risk is not None or by is not None or max_nodes is not None:
            if decision is not None or inner:
                raise DataError(
                    "a decision and a promised coverage or risk exclude each other; leave one of them out"
                )
            return self._stopped(X, coverage=coverage, risk=risk, by=by, max_nodes=max_nodes)
        answers, names = self._answers(X, None, beam, decision, inner)
        if self._indicator is not None:
            return self._as_indicator(answers, names)
        if self.label_form_ != "sets":
            return names[answers.ids]
        # in the order of the classes, not of their scores
        rows = np.repeat(np.arange(len(answers.indptr) - 1), np.diff(answers.indptr))
        found = names[answers.ids[np.lexsort((answers.ids, rows))]].tolist()
        return [found[start:end] for start, end in pairwise(answers.indptr.tolist())]

    def decode(
        self,
        X: Any,
        *,
        k: int | None = None,
        beam: int | None = None,
        decision: Any = None,
        inner: bool = False,
    ) -> Answers:
        """The predicted classes of each row, best first, as numbers into `classes_`, and their scores.

        All other answers are made of these. With k, the k best classes of each row instead, which begin with the
        predicted ones. `decision` and `inner` as in `predict`; with `inner` numbers are those of the taxonomy's nodes.

        >>> from taxolearn import OneVsRestSVM
        >>> answers = OneVsRestSVM().fit([[-1.0], [0.0], [1.0]], ["a", "b", "c"]).decode([[2.0], [-2.0]])
        >>> answers.indptr.tolist(), answers.ids.tolist()
        ([0, 1, 2], [2, 0])
        """
        return self._answers(X, k, beam, decision, inner)[0]

    def _answers(
        self, X: Any, k: int | None, beam: int | None, decision: Any, inner: bool
    ) -> tuple[Answers, npt.NDArray[Any]]:
        """The predicted or the k best answers of each row, and the names that they are numbers of."""
        rows = self._rows(X)
        decoder, names = self._deciding(decision, inner)
        if k is None:
            question = Question(decoder, self.vectors_, "decode", {"beam": beam})
            return ask(question, rows, self._n_threads), names
        question = Question(decoder, self.vectors_, "top_k", {"k": k, "beam": beam})
        best, scores = ask(question, rows, self._n_threads)
        return Answers(best.shape[1] * np.arange(len(best) + 1), best.ravel(), scores.ravel()), names

    def _deciding(self, decision: Any, inner: bool = False) -> tuple[Decoder, npt.NDArray[Any]]:
        """The decoder that decides so, and the names that its answers are numbers of."""
        return self.decoder_, self.classes_

    def _as_indicator(self, answers: Answers, names: npt.NDArray[Any]) -> Any:
        assert self._indicator is not None
        _, width, dtype, sparse = self._indicator
        columns = np.arange(len(names))
        if self.taxonomy_ is not None:
            columns = np.asarray(self.taxonomy_.ids_of(names.tolist()))
        ones = np.ones(len(answers.ids), dtype=dtype)
        shape = (len(answers.indptr) - 1, width)
        matrix = sp.csr_array((ones, columns[answers.ids], answers.indptr), shape=shape)
        matrix.sort_indices()
        return matrix if sparse else matrix.toarray()

    def predict_path(
        self, X: Any, *, beam: int | None = None, decision: Any = None, inner: bool = False, **promise: Any
    ) -> list[Any]:
        """The path from the top of the taxonomy to each predicted class (a list of paths per row with several labels).

        `beam`, `decision`, `inner`, `coverage`, `risk`, `by` and `max_nodes` as in `predict`.

        >>> from taxolearn import OneVsRestSVM, Taxonomy
        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> OneVsRestSVM(taxonomy=tree).fit([[-1.0], [1.0]], ["Cat", "Dog"]).predict_path([[2.0]])
        [('Animal', 'Dog')]
        """
        if promise:
            stopped = self.predict(X, decision=decision, inner=inner, **promise)
            if isinstance(stopped, list):
                return [[self._path(name) for name in row] for row in stopped]
            return [self._path(name) for name in stopped.tolist()]
        answers, found = self._answers(X, None, beam, decision, inner)
        names = found.tolist()
        path = cache(lambda c: self._path(names[c]))  # many rows share a class, most classes have no row
        if not self.decoder_.several:
            return [path(c) for c in answers.ids.tolist()]
        rows = np.repeat(np.arange(len(answers.indptr) - 1), np.diff(answers.indptr))
        ids = answers.ids[np.lexsort((answers.ids, rows))].tolist()
        return [[path(c) for c in ids[a:b]] for a, b in pairwise(answers.indptr.tolist())]

    def _path(self, name: Hashable) -> tuple[Hashable, ...]:
        return (name,) if self.taxonomy_ is None else self.taxonomy_.shown_path(name)

    def top_k(
        self,
        X: Any,
        k: int = 5,
        *,
        beam: int | None = None,
        decision: Any = None,
        inner: bool = False,
        probability: bool = False,
    ) -> tuple[npt.NDArray[Any], ...]:
        """The k best classes of each row, best first, and their scores, without a rows x classes matrix.

        With `beam` the taxonomy is searched from the top down: of each level only the `beam` nodes with the best
        scores are looked below. That is quicker on large taxonomies, and may miss the best class. It needs vectors
        at the nodes; methods, or sizes, that keep one vector per class say so.

        `decision` and `inner` as in `predict`; scores are then minus expected costs. With `probability=True` a third
        and a fourth array: the probabilities of the k classes, and what is left over in each row for all others (with
        several labels per row, how many others are to be expected).

        >>> from taxolearn import OneVsRestSVM
        >>> names, scores = OneVsRestSVM().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"]).top_k([[3.0]], 2)
        >>> names.shape, scores.shape
        ((1, 2), (1, 2))
        """
        rows = self._rows(X)
        decoder, names = self._deciding(decision, inner)
        question = Question(decoder, self.vectors_, "top_k", {"k": k, "beam": beam})
        best, scores = ask(question, rows, self._n_threads)
        if not probability:
            return names[best], scores
        if inner:
            raise DataError("what is left over is about classes; with inner=True ask `node_proba`")
        return names[best], scores, *self._probable(rows, best)

    def _probable(self, X: Any, ids: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The probabilities of some classes of each row, and what is left over for all others."""
        raise NotImplementedError

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
        fixed, spelt = (self.taxonomy_, None) if self._fixed_names else (None, self.taxonomy_)
        true, found = align_labels(y, predicted, fixed, known=spelt)
        same = abs(true.matrix() - found.matrix()).sum(axis=1) == 0
        weights = check_sample_weight(sample_weight, len(same))
        return float(np.average(np.asarray(same).ravel(), weights=weights))

    @property
    def _fixed_names(self) -> bool:
        """Whether labels can only be nodes of the taxonomy, or columns of an indicator over it."""
        return self.taxonomy is not None or self._indicator is not None

    def explain(
        self,
        x: Any,
        k: int = 6,
        runners_up: int = 3,
        *,
        label: Hashable = None,
        decision: Any = None,
        **promise: Any,
    ) -> Explanation:
        """Why one row gets its best class: its score, and the margin at each node of its path, by features.

        `k` features are shown by the explanation's `to_text`, and `runners_up` other classes are named;
        `label` asks about another class than the best one, `decision` says which is the best, as in `predict`. With
        `coverage` or `risk` as in `predict` it also says where the answer stops, and why.

        >>> from taxolearn import OneVsRestSVM, Taxonomy
        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> explanation = OneVsRestSVM(taxonomy=tree).fit([[-1.0], [1.0]], ["Cat", "Dog"]).explain([2.0])
        >>> explanation.path, explanation.nodes[1].runner_up, explanation.nodes[1].margin > 0
        (('Animal', 'Dog'), 'Cat', True)
        """
        label = self._decided_label(one_row(x), decision) if label is None else label
        found = explain(self, x, k=k, runners_up=runners_up, label=label)
        return replace(found, stop=self._why_stopped(one_row(x), **promise)) if promise else found

    def _decided_label(self, x: Any, decision: Any) -> Hashable:
        """The best class of one row by another decision than the decoder's own; None: the decoder knows."""
        decoder, names = self._deciding(decision)
        if decoder is self.decoder_:
            return None
        rows = self._rows(x)
        if rows.shape[0] != 1:
            raise DataError(f"explain takes one row, not {rows.shape[0]}; call it for each row")
        label: Hashable = names[decoder.top_k(self.vectors_, rows, 1)[0][0]].tolist()[0]
        return label

    def report(self, X: Any, y: Any, **options: Any) -> Report:
        """What the model knows, where it fails and what to do about it, on labelled rows that it was not fitted on.

        The result is a plain dict, `data`; `save("report.html")` writes one page, .md and .json the same. Options:
        `title`, `n_examples` (rows that are explained) and `n_words` (of each node).

        >>> from taxolearn import OneVsRestSVM
        >>> OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"]).report([[2.0], [3.0]], ["b", "a"])
        Report(2 rows, accuracy 0.5000)
        """
        from taxolearn.report import Report, collect

        return Report(collect(self, X, y, **options))

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

    def _judge(self) -> Any:
        """A quick form of this estimator, not fitted, by whose answers features may be compared."""
        quick = {"tol": 0.1, "probability": False, "decision": "best", "thresholds": "zero", "verbose": 0}
        known = self.get_params(deep=False)
        return clone(self).set_params(**{name: value for name, value in quick.items() if name in known})

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
