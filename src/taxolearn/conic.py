"""Cone programmes, handed to clarabel: the one place that knows its calls."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import DataError

__all__ = ["Block", "minimise"]

FloatArray = npt.NDArray[np.float64]
# Rows of a programme: matrix A, right-hand side b and the cones, kind by kind, that b - A x must lie in.
# A cone is a kind and its size: ("zero", rows), ("nonnegative", rows), ("second_order", rows),
# ("semidefinite", order of the matrix, given by its upper triangle column by column, off-diagonal times sqrt 2).
Block = tuple[Any, npt.ArrayLike, Sequence[tuple[str, int]]]

# Asked for in this order: at the first, rounding may end a solve far from any answer (in 12 of 720 trials
# with rho near 1), and the second then succeeds; so does the third where many cones are left at their apex (shared
# norms of vectors that need few nodes: 3 of 105 trials).
_TOLERANCES = (1e-12, 1e-9, 1e-7)
_ACCEPTED = 1e-7  # where rounding ends a solve before the tolerance


def minimise(
    linear: npt.ArrayLike, blocks: Sequence[Block], *, quadratic: npt.ArrayLike | None = None, what: str
) -> FloatArray:
    """The x that minimises linear . x + 1/2 sum_j quadratic_j x_j^2 with b - A x in the cones of every block.

    `what` names the programme in the error that says that it has no solution.

    >>> minimise([1.0], [(sp.csr_array([[-1.0]]), [-2.0], [("nonnegative", 1)])], what="x >= 2").round(6)
    array([2.])
    """
    clarabel = _clarabel()
    cost = np.asarray(linear, dtype=np.float64)
    curvature = np.zeros(len(cost)) if quadratic is None else np.asarray(quadratic, dtype=np.float64)
    matrix = sp.csc_array(sp.vstack([block[0] for block in blocks]))
    bounds = np.concatenate([np.asarray(block[1], dtype=np.float64) for block in blocks])
    cones = [_cone(clarabel, kind, size) for block in blocks for kind, size in block[2]]
    hessian = sp.csc_array(sp.diags_array(curvature))
    hessian.eliminate_zeros()
    for tolerance in _TOLERANCES:
        settings = _settings(clarabel, tolerance)
        solution = clarabel.DefaultSolver(hessian, cost, matrix, bounds, cones, settings).solve()
        if str(solution.status) in ("Solved", "AlmostSolved"):
            return np.asarray(solution.x, dtype=np.float64)
    raise DataError(
        f"the cone programme for {what} ended with {solution.status}; check its input for extremes"
    )


def _clarabel() -> ModuleType:
    try:
        import clarabel
    except ImportError as error:
        raise ImportError("cone programmes need clarabel; install it beside taxolearn") from error
    module: ModuleType = clarabel
    return module


def _cone(clarabel: ModuleType, kind: str, size: int) -> Any:
    kinds = {
        "zero": clarabel.ZeroConeT,
        "nonnegative": clarabel.NonnegativeConeT,
        "second_order": clarabel.SecondOrderConeT,
        "semidefinite": clarabel.PSDTriangleConeT,
    }
    return kinds[kind](size)


def _settings(clarabel: ModuleType, tolerance: float) -> Any:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    # The supernodal factorisation took 3.5 times as long on path matrices.
    settings.direct_solve_method = "qdldl"
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    settings.reduced_tol_gap_abs = settings.reduced_tol_gap_rel = settings.reduced_tol_feas = _ACCEPTED
    return settings
