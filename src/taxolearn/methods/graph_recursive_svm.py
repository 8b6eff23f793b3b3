"""Recursive regularization with hinge losses over a graph of classes: HR-SVM on graphs."""

from __future__ import annotations

from taxolearn.methods.graph_recursive import GraphRecursive
from taxolearn.methods.parameters import estimator, parameter
from taxolearn.methods.probabilities import CalibratedProbabilities


@estimator
class GraphRecursiveSVM(CalibratedProbabilities, GraphRecursive):
    """SVM whose class vectors stay close to those of neighbours in a graph of classes (HR-SVM on graphs; Gopal,
    Yang 2013).

    With y_il = 1 for the rows of class l and -1 for all others, it minimises

        1/2 (sum over edges (i, j) of e_ij ||w_i - w_j||^2 + ridge sum_n ||w_n||^2) + 1/2 sum_l (b_l -
        intercept_prior)^2
            + C sum over classes l and rows i of c_il loss(y_il (w_l . x_i + b_l s)),

    by block coordinate descent: nodes are coloured so that neighbours differ, and all nodes of one colour are
    solved at once on threads. The paper has no ridge; without it and without a pinned node, vectors common to all
    classes would be free.

    >>> from taxolearn import ClassGraph
    >>> graph = ClassGraph.from_edges([("Lion", "Lynx")], nodes=["Dog"])
    >>> X, y = [[-1.0, 0.0], [-1.0, 1.0], [1.0, 0.0]], ["Lion", "Lynx", "Dog"]
    >>> model = GraphRecursiveSVM(graph, tol=1e-2).fit(X, y)
    >>> model.predict([[2.0, 0.0]]).tolist(), model.certificate_.holds(1e-2)
    (['Dog'], True)
    """

    loss: str = parameter(
        default="squared_hinge", doc="max(0, 1 - m)^2 or max(0, 1 - m).", choices=("squared_hinge", "hinge")
    )
