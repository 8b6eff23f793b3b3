"""Similarity-based transfer: sibling margins along the path, each node drawn to its children."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from taxolearn.methods.parameters import estimator
from taxolearn.methods.sibling import SiblingMethod
from taxolearn.problem import Problem
from taxolearn.ties import Tie, transfer_tie


@estimator
class TransferSVM(SiblingMethod):
    """Recursive classifier whose nodes are drawn to their children, trained as a whole (TRANSFER of Zhou, Xiao and Wu
    2011, section 5).

    With a vector w_i for each node i below the root, C(i) its children and A+(y) the path of class y without the
    root, it minimises

        1/2 sum_i (||w_i||^2 + sum over j in C(i) of ||w_i - w_j||^2)
            + C sum_k c_k max(0, max over i in A+(y_k) and siblings j of i of 1 - (w_i - w_j) . x_k),

    x carrying the constant feature `intercept_scaling`; C is C / N of the paper, N being the number of rows. A row goes
    from the root to the child of the best score until it reaches a leaf (1). A row labelled at an inner node counts
    down to its label only. An inner class is passed, never the answer, unless no row lies below it; a test row of such
    a class is right, in the paper's sense, where the answer lies below it. Leaves without rows take no part and are
    never predicted. A node with one child has nothing to decide. DAGs are refused: the way to a class must be one.

    >>> from taxolearn import Taxonomy
    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
    >>> X, y = [[-1.0, 0.0], [-1.0, 1.0], [1.0, 0.0]], ["Lion", "Lynx", "Dog"]
    >>> model = TransferSVM(tree).fit(X, y)
    >>> model.predict_path([[-2.0, 1.0]]), model.certificate_.holds(1e-3)
    ([('Animal', 'Cat', 'Lynx')], True)
    """

    def _unit_tie(self, problem: Problem, nodes: npt.NDArray[np.int32]) -> Tie:
        return transfer_tie(problem.taxonomy, nodes)
