"""What solves by ascent on the rows' simplices share: duals in slots."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.solvers.row_ascent import AscentRun


class SlotRun(AscentRun):
    """A solve whose `arrays` have the duals in `slots` (of `taxolearn.kernels.simplex_passes`) and the `cost` of rows.

    `shape` is rows x units.

    >>> solve = SlotRun()
    >>> solve.shape = 2, 3
    >>> solve.packed(sp.csr_array(np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]]))).count.tolist()
    [1, 2]
    """

    shape: tuple[int, int]
    arrays: Any

    @property
    def kernels(self) -> Any:
        """The module of the kernels, which is loaded when it is needed."""
        from taxolearn.kernels import simplex_passes

        return simplex_passes

    def packed(self, dual: sp.csr_array) -> Any:
        """The slots of a dual, rows x units."""
        count = np.diff(dual.indptr).astype(np.int32)
        units, alpha = dual.indices.astype(np.int32), dual.data.astype(np.float64)
        return self.kernels.Slots(dual.indptr.astype(np.int64), count, units, alpha)

    def repack(self, room: int) -> None:
        """Drop zeros, and leave room for so many units more in each row."""
        self.arrays = self.arrays._replace(slots=self.kernels.repack(self.arrays.slots, room))

    def take_over(
        self, row: npt.NDArray[Any], unit: npt.NDArray[Any], alpha: npt.NDArray[np.float64]
    ) -> None:
        """Take over duals that are not negative, scaled down where those of a row exceed its cost in sum."""
        cost = self.arrays.cost
        sums = np.bincount(row, alpha, minlength=len(cost)).astype(np.float64)  # of nothing it is an int
        alpha = alpha * np.divide(cost, sums, out=np.ones_like(sums), where=sums > cost)[row]
        feasible = sp.csr_array((alpha, (row, unit)), shape=self.shape)
        self.arrays = self.arrays._replace(slots=self.packed(feasible))
        self.repack(0)

    def dual(self) -> sp.csr_array:
        """The duals as they stand, units x rows."""
        slots = self.kernels.repack(self.arrays.slots, 0)
        n, n_units = self.shape
        short = slots.classes.astype(np.min_scalar_type(n_units))  # sorted in no time
        order = np.argsort(short, kind="stable")
        rows = np.repeat(np.arange(n, dtype=np.int32), slots.count)
        ends = np.concatenate(([0], np.cumsum(np.bincount(slots.classes, minlength=n_units))))
        return sp.csr_array((slots.alpha[order], rows[order], ends), shape=(n_units, n))
