"""Metrics on small hierarchies, with values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from taxolearn import metrics
from taxolearn.structure import Taxonomy

#        root
#       /    \
#      A      B
#     / \    / \
#    a1  a2 b1  b2
#   /  \
#  x    y
TREE = Taxonomy.from_edges(
    [
        ("root", "A"),
        ("root", "B"),
        ("A", "a1"),
        ("A", "a2"),
        ("B", "b1"),
        ("B", "b2"),
        ("a1", "x"),
        ("a1", "y"),
    ]
)
# two parents for c
DAG = Taxonomy.from_edges([("root", "A"), ("root", "B"), ("A", "c"), ("B", "c"), ("B", "d"), ("c", "e")])


@pytest.mark.parametrize(
    ("true", "pred", "loss"),
    [
        ("x", "x", 0.0),
        ("x", "y", 1.0),
        ("x", "a1", 0.5),
        ("x", "b1", 2.5),
        (["x"], [], 1.5),  # up to the root
        (["x", "b1"], ["x"], (0 + 5) / 2 / 4),
        (["x", "b1"], ["y", "b2"], (2 + 2) / 4),
        ([], [], 0.0),
    ],
)
def test_tree_loss(true, pred, loss):
    assert metrics.tree_loss([true], [pred], TREE) == pytest.approx(loss)


def test_tree_loss_on_a_dag_may_go_through_a_common_child():
    assert metrics.tree_loss(["A"], ["B"], DAG) == 1.0
    assert metrics.tree_loss(["A"], ["d"], DAG) == 1.5


@pytest.mark.parametrize(
    ("true", "pred", "precision", "recall"),
    [
        ("x", "y", 2 / 3, 2 / 3),  # {A, a1, x} and {A, a1, y}
        ("x", "A", 1.0, 1 / 3),
        ("x", "root", 0.0, 0.0),
        ("x", "b1", 0.0, 0.0),
        ("root", "root", 1.0, 1.0),
        ("root", "A", 0.0, 0.0),
        (["x", "b1"], ["y", "b1"], 4 / 5, 4 / 5),
        (["x"], [], 0.0, 0.0),
        ([], [], 1.0, 1.0),
    ],
)
@pytest.mark.parametrize("average", ["micro", "samples"])
def test_hierarchical_on_one_row(true, pred, precision, recall, average):
    row = [true], [pred], TREE
    assert metrics.hierarchical_precision(*row, average=average) == pytest.approx(precision)
    assert metrics.hierarchical_recall(*row, average=average) == pytest.approx(recall)


def test_hierarchical_on_a_dag_counts_all_parents():
    # {A, B, c} and {B, d}
    assert metrics.hierarchical_precision(["c"], ["d"], DAG) == pytest.approx(1 / 2)
    assert metrics.hierarchical_recall(["c"], ["d"], DAG) == pytest.approx(1 / 3)


def test_micro_and_samples_averages_differ():
    rows = ["x", "b1"], ["b1", "b1"], TREE
    assert metrics.hierarchical_recall(*rows) == pytest.approx(2 / 5)
    assert metrics.hierarchical_recall(*rows, average="samples") == pytest.approx(1 / 2)
    assert metrics.hierarchical_f1(*rows) == pytest.approx(2 * 2 / (5 + 4))


@pytest.mark.parametrize(
    ("true", "pred", "graph_true", "graph_pred"),
    [
        ("x", "x", {"x"}, {"x"}),
        ("x", "y", {"x", "a1"}, {"y", "a1"}),
        ("x", "a1", {"x", "a1"}, {"a1"}),
        ("x", "b1", {"x", "a1", "A", "root"}, {"b1", "B", "root"}),
        (["x"], [], {"x", "a1", "A", "root"}, {"root"}),
        # a superfluous prediction hangs on the truth: its LCA is in both graphs
        (["x"], ["x", "y"], {"x", "a1"}, {"x", "y", "a1"}),
        (["x", "y"], ["x"], {"x", "y", "a1"}, {"x", "a1"}),
        # ancestors of other labels do not count
        (["x", "a1", "A"], ["x"], {"x"}, {"x"}),
        (["x", "b1"], ["y", "b2"], {"x", "a1", "b1", "B"}, {"y", "a1", "b2", "B"}),
        # y's nearest label is x; a2 still needs A, so the path from y to A joins the predicted graph
        (["x", "a2"], ["y"], {"x", "a1", "A", "a2"}, {"y", "a1", "A"}),
    ],
)
def test_lca_graphs_on_a_tree(true, pred, graph_true, graph_pred):
    both = len(graph_true & graph_pred)
    assert metrics.lca_precision([true], [pred], TREE) == pytest.approx(both / len(graph_pred))
    assert metrics.lca_recall([true], [pred], TREE) == pytest.approx(both / len(graph_true))
    expected = 2 * both / (len(graph_true) + len(graph_pred))
    assert metrics.lca_f1([true], [pred], TREE) == pytest.approx(expected)


def test_lca_on_a_dag_takes_the_shortest_way_up():
    # c and d meet in B; A is left out though it is above c
    assert metrics.lca_f1(["c"], ["d"], DAG) == pytest.approx(2 * 1 / (2 + 2))
    # A and B have a child in common, but the way through a common ancestor counts
    assert metrics.lca_f1(["A"], ["B"], DAG) == pytest.approx(2 * 1 / (2 + 2))


def test_lca_on_a_dag_with_a_shortcut_may_lie_above_another_common_ancestor():
    dag = Taxonomy.from_edges([("A", "B"), ("B", "x"), ("x", "y"), ("y", "t"), ("A", "t"), ("B", "p")])
    # through B: 3 + 1 edges, through A above it: 1 + 2; so {t, A} and {p, B, A}
    assert metrics.lca_precision(["t"], ["p"], dag) == pytest.approx(1 / 3)
    assert metrics.lca_recall(["t"], ["p"], dag) == pytest.approx(1 / 2)


def test_lca_drops_a_common_ancestor_made_redundant():
    dag = Taxonomy.from_edges([("r", "P"), ("r", "Q"), ("P", "t"), ("Q", "t"), ("P", "p"), ("Q", "p")])
    # t and p meet at P and at Q; only one of them stays
    assert metrics.lca_f1(["t"], ["p"], dag) == pytest.approx(2 * 1 / (2 + 2))
    assert metrics.lca_precision(["t"], ["p"], dag) == pytest.approx(1 / 2)


def test_one_and_several_labels_give_the_same_number():
    rng = np.random.default_rng(0)
    names = np.array(TREE.nodes)
    true, pred = names[rng.integers(0, 9, 50)], names[rng.integers(0, 9, 50)]
    for metric in (metrics.tree_loss, metrics.hierarchical_f1, metrics.lca_f1, metrics.macro_f1):
        # A further row with two labels forces the general code; its weight is zero.
        lists = [[name] for name in true] + [["x", "y"]], [[name] for name in pred] + [["x", "y"]]
        weights = np.append(np.ones(50), 0.0)
        assert metric(true, pred, TREE) == pytest.approx(metric(*lists, TREE, sample_weight=weights))


def test_every_form_of_labels_is_read_alike():
    true, pred = [["x", "b1"], ["a2"]], [["x"], ["a1"]]

    def indicator(rows):
        return np.array([[name in row for name in TREE.nodes] for row in rows], dtype=int)

    for metric in (metrics.accuracy, metrics.micro_f1, metrics.tree_loss, metrics.lca_f1):
        expected = metric(true, pred, TREE)
        assert metric(indicator(true), indicator(pred), TREE) == expected
        assert metric(sp.csr_array(indicator(true)), pred, TREE) == expected
        assert metric([set(row) for row in true], pred, TREE) == expected


def test_without_a_taxonomy_any_names_do():
    assert metrics.accuracy([1, 2, 3], [1, 2, 4]) == pytest.approx(2 / 3)
    assert metrics.macro_f1([1, 2, 3], [1, 2, 4]) == pytest.approx(2 / 4)
    assert metrics.micro_f1([[1], [2, 3]], [[1], []]) == pytest.approx(2 / 4)


def test_sample_weight_repeats_rows():
    true, pred = ["x", "y", "b1"], ["y", "y", "a2"]
    repeated = [0, 0, 1, 2, 2, 2]
    for name in metrics.__all__:
        if name.endswith("_k") or name == "propensities":
            continue
        metric = getattr(metrics, name)
        expected = metric([true[i] for i in repeated], [pred[i] for i in repeated], TREE)
        assert metric(true, pred, TREE, sample_weight=[2, 1, 3]) == pytest.approx(expected), name
