"""The signs S of orthogonal transfer that make a dual best: a smooth problem in as many numbers as there are pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve, get_lapack_funcs
from scipy.optimize import minimize

Array = npt.NDArray[np.float64]

_STEPS = 30  # at most so many of L-BFGS-B
_PRECISE = 1e-13  # share of the value below which a gain ends it


def best_signs(
    diagonal: Array, pairs: tuple[npt.NDArray[Any], npt.NDArray[Any], Array], gram: Array, signs: Array | None
) -> Array:
    """S_ij in [-1, 1] of every pair (i, j, K_ij) that make tr(G (K o S)^-1) least, K_ii being `diagonal`.

    `gram` is G = Z Z', and `signs` where to begin. The problem is convex; its derivative by S_ij is -2 K_ij w_i . w_j
    with W = (K o S)^-1 Z.

    >>> best_signs(np.ones(2), (np.array([0]), np.array([1]), np.array([0.5])), np.ones((2, 2)), None)
    array([1.])
    """
    first, second, weight = pairs
    start = np.zeros(len(weight)) if signs is None else signs
    unit = float(np.sum(np.diag(gram) / diagonal))
    if not len(weight) or unit <= 0:
        return start
    scaled = gram / unit

    def value(signs: Array) -> tuple[float, Array]:
        signed = np.diag(diagonal)
        signed[first, second] = signed[second, first] = weight * signs
        factors = cho_factor(signed, lower=True, overwrite_a=True, check_finite=False)
        half = cho_solve(factors, scaled, check_finite=False)
        products = cho_solve(factors, half.T, check_finite=False)
        return float(np.trace(half)), -2.0 * weight * products[first, second]

    found = minimize(
        value,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(-1.0, 1.0)] * len(start),
        options={"maxiter": _STEPS, "ftol": _PRECISE, "gtol": _PRECISE},
    )
    return np.asarray(np.clip(found.x, -1.0, 1.0))


def signed_inverse(
    diagonal: Array, pairs: tuple[npt.NDArray[Any], npt.NDArray[Any], Array], signs: Array
) -> Array:
    """(K o S)^-1, dense and symmetric.

    >>> pairs = (np.array([0]), np.array([1]), np.array([1.0]))
    >>> signed_inverse(np.full(2, 2.0), pairs, np.zeros(1)).round(9).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    first, second, weight = pairs
    signed = np.diag(diagonal)
    signed[first, second] = signed[second, first] = weight * signs
    lower, _ = cho_factor(signed, lower=True, overwrite_a=True)
    (invert,) = get_lapack_funcs(("potri",), (lower,))
    inverse, _ = invert(lower, lower=True)
    return np.asarray(np.tril(inverse) + np.tril(inverse, -1).T)
