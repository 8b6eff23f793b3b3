"""Every metric of label sets against its slow twin, on random trees and DAGs."""

from __future__ import annotations

from functools import cache
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from metric_cases import Case, cases, crossing_case, large_case

from reference import metrics_twin as twin
from taxolearn import metrics
from taxolearn.metrics import _rows

EXAMPLES = settings(deadline=None, max_examples=80)
either = st.booleans().flatmap(lambda single: cases(single=single))


def call(metric, case: Case, **options):
    return metric(case.y_true, case.y_pred, case.taxonomy, sample_weight=case.weights, **options)


@EXAMPLES
@given(either)
def test_flat_metrics(case):
    sets = case.true, case.pred, case.weights
    assert call(metrics.accuracy, case) == pytest.approx(twin.accuracy(*sets))
    assert call(metrics.zero_one_loss, case) == pytest.approx(1 - twin.accuracy(*sets))
    assert call(metrics.jaccard, case) == pytest.approx(twin.jaccard(*sets))
    assert call(metrics.micro_f1, case) == pytest.approx(twin.micro_f1(*sets))
    assert call(metrics.macro_f1, case) == pytest.approx(twin.macro_f1(*sets))
    chosen = case.taxonomy.nodes[1:]
    assert call(metrics.macro_f1, case, labels=chosen) == pytest.approx(twin.macro_f1(*sets, labels=chosen))


@EXAMPLES
@given(either)
def test_tree_loss(case):
    expected = twin.tree_loss(case.parents, case.true, case.pred, case.weights)
    assert call(metrics.tree_loss, case) == pytest.approx(expected)


@pytest.mark.parametrize("average", ["micro", "samples"])
@EXAMPLES
@given(case=either)
def test_hierarchical(average, case):
    expected = twin.hierarchical(case.parents, case.true, case.pred, average, case.weights)
    assert call(metrics.hierarchical_precision, case, average=average) == pytest.approx(expected[0])
    assert call(metrics.hierarchical_recall, case, average=average) == pytest.approx(expected[1])
    assert call(metrics.hierarchical_f1, case, average=average) == pytest.approx(expected[2])


@EXAMPLES
@given(either)
def test_lca(case):
    expected = twin.lca(case.parents, case.true, case.pred, case.weights)
    assert call(metrics.lca_precision, case) == pytest.approx(expected[0])
    assert call(metrics.lca_recall, case) == pytest.approx(expected[1])
    assert call(metrics.lca_f1, case) == pytest.approx(expected[2])


@cache
def expected_of_many_rows(dag, single):
    """The twins see no chunks: once for all sizes of these."""
    case = large_case(dag=dag, single=single)
    sets = case.parents, case.true, case.pred
    return twin.lca(*sets), twin.tree_loss(*sets), twin.hierarchical(*sets)[2]


@pytest.mark.parametrize("work", [1, 50, 1 << 18])
@pytest.mark.parametrize("dag", [False, True])
@pytest.mark.parametrize("single", [False, True])
def test_many_rows_in_chunks(dag, single, work):
    case = large_case(dag=dag, single=single)
    with mock.patch.object(_rows, "_WORK_AT_A_TIME", work):
        lca = tuple(
            call(metric, case) for metric in (metrics.lca_precision, metrics.lca_recall, metrics.lca_f1)
        )
        loss = call(metrics.tree_loss, case)
        f1 = call(metrics.hierarchical_f1, case)
    expected = expected_of_many_rows(dag, single)
    assert lca == pytest.approx(expected[0])
    assert loss == pytest.approx(expected[1])
    assert f1 == pytest.approx(expected[2])


def test_lca_with_many_redundant_ancestors():
    case = crossing_case()
    expected = [twin.lca(case.parents, [t], [p]) for t, p in zip(case.true, case.pred, strict=True)]
    found = [
        tuple(
            metric([t], [p], case.taxonomy)
            for metric in (metrics.lca_precision, metrics.lca_recall, metrics.lca_f1)
        )
        for t, p in zip(case.y_true, case.y_pred, strict=True)
    ]
    assert np.array(found) == pytest.approx(np.array(expected))


@EXAMPLES
@given(either)
def test_bounds_and_perfect_predictions(case):
    for name in metrics.__all__:
        if name.endswith("_k") or name == "propensities":
            continue
        metric = getattr(metrics, name)
        loss = name.endswith("loss")
        assert 0 <= call(metric, case) <= (1 if name != "tree_loss" else case.taxonomy.n_nodes)
        perfect = case._replace(pred=case.true)
        assert call(metric, perfect) == pytest.approx(0 if loss else 1)


@EXAMPLES
@given(either)
def test_swapping_truth_and_prediction_swaps_precision_and_recall(case):
    swapped = case._replace(true=case.pred, pred=case.true)
    for kind in ("hierarchical", "lca"):
        precision = getattr(metrics, f"{kind}_precision")
        recall = getattr(metrics, f"{kind}_recall")
        f1 = getattr(metrics, f"{kind}_f1")
        assert call(precision, case) == pytest.approx(call(recall, swapped))
        assert call(f1, case) == pytest.approx(call(f1, swapped))
    assert call(metrics.tree_loss, case) == pytest.approx(call(metrics.tree_loss, swapped))
