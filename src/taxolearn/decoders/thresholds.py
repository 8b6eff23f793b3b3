"""Scores to label sets by one threshold a class."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def tune_thresholds(
    scores: Array, targets: npt.NDArray[np.bool_], fallback: float = 0.1, row_weight: Array | None = None
) -> Array:
    """The threshold of each class that maximises its F1 on held-out rows (SCutFBR.1 of Lewis et al. 2004).

    Where even the best F1 is below `fallback` the held-out rows say too little about the class: its
    threshold becomes the
    highest score seen, so that only a row more certain than all of these gets the label. A row has the label when its
    score is above the threshold.

    >>> scores = np.array([[0.9], [0.6], [0.2], [-0.5]])
    >>> tune_thresholds(scores, np.array([[True], [False], [True], [False]])).tolist()
    [-0.15]
    """
    n, n_classes = scores.shape
    thresholds = np.empty(n_classes)
    weight = np.ones(n) if row_weight is None else row_weight
    for c in range(n_classes):
        order = np.argsort(-scores[:, c], kind="stable")
        ranked = scores[order, c]
        hits = np.cumsum(weight[order] * targets[order, c])
        f1 = 2.0 * hits / (np.cumsum(weight[order]) + hits[-1])
        # a cut is possible only between two different scores
        f1[:-1][ranked[:-1] == ranked[1:]] = -1.0
        best = int(np.argmax(f1))
        if f1[best] < fallback:
            thresholds[c] = ranked[0]
        elif best + 1 < n:
            thresholds[c] = 0.5 * (ranked[best] + ranked[best + 1])
        else:
            thresholds[c] = np.nextafter(ranked[best], -np.inf)
    return thresholds


def above(scores: Array, thresholds: Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Which classes of each row score above their threshold, as CSR (indptr, indices).

    >>> indptr, indices = above(np.array([[1.0, -1.0], [0.5, 2.0]]), np.zeros(2))
    >>> indptr.tolist(), indices.tolist()
    ([0, 1, 3], [0, 0, 1])
    """
    rows, columns = np.nonzero(scores > thresholds)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(scores)))))
    return indptr.astype(np.int64), columns.astype(np.int32)
