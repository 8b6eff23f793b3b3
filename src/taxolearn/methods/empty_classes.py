"""Classes without rows: whether they are classes, and their intercepts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from taxolearn.methods.parameters import estimator, parameter
from taxolearn.objective import Objective, Parts
from taxolearn.solvers import Solution


@estimator
class EmptyClasses:
    """Methods that let the user say whether leaves without rows are classes.

    >>> from taxolearn import RecursiveSVM, Taxonomy
    >>> tree = Taxonomy.from_paths(["all/cat/lion", "all/cat/lynx", "all/dog"])
    >>> RecursiveSVM(tree, empty_classes="drop").fit([[0.0], [1.0]], ["lion", "dog"]).classes_.tolist()
    ['lion', 'dog']
    """

    empty_classes: Literal["drop", "keep"] = parameter(
        default="keep",
        doc=(
            'Leaves of the taxonomy without rows: "keep" makes them classes, which may be answered, "drop" does not; '
            "a taxonomy that is much larger than what the rows know of it is then learned much sooner."
        ),
        choices=("drop", "keep"),
    )


def on_empty_classes(model: Any) -> Literal["drop", "keep"]:
    """What a method does with leaves that have no rows: as the user says where that can be said, else its own way.

    >>> from taxolearn import OneVsRestSVM, RecursiveSVM
    >>> on_empty_classes(OneVsRestSVM()), on_empty_classes(RecursiveSVM())
    ('drop', 'keep')
    """
    found: Literal["drop", "keep"] = getattr(model, "empty_classes", model._empty_classes)
    return found


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
