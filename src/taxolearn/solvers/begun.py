"""Duals that one-vs-rest classes begin with: within their bounds, and the vectors that belong to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.objective import Objective

Array = npt.NDArray[np.float64]


def in_bounds(objective: Objective, dual: sp.csr_array) -> sp.csr_array:
    """Duals, classes x rows, none above its bound; rows and classes without weight have none.

    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> objective = Objective(make_problem([[-1.0], [1.0]], ["a", "b"]), Hinge(), flat(2), C=2.0)
    >>> in_bounds(objective, sp.csr_array([[1.0, 3.0], [0.0, 2.0]])).toarray().tolist()
    [[1.0, 2.0], [0.0, 2.0]]
    """
    problem, loss = objective.problem, objective.loss
    highest = float(type(loss).kernel_upper(loss, 1.0))
    number = np.repeat(np.arange(dual.shape[0]), np.diff(dual.indptr))
    own = _signs(problem, np.arange(dual.shape[0]), dual) > 0
    weight = np.where(own, problem.positive_weight[number], problem.negative_weight[number])
    cost = objective.C * problem.row_weight[dual.indices] * weight
    highest_each = np.multiply(highest, cost, out=np.zeros_like(cost), where=cost > 0)
    data = np.clip(dual.data.astype(np.float64), 0.0, highest_each)
    return sp.csr_array((data, dual.indices, dual.indptr), shape=dual.shape)


def vectors_of(objective: Objective, classes: npt.NDArray[Any], dual: sp.csr_array) -> tuple[Any, Array]:
    """The weights and biases that belong to the duals of some classes, sparse where rows are.

    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> objective = Objective(make_problem([[-1.0], [1.0]], ["a", "b"]), Hinge(), flat(2), C=2.0)
    >>> vectors_of(objective, np.array([1]), sp.csr_array([[1.0, 0.5]]))
    (array([[1.5]]), array([-0.5]))
    """
    signed = dual.data * _signs(objective.problem, classes, dual)
    signed = sp.csr_array((signed, dual.indices, dual.indptr), shape=dual.shape)
    return signed @ objective.problem.X, signed.sum(axis=1) * objective.bias_feature


def _signs(problem: Any, classes: npt.NDArray[Any], dual: sp.csr_array) -> Array:
    """1 for each entry whose row is one of its class, -1 for the others."""
    indptr, rows = problem.rows_of_classes
    signs, own = np.full(len(dual.data), -1.0), np.zeros(dual.shape[1], dtype=bool)
    for place, number in enumerate(classes):
        mine, entries = rows[indptr[number] : indptr[number + 1]], slice(*dual.indptr[place : place + 2])
        own[mine] = True
        signs[entries][own[dual.indices[entries]]] = 1.0
        own[mine] = False
    return signs
