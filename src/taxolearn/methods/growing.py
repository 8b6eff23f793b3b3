"""Classes that are added to a fitted model: a problem with new rows and classes, and the old duals inside it."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from taxolearn.errors import DataError
from taxolearn.losses import LOSSES
from taxolearn.methods.empty_classes import on_empty_classes
from taxolearn.methods.fitting import CertifiedClassifier
from taxolearn.methods.inputs import check_rows
from taxolearn.methods.parameters import estimator
from taxolearn.problem import Problem, encode_labels, make_problem
from taxolearn.problem.inputs import check_sample_weight
from taxolearn.problem.labels import Labels
from taxolearn.solvers import Start
from taxolearn.structure import Taxonomy
from taxolearn.structure.names import show


def grown_problem(
    old: Problem,
    taxonomy: Taxonomy,
    rows: Any,
    y_new: Any,
    sample_weight: Any = None,
    class_weight: Any = None,
    empty_classes: Literal["drop", "keep"] = "drop",
) -> tuple[Problem, Any]:
    """The old rows, then the new ones, with labels in a larger taxonomy; and the labels in the form of the old ones.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> old = make_problem([[0.0], [1.0]], ["Cat", "Dog"], tree)
    >>> new = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog", "Animal/Emu"])
    >>> problem, y = grown_problem(old, new, np.array([[2.0]]), ["Emu"])
    >>> problem.classes, y.tolist()
    (('Cat', 'Dog', 'Emu'), ['Cat', 'Dog', 'Emu'])
    """
    if old.labels.form == "indicator":
        raise DataError("add_classes cannot widen an indicator; fit with names or lists of names instead")
    for name in old.classes:
        if name not in taxonomy:
            raise DataError(
                f"class {show(name)} is missing in the new taxonomy; keep the classes learned so far"
            )
    fresh = encode_labels(y_new, taxonomy)
    if fresh.n_rows != rows.shape[0]:
        raise DataError(f"X has {rows.shape[0]} rows and y has {fresh.n_rows}; give one label per row")
    if fresh.multilabel and not old.labels.multilabel and (np.diff(fresh.indptr) != 1).any():
        wrong = int(np.argmax(np.diff(fresh.indptr) != 1))
        raise DataError(f"the fit had one label per row, and new row {wrong} has another number of them")
    names = _names(old.labels) + _names(fresh)
    weights = check_sample_weight(sample_weight, rows.shape[0])
    new_weight = np.ones(rows.shape[0]) if weights is None else weights
    y: Any = names
    if not old.labels.multilabel:
        y = np.empty(len(names), dtype=object)
        for i, row in enumerate(names):
            y[i] = row[0]
    if sp.issparse(old.X) or sp.issparse(rows):
        X: Any = sp.csr_array(sp.vstack([old.X, rows], format="csr"))
    else:
        X = np.vstack([old.X, rows])
    problem = make_problem(
        X,
        y,
        taxonomy,
        sample_weight=np.concatenate([old.row_weight, new_weight]),
        class_weight=class_weight,
        empty_classes=empty_classes,
    )
    return problem, y


def _names(labels: Labels) -> list[list[Hashable]]:
    """The labels of every row by name."""
    return [[labels.names[k] for k in labels.indices[a:b]] for a, b in pairwise(labels.indptr)]


def grown_dual(old: Problem, new: Problem, dual: sp.csr_array) -> sp.csr_array:
    """The old duals, classes x rows, where they belong in the new problem, and within its bounds.

    A class weight that changed scales the cost of a row, and its dual with it.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> old = make_problem([[0.0], [1.0]], ["Cat", "Dog"], tree)
    >>> larger = Taxonomy.from_paths(["Animal/Ant", "Animal/Cat", "Animal/Dog"])
    >>> new, _ = grown_problem(old, larger, np.array([[2.0]]), ["Ant"])
    >>> grown_dual(old, new, sp.csr_array(np.array([[1.0, 2.0], [3.0, 4.0]]))).toarray().tolist()
    [[0.0, 0.0, 0.0], [1.0, 2.0, 0.0], [3.0, 4.0, 0.0]]
    """
    place = {name: number for number, name in enumerate(new.classes)}
    rows = np.array([place[name] for name in old.classes])
    entries = sp.coo_array(dual)
    has = np.asarray(old.targets.tocsr()[entries.col, entries.row]).ravel() > 0
    before = np.where(has, old.positive_weight[entries.row], old.negative_weight[entries.row])
    number = rows[entries.row]
    after = np.where(has, new.positive_weight[number], new.negative_weight[number])
    data = entries.data * (after / before)
    return sp.csr_array((data, (number, entries.col)), shape=(new.n_classes, new.n_rows))


@estimator
class GrowsClasses(CertifiedClassifier):
    """Methods that can learn new classes without starting over.

    >>> from taxolearn import RecursiveSVM
    >>> issubclass(RecursiveSVM, GrowsClasses)
    True
    """

    def add_classes(self, taxonomy: Taxonomy, X_new: Any, y_new: Any, sample_weight: Any = None) -> Self:
        """Learn classes that were added to the taxonomy, from new rows and all the old ones, without starting over.

        `taxonomy` must hold all classes learned so far; classes may have moved, and old leaves may have got
        children. The fit starts from the duals of the last one and ends with the certificate of the whole problem,
        at `tol`. Needs `warm_start=True`, with which the rows of the last fit are kept (not copied, and not saved); one
        new row at least; labels by name; a one-vs-rest loss. An array of `weights` must be set for the new taxonomy
        first. If it fails, the model is as it was.

        >>> from taxolearn import RecursiveSVM
        >>> old = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> model = RecursiveSVM(old, warm_start=True).fit([[-1.0], [1.0]], ["Cat", "Dog"])
        >>> new = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog", "Animal/Emu"])
        >>> model.add_classes(new, [[9.0]], ["Emu"]).classes_.tolist()
        ['Cat', 'Dog', 'Emu']
        """
        check_is_fitted(self)
        kept = getattr(self, "_kept", None)
        margin = LOSSES[self.loss].facts.kind == "margin"
        if kept is None or not self.warm_start or self.taxonomy_ is None or not margin:
            raise DataError(
                "add_classes needs a one-vs-rest loss, a taxonomy, and a fit with warm_start=True, which keeps its rows"
            )
        self._check_parameters()
        rows = check_rows(self, X_new, reset=False)
        problem, y = grown_problem(
            kept.problem, taxonomy, rows, y_new, sample_weight, self.class_weight, on_empty_classes(self)
        )
        dual = grown_dual(kept.problem, problem, kept.dual * (self.C / kept.C))
        before = dict(self.__dict__)
        self.taxonomy = taxonomy
        try:
            return self._fit_problem(problem, y, Start(dual, None))
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)  # the old classes are as they were
            raise
