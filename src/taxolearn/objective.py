"""Objective: problem, loss, tie, C and intercept, joined: what a solver minimises and a certificate proves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import DataError
from taxolearn.losses.base import Loss
from taxolearn.problem import Problem
from taxolearn.ties.base import Tie

Ids = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Objective:
    """Minimise over the vectors w_l and biases b_l of the classes

        penalty of the tie(w) + 1/2 sum_l (b_l - b_0)^2 + C sum over rows i of the loss of their scores
        s_il = w_l . x_i + s b_l,

    s being `bias_feature` (0: no intercept) and b_0 `bias_prior`. The losses weigh as the problem says: for a loss of
    the margin c_il loss(y_il s_il) summed over rows and classes with a row of their own, for losses that compare
    classes c_i loss(s_i, y_i). A loss with a tied bias has no term for b: the bias is the weight of one more feature
    of value s, tied like all others, and b_0 is 0.

    Made once per fit, read by the solver, the certificate and the warm start.

    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> objective = Objective(make_problem([[0.0], [1.0]], ["a", "b"]), Hinge(), flat(2), C=10.0)
    >>> objective.C, objective.loss.facts.name, objective.tie.facts.shares
    (10.0, 'hinge', False)
    """

    problem: Problem
    loss: Any  # a Loss; solvers know of which kind, having said so in what they require
    tie: Any  # a Tie, likewise
    C: float = 1.0
    bias_feature: float = 1.0
    bias_prior: float = 0.0

    def __post_init__(self) -> None:
        loss: Loss = self.loss
        tie: Tie = self.tie
        units = "classes" if loss.facts.n_units is None else "units"
        wanted = self.problem.n_classes if loss.facts.n_units is None else loss.facts.n_units
        if tie.n_classes != wanted:
            raise DataError(f"the tie is for {tie.n_classes} {units}, and the problem has {wanted}")
        if loss.facts.tied_bias and self.bias_prior:
            raise DataError(f"loss {loss.facts.name} ties its biases and takes no prior for them")
        object.__setattr__(self, "C", float(self.C))
        object.__setattr__(self, "bias_feature", float(self.bias_feature))
        object.__setattr__(self, "bias_prior", float(self.bias_prior))

    @property
    def n_units(self) -> int:
        """Number of vectors that score rows, and of rows of a dual: the classes, unless the loss says otherwise.

        >>> from taxolearn.losses import Hinge
        >>> from taxolearn.problem import make_problem
        >>> from taxolearn.ties import flat
        >>> Objective(make_problem([[0.0], [1.0]], ["a", "b"]), Hinge(), flat(2)).n_units
        2
        """
        return int(self.tie.n_classes)

    def restricted(self, rows: Ids) -> Objective:
        """The same objective over some of the rows.

        >>> from taxolearn.losses import Hinge
        >>> from taxolearn.problem import make_problem
        >>> from taxolearn.ties import flat
        >>> problem = make_problem([[0.0], [1.0], [2.0]], ["a", "b", "b"])
        >>> Objective(problem, Hinge(), flat(2)).restricted(np.array([0, 1])).problem.n_rows
        2
        """
        return replace(self, problem=self.problem.subset(rows))

    def key(self) -> tuple[Any, ...]:
        """All that the optimum depends on besides rows and labels, as values and arrays.

        >>> from taxolearn.losses import Hinge
        >>> from taxolearn.problem import make_problem
        >>> from taxolearn.ties import flat
        >>> Objective(make_problem([[0.0], [1.0]], ["a", "b"]), Hinge(), flat(2)).key()[0]
        ('margin', Hinge(margin=1.0))
        """
        products = self.problem.products
        kernel = () if products is None else (products.kernel.key(),)
        return self.loss.key(), *self.tie.arrays(), self.C, self.bias_feature, self.bias_prior, *kernel


@dataclass(frozen=True, eq=False)
class Parts:
    """A sum of objectives that have no vector in common: solved and certified part by part.

    `problem` is that of all rows; `rows` and `units` say, for each part, which of these rows and which of the vectors
    of the whole it has, and `features`, which of the features (None: all). Duals of the whole are units x rows.

    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    >>> part = Objective(problem, Hinge(), flat(2), C=2.0)
    >>> parts = Parts(problem, (part,), (np.arange(3),), (np.arange(2),), 2)
    >>> parts.C, parts.loss.facts.name, parts.split(sp.csr_array(np.ones((2, 3))))[0].shape
    (2.0, 'hinge', (2, 3))
    """

    problem: Problem
    parts: tuple[Objective, ...]
    rows: tuple[Ids, ...]
    units: tuple[Ids, ...]
    n_units: int
    features: tuple[Ids | None, ...] = ()

    @property
    def loss(self) -> Any:
        """The loss of the first part; all are of one kind."""
        return self.parts[0].loss

    @property
    def C(self) -> float:
        """The same for all parts."""
        return self.parts[0].C

    def restricted(self, rows: Ids) -> Parts:
        """The same sum over some of the rows."""
        place = np.full(self.problem.n_rows, -1)
        place[rows] = np.arange(len(rows))
        kept = [np.flatnonzero(place[own] >= 0) for own in self.rows]
        return Parts(
            self.problem.subset(rows),
            tuple(part.restricted(some) for part, some in zip(self.parts, kept, strict=True)),
            tuple(place[own[some]] for own, some in zip(self.rows, kept, strict=True)),
            self.units,
            self.n_units,
            self.features,
        )

    def key(self) -> tuple[Any, ...]:
        """All that the optimum depends on besides rows and labels, as values and arrays."""
        return tuple(
            value
            for part, units in zip(self.parts, self.units, strict=True)
            for value in (units, *part.key())
        )

    def split(self, dual: sp.csr_array) -> list[sp.csr_array]:
        """The duals of the parts, each its classes x its rows."""
        dual, place, found = sp.csr_array(dual), np.full(self.problem.n_rows, -1), []
        for units, rows in zip(self.units, self.rows, strict=True):
            place[rows] = np.arange(len(rows))
            entries = np.concatenate(
                [np.arange(*dual.indptr[unit : unit + 2]) for unit in units] or [np.zeros(0, dtype=np.intp)]
            )
            own = np.repeat(np.arange(len(units)), np.diff(dual.indptr)[units])
            columns = place[dual.indices[entries]]
            place[rows] = -1
            there = columns >= 0
            ends = np.searchsorted(own[there], np.arange(len(units) + 1))
            parts = (dual.data[entries[there]], columns[there], ends)
            found.append(sp.csr_array(parts, shape=(len(units), len(rows))))
        return found

    def join(self, duals: Sequence[sp.csr_array]) -> sp.csr_array:
        """The dual of the whole from those of the parts."""
        entries = [
            (one.data, np.repeat(units, np.diff(one.indptr)), rows[one.indices])
            for one, units, rows in zip(duals, self.units, self.rows, strict=True)
        ]
        data, row, column = (np.concatenate(part) for part in zip(*entries, strict=True))
        return sp.csr_array((data, (row, column)), shape=(self.n_units, self.problem.n_rows))
