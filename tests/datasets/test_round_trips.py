"""What a writer writes, its reader reads back: random datasets and taxonomies, plain and compressed files."""

from __future__ import annotations

import math
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from dataset_strategies import (
    assert_same_features,
    datasets,
    dense,
    label_rows,
    matrices,
    named_taxonomies,
    plain_names,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from taxolearn.datasets import (
    Dataset,
    read_arff,
    read_edges,
    read_jsonl,
    read_level_table,
    read_libsvm,
    read_lshtc,
    read_rcv1_topics,
    read_xmc,
    write_arff,
    write_edges,
    write_jsonl,
    write_level_table,
    write_libsvm,
    write_lshtc,
    write_rcv1_topics,
    write_xmc,
)
from taxolearn.structure import Taxonomy

examples = settings(max_examples=60, deadline=None)
suffixes = st.sampled_from(["", ".gz", ".xz", ".bz2"])
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=20)


@contextmanager
def scratch(name: str):
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder, name)


def with_missing(X):
    """X with a nan in its first cell."""
    cells = dense(X).copy()
    cells[0, 0] = math.nan
    return sparse.csr_array(cells) if sparse.issparse(X) else cells


@given(datasets(names=plain_names.map(lambda name: f"x{name}:{name}")), suffixes, st.booleans())
@examples
def test_libsvm(dataset, suffix, zero_based):
    with scratch("rows.svm" + suffix) as path:
        write_libsvm(path, dataset, zero_based=zero_based)
        found = read_libsvm(
            path,
            n_features=dataset.n_features,
            zero_based=zero_based,
            dtype=dataset.X.dtype,
            taxonomy=dataset.taxonomy,
        )
    assert found.y == dataset.y
    assert_same_features(found.X, dataset.X)


@given(st.data())
@examples
def test_libsvm_keeps_nan_and_infinity_and_integer_labels(data):
    numbers = st.sampled_from([0.0, math.nan, math.inf, -math.inf, 1.5])
    X = np.array(data.draw(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=4)))
    y = data.draw(st.lists(st.integers(-9, 10**6), min_size=len(X), max_size=len(X)))
    with scratch("rows.svm") as path:
        write_libsvm(path, Dataset(X, y))
        found = read_libsvm(path, n_features=2, multilabel=False, label_type=int, allow_nan=True)
    assert found.y == y
    assert_same_features(found.X, X)


@given(datasets(), suffixes)
@examples
def test_lshtc(dataset, suffix):
    with scratch("rows.svm" + suffix) as path:
        hierarchy = path.with_name("cat_hier.txt" + suffix)
        write_lshtc(path, dataset, hierarchy)
        found = read_lshtc(path, hierarchy, n_features=dataset.n_features, dtype=dataset.X.dtype)
    assert found.y == dataset.y
    assert found.taxonomy == dataset.taxonomy
    assert_same_features(found.X, dataset.X)


@given(datasets(), suffixes, st.booleans())
@examples
def test_xmc(dataset, suffix, all_nodes):
    with scratch("rows.txt" + suffix) as path:
        names = write_xmc(path, dataset, label_names=dataset.taxonomy.nodes if all_nodes else None)
        found = read_xmc(path, label_names=names, dtype=dataset.X.dtype)
        numbers = read_xmc(path).y
    assert found.y == dataset.y
    assert [[names[number] for number in row] for row in numbers] == dataset.y
    assert_same_features(found.X, dataset.X)


@given(st.lists(st.lists(st.integers(0, 50), max_size=3, unique=True), min_size=1, max_size=5))
@examples
def test_xmc_keeps_numbers(y):
    with scratch("rows.txt") as path:
        write_xmc(path, Dataset(np.zeros((len(y), 2)), y))
        found = read_xmc(path)
    assert found.y == y
    assert found.X.shape == (len(y), 2)


