"""Rows of X, dense or sparse, behind one set of operations chosen at compile time by type.

A solver kernel is written once on `row_dot`, `row_add`, ... and works on both layouts: the right body is picked
through numba's `overload` from the type of its first argument, so there is no branch left at run time and the
result can be cached (a function passed as an argument could not). With the compiler off the same Python bodies run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from taxolearn.full_columns import full_columns, split_rows
from taxolearn.kernels._called import part
from taxolearn.kernels._jit import kernel
from taxolearn.kernels.lanes import add_narrow, add_wide, add_widest
from taxolearn.kernels.tails import (
    NO_TAIL,
    add_dense,
    add_tail_scores,
    copy_tails,
    spread_dense,
    tail_add,
    tail_dot,
    tail_square,
)

_FEW_BYTES = 2**24  # of values in single precision


class SparseRows(NamedTuple):
    """CSR rows: row i has `data[indptr[i]:indptr[i+1]]` at columns `indices[...]`, then `tail[i]` from `first` on."""

    indptr: Any
    indices: Any
    data: Any
    tail: Any = NO_TAIL
    first: int = 0


class DenseRows(NamedTuple):
    """C-contiguous dense rows."""

    data: Any


class GramRows(NamedTuple):
    """Rows that are known by their products with each other.

    Instead of vectors of nodes there are scores (rows x nodes), which are kept up to date for the rows `ids` only, a
    block whose products are `gram`; `place` is where each row stands among them. `moved` (block x nodes) adds up by
    how much the rows of the block have entered the vectors.
    """

    gram: Any
    ids: Any
    place: Any
    moved: Any


def rows_of(X: Any, columns: Any = None) -> SparseRows | DenseRows:
    """The rows of a CSR matrix or of a C-contiguous array as all kernels take them, in as few types as can be: each
    one more would be compiled. `columns` are what stands for the columns of the entries, if not these themselves.

    Columns are unsigned: compiled code then needs no test for negative ones, a sixth of a sweep's time. A few values
    in single precision are copied into double; nothing else is.
    """
    if not sp.issparse(X):
        return DenseRows(_for_reading(_few_in_double(X)))
    if columns is None:
        return two_part_rows(X, full_columns(X))
    return _entries(X, columns)


def two_part_rows(X: Any, full: int) -> SparseRows:
    """CSR rows with the last `full` columns, which every row has, as a tail, if nothing is lost in single precision.

    >>> two_part_rows(sp.csr_array([[0.0, 2.0, 5.0], [0.0, 0.0, 6.0]]), 1).tail.tolist()
    [[5.0], [6.0]]
    """
    if full:
        rest, tail = split_rows(X, full)
        short = tail.astype(np.float32, copy=False)
        if np.array_equal(short, tail):
            return _entries(rest, rest.indices)._replace(tail=_for_reading(short), first=X.shape[1] - full)
    return _entries(X, X.indices)


def _entries(X: Any, columns: Any) -> SparseRows:
    columns = columns.view(np.uint32) if columns.dtype == np.int32 else columns.astype(np.uint32)
    ends = X.indptr.astype(np.int64, copy=False)
    return SparseRows(_for_reading(ends), _for_reading(columns), _for_reading(_few_in_double(X.data)))


def _few_in_double(values: Any) -> Any:
    few = values.dtype == np.float32 and values.nbytes <= _FEW_BYTES
    return values.astype(np.float64) if few else values


def _for_reading(array: Any) -> Any:
    view = array.view()
    view.flags.writeable = False  # as rows mapped from a file are: for numba that is another type
    return view


def _choose(rows: Any, *bodies: Callable[..., Any] | None) -> Callable[..., Any] | None:
    layout: Any = getattr(rows, "instance_class", None)
    return dict(zip((SparseRows, DenseRows, GramRows), bodies, strict=True)).get(layout)


def _by_layout(
    sparse: Callable[..., Any], dense: Callable[..., Any], gram: Callable[..., Any] | None = None
) -> Callable[[Any], Any]:
    """Decorate a stub: compiled, it becomes one of these by the type of `rows`; plain, it calls them."""

    def decorate(stub: Any) -> Any:
        arguments = stub.__code__.co_varnames[: stub.__code__.co_argcount]
        # numba wants the overload to have the stub's own argument names
        chooser: dict[str, Any] = {"_choose": _choose, "sparse": sparse, "dense": dense, "gram": gram}
        exec(f"def choose({', '.join(arguments)}):\n    return _choose(rows, sparse, dense, gram)", chooser)
        part(stub)(chooser["choose"])
        return stub

    return decorate


def _n_rows_sparse(rows):
    return rows.indptr.shape[0] - 1


def _n_rows_dense(rows):
    return rows.data.shape[0]


@_by_layout(_n_rows_sparse, _n_rows_dense)
def n_rows(rows):
    """How many rows there are."""
    return _n_rows_sparse(rows) if isinstance(rows, SparseRows) else _n_rows_dense(rows)


def _mean_row_size_sparse(rows):
    return max(1.0, rows.tail.shape[1] + rows.data.shape[0] / max(1, rows.indptr.shape[0] - 1))


def _mean_row_size_dense(rows):
    return float(max(1, rows.data.shape[1]))


@_by_layout(_mean_row_size_sparse, _mean_row_size_dense)
def mean_row_size(rows):
    """Stored values a row, at least 1: what a visit costs."""
    return _mean_row_size_sparse(rows) if isinstance(rows, SparseRows) else _mean_row_size_dense(rows)


def _row_dot_sparse(rows, i, w):
    total = 0.0
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        total += rows.data[k] * w[rows.indices[k]]
    return total + tail_dot(rows.tail, i, rows.first, w)


def _row_dot_dense(rows, i, w):
    # four accumulators: without fastmath the compiler may not reorder one sum into SIMD lanes
    x = rows.data[i]
    n = x.shape[0]
    a = 0.0
    b = 0.0
    c = 0.0
    d = 0.0
    whole = n - n % 4
    for j in range(0, whole, 4):
        a += x[j] * w[j]
        b += x[j + 1] * w[j + 1]
        c += x[j + 2] * w[j + 2]
        d += x[j + 3] * w[j + 3]
    for j in range(whole, n):
        a += x[j] * w[j]
    return (a + b) + (c + d)


@_by_layout(_row_dot_sparse, _row_dot_dense)
def row_dot(rows, i, w):
    """x_i . w in double precision."""
    return _row_dot_sparse(rows, i, w) if isinstance(rows, SparseRows) else _row_dot_dense(rows, i, w)


def _row_add_sparse(rows, i, scale, w):
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        w[rows.indices[k]] += scale * rows.data[k]
    tail_add(rows.tail, i, rows.first, scale, w)


def _row_add_dense(rows, i, scale, w):
    x = rows.data[i]
    for j in range(x.shape[0]):
        w[j] += scale * x[j]


@_by_layout(_row_add_sparse, _row_add_dense)
def row_add(rows, i, scale, w):
    """w += scale * x_i, in place."""
    if isinstance(rows, SparseRows):
        _row_add_sparse(rows, i, scale, w)
    else:
        _row_add_dense(rows, i, scale, w)


def _row_square_sparse(rows, i):
    total = 0.0
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        value = np.float64(rows.data[k])  # numba leaves float(float32) in single precision
        total += value * value
    return total + tail_square(rows.tail, i)


def _row_square_dense(rows, i):
    total = 0.0
    for j in range(rows.data.shape[1]):
        value = np.float64(rows.data[i, j])
        total += value * value
    return total


@_by_layout(_row_square_sparse, _row_square_dense)
def row_square(rows, i):
    """||x_i||^2 in double precision."""
    return _row_square_sparse(rows, i) if isinstance(rows, SparseRows) else _row_square_dense(rows, i)


def _gather_sparse(rows, chosen):
    m = chosen.shape[0]
    indptr = np.empty(m + 1, dtype=np.int64)
    indptr[0] = 0
    for r in range(m):
        i = chosen[r]
        indptr[r + 1] = indptr[r] + rows.indptr[i + 1] - rows.indptr[i]
    indices = np.empty(indptr[m], dtype=rows.indices.dtype)
    data = np.empty(indptr[m], dtype=rows.data.dtype)
    for r in range(m):
        at = indptr[r]
        for k in range(rows.indptr[chosen[r]], rows.indptr[chosen[r] + 1]):
            indices[at] = rows.indices[k]
            data[at] = rows.data[k]
            at += 1
    return SparseRows(indptr, indices, data, copy_tails(rows.tail, chosen), rows.first)


def _gather_dense(rows, chosen):
    m = chosen.shape[0]
    data = np.empty((m, rows.data.shape[1]), dtype=rows.data.dtype)
    for r in range(m):
        for j in range(rows.data.shape[1]):
            data[r, j] = rows.data[chosen[r], j]
    return DenseRows(data)


@_by_layout(_gather_sparse, _gather_dense)
def gather(rows, chosen):
    """Copy the chosen rows side by side, so that sweeps over them stay in cache."""
    return _gather_sparse(rows, chosen) if isinstance(rows, SparseRows) else _gather_dense(rows, chosen)


def _clear_sparse(rows):
    rows.data[:] = 0.0
    rows.tail[:] = 0.0


def _clear_dense(rows):
    rows.data[:] = 0.0


@_by_layout(_clear_sparse, _clear_dense)
def clear(rows):
    """Make all values of gathered rows zero, in place."""
    (_clear_sparse if isinstance(rows, SparseRows) else _clear_dense)(rows)


def _row_scores_sparse(rows, i, weights, out):
    first = rows.indptr[i]
    last = rows.indptr[i + 1]
    width = out.shape[0]
    whole = last - (last - first) % 4
    # four features at a time: one load and store of the sum for four products
    for k in range(first, whole, 4):
        a = weights[rows.indices[k]]
        b = weights[rows.indices[k + 1]]
        c = weights[rows.indices[k + 2]]
        d = weights[rows.indices[k + 3]]
        p = out.dtype.type(rows.data[k])
        q = out.dtype.type(rows.data[k + 1])
        r = out.dtype.type(rows.data[k + 2])
        s = out.dtype.type(rows.data[k + 3])
        for n in range(width):
            out[n] += (p * a[n] + q * b[n]) + (r * c[n] + s * d[n])
    for k in range(whole, last):
        a = weights[rows.indices[k]]
        p = out.dtype.type(rows.data[k])
        for n in range(width):
            out[n] += p * a[n]
    if rows.tail.shape[1] > 0:
        add_dense(rows.tail[i], weights, rows.first, out)


def _row_scores_dense(rows, i, weights, out):
    add_dense(rows.data[i], weights, 0, out)


def _row_scores_gram(rows, i, weights, out):
    for n in range(out.shape[0]):
        out[n] += weights[i, n]


@_by_layout(_row_scores_sparse, _row_scores_dense, _row_scores_gram)
def add_row_scores(rows, i, weights, out):
    """out += weights' x_i for feature-major weights (features x classes or nodes), in the precision of `out`."""
    if isinstance(rows, SparseRows):
        _row_scores_sparse(rows, i, weights, out)
    elif isinstance(rows, GramRows):
        _row_scores_gram(rows, i, weights, out)
    else:
        _row_scores_dense(rows, i, weights, out)


