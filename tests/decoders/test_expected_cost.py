"""Expected costs and decisions against sums over all classes by the metrics, on random trees and DAGs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from taxolearn import OneVsRestLogistic, Taxonomy
from taxolearn.decoders import HierarchicalF1, NodeSums, TreeLoss, cost_by_table
from taxolearn.decoders.levels import Levels, core_and_branches
from taxolearn.errors import DataError, TaxonomyError
from taxolearn.metrics import hierarchical_f1, tree_loss

TREE = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Wolf", "Plant/Oak"])


def random_taxonomy(rng: Any, dag: bool) -> Taxonomy:
    edges = []
    for node in range(1, int(rng.integers(2, 12))):
        count = 1 + int(dag and rng.random() < 0.4)
        for parent in rng.choice(node, size=min(node, count), replace=False):
            edges.append((int(parent), node))
    return Taxonomy.from_edges(edges)


def f1_cost(true: Any, answered: Any, taxonomy: Taxonomy) -> float:
    return 1.0 - hierarchical_f1(true, answered, taxonomy, average="samples")


@pytest.mark.parametrize("dag", [False, True], ids=["tree", "dag"])
@pytest.mark.parametrize(("kind", "metric"), [(TreeLoss, tree_loss), (HierarchicalF1, f1_cost)])
def test_costs_are_those_of_brute_force(kind: Any, metric: Any, dag: bool) -> None:
    rng = np.random.default_rng(int(dag))
    for _ in range(15):
        taxonomy = random_taxonomy(rng, dag)
        count = int(rng.integers(1, taxonomy.n_nodes + 1))
        classes = np.sort(rng.choice(taxonomy.n_nodes, size=count, replace=False))
        p = rng.dirichlet(np.ones(count), size=2).T
        names = taxonomy.nodes
        table = np.array([[metric([names[c]], [n], taxonomy) for n in names] for c in classes])
        for answers in (classes, np.arange(taxonomy.n_nodes)):
            costs = kind(taxonomy, classes, answers)(p)
            np.testing.assert_allclose(costs, (table.T @ p)[answers], atol=1e-12)
        below = taxonomy.ancestor_matrix(classes).T @ p
        np.testing.assert_allclose(NodeSums(taxonomy, classes)(p), below, atol=1e-12)


def test_branches_hang_at_the_core() -> None:
    diamond = Taxonomy.from_edges(
        [("r", "a"), ("r", "b"), ("a", "x"), ("b", "x"), ("x", "leaf"), ("leaf", "end")]
    )
    child = np.repeat(np.arange(diamond.n_nodes), np.diff(diamond.parent_indptr))
    pairs = np.concatenate(
        [np.stack([child, diamond.parent_indices]), np.stack([diamond.parent_indices, child])], 1
    )
    order = np.lexsort((pairs[1], pairs[0]))
    indptr = np.concatenate(([0], np.cumsum(np.bincount(pairs[0], minlength=diamond.n_nodes))))
    core, parent = core_and_branches(indptr, pairs[1][order])
    assert {diamond.name_of(node) for node in core} == {"r", "a", "b", "x"}
    assert {diamond.name_of(n) for n in np.flatnonzero(parent >= 0)} == {"leaf", "end"}
    assert diamond.name_of(int(parent[diamond.id_of("end")])) == "leaf"


def test_levels_of_a_chain_and_of_several_roots() -> None:
    levels = Levels([-1, 0, 1, -1, 3])
    values = np.arange(5.0)[np.argsort(levels.place)][:, None]
    assert levels.add_up(values.copy())[levels.place].ravel().tolist() == [3.0, 3.0, 2.0, 7.0, 4.0]
    assert levels.pass_down(values.copy())[levels.place].ravel().tolist() == [0.0, 1.0, 3.0, 3.0, 7.0]


def fitted(**parameters: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = np.array(["Lion", "Lynx", "Wolf", "Oak"] * 8)
    centres = dict(zip(("Lion", "Lynx", "Wolf", "Oak"), rng.normal(size=(4, 3)), strict=True))
    X = np.array([centres[name] for name in y]) + rng.normal(size=(len(y), 3))
    return OneVsRestLogistic(taxonomy=TREE, C=0.3, **parameters).fit(X, y), X


def test_a_table_and_a_function_of_costs_decide_alike() -> None:
    model, X = fitted()
    names = model.classes_.tolist()
    table = np.array([[tree_loss([a], [b], TREE) for b in names] for a in names])
    by_table = model.predict(X, decision=table)
    assert by_table.tolist() == model.predict(X, decision="tree_loss").tolist()
    assert by_table.tolist() == model.predict(X, decision=lambda a, b: tree_loss([a], [b], TREE)).tolist()
    assert by_table.tolist() != model.predict(X).tolist()
    assert model.predict(X, decision=1.0 - np.eye(4)).tolist() == model.predict(X).tolist()


def test_inner_nodes_are_answers_where_rows_are_unsure() -> None:
    model, X = fitted()
    answers = model.predict(X, decision="tree_loss", inner=True)
    assert not set(answers.tolist()) <= set(model.classes_.tolist())
    # the deepest node that is more probable than not costs least
    p = model.node_proba(X)
    for row, answer in zip(p, answers.tolist(), strict=True):
        assert row[TREE.id_of(answer)] >= 0.5
        assert all(row[TREE.id_of(child)] <= 0.5 + 1e-9 for child in TREE.children(answer))
    names, scores = model.top_k(X, 3, decision="tree_loss", inner=True)
    assert names[:, 0].tolist() == answers.tolist()
    assert (np.diff(scores, axis=1) <= 0).all()
    assert [path[-1] for path in model.predict_path(X, decision="tree_loss", inner=True)] == answers.tolist()
    assert model.predict(X, inner=True).tolist() == model.predict(X).tolist()


def test_equal_costs_go_to_the_first() -> None:
    cost = cost_by_table(np.zeros((2, 3)), 2, 3)
    assert cost(np.full((2, 1), 0.5)).tolist() == [[0.0]] * 3
    model, X = fitted()
    assert set(model.predict(X, decision=np.zeros((4, 4))).tolist()) == {model.classes_[0]}


@pytest.mark.parametrize(
    ("decision", "inner", "told"),
    [
        ("cheapest", False, "decision='cheapest' is not known"),
        (np.zeros((3, 4)), False, "a row per true class and a column per answer, 4 x 4"),
        (np.full((4, 4), np.nan), False, "finite numbers"),
        (np.zeros((4, 4)), True, "4 x 8"),
        ("probable", False, "several labels per row"),
        (lambda a, b: None, False, "the function of the true and the answered name failed"),
    ],
    ids=["word", "shape", "not finite", "too few columns", "several", "function"],
)
def test_what_is_no_decision_is_told(decision: Any, inner: bool, told: str) -> None:
    model, X = fitted()
    with pytest.raises(DataError, match=told):
        model.predict(X, decision=decision, inner=inner)


def test_decisions_need_probabilities_and_inner_nodes_a_taxonomy() -> None:
    from taxolearn import OneVsRestSVM

    X, y = np.eye(4), list("abcd")
    with pytest.raises(DataError, match="fit it again with probability=True"):
        OneVsRestSVM().fit(X, y).predict(X, decision="tree_loss")
    with pytest.raises(TaxonomyError, match="this model has none"):
        OneVsRestLogistic().fit(X, y).predict(X, inner=True)
    with pytest.raises(DataError, match="leave beam or decision out"):
        OneVsRestLogistic().fit(X, y).predict(X, decision="tree_loss", beam=2)
    with pytest.raises(DataError, match="'best', 'tree_loss'"):
        OneVsRestSVM(decision="dearest").fit(X, y)
    twice = np.repeat(X, 3, axis=0), y * 3
    model = OneVsRestSVM(decision="tree_loss", random_state=0).fit(np.tile(X, (3, 1)), twice[1])
    assert model.predict(X).tolist() == y


@pytest.mark.parametrize("inner", [False, True], ids=["classes", "nodes"])
@pytest.mark.parametrize(("mostly", "times"), [("", 1), ("mostly_", 3)])
def test_being_right_and_being_near_count(inner: bool, mostly: str, times: int) -> None:
    """The same as a table of both costs, each 1 at most; being right counts the same, or three times as much."""
    model, X = fitted()
    farthest = TREE.max_depth

    def by_distance(true: Any, answered: Any) -> float:
        return times * (true != answered) + tree_loss([true], [answered], TREE) / farthest

    def by_f1(true: Any, answered: Any) -> float:
        return times * (true != answered) + f1_cost([true], [answered], TREE)

    near = np.random.default_rng(1).normal(size=(40, X.shape[1]))
    for word, cost in (("accuracy_and_tree_loss", by_distance), ("accuracy_and_f1", by_f1)):
        found = model.predict(near, decision=mostly + word, inner=inner)
        assert found.tolist() == model.predict(near, decision=cost, inner=inner).tolist()
    assert found.tolist() != model.predict(near, decision="best").tolist()
