"""Weights whose sum along every path is one, without a solver: (6) and (7) of Choi, Sasaki and Srebro."""

from __future__ import annotations

import heapq
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.scales.forest import forest_levels, sum_downwards

FloatArray = npt.NDArray[np.float64]
IdArray = npt.NDArray[np.int64]


def least_power_on_forest(parent: IdArray, rho: float) -> FloatArray:
    """(6) on a forest: the least sum of a_n^rho, rho > 1, with sum one along every path.

    Below a node that has l to give, the least cost is (k_n)^(rho-1) l^rho: k_n = 1 at a leaf, else k_n = s/(1+s)
    with s^(rho-1) the sum of k_c^(rho-1) over the children. The node takes a_n = l k_n and leaves l (1 - k_n).
    In logarithms, because s overflows as rho goes to 1 and its terms underflow as rho grows.

    >>> least_power_on_forest(np.array([-1, 0, 0]), 2.0).round(4)
    array([0.6667, 0.3333, 0.3333])
    """
    levels = forest_levels(parent)
    log_share = np.zeros(len(parent))
    log_rest = np.full(len(parent), -np.inf)
    for level in reversed(levels):
        terms = (rho - 1.0) * log_share[level.children]
        log_s = np.logaddexp.reduceat(terms, level.start) / (rho - 1.0)
        log_share[level.parents] = -np.logaddexp(0.0, -log_s)
        log_rest[level.parents] = -np.logaddexp(0.0, log_s)
    return np.exp(sum_downwards(parent, levels, log_rest) + log_share)


def max_min_on_forest(parent: IdArray) -> FloatArray:
    """(7) on a forest, the lexicographic max-min: a node takes its even share for the longest path below it.

    a_n = l_n / h_n with h_n the nodes on the longest path from n down, and l_n - a_n is left to its children.

    >>> max_min_on_forest(np.array([-1, 0, 1, 0])).round(4)
    array([0.3333, 0.3333, 0.3333, 0.6667])
    """
    levels = forest_levels(parent)
    height = np.ones(len(parent))
    for level in reversed(levels):
        height[level.parents] = 1.0 + np.maximum.reduceat(height[level.children], level.start)
    left = np.ones(len(parent))
    for level in levels:
        above = parent[level.children]
        left[level.children] = left[above] * (1.0 - 1.0 / height[above])
    return left / height


def max_min_on_dag(paths: sp.csr_array) -> FloatArray:
    """(7) on a DAG, the lexicographic max-min, by progressive filling.

    All weights rise together; when a path is full, its nodes stop. A path is full at (1 - used) / (nodes still
    rising), a level that only grows while others stop, so a heap may hold old levels and correct them when they
    come up. A path through a node is also one through its parents, so these stop no later: the directional
    constraint holds by itself. A lowest class stops with its own path only, so that every sum is one.

    >>> max_min_on_dag(sp.csr_array(np.array([[1, 1, 0, 0], [1, 0, 1, 1]]))).round(4)
    array([0.3333, 0.6667, 0.3333, 0.3333])
    """
    through = sp.csc_array(paths)
    node_bounds, path_bounds = through.indptr.tolist(), list(pairwise(paths.indptr.tolist()))
    rising = np.diff(paths.indptr).astype(np.int64)
    used = np.zeros(len(rising))
    weights = np.full(paths.shape[1], np.nan)
    heap = list(zip((1.0 / rising).tolist(), range(len(rising)), strict=True))
    heapq.heapify(heap)
    while heap:
        level, path = heap[0]
        if not rising[path]:
            heapq.heappop(heap)
            continue
        now = (1.0 - used[path]) / rising[path]
        if now > level:
            heapq.heapreplace(heap, (now, path))
            continue
        heapq.heappop(heap)
        nodes = paths.indices[slice(*path_bounds[path])]
        stopping = nodes[np.isnan(weights[nodes])]
        weights[stopping] = now
        for node in stopping.tolist():
            filled = through.indices[node_bounds[node] : node_bounds[node + 1]]
            used[filled] += now
            rising[filled] -= 1
    return weights
