"""How right a flat least-squares classifier is about each text when it has learned from all others.

With few rows nothing can be spared to hold out, and the best of many candidates is best by luck. Least squares tell all
answers without a row from one matrix: with products K of rows, weights v and labels Y as +-1, A = K + diag(1 / (2 C v))
and alpha = A^-1 (Y + 1), row i would have scored Y_i - alpha_i / (A^-1)_ii had it been left out
(Cawley and Talbot, 2003). Features and weights are then a choice among sums of small matrices.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse

from taxolearn.text.features import TextFeatures
from taxolearn.text.judged_rows import JudgedRows
from taxolearn.text.parts import Parts

Floats = npt.NDArray[np.float64]
_LEAST_SHARE = 1e-10  # of the largest product of a row with itself
_MIRRORED = 128  # rows


def left_out_scores(products: Floats, targets: Floats, weights: Floats, C: float = 1.0) -> Floats:
    """What each row scores for each class by a model learned from the others.

    >>> products = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> targets = np.array([[1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> left_out_scores(products, targets, np.ones(3)).round(2)
    array([[ 0.07, -1.  ],
           [ 0.07, -1.  ],
           [-1.  , -1.  ]])
    """
    inverse = _inverse(products, 1 / (2 * C * weights))
    wanted = sparse.csr_array((targets + 1).T)  # zeros but for the classes that a row has
    scores: Floats = targets - (wanted @ inverse).T / np.diag(inverse)[:, None]
    return scores


def _inverse(products: Floats, added: Floats) -> Floats:
    """The inverse of products with something added to their diagonal, by Cholesky: half the work of any matrix's."""
    matrix = products.copy()
    diagonal = np.einsum("ii->i", matrix)
    # However little is added, rounding must not make the matrix indefinite.
    diagonal += np.maximum(added, _LEAST_SHARE * diagonal.max(initial=0))
    factor = linalg.lapack.dpotrf(matrix.T, lower=True, clean=False, overwrite_a=True)[0]
    inverse: Floats = linalg.lapack.dpotri(factor, lower=True, overwrite_c=True)[0]
    for first in range(0, len(inverse), _MIRRORED):  # the other half, in pieces that fit into a cache
        last = first + _MIRRORED
        square = inverse[first:last, first:last]
        square[:] = np.tril(square) + np.tril(square, -1).T
        for below in range(last, len(inverse), _MIRRORED):
            inverse[first:last, below : below + _MIRRORED] = inverse[below : below + _MIRRORED, first:last].T
    return inverse


class LeaveOneOut:
    """The judge of candidates where there are few rows: each row that is not the only one of its class.

    >>> from taxolearn.text.judged_rows import judged_rows
    >>> rows = judged_rows(["left femur", "burnt skin", "right femur", "dry skin"], list("bsbs"), None, None)
    >>> judge = LeaveOneOut(rows, n_texts=4)
    >>> judge.n_judged, judge.right(TextFeatures(), 0.0).tolist()
    (4, [1.0, 1.0, 1.0, 1.0])
    """

    def __init__(self, rows: JudgedRows, n_texts: int, C: float = 1.0) -> None:
        matrix = sparse.vstack([rows.targets, rows.told_targets], format="csr")
        self._has = matrix[:, np.unique(matrix.indices)].toarray() > 0
        self._n_rows, self._C = len(rows.texts), C
        self.parts = Parts(rows.texts + rows.told, [], n_texts)
        has = self._has[: self._n_rows]
        self._judged = np.flatnonzero((has & (has.sum(axis=0) > 1)).any(axis=1))
        self.n_judged = len(self._judged)

    def right(self, features: TextFeatures, label_weight: float) -> Floats:
        """Of the labels of each judged row the share among its best scores, as many as it has labels."""
        last = len(self._has) if label_weight > 0 else self._n_rows
        products = self.parts.products(features)[:last, :last]
        has = self._has[:last]
        weights = np.ones(last)
        weights[self._n_rows :] = label_weight
        scores = left_out_scores(products, np.where(has, 1.0, -1.0), weights, self._C)[self._judged]
        has = has[self._judged]
        n_labels = has.sum(axis=1)
        best = np.argsort(-scores, axis=1, kind="stable")[:, : n_labels.max(initial=0)]
        among = np.arange(best.shape[1]) < n_labels[:, None]
        found: Floats = (np.take_along_axis(has, best, axis=1) & among).sum(axis=1) / n_labels
        return found
