"""The best label set of each row, from the potentials of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.decoders.label_space import LabelSpace
from taxolearn.decoders.set_programme import SetProgramme
from taxolearn.engines import Clock, ThreadEngine
from taxolearn.errors import DataError
from taxolearn.structure.names import show

Floats = npt.NDArray[np.float64]
_SEARCH_STEPS = 3000  # bounds computed for a row; what is unproved then is hard
_ROWS_PER_TASK = 256


class LabelSets(NamedTuple):
    """The sets of all rows as CSR (node ids ascending, the root included), their values, and a bound on all others.

    >>> sets = LabelSets(np.array([1.0]), np.array([1.0]), np.array([0, 2]), np.array([0, 3], dtype=np.int32))
    >>> sets.proved.tolist(), sets.of(0).tolist()
    ([True], [0, 3])
    """

    values: Floats
    bounds: Floats
    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]

    @property
    def proved(self) -> npt.NDArray[np.bool_]:
        """Whether each row's set is known to be the best.

        >>> LabelSets(np.array([1.0]), np.array([1.5]), np.array([0, 1]), np.array([0])).proved
        array([False])
        """
        return np.asarray(self.bounds <= self.values)

    def of(self, row: int) -> npt.NDArray[np.int32]:
        """The nodes of one row's set.

        >>> LabelSets(np.array([1.0]), np.array([1.5]), np.array([0, 1]), np.array([0])).of(0)
        array([0])
        """
        return self.indices[self.indptr[row] : self.indptr[row + 1]]


def decode_sets(
    space: LabelSpace,
    potentials: npt.ArrayLike,
    *,
    exact: bool = True,
    at_most: int | None = None,
    max_seconds: float | None = None,
    n_threads: int = 1,
) -> LabelSets:
    """The label of each row that has the largest sum of potentials, rows x nodes.

    On trees, and on DAGs where no node needs a child, this is always exact. Elsewhere it is NP-hard: a search with
    bounds proves nearly all rows, and `exact` hands the others to an integer programme, for at most `max_seconds` per
    row; a row that is not proved by then is an error. `exact=False` answers such rows with the best set found, and
    `bounds` says how much better another one might be. `at_most` limits the number of labels: chosen nodes without a
    chosen child. On DAGs rows that have more of them go to the integer programme, too.

    >>> from taxolearn import Taxonomy
    >>> tree = Taxonomy.from_paths(["Cat/Lion", "Cat/Lynx", "Dog"])
    >>> space = LabelSpace.over(tree, ["Lion", "Lynx", "Dog"])
    >>> sets = decode_sets(space, [[0.0, -1.0, 2.0, -0.5, 0.25], [0.0, -1.0, -2.0, -3.0, -4.0]])
    >>> [[tree.nodes[n] for n in sets.of(row)] for row in range(2)], sets.values.tolist()
    ([['<root>', 'Cat', 'Lion', 'Dog'], ['<root>', 'Cat', 'Lion']], [1.25, -3.0])
    >>> decode_sets(space, [[0.0, -1.0, 2.0, -0.5, 0.25]], at_most=1).of(0).tolist()
    [0, 1, 2]
    """
    rows = _checked(space, potentials, at_most)
    sets = _in_blocks(space, rows, at_most, n_threads)
    hard = ~sets.proved if exact else np.zeros(len(rows), dtype=bool)
    if at_most is not None and not space.is_tree:
        hard |= _n_ends(space, sets) > at_most
    if not hard.any():
        return sets
    programme = SetProgramme(space, at_most)
    solved = {row: programme.solve(rows[row], max_seconds) for row in np.flatnonzero(hard).tolist()}
    for row, (value, bound, ids) in solved.items():
        if ids is None or (exact and bound > value):
            raise DataError(
                f"row {row}: its best label set is not proved within {max_seconds} seconds; raise max_seconds"
                + (", or take the best set found by exact=False" if at_most is None else "")
            )
    return _replaced(sets, solved)


def _checked(space: LabelSpace, potentials: npt.ArrayLike, at_most: Any) -> Floats:
    rows = np.ascontiguousarray(potentials, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != space.n_nodes:
        raise DataError(f"potentials have shape {rows.shape}; give one column per node, {space.n_nodes}")
    if not np.isfinite(rows).all():
        raise DataError("potentials hold NaN or inf; give finite numbers")
    check_at_most(at_most)
    return rows


def check_at_most(at_most: Any) -> None:
    """Must be a whole number from 1 on, or None.

    >>> check_at_most(0)
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: at_most=0 is not allowed; give a whole number from 1 on, or None
    """
    if at_most is not None and (
        isinstance(at_most, bool) or not isinstance(at_most, int | np.integer) or at_most < 1
    ):
        raise DataError(f"at_most={show(at_most)} is not allowed; give a whole number from 1 on, or None")


def _in_blocks(space: LabelSpace, rows: Floats, at_most: int | None, n_threads: int) -> LabelSets:
    """All rows by the kernels, blocks of rows on threads."""
    blocks = [slice(first, first + _ROWS_PER_TASK) for first in range(0, max(1, len(rows)), _ROWS_PER_TASK)]
    if n_threads < 2 or len(blocks) < 2:
        return _solved(space, rows, at_most)
    found: dict[int, LabelSets] = {}
    with ThreadEngine(n_threads) as engine:

        def solve(shared: Any, block: slice, clock: Clock) -> LabelSets:
            return _solved(space, rows[block], at_most)

        def keep(block: slice, sets: LabelSets) -> None:
            found[block.start] = sets

        engine.map(solve, None, blocks, Clock(), keep)
    return _joined([found[block.start] for block in blocks])


def _solved(space: LabelSpace, rows: Floats, at_most: int | None) -> LabelSets:
    from taxolearn.kernels.closures import best_closures
    from taxolearn.kernels.set_search import search_sets
    from taxolearn.kernels.tree_set_changes import best_tree_sets_of
    from taxolearn.kernels.tree_sets import best_tree_sets

    if space.is_tree:
        tree = (space.parent, space.subtree_end, space.must)
        values, indptr, indices = best_tree_sets(rows, *tree)
        sets = LabelSets(values, values, indptr, indices)
        if at_most is None:
            return sets
        wide = np.flatnonzero(_n_ends(space, sets) > at_most)
        values, indptr, indices = best_tree_sets_of(rows[wide], *tree, at_most)
        ids = np.split(indices, indptr[1:-1])
        return _replaced(sets, {r: (values[k], values[k], ids[k]) for k, r in enumerate(wide.tolist())})
    if not space.needs_children:
        values, indptr, indices = best_closures(rows, space.dag)
        return LabelSets(values, values, indptr, indices)
    return LabelSets(*search_sets(rows, space.dag, space.must, _SEARCH_STEPS)[:4])


def _n_ends(space: LabelSpace, sets: LabelSets) -> npt.NDArray[np.int64]:
    """How many nodes of each set have no child in it."""
    ones = np.ones(len(sets.indices), dtype=np.int32)
    shape = (len(sets.values), space.n_nodes)
    ends = space.ends(sp.csr_array((ones, sets.indices, sets.indptr), shape=shape))
    return np.asarray(np.diff(ends.indptr))


def _joined(parts: Sequence[LabelSets]) -> LabelSets:
    counts = np.concatenate([np.diff(part.indptr) for part in parts])
    return LabelSets(
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.bounds for part in parts]),
        np.concatenate(([0], np.cumsum(counts))),
        np.concatenate([part.indices for part in parts]),
    )


def _replaced(sets: LabelSets, other: dict[int, tuple[float, float, Any]]) -> LabelSets:
    """The sets with those of some rows replaced by (value, bound, ids)."""
    values, bounds = sets.values.copy(), sets.bounds.copy()
    ids = np.split(sets.indices, sets.indptr[1:-1])
    for row, (value, bound, nodes) in other.items():
        values[row], bounds[row], ids[row] = value, bound, nodes
    indptr = np.concatenate(([0], np.cumsum([len(nodes) for nodes in ids])))
    return LabelSets(values, bounds, indptr, np.concatenate(ids))
