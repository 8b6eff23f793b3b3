"""The dual side of the shared norm: the largest penalty that any allowed node weights give."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.structure import Taxonomy

Array = npt.NDArray[np.float64]


def largest_penalty(taxonomy: Taxonomy, paths: sp.csr_array, squares: Array) -> tuple[float, Array]:
    """max over a >= 0, sum of a_n along every path at most one, of sum_n a_n squares_n; and an a that reaches it.

    On a tree h(n) = max(squares_n, sum of h over the children); on a DAG a linear programme. It turns any dual of
    the structured hinge into a lower bound for Shared SVM (14) (Choi, Sasaki, Srebro), whose weights are free.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> paths = tree.ancestor_matrix(tree.leaf_ids)
    >>> value, weights = largest_penalty(tree, paths, np.array([3.0, 1.0, 1.5]))
    >>> value, weights.tolist()
    (3.0, [1.0, 0.0, 0.0])
    >>> value, weights = largest_penalty(tree, paths, np.array([2.0, 1.0, 1.5]))
    >>> value, weights.tolist()
    (2.5, [0.0, 1.0, 1.0])
    """
    used = np.asarray(paths.sum(axis=0)).ravel() > 0
    if not taxonomy.is_tree:
        return _on_dag(paths, used, squares)
    value = np.where(used, squares, 0.0)
    below = np.zeros(taxonomy.n_nodes)
    levels = [np.flatnonzero(taxonomy.depth == level) for level in range(int(taxonomy.depth.max()) + 1)]
    for here in reversed(levels):
        value[here] = np.maximum(value[here], below[here])
        if here[0]:
            np.add.at(below, taxonomy.parent[here], value[here])
    takes = value > below
    free = np.ones(taxonomy.n_nodes, dtype=bool)  # whether no node above has taken the path's unit
    for here in levels[1:]:
        above = taxonomy.parent[here]
        free[here] = free[above] & ~takes[above]
    return float(value[0]), (free & takes).astype(np.float64)


def _on_dag(paths: sp.csr_array, used: npt.NDArray[np.bool_], squares: Array) -> tuple[float, Array]:
    from scipy.optimize import linprog

    weights = np.zeros(len(squares))
    largest = float(squares[used].max())  # the programme's tolerances are absolute
    if largest == 0.0:
        return 0.0, weights
    found = linprog(
        -squares[used] / largest, A_ub=paths[:, used], b_ub=np.ones(paths.shape[0]), method="highs"
    )
    weights[used] = np.maximum(found.x, 0.0)
    return float(-found.fun) * largest, weights / max(1.0, float((paths @ weights).max()))
