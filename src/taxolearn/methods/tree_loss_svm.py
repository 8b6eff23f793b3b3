"""TREELOSS of Zhou, Xiao and Wu: the hierarchical SVM with slack rescaling and the path cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from taxolearn.losses import StructuredHinge, structured_hinge
from taxolearn.methods.inner_labels import OwnLeaves
from taxolearn.methods.parameters import estimator
from taxolearn.methods.structured import Array, StructuredMethod
from taxolearn.problem import Problem
from taxolearn.ties import Tie


@estimator
class TreeLossSVM(OwnLeaves, StructuredMethod):
    """Hierarchical SVM whose slacks are divided by the tree-induced loss (Cai, Hofmann 2004 in the form TREELOSS of
    Zhou, Xiao and Wu 2011, section 5).

    With w_l the sum of u_n over the nodes on the path of class l, and D(l, y) half of the number of edges between l
    and y, it minimises

        1/2 sum_n ||u_n||^2 + C sum_i c_i max(0, max over l != y_i of D(l, y_i) (1 - (w_{y_i} - w_l) . x_i)),

    x carrying the constant feature `intercept_scaling`; C is C / N of the paper, N being the number of rows. It is
    `HierarchicalSVM(cost="tree", rescaling="slack")` with half its C. The taxonomy may be a DAG; a leaf without rows
    takes part as a wrong answer to every row. Labels may be inner nodes; a class at an inner node then ends in a chain
    of nodes of its own (`inner_labels`), as deep as the lowest leaf below it, with vectors and a part in D.

    >>> from taxolearn import Taxonomy
    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
    >>> X, y = [[-1.0, 0.0], [-1.0, 1.0], [1.0, 0.0]], ["Lion", "Lynx", "Dog"]
    >>> model = TreeLossSVM(tree).fit(X, y)
    >>> model.predict([[2.0, 0.0]]).tolist(), model.certificate_.holds(1e-3)
    (['Dog'], True)
    """

    def _scales(self, problem: Problem) -> Array:
        assert problem.taxonomy is not None
        return np.ones(problem.taxonomy.n_nodes)

    def _loss(self, problem: Problem, tie: Tie) -> StructuredHinge:
        edges = structured_hinge(problem, tie, "tree", "slack")
        table = None if edges.table is None else 0.5 * edges.table
        return replace(edges, node_cost=0.5 * edges.node_cost, table=table)
