"""Labels at inner nodes for the structured methods: a leaf of their own below the node."""

from __future__ import annotations

import numpy as np

from taxolearn.methods.label_sets import has_several
from taxolearn.methods.own_nodes import Ids, inner_classes
from taxolearn.methods.parameters import estimator, parameter
from taxolearn.methods.structured import OneLabel
from taxolearn.problem import Problem
from taxolearn.ties import PathSum, with_own_nodes


@estimator
class OwnLeaves(OneLabel):
    """Base of the structured methods over a taxonomy, whose classes may be inner nodes.

    >>> from taxolearn import HierarchicalSVM
    >>> issubclass(HierarchicalSVM, OwnLeaves)
    True
    """

    inner_labels: str = parameter(
        default="own",
        doc=(
            'What a class at an inner node has, with one label per row. "own": a vector of its own besides those of '
            'its path, as if it were a leaf below that node. "shared": only those of its path, as in the paper; being '
            "in the middle of all that is below, it is then the answer far too often, or hardly ever."
        ),
        choices=("own", "shared"),
    )

    def _inner_classes(self, problem: Problem) -> Ids:
        """The classes that have a leaf of their own."""
        if self.inner_labels == "shared" or has_several(problem):
            return np.empty(0, dtype=np.intp)
        return inner_classes(problem)

    def _tie(self, problem: Problem) -> PathSum:
        tie, inner = super()._tie(problem), self._inner_classes(problem)
        if problem.taxonomy is None or not len(inner):
            return tie
        # as deep as the lowest leaf below: a chain of so many nodes, each of scale one, that only this class is under
        return with_own_nodes(
            tie, inner, problem.taxonomy.height[problem.class_nodes[inner]].astype(np.float64)
        )
