"""scikit-learn's own checks on every estimator of the registry."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from taxolearn import (
    BayesianRecursiveLogistic,
    GraphRecursiveLogistic,
    MulticlassSVM,
    OneVsRestSVM,
    RecursiveLogistic,
    RecursiveSVM,
    TaxonomyClassifier,
)
from taxolearn.methods.structured import OneLabel
from taxolearn.registry import METHODS
from taxolearn.selection import taxonomy_classifier

# some checks use far and narrow clouds of points, on which a pass gains little: 100 are enough for what they ask
_PASSES = {"max_iter": 30}
ESTIMATORS = [
    *(method.kind(**(_PASSES if issubclass(method.kind, OneLabel) else {})) for method in METHODS),
    OneVsRestSVM(probability=True, thresholds="tuned", class_weight="balanced", random_state=0),
    MulticlassSVM(probability=True, random_state=0, **_PASSES),
    MulticlassSVM(kernel="rbf", **_PASSES),
    MulticlassSVM(kernel="precomputed", **_PASSES),
    RecursiveSVM(solver="descent"),
    RecursiveLogistic(loss="softmax"),
    TaxonomyClassifier(random_state=0),
]

# a row of weight two and a row given twice agree to the gap, so the checks of that ask for a small one
_EQUAL_WEIGHTS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
_SMALL_GAP = 1e-9
_SMALLER_GAPS = {
    "OneVsRestSVM": 1e-18,  # Newton steps until no gap is left to measure
    "OneVsRestLogistic": 1e-18,
    "RecursiveSVM": 1e-14,
    "RecursiveLogistic": 1e-18,
    "GraphRecursiveSVM": 1e-14,
    "CovarianceSVM": 1e-18,
}

_ROUNDING = "tree sweeps end at the latest when the gap is rounding, scores then agree to 1e-6; the check asks for 1e-9"


_STEPS = "steps of the logistic dual end at scores that agree to 1e-7; the check asks for 1e-9"


_CHOSEN = "what is chosen is solved to its own gap, to scores that agree to 1e-6; the check asks for 1e-9"
_INDEFINITE = "the check gives a matrix that is not positive semi-definite, which has no optimum to certify"
_LEARNED = "variances learned in several rounds of fits agree to 1e-8; the check asks for scores to 1e-9"
_WIDTH = "the check asks about rows of three columns where a product with each of ten rows is needed, and is told so"


def expected_failures(estimator: Any) -> dict[str, str]:
    if getattr(estimator, "kernel", None) == "precomputed":
        indefinite = ("check_positive_only_tag_during_fit", "check_estimators_dtypes")
        return {**dict.fromkeys(indefinite, _INDEFINITE), "check_estimators_nan_inf": _WIDTH}
    if isinstance(estimator, BayesianRecursiveLogistic):
        return {_EQUAL_WEIGHTS[1]: _LEARNED}
    if isinstance(estimator, TaxonomyClassifier):
        return dict.fromkeys(_EQUAL_WEIGHTS, _CHOSEN)
    if isinstance(estimator, GraphRecursiveLogistic):
        return dict.fromkeys(_EQUAL_WEIGHTS, _STEPS)
    if isinstance(estimator, RecursiveSVM) and estimator.solver == "auto":
        return {_EQUAL_WEIGHTS[1]: _ROUNDING}
    return {}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator: Any, check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if isinstance(estimator, TaxonomyClassifier):  # a short search is one, too
        few = taxonomy_classifier.starting_candidates
        monkeypatch.setattr(taxonomy_classifier, "starting_candidates", lambda *a, **k: few(*a, **k)[:2])
        monkeypatch.setattr(taxonomy_classifier, "_ENOUGH_HELD_OUT", 0)
    if check.func.__name__ in _EQUAL_WEIGHTS and check.func.__name__ not in expected_failures(estimator):
        tol = _SMALLER_GAPS.get(type(estimator).__name__, _SMALL_GAP)
        given = {"tol": tol, "max_iter": 1000}
        known = estimator.get_params()
        estimator = clone(estimator).set_params(**{name: given[name] for name in given if name in known})
    check(estimator)
