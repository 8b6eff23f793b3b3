"""Several labels: probabilities that fall along the taxonomy, and label sets by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from taxolearn import OneVsRestSVM, Taxonomy, load
from taxolearn.decoders import NodeMarginals, labels_are_closed
from taxolearn.errors import DataError
from taxolearn.problem import make_problem

TREE = Taxonomy.from_paths(["Cat/Lion", "Cat/Lynx", "Dog/Wolf", "Dog/Fox", "Oak"])
LEAVES = ["Lion", "Lynx", "Wolf", "Fox", "Oak"]


def data(closed: bool) -> tuple[Any, list[list[str]]]:
    rng = np.random.default_rng(0)
    labels = [sorted({*rng.choice(LEAVES, size=rng.integers(1, 3)).tolist()}) for _ in range(80)]
    X = np.array([[name in row for name in LEAVES] for row in labels]) + 0.5 * rng.normal(size=(80, 5))
    if closed:
        labels = [
            sorted({*row, *(p for n in row for p in TREE.ancestors(n) if p != TREE.nodes[0])})
            for row in labels
        ]
    return X, labels


@pytest.mark.parametrize("closed", [False, True])
def test_answers_have_ancestors_where_rows_had_them(closed: bool, tmp_path: Any) -> None:
    X, y = data(closed)
    assert labels_are_closed(make_problem(X, y, TREE)) == closed
    model = OneVsRestSVM(taxonomy=TREE, probability=True, random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    for decision in ("hierarchical_f1", "probable"):
        found = model.predict(X, decision=decision)
        assert found == loaded.predict(X, decision=decision)
        for row in found:
            parents = {TREE.parents(name)[0] for name in row} - {TREE.nodes[0]}
            assert parents <= {*row} if closed else not parents & {*row}
    assert all(model.predict(X, decision="hierarchical_f1"))  # no row without a label


def test_the_largest_expected_f1_of_labels_alone_by_brute_force() -> None:
    """Labels without their ancestors: example-F1 does not count these, and inner labels exclude no labels below."""
    _, y = data(closed=False)
    y = [sorted({*row, "Cat"}) if k % 3 == 0 else row for k, row in enumerate(y)]
    X = np.random.default_rng(2).normal(size=(80, 6))  # of noise: sure of nothing
    model = OneVsRestSVM(taxonomy=TREE, probability=True, random_state=0).fit(X, y)
    names, p = model.classes_.tolist(), model.predict_proba(X[:20])
    n = len(names)
    truths = [{names[j] for j in range(n) if bits >> j & 1} for bits in range(2**n)]
    overlap = np.array(
        [[2 * len(a & b) / (len(a) + len(b)) if a or b else 1.0 for b in truths] for a in truths]
    )
    member = np.array([[name in one for name in names] for one in truths])
    for row, chances in zip(model.predict(X[:20], decision="label_f1"), p, strict=True):
        value = overlap @ np.where(member, chances, 1.0 - chances).prod(axis=1)
        assert value[truths.index({*row})] == pytest.approx(value[1:].max(), abs=1e-9)
    assert model.predict(X, decision="label_f1") != model.predict(X, decision="hierarchical_f1")
    X, y = data(closed=True)
    model = OneVsRestSVM(taxonomy=TREE, probability=True, random_state=0).fit(X, y)
    assert model.predict(X, decision="label_f1") == model.predict(X, decision="hierarchical_f1")
    single = OneVsRestSVM(taxonomy=TREE, probability=True, random_state=0).fit(X, [row[-1] for row in y])
    with pytest.raises(DataError, match="'label_f1' is for several labels per row"):
        single.predict(X, decision="label_f1")


def test_probable_labels_are_those_above_one_half() -> None:
    X, y = data(closed=True)
    model = OneVsRestSVM(taxonomy=TREE, probability=True, random_state=0, empty_sets="allow").fit(X, y)
    p = model.node_proba(X, model.classes_)
    for row, chances in zip(model.predict(X, decision="probable"), p, strict=True):
        assert row == model.classes_[chances > 0.5].tolist()
    names, scores, chances, rest = model.top_k(X, 2, probability=True)
    assert names.shape == scores.shape == chances.shape
    np.testing.assert_allclose(chances.sum(axis=1) + rest, model.predict_proba(X).sum(axis=1))


@pytest.mark.parametrize("combine", ["mean", "min", "max"])
def test_probabilities_fall_however_they_are_combined(combine: str) -> None:
    from taxolearn.decoders import LabelSpace

    rng = np.random.default_rng(1)
    dag = Taxonomy.from_edges([*TREE.edges, ("Dog", "Lynx"), ("Cat", "Oak")])
    space = LabelSpace.over(dag, ["Lion", "Lynx", "Wolf", "Cat", "Oak"])
    p = NodeMarginals(space, combine)(rng.random((20, 5)))
    for node in range(space.n_nodes):
        for parent in space.parent_indices[space.parent_indptr[node] : space.parent_indptr[node + 1]]:
            assert (p[:, node] <= p[:, parent] + 1e-12).all()


@pytest.mark.parametrize("decision", ["tree_loss", np.zeros((5, 5))], ids=["tree_loss", "table"])
def test_costs_of_single_answers_are_refused(decision: Any) -> None:
    X, y = data(closed=False)
    model = OneVsRestSVM(taxonomy=TREE, probability=True, random_state=0).fit(X, y)
    with pytest.raises(DataError, match="with several labels per row choose decision='hierarchical_f1'"):
        model.predict(X, decision=decision)
    with pytest.raises(DataError, match="one label per row"):
        model.predict(X, inner=True)


@pytest.mark.parametrize(
    ("metric", "rule"),
    [("accuracy", "probable"), ("example_f1", "label_f1"), ("macro_f1", "label_f1")],
)
def test_the_metric_that_counts_names_the_rule(metric: str, rule: str) -> None:
    X, y = data(closed=False)
    model = OneVsRestSVM(taxonomy=TREE, decision=metric, random_state=0).fit(X, y)
    assert model.predict(X) == model.predict(X, decision=rule) != model.predict(X, decision="best")
    single = OneVsRestSVM(taxonomy=TREE, decision=metric, random_state=0).fit(X, [row[0] for row in y])
    assert single.predict(X).tolist() == single.predict(X, decision="best").tolist()
    by_paths = single.predict(X, decision="hierarchical_f1")
    assert single.predict(X, decision="lca_f1").tolist() == by_paths.tolist()
