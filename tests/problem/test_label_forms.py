"""Every accepted form of labels says the same as its slow twin."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from labels_twin import expected_names, forms_of, named_rows

from strategies import names as name_lists
from strategies import taxonomies
from taxolearn.problem import align_labels, encode_labels
from taxolearn.structure import Taxonomy

TREE = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog", "Plant/Rose"])


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), st.booleans(), st.booleans())
def test_forms_against_the_twin(data: st.DataObject, with_taxonomy: bool, single: bool) -> None:
    kind = data.draw(st.sampled_from(["str", "int", "mixed"]))
    if with_taxonomy:
        taxonomy = data.draw(taxonomies(kind, min_nodes=3))
        pool = list(taxonomy.nodes)
    else:
        taxonomy = None
        # a list of tuples would be a list of paths, and rows of 0 and 1 an indicator
        pool = [
            name
            for name in data.draw(name_lists(kind, 3, 8))
            if not isinstance(name, tuple) and name not in (0, 1)
        ]
        pool = pool or ["x", "y"]
    sizes = {"min_size": 1, "max_size": 1 if single else 4}
    rows = data.draw(st.lists(st.sets(st.sampled_from(pool), **sizes), min_size=1, max_size=6))
    for form, y in forms_of(rows, taxonomy).items():
        if form == "arrays" and any(isinstance(name, tuple) for name in pool):
            continue  # NumPy makes tuples in an array its second dimension
        labels = encode_labels(y, taxonomy)
        assert named_rows(labels) == rows, form
        assert list(labels.names) == expected_names(rows, taxonomy), form
        assert labels.indptr.dtype == np.int64
        assert labels.indices.dtype == np.int32
        matrix = labels.matrix(int).toarray()
        assert matrix.max() == 1
        assert matrix.sum(axis=0).tolist() == labels.counts().tolist()
        for start, end in zip(labels.indptr[:-1], labels.indptr[1:], strict=True):
            assert np.all(np.diff(labels.indices[start:end]) > 0)


@pytest.mark.parametrize("taxonomy", [None, TREE], ids=["flat", "tree"])
@pytest.mark.parametrize("library", ["pandas", "polars", "object array", "text array"])
def test_level_columns(library: str, taxonomy: Taxonomy | None) -> None:
    rows = [["Animal", "Cat"], ["Plant", "Rose"], ["Animal", None], ["Plant", None]]
    if library == "pandas":
        y = pd.DataFrame(rows, columns=["kingdom", "species"])
    elif library == "polars":
        y = pl.DataFrame(rows, schema=["kingdom", "species"], orient="row")
    elif library == "object array":
        y = np.array(rows, dtype=object)
    else:
        y = np.array([[cell or "" for cell in row] for row in rows])
    labels = encode_labels(y, taxonomy)
    lowest = ["Cat", "Rose"] if taxonomy else ["Animal/Cat", "Plant/Rose"]
    assert named_rows(labels) == [{name} for name in (*lowest, "Animal", "Plant")]
    assert labels.form == "levels"
    assert not labels.multilabel


def test_a_name_at_two_places_is_told_by_its_path() -> None:
    y = np.array([["Fruit", "Orange"], ["Colour", "Orange"], ["Fruit", "Apple"]])
    assert named_rows(encode_labels(y)) == [{"Fruit/Orange"}, {"Colour/Orange"}, {"Fruit/Apple"}]
    tree = Taxonomy.from_paths(["Fruit/Orange", "Colour/Orange", "Fruit/Apple"], repeated="path")
    assert named_rows(encode_labels(y, tree)) == [{"Fruit/Orange"}, {"Colour/Orange"}, {"Apple"}]


def test_tuples_as_names_among_others() -> None:
    tree = Taxonomy.from_edges([("top", ("a", 1)), ("top", 7), ("top", "x")])
    assert named_rows(encode_labels([("a", 1), 7, "x"], tree)) == [{("a", 1)}, {7}, {"x"}]
    assert encode_labels([("a", 1), ("a", 1)], tree).form == "names"
    assert named_rows(encode_labels([[("a", 1), 7], ["x"]], tree)) == [{("a", 1), 7}, {"x"}]
    assert encode_labels([("a", "b"), ("c",)]).form == "levels"


def test_rows_of_zeros_and_ones() -> None:
    assert encode_labels([[0, 1, 1], [0, 0, 0]]).form == "indicator"
    assert encode_labels([np.array([0, 1]), np.array([1, 1])]).form == "indicator"
    assert encode_labels([[0, 1], [1, 0]]).form == "sets"  # each is a set of two different labels
    assert encode_labels([[0], [1]]).form == "sets"
    assert encode_labels([[0, 1], [1]]).form == "sets"
    assert encode_labels([[0, 2], [1, 1]]).form == "sets"


def test_an_indicator_without_taxonomy_may_have_empty_rows_and_columns() -> None:
    labels = encode_labels(np.array([[0, 0, 1], [0, 0, 0]]))
    assert labels.names == (0, 1, 2)
    assert named_rows(labels) == [{2}, set()]
    assert labels.counts().tolist() == [0, 0, 1]
    stored_zero = sp.csr_array((np.array([0, 1]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert named_rows(encode_labels(stored_zero)) == [{1}]
    assert stored_zero.nnz == 2  # the caller's matrix stays as it is


def test_empty_sets_only_where_allowed() -> None:
    labels = encode_labels([["Cat"], []], allow_empty=True)
    assert named_rows(labels) == [{"Cat"}, set()]
    assert named_rows(encode_labels([[], []], TREE, allow_empty=True)) == [set(), set()]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("cdefg")), min_size=1, max_size=8))
def test_aligned_labels_share_their_names(pairs: list[tuple[str, str]]) -> None:
    true, predicted = align_labels([a for a, _ in pairs], [b for _, b in pairs])
    assert true.names == predicted.names == tuple(sorted({name for pair in pairs for name in pair}))
    assert named_rows(true) == [{a} for a, _ in pairs]
    assert named_rows(predicted) == [{b} for _, b in pairs]
