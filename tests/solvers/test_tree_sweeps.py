"""Tree sweeps against cone programmes, the flat solver and the certificate."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from taxolearn import Taxonomy
from taxolearn.certificates import certify
from taxolearn.datasets import make_text_like
from taxolearn.engines import Clock, ThreadEngine, running
from taxolearn.errors import DataError
from taxolearn.losses import MARGIN_LOSSES, Logistic
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import (
    Limits,
    Start,
    Status,
    solve_one_vs_rest,
    solve_path_descent,
    tree_sweeps,
    tree_tasks,
    tree_vectors,
)
from taxolearn.solvers.tree_sweeps import solve_tree_sweeps
from taxolearn.ties import flat, path_sum
from taxolearn.vectors import NodeVectors
from taxolearn.vectors.dual_vectors import DualVectors

HINGES = ("hinge", "squared_hinge")
every_hinge = pytest.mark.parametrize("name", HINGES)
TREE = Taxonomy.from_edges(
    [("all", "a"), ("all", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1"), ("b1", "b11"), ("all", "c")]
)
DAG = Taxonomy.from_edges([*TREE.edges, ("b", "a2"), ("a", "b1"), ("b1", "b12"), ("c", "b12"), ("all", "d")])


def cone_optimum(name, problem, tie, C, bias_feature, bias_prior):
    """The objective as it is written down, solved by clarabel; returns its value and the class weights."""
    import cvxpy as cp

    X = problem.X.toarray() if sp.issparse(problem.X) else np.asarray(problem.X)
    X = X.astype(np.float64)
    paths = tie.paths.toarray()
    positive = tie.scale > 0
    has = problem.targets.toarray() > 0
    cost = C * problem.row_weight[:, None] * np.where(has, problem.positive_weight, problem.negative_weight)
    cost = cost * (problem.row_weight @ has > 0)  # classes without rows have no losses
    U = cp.Variable((int(positive.sum()), X.shape[1]))
    b = cp.Variable(problem.n_classes)
    W = paths[:, positive] @ U
    scores = X @ W.T + bias_feature * np.ones((len(X), 1)) @ cp.reshape(b, (1, problem.n_classes), order="C")
    slack = cp.pos(1 - cp.multiply(np.where(has, 1.0, -1.0), scores))
    losses = slack if name == "hinge" else cp.square(slack)
    penalty = cp.sum_squares(cp.multiply(1 / np.sqrt(tie.scale[positive])[:, None], U))
    objective = 0.5 * penalty + 0.5 * cp.sum_squares(b - bias_prior) + cp.sum(cp.multiply(cost, losses))
    programme = cp.Problem(cp.Minimize(objective))
    programme.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    assert programme.status == cp.OPTIMAL
    return float(programme.value), W.value


def some(labels, several=False, seed=0, n=18, width=4, form=sp.csr_array, **options):
    """A small problem with every label at least once."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width)) * (rng.random((n, width)) < 0.8)
    y = [[str(label)] for label in rng.choice(labels, n)]
    for k, label in enumerate(labels):
        y[k] = [label]
    if several:
        y = [sorted({*row, str(rng.choice(labels))}) for row in y]
    return make_problem(form(X), y, options.pop("taxonomy", TREE), **options)


def objective_of(problem, name="squared_hinge", C=1.0, seed=None, root=0.0, **bias):
    return Objective(problem, MARGIN_LOSSES[name], tie_of(problem, seed, root), C, **bias)


def tie_of(problem, seed=None, root=0.0):
    tree = problem.taxonomy
    scale = (
        np.ones(tree.n_nodes) if seed is None else np.random.default_rng(seed).uniform(0.2, 3.0, tree.n_nodes)
    )
    scale[0] = root
    return path_sum(tree, problem.class_nodes, scale)


