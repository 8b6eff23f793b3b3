"""The Dataset type."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import sparse

from taxolearn.datasets import Dataset
from taxolearn.errors import DataError
from taxolearn.structure import Taxonomy


def test_repr_tells_sizes():
    tree = Taxonomy.from_edges([("r", "a"), ("r", "b")])
    dataset = Dataset(sparse.csr_array(np.eye(2)), [["a"], ["a", "b"]], tree, name="toy")
    assert repr(dataset) == (
        "Dataset('toy', 2 rows, 2 features (sparse), 2 labels, 1.50 a row, "
        "Taxonomy(tree, 3 nodes, 2 leaves, depth 1))"
    )
    assert repr(Dataset(None, [], texts=[])) == "Dataset(0 rows, texts, 0 single labels)"


def test_forms_of_y():
    sets = Dataset(np.eye(2), [{"a"}, set()])
    assert sets.multilabel
    assert sets.label_rows() == [["a"], []]
    single = Dataset(np.eye(2), np.array(["a", "b"]))
    assert not single.multilabel
    assert single.label_rows() == [["a"], ["b"]]


def test_it_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Dataset(np.eye(1), ["a"]).name = "other"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"X": None}, "needs X, texts or both"),
        ({"X": np.eye(3)}, "X has 3 rows and y has 2"),
        ({"X": None, "texts": ["a"]}, "texts has 1 rows and y has 2"),
        ({"X": np.eye(2), "feature_names": ("a",)}, "feature_names has 1 names for 2 columns"),
    ],
)
def test_sizes_must_agree(options, message):
    with pytest.raises(DataError, match=message):
        Dataset(y=["a", "b"], **options)
