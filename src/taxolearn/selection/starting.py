"""What `TaxonomyClassifier` chooses among."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from taxolearn.methods.multiclass_svm import MulticlassSVM
from taxolearn.methods.normalized_svm import NormalizedHierarchicalSVM
from taxolearn.methods.one_vs_rest_logistic import OneVsRestLogistic
from taxolearn.methods.one_vs_rest_svm import OneVsRestSVM
from taxolearn.methods.recursive_logistic import RecursiveLogistic
from taxolearn.methods.recursive_svm import RecursiveSVM
from taxolearn.selection.search import C_RANGE, STEP, Candidate
from taxolearn.structure import Taxonomy


def starting_candidates(taxonomy: Taxonomy | None, several: bool, **parameters: Any) -> list[Candidate]:
    """Few methods of which one is good wherever any was, each with the C that a search begins at
    for rows of length one.

    One label per row: the SVM of one class against the rest, the normalized hierarchical SVM, softmax regression tied
    to the parents, and logistic regression of one class against the rest; without a taxonomy the multi-class SVM, and
    plain softmax. Several: SVM and logistic regression of one class against the rest, and the SVM tied to the parents.
    What is quick, and seldom far behind, comes first. `parameters` go to all.

    >>> [type(one.estimator).__name__ for one in starting_candidates(None, several=False)]
    ['OneVsRestSVM', 'MulticlassSVM', 'RecursiveLogistic', 'OneVsRestLogistic']
    """
    svm = Candidate(OneVsRestSVM(taxonomy, **parameters), 1.0, plain=True)
    logistic = Candidate(OneVsRestLogistic(taxonomy, **parameters), 16.0, plain=True)
    if several and taxonomy is None:
        return [svm, logistic]
    if several:
        return [svm, logistic, Candidate(RecursiveSVM(taxonomy, **parameters), 1.0)]
    compared = Candidate(MulticlassSVM(**parameters), 1.0)
    if taxonomy is not None:
        compared = Candidate(NormalizedHierarchicalSVM(taxonomy, **parameters), 4.0)
    softmax = Candidate(RecursiveLogistic(taxonomy, loss="softmax", **parameters), 16.0)
    return [svm, compared, softmax, logistic]


def scaled(candidates: list[Candidate], X: Any) -> list[Candidate]:
    """The same with C for rows as long as these: scores grow with the square of their length.

    >>> import numpy as np
    >>> [one.C for one in scaled([Candidate(OneVsRestSVM(), 1.0)], np.full((3, 4), 2.0))]
    [0.0625]
    """
    squares = X.multiply(X).sum() if sp.issparse(X) else np.einsum("ij,ij->", X, X, dtype=np.float64)
    mean = float(squares) / X.shape[0]
    power = round(np.log(max(mean, 1e-300)) / np.log(STEP))
    low, high = C_RANGE
    return [one._replace(C=float(np.clip(one.C * STEP**-power, low, high))) for one in candidates]
