"""One-vs-rest losses under any taxonomy matrix."""

from __future__ import annotations

from typing import ClassVar

from taxolearn.decoders import best_or_thresholds
from taxolearn.methods.parameters import estimator, parameter
from taxolearn.methods.probabilities import CalibratedProbabilities
from taxolearn.methods.several_labels import TiedIntercepts
from taxolearn.methods.taxonomy_matrix import TaxonomyMatrix


@estimator
class CovarianceSVM(CalibratedProbabilities, TaxonomyMatrix, TiedIntercepts):
    """SVM or logistic regression whose class vectors have a given covariance A ("taxonomy matrix" of Mroueh, Poggio,
    Rosasco; (1) with other losses than the square).

    With y_il = 1 for the rows of class l and -1 for all others, it minimises

        1/2 tr(W' A^+ W) + 1/2 sum_l (b_l - intercept_prior)^2
            + C sum over classes l and rows i of c_il loss(y_il (w_l . x_i + b_l s)),

    W having the row w_l for class l: classes that A calls alike get alike vectors. A = I is one-vs-rest, and
    A = P diag(a) P', with P the ancestors of the classes, is `RecursiveSVM`. Solved in U, W = L U, A = L L'.

    >>> import numpy as np
    >>> A = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> X, y = [[-1.0, 0.0], [-1.0, 1.0], [1.0, 0.0]], ["Lion", "Lynx", "Oak"]
    >>> model = CovarianceSVM(covariance=A).fit(X, y)
    >>> model.predict([[2.0, 0.0]]).tolist(), model.certificate_.holds(1e-3)
    (['Oak'], True)
    """

    _solvers: ClassVar[tuple[str, ...]] = ("descent", "graph", "newton", "lbfgs", "blocks", "interior")
    _decoder = staticmethod(best_or_thresholds)

    loss: str = parameter(
        default="squared_hinge",
        doc="max(0, 1 - m)^2, max(0, 1 - m), or log(1 + exp(-m)).",
        choices=("squared_hinge", "hinge", "logistic"),
    )
