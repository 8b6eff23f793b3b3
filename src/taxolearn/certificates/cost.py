"""What a certificate takes, before it is made."""

from __future__ import annotations

import scipy.sparse as sp

from taxolearn.objective import Objective, Parts

_SPARSE_PRODUCTS = 3e8  # multiplications per second and thread with sparse rows, rounding bounds included
_DENSE_PRODUCTS = 2e9  # with dense rows


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
    sparse = sp.issparse(problem.X)
    entries = problem.X.nnz if sparse else problem.X.size
    products = 2.0 * entries * objective.n_units
    return float(products) / ((_SPARSE_PRODUCTS if sparse else _DENSE_PRODUCTS) * max(1, n_workers))
