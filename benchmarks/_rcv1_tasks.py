"""The tasks of Zhou, Xiao and Wu on RCV1: documents with one leaf below CCAT, ECAT or MCAT."""

from __future__ import annotations

from typing import Any

import numpy as np
from _data import load
from scipy import sparse

from taxolearn import Taxonomy

TOPS = ("CCAT", "MCAT", "ECAT")
# rows that the paper trains on, of all; the share is what splits here keep to
SHARE = {"CCAT": 5810 / 209133, "MCAT": 5438 / 189211, "ECAT": 2196 / 71356}
DEEP_SHARE = {"CCAT": 3676 / 138125, "MCAT": 3682 / 123343, "ECAT": 1734 / 57582}


def tasks(folder: str, hierarchical: bool = False) -> dict[str, tuple[Any, Any, Taxonomy]]:
    """X, y and tree of each task, training and test pool together.

    A document counts whose most specific topics are one leaf. `hierarchical` leaves out topics right below the top that
    have no topics below, and their documents.
    """
    X, y, X_test, y_test, whole = load(folder, "rcv1_subsets")
    X = sparse.csr_matrix(sparse.vstack([X, X_test]))
    labels = [_most_specific(row, whole) for row in [*y, *y_test]]
    found = {}
    for top in TOPS:
        below = set(whole.descendants(top))
        kept = {name for name in whole.children(top) if whole.children(name)} if hierarchical else None
        rows, names = [], []
        for i, row in enumerate(labels):
            if len(row) != 1 or row[0] not in below or whole.children(row[0]):
                continue
            path = whole.ancestors(row[0], include_self=True)
            if kept is None or kept & set(path):
                rows.append(i)
                names.append(row[0])
        tree = whole.sub(top)
        if kept is not None:
            gone = [name for name in tree.children(top) if name not in kept]
            tree = Taxonomy.from_edges([edge for edge in tree.edges if edge[1] not in gone])
        found[top] = (X[rows], np.array(names), tree)
    return found


def _most_specific(row: Any, tree: Taxonomy) -> list[str]:
    """The labels of a row that are not above another one."""
    above = {name for label in row for name in tree.ancestors(label)}
    return [label for label in row if label not in above]
