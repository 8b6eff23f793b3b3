"""Node weights written down from their definitions and given to general solvers; random taxonomies to try them on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from taxolearn.structure import Taxonomy

Case = tuple[Taxonomy, list[int]]

# A cost within 1e-10 leaves weights uncertain by 1e-5; at 1e-12 clarabel often stops just short and cvxpy warns.
_PRECISE = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}


def random_structure(seed: int, *, dag: bool, max_nodes: int = 12) -> Taxonomy:
    """A small tree in which nodes pick a parent among the nodes before them, or one with more edges."""
    rng = np.random.default_rng(seed)
    n_nodes = int(rng.integers(3, max_nodes + 1))
    pairs = {(int(rng.integers(max(0, node - 4), node)), node) for node in range(1, n_nodes)}
    if dag:
        for _ in range(int(rng.integers(1, n_nodes))):
            above, below = sorted(rng.choice(n_nodes, 2, replace=False).tolist())
            pairs.add((above, below))
    return Taxonomy.from_edges(sorted(pairs))


def random_classes(taxonomy: Taxonomy, seed: int) -> list[int]:
    """The leaves, or (every third seed) some nodes at any height; never the root alone."""
    if seed % 3:
        return taxonomy.leaf_ids.tolist()
    rng = np.random.default_rng(seed)
    return sorted({*rng.choice(taxonomy.n_nodes, 3).tolist(), int(rng.choice(taxonomy.leaf_ids))})


def random_cases(seeds: Iterable[int], *, dag: bool, max_nodes: int = 12) -> list[Case]:
    """A random structure with random classes for each seed."""
    taxonomies = [(random_structure(seed, dag=dag, max_nodes=max_nodes), seed) for seed in seeds]
    return [(taxonomy, random_classes(taxonomy, seed)) for taxonomy, seed in taxonomies]


def with_duplicates(taxonomy: Taxonomy, seed: int, n_extra: int = 4) -> tuple[Taxonomy, dict[int, int]]:
    """Random nodes become chains, a new node above the old one; and where each old id went."""
    rng = np.random.default_rng(seed)
    edges = [(p, c) for p, c in taxonomy.edges]
    for extra in range(n_extra):
        name = taxonomy.nodes[int(rng.integers(taxonomy.n_nodes))]
        twin = (name, extra)
        edges = [(p, twin if c == name else c) for p, c in edges] + [(twin, name)]
    longer = Taxonomy.from_edges(edges)
    return longer, {old: longer.id_of(name) for old, name in enumerate(taxonomy.nodes)}


def path_of(taxonomy: Taxonomy, node: int) -> set[int]:
    """The node and all its ancestors."""
    first, last = taxonomy.parent_indptr[node], taxonomy.parent_indptr[node + 1]
    above = [path_of(taxonomy, int(parent)) for parent in taxonomy.parent_indices[first:last]]
    return {node}.union(*above)


def lowest(taxonomy: Taxonomy, classes: Sequence[int]) -> list[int]:
    """The classes that are on the path of no other class."""
    return [c for c in classes if not any(c != d and c in path_of(taxonomy, d) for d in classes)]


def path_matrix(taxonomy: Taxonomy, classes: Sequence[int]) -> np.ndarray:
    """Dense rows of ones."""
    rows = np.zeros((len(classes), taxonomy.n_nodes))
    for row, node in zip(rows, classes, strict=True):
        row[sorted(path_of(taxonomy, node))] = 1.0
    return rows


def id_edges(taxonomy: Taxonomy) -> list[tuple[int, int]]:
    """(parent, child) pairs of ids."""
    return [(taxonomy.id_of(p), taxonomy.id_of(c)) for p, c in taxonomy.edges]


def least_power(
    cases: Sequence[Case],
    *,
    rho: float,
    directional: bool = False,
    T: float | None = None,
    pinned: bool = False,
    costs: Sequence[np.ndarray] | None = None,
) -> list[np.ndarray]:
    """(6), with the constraint of (8) instead of (4) when T is given, by cvxpy: all cases side by side in one."""
    sizes = [taxonomy.n_nodes for taxonomy, _ in cases]
    starts = np.cumsum([0, *sizes[:-1]])
    paths = sp.block_diag([path_matrix(t, lowest(t, classes)) for t, classes in cases]).tocsr()
    weights = cp.Variable(sum(sizes), nonneg=True)
    sums = paths @ weights
    constraints = [sums == 1] if T is None else [sums >= 1, sums <= T]
    if directional:
        edges = [
            (start + p, start + c)
            for (taxonomy, classes), start in zip(cases, starts, strict=True)
            for p, c in id_edges(taxonomy)
            if path_matrix(taxonomy, classes)[:, c].any() and not (pinned and p == 0)
        ]
        parents, children = np.array(edges).T
        constraints.append(weights[parents] <= weights[children])
    if pinned:
        constraints.append(weights[starts] == 0)
    powers = cp.square(weights) if rho == 2 else cp.power(weights, rho)
    cost = np.ones(sum(sizes)) if costs is None else np.concatenate(costs)
    cp.Problem(cp.Minimize(cost @ powers), constraints).solve(solver=cp.CLARABEL, **_PRECISE)
    return np.split(np.maximum(weights.value, 0.0), starts[1:])


def lexicographic_max_min(taxonomy: Taxonomy, classes: Sequence[int]) -> np.ndarray:
    """(7) by linear programmes: raise the least weight, find which weights cannot exceed it, fix these, go on."""
    paths = path_matrix(taxonomy, lowest(taxonomy, classes))
    used = np.flatnonzero(path_matrix(taxonomy, classes).any(axis=0)).tolist()
    n = taxonomy.n_nodes
    rises = np.zeros((0, n + 1))
    for p, c in id_edges(taxonomy):
        if c in used:
            row = np.zeros((1, n + 1))
            row[0, p], row[0, c] = 1.0, -1.0
            rises = np.concatenate([rises, row])
    sums = np.hstack([paths, np.zeros((len(paths), 1))])
    fixed: dict[int, float] = {node: 0.0 for node in range(n) if node not in used}

    def solve(objective: np.ndarray, least: float | None) -> float:
        """Maximise; the last variable is the least weight of those not fixed."""
        above = np.zeros((0, n + 1))
        for node in set(used) - set(fixed):
            row = np.zeros((1, n + 1))
            row[0, node], row[0, -1] = -1.0, 1.0
            above = np.concatenate([above, row])
        bounds = [(fixed[i] - 1e-11, fixed[i] + 1e-11) if i in fixed else (0, None) for i in range(n)]
        bounds.append((0, None) if least is None else (least - 1e-11, None))
        A = np.concatenate([rises, above])
        found = linprog(
            -objective, A_ub=A, b_ub=np.zeros(len(A)), A_eq=sums, b_eq=np.ones(len(paths)), bounds=bounds
        )
        assert found.status == 0, found.message
        return -float(found.fun)

    while len(fixed) < n:
        least = solve(np.eye(n + 1)[-1], None)
        for node in sorted(set(used) - set(fixed)):
            if solve(np.eye(n + 1)[node], least) < least + 1e-7:
                fixed[node] = least
    return np.array([fixed[node] for node in range(n)])


def least_shared_costs(cases: Sequence[Case], squared_norms: Sequence[np.ndarray]) -> list[float]:
    """The least cost of (20) of each case, by cvxpy: all cases side by side in one."""
    norms = np.concatenate(squared_norms)
    active = np.flatnonzero(norms)
    weights = cp.Variable(len(active))
    each = cp.multiply(norms[active], cp.inv_pos(weights))
    paths = sp.block_diag([path_matrix(t, classes) for t, classes in cases]).tocsc()[:, active]
    cp.Problem(cp.Minimize(cp.sum(each)), [paths @ weights <= 1]).solve(solver=cp.CLARABEL, **_PRECISE)
    case_of = np.repeat(np.arange(len(cases)), [len(norm) for norm in squared_norms])
    return np.bincount(case_of[active], each.value, minlength=len(cases)).tolist()


def algorithm_1_as_printed(taxonomy: Taxonomy, squared_norms: np.ndarray) -> np.ndarray:
    """The paper's Algorithm 1 line by line, misprints included."""
    n_nodes = taxonomy.n_nodes
    alpha, N, E, L = np.zeros(n_nodes), np.zeros(n_nodes), np.zeros(n_nodes), np.ones(n_nodes)
    for n in reversed(range(n_nodes)):
        N[n] = squared_norms[n]
        children = np.flatnonzero(taxonomy.parent == n)
        if len(children):
            S = N[children].sum()
            if np.sqrt(S) + np.sqrt(N[n]) != 0:
                N[n] = (np.sqrt(N[n]) + np.sqrt(S)) ** 2
                E[n] = np.sqrt(N[n]) / (np.sqrt(S) + np.sqrt(N[n]))
    L[0] = 1 - E[0]
    for n in range(1, n_nodes):
        p = taxonomy.parent[n]
        alpha[n] = np.sqrt(L[p] * E[n])
        L[n] = L[p] * (1 - E[n])
    return alpha
