"""One-vs-rest losses under any covariance of the classes."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import scipy.sparse as sp

from taxolearn.decoders import best_or_thresholds
from taxolearn.errors import DataError
from taxolearn.methods.fitting import TiedIntercepts
from taxolearn.methods.parameters import estimator, parameter
from taxolearn.methods.probabilities import CalibratedProbabilities
from taxolearn.problem import Problem
from taxolearn.structure import Taxonomy
from taxolearn.ties import Factor, covariance_tie


@estimator
class CovarianceSVM(CalibratedProbabilities, TiedIntercepts):
    """SVM whose class vectors have a given covariance A ("taxonomy matrix" of Mroueh, Poggio, Rosasco, with a
    squared hinge).

    With y_il = 1 for the rows of class l and -1 for all others, it minimises

        1/2 tr(W' A^+ W) + 1/2 sum_l (b_l - intercept_prior)^2
            + C sum over classes l and rows i of c_il max(0, 1 - y_il (w_l . x_i + b_l s))^2,

    W having the row w_l for class l: classes that A calls alike get alike vectors. A = I is one-vs-rest, and
    A = P diag(a) P', with P the ancestors of the classes, is `RecursiveSVM`. Solved by Newton's method in U, W = L U,
    A = L L'.

    >>> import numpy as np
    >>> A = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> X, y = [[-1.0, 0.0], [-1.0, 1.0], [1.0, 0.0]], ["Lion", "Lynx", "Oak"]
    >>> model = CovarianceSVM(covariance=A).fit(X, y)
    >>> model.predict([[2.0, 0.0]]).tolist(), model.certificate_.holds(1e-3)
    (['Oak'], True)
    """

    _solvers: ClassVar[tuple[str, ...]] = ("newton", "lbfgs", "interior")
    _decoder = staticmethod(best_or_thresholds)
    _empty_classes: ClassVar[Literal["drop", "keep"]] = "drop"

    taxonomy: Taxonomy | None = parameter(
        default=None, doc="For paths, metrics and storage only.", kw_only=False
    )
    covariance: Any = parameter(
        default=None,
        doc=(
            "A, positive semi-definite, a row and a column per class in the order of `classes_` (sorted, or "
            "that of the taxonomy). None: ones on the diagonal."
        ),
    )
    loss: str = parameter(default="squared_hinge", doc="max(0, 1 - m)^2.", choices=("squared_hinge",))

    def _tie(self, problem: Problem) -> Factor:
        if self.covariance is None:
            return Factor(sp.csr_array(sp.eye_array(problem.n_classes)))
        tie = covariance_tie(self.covariance)
        if tie.n_classes != problem.n_classes:
            raise DataError(
                f"covariance has {tie.n_classes} rows, but y has {problem.n_classes} classes; give one row per class"
            )
        return tie
