"""Row operations, dense and sparse, against plain numpy on a dense copy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from taxolearn.kernels import rows as row_kernels
from taxolearn.kernels._jit import kernel
from taxolearn.kernels.dual_descent import row_squares
from taxolearn.kernels.rows import DenseRows, SparseRows

N, WIDTH, BLOCK = 9, 7, 3  # a width that four accumulators do not divide


@kernel
def sizes_of(rows):
    return row_kernels.n_rows(rows), row_kernels.mean_row_size(rows)


@kernel
def dots_of(rows, w):
    out = np.empty(row_kernels.n_rows(rows))
    for i in range(out.shape[0]):
        out[i] = row_kernels.row_dot(rows, i, w)
    return out


@kernel
def add_rows(rows, scales, w):
    for i in range(row_kernels.n_rows(rows)):
        row_kernels.row_add(rows, i, scales[i], w)


@kernel
def gathered(rows, chosen):
    return row_kernels.gather(rows, chosen)


@kernel
def cleared(rows, chosen):
    copy = row_kernels.gather(rows, chosen)
    row_kernels.clear(copy)
    return copy


@kernel
def add_outer_products(rows, changes, weights):
    for i in range(row_kernels.n_rows(rows)):
        row_kernels.add_to_features(rows, i, changes[i], weights)


@kernel
def add_row_scores_of(rows, weights, out):
    for i in range(row_kernels.n_rows(rows)):
        row_kernels.add_row_scores(rows, i, weights, out[i])


@kernel
def add_scores_of(rows, weights, out):
    row_kernels.add_scores(rows, weights, out)


def some_rows(seed=0):
    """Values with zeros in between, an empty first row, an empty last row, and an empty column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, WIDTH)) * (rng.random((N, WIDTH)) < 0.6)
    X[0] = X[-1] = 0.0
    X[:, 2] = 0.0
    return X


def layout(X, kind):
    """(rows, the dense float64 twin of what they hold)."""
    form, dtype, index, *read_only = kind.split()
    if form == "dense":
        data = np.ascontiguousarray(X, dtype=dtype)
        twin = data.astype(np.float64)
        arrays = [data]
    else:
        first = X.shape[1] // 2 if form == "tail" else X.shape[1]
        matrix, tail = sp.csr_array(X[:, :first].astype(dtype)), X[:, first:].astype(np.float32)
        twin = np.hstack([matrix.toarray(), tail]).astype(np.float64)
        arrays = [matrix.indptr.astype(np.int64), matrix.indices.astype(index), matrix.data]
        arrays += [tail] if form == "tail" else []
    if read_only:
        for array in arrays:
            array.flags.writeable = False
    if form == "dense":
        return DenseRows(*arrays), twin
    return (SparseRows(*arrays, first) if form == "tail" else SparseRows(*arrays)), twin


