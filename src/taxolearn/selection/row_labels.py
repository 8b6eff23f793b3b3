"""The labels of some rows, by name."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from taxolearn.methods.inputs import names_array
from taxolearn.problem import Problem


class RowLabels:
    """The label of each row by name, or its list of labels, some rows at a time; of an indicator without a taxonomy,
    where rows may have no label, its rows.

    >>> from taxolearn.problem import make_problem
    >>> RowLabels(make_problem([[0.0], [1.0]], ["a", "b"]), ["a", "b"], several=False)[[1]].tolist()
    ['b']
    """

    def __init__(self, problem: Problem, y: Any, several: bool) -> None:
        of = problem.labels
        self.several = several
        self._rows_of_indicator = None
        if several and of.form == "indicator" and problem.taxonomy is None:
            self._rows_of_indicator = y.toarray() if sp.issparse(y) else np.asarray(y)
            return
        if not several:
            self._names = names_array([of.names[k] for k in of.indices], y)
            return
        self._names = np.empty(of.n_rows, dtype=object)
        for row, (a, b) in enumerate(pairwise(of.indptr.tolist())):
            self._names[row] = [of.names[k] for k in of.indices[a:b]]

    def __getitem__(self, rows: Any) -> Any:
        if self._rows_of_indicator is not None:
            return self._rows_of_indicator[rows]
        return self._names[rows].tolist() if self.several else self._names[rows]
