"""A path-sum tie over a tree as the arrays that the tree kernels walk along."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import TaxonomyError
from taxolearn.regularizers import PathSum

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Forest:
    """The tree with all that does not matter taken out, in depth-first order.

    Nodes without a scale or without a class under them are gone; a chain of nodes with the same classes under them
    is one node with the sum of their scales (their vectors are multiples of each other). `member` says which
    node of the forest stands for each node of the tie, -1 if none. Nodes below n are n+1 .. end[n]-1; `classes` lists
    the problem's classes along that order; those under n are first[n] .. last[n]-1, those that sit at n first[n] ..
    own[n]-1. `reach` sums the scales from the top down to each node. `tops` are the nodes without a parent.
    """

    end: Ints
    first: Ints
    own: Ints
    last: Ints
    scale: npt.NDArray[np.float64]
    reach: npt.NDArray[np.float64]
    tops: Ints
    classes: Ints
    member: Ints

    def arrays(self) -> Any:
        """The same as the kernels take it."""
        from taxolearn.kernels.tree_descent import TreeArrays

        return TreeArrays(self.end, self.first, self.own, self.last, self.scale, self.reach)


def make_forest(tie: PathSum, counted: npt.NDArray[np.bool_]) -> Forest:
    """The forest over the classes that have losses (`counted`).

    >>> from taxolearn import Taxonomy
    >>> from taxolearn.regularizers import path_sum
    >>> tree = Taxonomy.from_paths(["all/cat/lion", "all/cat/puma", "all/dog/wolf"])
    >>> tie = path_sum(tree, tree.leaf_ids, np.array([0.0, 1.0, 1.0, 1.0, 1.0, 1.0]))
    >>> forest = make_forest(tie, np.ones(3, dtype=bool))
    >>> forest.tops.tolist(), forest.scale.tolist()
    ([0, 3], [1.0, 1.0, 1.0, 2.0])
    """
    children, at_node = _read_paths(tie, counted)
    scales: list[float] = []
    reach: list[float] = []
    end: list[int] = []
    first: list[int] = []
    own: list[int] = []
    last: list[int] = []
    tops: list[int] = []
    classes: list[int] = []
    member = np.full(tie.n_nodes, -1, dtype=np.int64)

    def enter(scale: float, above: float, mine: list[int]) -> int:
        scales.append(scale)
        reach.append(above + scale)
        first.append(len(classes))
        classes.extend(mine)
        own.append(len(classes))
        last.append(len(classes))
        end.append(len(scales))
        return len(scales) - 1

    # (node, reach of its parent) to enter, or (~number, 0) to close; an explicit stack, as taxonomies may be deep
    stack: list[tuple[int, float]] = [(node, 0.0) for node in sorted(children[-1], reverse=True)]
    while stack:
        node, above = stack.pop()
        if node < 0:
            end[~node], last[~node] = len(scales), len(classes)
            continue
        chain = [node]
        while len(children.get(node, ())) == 1 and node not in at_node:
            (node,) = children[node]
            chain.append(node)
        number = enter(float(tie.scale[chain].sum()), above, at_node.get(node, []))
        member[chain] = number
        if above == 0.0:
            tops.append(number)
        stack.append((~number, 0.0))
        stack.extend((child, reach[number]) for child in sorted(children.get(node, ()), reverse=True))
    tops.extend(enter(0.0, 0.0, [lone]) for lone in at_node.get(-1, ()))  # no vector at all, only a bias
    return Forest(
        end=np.array(end, dtype=np.int64),
        first=np.array(first, dtype=np.int64),
        own=np.array(own, dtype=np.int64),
        last=np.array(last, dtype=np.int64),
        scale=np.array(scales),
        reach=np.array(reach),
        tops=np.array(tops, dtype=np.int64),
        classes=np.array(classes, dtype=np.int64),
        member=member,
    )


def _read_paths(
    tie: PathSum, counted: npt.NDArray[np.bool_]
) -> tuple[dict[int, set[int]], dict[int, list[int]]]:
    """Children and classes of each node that has a scale; -1 is what stands above all."""
    paths = sp.csr_array(tie.paths)
    paths.sort_indices()
    parent: dict[int, int] = {}
    children: dict[int, set[int]] = {-1: set()}
    at_node: dict[int, list[int]] = {}
    for number in np.flatnonzero(counted).tolist():
        above = -1
        for node in paths.indices[paths.indptr[number] : paths.indptr[number + 1]].tolist():
            if tie.scale[node] == 0.0:
                continue
            if parent.setdefault(node, above) != above:
                raise TaxonomyError(
                    f"node {node} has two parents; tree sweeps need a tree, use solve_path_descent on a DAG"
                )
            children.setdefault(above, set()).add(node)
            above = node
        at_node.setdefault(above, []).append(number)
    return children, at_node
