"""Bad input gives one clear sentence, never a traceback from numpy or scipy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from taxolearn import metrics
from taxolearn.errors import DataError, LabelError, TaxonomyError
from taxolearn.structure import Taxonomy

TREE = Taxonomy.from_paths(["animal/cat", "animal/dog", "plant/tree"])
SETS = [
    getattr(metrics, name) for name in metrics.__all__ if not name.endswith("_k") and name != "propensities"
]
WITH_TAXONOMY = [metric for metric in SETS if metric.__name__.startswith(("tree", "hier", "lca"))]


def psp(y_true, scores, taxonomy=None, **options):
    options.setdefault(
        "propensities", dict.fromkeys(["cat", "dog", "tree", "animal", "plant", "a", "b"], 0.5)
    )
    return metrics.propensity_scored_precision_at_k(y_true, scores, taxonomy, **options)


RANKED = [metrics.precision_at_k, metrics.ndcg_at_k, psp]


@pytest.mark.parametrize("metric", SETS)
def test_row_counts_must_match(metric):
    with pytest.raises(LabelError, match="row"):
        metric(["cat", "dog"], ["cat"], TREE)


@pytest.mark.parametrize("metric", SETS)
def test_unknown_label(metric):
    with pytest.raises(LabelError, match="cta"):
        metric(["cat"], ["cta"], TREE)
    with pytest.raises(LabelError, match="cta"):
        metric(["cta"], ["cat"], TREE)


@pytest.mark.parametrize("metric", WITH_TAXONOMY)
def test_missing_taxonomy(metric):
    with pytest.raises(TaxonomyError, match=f"{metric.__name__} needs the taxonomy"):
        metric(["cat"], ["cat"])


@pytest.mark.parametrize("metric", SETS)
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0], "shape"),
        ([[1.0, 1.0]], "shape"),
        ([1.0, -1.0], r"sample_weight\[1\]"),
        ([np.nan, 1.0], r"sample_weight\[0\]"),
        ([np.inf, 1.0], "finite"),
        ([0.0, 0.0], "zero on every row"),
        (["heavy", "light"], "one number a row"),
    ],
)
def test_sample_weight(metric, weight, message):
    with pytest.raises(DataError, match=message):
        metric(["cat", "dog"], ["cat", "cat"], TREE, sample_weight=weight)


@pytest.mark.parametrize("metric", [*SETS, *RANKED])
def test_no_rows(metric):
    with pytest.raises((LabelError, DataError)):
        metric([], [], TREE)


@pytest.mark.parametrize(
    "metric", [metrics.hierarchical_precision, metrics.hierarchical_recall, metrics.hierarchical_f1]
)
def test_unknown_average(metric):
    with pytest.raises(DataError, match="'macro' is not known"):
        metric(["cat"], ["cat"], TREE, average="macro")


def test_macro_labels():
    with pytest.raises(LabelError, match="empty"):
        metrics.macro_f1(["cat"], ["cat"], TREE, labels=[])
    with pytest.raises(LabelError, match="twice"):
        metrics.macro_f1(["cat"], ["cat"], TREE, labels=["cat", "dog", "cat"])
    with pytest.raises(LabelError, match="cta"):
        metrics.macro_f1(["cat"], ["cat"], TREE, labels=["cta"])


@pytest.mark.parametrize("metric", RANKED)
@pytest.mark.parametrize("k", [0, -1, 1.5, "2", None, True])
def test_bad_k(metric, k):
    with pytest.raises(DataError, match="k must be"):
        metric(["cat"], [["cat"]], TREE, k=k)


@pytest.mark.parametrize("metric", RANKED)
def test_nan_scores(metric):
    scores = np.zeros((2, TREE.n_nodes))
    scores[1, 3] = np.nan
    with pytest.raises(DataError, match="NaN at row 1, column 3"):
        metric(["cat", "dog"], scores, TREE)
    with pytest.raises(DataError, match="NaN at row 1, column 3"):
        metric(["cat", "dog"], sp.csr_array(scores), TREE)


@pytest.mark.parametrize("metric", RANKED)
@pytest.mark.parametrize(
    ("scores", "options", "error", "message"),
    [
        (np.zeros((1, 6)), {}, LabelError, "1 rows but y_true has 2"),
        (np.zeros((2, 4)), {}, DataError, "4 columns"),
        (np.zeros((2, 2)), {"labels": ["cat"]}, DataError, "labels names 1"),
        (np.zeros((2, 2)), {"labels": ["cat", "cat"]}, LabelError, "twice"),
        (np.zeros((2, 2)), {"labels": ["cat", "cta"]}, LabelError, "cta"),
        (np.zeros(2), {}, DataError, "1 dimensions"),
        ([[0.5, 0.5], [0.5]], {"labels": ["cat", "dog"]}, DataError, "one length"),
        (sp.csr_array(np.ones((2, 6), dtype=complex)), {}, DataError, "complex"),
        ([["cat"]], {}, LabelError, "1 rows but y_true has 2"),
        (["cat", "dog"], {}, LabelError, "row 0 of scores is 'cat'"),
        (np.array(["cat", "dog"]), {}, LabelError, "row 0 of scores is 'cat'"),
        ([["cat"], ["cta"]], {}, LabelError, "row 1 of scores.*cta"),
        ([["cat"], ["dog", "dog"]], {}, LabelError, "row 1 ranks 'dog' twice"),
        ([["cat"], [["dog"]]], {}, LabelError, "unhashable"),
        ([["cat"], ["dog"]], {"labels": ["cat", "dog"]}, DataError, "leave it out"),
        (np.ones((2, 6), dtype=int), {}, LabelError, "scores must be floats"),
        (sp.coo_array(np.ones(2)), {}, DataError, "1 dimensions"),
        (None, {}, LabelError, "scores"),
        (7, {}, LabelError, "scores"),
    ],
)
def test_bad_scores(metric, scores, options, error, message):
    with pytest.raises(error, match=message):
        metric(["cat", "dog"], scores, TREE, **options)


def test_bad_propensities():
    row = ["cat"], [["cat"]], TREE
    with pytest.raises(LabelError, match="no value for label 'cat'"):
        psp(*row, propensities={"dog": 0.5})
    for value in (0.0, -1.0, 1.5, np.nan, "much"):
        with pytest.raises(DataError, match="propensity of 'cat'"):
            psp(*row, propensities={"cat": value})
    with pytest.raises(DataError, match="at least 3"):
        metrics.propensities(["cat", "dog"])
    for option in ({"a": 0}, {"b": -1.0}, {"a": np.nan}, {"b": "1"}):
        with pytest.raises(DataError, match="positive number"):
            metrics.propensities(["cat"] * 5, **option)
