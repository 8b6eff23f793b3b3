"""X, weights and the Problem they make."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from taxolearn.errors import DataError, EmptyClassWarning, LabelError
from taxolearn.problem import check_matrix, make_problem
from taxolearn.problem.inputs import check_class_weight, check_sample_weight, check_sparse_indices
from taxolearn.structure import Taxonomy

TREE = Taxonomy.from_paths(
    ["Animal/Cat", "Animal/Dog", "Plant/Rose", "Plant/Tulip", "Plant/Oak", "Plant/Elm"]
)
X = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [4.0, 0.0, 5.0]])


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2), st.integers(0, 2), st.sampled_from([np.nan, np.inf, -np.inf]), st.booleans())
def test_the_place_of_a_bad_number_is_told(row: int, column: int, value: float, sparse: bool) -> None:
    rows = np.full((3, 3), 1e308)  # sums to infinity though every entry is finite
    assert check_matrix(sp.csr_array(rows) if sparse else rows) is not None
    rows[row, column] = value
    word = "NaN" if np.isnan(value) else "inf"
    with pytest.raises(
        DataError, match=f"X holds {word} at row {row}, column {column}; impute or drop it first"
    ):
        check_matrix(sp.csr_array(rows) if sparse else rows)


def test_nothing_is_copied_that_need_not_be() -> None:
    for dtype in (np.float32, np.float64):
        dense = X.astype(dtype)
        assert check_matrix(dense) is dense
        packed = sp.csr_array(dense)
        checked = check_matrix(packed)
        assert np.shares_memory(checked.data, packed.data)
        assert np.shares_memory(checked.indices, packed.indices)
        assert np.shares_memory(check_matrix(sp.csr_matrix(packed)).data, packed.data)
    assert check_matrix(X.astype(np.int8)).dtype == np.float64
    assert check_matrix(np.asfortranarray(X)).flags.c_contiguous
    problem = make_problem(X, ["a", "b", "a"])
    assert np.shares_memory(problem.X, X)
    assert not problem.X.flags.writeable
    assert X.flags.writeable


def test_repeated_entries_are_added_in_a_copy() -> None:
    messy = sp.csr_array((np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2])), shape=(1, 2))
    assert check_matrix(messy).toarray().tolist() == [[0.0, 3.0]]
    assert messy.nnz == 2


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.coo_array, sp.bsr_array, sp.csr_matrix])
def test_sound_sparse_matrices_pass(kind: Any) -> None:
    check_sparse_indices(kind(X))
    assert np.array_equal(check_matrix(kind(X)).toarray(), X)


@pytest.mark.parametrize(
    ("kind", "part", "place", "value"),
    [
        (sp.csr_array, "indices", 0, 3),
        (sp.csr_array, "indices", 4, -1),
        (sp.csr_array, "indptr", 1, 4),
        (sp.csr_array, "indptr", 0, 1),
        (sp.csr_array, "indptr", 3, 6),
        (sp.csc_array, "indices", 1, 3),
        (sp.csc_array, "indptr", 2, -2),
        (sp.bsr_array, "indices", 0, 5),
        (sp.coo_array, "row", 0, 3),
        (sp.coo_array, "col", 1, -1),
    ],
)
def test_damaged_sparse_matrices_are_refused(kind: Any, part: str, place: int, value: int) -> None:
    matrix = kind(X, blocksize=(1, 1)) if kind is sp.bsr_array else kind(X)
    getattr(matrix, part)[place] = value
    with pytest.raises(DataError, match=f"X is a corrupted {matrix.format.upper()} matrix: .*; rebuild it"):
        check_matrix(matrix)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([1.0, 2.0], r"X has 1 dimensions; give rows x features"),
        ([["a", "b"]], "X cannot be read as numbers"),
        ([[1.0], [1.0, 2.0]], "X cannot be read as numbers"),
        ([[1j]], "X holds complex numbers; give real ones"),
        (None, "X cannot be read|X has 0 dimensions"),
        ([[10**400]], "X cannot be read as numbers"),
    ],
)
def test_what_is_no_matrix(rows: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        check_matrix(rows)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 2, -3], r"sample_weight is -3\.0 at row 2; weights must be zero or positive"),
        ([1, np.nan, 1], "sample_weight is nan at row 1"),
        ([np.inf, 1, 1], "sample_weight is inf at row 0"),
        ([1, 2], "sample_weight has 2 entries, but X has 3 rows"),
        ([[1], [2], [3]], r"must be 1D array or scalar, one weight per row, not of shape \(3, 1\)"),
        ([0, 0, 0], "sample_weight is zero for every row"),
        (["a", "b", "c"], "sample_weight cannot be read as numbers"),
        ([10**400, 1, 1], "sample_weight cannot be read as numbers"),
    ],
)
def test_bad_sample_weights(weight: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        check_sample_weight(weight, 3)


def test_sound_sample_weights() -> None:
    assert check_sample_weight(None, 3) is None
    assert check_sample_weight(2, 3).tolist() == [2.0, 2.0, 2.0]
    assert check_sample_weight([1, 0, 0.5], 3).tolist() == [1.0, 0.0, 0.5]


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ({"cta": 2}, "class_weight names the unknown class 'cta'; did you mean 'cat'?"),
        ({"cat": 0}, "class_weight of 'cat' is 0; give a positive number"),
        ({"cat": -1.0}, "class_weight of 'cat' is -1.0; give a positive number"),
        ({"cat": "x"}, "class_weight of 'cat' is 'x'; give a positive number"),
        ({"cat": 10**400}, "class_weight of 'cat' is 1000"),
        ({"cat": np.nan}, "class_weight of 'cat' is nan; give a positive number"),
        ("even", "class_weight='even' is not known; use 'balanced', a mapping or None"),
        ([1, 2], "class_weight must be 'balanced', a mapping or None, not [1, 2]"),
    ],
)
def test_bad_class_weights(weight: Any, message: str) -> None:
    with pytest.raises((DataError, LabelError)) as caught:
        check_class_weight(weight, ["cat", "dog"], np.array([1.0, 3.0]))
    assert str(caught.value).startswith(message)


def test_balanced_is_scikit_learns_balanced() -> None:
    from sklearn.utils.class_weight import compute_class_weight

    y = ["cat", "dog", "dog", "dog"]
    expected = compute_class_weight("balanced", classes=np.array(["cat", "dog"]), y=y)
    np.testing.assert_allclose(check_class_weight("balanced", ["cat", "dog"], np.array([1.0, 3.0])), expected)


def test_empty_leaves_are_counted_in_a_warning() -> None:
    with pytest.warns(EmptyClassWarning) as caught:
        problem = make_problem(X, ["Cat", "Dog", "Cat"], TREE)
    message = str(caught[0].message)
    assert message.startswith(
        "4 of the taxonomy's 6 leaves have no rows and cannot be predicted: 'Rose', 'Tulip', 'Oak'"
    )
    assert message.endswith(", ...")
    assert problem.classes == ("Cat", "Dog")
    with pytest.warns(
        EmptyClassWarning, match="5 of the taxonomy's 6 leaves"
    ):  # a row of weight zero does not count
        make_problem(X, ["Cat", "Animal", "Dog"], TREE, sample_weight=[1, 1, 0])
    small = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert make_problem(X, ["Cat", "Dog", "Animal"], small).classes == ("Animal", "Cat", "Dog")


@pytest.mark.parametrize(
    ("rows", "y", "error", "message"),
    [
        (X, ["a", "b"], DataError, "X has 3 rows and y has 2; give one label per row"),
        (X[:0], [], DataError, "X has no rows"),
        (X[:, :0], ["a", "b", "a"], DataError, r"X has 0 feature\(s\)"),
        (X, ["a", "a", "a"], LabelError, "y has only 1 class, 'a'; a classifier needs at least two classes"),
        (X, [["a"], [], ["b"]], LabelError, "y, row 1 has an empty label set"),
    ],
)
def test_what_is_no_problem(rows: Any, y: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make_problem(rows, y)


def test_a_taxonomy_must_be_one() -> None:
    with pytest.raises(DataError, match=r"taxonomy must be a taxolearn\.Taxonomy or None, not 'tree'"):
        make_problem(X, ["a", "b", "a"], "tree")  # type: ignore[arg-type]


def test_weights_of_classes() -> None:
    three = make_problem(X, ["a", "b", "c"], class_weight={"a": 5.0})
    assert three.positive_weight.tolist() == [5.0, 1.0, 1.0]
    assert three.negative_weight.tolist() == [1.0, 1.0, 1.0]
    two = make_problem(X, ["a", "b", "b"], class_weight={"a": 5.0})
    assert two.positive_weight.tolist() == [5.0, 1.0]
    assert two.negative_weight.tolist() == [1.0, 5.0]  # of class b's rest, which is a


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "y", [["a", "b", "c"], [["a", "b"], ["c"], ["a"]], np.array([[1, 0], [0, 0], [1, 1]])]
)
def test_a_subset_is_the_problem_of_these_rows(y: Any, sparse: bool) -> None:
    whole = make_problem(sp.csr_array(X) if sparse else X, y, sample_weight=[1, 2, 3])
    part = whole.subset(np.array([2, 0]))
    assert part.n_rows == 2
    assert part.classes == whole.classes
    assert part.row_weight.tolist() == [3.0, 1.0]
    assert np.array_equal(part.targets.toarray(), whole.targets.toarray()[[2, 0]])
    assert np.array_equal(part.labels.matrix().toarray(), whole.labels.matrix().toarray()[[2, 0]])
    assert np.array_equal(part.X.toarray() if sparse else part.X, X[[2, 0]])


@pytest.mark.parametrize("n_labels", [3, 300, 70_000])
def test_the_rows_of_classes_are_the_columns_of_the_targets(n_labels: int) -> None:
    column = np.random.default_rng(0).integers(0, n_labels, 120)
    indicator = sp.csr_array((np.ones(120), (np.arange(120) % 40, column)), shape=(40, n_labels))
    indicator.data[:] = 1.0  # a row may have drawn a column twice
    problem = make_problem(np.ones((40, 1)), indicator)
    columns = problem.targets.tocsc()
    for found, expected in zip(problem.rows_of_classes, (columns.indptr, columns.indices), strict=True):
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, expected)
