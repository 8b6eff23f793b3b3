"""Answers that stop at an inner node when unsure, with guaranteed coverage: `calibrate`, then `predict(coverage=)`."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from taxolearn.decoders.calibrated_stops import Asked, Coverage, settle
from taxolearn.decoders.coverage import softmax_slope
from taxolearn.errors import DataError, LabelError
from taxolearn.explain.explanation import Stop
from taxolearn.losses import Softmax
from taxolearn.methods.inputs import check_seed, names_array
from taxolearn.methods.parameters import estimator, parameter, share_or_zero
from taxolearn.problem import Problem
from taxolearn.problem.labels import encode_labels
from taxolearn.structure import Taxonomy

Floats = npt.NDArray[np.float64]
_BLOCK_BYTES = 32 * 2**20  # of the probabilities of nodes at a time
_MAX_NODES = 3  # of an answer, unless told otherwise
_SHARE_FOR_SLOPE = 0.2  # of the calibration rows of a model without probabilities


@dataclass(frozen=True, eq=False)
class Stops:
    """How far down each row is answered.

    - `names`: rows x nodes of an answer; None where an answer has fewer.
    - `depth`: level of the answer, of several nodes their mean; the root's is 0.
    - `at_class`: whether the answer is the predicted class, so that nothing was left open.
    - `unlike`: rows answered by the root because their best score is below those of all calibration rows.
    - `predicted`: number of the class that `predict` says; `scores`: its score.
    - `probability`: that the label lies at or below the answer, by the model; the promise does not hang on it.
    - `doubt`, `limit`: doubt in the next step down, and what it had to stay below.

    >>> from taxolearn import OneVsRestLogistic, Taxonomy
    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], ["Cat", "Cat", "Dog", "Dog"]
    >>> model = OneVsRestLogistic(taxonomy=tree).fit(X, y).calibrate([[-1.5], [1.5]] * 10, ["Cat", "Dog"] * 10)
    >>> stops = model.stops([[3.0]], coverage=0.9)
    >>> stops.names.tolist(), stops.depth.tolist(), stops.at_class.tolist()
    ([['Dog']], [1.0], [True])
    """

    names: npt.NDArray[Any]
    depth: Floats
    at_class: npt.NDArray[np.bool_]
    unlike: npt.NDArray[np.bool_]
    predicted: npt.NDArray[np.int32]
    scores: npt.NDArray[Any]
    probability: Floats
    doubt: Floats
    limit: Floats

    @property
    def at_root(self) -> npt.NDArray[np.bool_]:
        """Rows of which nothing is said but the root.

        >>> few = np.zeros(1), np.zeros(1, bool), np.zeros(1, bool), np.zeros(1, np.int32), *np.zeros((4, 1))
        >>> Stops(np.array([["all"]]), *few).at_root.tolist()
        [True]
        """
        return np.asarray(self.depth == 0)


@estimator
class StopsWhenUnsure:
    """What an estimator needs to stop at an inner node: rows to calibrate on, and what they say about new rows.

    >>> from taxolearn import OneVsRestSVM
    >>> issubclass(OneVsRestSVM, StopsWhenUnsure)
    True
    """

    coverage_holdout: float = parameter(
        default=0.0,
        doc=(
            "Share of the rows, drawn by chance, that are not learned from but calibrated on (`calibrate`), so that "
            "`predict(X, coverage=0.95)` works; 0: none."
        ),
        check=share_or_zero,
    )

    def calibrate(self: Any, X: Any, y: Any, *, max_nodes: int = _MAX_NODES) -> Any:
        """Learn from rows that it was not fitted on how far down the model may answer, for `predict(X, coverage=0.95)`.

        Nothing but this changes. Calibrate again with fresh rows, which replaces the last calibration, when new rows
        are of another kind than these: the promise holds for rows that are exchangeable with the calibration rows.
        Answers may have up to `max_nodes` nodes. A label may be any node, also one that the model never learned.
        Of a model without probabilities a fifth of the rows, drawn by chance, goes into the slope of its scores.

        >>> from taxolearn import OneVsRestLogistic, Taxonomy
        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> model = OneVsRestLogistic(taxonomy=tree).fit([[-2.0], [-1.0], [1.0], [2.0]], ["Cat", "Cat", "Dog", "Dog"])
        >>> model = model.calibrate([[-1.5], [1.5], [0.1], [-0.1]] * 5, ["Cat", "Dog", "Cat", "Dog"] * 5)
        >>> model.predict([[3.0], [0.05]], coverage=0.9).tolist()
        ['Dog', 'Animal']
        """
        taxonomy = _taxonomy_of(self)
        rows = self._rows(X)
        labels = encode_labels(y, taxonomy)
        if labels.n_rows != rows.shape[0]:
            raise DataError(
                f"X has {rows.shape[0]} rows, but y has {labels.n_rows}; give a label for each row"
            )
        if np.any(np.diff(labels.indptr) != 1):
            row = int(np.flatnonzero(np.diff(labels.indptr) != 1)[0])
            raise LabelError(f"y, row {row}: a row has one label here, as in fit; found a set of labels")
        _calibrate(self, rows, labels.indices, Asked(0.5, max_nodes=max_nodes).max_nodes)
        return self

    def stops(
        self: Any,
        X: Any,
        *,
        coverage: float | None = None,
        risk: float | None = None,
        by: Any = None,
        max_nodes: int = 1,
    ) -> Stops:
        """How far down each row is answered, and why not further: what `predict(X, coverage=...)` answers from.

        - `coverage`: the true label lies at or below the answer with so much probability at least.
        - `by`: the same for the labels of each "level", each "chapter" (child of the root) or each "class", not only on
          average; groups with too few calibration rows are taken together.
        - `max_nodes`: answers are sets of so many nodes at most, which cover together.
        - `risk`, in place of coverage: the expected tree loss is at most this, where an answer above the label costs
          nothing.

        >>> from taxolearn import OneVsRestLogistic, Taxonomy
        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> model = OneVsRestLogistic(taxonomy=tree).fit([[-2.0], [-1.0], [1.0], [2.0]], ["Cat", "Cat", "Dog", "Dog"])
        >>> model = model.calibrate([[-1.5], [1.5], [0.1], [-0.1]] * 5, ["Cat", "Dog", "Cat", "Dog"] * 5)
        >>> model.stops([[3.0], [0.05]], risk=0.3).depth.tolist()
        [1.0, 0.0]
        """
        asked, kept = self._promised(coverage=coverage, risk=risk, by=by, max_nodes=max_nodes)
        taxonomy = _taxonomy_of(self)
        rows = self._rows(X)
        class_nodes = np.asarray(taxonomy.ids_of(self.classes_.tolist()), dtype=np.int32)
        limits = kept.limits(asked, class_nodes, taxonomy)
        parts = [
            _stops_of(found, kept, asked, limits, class_nodes, taxonomy)
            for found in _blocks(self, rows, taxonomy, kept.slope)
        ]
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return Stops(_names(columns[0], self.classes_, taxonomy), *columns[1:])

    def _promised(self: Any, **promise: Any) -> tuple[Asked, Coverage]:
        """What is asked for, checked, and the calibration that answers it."""
        asked = Asked(**promise)
        _taxonomy_of(self)
        kept = getattr(self, "coverage_", None)
        if kept is None:
            raise DataError(
                "the model is not calibrated; call calibrate(X, y), on the command line `taxolearn calibrate`, with "
                "labelled rows that it was not fitted on"
            )
        return asked, kept

    def _stopped(self: Any, X: Any, **asked: Any) -> Any:
        """The answers of `predict`: names, or lists of names where an answer may have several nodes."""
        several = asked["max_nodes"] is not None
        if not several:
            del asked["max_nodes"]
        names = self.stops(X, **asked).names
        if not several:
            return names[:, 0]
        return [[name for name in row if name is not None] for row in names.tolist()]

    def _why_stopped(self: Any, x: Any, **asked: Any) -> Stop:
        """Why one row is answered where it is, for `explain`."""
        stops = self.stops(x, **asked)
        word = next(
            f"{name} {value:g}" for name, value in asked.items() if name != "by" and value is not None
        )
        predicted = self.classes_[stops.predicted[0]]
        below = self.taxonomy_.named_path(predicted)
        name = stops.names.tolist()[0][0]
        place = below.index(name) if name in below else 0
        further = None if stops.at_class[0] else below[min(place + 1, len(below) - 1)]
        return Stop(
            name,
            self._path(name),
            word,
            float(stops.depth[0]),
            further,
            float(stops.doubt[0]),
            float(stops.limit[0]),
            bool(stops.unlike[0]),
        )


def _taxonomy_of(model: Any) -> Taxonomy:
    check_is_fitted(model)
    if model.decoder_.several:
        raise DataError(
            "coverage= and risk= are for models with one label per row; this one answers with sets of labels"
        )
    if model.taxonomy_ is None:
        raise DataError(
            "without a taxonomy there is no node to stop at; fit with one (taxonomy=, or labels that are paths)"
        )
    taxonomy: Taxonomy = model.taxonomy_
    return taxonomy


def fit_and_calibrate(model: Any, problem: Problem, y: Any) -> None:
    """Fit on some rows, drawn by chance whatever their classes are, and calibrate on the others.

    >>> from taxolearn import OneVsRestSVM
    >>> OneVsRestSVM(coverage_holdout=0.5).fit([[0.0], [1.0]], ["a", "b"])
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: coverage_holdout needs a taxonomy: without one there is no node to stop at
    """
    held, kept = calibration_split(model, problem)
    model._fit_problem(model._with_products(problem.subset(kept)), y)
    _calibrate(model, problem.X[held], problem.labels.indices[held], _MAX_NODES)


def calibration_split(model: Any, problem: Problem) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows to calibrate on, drawn by chance whatever their classes are, and rows to learn from.

    >>> from taxolearn import OneVsRestSVM
    >>> from taxolearn.problem import make_problem
    >>> problem = make_problem([[0.0], [1.0]], ["a", "b"], Taxonomy.from_paths(["all/a", "all/b"]))
    >>> held, kept = calibration_split(OneVsRestSVM(coverage_holdout=0.5), problem)
    >>> sorted([*held.tolist(), *kept.tolist()])
    [0, 1]
    """
    _check_can_stop(problem, getattr(model, "kernel", None))
    order = np.random.default_rng(check_seed(model.random_state)).permutation(problem.n_rows)
    n_held = round(model.coverage_holdout * problem.n_rows)
    held, kept = np.sort(order[:n_held]), np.sort(order[n_held:])
    if not n_held or not len(kept):
        raise DataError(f"coverage_holdout={model.coverage_holdout:g} of {problem.n_rows} rows leaves none")
    return held, kept


