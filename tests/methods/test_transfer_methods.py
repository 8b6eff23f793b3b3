"""Recursive classifiers as estimators: inner labels, single children, empty classes, DAGs, K, and their companions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import taxolearn
from reference import transfer_twin as twin
from taxolearn import (
    HierarchicalSVM,
    MulticlassSVM,
    OneVsRestLogistic,
    OneVsRestSVM,
    OrthogonalTransferSVM,
    Taxonomy,
    TopDownSVM,
    TransferSVM,
    TreeLossSVM,
)
from taxolearn.errors import DataError, EmptyClassWarning, LabelError, TaxonomyError

TREE = Taxonomy.from_paths(["r/a/b/c", "r/a/b/d", "r/e/f", "r/g"])  # a and e have one child
RECURSIVE = pytest.mark.parametrize("kind", [TransferSVM, OrthogonalTransferSVM])


def rows(y, seed: int = 0):
    rng = np.random.default_rng(seed)
    centre = {name: 2.0 * rng.normal(size=4) for name in TREE.nodes}
    X = np.array([sum(centre[k] for k in TREE.ancestors(name, include_self=True)) for name in y])
    return X + 0.5 * rng.normal(size=X.shape)


@RECURSIVE
def test_labels_at_inner_nodes_are_passed_and_answers_are_leaves(kind) -> None:
    y = ["c", "d", "f", "g", "a", "b", "e"] * 8
    X = rows(y)
    model = kind(TREE, C=1.0).fit(X, y)
    assert model.classes_.tolist() == [name for name in TREE.nodes if name != "r"]
    predicted = model.predict(X)
    assert set(predicted) <= set(TREE.leaves)
    inside = [want in TREE.ancestors(got, include_self=True) for want, got in zip(y, predicted, strict=True)]
    assert np.mean(inside) > 0.9  # right in the sense of the paper
    names, scores = model.top_k(X, 3)
    assert names[:, 0].tolist() == predicted.tolist()
    assert np.all(scores[:, 0] == 0)
    assert np.all(scores[:, 1:] < 0)
    for row, got in zip(names, predicted, strict=True):  # what was passed on the way comes right after
        passed = [name for name in TREE.ancestors(got) if name != "r"]
        assert not passed or row[1] in passed


@RECURSIVE
def test_a_class_with_no_rows_below_is_an_answer(kind) -> None:
    y = ["a", "f", "g"] * 8
    with pytest.warns(EmptyClassWarning, match="2 of the taxonomy's 4 leaves"):
        model = kind(TREE, C=1.0).fit(rows(y), y)
    assert set(model.predict(rows(y))) == {"a", "f", "g"}


@RECURSIVE
def test_label_at_the_root_asks_for_nothing(kind) -> None:
    y = ["c", "d", "f", "g", "r"] * 6
    X = rows(y)
    model = kind(TREE, C=1.0).fit(X, y)
    other = kind(TREE, C=1.0).fit(X[np.array(y) != "r"], [name for name in y if name != "r"])
    np.testing.assert_allclose(model.certificate_.primal, other.certificate_.primal, rtol=2e-3)
    assert "r" not in set(model.predict(X))


@RECURSIVE
def test_dags_are_refused_with_another_method(kind) -> None:
    dag = Taxonomy.from_edges([*TREE.edges, ("e", "c")])
    with pytest.raises(TaxonomyError, match="DAG; use RecursiveSVM"):
        kind(dag).fit(rows(["c", "d"]), ["c", "d"])


@RECURSIVE
def test_nothing_to_decide(kind) -> None:
    with pytest.raises(LabelError, match="nothing to decide; use TopDownSVM"):
        kind(TREE).fit([[0.0], [1.0]], ["e", "f"])


@RECURSIVE
def test_without_a_taxonomy_it_is_the_multiclass_svm(kind) -> None:
    y = ["c", "d", "f", "g"] * 6
    X = rows(y)
    given = {"C": 0.5, "tol": 1e-6, "max_iter": 10_000, "random_state": 0}
    one, other = kind(**given).fit(X, y), MulticlassSVM(**given).fit(X, y)
    np.testing.assert_allclose(one.certificate_.primal, other.certificate_.primal, rtol=1e-5)


@RECURSIVE
def test_the_primal_is_that_of_the_definition(kind) -> None:
    y = ["c", "d", "f", "g", "b"] * 5
    X = rows(y)
    given = {"alpha": 0.5} if kind is OrthogonalTransferSVM else {}
    model = kind(TREE, C=0.3, tol=1e-5, **given).fit(X, y)
    from taxolearn.decoders import unit_nodes
    from taxolearn.problem import make_problem

    nodes = [TREE.name_of(node) for node in unit_nodes(make_problem(X, y, TREE))]
    assert nodes == ["a", "e", "g", "c", "d"]
    units = np.hstack([model.vectors_.coef, model.vectors_.intercept[:, None]])
    W = {name: np.zeros(5) for name in TREE.nodes} | dict(zip(nodes, units, strict=True))
    if kind is OrthogonalTransferSVM:
        penalty = twin.orthogonal_penalty(W, twin.penalties(TREE, 0.5))
    else:  # b and f have no sibling: they stand where their neighbours pull them
        W["b"] = (W["a"] + W["c"] + W["d"]) / 4
        W["f"] = W["e"] / 2
        penalty = twin.transfer_penalty(W, TREE)
    Z, alive = twin.with_constant(X, 1.0), twin.nodes_with_rows(TREE, y)
    losses = sum(
        twin.loss_of(W, z, twin.constraints(TREE, name, alive)) for z, name in zip(Z, y, strict=True)
    )
    np.testing.assert_allclose(model.certificate_.primal, penalty + 0.3 * losses, rtol=1e-10)


def test_alpha_and_K() -> None:
    y = ["c", "d", "f", "g"] * 6
    X = rows(y)
    with pytest.raises(DataError, match="give alpha below"):
        OrthogonalTransferSVM(TREE, alpha=5.0).fit(X, y)
    with pytest.raises(DataError, match="alpha=-1"):
        OrthogonalTransferSVM(TREE, alpha=-1.0).fit(X, y)
    K = np.diag(np.arange(1.0, TREE.n_nodes + 1))
    K[1, 3] = K[3, 1] = 0.5
    with pytest.raises(DataError, match=r"alpha=0\.5 belongs to K"):
        OrthogonalTransferSVM(TREE, alpha=0.5, K=K).fit(X, y)
    with pytest.raises(DataError, match="K has shape"):
        OrthogonalTransferSVM(TREE, K=np.eye(2)).fit(X, y)
    dense, sparse = (
        OrthogonalTransferSVM(TREE, K=given, tol=1e-5, random_state=0).fit(X, y)
        for given in (K, sp.csr_array(K))
    )
    assert dense.certificate_.holds(1e-5)
    np.testing.assert_allclose(dense.certificate_.primal, sparse.certificate_.primal, rtol=1e-9)
    six, auto = (OrthogonalTransferSVM(TREE, alpha=a, tol=1e-5).fit(X, y) for a in (0.0, "auto"))
    assert six.certificate_.primal < auto.certificate_.primal  # products that cost something cost more


def test_saved_with_K_and_loaded(tmp_path) -> None:
    y = ["c", "d", "f", "g"] * 6
    X = rows(y)
    K = np.diag(np.arange(1.0, TREE.n_nodes + 1))
    model = OrthogonalTransferSVM(TREE, K=K).fit(X, y)
    model.save(tmp_path / "model")
    loaded = taxolearn.load(tmp_path / "model")
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    np.testing.assert_array_equal(loaded.K, K)


@RECURSIVE
def test_warm_starts_and_checkpoints_go_on(kind, tmp_path) -> None:
    y = ["c", "d", "f", "g"] * 10
    X = rows(y)
    model = kind(TREE, C=0.1, tol=1e-4, warm_start=True, random_state=0, solver="dual").fit(X, y)
    again = model.fit(X, y)
    assert again.n_iter_ == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind(TREE, C=0.1, tol=1e-9, max_iter=3, checkpoint=tmp_path, checkpoint_seconds=1e-9).fit(X, y)
    assert kind(TREE, C=0.1, tol=1e-4, checkpoint=tmp_path).fit(X, y).certificate_.holds(1e-4)


def test_tree_loss_is_the_hierarchical_svm_with_half_its_C() -> None:
    y = ["c", "d", "f", "g", "b"] * 6
    X = rows(y)
    one = TreeLossSVM(TREE, C=0.4, tol=1e-6, max_iter=10_000).fit(X, y).certificate_
    other = HierarchicalSVM(TREE, C=0.2, cost="tree", rescaling="slack", tol=1e-6, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(one.primal, other.certificate_.primal, rtol=1e-5)


@pytest.mark.parametrize(("loss", "kind"), [("squared_hinge", OneVsRestSVM), ("logistic", OneVsRestLogistic)])
def test_top_down_one_against_the_rest_is_a_flat_model_at_each_node(loss: str, kind) -> None:
    y = np.array(["c", "d", "f", "g"] * 8)
    X = rows(y.tolist())
    model = TopDownSVM(TREE, C=0.5, loss=loss, tol=1e-6, random_state=0).fit(X, y)
    at_root = {"c": "a", "d": "a", "f": "e", "g": "g"}
    root = kind(C=0.5, tol=1e-6, random_state=0).fit(X, [at_root[name] for name in y])
    np.testing.assert_allclose(model.vectors_.coef[:3], root.coef_, atol=1e-4)
    under_b = np.isin(y, ["c", "d"])
    pair = kind(C=0.5, tol=1e-6, random_state=0).fit(X[under_b], y[under_b])
    np.testing.assert_allclose(model.vectors_.coef[4:5], pair.coef_, atol=1e-4)
    assert model.certificate_.holds(1e-5)
    assert model.fit(X, y).predict(X).tolist() == model.predict(X).tolist()


def test_a_solver_that_the_loss_does_not_suit_is_refused() -> None:
    with pytest.raises(DataError, match="solver='dual' needs a loss of the kind structured"):
        TopDownSVM(TREE, loss="logistic", solver="dual").fit(rows(["c", "d"]), ["c", "d"])
