"""Classes over a taxonomy as sums along paths: the scales of its nodes, by rule, number or array."""

from __future__ import annotations

from typing import Any, cast, get_args

import numpy as np
import numpy.typing as npt

from taxolearn.errors import DataError
from taxolearn.methods.fitting import CertifiedClassifier
from taxolearn.methods.parameters import check_choice, estimator, parameter, positive
from taxolearn.problem import Problem
from taxolearn.scales import node_weights
from taxolearn.scales.rules import Rule
from taxolearn.structure import Taxonomy
from taxolearn.ties import PathSum, flat, path_sum, with_own_nodes

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.intp]


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
            self.node_weights_, own = self._by_rule(taxonomy, problem, inner)
        else:
            self.node_weights_, own = self._given_scales(taxonomy), np.ones(len(inner))
        tie = path_sum(taxonomy, problem.class_nodes, self.node_weights_)
        return with_own_nodes(tie, inner, own)

    def _inner_classes(self, problem: Problem) -> Ids:
        """The classes at inner nodes that have a vector of their own."""
        if problem.taxonomy is None or self.inner_labels == "shared":
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero(~problem.taxonomy.is_leaf[problem.class_nodes])

    def _given_scales(self, taxonomy: Taxonomy) -> Array:
        if np.ndim(self.weights):
            scales = np.array(self.weights, dtype=np.float64)
        else:
            scales = np.full(taxonomy.n_nodes, float(self.weights))
            scales[taxonomy.leaf_ids] = 1.0
        if self.root == "pinned" and len(scales):
            scales[0] = 0.0
        return scales

    def _by_rule(self, taxonomy: Taxonomy, problem: Problem, inner: Ids) -> tuple[Array, Array]:
        """The rule `weights` over the taxonomy in which own nodes are leaves below the nodes of their classes."""
        names = [taxonomy.name_of(node) for node in range(taxonomy.n_nodes)]
        labels = [names[node] for node in problem.class_nodes]
        given, stem = set(names), "own node of"
        while any((stem, labels[k]) in given for k in inner):
            stem += "'"
        leaves = {int(k): (stem, labels[k]) for k in inner}
        whole = taxonomy
        if leaves:
            whole = Taxonomy.from_edges([*taxonomy.edges, *((labels[k], leaf) for k, leaf in leaves.items())])
        nodes = whole.ids_of([leaves.get(k, label) for k, label in enumerate(labels)])
        root, rule = cast(Any, self.root), cast(Any, self.weights)
        found = node_weights(whole, rule, root=root, class_nodes=nodes)
        return found[whole.ids_of(names)], found[nodes[inner]]
