"""Estimators with given weights, as `fit` would leave them, without a solver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from taxolearn import OneVsRestSVM, Taxonomy
from taxolearn.certificates import Certificate
from taxolearn.decoders import Best, Thresholds
from taxolearn.methods.inputs import names_array
from taxolearn.solvers import Status
from taxolearn.vectors import ClassVectors


def made_estimator(
    coef: Any, intercept: Any, classes: Sequence[Any], taxonomy: Taxonomy | None = None, form: str = "names"
) -> OneVsRestSVM:
    """A fitted OneVsRestSVM with these weights; `coef` may be sparse and float32."""
    coef = coef if sparse.issparse(coef) else np.asarray(coef)
    model = OneVsRestSVM(taxonomy=taxonomy)
    model.vectors_ = ClassVectors(coef, np.asarray(intercept, dtype=np.float64))
    model.taxonomy_ = model.taxonomy
    model.classes_ = names_array(classes)
    model.label_form_ = form
    model._indicator = None
    model.decoder_ = Best(len(classes)) if form == "names" else Thresholds(np.zeros(len(classes)))
    model.calibration_ = None
    model.n_features_in_ = coef.shape[1]
    model.n_iter_ = 3
    model.certificate_ = Certificate(np.ones(len(classes)), np.full(len(classes), 0.875), Status.CONVERGED)
    return model