LEAVES = ["a1", "a2", "b11", "c"]
DAG_LEAVES = ["a1", "a2", "b11", "b12", "d"]
WEIGHTS = np.random.default_rng(9).choice([0.0, 0.5, 1.0, 4.0], size=18)
WEIGHTS[:5] = 1.0
CASES = {
    "leaves": lambda: (some(LEAVES), {}),
    "several labels": lambda: (some(LEAVES, several=True), {"C": 0.3}),
    "node weights": lambda: (some(LEAVES), {"scale": 3}),
    "row and class weights": lambda: (
        some(LEAVES, sample_weight=WEIGHTS, class_weight={"a1": 3.0, "c": 0.5}),
        {"scale": 4, "C": 2.0},
    ),
    "inner labels": lambda: (some(["a", "a1", "b", "b11", "c"]), {"scale": 5}),
    "the root a label": lambda: (some(["all", "a1", "a2", "b11"]), {}),
    "free root": lambda: (some(LEAVES), {"root": 0.7}),
    "no intercept": lambda: (some(LEAVES), {"bias_feature": 0.0}),
    "bias prior": lambda: (some(LEAVES), {"bias_feature": 2.0, "bias_prior": -1.0}),
    "classes without rows": lambda: (some(["a1", "b11", "c"], empty_classes="keep"), {"scale": 6}),
    "DAG": lambda: (some(DAG_LEAVES, taxonomy=DAG), {}),
    "DAG, several labels": lambda: (some(DAG_LEAVES, several=True, taxonomy=DAG), {"scale": 7, "C": 0.3}),
    "DAG, inner labels": lambda: (some(["a", "b1", "a2", "b12", "c"], taxonomy=DAG), {"scale": 8}),
    "DAG, free root": lambda: (some(DAG_LEAVES, taxonomy=DAG), {"root": 0.7, "bias_prior": -1.0}),
    "DAG, dense rows": lambda: (some(DAG_LEAVES, taxonomy=DAG, form=np.asarray), {"scale": 9}),
    "DAG, classes without rows": lambda: (
        some(["a1", "b11", "c"], empty_classes="keep", taxonomy=DAG),
        {"scale": 6},
    ),
}


@every_hinge
@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore::taxolearn.errors.EmptyClassWarning")
def test_the_objective_is_the_cone_programmes(name, case):
    problem, options = CASES[case]()
    C, s, b0 = options.get("C", 1.0), options.get("bias_feature", 1.0), options.get("bias_prior", 0.0)
    seed, root = options.get("scale"), options.get("root", 0.0)
    objective = objective_of(problem, name, C, seed, root, bias_feature=s, bias_prior=b0)
    solution = solve_tree_sweeps(objective, Limits(tol=1e-9, max_iter=20_000))
    assert solution.status is Status.CONVERGED
    certificate = certify(objective, solution)
    assert certificate.holds(1.01e-9)
    optimum, W = cone_optimum(name, problem, objective.tie, C, s, b0)
    assert certificate.primal == pytest.approx(optimum, rel=1e-6)
    assert certificate.dual <= optimum * (1 + 1e-7)
    np.testing.assert_allclose(solution.vectors.coef, W, atol=1e-4)


@every_hinge
def test_a_flat_tree_is_one_vs_rest(name):
    star = Taxonomy.from_edges([("all", label) for label in LEAVES])
    problem = some(LEAVES, taxonomy=star, n=40)
    loss = MARGIN_LOSSES[name]
    alone = Objective(problem, loss, flat(4))
    theirs = solve_one_vs_rest(alone, Limits(tol=1e-9, max_iter=100_000))
    for tie in (tie_of(problem), flat(4)):
        objective = Objective(problem, loss, tie)
        ours = solve_tree_sweeps(objective, Limits(tol=1e-8, max_iter=20_000))
        assert certify(objective, ours).primal == pytest.approx(certify(alone, theirs).primal, rel=1e-7)
        np.testing.assert_allclose(ours.vectors.coef, theirs.vectors.coef, atol=1e-4)
        np.testing.assert_allclose(ours.vectors.intercept, theirs.vectors.intercept, atol=1e-4)


