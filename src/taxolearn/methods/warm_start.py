"""What a fit leaves to the next one, and what of it the next one can use."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from taxolearn.models import NodeWeights
from taxolearn.models.dual_weights import DualWeights
from taxolearn.problem import Problem
from taxolearn.regularizers import PathSum


class Kept(NamedTuple):
    """What `warm_start` keeps of a fit: `data` is a hash of rows and labels, `mark` of all that was solved.

    `state` are the vectors that a solver in the primal goes on from; they go with the weights.

    >>> Kept("data", "hinge", 1.0, None, None, None, None).C
    1.0
    """

    data: str
    loss: str
    C: float
    dual: Any
    weights: Any
    state: Any
    problem: Problem | None
    mark: str = ""
    certificate: Any = None


class Start(NamedTuple):
    """Where a fit may start: a dual, for solvers that have one, vectors for those that do not, and what was kept.

    >>> Start(None, None).kept is None
    True
    """

    dual: Any
    state: Any
    kept: Kept | None = None


def better_of(before: Kept | None, now: Kept) -> Kept:
    """What to keep: of two fits of the same problem the weights of the lower primal and the higher dual.

    >>> from taxolearn.certificates import Certificate
    >>> from taxolearn.solvers import Status
    >>> def fit(primal, dual, name):
    ...     proof = Certificate(np.array([primal]), np.array([dual]), Status.TIME_LIMIT)
    ...     return Kept("data", "hinge", 1.0, name, name, name, None, "mark", proof)
    >>> kept = better_of(fit(3.0, 1.0, "before"), fit(4.0, 2.0, "now"))
    >>> kept.weights, kept.dual, kept.certificate
    ('before', 'now', Certificate(primal=3, dual=2, gap=3.3e-01, time limit))
    """
    if before is None or before.mark != now.mark or before.certificate is None:
        return now
    proof = now.certificate
    if before.certificate.primal < proof.primal:
        weights, state = before.weights, before.state
        if isinstance(weights, DualWeights) and now.problem is not None:
            weights = replace(weights, X=now.problem.X)  # the rows of then may have changed since
        proof = replace(proof, class_primal=before.certificate.class_primal)
        now = now._replace(weights=weights, state=state)
    if before.certificate.dual > proof.dual:
        proof = replace(proof, class_dual=before.certificate.class_dual)
        now = now._replace(dual=before.dual)
    return now._replace(certificate=proof)


def if_of_tie(weights: Any, tie: PathSum) -> NodeWeights | None:
    """The weights, if they hold a vector for every node of this very tie: then a solver can start from them.

    >>> from taxolearn.regularizers import flat
    >>> weights = NodeWeights(np.zeros((1, 3)), flat(3).paths, np.zeros(3))
    >>> if_of_tie(weights, flat(3)) is weights, if_of_tie(weights, flat(2)), if_of_tie(None, flat(2))
    (True, None, None)
    """
    if not isinstance(weights, NodeWeights) or weights.paths.shape != tie.paths.shape:
        return None
    old, new = weights.paths, tie.paths
    same = all(
        np.array_equal(getattr(old, part), getattr(new, part)) for part in ("indptr", "indices", "data")
    )
    return weights if same else None
