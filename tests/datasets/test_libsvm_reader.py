"""The libsvm family of readers: equal to scikit-learn's reader, and what scikit-learn does not read."""

from __future__ import annotations

import numpy as np
import pytest
from dataset_strategies import assert_same_features, datasets, plain_names
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from taxolearn.datasets import (
    Dataset,
    _files,
    make_text_like,
    read_libsvm,
    read_lshtc,
    read_xmc,
    write_libsvm,
    write_xmc,
)
from taxolearn.errors import DataError, FileFormatError, LabelError


def assert_equals_sklearn(path, **options):
    found = read_libsvm(path, label_type=int, **options)
    X, y = load_svmlight_file(str(path), multilabel=True, zero_based=options.get("zero_based", False))
    assert [tuple(sorted(labels)) for labels in found.y] == y
    np.testing.assert_array_equal(found.X.indptr, X.indptr)
    np.testing.assert_array_equal(found.X.indices, X.indices)
    assert found.X.data.tobytes() == X.data.tobytes()
    # scikit-learn gives rows without any feature a column.
    assert found.X.shape == X.shape or X.nnz == 0
    assert found.X.indices.dtype == found.X.indptr.dtype == np.int32


@given(datasets(names=st.integers(0, 10**6).map(str)), st.booleans())
@settings(max_examples=60, deadline=None)
def test_random_rows_equal_sklearns(tmp_path_factory, dataset, zero_based):
    path = tmp_path_factory.mktemp("svm") / "rows.svm"
    write_libsvm(path, dataset, zero_based=zero_based)
    assert_equals_sklearn(path, zero_based=zero_based)


@pytest.mark.parametrize("fmt", ["%.6f", "%.16g", "%.17g", "%r", "%.20e", "%d"])
def test_every_way_to_write_numbers_equals_sklearns(fmt, tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "rows.svm"
    with path.open("w") as stream:
        for _ in range(200):
            indices = np.unique(rng.integers(1, 5000, 40))
            values = rng.standard_normal(indices.size) * 10.0 ** rng.integers(-8, 9, indices.size)
            pairs = " ".join(f"{i}:{fmt % v}" for i, v in zip(indices.tolist(), values.tolist(), strict=True))
            stream.write(f"{rng.integers(100)},{100 + rng.integers(100)} {pairs} # comment\n")
    assert_equals_sklearn(path)


def test_blocks_are_joined_at_line_ends(tmp_path, monkeypatch):
    """With blocks much smaller than the file, rows and line numbers stay the same."""
    path = tmp_path / "rows.svm"
    dataset = make_text_like(50, 40, 6, 9, mean_length=10, random_state=0)
    write_libsvm(path, dataset)
    whole = read_libsvm(path, n_features=40, multilabel=False)
    monkeypatch.setattr(_files, "_BLOCK_BYTES", 64)
    pieces = read_libsvm(path, n_features=40, multilabel=False)
    assert pieces.y == whole.y == dataset.y
    assert_same_features(pieces.X, whole.X)
    path.write_text(path.read_text().rstrip("\n") + "\nlast 41:2")
    with pytest.raises(FileFormatError, match=r"rows\.svm:51: expected a feature index up to 40"):
        read_libsvm(path, n_features=40)


def test_rows_in_any_order_with_byte_order_mark_and_windows_line_ends(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_bytes(b"\xef\xbb\xbfb,a 3:3 1:1\r\n\r\n 2:2\r\nc\t2:5")
    found = read_libsvm(path)
    assert found.y == [["b", "a"], [], ["c"]]
    assert found.X.toarray().tolist() == [[1, 0, 3], [0, 2, 0], [0, 5, 0]]
    assert found.X.has_sorted_indices


def test_options(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("-3 1:nan 2:0.1\n+7 5:inf\n")
    found = read_libsvm(
        path, multilabel=False, label_type=int, n_features=9, dtype=np.float32, allow_nan=True
    )
    assert found.y == [-3, 7]
    assert found.X.shape == (2, 9)
    assert found.X.dtype == np.float32
    assert np.isnan(found.X[0, 0])
    assert found.X[0, 1] == np.float32(0.1)
    assert found.X[1, 4] == np.inf


def test_lshtc_reads_chains_and_labels_of_one_type(tmp_path):
    rows, hierarchy = tmp_path / "train.txt", tmp_path / "cat_hier.txt"
    rows.write_text("033, 29 5:1\n4 6:1\n")
    hierarchy.write_text("1 4 33\n1 4 29\n1 7\n")
    found = read_lshtc(rows, hierarchy, label_type=int)
    assert found.y == [[33, 29], [4]]
    assert found.taxonomy.ancestors(33) in ([4, 1], (4, 1), (1, 4), [1, 4])
    assert all(label in found.taxonomy for labels in found.y for label in labels)


def test_xmc_details(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text("4 6 3\n2,0 5:1 0:2\n\n 3:1\n1\n\n")
    found = read_xmc(path)
    assert found.y == [[2, 0], [], [], [1]]
    assert found.X.toarray().tolist() == [[2, 0, 0, 0, 0, 1], [0] * 6, [0, 0, 0, 1, 0, 0], [0] * 6]
    path.write_text("0 6 3\n")
    assert read_xmc(path).X.shape == (0, 6)


def test_stored_zeros_and_duplicate_entries(tmp_path):
    path = tmp_path / "rows.svm"
    X = sparse.csr_array((np.array([1.0, 2.0, 0.0]), np.array([2, 2, 0]), np.array([0, 2, 3])), shape=(2, 3))
    write_libsvm(path, Dataset(X, [["a"], []]))
    assert path.read_text() == "a 3:3.0\n 1:0.0\n"
    write_libsvm(path, Dataset(np.zeros((1, 3)), [[]]))
    assert read_libsvm(path, n_features=3).X.toarray().tolist() == [[0, 0, 0]]


@pytest.mark.parametrize("label", ["a b", "a,b", "#a", "", "12:3", "a\nb", "a\0"])
def test_labels_the_format_cannot_hold(label, tmp_path):
    with pytest.raises(LabelError, match="cannot be written to a libsvm file"):
        write_libsvm(tmp_path / "rows.svm", Dataset(np.eye(1), [[label]]))
    assert list(tmp_path.iterdir()) == []


def test_writers_say_what_is_missing(tmp_path):
    path = tmp_path / "rows"
    with pytest.raises(DataError, match="has texts but no X"):
        write_libsvm(path, Dataset(None, ["a"], texts=["words"]))
    with pytest.raises(DataError, match="no rows"):
        write_libsvm(path, Dataset(np.empty((0, 2)), []))
    with pytest.raises(LabelError, match="'1' would be one name"):
        write_libsvm(path, Dataset(np.eye(2), [1, "1"]))
    with pytest.raises(LabelError, match="row 1: the label 'b' is not in label_names"):
        write_xmc(path, Dataset(np.eye(2), ["a", "b"]), label_names=["a"])
    with pytest.raises(LabelError, match="a name twice"):
        write_xmc(path, Dataset(np.eye(2), ["a", "b"]), label_names=["a", "b", "a"])
    assert list(tmp_path.iterdir()) == []


@given(st.lists(plain_names, min_size=1, max_size=3, unique=True))
@settings(max_examples=20, deadline=None)
def test_xmc_numbers_names_in_order_of_appearance(tmp_path_factory, names):
    path = tmp_path_factory.mktemp("xmc") / "rows.txt"
    assert write_xmc(path, Dataset(np.eye(len(names)), names)) == tuple(names)
