"""The weights update of Shared SVM: the node weights that suit given node vectors best."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.conic import Block, minimise
from taxolearn.errors import DataError
from taxolearn.scales.forest import forest_levels
from taxolearn.scales.weighted_nodes import check_classes, weighted_nodes
from taxolearn.structure import Taxonomy
from taxolearn.structure.names import show

FloatArray = npt.NDArray[np.float64]
IdArray = npt.NDArray[np.int64]


def shared_scales(
    taxonomy: Taxonomy, squared_norms: npt.ArrayLike, *, class_nodes: npt.ArrayLike | None = None
) -> FloatArray:
    """(20) of Choi, Sasaki and Srebro: the least sum_n ||u_n||^2 / a_n with sum of a_n <= 1 along every path.

    On a tree in closed form: Algorithm 1 as Appendix D derives it. As printed it is wrong on almost every tree:
    line 9 uses the new N_n where the old is meant, the root gets no weight, line 16 takes a square root, and leaves,
    with E_n = 0, get nothing. On a DAG, beyond the paper, by cone programme.

    A node whose vector is zero gets zero, except that a lowest class takes what its path has left. So every path
    sums to one.

    Parameters
    ----------
    taxonomy : Taxonomy
    squared_norms : array of float
        ||u_n||^2 of every node, by id.
    class_nodes : array of int, optional
        Ids of the nodes that are classes, by default the leaves. Nodes without a class at or below them get zero.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> shared_scales(tree, [1.0, 2.0, 2.0]).round(4)
    array([0.3333, 0.6667, 0.6667])
    """
    norms = _check_norms(taxonomy, squared_norms)
    nodes = weighted_nodes(taxonomy, check_classes(taxonomy, class_nodes), root_has_weight=True, merge=False)
    of_variable = norms[nodes.variable >= 0]
    if nodes.parent is not None:
        return nodes.spread(_on_forest(nodes.parent, np.sqrt(of_variable)))
    return nodes.spread(_on_dag(nodes.path_matrix(), nodes.ends, of_variable))


def _on_forest(parent: IdArray, norm: FloatArray) -> FloatArray:
    """Below a node that has l to give, the least cost is t^2 / l with t = ||u_n|| + sqrt(sum of t_c^2).

    The node takes the part ||u_n|| / t of l, a leaf all of it.
    """
    levels = forest_levels(parent)
    root_of_cost = norm.copy()
    part = np.ones(len(parent))
    for level in reversed(levels):
        below = np.sqrt(np.add.reduceat(root_of_cost[level.children] ** 2, level.start))
        own = norm[level.parents]
        total = own + below
        root_of_cost[level.parents] = total
        part[level.parents] = np.divide(own, total, out=np.zeros(len(own)), where=total > 0)
    left = np.ones(len(parent))
    for level in levels:
        above = parent[level.children]
        left[level.children] = left[above] * (1.0 - part[above])
    return left * part


def _on_dag(paths: sp.csr_array, ends: IdArray, squared_norms: FloatArray) -> FloatArray:
    """Minimise the sum of t_n with t_n a_n >= ||u_n||^2, a second-order cone: |(t - a, 2||u||)| <= t + a."""
    active = np.flatnonzero(squared_norms)
    weights = np.zeros(paths.shape[1])
    if len(active):
        norm = np.sqrt(squared_norms[active] / squared_norms.max())
        size = len(active)
        inside = sp.csr_array(sp.csc_array(paths)[:, active])
        inside = inside[np.diff(inside.indptr) > 0]
        n_paths = inside.shape[0]
        cone_row, column = 3 * np.arange(size), np.arange(size)
        # Columns: a, then t. Rows of b - A x in each cone: t + a, t - a, 2 ||u||.
        cones = sp.csr_array(
            (
                np.repeat([-1.0, -1.0, -1.0, 1.0], size),
                (
                    np.concatenate([cone_row, cone_row, cone_row + 1, cone_row + 1]),
                    np.concatenate([size + column, column, size + column, column]),
                ),
            ),
            shape=(3 * size, 2 * size),
        )
        bounds = np.stack([np.zeros(size), np.zeros(size), 2.0 * norm], axis=1).ravel()
        blocks: list[Block] = [
            (
                sp.hstack([inside, sp.csr_array((n_paths, size))]),
                np.ones(n_paths),
                [("nonnegative", n_paths)],
            ),
            (cones, bounds, [("second_order", 3)] * size),
        ]
        found = minimise(np.repeat([0.0, 1.0], size), blocks, what="shared weights")
        weights[active] = np.maximum(found[:size], 0.0)
    # Slack along a path is of no use above its end.
    weights[ends] += np.maximum(1.0 - paths @ weights, 0.0)
    return weights


def _check_norms(taxonomy: Taxonomy, squared_norms: npt.ArrayLike) -> FloatArray:
    norms = np.asarray(squared_norms, dtype=np.float64)
    if norms.shape != (taxonomy.n_nodes,):
        raise DataError(
            f"squared_norms has shape {norms.shape}, but the taxonomy has {taxonomy.n_nodes} nodes; give one a node"
        )
    wrong = np.flatnonzero(~(np.isfinite(norms) & (norms >= 0)))
    if len(wrong):
        name = show(taxonomy.name_of(wrong[0]))
        raise DataError(f"the squared norm of {name} is {norms[wrong[0]]}; give finite numbers from zero on")
    return norms
