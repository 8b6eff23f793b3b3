"""The dual side of the shared norm: the largest penalty that any allowed node weights give."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.structure import Taxonomy

Array = npt.NDArray[np.float64]


def largest_penalty(taxonomy: Taxonomy, paths: sp.csr_array, squares: Array) -> float:
    """max over a >= 0, sum of a_n along every path at most one, of sum_n a_n squares_n.

    On a tree h(n) = max(squares_n, sum of h over the children); on a DAG a linear programme. It turns any dual of
    the structured hinge into a lower bound for Shared SVM (14) (Choi, Sasaki, Srebro), whose weights are free.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> paths = tree.ancestor_matrix(tree.leaf_ids)
    >>> largest_penalty(tree, paths, np.array([3.0, 1.0, 1.5])), largest_penalty(tree, paths, np.array([2.0, 1.0, 1.5]))
    (3.0, 2.5)
    """
    used = np.asarray(paths.sum(axis=0)).ravel() > 0
    if not taxonomy.is_tree:
        from scipy.optimize import linprog

        found = linprog(-squares[used], A_ub=paths[:, used], b_ub=np.ones(paths.shape[0]), method="highs")
        return float(-found.fun)
    value = np.where(used, squares, 0.0)
    below = np.zeros(taxonomy.n_nodes)
    depth = taxonomy.depth
    for level in range(int(depth.max()), -1, -1):
        here = np.flatnonzero(depth == level)
        value[here] = np.maximum(value[here], below[here])
        if level:
            np.add.at(below, taxonomy.parent[here], value[here])
    return float(value[0])
