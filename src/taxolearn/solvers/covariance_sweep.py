"""One-vs-rest losses under any covariance of classes that has an inverse, by block coordinate descent."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from taxolearn.objective import Objective
from taxolearn.solvers.base import Limits, Requires, Solution, Start, Watch, check_requirements
from taxolearn.solvers.block_sweep import BlockSweep
from taxolearn.solvers.graph import colour_classes
from taxolearn.vectors import ClassVectors

# duals without their vectors lose several rounds: no checkpoints
REQUIRES = Requires(("margin",), definite=True, starts=False)
LIMITS = Limits()


def solve_covariance_sweep(
    objective: Objective, limits: Limits = LIMITS, start: Start | None = None, watch: Watch | None = None
) -> Solution:
    """One class after the other, the others fixed: with the inverse Q of A a class has penalty 1/2 Q_ll ||w - m||^2.

    For losses with a kink, which Newton's method does not take.

    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import covariance_tie
    >>> problem = make_problem([[0.0], [1.0], [5.0]], ["lion", "puma", "dog"])
    >>> tie = covariance_tie([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> solve_covariance_sweep(Objective(problem, Hinge(), tie)).status
    <Status.CONVERGED: 'converged'>
    """
    check_requirements("blocks", REQUIRES, objective)
    start = start or Start()
    inverse = np.linalg.inv(objective.tie.covariance)
    precision = sp.csr_array(0.5 * (inverse + inverse.T))
    first = start.state if isinstance(start.state, np.ndarray) else None
    every = np.arange(objective.tie.n_classes)
    sweep = BlockSweep(objective, precision, every, colour_classes(precision), start, first)
    rounds = sweep.solve(limits, watch)
    vectors = ClassVectors(sweep.class_weights(), objective.bias_feature * sweep.biases)
    dual = sp.csr_array(sweep.duals)
    return Solution(vectors, dual, rounds.status, rounds.done, rounds.history, state=sweep.weights)
