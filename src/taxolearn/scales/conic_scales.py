"""Node weights by cone programme: (6) and (8) of Choi, Sasaki and Srebro on a DAG, directional constraint included."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.conic import Block, minimise
from taxolearn.errors import DataError

FloatArray = npt.NDArray[np.float64]
IdArray = npt.NDArray[np.int64]

_MAX_STEPS = 100
_TOLERANCE = 1e-11  # a Newton step that lowers the cost by a smaller part is the last
_LEAST = 1e-7  # weights below it count as it in the curvature, which at zero is zero or infinite


def least_power(
    paths: sp.csr_array,
    ends: IdArray,
    edges: tuple[IdArray, IdArray],
    *,
    rho: float,
    largest_sum: float,
    directional: bool,
) -> FloatArray:
    """The least sum of a_n^rho with 1 <= sum along each path <= largest_sum and, if directional, a_parent <= a_child.

    >>> paths = sp.csr_array(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]))
    >>> edges = np.array([0, 0]), np.array([1, 2])
    >>> least_power(
    ...     paths, np.array([1, 2]), edges, rho=2.0, largest_sum=1.0, directional=False
    ... ).round(4)
    array([0.6667, 0.3333, 0.3333])
    """
    stands_for, of_row = _interchangeable(paths, ends)
    kept, position, count = np.unique(stands_for, return_inverse=True, return_counts=True)
    small = sp.csr_array(sp.csc_array(paths[of_row])[:, kept])
    n_paths, n_nodes = small.shape
    n_sums = 0 if largest_sum == 1.0 else n_paths
    blocks: list[Block] = [
        (_pad(-sp.eye_array(n_nodes), n_sums), np.zeros(n_nodes), [("nonnegative", n_nodes)])
    ]
    if n_sums:
        # Sums as variables of their own: bounding P a twice would factor P twice.
        rows = sp.hstack([small, -sp.eye_array(n_paths)])
        blocks.append((rows, np.zeros(n_paths), [("zero", n_paths)]))
        bounds = sp.hstack([sp.csr_array((2 * n_paths, n_nodes)), _between(n_paths)])
        ends_of_range = np.repeat([largest_sum, -1.0], n_paths)
        blocks.append((bounds, ends_of_range, [("nonnegative", 2 * n_paths)]))
    else:
        blocks.append((small, np.ones(n_paths), [("zero", n_paths)]))
    if directional:
        parents, children = np.unique(np.stack([position[edges[0]], position[edges[1]]]), axis=1)
        each = np.arange(len(parents))
        ones = np.ones(len(parents))
        rises = sp.csr_array(
            (np.concatenate([ones, -ones]), (np.tile(each, 2), np.concatenate([parents, children]))),
            shape=(len(parents), n_nodes),
        )
        blocks.append((_pad(rises, n_sums), np.zeros(len(parents)), [("nonnegative", len(parents))]))
    weights = _quadratic(np.zeros(n_nodes), np.multiply(2.0, count, dtype=np.float64), blocks, n_sums)
    if rho != 2.0:
        weights = _newton(weights, count, blocks, n_sums, rho)
    return weights[position]


def _quadratic(linear: FloatArray, curvature: FloatArray, blocks: list[Block], n_sums: int) -> FloatArray:
    found = minimise(
        np.concatenate([linear, np.zeros(n_sums)]),
        blocks,
        quadratic=np.concatenate([curvature, np.zeros(n_sums)]),
        what="node weights",
    )
    return np.maximum(found[: len(linear)], 0.0)


def _newton(weights: FloatArray, count: IdArray, blocks: list[Block], n_sums: int, rho: float) -> FloatArray:
    """Newton's method on sum_n count_n a_n^rho from a feasible point, a quadratic programme a step.

    Power cones would say it in one programme, but clarabel leaves them unfinished at fifty thousand nodes.
    """
    cost = float(count @ weights**rho)
    for _ in range(_MAX_STEPS):
        # The cost counts as one: tolerances are absolute, and a_n^rho may be tiny.
        gradient = rho / cost * count * weights ** (rho - 1.0)
        curvature = rho * (rho - 1.0) / cost * count * np.maximum(weights, _LEAST) ** (rho - 2.0)
        direction = _quadratic(gradient - curvature * weights, curvature, blocks, n_sums) - weights
        weights = np.maximum(weights + _step(weights, direction, count, rho) * direction, 0.0)
        before, cost = cost, float(count @ weights**rho)
        if before - cost <= _TOLERANCE * before:
            return weights
    raise DataError(
        f"the node weights of rho={rho:g} were not found in {_MAX_STEPS} steps; take rho nearer to 2"
    )


def _step(weights: FloatArray, direction: FloatArray, count: IdArray, rho: float) -> float:
    """Where on the way to the end of a Newton step the cost is least, by bisection of its gradient."""

    def gradient(step: float) -> float:
        return float((count * direction) @ np.maximum(weights + step * direction, 0.0) ** (rho - 1.0))

    if gradient(1.0) <= 0.0:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if gradient(middle) <= 0.0 else (low, middle)
    return low


def _between(n: int) -> sp.csr_array:
    return sp.csr_array(sp.vstack([sp.eye_array(n), -sp.eye_array(n)]))


def _pad(matrix: sp.sparray, n_columns: int) -> sp.csr_array:
    """Columns of zeros after those of the matrix."""
    return sp.csr_array(sp.hstack([matrix, sp.csr_array((matrix.shape[0], n_columns))]))


def _interchangeable(paths: sp.csr_array, ends: IdArray) -> tuple[IdArray, IdArray]:
    """Lowest classes with the same ancestors have the same weight, the programme being strictly convex.

    Returns for each node the node that stands for it, and the paths to keep. It leaves 14,561 of 36,504 paths of
    a random DAG, and 5.1 of 8.1 seconds.
    """
    stands_for = np.arange(paths.shape[1])
    first: dict[bytes, int] = {}
    of_row = []
    paths.sort_indices()
    for row, end in enumerate(ends.tolist()):
        path = paths.indices[paths.indptr[row] : paths.indptr[row + 1]]
        known = first.setdefault(path[path != end].tobytes(), end)
        stands_for[end] = known
        if known == end:
            of_row.append(row)
    return stands_for, np.array(of_row)
