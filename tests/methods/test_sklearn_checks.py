"""scikit-learn's own checks on every estimator."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from taxolearn import (
    HierarchicalSVM,
    MulticlassSVM,
    NormalizedHierarchicalSVM,
    OneVsRestLogistic,
    OneVsRestSVM,
    RecursiveLogistic,
    RecursiveSVM,
    SharedSVM,
)

ESTIMATORS = [
    # a row of weight two and a row given twice agree to the gap, so the gap is small
    OneVsRestSVM(tol=1e-10),
    OneVsRestLogistic(tol=1e-13),
    OneVsRestSVM(probability=True, thresholds="tuned", class_weight="balanced", random_state=0),
    MulticlassSVM(tol=1e-9),
    MulticlassSVM(probability=True, random_state=0),
    HierarchicalSVM(tol=1e-9),
    NormalizedHierarchicalSVM(tol=1e-9),
    SharedSVM(tol=1e-9),
    RecursiveSVM(),
    RecursiveSVM(solver="descent", tol=1e-14),
    # Newton steps until no gap is left to measure
    RecursiveLogistic(tol=1e-18),
    RecursiveLogistic(loss="softmax", tol=1e-18),
]

_SPLIT = "rows are held out at random for calibration: a row given twice may fall on both sides"
_RANKS = "each class has its own sigmoid, so where two scores are close the more probable class may be the other one"
_GAP = "a row of weight two and a row given twice agree to the gap, which is 5e-2 by default"
_EQUAL_WEIGHTS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


def expected_failures(estimator: Any) -> dict[str, str]:
    if isinstance(estimator, RecursiveSVM) and estimator.solver == "auto":
        return dict.fromkeys(_EQUAL_WEIGHTS, _GAP)
    if not getattr(estimator, "probability", False):
        return {}
    return {**dict.fromkeys(_EQUAL_WEIGHTS, _SPLIT), "check_classifiers_train": _RANKS}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)