@pytest.mark.parametrize("taxonomy", [TREE, DAG], ids=["tree", "dag"])
def test_weights_by_class_by_node_and_by_duals_score_alike(taxonomy, monkeypatch):
    problem = some(["a1", "b11", "c", "a"], empty_classes="keep", taxonomy=taxonomy)
    objective, limits = objective_of(problem, seed=2), Limits(tol=1e-4, max_iter=100)
    dense = solve_tree_sweeps(objective, limits)
    monkeypatch.setattr(tree_vectors, "_DENSE_BYTES", 0)
    by_node = solve_tree_sweeps(objective, limits)
    monkeypatch.setattr(tree_vectors, "_SPARSE_BYTES", 0)
    by_dual = solve_tree_sweeps(objective, limits)
    assert isinstance(by_node.vectors, NodeVectors)
    assert isinstance(by_dual.vectors, DualVectors)
    scores = dense.vectors.scores(problem.X)
    np.testing.assert_allclose(by_node.vectors.scores(problem.X.astype(np.float32)), scores, atol=1e-5)
    np.testing.assert_allclose(by_dual.vectors.scores(problem.X), scores, atol=1e-12)
    np.testing.assert_allclose(by_dual.vectors.coef.toarray(), dense.vectors.coef, atol=1e-12)
    np.testing.assert_allclose(by_dual.vectors.entries(1, [2, 0]), dense.vectors.coef[1, [2, 0]], atol=1e-12)
    np.testing.assert_array_equal(
        by_dual.vectors.top_k(problem.X, 2)[0], dense.vectors.top_k(problem.X, 2)[0]
    )
    bounds = [certify(objective, solution) for solution in (dense, by_node, by_dual)]
    for certificate in bounds[1:]:
        assert certificate.primal == pytest.approx(bounds[0].primal, rel=1e-6)
        assert certificate.dual == pytest.approx(bounds[0].dual, rel=1e-12)


def test_classes_without_rows_take_their_parents_vector():
    problem = some(["a1", "b11", "c"], empty_classes="keep")
    coef = solve_tree_sweeps(objective_of(problem), Limits(tol=1e-6, max_iter=100)).vectors.coef
    # a has the one class a1 under it, so half of what a1 has is a's
    a1, a2 = problem.classes.index("a1"), problem.classes.index("a2")
    np.testing.assert_allclose(coef[a2], 0.5 * coef[a1], atol=1e-12)


def many(seed=0, n=300, dense=False):
    rng = np.random.default_rng(seed)
    tree = Taxonomy.from_edges(
        [("all", f"t{t}") for t in range(3)] + [(f"t{k % 3}", f"leaf{k}") for k in range(12)]
    )
    centres = rng.normal(size=(12, 30))
    y = rng.integers(12, size=n)
    X = centres[y] + 2.0 * rng.normal(size=(n, 30))
    X *= rng.random(X.shape) < 0.5
    return make_problem(X if dense else sp.csr_array(X), [f"leaf{k}" for k in y], tree)


def test_rows_come_in_by_pricing_and_the_gap_is_certified():
    objective = objective_of(many(), C=0.1)
    seen = []
    with ThreadEngine(2) as engine:
        solution = solve_tree_sweeps(
            objective,
            Limits(tol=9e-4, max_iter=100, engine=engine),
            watch=lambda progress, dual: seen.append((progress, dual().nnz)),
        )
    assert solution.status is Status.CONVERGED
    certificate = certify(objective, solution)
    assert certificate.holds(9e-4)
    assert certificate.primal == pytest.approx(solution.history[-1].primal, rel=1e-9)
    assert certificate.dual == pytest.approx(solution.history[-1].dual, rel=1e-9)
    assert [progress for progress, _ in seen] == solution.history
    assert solution.n_iter == len(seen)
    assert seen[-1][1] == solution.dual.nnz
    duals = [progress.dual for progress in solution.history]
    assert np.all(np.diff(duals) >= -1e-9 * abs(duals[-1]))


