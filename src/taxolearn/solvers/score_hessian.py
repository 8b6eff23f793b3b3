"""The Hessian of losses in vectors and offsets, from their second derivatives in the scores, as one dense matrix."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_AT_ONCE = 2**16  # numbers up to which one product that counts all twice is quicker than one for each column


def losses_hessian(curvature: Array, rows: Array, factor: Array, offsets: Array | None) -> Array:
    """Of scores S = X Z F' + 1 (G o)' in Z, feature by feature, then in o: F is the `factor`, G the `offsets`.

    The curvature is rows x classes where no two scores of a row have to do with each other, else rows x classes x
    classes.

    >>> losses_hessian(np.array([[2.0]]), np.array([[3.0]]), np.eye(1), np.eye(1)).tolist()
    [[18.0, 6.0], [6.0, 2.0]]
    """
    n, n_classes = curvature.shape[:2]
    if curvature.ndim == 2:
        half = curvature[:, None, :] * factor.T
    else:  # symmetric in the classes; products of single rows would take longer than turning them all
        half = (curvature.reshape(-1, n_classes) @ factor).reshape(n, n_classes, -1).transpose(0, 2, 1)
    flat = half.reshape(-1, n_classes)
    vectors = columns_hessian((flat @ factor).reshape(n, factor.shape[1], -1), rows)
    if offsets is None:
        return vectors
    G, size = offsets, len(vectors)
    of_scores = curvature.sum(axis=0)
    found = np.empty((size + G.shape[1], size + G.shape[1]))
    joint = (rows.T @ (flat @ G).reshape(n, -1)).reshape(size, G.shape[1])
    found[:size, :size], found[:size, size:], found[size:, :size] = vectors, joint, joint.T
    found[size:, size:] = G.T @ (of_scores[:, None] * G if curvature.ndim == 2 else of_scores @ G)
    return found


def columns_hessian(inner: Array, rows: Array) -> Array:
    """sum_i x_ij inner_icd x_ik over features j, k and columns c, d: a matrix (j, c) x (k, d).

    >>> columns_hessian(np.array([[[1.0, 2.0], [2.0, 5.0]]]), np.array([[3.0]])).tolist()
    [[9.0, 18.0], [18.0, 45.0]]
    """
    n_features, n_columns = rows.shape[1], inner.shape[1]
    if inner.size * n_features <= _AT_ONCE:
        weighted = (inner[:, :, None, :] * rows[:, None, :, None]).reshape(len(rows), -1)
        return np.asarray((rows.T @ weighted).reshape(n_features * n_columns, -1))
    found = np.empty((n_features, n_columns, n_features, n_columns))
    for c in range(n_columns):
        weighted = (inner[:, c, c:, None] * rows[:, None, :]).reshape(len(rows), -1)
        block = (rows.T @ weighted).reshape(n_features, n_columns - c, n_features)
        found[:, c, :, c:] = block.transpose(0, 2, 1)
        found[:, c:, :, c] = block.transpose(2, 1, 0)
    return found.reshape(n_features * n_columns, -1)
