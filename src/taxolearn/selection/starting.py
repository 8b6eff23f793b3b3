"""What `TaxonomyClassifier` chooses among."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from taxolearn.methods.multiclass_svm import MulticlassSVM
from taxolearn.methods.normalized_svm import NormalizedHierarchicalSVM
from taxolearn.methods.one_vs_rest_logistic import OneVsRestLogistic
from taxolearn.methods.one_vs_rest_svm import OneVsRestSVM
from taxolearn.methods.recursive_logistic import RecursiveLogistic
from taxolearn.methods.recursive_svm import RecursiveSVM
from taxolearn.methods.taxonomy_ridge import TaxonomyRidge
from taxolearn.methods.top_down_svm import TopDownSVM
from taxolearn.problem import Problem
from taxolearn.selection.attempts import Candidate
from taxolearn.selection.search import C_RANGE, STEP
from taxolearn.solvers.choice import MOST_DECOMPOSED
from taxolearn.structure import Taxonomy

_INTERCEPT = (
    3.0  # lengths of a row; with one, intercepts of dense rows were held back, beyond three nothing is gained
)
_LANDMARKS = 1000
_MOST_MARKED = 100_000  # rows whose products with the landmarks take less than a GB
_KERNEL: dict[str, Any] = {"kernel": "rbf", "kernel_params": {"gamma": "scale"}}


def starting_candidates(
    taxonomy: Taxonomy | None, several: bool, problem: Problem | None = None, **parameters: Any
) -> list[Candidate]:
    """Few methods of which one is good wherever any was, each with the C that a search begins at
    for rows of length one.

    One label per row: the SVM of one class against the rest, on trees the same at each node, the normalized
    hierarchical SVM, softmax regression (which is multinomial logistic regression), and the same tied to the parents;
    without a taxonomy the multi-class SVM and softmax. Several: SVM and logistic regression of one class against the
    rest, and the SVM tied to the parents. Where the rows of the problem are dense, the SVM tied to the parents with
    a kernel by landmarks, too (one against the rest without a taxonomy); where they are few, least squares with one.
    What is quick, and seldom far behind, comes first. `parameters` go to all.

    >>> from taxolearn.problem import make_problem
    >>> [type(one.estimator).__name__ for one in starting_candidates(None, several=False)]
    ['OneVsRestSVM', 'MulticlassSVM', 'RecursiveLogistic']
    >>> starting_candidates(None, False, make_problem(np.eye(3), list("abc")))[-1].estimator
    TaxonomyRidge(kernel='rbf', kernel_params={'gamma': 'scale'})
    """
    linear = _linear(taxonomy, several, **parameters)
    return linear if problem is None else [*linear, *_curved(taxonomy, problem, **parameters)]


def _curved(taxonomy: Taxonomy | None, problem: Problem, **parameters: Any) -> list[Candidate]:
    """What draws curved borders between classes."""
    if not isinstance(problem.X, np.ndarray) or len(problem.X) > _MOST_MARKED:
        return []  # words are many, and hardly gain by it
    method: Any = OneVsRestSVM
    if taxonomy is not None:
        method = partial(RecursiveSVM, empty_classes="drop")
    found = [Candidate(method(taxonomy, landmarks=_LANDMARKS, **_KERNEL, **parameters), 4.0, dear=True)]
    if len(problem.X) <= MOST_DECOMPOSED:
        # one decomposition of the products of all rows serves every C
        found.append(Candidate(TaxonomyRidge(taxonomy, **_KERNEL, **parameters), 1.0, dear=True))
    return found


def _linear(taxonomy: Taxonomy | None, several: bool, **parameters: Any) -> list[Candidate]:
    svm = Candidate(OneVsRestSVM(taxonomy, **parameters), 1.0, plain=True)
    if several:
        logistic = Candidate(OneVsRestLogistic(taxonomy, **parameters), 16.0, plain=True)
        tied = []
        if taxonomy is not None:
            tied = [Candidate(RecursiveSVM(taxonomy, empty_classes="drop", **parameters), 1.0)]
        return [svm, logistic, *tied]
    top_down = []
    if taxonomy is not None and taxonomy.is_tree:
        top_down = [Candidate(TopDownSVM(taxonomy, loss="squared_hinge", **parameters), 1.0)]
    if taxonomy is not None:
        parameters["empty_classes"] = (
            "drop"  # a search over thousands of classes without rows would take minutes
        )
    flat_softmax = RecursiveLogistic(taxonomy, loss="softmax", weights="leaf", **parameters)
    softmax = Candidate(flat_softmax, 16.0, plain=True, dear=True)
    if taxonomy is None:
        return [svm, Candidate(MulticlassSVM(**parameters), 1.0), softmax]
    # of structured losses a gap of 5e-2 tells as much as 1e-2 does, in two thirds of the time; softmax needs 1e-2
    normalized = Candidate(NormalizedHierarchicalSVM(taxonomy, **parameters), 1.0, trial_tol=5e-2)
    tied_softmax = Candidate(RecursiveLogistic(taxonomy, loss="softmax", **parameters), 4.0, dear=True)
    return [svm, *top_down, normalized, softmax, tied_softmax]


def scaled(candidates: list[Candidate], X: Any) -> list[Candidate]:
    """The same for rows as long as these: scores grow with the square of their length, so C begins lower; and
    intercepts are a feature that is three times as long, so that they hardly count in the penalty. In the space of the
    kernel rows have length one.

    >>> import numpy as np
    >>> found = scaled([Candidate(OneVsRestSVM(), 1.0)], np.full((3, 4), 2.0))[0]
    >>> found.C, found.estimator.intercept_scaling
    (0.0625, 12.0)
    """
    squares = X.multiply(X).sum() if sp.issparse(X) else np.einsum("ij,ij->", X, X, dtype=np.float64)
    mean = float(squares) / X.shape[0]
    power = round(np.log(max(mean, 1e-300)) / np.log(STEP))
    low, high = C_RANGE
    length = float(np.sqrt(STEP**power))
    return [
        one._replace(
            estimator=one.estimator.set_params(intercept_scaling=_INTERCEPT * length),
            C=float(np.clip(one.C * STEP**-power, low, high)),
        )
        if getattr(one.estimator, "kernel", None) is None
        else one
        for one in candidates
    ]
