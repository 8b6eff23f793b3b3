"""Intercepts for classes without rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from taxolearn.objective import Objective, Parts
from taxolearn.solvers import Solution


def with_borrowed_intercepts(objective: Objective | Parts, solution: Solution) -> Solution:
    """The solution in which each class without losses has the mean intercept of those with rows around it.

    A class without rows has no losses of the margin, so that its vector is its parent's, and nothing says what its
    intercept is. Zero would let it win against classes that have learned to say no. It takes the mean over the classes
    with rows under its lowest ancestor that has any.

    >>> from taxolearn import RecursiveSVM, Taxonomy
    >>> tree = Taxonomy.from_paths(["all/cat/lion", "all/cat/lynx", "all/dog"])
    >>> model = RecursiveSVM(tree).fit([[0.0], [1.0]], ["lion", "dog"])
    >>> bool(model.intercept_[1] == model.intercept_[0])
    True
    """
    if isinstance(objective, Parts) or objective.loss.facts.kind != "margin":
        return solution
    problem, tie = objective.problem, objective.tie
    known = problem.counted
    if known.all() or problem.taxonomy is None or not tie.facts.paths or not objective.bias_feature:
        return solution
    vectors: Any = solution.vectors
    intercept = np.array(vectors.intercept)
    counts = tie.paths.T @ known.astype(np.float64)
    sums = tie.paths.T @ np.where(known, intercept, 0.0)
    depth = np.zeros(tie.n_nodes)
    depth[: problem.taxonomy.n_nodes] = problem.taxonomy.depth
    for number in np.flatnonzero(~known):
        path = tie.paths.indices[tie.paths.indptr[number] : tie.paths.indptr[number + 1]]
        path = path[counts[path] > 0]
        lowest = path[np.argmax(depth[path])]  # the root has all classes under it
        intercept[number] = sums[lowest] / counts[lowest]
    return replace(solution, vectors=replace(vectors, intercept=intercept))
