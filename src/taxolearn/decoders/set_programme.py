"""The best label set as an integer programme, and its linear relaxation: (19) of Choi, Sasaki and Srebro, by HiGHS."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.decoders.label_space import LabelSpace
from taxolearn.errors import DataError
from taxolearn.problem.node_sets import children_left_over, set_constraints

Floats = npt.NDArray[np.float64]
_TIME_LIMIT = 1  # scipy's number for it


class SetProgramme:
    """max r . z over z in {0, 1}: z_child <= z_parent, z_n <= sum of z_children where a child is needed, and the sum
    over nodes that may be ends is 1 at least, which the sets fulfil anyway, but not the relaxed z without it.

    With `at_most`, ends e_n >= z_n - sum of z_children add up to so many at most. (The paper prints argmin.)

    >>> programme = SetProgramme(LabelSpace.star(3))
    >>> value, bound, ids = programme.solve(np.array([0.0, -1.0, 2.0, 1.0]))
    >>> value, bound, ids.tolist()
    (3.0, 3.0, [0, 2, 3])
    """

    def __init__(self, space: LabelSpace, at_most: int | None = None) -> None:
        self.space = space
        self.at_most = at_most

    @cached_property
    def rows(self) -> tuple[sp.csr_array, Floats]:
        """A and b of all constraints A z <= b.

        >>> A, b = SetProgramme(LabelSpace.star(2)).rows
        >>> A.toarray().tolist(), b.tolist()
        ([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0], [1.0, -1.0, -1.0], [0.0, -1.0, -1.0]], [0.0, 0.0, 0.0, -1.0])
        """
        up, n = self.space.upward, self.space.n_nodes
        A, b = set_constraints(up, self.space.must)
        if self.at_most is not None:
            e = sp.csr_array(np.ones((1, n)))
            A = sp.block_array([[A, None], [children_left_over(up), -sp.eye_array(n)], [None, e]])
            b = np.concatenate((b, np.zeros(n), [float(self.at_most)]))
        return sp.csr_array(A), b

    def relaxed(self, potential: Floats) -> tuple[float, Floats]:
        """The value and z of the relaxation, 0 <= z <= 1: a bound on the best set.

        >>> SetProgramme(LabelSpace.star(2)).relaxed(np.array([0.5, -1.0, -2.0]))[0]
        -0.5
        """
        from scipy.optimize import linprog

        A, b = self.rows
        found = linprog(-self._cost(potential), A_ub=A, b_ub=b, bounds=self._limits(), method="highs")
        if found.status != 0:
            raise DataError(f"HiGHS could not solve the relaxation: {found.message}")
        return -float(found.fun), np.asarray(found.x[: self.space.n_nodes])

    def solve(
        self, potential: Floats, max_seconds: float | None = None
    ) -> tuple[float, float, npt.NDArray[np.int32] | None]:
        """Value, bound and nodes of the best set; when the time is over, of the best one found, None if there is none.

        >>> SetProgramme(LabelSpace.star(3), at_most=1).solve(np.array([0.0, -1.0, 2.0, 1.0]))[2].tolist()
        [0, 2]
        """
        from scipy.optimize import Bounds, LinearConstraint, milp

        A, b = self.rows
        whole = np.zeros(A.shape[1])
        whole[: self.space.n_nodes] = 1
        options: dict[str, Any] = {"mip_rel_gap": 0.0}
        if max_seconds is not None:
            options["time_limit"] = float(max_seconds)
        found = milp(
            -self._cost(potential),
            integrality=whole,
            bounds=Bounds(*np.array(self._limits()).T),
            constraints=LinearConstraint(A, -np.inf, b),
            options=options,
        )
        if found.status not in (0, _TIME_LIMIT):
            raise DataError(f"HiGHS could not solve the integer programme: {found.message}")
        bound = np.inf if found.mip_dual_bound is None else -float(found.mip_dual_bound)
        if found.x is None:
            return -np.inf, bound, None
        ids = np.flatnonzero(found.x[: self.space.n_nodes] > 0.5).astype(np.int32)
        value = float(potential[ids].sum())
        return value, value if found.status == 0 else max(value, bound), ids

    def _cost(self, potential: Floats) -> Floats:
        return np.concatenate((potential, np.zeros(self.rows[0].shape[1] - self.space.n_nodes)))

    def _limits(self) -> list[tuple[float, float]]:
        limits = [(0.0, 1.0)] * self.rows[0].shape[1]
        limits[0] = (1.0, 1.0)
        return limits
