"""RecursiveSVM and RecursiveLogistic as estimators: the flat limit, solvers, new classes, checkpoints."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from recursive_cases import DAG, LOSSES, STAR, TREE, blobs, estimator, every_loss
from sklearn.datasets import load_wine

import taxolearn
from taxolearn import OneVsRestSVM, RecursiveLogistic, RecursiveSVM, Taxonomy
from taxolearn.errors import DataError, LabelError
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits
from taxolearn.solvers.choice import choose_solver
from taxolearn.solvers.tree_forest import make_forest


def test_a_flat_tree_with_a_pinned_root_is_one_vs_rest() -> None:
    X, y = blobs()
    ours = RecursiveSVM(STAR, tol=1e-13, random_state=0).fit(X, y)
    theirs = OneVsRestSVM(STAR, tol=1e-13, random_state=0).fit(X, y)
    assert ours.certificate_.primal == pytest.approx(theirs.certificate_.primal, rel=1e-12)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, -1.0),
        ({"intercept_scaling": 2.0}, -0.5),  # the intercept is twice that
        ({"intercept_prior": -0.3}, -0.3),
        ({"intercept_prior": 0}, 0.0),
        ({"weights": "leaf"}, 0.0),  # nothing shared: plain one-vs-rest
        ({"taxonomy": STAR}, 0.0),
        ({"taxonomy": STAR, "root": "free"}, -1.0),
        ({"taxonomy": DAG}, -1.0),
        ({"taxonomy": None}, 0.0),
        ({"fit_intercept": False}, 0.0),
        ({"loss": "logistic"}, -np.log(40)),
        ({"loss": "softmax"}, 0.0),
    ],
)
def test_where_intercepts_are_tied_to(options: dict[str, Any], expected: float) -> None:
    X, y = blobs()
    given = {"taxonomy": TREE, "loss": "hinge", "tol": 1e-3, **options}
    model = estimator(given.pop("loss"), given.pop("taxonomy"), **given)
    problem = make_problem(X, y, model.taxonomy)
    assert model._objective(problem).bias_prior == pytest.approx(expected)
    fitted = model.fit(X, y)
    named = LOSSES[model.loss](**{**model.get_params(), "intercept_prior": expected}).fit(X, y)
    assert fitted.certificate_.primal == named.certificate_.primal


def test_a_dag_that_is_long_as_a_tree_is_left_to_descent() -> None:
    tags = [f"t{k}" for k in range(8)]
    edges = [("all", tag) for tag in tags]
    subsets = [[tag for k, tag in enumerate(tags) if number >> k & 1] for number in range(1, 256)]
    edges += [(tag, "-".join(some)) for some in subsets if len(some) > 1 for tag in some]
    dag = Taxonomy.from_edges(edges)
    y = dag.leaves
    X = sp.csr_array(sp.random(len(y), 2000, 0.002, random_state=0))
    problem = make_problem(X, y, dag)
    objective = RecursiveSVM(dag)._objective(problem)
    assert make_forest(objective.tie, np.ones(problem.n_classes, dtype=bool)).unfolding > 8.0
    assert choose_solver(objective, Limits(5e-2), among=RecursiveSVM._solvers).name == "descent"


WEIGHTS = [1.0, 0.1, "leaf", "maxmin", "rho"]


@every_loss
@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@pytest.mark.parametrize("taxonomy", [TREE, DAG], ids=["tree", "dag"])
def test_a_label_at_an_inner_node_is_a_leaf_of_its_own(loss: str, weights: Any, taxonomy: Taxonomy) -> None:
    inner = ["animal", "plant"] if taxonomy is TREE else ["pet", "wild"]
    X, y = blobs([*inner, "cat", "rose"])
    options = {"weights": weights, "tol": 1e-7, "max_iter": 20_000}
    ours = estimator(loss, taxonomy, **options).fit(X, y)
    leaves = {name: f"{name} itself" for name in inner}
    larger = Taxonomy.from_edges([*taxonomy.edges, *leaves.items()])
    theirs = estimator(loss, larger, **options).fit(X, np.array([leaves.get(name, name) for name in y]))
    assert ours.certificate_.primal == pytest.approx(theirs.certificate_.primal, rel=1e-6)
    order = [theirs.classes_.tolist().index(leaves.get(name, name)) for name in ours.classes_]
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X)[:, order], atol=2e-3)


def test_a_node_may_have_the_name_of_an_own_node() -> None:
    tree = Taxonomy.from_edges([("all", "a"), ("a", "x"), ("a", ("own node of", "a"))])
    plain = Taxonomy.from_edges([("all", "a"), ("a", "x"), ("a", "z")])
    X, y = blobs(["a", "x"], spread=0.1)
    found = [RecursiveSVM(taxonomy, weights="maxmin").fit(X, y).node_weights_ for taxonomy in (tree, plain)]
    np.testing.assert_array_equal(*found)


def test_leaf_weights_are_flat_with_labels_at_inner_nodes_too() -> None:
    X, y = blobs(["animal", "cat", "dog", "rose"])
    ours = RecursiveSVM(TREE, weights="leaf", tol=1e-8, random_state=0).fit(X, y)
    theirs = OneVsRestSVM(TREE, tol=1e-8, random_state=0).fit(X, y)
    assert ours.classes_.tolist() == [*theirs.classes_.tolist(), "oak"]  # a leaf without rows
    np.testing.assert_allclose(ours.decision_function(X)[:, :4], theirs.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("solver", ["tree", "descent", "newton", "levels"])
def test_solvers_agree_on_labels_at_inner_nodes(solver: str) -> None:
    X, y = blobs(["animal", "cat", "dog", "plant"])
    given = np.array([0.0, 0.5, 2.0, 1.0, 1.0, 3.0, 1.0])
    for inner_labels in ("own", "shared"):
        options = {"weights": given, "inner_labels": inner_labels, "tol": 1e-6, "max_iter": 20_000}
        model = RecursiveSVM(TREE, solver=solver, random_state=0, **options).fit(X, y)
        tie = model._tie(make_problem(X, y, TREE, empty_classes="keep"))
        assert tie.scale.tolist() == [*given, *([1.0, 1.0] if inner_labels == "own" else [])]
        assert model.certificate_.holds(1e-6)
        reference = RecursiveSVM(TREE, random_state=0, **options).fit(X, y)
        assert model.certificate_.primal == pytest.approx(reference.certificate_.primal, rel=2e-6)


def test_a_shared_label_has_what_those_below_it_inherit() -> None:
    X, y = blobs(["animal", "cat", "rose", "oak"])
    model = RecursiveSVM(TREE, inner_labels="shared", tol=1e-3, random_state=0).fit(X, y)
    own = RecursiveSVM(TREE, tol=1e-3, random_state=0).fit(X, y)
    animal, dog = (model.classes_.tolist().index(name) for name in ("animal", "dog"))
    # dog has no rows: it has the vector of animal, which the class there has as well, or not
    np.testing.assert_allclose(model.coef_[dog], model.coef_[animal], atol=1e-9)
    assert np.abs(own.coef_[dog] - own.coef_[animal]).max() > 0.1


def test_features_of_very_different_sizes() -> None:
    X, y = load_wine(return_X_y=True)
    names = np.array(["cat", "dog", "rose"])[y]
    for C in (1.0, 100.0):
        model = RecursiveSVM(TREE, C=C, random_state=0).fit(X, names)
        assert model.certificate_.holds(5e-2)
        assert model.score(X, names) > 0.95


def test_rows_without_weight_do_not_move_the_prior() -> None:
    X, y = blobs()
    weight = np.repeat([1.0, 0.0], 20)
    whole = RecursiveLogistic(TREE, tol=1e-8).fit(X, y, sample_weight=weight)
    part = RecursiveLogistic(TREE, tol=1e-8).fit(X[:20], y[:20])
    np.testing.assert_allclose(whole.coef_, part.coef_, atol=1e-4)
    np.testing.assert_allclose(whole.intercept_, part.intercept_, atol=1e-4)


def test_where_losses_count_little_intercepts_are_the_prior() -> None:
    X, y = blobs()
    model = RecursiveSVM(TREE, C=1e-6, tol=1e-6, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.intercept_, -1.0, atol=1e-3)
    free = RecursiveSVM(TREE, C=1e-6, tol=1e-6, random_state=0, intercept_prior=0.0).fit(X, y)
    np.testing.assert_allclose(free.intercept_, 0.0, atol=1e-3)


@every_loss
@pytest.mark.parametrize("taxonomy", [None, TREE, DAG], ids=["flat", "tree", "dag"])
def test_every_loss_fits_certifies_and_is_saved(loss: str, taxonomy: Any, tmp_path: Path) -> None:
    X, y = blobs()
    model = estimator(loss, taxonomy, tol=1e-3).fit(X, y, sample_weight=np.linspace(0.5, 2.0, len(y)))
    assert model.certificate_.holds(1e-3)
    assert model.score(X, y) > 0.6
    scores = model.decision_function(X)
    np.testing.assert_allclose(model.decision_function(sp.csr_array(X)), scores, atol=1e-9)
    if taxonomy is not None:
        assert model.predict_path(X[:1])[0][-1] == model.predict(X[:1])[0]
    model.save(tmp_path)
    loaded = taxolearn.load(tmp_path)
    np.testing.assert_allclose(loaded.decision_function(X), scores, rtol=1e-12)
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert np.array_equal(loaded.node_weights_, model.node_weights_)
    assert loaded.get_params() == model.get_params()
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X), rtol=1e-12)
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
def test_several_labels_a_row(loss: str) -> None:
    X, y = blobs()
    sets = [[name, "animal"] if name == "cat" else [name] for name in y.tolist()]
    model = estimator(loss, TREE, tol=1e-2).fit(X, sets)
    assert model.certificate_.holds(1e-2)
    assert model.classes_.tolist() == ["animal", "cat", "dog", "rose", "oak"]
    assert isinstance(model.predict(X), list)
    with pytest.raises(LabelError, match="has 2 labels, and this loss takes one label per row"):
        estimator("softmax", TREE).fit(X, sets)


def grown() -> tuple[Any, Any, Any, Any, Taxonomy]:
    X, y = blobs(n=120, spread=2.0)
    rng = np.random.default_rng(1)
    new = np.array([0.0, 0.0, 0.0, 0.0, 2.0]) + rng.normal(size=(10, 5))
    larger = Taxonomy.from_paths(
        [*(f"all/animal/{n}" for n in ("cat", "dog", "emu")), "all/plant/rose", "all/plant/oak"]
    )
    return X, y, new, ["emu"] * 10, larger


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("loss", "solver"),
    [
        ("squared_hinge", "tree"),
        ("squared_hinge", "levels"),
        ("hinge", "descent"),
        ("hinge", "tree"),
        ("logistic", "newton"),
    ],
)
def test_new_classes_reach_the_gap_of_a_fresh_fit_in_fewer_passes(loss: str, solver: str) -> None:
    X, y, new, names, larger = grown()
    model = estimator(loss, TREE, tol=1e-4, warm_start=True, solver=solver).fit(X, y)
    model.add_classes(larger, new, names)
    assert model.certificate_.holds(1e-4)
    assert model.classes_.tolist() == ["cat", "dog", "emu", "rose", "oak"]
    fresh = estimator(loss, larger, tol=1e-4, solver=solver).fit(np.vstack([X, new]), [*y.tolist(), *names])
    assert model.certificate_.primal == pytest.approx(fresh.certificate_.primal, rel=2e-4)
    assert model.n_iter_ < fresh.n_iter_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": np.ones(7)}, r"^node weights have shape \(7,\), but the taxonomy has 8 nodes"),
        ({"solver": "levels"}, "^solver='levels' needs a tree"),
    ],
    ids=["weights", "levels"],
)
def test_new_classes_that_fail_leave_the_model_as_it_was(options: dict[str, Any], message: str) -> None:
    X, y, new, names, larger = grown()
    model = RecursiveSVM(TREE, warm_start=True, random_state=0, **options).fit(X, y)
    before = model.decision_function(X)
    if "solver" in options:
        larger = Taxonomy.from_edges([*larger.edges, ("plant", "emu")])
    with pytest.raises(DataError, match=message):
        model.add_classes(larger, new, names)
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert model.taxonomy is TREE
    wanted: dict[str, Any] = {"weights": np.ones(8)} if "weights" in options else {"solver": "auto"}
    assert model.set_params(**wanted).add_classes(larger, new, names).classes_.size == 5


def test_new_classes_need_what_was_kept() -> None:
    X, y, new, names, larger = grown()
    with pytest.raises(
        DataError, match="add_classes needs a one-vs-rest loss, a taxonomy, and a fit with warm_start"
    ):
        RecursiveSVM(TREE).fit(X, y).add_classes(larger, new, names)
    model = RecursiveSVM(TREE, warm_start=True).fit(X, y)
    with pytest.raises(taxolearn.errors.TaxolearnError, match="dog"):
        model.add_classes(Taxonomy.from_paths(["all/cat", "all/rose", "all/oak", "all/emu"]), new, names)
    with pytest.raises(DataError, match="X has 10 rows and y has 1"):
        model.add_classes(larger, new, ["emu"])


KILLED = textwrap.dedent(
    """
    import sys
    import numpy as np
    from taxolearn import RecursiveSVM, Taxonomy

    def data():
        rng = np.random.default_rng(0)
        names = [f"leaf{k}" for k in range(12)]
        y = [names[k] for k in rng.integers(12, size=150)]
        centres = dict(zip(names, rng.normal(size=(12, 30))))
        X = np.array([centres[name] for name in y]) + 2.0 * rng.normal(size=(150, 30))
        return X, y, Taxonomy.from_paths([f"all/t{k % 3}/{name}" for k, name in enumerate(names)])

    def model(folder, tol, max_iter=10**6):
        X, y, tree = data()
        estimator = RecursiveSVM(
            tree, C=10.0, tol=tol, max_iter=max_iter, solver="tree", random_state=0,
            checkpoint=folder, checkpoint_seconds=1e-3,
        )
        return estimator.fit(X, y)

    if __name__ == "__main__":
        model(sys.argv[1], 1e-300)  # without an end of its own
    """
)


def test_a_killed_fit_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    script, folder = tmp_path / "killed_fit.py", tmp_path / "checkpoint"
    script.write_text(KILLED)
    process = subprocess.Popen([sys.executable, str(script), str(folder)], stderr=subprocess.PIPE)
    try:
        end = time.monotonic() + 120
        while not (folder / "model.json").exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(1.0)  # some passes more
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
    finally:
        process.kill()
        process.communicate()
    assert process.returncode != 0
    scope: dict[str, Any] = {"__name__": "killed_fit"}
    exec(KILLED, scope)
    fresh = scope["model"](None, 1e-3)
    resumed = scope["model"](folder, 1e-3)
    assert resumed.certificate_.holds(1e-3)
    assert resumed.history_[0].gap < fresh.history_[0].gap
    assert resumed.n_iter_ < fresh.n_iter_
    assert resumed.certificate_.primal == pytest.approx(fresh.certificate_.primal, rel=2e-3)
    X, y, tree = scope["data"]()
    with pytest.raises(
        DataError, match="belongs to other rows, labels or parameters; delete it, or give another"
    ):
        RecursiveSVM(tree, C=10.0, checkpoint=folder).fit(X + 1.0, y)
    with pytest.raises(DataError, match="belongs to other rows, labels or parameters"):
        RecursiveSVM(tree, C=9.0, checkpoint=folder).fit(X, y)
    (folder / "model.json").write_text("{}")
    with pytest.warns(UserWarning, match=r"checkpoint=.* is damaged .*damaged-1', and the fit starts anew"):
        RecursiveSVM(tree, C=10.0, checkpoint=folder).fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("loss", "solver"),
    [
        ("squared_hinge", "tree"),
        ("hinge", "descent"),
        ("logistic", "descent"),
        ("softmax", "descent"),
        ("squared_hinge", "auto"),
        ("logistic", "auto"),
    ],
)
def test_every_solver_goes_on_from_its_checkpoint(loss: str, solver: str, tmp_path: Path) -> None:
    X, y = blobs(spread=2.0)
    options = {"solver": solver, "tol": 1e-5, "checkpoint": tmp_path / "duals", "checkpoint_seconds": 1e-9}
    fresh = estimator(loss, TREE, **{**options, "checkpoint": tmp_path / "other"}).fit(X, y)
    passes = max(1, fresh.n_iter_ - 2)
    estimator(loss, TREE, max_iter=passes, **options).fit(X, y)  # given up
    again = estimator(loss, TREE, **options).fit(X, y)
    assert again.certificate_.holds(1e-5)
    assert again.n_iter_ < fresh.n_iter_
    assert estimator(loss, TREE, **options).fit(X, y).n_iter_ <= 1  # the end is written too
    with pytest.raises(DataError, match="belongs to other rows, labels or parameters"):
        estimator(loss, TREE, C=9.0, **options).fit(X, y)
    with pytest.raises(DataError, match="checkpoint needs a solver that goes on from duals, not solver='"):
        estimator(loss, TREE, **{**options, "solver": "newton" if loss != "hinge" else "levels"}).fit(X, y)


@pytest.mark.parametrize("options", [{"probability": True}, {"thresholds": "tuned"}], ids=str)
def test_a_trial_on_fewer_rows_leaves_the_checkpoint_alone(options: dict[str, Any], tmp_path: Path) -> None:
    X, y = blobs()
    sets = [[name, "animal"] if name == "cat" else [name] for name in y.tolist()]
    model = RecursiveSVM(TREE, checkpoint=tmp_path / "duals", checkpoint_seconds=1e-6, **options)
    assert model.fit(X, sets).certificate_.holds(5e-2)
    assert model.fit(X, sets).history_[0].gap <= 5e-2  # from where the first ended


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "logistic"}, "loss='logistic' is not known; choose 'squared_hinge' or 'hinge'"),
        ({"root": "loose"}, "root='loose' is not known; choose 'pinned' or 'free'"),
        (
            {"solver": "best"},
            "solver='best' is not known; choose 'auto', 'tree', 'descent', 'newton', 'lbfgs', 'levels' or 'interior'",
        ),
        ({"weights": -1.0}, "weights=-1.0 is not allowed; give a positive number"),
        ({"weights": [1.0, 2.0]}, r"node weights have shape \(2,\), but the taxonomy has 7 nodes"),
        ({"intercept_prior": "no"}, "intercept_prior='no' is not allowed; give a number or 'auto'"),
        ({"weights": {"a": 1.0}}, "weights is a dict; give a number for inner nodes, one per node"),
        ({"inner_labels": "no"}, "inner_labels='no' is not known; choose 'own' or 'shared'"),
        ({"checkpoint": 3}, "checkpoint=3 is not allowed; give a folder"),
        ({"checkpoint_seconds": 0}, "checkpoint_seconds=0 is not allowed; give a positive number"),
    ],
)
def test_bad_parameters_are_named(options: dict[str, Any], message: str) -> None:
    X, y = blobs()
    with pytest.raises(DataError, match=f"^{message}"):
        RecursiveSVM(TREE, **options).fit(X, y)
