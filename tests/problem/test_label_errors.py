"""Errors about labels name the row, the label and the way out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from taxolearn.errors import LabelError, TaxolearnError
from taxolearn.problem import align_labels, encode_labels
from taxolearn.structure import Taxonomy

TREE = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog", "Plant/Rose"])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["Cat", "Dgo"], "y, row 1: unknown label 'Dgo'; did you mean 'Dog'?"),
        (["Cat", "zzz"], "y, row 1: unknown label 'zzz'; correct it, or add it to the taxonomy"),
        ([["Cat"], ["Dog", "Roes"]], "y, row 1: unknown label 'Roes'; did you mean 'Rose'?"),
        (np.array(["Cat", "rose"]), "y, row 1: unknown label 'rose'; did you mean 'Rose'?"),
        ([["Cat"], []], "y, row 1 has an empty label set (1 such rows); drop these rows or label them"),
        (["Cat", None], "y, row 1 has an empty label None; every row needs a label"),
        (["Cat", ""], "y, row 1 has an empty label ''; every row needs a label"),
        (["Cat", float("nan")], "y, row 1 has an empty label nan; every row needs a label"),
        ([["Cat"], ["Dog", None]], "y, row 1 has an empty label None among its labels; remove it"),
        ([["Cat"], "Dog"], "y, row 1: expected a list of labels as in the other rows, found 'Dog'"),
        ([["Cat", ["Dog"]]], "y, row 0: ['Dog'] cannot be a label; use strings or numbers"),
        (["Cat", {}], "y, row 1: {} (dict) cannot be a label; use strings or numbers"),
        ("Cat", "y must hold one label or set of labels a row, not 'Cat'"),
        (None, "y must hold one label or set of labels a row, not None"),
        (np.eye(2, dtype=int), "y is an indicator with 2 columns, but the taxonomy has 6 nodes"),
        (np.full((1, 6), 2), "y, row 0: an indicator holds only 0 and 1, found"),
        (np.zeros((2, 6), dtype=int), "y, row 0 has an empty label set (2 such rows)"),
        (sp.csr_array(np.eye(6) * 0.5), "y, row 0: an indicator holds only 0 and 1, found"),
        (
            sp.coo_array(np.array([1, 0])),
            "y is a sparse array of shape (2,); give an indicator, rows x classes",
        ),
        (np.zeros((2, 2, 2)), "y has shape (2, 2, 2) and type float64"),
        (np.array([1j, 2j]), "y has shape (2,) and type complex128"),
        (
            pd.DataFrame({"a": ["Plant"], "b": ["Cat"]}),
            "y, row 0: the taxonomy has no path 'Plant/Cat'; 'Cat' stands at",
        ),
        (
            pd.DataFrame({"a": ["Animal"], "b": ["Cta"]}),
            "y, row 0: the taxonomy has no path 'Animal/Cta'; did you mean 'Cat'?",
        ),
        (pd.DataFrame({"a": [None], "b": ["Cat"]}), "y: row 0: level 'a' is an empty name above 'Cat'"),
        (
            pd.DataFrame({"a": [None], "b": [None]}),
            "y: row 0: every level is empty; a row needs at least one name",
        ),
    ],
)
def test_the_message_names_the_culprit(y: Any, message: str) -> None:
    with pytest.raises(LabelError) as caught:
        encode_labels(y, TREE)
    assert str(caught.value).startswith(message)


def test_damaged_indicators_are_refused() -> None:
    damaged = sp.csr_array(np.eye(6))
    damaged.indices[2] = 77
    with pytest.raises(
        TaxolearnError, match=r"y is a corrupted CSR matrix: a column index lies outside 0\.\.5"
    ):
        encode_labels(damaged, TREE)


def test_the_name_of_the_argument_is_told() -> None:
    with pytest.raises(LabelError, match="y_pred, row 0: unknown label 'Ct'"):
        align_labels(["Cat"], ["Ct"], TREE)
    with pytest.raises(LabelError, match="y_true has 1 rows and y_pred has 2; give the same rows to both"):
        align_labels(["Cat"], ["Cat", "Dog"])
    with pytest.raises(LabelError, match="indicators need the same columns on both sides"):
        align_labels(np.eye(2, dtype=int), np.eye(3, dtype=int)[:2])