def test_a_rough_gap_on_dense_rows_is_priced_in_single_precision_and_still_certified():
    objective = objective_of(many(dense=True), C=0.1)
    solution = solve_tree_sweeps(objective, Limits(tol=1e-2))
    certificate = certify(objective, solution)
    assert certificate.holds(1e-2)
    assert certificate.primal == pytest.approx(solution.history[-1].primal, rel=1e-5)
    assert certificate.dual == pytest.approx(solution.history[-1].dual, rel=1e-5)


@every_hinge
@pytest.mark.parametrize("form", ["classes", "nodes", "duals"])
def test_vectors_in_single_precision_are_certified_in_double(name, form, monkeypatch):
    if form != "classes":
        monkeypatch.setattr(tree_vectors, "_DENSE_BYTES", 0)
    if form == "duals":
        monkeypatch.setattr(tree_vectors, "_SPARSE_BYTES", 0)
    problem = many()
    objective = objective_of(problem, name, 0.1, bias_prior=-1.0)
    tie, loss = objective.tie, objective.loss
    solution = solve_tree_sweeps(objective, Limits(tol=1e-2))
    assert solution.dual.dtype == np.float64  # those of the hinge have a bound, which rounding must not pass
    certificate = certify(objective, solution)
    assert certificate.holds(1e-2)
    # and once more from the definition
    d, has = solution.dual.toarray().astype(np.float64).T, problem.targets.toarray() > 0
    signed = np.where(has, d, -d)
    sums = tie.paths.T @ (signed.T @ problem.X.toarray())
    beta = signed.sum(axis=0)
    conjugates = loss.conjugate(d, np.full(d.shape, 0.1)).sum()
    dual = -0.5 * tie.scale @ (sums**2).sum(axis=1) - 0.5 * beta @ beta + beta.sum() - conjugates
    assert certificate.dual == pytest.approx(dual, rel=1e-12)


def test_trees_that_are_done_are_left_alone():
    # one tree is easy, another hard: the first one's rows must not be touched by the passes for the other
    rng = np.random.default_rng(3)
    tree = Taxonomy.from_edges([("all", "t0"), ("all", "t1")] + [(f"t{k % 2}", f"leaf{k}") for k in range(6)])
    y = rng.integers(6, size=200)
    X = 3.0 * np.eye(6)[y] + np.where((y % 2)[:, None], 3.0, 0.1) * rng.normal(size=(200, 6))
    problem = make_problem(sp.csr_array(X), [f"leaf{k}" for k in y], tree)
    objective = objective_of(problem, C=0.01)
    solution = solve_tree_sweeps(objective, Limits(tol=1e-8, max_iter=2000))
    assert solution.n_iter > 3
    assert certify(objective, solution).holds(1.01e-8)


def test_a_warm_start_goes_on_where_the_other_stopped():
    problem, limits = many(), Limits(tol=9e-4, max_iter=100)
    objective = objective_of(problem, C=0.1)
    cold = solve_tree_sweeps(objective, limits)
    again = solve_tree_sweeps(objective, limits, Start(cold.dual))
    assert again.n_iter == 1
    assert again.history[-1].dual >= cold.history[-1].dual * (1 - 1e-6)
    # a dual from another problem is moved into the bounds of this one
    other = objective_of(problem, "hinge", 0.01)
    moved = solve_tree_sweeps(other, limits, Start(cold.dual))
    assert certify(other, moved).holds(9e-4)
    with pytest.raises(
        DataError, match=r"shape \(300, 12\), but the duals, classes x rows, have \(12, 300\)"
    ):
        solve_tree_sweeps(objective, limits, Start(cold.dual.T.tocsr()))


def test_limits_end_it_with_usable_weights():
    objective = objective_of(many())
    one = solve_tree_sweeps(objective, Limits(tol=1e-6, max_iter=1))
    assert one.status is Status.ITERATION_LIMIT
    assert one.n_iter == len(one.history) == 1
    assert np.isfinite(certify(objective, one).gap)
    none = solve_tree_sweeps(objective, Limits(tol=1e-6, max_seconds=0.0))
    assert none.status is Status.TIME_LIMIT
    certificate = certify(objective, none)
    assert 0.0 <= certificate.gap <= 1.0


