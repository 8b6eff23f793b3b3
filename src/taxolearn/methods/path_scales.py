"""Classes over a taxonomy as sums along paths: the scales of its nodes, by rule, number or array."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, get_args

import numpy as np
import numpy.typing as npt

from taxolearn.errors import DataError
from taxolearn.methods.fitting import CertifiedClassifier
from taxolearn.methods.own_nodes import Ids, inner_classes, rule_with_own_nodes
from taxolearn.methods.parameters import check_choice, estimator, parameter, positive
from taxolearn.problem import Problem
from taxolearn.scales.rules import Rule
from taxolearn.structure import Taxonomy
from taxolearn.ties import PathSum, flat, path_sum, with_own_nodes

Array = npt.NDArray[np.float64]


def _scales(name: str, value: Any) -> None:
    if isinstance(value, str):
        check_choice(name, value, get_args(Rule))
    elif isinstance(value, dict):
        raise DataError(
            f"{name} is a dict; give a number for inner nodes, one per node in an array, or a rule"
        )
    elif np.ndim(value) == 0:
        positive(name, value)


class _Scales:
    """What a fit over a taxonomy leaves besides."""

    _fitted: ClassVar[Mapping[str, str]] = {
        "node_weights_": "array: The scales a_n, one per node; without a taxonomy one per class."
    }
    node_weights_: Array


@estimator
class PathScales(CertifiedClassifier, _Scales):
    """Methods over a taxonomy whose nodes have scales a_n, which the user may give.

    >>> from taxolearn import RecursiveSVM
    >>> issubclass(RecursiveSVM, PathScales)
    True
    """

    weights: Any = parameter(
        default=1.0,
        doc=(
            "The scales a_n. A number is that of all inner nodes, leaves having 1; 1.0 is the paper. Small "
            'numbers trust the taxonomy less, and "leaf" not at all: that is one-vs-rest. An array has one '
            'number per node. The words "maxmin", "rho", "uniform", "leaf" are rules of '
            "`taxolearn.node_weights`."
        ),
        check=_scales,
    )
    root: str = parameter(
        default="pinned",
        doc=(
            '"pinned": the root\'s vector is zero, so that classes under different children of the root share '
            'nothing, and each child\'s subtree is a problem of its own. "free": the root has a vector, tied '
            "to zero like that of any other node to its parent's, with its own a_n."
        ),
        choices=("pinned", "free"),
    )
    inner_labels: str = parameter(
        default="own",
        doc=(
            'What a class at an inner node has. "own": a vector of its own besides those of its path, as if '
            'it were a leaf below that node, with the a_n of a leaf. "shared": only those of its path, the '
            "last of which all classes below inherit; that costs several points of accuracy where many labels"
            " are inner nodes."
        ),
        choices=("own", "shared"),
    )

    def _path_tie(self, problem: Problem) -> PathSum:
        """The sum along paths, its scales in `node_weights_`."""
        taxonomy, inner = problem.taxonomy, self._inner_classes(problem)
        if taxonomy is None:
            self.node_weights_ = np.ones(problem.n_classes)
            return flat(problem.n_classes)
        if isinstance(self.weights, str):
            self.node_weights_, own = rule_with_own_nodes(
                taxonomy, problem.class_nodes, inner, self.weights, root=self.root
            )
        else:
            self.node_weights_, own = self._given_scales(taxonomy), np.ones(len(inner))
        tie = path_sum(taxonomy, problem.class_nodes, self.node_weights_)
        return with_own_nodes(tie, inner, own)

    def _inner_classes(self, problem: Problem) -> Ids:
        """The classes at inner nodes that have a vector of their own."""
        if self.inner_labels == "shared":
            return np.empty(0, dtype=np.intp)
        return inner_classes(problem)

    def _given_scales(self, taxonomy: Taxonomy) -> Array:
        if np.ndim(self.weights):
            scales = np.array(self.weights, dtype=np.float64)
        else:
            scales = np.full(taxonomy.n_nodes, float(self.weights))
            scales[taxonomy.leaf_ids] = 1.0
        if self.root == "pinned" and len(scales):
            scales[0] = 0.0
        return scales