def _check_can_stop(problem: Problem, kernel: Any) -> None:
    if problem.taxonomy is None:
        raise DataError("coverage_holdout needs a taxonomy: without one there is no node to stop at")
    if problem.labels.multilabel:
        raise DataError("coverage_holdout is for one label per row; here rows have sets of labels")
    if isinstance(kernel, str) and kernel == "precomputed":
        raise DataError(
            "coverage_holdout cannot split a precomputed kernel; call calibrate(X, y) after the fit"
        )


def _calibrate(model: Any, rows: Any, labels: npt.NDArray[np.int32], max_nodes: int) -> None:
    taxonomy = _taxonomy_of(model)
    class_nodes = np.asarray(taxonomy.ids_of(model.classes_.tolist()), dtype=np.int32)
    slope = 0.0
    if not hasattr(model, "predict_proba"):
        order = np.random.default_rng(0).permutation(len(labels))
        n_slope = max(1, round(_SHARE_FOR_SLOPE * len(labels)))
        slope = _slope_of(model, rows[order[:n_slope]], labels[order[:n_slope]], class_nodes)
        rows, labels = rows[order[n_slope:]], labels[order[n_slope:]]
    kept, start, least = [], 0, np.inf
    for probabilities, predicted, scores in _blocks(model, rows, taxonomy, slope):
        some = labels[start : start + len(predicted)]
        kept.append(Coverage.of(probabilities, predicted, class_nodes, some, taxonomy, max_nodes))
        start, least = start + len(predicted), min(least, float(scores.min()))
    if not kept:
        raise DataError("there are too few rows to calibrate on; give some hundreds")
    model.coverage_ = Coverage.joined(kept, slope, least)


