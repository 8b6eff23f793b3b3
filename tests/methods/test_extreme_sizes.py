"""Numbers of any size: a fit works, with a certificate that tells, or says in one sentence what is too large."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from test_contract import EVERY_METHOD

from taxolearn import ClassGraph, Taxonomy
from taxolearn.errors import DataError
from taxolearn.registry import Method

TREE = Taxonomy.from_paths(["x/a", "x/b", "c"])
Y = np.array(list("abc"))[np.arange(60) % 3]
X = (
    np.array([[2.0, 0], [-2, 1], [-2, -1]])[np.arange(60) % 3]
    + np.random.default_rng(0).normal(size=(60, 2))
)  # fmt: skip
OUTLIER = np.where(np.arange(120).reshape(60, 2) == 0, 1e9, X)
ONES = np.ones(60)
CASES: dict[str, tuple[Any, dict[str, float], Any]] = {
    "features of 1e160": (X * 1e160, {}, ONES),
    "features of 1e300": (X * 1e300, {}, ONES),
    "features of 1e8": (X * 1e8, {}, ONES),
    "features of 1e12": (X * 1e12, {}, ONES),
    "features of 1e-160": (X * 1e-160, {}, ONES),
    "an outlier": (OUTLIER, {}, ONES),
    "an offset": (X + np.array([1e9, 0.0]), {}, ONES),
    "intercept_scaling of 1e200": (X, {"intercept_scaling": 1e200}, ONES),
    "intercept_scaling of 1e-200": (X, {"intercept_scaling": 1e-200}, ONES),
    "C of 1e300": (X, {"C": 1e300}, ONES),
    "C of 1e-300": (X, {"C": 1e-300}, ONES),
    "weights of 1e300": (X, {}, 1e300 * ONES),
    "weights of 1e-300": (X, {}, 1e-300 * ONES),
    "a weight of 1e12": (X, {}, np.where(np.arange(60) == 0, 1e12, 1.0)),
}
TOO_LARGE = {
    "features of 1e160",
    "features of 1e300",
    "intercept_scaling of 1e200",
    "C of 1e300",
    "weights of 1e300",
}


def estimator(method: Method, **given: Any) -> Any:
    if method.class_name.startswith("Graph"):
        return method.kind(ClassGraph.from_edges([("a", "b"), ("b", "c")]), **given)
    return method.kind(TREE, **given)


@EVERY_METHOD
@pytest.mark.parametrize("case", CASES)
def test_a_fit_works_or_names_what_is_too_large(method: Method, case: str) -> None:
    rows, parameters, weight = CASES[case]
    for loss in method.losses or (None,):
        named = {} if loss is None else {"loss": loss}
        model = estimator(method, max_iter=100, max_seconds=5.0, **parameters, **named)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            if case in TOO_LARGE:
                with pytest.raises(DataError, match="too large for sums"):
                    model.fit(rows, Y, sample_weight=weight)
                continue
            model.fit(rows, Y, sample_weight=weight)
        foreign = [str(one.message) for one in told if one.category.__name__ != "ConvergenceWarning"]
        assert not foreign, foreign
        certificate = model.certificate_
        assert np.isfinite(model.coef_).all()
        assert certificate.upper >= certificate.lower
        assert (certificate.status.value == "converged") == certificate.holds(model.tol)


def test_one_outlier_is_no_false_proof() -> None:
    """The example of the first false certificate: primal 64.2 below dual 68.8, called converged."""
    from taxolearn import OneVsRestSVM, RecursiveSVM

    for model in (OneVsRestSVM(), RecursiveSVM(TREE)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            certificate = model.fit(OUTLIER, Y).certificate_
        assert certificate.primal >= certificate.dual - certificate.dual_error - certificate.primal_error
        assert certificate.primal == pytest.approx(68.8, abs=1.0)
