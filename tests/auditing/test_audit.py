"""`audit` end to end: what is planted is found, what is clean is left alone, every form of input works."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import taxolearn
from taxolearn import NormalizedHierarchicalSVM, OneVsRestSVM, Taxonomy
from taxolearn.errors import DataError, LabelError, TaxonomyError

TREE = Taxonomy.from_paths([["r", branch, f"{branch}{leaf}"] for branch in "abc" for leaf in "wxyz"])


def rows(
    per_class: int = 15, seed: int = 0, spread: float = 1.5, loose: str | None = None
) -> tuple[Any, Any]:
    """Rows around sums along paths; the classes under `loose` have nothing of that node."""
    rng = np.random.default_rng(seed)
    steps = 1.2 * rng.normal(size=(TREE.n_nodes, 12))
    if loose is not None:
        steps[TREE.id_of(loose)] = 0.0
    centres = TREE.ancestor_matrix(TREE.leaf_ids) @ steps
    which = np.repeat(np.arange(TREE.n_leaves), per_class)
    X = centres[which] + spread * rng.normal(size=(len(which), 12))
    return X, np.array(TREE.leaves)[which]


def moved(node: str, to: str, tree: Taxonomy = TREE) -> Taxonomy:
    return Taxonomy.from_edges([edge for edge in tree.edges if edge[1] != node] + [(to, node)])


def test_a_clean_taxonomy_is_left_alone() -> None:
    X, y = rows()
    found = taxolearn.audit(X, y, TREE, n_folds=3)
    assert found.n_findings == 0
    assert found.moves == ()
    assert "Nothing in the taxonomy is out of place beyond noise." in found.to_text()


@pytest.mark.parametrize("as_sparse", [False, True])
def test_a_misplaced_class_is_found_and_its_move_tried(as_sparse: bool) -> None:
    X, y = rows()
    found = taxolearn.audit(sp.csr_array(X) if as_sparse else X, y, moved("ax", "b"), n_folds=3)
    assert [(one.node, one.parent, one.better) for one in found.misplaced] == [("ax", "b", "a")]
    assert found.loose == ()
    (move,) = found.moves
    assert (move.node, move.parent, move.to) == ("ax", "b", "a")
    assert move.change == pytest.approx(move.f1_after - move.f1_before)
    assert move.error > 0
    assert found.hierarchical_f1 == move.f1_before
    assert "ax (under b) shares more with the classes under a" in str(found)
    one = found.misplaced[0]
    says = "agrees" if one.agrees else "does not say so"
    assert f"The learned graph {says}: mean weight" in one.sentence
    assert found.graph is not None
    assert set(found.graph.nodes) == set(TREE.leaves)
    assert found.agreement == found.graph.compare(moved("ax", "b")).auc
    ties = found.to_dict()["graph"]
    mean = np.mean(
        [weight for a, b, weight in ties if "ax" in (a, b) and {a, b} & {"aw", "ay", "az"}] or [0.0]
    )
    assert one.tie_better is not None
    assert (one.tie_better > 0) == (mean > 0)


def test_the_same_seed_finds_the_same() -> None:
    X, y = rows()
    first, second = (
        taxolearn.audit(X, y, moved("ax", "b"), max_moves=0, random_state=3, n_folds=3) for _ in range(2)
    )
    assert first.to_dict() == second.to_dict()
    np.testing.assert_array_equal(first.ranking, second.ranking)


def test_a_node_whose_children_share_nothing() -> None:
    """Six branches in 150 features, so that what is drawn apart has nothing in common by chance."""
    tree = Taxonomy.from_paths([["r", branch, f"{branch}{leaf}"] for branch in "abcdef" for leaf in "xyz"])
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(tree.n_nodes, 150))
    steps[tree.id_of("b")] = 0.0
    which = np.repeat(np.arange(18), 15)
    X = (tree.ancestor_matrix(tree.leaf_ids) @ steps)[which] + rng.normal(size=(len(which), 150))
    found = taxolearn.audit(X, np.array(tree.leaves)[which], tree, n_folds=3)
    assert [one.node for one in found.loose] == ["b"]
    assert found.misplaced == ()
    assert found.loose[0].upper < 0.25 * found.loose[0].typical
    assert "The children of b (bx, by, bz) share nothing" in found.to_text()
    assert [(one.node, one.parent, one.to) for one in found.moves] == [("b", "r", None)]


def test_a_node_of_children_from_other_branches_is_loose_too() -> None:
    X, y = rows(spread=0.8)
    paths = [["r", b, f"{b}{leaf}"] for b in "abc" for leaf in "xyz"] + [["r", "m", f"{b}w"] for b in "abc"]
    found = taxolearn.audit(X, y, Taxonomy.from_paths(paths), max_moves=0)
    assert [one.node for one in found.loose] == ["m"]


def test_planted_wrong_labels_come_first_and_are_listed() -> None:
    X, y = rows(spread=0.8)
    wrong = np.random.default_rng(1).choice(len(y), 12, replace=False)
    noisy = y.copy()
    noisy[wrong] = np.where(y[wrong] == "cz", "aw", "cz")
    found = taxolearn.audit(X, noisy, TREE, max_moves=0, n_folds=3)
    assert np.isin(found.ranking[:12], wrong).mean() >= 0.8
    assert len(found.ranking) == len(y)
    suspect = next(one for one in found.suspects if one.row in wrong)
    assert suspect.label == noisy[suspect.row]
    assert suspect.margin < 0 < suspect.noise
    assert np.isin([one.row for one in found.suspects], wrong).mean() >= 0.7


def test_near_duplicates_are_named_only_where_rows_suffice() -> None:
    X, y = rows(per_class=80)
    rng = np.random.default_rng(0)
    halved = np.where((y == "ax") & (rng.random(len(y)) < 0.5), "az", y)
    halved = np.where((y == "az") | (halved == "az"), np.where(y == "ax", "az", "ay"), halved)
    found = taxolearn.audit(X, np.where(y == "az", "ay", halved), TREE, max_moves=0)
    assert [{one.first, one.second} for one in found.twins] == [{"ax", "az"}]
    few = np.flatnonzero(np.arange(len(y)) % 10 == 0)
    assert taxolearn.audit(X[few], y[few], TREE, max_moves=0).twins == ()


def test_several_labels_inner_labels_a_dag_and_classes_with_few_rows() -> None:
    X, y = rows()
    dag = Taxonomy.from_edges([*TREE.edges, ("b", "ax"), ("c", "rare")])
    names = [["b"] if name == "bz" else [name] for name in y]  # labels at an inner node
    for row in range(0, len(names), 20):
        names[row] = [*names[row], "cy"] if "cy" not in names[row] else names[row]
    names[0] = ["rare"]
    found = taxolearn.audit(X, names, dag, n_folds=3)
    assert found.skipped == ("rare",)
    assert "1 classes have too few rows" in found.to_text()
    assert np.isnan(found.margins[0])
    assert 0 not in found.ranking
    json.dumps(found.to_dict())


def test_another_method_another_scorer_and_another_likeness() -> None:
    X, y = rows(spread=0.8)
    flat = OneVsRestSVM(C=0.1, tol=1e-2)
    fits: list[int] = []
    found = taxolearn.audit(
        X, y, moved("ax", "b"), estimator=NormalizedHierarchicalSVM(tol=1e-2), scorer=flat, likeness=flat,
        n_folds=3, on_fit=fits.append,
    )  # fmt: skip
    assert [(one.node, one.better) for one in found.misplaced] == [("ax", "a")]
    assert fits == list(range(1, len(fits) + 1))


def test_refusals_in_one_sentence() -> None:
    X, y = rows(per_class=4)
    with pytest.raises(TaxonomyError, match="an audit needs the taxonomy of the labels, not None"):
        taxolearn.audit(X, y, None)  # type: ignore[arg-type]
    for wrong in ({"n_folds": 1}, {"alpha": 2.0}, {"max_moves": -1}, {"estimator": "svm"}):
        with pytest.raises(DataError, match=f"{next(iter(wrong))}="):
            taxolearn.audit(X, y, TREE, **wrong)  # type: ignore[arg-type]
    with pytest.raises(LabelError, match="an audit compares three at least"):
        taxolearn.audit(X[:8], y[:8], TREE)
    with pytest.raises(DataError, match="no class has 3 rows"):
        taxolearn.audit(X[::4], y[::4], TREE)
