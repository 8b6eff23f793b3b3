"""Path sums with a scale per feature: the contract of ties, equal scales, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from taxolearn import Taxonomy
from taxolearn.certificates import certify
from taxolearn.errors import DataError
from taxolearn.losses import MARGIN_LOSSES, Softmax, structured_hinge
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, Solution, Start, Status, newton, solve_newton, solve_softmax_rows
from taxolearn.testing import check_solver, check_tie
from taxolearn.ties import FeaturePathSum, path_sum
from taxolearn.vectors import ClassVectors

TREE = Taxonomy.from_paths(["all/a/l1", "all/a/l2", "all/b/l3", "all/l4"])
PATHS = path_sum(TREE, TREE.leaf_ids, np.ones(TREE.n_nodes)).paths


def made(scale: np.ndarray, loss: object = None, sparse: bool = False) -> Objective:
    rng = np.random.default_rng(0)
    y = ["l1", "l2", "l3", "l4"] * 8
    X = rng.normal(size=(32, scale.shape[1]))
    problem = make_problem(sp.csr_array(X) if sparse else X, y, TREE)
    return Objective(problem, loss or Softmax(), FeaturePathSum(PATHS, scale))


def random_scale(seed: int = 0, width: int = 3) -> np.ndarray:
    scale = np.random.default_rng(seed).exponential(size=(TREE.n_nodes, width)) + 0.05
    scale[0] = 0.0
    return scale


def test_it_is_a_tie() -> None:
    check_tie(FeaturePathSum(PATHS, random_scale()))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("loss", ["softmax", "squared_hinge", "logistic"])
def test_newton_solves_it_and_the_certificate_holds(loss: str, sparse: bool) -> None:
    found = Softmax() if loss == "softmax" else MARGIN_LOSSES[loss]
    objective = made(random_scale(), found, sparse)
    check_solver(newton.solve_newton, newton.REQUIRES, objective)
    solution = solve_newton(objective, Limits(tol=1e-10))
    assert certify(objective, solution).holds(1e-9)
    again = solve_newton(objective, Limits(tol=1e-10), Start(None, solution.vectors))
    assert again.n_iter == 0


def test_equal_scales_are_those_of_a_path_sum() -> None:
    own = np.random.default_rng(1).exponential(size=TREE.n_nodes)
    by_feature = made(np.tile(own[:, None], 3))
    plain = Objective(by_feature.problem, Softmax(), path_sum(TREE, TREE.leaf_ids, own))
    one, other = (certify(each, solve_newton(each, Limits(tol=1e-10))) for each in (by_feature, plain))
    assert one.primal == pytest.approx(other.primal, rel=1e-9)
    assert one.dual == pytest.approx(other.dual, rel=1e-9)


def test_scales_of_features_are_features_times_their_roots() -> None:
    """With the same scales at all nodes, features can be multiplied instead."""
    scale = np.array([4.0, 0.25, 1.0])
    by_feature = made(np.tile(scale, (TREE.n_nodes, 1)))
    problem = by_feature.problem
    y = [problem.classes[k] for k in problem.one_label[0]]
    scaled = make_problem(problem.X * np.sqrt(scale), y, TREE)
    plain = Objective(scaled, Softmax(), path_sum(TREE, TREE.leaf_ids, np.ones(TREE.n_nodes)))
    one, other = (certify(each, solve_newton(each, Limits(tol=1e-10))) for each in (by_feature, plain))
    assert one.primal == pytest.approx(other.primal, rel=1e-9)


def test_what_does_not_suit_is_refused() -> None:
    with pytest.raises(DataError, match="do not suit 7 nodes; give nodes x features"):
        FeaturePathSum(PATHS, np.ones(7))
    half = np.ones((7, 2))
    half[3, 0] = 0.0
    with pytest.raises(DataError, match="positive scales for all features, or for none"):
        FeaturePathSum(PATHS, half)
    objective = made(random_scale())
    with pytest.raises(DataError, match="needs scales that are the same for all features"):
        solve_softmax_rows(objective)


def test_what_cannot_be_certified_is_refused_and_what_is_not_allowed_is_infinite() -> None:
    objective = made(random_scale())
    solution = solve_newton(objective, Limits(tol=1e-6))
    by_class = ClassVectors(np.asarray(solution.vectors.coef), solution.vectors.intercept)
    with pytest.raises(DataError, match="are certified for node vectors"):
        certify(objective, Solution(by_class, solution.dual, Status.CONVERGED, 0))
    hinge = structured_hinge(objective.problem, path_sum(TREE, TREE.leaf_ids, np.ones(7)), "zero_one")
    with pytest.raises(DataError, match="none for a bias that is tied like a feature"):
        certify(Objective(objective.problem, hinge, objective.tie), solution)
    pinned = np.array(objective.tie.scale)
    pinned[3] = 0.0
    smaller = Objective(objective.problem, Softmax(), FeaturePathSum(PATHS, pinned))
    assert certify(smaller, solution).upper == np.inf
