"""Sibling hinge through kernels: cone programmes on a factor of the matrix, and intervals against exact arithmetic."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

from reference import transfer_twin as twin
from taxolearn import OrthogonalTransferSVM, Taxonomy, TransferSVM
from taxolearn.certificates import certify
from taxolearn.errors import DataError
from taxolearn.gram import RowKernel, row_products
from taxolearn.problem import make_problem
from taxolearn.solvers import Solution, Status
from taxolearn.vectors import KernelVectors

SMALL = Taxonomy.from_paths(["root/a", "root/b/c", "root/b/d"])
CHAIN = Taxonomy.from_paths(["root/a/b/c", "root/a/b/d", "root/e/f", "root/g"])  # a, e: one child each
N = 14


def toy(taxonomy: Taxonomy) -> tuple[Any, list[Any]]:
    rng = np.random.default_rng(0)
    leaves = list(taxonomy.leaves)
    labels = [leaves[k % len(leaves)] for k in range(N)]
    centre = {name: rng.normal(size=3) for name in taxonomy.nodes}
    return np.array([centre[name] for name in labels]) + rng.normal(size=(N, 3)), labels


@pytest.mark.parametrize("C", [1.0, 50.0])
@pytest.mark.parametrize("taxonomy", [SMALL, CHAIN], ids=["small", "chain"])
@pytest.mark.parametrize("kind", ["orthogonal", "transfer"])
def test_within_a_millionth_of_the_cone_programme(kind: str, taxonomy: Taxonomy, C: float) -> None:
    X, labels = toy(taxonomy)
    K = rbf_kernel(X, gamma=0.5)
    given: dict[str, Any] = {
        "C": C,
        "tol": 1e-7,
        "max_iter": 100_000,
        "random_state": 0,
        "intercept_scaling": 2.0,
    }
    method: Any = TransferSVM if kind == "transfer" else OrthogonalTransferSVM
    if kind == "orthogonal":
        given["alpha"] = 0.7
    named = method(taxonomy, kernel="rbf", kernel_params={"gamma": 0.5}, **given).fit(X, labels)
    told = method(taxonomy, kernel="precomputed", **given).fit(K, labels)
    values, vectors = np.linalg.eigh(K)
    Z = twin.with_constant(vectors * np.sqrt(np.maximum(values, 0.0)), 2.0)
    penalties = twin.penalties(taxonomy, 0.7) if kind == "orthogonal" else None
    best = twin.optimum(taxonomy, Z, labels, np.full(N, C), kind, penalties)
    for model in (named, told):
        certificate = model.certificate_
        assert certificate.holds(1e-7)
        assert certificate.lower <= best * (1 + 1e-6) + 1e-9
        assert certificate.upper >= best * (1 - 1e-6) - 1e-9
        assert abs(certificate.primal - best) <= 1e-6 * best


def fractions(values: Any) -> Any:
    return np.vectorize(lambda value: Fraction(float(value)), otypes=[object])(values)


def solved(matrix: Any, right: Any) -> Any:
    """matrix^-1 right in fractions, by elimination."""
    a, b = matrix.copy(), right.copy()
    for k in range(len(a)):
        pivot = next(i for i in range(k, len(a)) if a[i, k] != 0)
        a[[k, pivot]], b[[k, pivot]] = a[[pivot, k]], b[[pivot, k]]
        b[k], a[k] = b[k] / a[k, k], a[k] / a[k, k]
        for i in range(len(a)):
            if i != k and a[i, k] != 0:
                b[i], a[i] = b[i] - a[i, k] * b[k], a[i] - a[i, k] * a[k]
    return b


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", [TransferSVM, OrthogonalTransferSVM])
def test_no_interval_excludes_the_exact_value(kind: Any, seed: int) -> None:
    """Any products, coefficients and duals: penalty, square and losses once more in fractions."""
    rng = np.random.default_rng(seed)
    sizes = 10.0 ** rng.uniform(-8, 8, size=4)
    B = rng.normal(size=(N, 5)) * sizes[0]
    matrix = B @ B.T
    matrix = 0.5 * (matrix + matrix.T)
    labels = toy(SMALL)[1]
    problem = make_problem(matrix, labels, SMALL)
    problem = replace(problem, products=row_products(RowKernel("precomputed"), matrix))
    objective = kind(SMALL, C=sizes[1], intercept_scaling=sizes[2])._objective(problem)
    loss, tie, m = objective.loss, objective.tie, objective.n_units
    coef = rng.normal(size=(m, N)) * sizes[3]
    s = objective.bias_feature
    vectors = KernelVectors(
        RowKernel("precomputed"), None, sp.csr_array(coef), sp.csr_array(np.eye(m)), s * s * coef.sum(axis=1),
        np.arange(N), np.zeros(N, dtype=np.int32), N,
    )  # fmt: skip
    label = problem.one_label[0]
    alpha = np.zeros((m, N))
    for i in range(N):
        units, _ = loss.rivals(int(label[i]))
        alpha[units, i] = rng.random(len(units)) * objective.C / (len(units) + 1)
    absolute = tie.facts.absolute
    signs = rng.uniform(-1, 1, size=len(tie.pairs[2])) if absolute else None
    details = {"signs": signs} if absolute else {}
    certificate = certify(
        objective, Solution(vectors, sp.csr_array(alpha), Status.CONVERGED, 0, details=details)
    )
    K = fractions(matrix) + Fraction(s) ** 2
    b, a = fractions(coef), fractions(alpha)
    z = fractions(np.zeros((m, N)))
    losses = Fraction(0)
    scores = b @ K
    for i in range(N):
        units, own = loss.rivals(int(label[i]))
        violated = [1 - scores[o, i] + scores[u, i] for u, o in zip(units, own, strict=True)]
        losses += Fraction(objective.C) * max(Fraction(0), *violated)
        for u, o in zip(units, own, strict=True):
            z[o, i] += a[u, i]
            z[u, i] -= a[u, i]
    G = b @ K @ b.T
    if absolute:
        given = fractions(tie.matrix.toarray())
        penalty = sum((given * abs(G)).ravel()) / 2
        first, second, weight = tie.pairs
        M = fractions(np.diag(tie.matrix.diagonal()))
        for i, j, w in zip(first, second, (weight * signs).tolist(), strict=True):
            M[i, j] = M[j, i] = Fraction(w)
    else:
        M = fractions(tie.precision().toarray())
        place = np.asarray(tie.class_nodes)
        M = M[np.ix_(place, place)]  # all nodes of this tree are units
        penalty = sum((M * G).ravel()) / 2
    square = np.trace(solved(M, z) @ K @ z.T)
    primal, dual = penalty + losses, sum(a.ravel()) - square / 2
    assert abs(Fraction(certificate.primal) - primal) <= Fraction(certificate.primal_error)
    assert abs(Fraction(certificate.dual) - dual) <= Fraction(certificate.dual_error)
    assert certificate.primal_error <= 1e-6 * certificate.primal


def test_the_matrix_must_fit() -> None:
    X, labels = toy(SMALL)
    with pytest.raises(
        DataError, match=r"keeps the whole matrix of a kernel, 0 MB for 14 rows; raise cache_size"
    ):
        TransferSVM(SMALL, kernel="rbf", cache_size=1e-6).fit(X, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TransferSVM(SMALL, kernel="linear").fit(np.zeros((N, 2)), labels)
