"""Hierarchical support vector machine of Cai and Hofmann."""

from __future__ import annotations

import numpy as np

from taxolearn.losses import StructuredHinge, structured_hinge
from taxolearn.methods.inner_labels import OwnLeaves
from taxolearn.methods.label_sets import SetMethod
from taxolearn.methods.parameters import estimator, parameter
from taxolearn.methods.structured import Array
from taxolearn.problem import Problem
from taxolearn.ties import Tie

COSTS = ("hamming", "tree", "sqrt_hamming", "zero_one")


@estimator
class HierarchicalSVM(OwnLeaves, SetMethod):
    """Hierarchical SVM: every node has a vector, a class scores the sum along its path, mistakes cost what they
    are worth in the taxonomy (HSVM; Cai, Hofmann 2004; eq. (2) of Choi, Sasaki, Srebro).

    With w_l the sum of u_n over the ancestors n of class l and l itself, on a tree or a DAG, it minimises

        1/2 sum_n ||u_n||^2 + C sum_i c_i max(0, max over l != y_i of D(l, y_i) - S(l, y_i) (w_{y_i} - w_l) . x_i),

    x carrying the constant feature `intercept_scaling`. With margin rescaling D is the cost and S = 1; with slack
    rescaling (TREELOSS of Zhou, Xiao, Wu) D = S is the cost. C = 1 / (2 lambda) of the paper. A leaf without
    rows takes part as a wrong answer to every row. Labels may be inner nodes; a class at an inner node then ends in
    a chain of nodes of its own (`inner_labels`), as deep as the lowest leaf below it, with vectors and a part in the
    cost; else it would be the cheapest mistake, and the answer to every doubt.

    Several labels per row: with Y_i the labels of row i and all their ancestors, and sets Y of nodes that are closed
    under ancestors, the losses become

        C sum_i c_i max over sets Y of Delta(Y, Y_i) + sum_{n in Y} u_n . x_i - sum_{n in Y_i} u_n . x_i

    (section 7.1 of Choi, Sasaki, Srebro; Delta by `set_cost` and `miss_cost`, on DAGs an upper bound of theirs).

    >>> from taxolearn import Taxonomy
    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
    >>> X, y = [[-1.0, 0.0], [-1.0, 1.0], [1.0, 0.0]], ["Lion", "Lynx", "Dog"]
    >>> model = HierarchicalSVM(tree).fit(X, y)
    >>> model.predict([[2.0, 0.0]]).tolist(), model.certificate_.holds(1e-3)
    (['Dog'], True)
    """

    cost: str = parameter(
        default="hamming",
        doc=(
            "Nodes by which two paths differ, edges between two classes, square root of the first, or one for"
            " any mistake."
        ),
        choices=COSTS,
    )
    rescaling: str = parameter(
        default="margin", doc="How the cost enters, see above.", choices=("margin", "slack")
    )

    def _scales(self, problem: Problem) -> Array:
        assert problem.taxonomy is not None
        return np.ones(problem.taxonomy.n_nodes)

    def _loss(self, problem: Problem, tie: Tie) -> StructuredHinge:
        return structured_hinge(problem, tie, self.cost, self.rescaling)