def _slope_of(
    model: Any, rows: Any, labels: npt.NDArray[np.int32], class_nodes: npt.NDArray[np.int32]
) -> float:
    """The slope of the scores, by rows whose label is a class."""
    order = np.argsort(class_nodes)
    place = order[np.minimum(np.searchsorted(class_nodes[order], labels), len(order) - 1)]
    known = np.flatnonzero(class_nodes[place] == labels)
    room = max(1, _BLOCK_BYTES // (8 * len(class_nodes)))
    known = known[:room]
    scores = model.decoder_.scores(model.vectors_, rows[known]).astype(np.float64)
    return softmax_slope(scores, place[known])


def _blocks(model: Any, rows: Any, taxonomy: Taxonomy, slope: float) -> Iterator[tuple[Any, Any, Any]]:
    """(probabilities, predicted classes, their scores) of some rows at a time."""
    size = max(1, _BLOCK_BYTES // (8 * taxonomy.n_nodes))
    for start in range(0, rows.shape[0], size):
        some = rows[start : start + size]
        best = model.decoder_.decode(model.vectors_, some)
        if slope:
            scores = model.decoder_.scores(model.vectors_, some).astype(np.float64)
            probabilities = Softmax().probabilities(slope * scores)
        else:
            with warnings.catch_warnings():  # these rows were checked with the names of their columns
                warnings.filterwarnings("ignore", message="X does not have valid feature names")
                probabilities = model.predict_proba(some)
        yield probabilities, best.ids, best.scores


def _stops_of(
    block: tuple[Any, Any, Any],
    kept: Coverage,
    asked: Asked,
    limits: Any,
    class_nodes: npt.NDArray[np.int32],
    taxonomy: Taxonomy,
) -> tuple[Any, ...]:
    probabilities, predicted, scores = block
    ladders = asked.ladders(probabilities, predicted, class_nodes, taxonomy)
    ladders, allowed = settle(ladders, limits, probabilities, class_nodes, taxonomy)
    unlike = kept.unlike(scores)
    rungs = np.where(unlike, 0, ladders.cut(allowed))
    rows = np.arange(len(rungs))
    nodes = ladders.answers(rungs)
    there = nodes >= 0
    depth = np.where(there, taxonomy.depth[np.maximum(nodes, 0)], 0).sum(axis=1) / there.sum(axis=1)
    last = (ladders.nodes[:, :, 0] >= 0).sum(axis=1) - 1
    further = np.minimum(rungs + 1, last)
    above = taxonomy.ancestor_matrix(class_nodes)
    covered = np.zeros(probabilities.shape, dtype=bool)
    for column in nodes.T:
        covered |= (above[:, np.maximum(column, 0)].toarray().T > 0) & (column >= 0)[:, None]
    chance = np.where(covered, probabilities, 0.0).sum(axis=1)
    return (
        nodes,
        depth,
        rungs == last,
        unlike,
        predicted,
        scores,
        np.minimum(chance, 1.0),
        ladders.doubt[rows, further],
        allowed[rows, further],
    )


def _names(nodes: npt.NDArray[np.int32], classes: npt.NDArray[Any], taxonomy: Taxonomy) -> npt.NDArray[Any]:
    used = np.unique(nodes[nodes >= 0])
    names: list[Hashable] = [taxonomy.name_of(int(node)) for node in used]
    table = names_array(names, classes if classes.dtype == object else None)
    if nodes.min(initial=0) < 0:
        table = np.append(table.astype(object), [None])
    found: npt.NDArray[Any] = table[np.where(nodes >= 0, np.searchsorted(used, nodes), len(names))]
    return found
