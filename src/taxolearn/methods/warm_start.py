"""What a fit leaves to the next one, and what of it the next one can use."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from taxolearn.certificates import Certificate
from taxolearn.objective import Objective, Parts
from taxolearn.problem import Problem
from taxolearn.solvers import Solution, Start
from taxolearn.vectors import DualVectors


class Kept(NamedTuple):
    """What `warm_start` keeps of a fit.

    `data` is a hash of rows and labels, `mark` of all that was solved, `kind` and `C` say what the dual is of; `state`
    is what a solver goes on from besides a dual.

    >>> Kept("data", "mark", "margin", 1.0, None, None, None, None, None).C
    1.0
    """

    data: str
    mark: str
    kind: str
    C: float
    dual: Any
    vectors: Any
    state: Any
    problem: Problem | None
    certificate: Any


def keep(objective: Objective | Parts, data: str, solution: Solution, certificate: Certificate) -> Kept:
    """A finished fit, for the next one.

    >>> from taxolearn import OneVsRestSVM
    >>> model = OneVsRestSVM(warm_start=True).fit([[-1.0], [1.0]], ["a", "b"])
    >>> model._kept.kind
    'margin'
    """
    state = solution.vectors if solution.state is None else solution.state
    return Kept(
        data,
        mark_of(objective, data),
        objective.loss.facts.kind,
        objective.C,
        solution.dual,
        solution.vectors,
        state,
        objective.problem,
        certificate,
    )


def start_from(kept: Kept | None, objective: Objective | Parts, data: str) -> Start | None:
    """Where a fit of the same rows and labels may start; C and the tie may have changed.

    >>> start_from(None, None, "data") is None
    True
    """
    if kept is None or kept.data != data or kept.kind != objective.loss.facts.kind:
        return None
    return Start(rescaled(kept, objective), kept.state)


def rescaled(kept: Kept, objective: Objective | Parts) -> sp.csr_array:
    """The dual that was kept, for the C of the objective.

    >>> from taxolearn import OneVsRestSVM
    >>> kept = OneVsRestSVM(warm_start=True).fit([[-1.0], [1.0]], ["a", "b"])._kept
    >>> rescaled(kept, OneVsRestSVM(C=2.0)._objective(kept.problem)).sum() == 2.0 * kept.dual.sum()
    np.True_
    """
    return kept.dual * (objective.C / kept.C) if objective.loss.facts.dual_grows_with_C else kept.dual


def better_of(before: Kept | None, now: Kept) -> Kept:
    """What to keep: of two fits of the same problem the vectors of the lower primal and the higher dual.

    >>> from taxolearn.solvers import Status
    >>> def fit(primal, dual, name):
    ...     proof = Certificate(np.array([primal]), np.array([dual]), Status.TIME_LIMIT)
    ...     return Kept("data", "mark", "margin", 1.0, name, name, name, None, proof)
    >>> kept = better_of(fit(3.0, 1.0, "before"), fit(4.0, 2.0, "now"))
    >>> kept.vectors, kept.dual, kept.certificate.primal, kept.certificate.dual
    ('before', 'now', 3.0, 2.0)
    """
    if before is None or before.mark != now.mark:
        return now
    proof, old = now.certificate, before.certificate
    if old.upper < proof.upper:
        vectors = before.vectors
        if isinstance(vectors, DualVectors) and now.problem is not None:
            vectors = replace(vectors, X=now.problem.X)  # the rows of then may have changed since
        proof = replace(proof, class_primal=old.class_primal, primal_error=old.primal_error)
        now = now._replace(vectors=vectors, state=before.state)
    if old.lower > proof.lower:
        proof = replace(proof, class_dual=old.class_dual, dual_error=old.dual_error)
        now = now._replace(dual=before.dual)
    return now._replace(certificate=proof)


def mark_of(objective: Objective | Parts, data: str) -> str:
    """A hash of all that the optimum depends on; `data` is that of the rows and labels.

    >>> from taxolearn import OneVsRestSVM
    >>> from taxolearn.problem import make_problem
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> one, two = (OneVsRestSVM(C=C)._objective(problem) for C in (1.0, 2.0))
    >>> mark_of(one, "data") == mark_of(one, "data"), mark_of(one, "data") == mark_of(two, "data")
    (True, False)
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in (data, *objective.key()):
        content = part if isinstance(part, np.ndarray) else np.frombuffer(repr(part).encode(), dtype=np.uint8)
        digest.update(np.ascontiguousarray(content).tobytes())
        digest.update(b"|")
    return digest.hexdigest()
