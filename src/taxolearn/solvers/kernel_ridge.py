"""Least squares with tied classes in the space of a kernel: one decomposition of the matrix of products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from taxolearn.objective import Objective
from taxolearn.problem import Problem
from taxolearn.solvers.base import (
    Limits,
    Requires,
    Rounds,
    Solution,
    Start,
    Status,
    Watch,
    check_requirements,
)
from taxolearn.solvers.ridge import Spectrum, spectrum_of
from taxolearn.solvers.ridge_rows import (
    Array,
    Found,
    RidgeRows,
    Rotation,
    half_ridge,
    ridge_rows,
    rotation_of,
    threads_of,
)
from taxolearn.vectors import KernelVectors

REQUIRES = Requires(("square",), starts=False, row_products=True)
LIMITS = Limits()
_LEAST_GAIN = 0.5  # of the gap that a step of refinement must leave at most


@dataclass(frozen=True, eq=False)
class KernelSpectrum(Spectrum):
    """Eigenvectors and eigenvalues of the weighted products, of which `rows.Z` is the matrix.

    >>> from dataclasses import replace
    >>> from taxolearn.gram import row_kernel, row_products
    >>> from taxolearn.problem import make_problem
    >>> problem = make_problem([[3.0], [4.0]], ["a", "b"])
    >>> problem = replace(problem, products=row_products(row_kernel("linear"), problem.X))
    >>> decomposed(problem, 0.0).values.round(9).tolist()
    [0.0, 25.0]
    """

    def solve(self, rotation: Rotation, h: float) -> Found:
        """Duals of all eigenvectors of the classes; their vectors are sums of rows."""
        R = rotation.of(self.rows.targets)
        shrunk = 1.0 / (h + np.multiply.outer(self.values, rotation.values))
        return Found(np.zeros((0, R.shape[1])), self.vectors @ (shrunk * (self.vectors.T @ R)))

    def refined(self, found: Found, rotation: Rotation, h: float) -> Found:
        """One more step with what the last one left over."""
        shrunk = 1.0 / (h + np.multiply.outer(self.values, rotation.values))
        rest = self.rest(found, rotation, h)
        return Found(found.vectors, found.duals + self.vectors @ (shrunk * (self.vectors.T @ rest)))

    def rest(self, found: Found, rotation: Rotation, h: float) -> Array:
        """What the duals leave of their equations (h + a K) b = r."""
        R = rotation.of(self.rows.targets)
        return np.asarray(R - h * found.duals - (self.rows.Z @ found.duals) * rotation.values)


def decomposed(problem: Problem, bias_feature: float) -> Spectrum:
    """The decomposition of a problem's rows, or of their products.

    >>> from taxolearn.problem import make_problem
    >>> decomposed(make_problem([[3.0], [4.0]], ["a", "b"]), 0.0).values.round(9).tolist()
    [25.0]
    """
    if problem.products is None:
        return spectrum_of(ridge_rows(problem, bias_feature))
    return _decomposed_products(problem, bias_feature)


def _decomposed_products(problem: Problem, bias_feature: float) -> KernelSpectrum:
    rows = _product_rows(problem, bias_feature)
    values, vectors = np.linalg.eigh(rows.Z)
    return KernelSpectrum(rows, np.maximum(values, 0.0), vectors, False)


def _product_rows(problem: Problem, bias_feature: float) -> RidgeRows:
    products = problem.products
    assert products is not None
    every = np.arange(problem.n_rows)
    K = products.between(problem.X, every, every)
    roots = np.sqrt(problem.weight_by_labels)
    K = 0.5 * (K + K.T) + bias_feature**2
    K *= np.multiply.outer(roots, roots)
    targets = sp.csr_array(sp.diags_array(roots) @ problem.targets)
    mark = (f"{problem.fingerprint()} {products.kernel.key()}", bias_feature)
    return RidgeRows(K, targets, roots, bias_feature, problem.n_features, mark)


def solve_kernel_ridge(
    objective: Objective, limits: Limits = LIMITS, start: Start | None = None, watch: Watch | None = None
) -> Solution:
    """Algorithm 1 of Mroueh, Poggio, Rosasco, with n restored: (K + n lambda Lambda_jj I)^-1 for each eigenvector j.

    A `start` whose state is the decomposition of the same products is not decomposed again.

    >>> from dataclasses import replace
    >>> from taxolearn.gram import row_kernel, row_products
    >>> from taxolearn.losses import Square
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> problem = replace(problem, products=row_products(row_kernel("linear"), problem.X))
    >>> solution = solve_kernel_ridge(Objective(problem, Square(), flat(2), C=0.5, bias_feature=0.0))
    >>> solution.vectors.coef.round(6).tolist(), solution.status.value
    ([[-0.333333], [0.333333]], 'converged')
    """
    check_requirements("decomposition", REQUIRES, objective)
    h, rotation = half_ridge(objective), rotation_of(objective.tie)
    with np.errstate(over="ignore", invalid="ignore"), limits.run() as run, threads_of(run):
        problem = objective.problem
        n, width = problem.n_rows, len(rotation.values)
        found = Found(np.zeros((0, width)), np.zeros((n, width)))
        total = float(problem.weight_by_labels @ np.diff(problem.targets.indptr))
        primal = gap = total / (2.0 * h)
        spectrum: KernelSpectrum | None = None
        stalls = False
        rounds = Rounds(limits, run, watch, lambda: _dual(problem, found, rotation, h, spectrum))
        while rounds.another(primal, gap) and not stalls:
            if spectrum is None:
                spectrum = _kept(start, objective) or _decomposed_products(problem, objective.bias_feature)
                better = spectrum.solve(rotation, h)
            else:
                better = spectrum.refined(found, rotation, h)
            value, left = _bounds(spectrum, better, rotation, h, total)
            stalls = not left <= _LEAST_GAIN * gap  # what is left is rounding
            if left < gap:
                found, primal, gap = better, value, left
        dual = _dual(problem, found, rotation, h, spectrum)
    status = Status.ROUNDING if stalls and not rounds.converged else rounds.status
    return Solution(_vectors(objective, dual), dual, status, rounds.done, rounds.history, {}, spectrum)


def _kept(start: Start | None, objective: Objective) -> KernelSpectrum | None:
    state, problem = None if start is None else start.state, objective.problem
    assert problem.products is not None
    mark = (f"{problem.fingerprint()} {problem.products.kernel.key()}", objective.bias_feature)
    return state if isinstance(state, KernelSpectrum) and state.rows.mark == mark else None


def _bounds(
    spectrum: KernelSpectrum, found: Found, rotation: Rotation, h: float, total: float
) -> tuple[float, float]:
    """The primal objective and the gap ||rest||^2 / (2 h)."""
    rest, R = spectrum.rest(found, rotation, h), rotation.of(spectrum.rows.targets)
    gap = float(np.sum(rest**2)) / (2.0 * h)
    outside = max(0.0, total - float(np.sum(R**2))) / (2.0 * h)
    return outside + gap + 0.5 * float(np.sum(found.duals * (R + rest))), gap


def _dual(
    problem: Problem, found: Found, rotation: Rotation, h: float, spectrum: Spectrum | None
) -> sp.csr_array:
    """Classes x rows."""
    if spectrum is None:
        return sp.csr_array((problem.n_classes, problem.n_rows))
    return spectrum.rows.dual(found, rotation, h)


def _vectors(objective: Objective, dual: sp.csr_array) -> KernelVectors:
    """u_n = a_n sum_l m_l over the classes l under node n; L' M where classes are columns of a factor."""
    problem, tie = objective.problem, objective.tie
    assert problem.products is not None
    paths, scale = (
        (tie.paths, tie.scale) if tie.facts.paths else (tie.factor(), np.ones(tie.factor().shape[1]))
    )
    own = np.flatnonzero(np.bincount(dual.indices[dual.data != 0], minlength=problem.n_rows))
    nodes = sp.csr_array((paths.T @ dual[:, own]) * scale[:, None])
    kernel, targets = problem.products.kernel, problem.targets
    first = np.full(problem.n_rows, -1, dtype=np.int32)
    has = np.diff(targets.indptr) > 0
    first[has] = targets.indices[targets.indptr[:-1][has]]
    return KernelVectors(
        kernel,
        None if kernel.is_precomputed else problem.X[own],
        nodes,
        sp.csr_array(paths),
        objective.bias_feature**2 * (paths @ np.asarray(nodes.sum(axis=1)).ravel()),
        problem.products.numbers[own].astype(np.int64),
        first[own],
        problem.n_features,
    )
