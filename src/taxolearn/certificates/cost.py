"""What a certificate takes, before it is made."""

from __future__ import annotations

import scipy.sparse as sp

from taxolearn.objective import Objective, Parts

_SPARSE_PRODUCTS = 3e8  # multiplications per second and thread with sparse rows, rounding bounds included
_DENSE_PRODUCTS = 2e9  # with dense rows
_PER_PRODUCT = 20.0  # multiplications that a product of two rows through a kernel costs besides its features


def expected_seconds(objective: Objective | Parts, n_workers: int = 1) -> float:
    """Roughly how long `certify` will take: every row is scored by every class, and the dual is added up again.

    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> expected_seconds(Objective(make_problem([[0.0], [1.0]], ["a", "b"]), Hinge(), flat(2))) < 0.01
    True
    """
    if isinstance(objective, Parts):
        return sum(expected_seconds(part, n_workers) for part in objective.parts)
    problem = objective.problem
    if (
        problem.products is not None
    ):  # every row is multiplied with all that count, and these are added up per node
        width = problem.X.nnz / problem.n_rows if sp.issparse(problem.X) else problem.n_features
        given = problem.products.kernel.is_precomputed
        products = float(problem.n_rows) ** 2 * (_PER_PRODUCT + (0.0 if given else width))
        return products / (_SPARSE_PRODUCTS * max(1, n_workers))
    sparse = sp.issparse(problem.X)
    entries = problem.X.nnz if sparse else problem.X.size
    products = 2.0 * entries * objective.n_units
    return float(products) / ((_SPARSE_PRODUCTS if sparse else _DENSE_PRODUCTS) * max(1, n_workers))