def test_passes_shorter_than_a_look_at_the_clock_end_in_time():
    # one top: a pass is one short task after the other
    objective = objective_of(some(LEAVES, taxonomy=DAG), "hinge")
    solution = solve_tree_sweeps(objective, Limits(tol=1e-300, max_iter=10**9, max_seconds=0.3))
    assert solution.status is Status.TIME_LIMIT
    assert certify(objective, solution).holds(1e-3)


def test_a_stop_in_the_middle_of_a_pass_leaves_no_bias_too_high(monkeypatch):
    objective = objective_of(many(), bias_prior=0.5)
    whole = tree_sweeps._Trees.sweep

    def stopped(trees, run):
        whole(trees, run)
        run.clock.deadline = run.clock.started  # after all classes have moved, before they are priced

    monkeypatch.setattr(tree_sweeps._Trees, "sweep", stopped)
    primals = []
    for lower in (tree_sweeps._Trees.lower_stale, lambda trees, priced: None):
        monkeypatch.setattr(tree_sweeps._Trees, "lower_stale", lower)
        solution = solve_tree_sweeps(objective)
        assert solution.status is Status.TIME_LIMIT
        primals.append(certify(objective, solution).primal)
    assert primals[0] < 0.9 * primals[1]


def test_only_classes_that_moved_are_lowered():
    objective = objective_of(some(["a1", "a2", "b11", "c"]), "hinge")
    with running() as run:
        trees = tree_sweeps._Trees(objective, Limits(tol=0.1), None, run)
    trees.polished[:], trees.biases[:] = [3.0, 1.0, 3.0, 3.0], 2.0
    trees.open[:] = [True, True, False]  # the trees of a, b and c
    trees.lower_stale([(2, 3)])  # b11 has been priced
    assert trees.polished.tolist() == [2.0, 1.0, 3.0, 3.0]


def arrays_in(thing):
    """Copies of all arrays in nested tuples."""
    if isinstance(thing, np.ndarray):
        return [thing.copy()]
    return [array for part in thing for array in arrays_in(part)] if isinstance(thing, tuple) else []


def done(function, shared, task):
    """The result of a task, which must leave its arguments as they are."""
    before = arrays_in((shared, task))
    found = function(shared, task, Clock())
    for old, new in zip(before, arrays_in((shared, task)), strict=True):
        np.testing.assert_array_equal(old, new)
    return found


@pytest.mark.parametrize(("taxonomy", "labels"), [(TREE, LEAVES), (DAG, DAG_LEAVES)], ids=["tree", "dag"])
def test_tasks_write_only_their_results_which_do_not_depend_on_their_sizes(taxonomy, labels):
    problem = some(labels, taxonomy=taxonomy, n=200)
    with running() as run:
        trees = tree_sweeps._Trees(objective_of(problem, seed=1), Limits(), None, run)
    alone, together = trees._sweep_tasks(10**6, 3), trees._sweep_tasks(1, 3)
    assert len(together) == 1
    assert len(alone) == len(trees.forest.tops)
    swept = {task.part.start: done(tree_tasks.sweep_task, trees.shared, task) for task in alone}
    whole = done(tree_tasks.sweep_task, trees.shared, together[0])
    assert whole.dual.any()
    in_order = [swept[start] for start in sorted(swept)]
    np.testing.assert_array_equal(np.concatenate([part.dual for part in in_order]), whole.dual)
    np.testing.assert_array_equal(np.concatenate([part.biases for part in in_order]), whole.biases)

    trees.active.dual[:], trees.biases[:] = whole.dual, whole.biases
    _, (task,) = trees._price_tasks(run)
    found = done(tree_tasks.price_task, trees.shared, task)
    assert len(found.fresh)
    for first in range(len(trees.report)):
        one = done(tree_tasks.price_task, trees.shared, task._replace(first=first, last=first + 1))
        np.testing.assert_allclose(one.report[0], found.report[first], rtol=1e-6)
        fresh = found.fresh[found.fresh_start[first] : found.fresh_stop[first]]
        np.testing.assert_array_equal(one.fresh, fresh)
    halted = Clock()
    halted.stop[0] = 1
    assert tree_tasks.price_task(trees.shared, task, halted) is None


