"""Methods that take any taxonomy matrix: a covariance, a code, a graph of classes, or a taxonomy's path code."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp

from taxolearn.errors import DataError
from taxolearn.methods.graph_recursive import graph_or_none
from taxolearn.methods.parameters import estimator, parameter, positive
from taxolearn.methods.path_scales import PathScales
from taxolearn.problem import Problem
from taxolearn.structure import ClassGraph
from taxolearn.structure.names import show
from taxolearn.ties import Factor, Tie, covariance_tie, graph_tie

_ONE_OF = ("covariance", "code", "graph")


@estimator
class TaxonomyMatrix(PathScales):
    """Methods whose classes have a covariance A ("taxonomy matrix" of Mroueh, Poggio and Rosasco), given in any of the
    forms of section 3.1.

    >>> from taxolearn import CovarianceSVM
    >>> issubclass(CovarianceSVM, TaxonomyMatrix)
    True
    """

    _empty_classes: ClassVar[Literal["drop", "keep"]] = "drop"

    covariance: Any = parameter(
        default=None,
        doc=(
            "A, positive semi-definite, a row and a column per class in the order of `classes_` (sorted, or that of "
            "the taxonomy). A metric of classes y' A y' is the same matrix. Without covariance, code and graph, A is "
            "that of the taxonomy's paths; without a taxonomy, ones on the diagonal."
        ),
    )
    code: Any = parameter(
        default=None,
        doc=(
            "Instead of `covariance`: B, a code word per class, classes x any number of columns; A = B B'. A class "
            "scores its code word times the scores of the columns."
        ),
    )
    graph: ClassGraph | None = parameter(
        default=None,
        doc=(
            "Instead of `covariance`: the inverse of A is the Laplacian of this graph plus `gamma` on the diagonal, "
            "(3) with each edge taken once. Nodes that are no classes are latent."
        ),
        check=graph_or_none,
    )
    gamma: float = parameter(
        default=1.0, doc="See `graph`; the smaller, the more neighbours share.", check=positive
    )
    path_code: str = parameter(
        default="ancestors",
        doc=(
            "The code of a taxonomy, one column per node, times the root of the node's weight (see `weights`). "
            '"ancestors": 1 for a class and its ancestors, else 0. "signs": -1 instead of 0, as in the paper.'
        ),
        choices=("ancestors", "signs"),
    )

    def _tie(self, problem: Problem) -> Tie:
        given = [name for name in _ONE_OF if getattr(self, name) is not None]
        if len(given) > 1:
            raise DataError(f"{given[0]} and {given[1]} both say how classes are related; give one of them")
        if hasattr(self, "node_weights_"):
            del self.node_weights_
        if self.graph is not None:
            return graph_tie(self.graph, problem.classes, ridge=float(self.gamma))
        if not given:
            tie = self._path_tie(problem)
            return tie if self.path_code == "ancestors" or problem.taxonomy is None else _with_signs(tie)
        found = covariance_tie(self.covariance) if self.code is None else code_tie(self.code)
        if found.n_classes != problem.n_classes:
            raise DataError(
                f"{given[0]} has {found.n_classes} rows, but y has {problem.n_classes} classes; give one row per class"
            )
        return found


def code_tie(code: Any) -> Factor:
    """The tie of code words, one row per class.

    >>> code_tie([[1, -1], [1, 1]]).covariance.tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    try:
        matrix = sp.csr_array(code if sp.issparse(code) else np.asarray(code, dtype=np.float64))
    except (TypeError, ValueError):
        raise DataError(f"the code {show(code)} is not a matrix of numbers") from None
    return Factor(matrix)


def _with_signs(tie: Any) -> Factor:
    """2 P - 1 in the place of P."""
    return Factor(sp.csr_array((2.0 * tie.paths.toarray() - 1.0) * np.sqrt(tie.scale)))
