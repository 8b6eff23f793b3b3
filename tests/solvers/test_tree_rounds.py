"""Rounds of a tree solve: what its shards report adds up to the certificate, which shares no code with them."""

from __future__ import annotations

import numpy as np
import pytest

from taxolearn.certificates import certify
from taxolearn.datasets import make_text_like
from taxolearn.engines import engine, running
from taxolearn.losses import SquaredHinge
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits
from taxolearn.solvers.base import Rounds
from taxolearn.solvers.tree_sweeps import _Trees
from taxolearn.ties import path_sum


@pytest.mark.parametrize(
    ("workers", "tol", "right_to"),
    [(1, 9e-4, 1e-9), (3, 9e-4, 1e-9), (1, 2e-3, 1e-4)],
    ids=["one worker", "three workers", "weights in 16 bits"],
)
def test_after_each_round_the_bounds_of_the_shards_sum_to_the_certificate(workers, tol, right_to):
    data = make_text_like(400, 800, 40, 60, depth=3, mean_length=30.0, random_state=0)
    problem = make_problem(data.X, data.y, data.taxonomy)
    scale = np.ones(data.taxonomy.n_nodes)
    scale[0] = 0.0
    objective = Objective(
        problem, SquaredHinge(), path_sum(data.taxonomy, problem.class_nodes, scale), bias_prior=-1.0
    )
    limits = Limits(tol)  # below 1e-3 pricing is in double precision
    closed = 0
    with engine("threads", n_jobs=workers), running() as run:
        trees = _Trees(objective, limits, None, run)
        rounds = Rounds(limits, run, None, trees.dual, done=1)
        for _ in range(6):
            assert trees.another_pass(run)
            primal, dual = trees.bounds()
            assert rounds.another(float(primal.sum()), float((primal - dual).sum()))
            found = certify(objective, trees.solution(rounds))
            assert primal.sum() == pytest.approx(found.primal, rel=right_to)
            assert dual.sum() == pytest.approx(found.dual, rel=right_to)
            trees.open = primal - dual > 0.05 * primal  # closed ones stay in the sums
            closed += int((~trees.open).sum())
            if not trees.open.any():
                break
    assert closed > len(trees.open)  # some were closed for more than a round