def test_workers_do_not_change_the_answer():
    objective, answers = objective_of(many(n=2000), C=0.1), []
    for n_jobs in (1, 2, 3):
        with ThreadEngine(n_jobs) as engine:
            answers.append(solve_tree_sweeps(objective, Limits(tol=5e-2, engine=engine)))
    for answer in answers[1:]:
        np.testing.assert_array_equal(answer.dual.toarray(), answers[0].dual.toarray())
        np.testing.assert_array_equal(answer.vectors.coef, answers[0].vectors.coef)


def test_what_it_cannot_do_is_said():
    problem = some(LEAVES)
    with pytest.raises(DataError, match="solver='tree' needs a loss whose dual is sparse, not 'logistic'"):
        solve_tree_sweeps(Objective(problem, Logistic(), tie_of(problem)))


@every_hinge
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_on_a_random_dag_it_agrees_with_descent(name, n_jobs):
    rng = np.random.default_rng(4)
    edges = [("all", f"t{k}") for k in range(4)]
    edges += [(f"t{p}", f"m{k}") for k in range(12) for p in set(rng.integers(4, size=2).tolist())]
    edges += [(f"m{p}", f"leaf{k}") for k in range(30) for p in set(rng.integers(12, size=3).tolist())]
    y = rng.integers(30, size=600)
    X = rng.normal(size=(30, 40))[y] + 1.5 * rng.normal(size=(600, 40))
    X *= rng.random(X.shape) < 0.3
    problem = make_problem(sp.csr_array(X), [f"leaf{k}" for k in y], Taxonomy.from_edges(edges))
    objective = objective_of(problem, name, 0.1, seed=3)
    with ThreadEngine(n_jobs) as engine:
        ours = solve_tree_sweeps(objective, Limits(tol=1e-2, engine=engine))
    theirs = solve_path_descent(objective, Limits(tol=1e-2))
    assert ours.status is theirs.status is Status.CONVERGED
    mine, other = (certify(objective, found) for found in (ours, theirs))
    assert mine.holds(1e-2)
    assert mine.dual <= other.primal
    assert other.dual <= mine.primal


@every_hinge
@pytest.mark.parametrize("form", [sp.csr_array, np.asarray], ids=["sparse", "dense"])
def test_stored_vectors_of_a_dags_nodes_change_nothing_but_roundings(name, form, monkeypatch):
    data = make_text_like(120, 60, 30, 60, shape="wiki_d5", mean_length=20.0, random_state=1)
    X = data.X.astype(np.float64)
    problem = make_problem(X if form is sp.csr_array else X.toarray(), data.y, data.taxonomy)
    scale = np.ones(data.taxonomy.n_nodes)
    objective = Objective(
        problem, MARGIN_LOSSES[name], path_sum(data.taxonomy, problem.class_nodes, scale), bias_prior=-1.0
    )
    counts, found = [], []
    slots = tree_tasks._slots

    def watched(*arguments):
        slot, n_stored = slots(*arguments)
        counts.append((n_stored, int(np.count_nonzero(slot >= 0))))
        return slot, n_stored

    monkeypatch.setattr(tree_tasks, "_slots", watched)
    for room in (0, tree_tasks._STORED_BYTES):
        monkeypatch.setattr(tree_tasks, "_STORED_BYTES", room)
        counts.clear()
        solution = solve_tree_sweeps(objective, Limits(tol=1e-9, max_iter=3))
        found.append(([step.dual for step in solution.history], solution.dual.toarray()))
    assert all(places > n_stored > 0 for n_stored, places in counts)  # each at several places
    for stored, summed in zip(*found, strict=True):
        np.testing.assert_allclose(stored, summed, rtol=1e-9, atol=1e-9)
