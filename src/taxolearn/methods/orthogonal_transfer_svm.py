"""Orthogonal transfer of Zhou, Xiao and Wu: nodes that differ from their ancestors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from taxolearn.errors import DataError
from taxolearn.methods.parameters import estimator, number_or, parameter
from taxolearn.methods.sibling import SiblingMethod
from taxolearn.problem import Problem
from taxolearn.structure.names import show
from taxolearn.ties import Tie, orthogonal_tie


def _not_negative(name: str, value: Any) -> None:
    number_or("auto")(name, value)
    if not isinstance(value, str) and not value >= 0:
        raise DataError(f'{name}={show(value)} is not allowed; give a number from zero on, or "auto"')


@estimator
class OrthogonalTransferSVM(SiblingMethod):
    """Recursive classifier whose nodes are pushed to be orthogonal to their ancestors, trained as a whole (orthogonal
    transfer; Zhou, Xiao and Wu 2011, problem (4)).

    With a vector w_i for each node i below the root, and A+(y) the path of class y without the root, it minimises

        1/2 sum_ij K_ij |w_i . w_j|
            + C sum_k c_k max(0, max over i in A+(y_k) and siblings j of i of 1 - (w_i - w_j) . x_k),

    x carrying the constant feature `intercept_scaling`; C is C / N of the paper, N being the number of rows. K is that
    of (6), K_ii the number of nodes at and below i, K_ij = `alpha` where one of the two is an ancestor of the other.
    The problem is convex as long as the comparison matrix of K is positive definite (Theorem 1), which is checked.

    A row goes from the root to the child of the best score until it reaches a leaf (1). A row labelled at an inner node
    counts down to its label only. An inner class is passed, never the answer, unless no row lies below it; a test row
    of such a class is right, in the paper's sense, where the answer lies below it. Leaves without rows take no part and
    are never predicted. A node with one child has nothing to decide and the vector zero. DAGs are refused: the way to a
    class must be one.

    >>> from taxolearn import Taxonomy
    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
    >>> X, y = [[-1.0, 0.0], [-1.0, 1.0], [1.0, 0.0]], ["Lion", "Lynx", "Dog"]
    >>> model = OrthogonalTransferSVM(tree).fit(X, y)
    >>> model.predict_path([[-2.0, 1.0]]), model.certificate_.holds(1e-3)
    ([('Animal', 'Cat', 'Lynx')], True)
    """

    alpha: float | str = parameter(
        default="auto",
        doc=(
            "Weight of the products of nodes and their ancestors, K_ij of (6). Larger ones than the taxonomy allows "
            'are an error that says how large it may be; "auto" is 1, the choice of the paper, or 0.95 of the largest '
            "that works where this is less."
        ),
        check=_not_negative,
    )
    K: Any = parameter(
        default=None,
        doc=(
            "Any symmetric matrix of numbers from zero on instead of (6), dense or sparse, one row per node of the "
            "taxonomy in its order (that of the root has no effect), or per class where there is none."
        ),
    )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.K is not None and self.alpha != "auto":
            raise DataError(
                f"alpha={show(self.alpha)} belongs to K of (6), and K is given; leave one of them out"
            )

    def _unit_tie(self, problem: Problem, nodes: npt.NDArray[np.int32]) -> Tie:
        return orthogonal_tie(problem.taxonomy, nodes, self.alpha, self.K)
