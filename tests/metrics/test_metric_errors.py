"""Bad input gives one clear sentence, never a traceback from numpy or scipy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from taxolearn import metrics
from taxolearn.errors import DataError, LabelError, TaxolearnError, TaxonomyError
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
        ([1.0], "entries"),
        ([[1.0, 1.0]], "shape"),
        ([1.0, -1.0], "-1.0 at row 1"),
        ([np.nan, 1.0], "nan at row 0"),
        ([np.inf, 1.0], "inf at row 0"),
        ([0.0, 0.0], "zero for every row"),
        (["heavy", "light"], "cannot be read as numbers"),
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


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([], "at least one"),
        ("cat", "not 'cat'"),
        (7, "not 7"),
        ([["cat"]], "must be a list"),
        (["cat", "dog", "cat"], "'cat' twice"),
        (["cta"], "cta"),
    ],
)
def test_bad_labels(labels, message):
    with pytest.raises(LabelError, match=message):
        metrics.macro_f1(["cat"], ["cat"], TREE, labels=labels)
    for metric in RANKED:
        width = 3 if labels == ["cat", "dog", "cat"] else 1
        with pytest.raises(LabelError, match=message):
            metric(["cat"], np.zeros((1, width)), TREE, labels=labels)


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


scalars = (
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats() | st.sampled_from(["cat", "dog", "", "x"])
)
rows = st.lists(scalars, max_size=3) | scalars | st.lists(st.lists(scalars, max_size=2), max_size=2)
junk = (
    st.lists(rows, max_size=3)
    | scalars
    | st.lists(rows, max_size=3).map(tuple)
    | st.dictionaries(st.sampled_from("ab"), scalars, max_size=2)
    | hnp.arrays(
        st.sampled_from([float, int, bool, complex, "U3", "M8[D]"]), hnp.array_shapes(min_dims=0, max_dims=3)
    )
    | st.sampled_from(
        [sp.csr_array((2, 6)), sp.coo_array(np.eye(2)), np.array([["cat", None]], dtype=object), object()]
    )
)

valid = st.sampled_from([["cat"], ["cat", "dog"], [["cat", "dog"], []], [["dog"]], [[], [], []]])


@settings(deadline=None, max_examples=300)
@given(valid | junk, valid | junk, st.sampled_from([None, TREE]), st.sampled_from([*SETS, *RANKED]))
def test_junk_gives_a_number_or_a_clear_error(first, second, taxonomy, metric):
    try:
        value = metric(first, second, taxonomy)
    except TaxolearnError:
        return
    assert isinstance(value, float)
    assert np.isfinite(value)


def test_bad_propensities():
    row = ["cat"], [["cat"]], TREE
    with pytest.raises(LabelError, match="no value for label 'cat'"):
        psp(*row, propensities={"dog": 0.5})
    for value in (0.0, -1.0, 1.5, np.nan, "much"):
        with pytest.raises(DataError, match="propensity of 'cat'"):
            psp(*row, propensities={"cat": value})
    for values in (None, 0.5, [0.5], "cat"):
        with pytest.raises(DataError, match="must map labels"):
            psp(*row, propensities=values)
    with pytest.raises(DataError, match="at least 3"):
        metrics.propensities(["cat", "dog"])
    for option in ({"a": 0}, {"b": -1.0}, {"a": np.nan}, {"b": "1"}):
        with pytest.raises(DataError, match="positive number"):
            metrics.propensities(["cat"] * 5, **option)
