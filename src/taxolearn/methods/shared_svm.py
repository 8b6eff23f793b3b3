"""Shared SVM of Choi, Sasaki and Srebro: node scales learned from the data."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from taxolearn.errors import DataError
from taxolearn.losses import StructuredHinge, structured_hinge
from taxolearn.methods.hierarchical_svm import COSTS
from taxolearn.methods.inner_labels import OwnLeaves
from taxolearn.methods.own_nodes import written_down
from taxolearn.methods.parameters import check_choice, estimator, parameter
from taxolearn.methods.structured import Array, given_scales
from taxolearn.objective import Objective, Parts
from taxolearn.problem import Problem
from taxolearn.scales import node_weights
from taxolearn.structure import Taxonomy
from taxolearn.structure.names import show
from taxolearn.ties import PathSum, Tie, flat, path_sum, shared_tie


def _positive_rule_or_scales(name: str, value: Any) -> None:
    if isinstance(value, str):
        check_choice(name, value, ("maxmin", "rho"))


@estimator
class SharedSVM(OwnLeaves):
    """Hierarchical SVM that learns the scale of each node of the taxonomy (SSVM; Choi, Sasaki, Srebro,
    section 6).

    It minimises (14) over node vectors u and scales a >= 0 together, a convex problem,

        1/2 sum_n ||u_n||^2 / a_n + C sum_i c_i max(0, max over l != y_i of D(l, y_i) - (w_{y_i} - w_l) . x_i),
        with sum of a_n <= 1 along the path of every class,

    w_l being the sum of u_n over the path of class l: regularization by the structured shared norm (16), which
    shares where sharing pays and is flat where it does not. By turns: u for fixed a, and a for fixed u, in closed
    form on trees (Algorithm 1, corrected) and, beyond the paper, by the cone programme (20) on DAGs. The
    certificate's lower bound is that of the joint problem. `node_weights_` holds the learned scales.
    C = 1 / (2 lambda) of the paper. A class at an inner node has a leaf of its own below it (`inner_labels`), with a
    vector and a scale as any other leaf.

    >>> from taxolearn import Taxonomy
    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
    >>> X, y = [[-1.0, 0.0], [-1.0, 1.0], [1.0, 0.0]], ["Lion", "Lynx", "Dog"]
    >>> model = SharedSVM(tree).fit(X, y)
    >>> model.predict([[2.0, 0.0]]).tolist(), model.certificate_.holds(1e-3)
    (['Dog'], True)
    """

    _solvers: ClassVar[tuple[str, ...]] = ("shared", "dual", "interior")

    cost: str = parameter(
        default="zero_one", doc="The fixed cost D; the paper does not say which it used.", choices=COSTS
    )
    first_weights: Any = parameter(
        default="maxmin",
        doc=(
            'Where the scales start: a rule, "maxmin" or "rho", or one number per node; strictly positive on '
            "every path, because a scale of zero could never rise."
        ),
        check=_positive_rule_or_scales,
    )

    def _tie(self, problem: Problem) -> PathSum:
        if problem.taxonomy is None:
            self.node_weights_ = np.ones(problem.n_classes)
            return flat(problem.n_classes)
        inner = self._inner_classes(problem)
        whole, nodes = written_down(problem.taxonomy, problem.class_nodes, inner)
        if isinstance(self.first_weights, str):
            rule: Any = self.first_weights
            return shared_tie(whole, nodes, node_weights(whole, rule, class_nodes=nodes))
        given, sums = self._given_first(problem)
        first = np.zeros(whole.n_nodes)
        first[whole.ids_of(problem.taxonomy.nodes)] = given
        if len(inner):
            first[nodes[inner]] = 1.0 - sums[inner]  # what its path has left
        return shared_tie(whole, nodes, first)

    def _given_first(self, problem: Problem) -> tuple[Array, Array]:
        """The scales that the user gave, and their sums along the paths of the classes."""
        assert problem.taxonomy is not None
        first = given_scales("first_weights", self.first_weights)
        sums = path_sum(problem.taxonomy, problem.class_nodes, first).paths @ first
        if (sums > 1 + 1e-9).any():
            name = show(problem.classes[int(np.argmax(sums))])
            raise DataError(
                f"first_weights sum to {sums.max():g} along the path of {name}; at most 1 is allowed"
            )
        return first, np.minimum(sums, 1.0)

    def _loss(self, problem: Problem, tie: Tie) -> StructuredHinge:
        return structured_hinge(problem, tie, self.cost)

    def _learn(self, objective: Objective | Parts, state: Any) -> None:
        taxonomy = objective.problem.taxonomy
        if taxonomy is not None and isinstance(objective, Objective):
            whole: Taxonomy = objective.tie.taxonomy  # with the leaves of inner classes
            self.node_weights_ = np.array(state)[whole.ids_of(taxonomy.nodes)]