# those that `rows_of` makes: each further type would be compiled for these tests alone
KINDS = (
    "dense float64 - read-only",
    "dense float32 - read-only",
    "sparse float64 uint32 read-only",
    "sparse float32 uint32 read-only",
    "tail float64 uint32 read-only",
    "tail float32 uint32 read-only",
)
every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
def test_sizes_dots_squares_and_sums(kind):
    rows, X = layout(some_rows(), kind)
    rng = np.random.default_rng(1)
    n, mean = sizes_of(rows)
    assert n == N
    if kind.startswith("tail"):
        assert mean == pytest.approx(WIDTH - rows.first + np.count_nonzero(X[:, : rows.first]) / N)
    else:
        assert mean == pytest.approx(WIDTH if kind.startswith("dense") else np.count_nonzero(X) / N)

    w = rng.normal(size=WIDTH)
    np.testing.assert_allclose(dots_of(rows, w), X @ w, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(row_squares(rows, 0.0), (X**2).sum(axis=1), rtol=1e-14)
    np.testing.assert_allclose(row_squares(rows, 1.5), (X**2).sum(axis=1) + 2.25, rtol=1e-14)

    scales = rng.normal(size=N)
    total = w.copy()
    add_rows(rows, scales, total)
    np.testing.assert_allclose(total, w + X.T @ scales, rtol=1e-13, atol=1e-14)


@every_kind
def test_scores_are_added_for_a_block_of_weights(kind):
    rows, X = layout(some_rows(), kind)
    rng = np.random.default_rng(2)
    weights = rng.normal(size=(WIDTH, BLOCK))
    start = rng.normal(size=(N, BLOCK))
    for scores_of in (add_scores_of, add_row_scores_of):
        out = start.copy()
        scores_of(rows, weights, out)
        np.testing.assert_allclose(out, start + X @ weights, rtol=1e-13, atol=1e-14)
    total = weights.copy()
    add_outer_products(rows, start, total)
    np.testing.assert_allclose(total, weights + X.T @ start, rtol=1e-13, atol=1e-14)


def dense_of(rows, n):
    first = WIDTH - rows.tail.shape[1]
    entries = sp.csr_array((rows.data, rows.indices, rows.indptr), shape=(n, first)).toarray()
    return (
        np.hstack([entries, rows.tail])
        if rows.tail.size
        else np.hstack([entries, np.zeros((n, WIDTH - first))])
    )


@every_kind
def test_gathered_rows_are_cleared(kind):
    rows, X = layout(some_rows(), kind)
    copy = cleared(rows, np.arange(N))
    assert not any(part.any() for part in (copy.data, getattr(copy, "tail", copy.data)))
    np.testing.assert_allclose(dots_of(rows, np.ones(WIDTH)), X.sum(axis=1), atol=1e-12)


@every_kind
@pytest.mark.parametrize("chosen", [[4, 0, 8, 4], [], list(range(N))], ids=["some", "none", "all"])
def test_gather_copies_rows_in_the_asked_order(kind, chosen):
    rows, X = layout(some_rows(), kind)
    chosen = np.array(chosen, dtype=np.int64)
    copy = gathered(rows, chosen)
    assert type(copy) is type(rows)
    assert copy.data.dtype == rows.data.dtype
    assert not np.shares_memory(copy.data, rows.data)
    if isinstance(copy, SparseRows):
        assert copy.indices.dtype == rows.indices.dtype
        assert not np.shares_memory(copy.tail, rows.tail)
        dense = dense_of(copy, len(chosen))
    else:
        dense = copy.data
    np.testing.assert_array_equal(dense, X[chosen])


@every_kind
@pytest.mark.parametrize("width", [1, 3, 4, 5, 8])
def test_every_remainder_of_the_width(kind, width):
    rng = np.random.default_rng(width)
    rows, X = layout(rng.normal(size=(4, width)), kind)
    w = rng.normal(size=width)
    np.testing.assert_allclose(dots_of(rows, w), X @ w, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    "kind", ["dense float32 - read-only", "sparse float32 uint32 read-only", "tail float64 uint32 read-only"]
)
def test_float32_rows_are_summed_in_double(kind):
    values = np.full((1, 1001), 1e-8)
    values[0, 0] = 1.0
    rows, X = layout(values, kind)
    ones = np.ones(1001)
    assert dots_of(rows, ones)[0] == pytest.approx(
        X.sum(), rel=1e-14
    )  # in float32 the small ones would vanish
    assert row_squares(rows, 0.0)[0] - 1.0 == pytest.approx(1e3 * 1e-16, rel=1e-2)


@pytest.mark.parametrize("kind", ["dense float64 - read-only", "sparse float64 uint32 read-only"])
def test_no_rows_at_all(kind):
    rows, _ = layout(np.zeros((0, WIDTH)), kind)
    n, mean = sizes_of(rows)
    assert n == 0
    assert mean >= 1.0
    assert dots_of(rows, np.ones(WIDTH)).shape == (0,)
    assert row_squares(rows, 1.0).shape == (0,)


def test_rows_of_any_kind_come_in_two_types():
    """Every further type would be compiled: wide indices, single precision and arrays to write to are no reasons."""
    dense = np.arange(6.0).reshape(2, 3)
    narrow, wide = sp.csr_array(dense), sp.csr_array(dense.astype(np.float32))
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for X in (dense, dense.astype(np.float32), narrow, wide):
        rows = row_kernels.rows_of(X)
        kinds = [(part.dtype.name, part.flags.writeable) for part in rows if isinstance(part, np.ndarray)]
        if isinstance(rows, DenseRows):
            assert kinds == [("float64", False)]
        else:
            assert kinds == [("int64", False), ("uint32", False), ("float64", False), ("float32", False)]
        assert np.array_equal(dots_of(rows, np.ones(3)), dense.sum(axis=1))
    assert np.shares_memory(row_kernels.rows_of(dense).data, dense)
    assert np.shares_memory(row_kernels.rows_of(narrow).indices, narrow.indices)
    many = np.zeros((1, row_kernels._FEW_BYTES // 4 + 1), dtype=np.float32)
    assert np.shares_memory(row_kernels.rows_of(many).data, many)


@pytest.mark.parametrize("width", [1, 8, 70, 200])
@pytest.mark.parametrize(
    ("stored", "summed", "off", "order"),
    [
        (np.float64, np.float64, 1e-13, "C"),
        (np.float32, np.float32, 1e-5, "C"),
        (np.int16, np.float32, 1e-5, "C"),
        (np.float64, np.float64, 1e-13, "F"),  # the same loop for all kinds
    ],
)
@pytest.mark.parametrize("form", ["sparse", "tail"])
def test_products_of_blocks_of_every_width_and_kind(width, stored, summed, off, order, form):
    """Vectors of the processor of several lengths, and what is left over; plain loops where memory is not in order."""
    rng = np.random.default_rng(width)
    rows, X = layout(some_rows(), f"{form} float32 uint32 read-only")
    weights = rng.normal(size=(WIDTH, width)) * (300.0 if stored is np.int16 else 1.0)
    weights = np.asarray(weights.astype(stored), order=order)
    start = rng.normal(size=(N, width)).astype(summed)
    out = start.copy()
    add_scores_of(rows, weights, out)
    expected = start + X @ weights.astype(np.float64)
    np.testing.assert_allclose(out, expected, atol=off * np.abs(expected).max())


def test_full_last_columns_become_a_tail_where_single_precision_holds_them():
    rng = np.random.default_rng(3)
    X = np.hstack([some_rows(), rng.normal(size=(N, 20)).astype(np.float32)])
    rows = row_kernels.rows_of(sp.csr_array(X))
    assert rows.tail.shape == (N, 20)
    assert (rows.first, rows.tail.flags.writeable) == (WIDTH, False)
    np.testing.assert_array_equal(rows.tail, X[:, WIDTH:])
    whole = row_kernels.rows_of(sp.csr_array(X), sp.csr_array(X).indices)  # columns of one's own: no tail
    assert whole.tail.shape[1] == 0
    w = rng.normal(size=WIDTH + 20)
    for found in (rows, whole):
        np.testing.assert_allclose(dots_of(found, w), X @ w, rtol=1e-12)
    X[4, -1] = 0.1  # no number of single precision
    assert row_kernels.rows_of(sp.csr_array(X)).tail.shape[1] == 0
    X[4, -1] = 0.0  # now the last column is not full
    assert row_kernels.rows_of(sp.csr_array(X)).tail.shape[1] == 0