def _add_scores_sparse(rows, weights, out):
    width = out.shape[1]
    widest = width - width % 128 if weights.itemsize == 2 else 0
    wide = width - width % 64
    narrow = width - width % 8
    for i in range(out.shape[0]):
        line = out[i]
        first = rows.indptr[i]
        last = rows.indptr[i + 1]
        for at in range(0, widest, 128):
            add_widest(rows.indices, rows.data, first, last, weights, at, line)
        for at in range(widest, wide, 64):
            add_wide(rows.indices, rows.data, first, last, weights, at, line)
        for at in range(wide, narrow, 8):
            add_narrow(rows.indices, rows.data, first, last, weights, at, line)
        if narrow < width:
            for k in range(first, last):
                some = weights[rows.indices[k]]
                value = line.dtype.type(rows.data[k])
                for b in range(narrow, width):
                    line[b] += value * line.dtype.type(some[b])
    add_tail_scores(rows.tail, rows.first, weights, out)


def _add_scores_dense(rows, weights, out):
    for i in range(out.shape[0]):
        add_row_scores(rows, i, weights, out[i])


@_by_layout(_add_scores_sparse, _add_scores_dense)
def _add_scores(rows, weights, out):
    if isinstance(rows, SparseRows):
        _add_scores_sparse(rows, weights, out)
    else:
        _add_scores_dense(rows, weights, out)


@kernel
def add_scores(rows, weights, out):
    """out += X weights for a feature-major block of weights (features x block): one read of X serves the block.

    Weights may be whole numbers in 16 bits: half of what is read of memory, which is what a product waits for.
    """
    _add_scores(rows, weights, out)


def _to_features_sparse(rows, i, change, weights):
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        value = rows.data[k]
        target = weights[rows.indices[k]]
        for b in range(change.shape[0]):
            target[b] += value * change[b]
    if rows.tail.shape[1] > 0:
        spread_dense(rows.tail[i], rows.first, change, weights)


def _to_features_dense(rows, i, change, weights):
    spread_dense(rows.data[i], 0, change, weights)


@_by_layout(_to_features_sparse, _to_features_dense)
def add_to_features(rows, i, change, weights):
    """weights += x_i change' for feature-major weights (features x classes)."""
    if isinstance(rows, SparseRows):
        _to_features_sparse(rows, i, change, weights)
    else:
        _to_features_dense(rows, i, change, weights)
