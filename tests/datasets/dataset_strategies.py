"""Hypothesis strategies for datasets, and how to compare two of them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from taxolearn.datasets import Dataset
from taxolearn.structure import Taxonomy

# What one or another text format gives a meaning.
SPECIAL = ",#@/'\"{}?%:"
RESERVED = ("None", "root", "<root>")

plain_names = st.text(
    st.characters(
        min_codepoint=33, max_codepoint=0x2FFF, exclude_categories=("C", "Z"), exclude_characters=SPECIAL
    ),
    min_size=1,
    max_size=8,
).filter(lambda name: name not in RESERVED)
finite = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([0.0, 1.0, -1.0, 0.1, 1e-300, 1 / 3])
)


@st.composite
def named_taxonomies(
    draw: st.DrawFn,
    names: st.SearchStrategy[str] = plain_names,
    dag: bool | None = None,
    root: str | None = None,
) -> Taxonomy:
    """A tree or DAG of 2 to 12 nodes with names that every format can hold."""
    labels = draw(st.lists(names.filter(lambda name: name != root), min_size=2, max_size=12, unique=True))
    if root is not None:
        labels[0] = root
    edges = {(draw(st.integers(0, child - 1)), child) for child in range(1, len(labels))}
    if draw(st.booleans()) if dag is None else dag:
        ends = st.tuples(st.integers(0, len(labels) - 1), st.integers(0, len(labels) - 1))
        edges |= {(min(pair), max(pair)) for pair in draw(st.lists(ends, max_size=8)) if pair[0] != pair[1]}
    return Taxonomy.from_edges([(labels[parent], labels[child]) for parent, child in sorted(edges)])


@st.composite
def matrices(draw: st.DrawFn, n_rows: int, *, kind: str | None = None, dtype: str | None = None):
    """X with at least one column: an array, or a CSR array that may store zeros."""
    kind = kind or draw(st.sampled_from(["dense", "sparse"]))
    n_columns = draw(st.integers(1, 4))
    dtype = dtype or draw(st.sampled_from(["float32", "float64"]))
    numbers = st.floats(allow_nan=False, allow_infinity=False, width=32) if dtype == "float32" else finite
    cells = draw(st.lists(numbers, min_size=n_rows * n_columns, max_size=n_rows * n_columns))
    X = np.array(cells, dtype).reshape(n_rows, n_columns)
    return X if kind == "dense" else sparse.csr_array(X)


@st.composite
def label_rows(draw: st.DrawFn, names, n_rows: int) -> list[list[str]]:
    """A list of distinct labels for each row, often one, sometimes none."""
    row = st.lists(st.sampled_from(list(names)), max_size=3, unique=True)
    return draw(st.lists(row, min_size=n_rows, max_size=n_rows))


@st.composite
def datasets(draw: st.DrawFn, *, names: st.SearchStrategy[str] = plain_names, **options) -> Dataset:
    """A multi-label dataset over a random taxonomy."""
    taxonomy = draw(named_taxonomies(names, **options))
    n_rows = draw(st.integers(1, 5))
    return Dataset(draw(matrices(n_rows)), draw(label_rows(taxonomy.nodes, n_rows)), taxonomy)


def dense(X) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def assert_same_features(found, expected) -> None:
    """Equal bit for bit, but for the sign of a zero that is not stored."""
    found, expected = dense(found), dense(expected)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected, strict=True)
