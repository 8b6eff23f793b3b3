"""Intercepts for classes without rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from taxolearn.problem import Problem
from taxolearn.regularizers import PathSum


def with_borrowed_intercepts(problem: Problem, tie: PathSum, weights: Any) -> Any:
    """The weights, each class without rows having the mean intercept of those with rows around it.

    A class without rows has no losses, so that its vector is its parent's, and nothing says what its intercept is.
    Zero would let it win against classes that have learned to say no. It takes the mean over the classes with rows
    under its lowest ancestor that has any.

    >>> from taxolearn import Taxonomy
    >>> from taxolearn.models import LinearWeights
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.regularizers import path_sum
    >>> tree = Taxonomy.from_paths(["all/cat/lion", "all/cat/lynx", "all/dog"])
    >>> problem = make_problem([[0.0], [1.0]], ["lion", "dog"], tree, empty_classes="keep")
    >>> tie = path_sum(tree, problem.class_nodes, np.ones(5))
    >>> weights = LinearWeights(np.zeros((3, 1)), np.array([-1.0, 0.0, -3.0]))
    >>> with_borrowed_intercepts(problem, tie, weights).intercept.tolist()
    [-1.0, -1.0, -3.0]
    """
    known = np.asarray(problem.targets.T @ (problem.row_weight > 0).astype(np.float64)) > 0
    if known.all() or problem.taxonomy is None:
        return weights
    intercept = np.array(weights.intercept)
    counts = tie.paths.T @ known.astype(np.float64)
    sums = tie.paths.T @ np.where(known, intercept, 0.0)
    depth = problem.taxonomy.depth
    for number in np.flatnonzero(~known):
        path = tie.paths.indices[tie.paths.indptr[number] : tie.paths.indptr[number + 1]]
        path = path[counts[path] > 0]
        lowest = path[np.argmax(depth[path])]  # the root has all classes under it
        intercept[number] = sums[lowest] / counts[lowest]
    return replace(weights, intercept=intercept)