@given(datasets(root="root"), suffixes, st.data())
@examples
def test_arff(dataset, suffix, data):
    X = dataset.X.astype(np.float64)
    if data.draw(st.booleans()):
        X = with_missing(X)
    words = data.draw(st.none() | st.lists(texts, min_size=dataset.n_rows, max_size=dataset.n_rows))
    names = st.lists(texts.filter(bool), min_size=X.shape[1], max_size=X.shape[1], unique=True)
    names = tuple(data.draw(names)) if data.draw(st.booleans()) else None
    dataset = replace(dataset, X=X, texts=words, feature_names=names, name=data.draw(texts.filter(bool)))
    with scratch("rows.arff" + suffix) as path:
        write_arff(path, dataset)
        found = read_arff(path)
    assert found.y == dataset.y
    assert found.taxonomy == dataset.taxonomy
    assert (found.texts, found.name) == (words, dataset.name)
    assert names is None or found.feature_names == names
    assert sparse.issparse(found.X) == sparse.issparse(X)
    assert_same_features(found.X, X)


@given(named_taxonomies(dag=False, root="root"), st.data())
@examples
def test_arff_tree_of_paths(tree, data):
    """Classes called by their paths are listed as paths, the way Clus lists FunCat."""
    path_of = {name: "/".join(tree.path(name)[1:]) or "root" for name in tree.nodes}
    taxonomy = Taxonomy.from_edges([(path_of[parent], path_of[child]) for parent, child in tree.edges])
    y = data.draw(label_rows(taxonomy.nodes[1:], 3))
    with scratch("rows.arff") as path:
        write_arff(path, Dataset(np.eye(3), y, taxonomy))
        assert "root" not in path.read_text(encoding="utf-8")
        found = read_arff(path)
    assert found.taxonomy == taxonomy
    assert found.y == y


@given(named_taxonomies(dag=False), suffixes, st.data())
@examples
def test_level_table(taxonomy, suffix, data):
    n_rows = data.draw(st.integers(1, 5))
    y = data.draw(st.lists(st.sampled_from(taxonomy.nodes), min_size=n_rows, max_size=n_rows))
    X = data.draw(st.none() | matrices(n_rows, dtype="float64"))
    words = data.draw(st.lists(texts, min_size=n_rows, max_size=n_rows))
    if X is not None and data.draw(st.booleans()):
        X = with_missing(X)
    if X is not None and data.draw(st.booleans()):
        words = None
    with scratch("rows.csv" + suffix) as path:
        write_level_table(path, Dataset(X, y, taxonomy, words))
        found = read_level_table(path)
    assert (found.y, found.texts) == (y, words)
    assert {found.taxonomy.path(name) for name in y} == {taxonomy.path(name) for name in y}
    assert set(found.taxonomy.nodes) == {name for label in y for name in taxonomy.path(label)}
    assert (found.X is None) == (X is None)
    if X is not None:
        assert_same_features(found.X, dense(X))


any_text = st.text(max_size=20)
any_label = st.text(min_size=1, max_size=6) | st.integers(-(10**12), 10**12)


@given(st.lists(st.tuples(any_text, st.lists(any_label, max_size=3)), min_size=1, max_size=5), suffixes)
@examples
def test_jsonl(rows, suffix):
    """Any text, half surrogate pairs, NUL and line separators included."""
    words, y = [text for text, _ in rows], [labels for _, labels in rows]
    with scratch("rows.jsonl" + suffix) as path:
        write_jsonl(path, Dataset(None, y, texts=words), text="body", labels="classes")
        found = read_jsonl(path, text="body", labels="classes")
    assert (found.texts, found.y) == (words, y)


@given(named_taxonomies(), suffixes)
@examples
def test_edges(taxonomy, suffix):
    with scratch("tree.edges" + suffix) as path:
        write_edges(path, taxonomy)
        assert read_edges(path) == taxonomy
        assert read_edges(path, chains=True) == taxonomy


@given(named_taxonomies(names=st.lists(plain_names, min_size=2, max_size=3).map(" ".join)))
@examples
def test_edges_with_spaces_between_tabs(taxonomy):
    with scratch("tree.tsv") as path:
        write_edges(path, taxonomy, sep="\t")
        assert read_edges(path, sep="\t") == taxonomy


@given(named_taxonomies(), suffixes, st.data())
@examples
def test_rcv1_topics(taxonomy, suffix, data):
    words = st.lists(plain_names, max_size=3).map(" ".join)
    descriptions = {name: data.draw(words) for name in taxonomy.nodes}
    with scratch("topics.hier" + suffix) as path:
        write_rcv1_topics(path, taxonomy, descriptions)
        found = read_rcv1_topics(path)
    assert found.taxonomy == taxonomy
    assert found.descriptions == descriptions
