"""The public checks over all losses, ties and solvers; and that each of them can fail."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from taxolearn import ClassGraph, OneVsRestSVM, Taxonomy
from taxolearn.decoders import Best
from taxolearn.losses import LOSSES, Hinge, SquaredHinge, structured_hinge
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Status
from taxolearn.solvers.choice import SOLVERS
from taxolearn.solvers.one_vs_rest import REQUIRES, solve_one_vs_rest
from taxolearn.testing import check_decoder, check_loss, check_method, check_solver, check_tie
from taxolearn.ties import Factor, PathSum, covariance_tie, flat, graph_tie, path_sum, shared_tie
from taxolearn.ties.base import TieFacts
from taxolearn.vectors import ClassVectors

TREE = Taxonomy.from_paths(["all/cat/lion", "all/cat/lynx", "all/dog", "all/oak"])
DAG = Taxonomy.from_edges([*TREE.edges, ("dog", "lynx")])
LEAVES = ["lion", "lynx", "dog", "oak"]
SCALES = np.array([0.0, 0.5, 1.0, 1.0, 1.0, 2.0])


def problem(taxonomy: Taxonomy = TREE, several: bool = False) -> Any:
    rng = np.random.default_rng(0)
    y: Any = LEAVES * 8
    X = rng.normal(size=(32, 5)) + 1.5 * np.array([np.eye(5)[LEAVES.index(name)] for name in y])
    if several:
        y = [[name, "oak"] if k % 5 == 0 else [name] for k, name in enumerate(y)]
    return make_problem(X, y, taxonomy)


def ties() -> dict[str, Any]:
    nodes, dag_nodes = TREE.ids_of(LEAVES), DAG.ids_of(LEAVES)
    graph = ClassGraph.from_edges([("lion", "lynx"), ("lynx", "dog", 2.0), ("hub", "oak"), ("hub", "dog")])
    path = path_sum(TREE, nodes, SCALES)
    return {
        "flat": flat(4),
        "tree": path,
        "DAG": path_sum(DAG, dag_nodes, np.linspace(0.5, 1.0, DAG.n_nodes)),
        "graph": graph_tie(graph, LEAVES, ridge=0.5),
        "covariance": covariance_tie(path.covariance),
        "low rank": Factor(sp.csr_array(np.random.default_rng(0).normal(size=(4, 2)))),
        "shared": shared_tie(TREE, nodes, np.full(TREE.n_nodes, 1 / 3)),
    }


def losses() -> dict[str, Any]:
    given, tie = problem(), ties()["tree"]
    structured = {
        f"{cost} {rescaling}": structured_hinge(given, tie, cost, rescaling)
        for cost in ("zero_one", "hamming", "tree", "sqrt_hamming", "normalized")
        for rescaling in ("margin", "slack", "unit")
    }
    return {**LOSSES, **structured}


@pytest.mark.parametrize("name", losses())
def test_losses(name: str) -> None:
    check_loss(losses()[name])


@pytest.mark.parametrize("name", ties())
def test_ties(name: str) -> None:
    check_tie(ties()[name])


WITHOUT_END = ("pegasos", "averaging")  # they make a number of steps, and reach no small gap


@pytest.mark.parametrize("tie", ties())
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "softmax", "hamming margin"])
@pytest.mark.parametrize("solver", [name for name in SOLVERS if name not in WITHOUT_END])
def test_solvers(solver: str, loss: str, tie: str) -> None:
    """Each solves every objective it can, certified, and refuses the others in words."""
    chosen = SOLVERS[solver]
    objective = Objective(problem(), losses()[loss], ties()[tie], C=2.0)
    check_solver(chosen.solve, chosen.requires, objective)


@pytest.mark.parametrize("solver", ["one_vs_rest", "tree", "descent", "newton", "levels"])
def test_solvers_with_several_labels(solver: str) -> None:
    chosen = SOLVERS[solver]
    tie = flat(4) if solver == "one_vs_rest" else ties()["tree"]
    check_solver(chosen.solve, chosen.requires, Objective(problem(several=True), SquaredHinge(), tie, C=2.0))


class Rising(Hinge):
    """A loss whose conjugate promises too much."""

    def conjugate(self, dual: Any, weight: Any) -> Any:
        return super().conjugate(dual, weight) - 0.1 * np.asarray(dual)


@dataclass(frozen=True, eq=False)
class Wrong(PathSum):
    """A tie that says too little of what classes share."""

    @property
    def facts(self) -> TieFacts:  # type: ignore[override]
        return TieFacts(paths=True, tree=True, shares=False)


def test_the_checks_find_what_is_wrong() -> None:
    with pytest.raises(AssertionError, match="Fenchel-Young"):
        check_loss(Rising())
    tie = ties()["tree"]
    with pytest.raises(AssertionError, match=r"facts\.shares says no"):
        check_tie(Wrong(tie.paths, tie.scale))
    objective = Objective(problem(), Hinge(), flat(4))

    def boastful(*given: Any, **named: Any) -> Any:
        solution = solve_one_vs_rest(*given, **named)
        return replace(solution, vectors=ClassVectors(np.zeros((4, 5)), np.zeros(4)), status=Status.CONVERGED)

    with pytest.raises(AssertionError, match="called converged at a certified gap"):
        check_solver(boastful, REQUIRES, objective)

    class Second(Best):
        def decode(self, vectors: Any, X: Any, **named: Any) -> Any:
            answers = super().decode(vectors, X, **named)
            return answers._replace(ids=(answers.ids + 1) % self.n_classes)

    with pytest.raises(AssertionError):
        check_decoder(Second(3), ClassVectors(np.eye(3), np.zeros(3)), np.eye(3))

    class Unlisted(OneVsRestSVM):
        pass

    with pytest.raises(AssertionError, match="not in the registry"):
        check_method(Unlisted(), [[0.0], [1.0]], ["a", "b"])
