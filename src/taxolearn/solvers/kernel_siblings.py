"""Sibling hinge on rows that are known by a kernel: the solver for vectors, on a factor of the kernel's matrix."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import DataError
from taxolearn.gram import Gram
from taxolearn.objective import Objective
from taxolearn.solvers.base import Limits, Requires, Solution, Start, Watch, check_requirements
from taxolearn.solvers.siblings import solve_siblings
from taxolearn.solvers.unit_geometry import geometry_of
from taxolearn.vectors import KernelVectors

REQUIRES = Requires(("siblings",), absolute=True, row_products=True)

_SHIFTS = (
    1e-15,
    1e-13,
    1e-11,
    1e-9,
    1e-7,
)  # shares of the trace added to the diagonal until there is a factor
_LIMITS = Limits(tol=1e-3)

Array = npt.NDArray[np.float64]


def solve_kernel_siblings(
    objective: Objective, limits: Limits = _LIMITS, start: Start | None = None, watch: Watch | None = None
) -> Solution:
    """Minimise the objective of `solve_siblings` over vectors w_j = sum_i b_ji phi(x_i), phi being the kernel's.

    With K = F F' (Cholesky) the rows of F have the products that the kernel gives, so that the dual is that of rows F.
    The vectors are then w = Q z of that dual, as sums of training rows. K must fit into the memory set aside for it.

    >>> from taxolearn.gram import row_kernel, row_products
    >>> from taxolearn.losses import sibling_hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import transfer_tie
    >>> problem = make_problem([[-1.0], [0.0], [1.0]], ["a", "b", "a"])
    >>> problem = replace(problem, products=row_products(row_kernel("rbf"), problem.X))
    >>> loss = sibling_hinge([(slice(0, 2), [0, 1], [0, 1])], 2)
    >>> solution = solve_kernel_siblings(Objective(problem, loss, transfer_tie(None, [0, 1]), C=10.0))
    >>> solution.status.value, solution.vectors.scores(problem.X).argmax(axis=1).tolist()
    ('converged', [0, 1, 0])
    """
    check_requirements("kernel_siblings", REQUIRES, objective)
    problem = objective.problem
    explicit = replace(problem, X=_factor(objective), products=None)
    solution = solve_siblings(replace(objective, problem=explicit), limits, start, watch)
    return replace(solution, vectors=_vectors(objective, solution))


def _factor(objective: Objective) -> Array:
    """F with F F' = K, but for a share of the trace on the diagonal that is lost in rounding."""
    from scipy.linalg import LinAlgError, cholesky

    problem = objective.problem
    products = problem.products
    assert products is not None
    needed = 8 * problem.n_rows**2
    if needed > products.cache_bytes and not products.kernel.is_precomputed:
        raise DataError(
            f"this method keeps the whole matrix of a kernel, {needed / 2**20:,.0f} MB for {problem.n_rows:,} rows; "
            "raise cache_size"
        )
    matrix = Gram(problem.X, products).rows(np.arange(problem.n_rows))
    matrix = 0.5 * (matrix + matrix.T)
    trace = float(np.abs(np.diagonal(matrix)).sum())
    for share in _SHIFTS:
        shifted = matrix + share * trace * np.eye(problem.n_rows)
        try:
            return np.ascontiguousarray(cholesky(shifted, lower=True, overwrite_a=True, check_finite=False))
        except LinAlgError:
            continue
    if trace == 0.0:
        return np.zeros_like(matrix)
    raise DataError(
        f"kernel {products.kernel.name} is not positive semi-definite on these rows; use another one"
    )


def _vectors(objective: Objective, solution: Solution) -> KernelVectors:
    """w = Q z as sums of training rows."""
    problem: Any = objective.problem
    dual = sp.coo_array(solution.dual)
    label = problem.one_label[0]
    own = objective.loss.own_units(label[dual.col], dual.row)
    data, row = np.concatenate((dual.data, -dual.data)), np.concatenate((own, dual.row))
    factors = sp.csr_array((data, (row, np.tile(dual.col, 2))), shape=dual.shape)
    support = np.unique(dual.col)
    pulls = factors[:, support].toarray()
    geometry = geometry_of(objective.tie, solution.details.get("signs"))
    coef = np.zeros_like(pulls)
    for members, matrix in zip(geometry.blocks.members, geometry.matrices, strict=True):
        coef[members] = matrix @ pulls[members]
    kernel = problem.products.kernel
    return KernelVectors(
        kernel,
        None if kernel.is_precomputed else problem.X[support],
        sp.csr_array(coef),
        sp.csr_array(sp.eye_array(objective.n_units)),
        objective.bias_feature**2 * coef.sum(axis=1),
        problem.products.numbers[support].astype(np.int64),
        label[support].astype(np.int32),
        problem.n_features,
    )
