"""Fits on the nodes that classes use, where most of a taxonomy's have no class: the others have vectors of zero."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from taxolearn.objective import Objective, Parts
from taxolearn.solvers import Solution
from taxolearn.ties import PathSum, on_used_nodes
from taxolearn.vectors import NodeVectors, with_unused_nodes

_KEPT_AT_NODES = ("structured", "softmax")  # losses whose solvers keep a vector of each node
_FEW_UNUSED = 2  # nodes for each that is used, up to which another tie is not worth it
Used = npt.NDArray[np.intp]


def on_classes_nodes(objective: Objective | Parts) -> tuple[Objective | Parts, Used | None]:
    """The objective without the nodes that are on no class's path, and which nodes are left.

    It is the same objective. None where few nodes are unused, or where the solver leaves them out itself.

    >>> from taxolearn import Taxonomy
    >>> from taxolearn.losses import Softmax
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import path_sum
    >>> tree = Taxonomy.from_paths([f"all/{name}" for name in "abcdefgh"])
    >>> problem = make_problem([[0.0], [1.0]], ["a", "b"], tree, empty_classes="drop")
    >>> objective = Objective(problem, Softmax(), path_sum(tree, problem.class_nodes, np.ones(9)))
    >>> small, used = on_classes_nodes(objective)
    >>> small.tie.n_nodes, used.tolist()
    (3, [0, 1, 2])
    """
    if isinstance(objective, Parts) or objective.loss.facts.kind not in _KEPT_AT_NODES:
        return objective, None
    tie = objective.tie
    if type(tie) is not PathSum or tie.n_nodes <= _FEW_UNUSED * tie.n_classes:
        return objective, None
    small, used = on_used_nodes(tie)
    if objective.problem.products is not None or tie.n_nodes <= _FEW_UNUSED * len(used):
        return objective, None
    return replace(objective, tie=small), used


def with_all_nodes(objective: Any, solution: Solution, used: Used | None) -> Solution:
    """The solution on the used nodes as one on all nodes of the objective.

    >>> from taxolearn.losses import Softmax
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.solvers.softmax_rows import solve_softmax_rows
    >>> from taxolearn.ties import flat
    >>> solution = solve_softmax_rows(Objective(make_problem([[0.0], [1.0]], ["a", "b"]), Softmax(), flat(2)))
    >>> with_all_nodes(None, solution, None) is solution
    True
    """
    vectors: Any = solution.vectors
    if used is None or not isinstance(vectors, NodeVectors):  # vectors of classes know no nodes
        return solution
    return replace(solution, vectors=with_unused_nodes(vectors, used, objective.tie.paths))
