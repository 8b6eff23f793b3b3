"""The solver that suits loss, tie and rows, and what is said where none does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from taxolearn import ClassGraph, Taxonomy
from taxolearn.errors import DataError
from taxolearn.losses import Hinge, Logistic, Softmax, SquaredHinge
from taxolearn.losses.structured import structured_hinge
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, choice
from taxolearn.solvers.base import Requires
from taxolearn.solvers.choice import SOLVERS, choose_solver
from taxolearn.ties import Factor, PathSum, flat, graph_tie, path_sum
from taxolearn.ties.base import TieFacts

TREE = Taxonomy.from_paths(["all/animal/cat", "all/animal/dog", "all/plant/rose", "all/plant/oak"])
STAR = Taxonomy.from_edges([("all", name) for name in ("cat", "dog", "rose", "oak")])
DAG = Taxonomy.from_edges(
    [
        ("all", "pet"),
        ("all", "wild"),
        ("pet", "cat"),
        ("wild", "cat"),
        ("pet", "dog"),
        ("wild", "rose"),
        ("all", "oak"),
    ]
)
LEAVES = ("cat", "dog", "rose", "oak")
ROWS = np.random.default_rng(0).normal(size=(40, 5))
LABELS = [LEAVES[k % 4] for k in range(40)]
RECURSIVE = ("tree", "descent", "newton", "levels")
LIMITS = Limits(tol=5e-2)


def thin(X: Any) -> sp.csr_array:
    return sp.csr_array(sp.hstack((X, sp.csr_array((len(X), 995)))))


def posed(taxonomy: Taxonomy | None, loss: Any, form: Any = np.asarray, root: float = 0.0) -> Objective:
    problem = make_problem(form(ROWS), LABELS, taxonomy, empty_classes="keep")
    if taxonomy is None:
        return Objective(problem, loss, flat(4))
    scale = np.ones(taxonomy.n_nodes)
    scale[0] = root
    return Objective(problem, loss, path_sum(taxonomy, problem.class_nodes, scale))


def chosen(objective: Objective, limits: Limits = LIMITS, asked: str = "auto", **options: Any) -> str:
    solver = choose_solver(objective, limits, asked, among=RECURSIVE, **options)
    assert solver is not None
    assert solver.solve.__module__.startswith("taxolearn.solvers.")
    return solver.name


def test_recursive_regularization_with_margins() -> None:
    assert chosen(posed(TREE, SquaredHinge(), sp.csr_array)) == "tree"
    assert chosen(posed(None, SquaredHinge(), sp.csr_array)) == "tree"
    # few dense rows: most of them matter
    assert chosen(posed(TREE, SquaredHinge())) == "newton"
    assert chosen(posed(TREE, Hinge())) == "descent"
    assert chosen(posed(TREE, SquaredHinge(), root=1.0)) == "newton"
    assert chosen(posed(DAG, Hinge())) == "descent"
    assert chosen(posed(DAG, SquaredHinge()), asked="tree") == "tree"
    # rows of text: only the duals that matter are kept
    assert chosen(posed(DAG, Hinge(), thin)) == "tree"
    assert chosen(posed(TREE, SquaredHinge(), thin, root=1.0)) == "tree"
    assert chosen(posed(DAG, SquaredHinge(), thin), Limits(tol=1e-3)) == "descent"
    assert chosen(posed(DAG, SquaredHinge(), sp.csr_array)) == "descent"


def test_recursive_regularization_with_likelihoods() -> None:
    assert chosen(posed(TREE, Logistic()), LIMITS) == "newton"
    assert chosen(posed(DAG, Softmax()), LIMITS) == "newton"
    # rows of text: coordinate descent is several times faster, unless high precision is asked for
    assert chosen(posed(TREE, Logistic(), sp.csr_array), LIMITS) == "descent"
    assert chosen(posed(TREE, Logistic(), sp.csr_array), Limits(tol=1e-6)) == "newton"
    assert chosen(posed(TREE, Softmax(), sp.csr_array), LIMITS) == "rows_then_newton"
    assert chosen(posed(TREE, Softmax()), LIMITS, "descent") == "softmax_rows"
    assert chosen(posed(TREE, Softmax(), sp.csr_array), Limits(tol=1e-6)) == "newton"


def test_smooth_losses_on_dense_rows() -> None:
    problem = make_problem(
        np.random.default_rng(0).normal(size=(400, 20)), [LEAVES[k % 4] for k in range(400)]
    )
    for loss in (SquaredHinge(), Logistic(), Softmax()):
        objective, among = Objective(problem, loss, flat(4)), ("newton", "lbfgs")
        assert choose_solver(objective, LIMITS, among=among).name == "lbfgs"
        assert choose_solver(objective, Limits(tol=1e-7), among=among).name == "newton"
        assert choose_solver(objective, LIMITS, among=("newton",)).name == "newton"
        few = Objective(problem.subset(np.arange(100)), loss, flat(4))
        assert choose_solver(few, LIMITS, among=among).name == "newton"


def test_large_problems_keep_no_dense_duals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "_MOST_DUALS", 100)
    monkeypatch.setattr(choice, "_SMALL", 100)
    assert chosen(posed(TREE, SquaredHinge(), root=1.0)) == "tree"
    assert chosen(posed(DAG, SquaredHinge(), sp.csr_array)) == "tree"
    assert chosen(posed(DAG, SquaredHinge())) == "descent"  # dense rows of a DAG: nothing else can
    assert chosen(posed(TREE, Logistic(), sp.csr_array), LIMITS) == "newton"
    assert chosen(posed(TREE, Softmax(), sp.csr_array), LIMITS) == "newton"


def test_checkpoints_need_solvers_that_go_on_from_duals() -> None:
    assert chosen(posed(TREE, SquaredHinge()), checkpoint=True) == "tree"
    assert chosen(posed(TREE, Logistic()), LIMITS, checkpoint=True) == "descent"
    assert chosen(posed(TREE, Softmax()), LIMITS, checkpoint=True) == "softmax_rows"
    for name in ("newton", "levels"):
        with pytest.raises(
            DataError,
            match=f"^checkpoint needs a solver that goes on from duals, not solver='{name}'; use solver='auto'$",
        ):
            chosen(posed(TREE, SquaredHinge()), asked=name, checkpoint=True)


@pytest.mark.parametrize(
    ("asked", "objective", "missing"),
    [
        ("newton", posed(TREE, Hinge()), "a loss with a derivative everywhere, not 'hinge'"),
        ("levels", posed(DAG, SquaredHinge()), "a tree"),
        ("tree", posed(TREE, Logistic()), "a loss whose dual is sparse, not 'logistic'"),
        ("levels", posed(TREE, Softmax()), "a loss of the kind margin, not 'softmax'"),
    ],
)
def test_what_a_solver_cannot_do_is_said(asked: str, objective: Objective, missing: str) -> None:
    with pytest.raises(DataError, match=rf"^solver='{asked}' needs {missing}; use solver='auto'$"):
        chosen(objective, asked=asked)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(
        DataError, match=r"^solver='graph' is not one of 'tree', .*'levels'; use solver='auto'$"
    ):
        chosen(posed(TREE, Hinge()), asked="graph")


@pytest.mark.parametrize(
    ("loss", "expected"),
    [(Hinge(), "graph"), (SquaredHinge(), "graph"), (Logistic(), "graph"), (Softmax(), "newton")],
)
def test_graphs(loss: Any, expected: str) -> None:
    problem = make_problem(ROWS, LABELS)
    tie = graph_tie(ClassGraph.from_edges([("cat", "dog")], nodes=LEAVES), problem.classes, ridge=1.0)
    found = choose_solver(Objective(problem, loss, tie), LIMITS, among=("graph", "newton"))
    assert found.name == expected


def test_any_covariance_needs_a_smooth_loss() -> None:
    problem, tie = make_problem(ROWS, LABELS), Factor(sp.csr_array(np.tri(4)))
    for loss in (SquaredHinge(), Logistic(), Softmax()):
        assert chosen(Objective(problem, loss, tie)) == "newton"
    with pytest.raises(
        DataError,
        match=r"^no solver can do this: solver='newton' needs a loss with a derivative everywhere, not 'hinge'$",
    ):
        chosen(Objective(problem, Hinge(), tie))
    with pytest.raises(DataError, match="needs classes whose vectors are sums along the paths of a taxonomy"):
        chosen(Objective(problem, SquaredHinge(), tie), asked="descent")


def test_one_vs_rest_comes_first_only_where_a_method_puts_it_first() -> None:
    objective = posed(STAR, SquaredHinge())
    assert choose_solver(objective, LIMITS, among=("one_vs_rest",)).name == "one_vs_rest"
    assert choose_solver(objective, LIMITS, among=("one_vs_rest", "newton")).name == "one_vs_rest"
    assert choose_solver(objective, LIMITS, among=("newton", "one_vs_rest")).name == "newton"
    tied = posed(TREE, SquaredHinge())
    assert choose_solver(tied, LIMITS, among=("one_vs_rest", "newton")).name == "newton"


@dataclass(frozen=True, eq=False)
class Learned(PathSum):
    @property
    def facts(self) -> TieFacts:
        return super().facts._replace(learned=True)


def test_structured_losses_and_learned_scales() -> None:
    problem = make_problem(ROWS, LABELS, TREE)
    tie = path_sum(TREE, problem.class_nodes, np.ones(TREE.n_nodes))
    loss = structured_hinge(problem, tie)
    assert choose_solver(Objective(problem, loss, tie), LIMITS, among=("dual", "pegasos")).name == "dual"
    assert (
        choose_solver(Objective(problem, loss, tie), LIMITS, "pegasos", among=("dual", "pegasos")).name
        == "pegasos"
    )
    learned = Objective(problem, loss, Learned(tie.paths, tie.scale))
    assert choose_solver(learned, LIMITS, among=("dual", "shared")).name == "shared"
    with pytest.raises(DataError, match="needs scales that are learned"):
        choose_solver(Objective(problem, loss, tie), LIMITS, "shared", among=("dual", "shared"))


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_says_what_it_requires(name: str) -> None:
    solver = SOLVERS[name]
    assert solver.name == name
    assert solver.solve.__name__.startswith("solve_")
    assert isinstance(solver.requires, Requires)


def test_no_solver_of_this_name() -> None:
    assert len(SOLVERS) == len(set(SOLVERS)) > 10
    with pytest.raises(KeyError):
        SOLVERS["simplex"]
