"""The certificate of Shared SVM, whose node weights are learned."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.certificates.base import Certificate
from taxolearn.certificates.structured import structured_dual, structured_primal
from taxolearn.errors import DataError
from taxolearn.losses.structured import StructuredHinge
from taxolearn.problem import Problem
from taxolearn.regularizers import PathSum
from taxolearn.solvers.solution import Solution

Array = npt.NDArray[np.float64]


def certify_shared(
    problem: Problem, solution: Solution, loss: StructuredHinge, tie: PathSum, C: float, bias_feature: float
) -> Certificate:
    """Bounds on the joint optimum of (14) of Choi, Sasaki and Srebro, over node vectors u and node weights a together.

    Above: the objective at the given u and a = `tie.scale`, which must be feasible, sum of a_n <= 1 along every path.
    Below, for any feasible dual alpha: sum alpha D - 1/2 max over feasible a of sum_n a_n ||z_n||^2, with z as in
    `certify_structured`. The maximum is found node by node on a tree and by a linear programme on a DAG.

    >>> from taxolearn import SharedSVM, Taxonomy
    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> SharedSVM(tree, tol=1e-4).fit([[-1.0], [1.0]], ["Cat", "Dog"]).certificate_.holds(1e-4)
    True
    """
    assert problem.taxonomy is not None
    sums = tie.paths @ tie.scale
    if sums.max() > 1 + 1e-9:
        raise DataError(f"node weights sum to {sums.max():g} along a path; Shared SVM allows at most 1")
    primal = structured_primal(problem, solution, loss, tie, C, bias_feature)
    every = PathSum(tie.paths, np.ones(tie.n_nodes))  # z_n counts where a_n is zero, too
    linear, squares = structured_dual(problem, solution.dual, loss, every, C, bias_feature)
    if problem.taxonomy.is_tree:
        largest = _on_tree(problem.taxonomy.parent, squares)
    else:
        largest = _on_dag(tie.paths, squares)
    return Certificate(np.array([primal]), np.array([linear - 0.5 * largest]), solution.status)


def _on_tree(parent: npt.NDArray[np.int32], squares: Array) -> float:
    """A unit of weight goes to a node, or once to each of its children's subtrees."""
    best = squares.tolist()
    below = [0.0] * len(best)
    for node in range(len(best) - 1, -1, -1):  # children have larger ids than their parent
        best[node] = max(best[node], below[node])
        if node:
            below[parent[node]] += best[node]
    return float(best[0])


def _on_dag(paths: sp.csr_array, squares: Array) -> float:
    """The dual of the linear programme: prices of paths that cover every node bound the maximum from above.

    What a solver's prices leave uncovered is added to them, so that its precision does not matter.
    """
    from scipy.optimize import linprog

    largest = float(squares.max())
    if largest == 0.0:
        return 0.0
    found = linprog(
        np.ones(paths.shape[0]), A_ub=-sp.csr_array(paths.T), b_ub=-squares / largest, method="highs"
    )
    prices = largest * np.maximum(found.x, 0.0)
    return float(prices.sum() + np.maximum(squares - paths.T @ prices, 0.0).sum())
