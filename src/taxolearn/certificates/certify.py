"""One certificate for every loss and every tie."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp

from taxolearn.certificates import margin, relaxed_sets, sets, siblings, softmax, square, structured
from taxolearn.certificates.base import Certificate
from taxolearn.certificates.factor import FactorSide
from taxolearn.certificates.feature_scales import FeatureSide
from taxolearn.certificates.graph import GraphSide
from taxolearn.certificates.kernel import kernel_objectives
from taxolearn.certificates.orthogonal import OrthogonalSide
from taxolearn.certificates.path_sum import PathSumSide
from taxolearn.certificates.rounding import Ball
from taxolearn.certificates.rounding import square as squared
from taxolearn.certificates.scores import Rows, Scores
from taxolearn.certificates.shared import SharedSide
from taxolearn.certificates.sums import Adjoint
from taxolearn.engines import Engine, Run, blas_threads, running
from taxolearn.errors import DataError
from taxolearn.objective import Objective, Parts
from taxolearn.solvers.base import Solution
from taxolearn.ties import TieFacts

_LOSS_SIDES: dict[str, ModuleType] = {
    "margin": margin,
    "softmax": softmax,
    "square": square,
    "structured": structured,
    "siblings": siblings,
    "sets": sets,
    "relaxed_sets": relaxed_sets,
}
_NEGLIGIBLE = 1e-3  # share of a gap that rounding of vectors may add to it
_MANY = 2**18  # products from which on BLAS would start threads of its own, and have them wait busily

Side = PathSumSide | FactorSide | GraphSide | OrthogonalSide | FeatureSide


def _tie_side(facts: TieFacts) -> type[Side]:
    if facts.absolute:
        return OrthogonalSide
    if facts.learned:
        return SharedSide
    if facts.by_feature:
        return FeatureSide
    if facts.paths:
        return PathSumSide
    return GraphSide if facts.precision else FactorSide


def certify(objective: Objective | Parts, solution: Solution, engine: Engine | None = None) -> Certificate:
    """Both objectives of the solution's vectors and dual, evaluated from the definition, and bounds on their rounding.

    With v_l = sum_i m_il x_i and beta_l = s sum_i m_il, M being what the dual makes of the rows (d_il y_il for a loss
    of the margin, c_i (1[l = y_i] - p_il) for softmax, the dual itself for the square loss, what row i pushes up and
    down for a structured hinge, c_i (y_in - mu_in) for one over sets),

        primal = penalty of the tie(W) + 1/2 sum_l (b_l - b_0)^2 + sum of the losses
        dual   = -1/2 square of the tie(V) - 1/2 sum_l beta_l^2 - b_0 sum_l beta_l - conjugates of the losses

    where the square is twice the conjugate of the penalty. Where the loss ties its biases they are one more feature of
    vectors and sums, and have no terms of their own. A class without a weighted row of its own has no losses of the
    margin. A dual above its bound by rounding alone is lowered to it; any other dual outside its bounds gives minus
    infinity, and vectors that the tie does not allow give infinity. Losses of the margin over classes that have nothing
    in common fall apart by class, and the certificate has one part per class; all others have one.

    >>> from taxolearn.losses import SquaredHinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.solvers import Status
    >>> from taxolearn.ties import flat
    >>> from taxolearn.vectors import ClassVectors
    >>> objective = Objective(make_problem([[0.0], [1.0], [2.0]], ["a", "b", "c"]), SquaredHinge(), flat(3))
    >>> nothing = Solution(ClassVectors(np.zeros((3, 1)), np.zeros(3)), sp.csr_array((3, 3)), Status.CONVERGED, 0)
    >>> certify(objective, nothing)
    Certificate(primal=9, dual=0, gap=1.0e+00, converged)
    """
    with np.errstate(all="ignore"), running(engine, to_the_end=True) as run, _one_thread_of_blas(objective):
        if isinstance(objective, Parts):
            return _of_parts(objective, solution, run)
        return _of_one(objective, solution, run)


def _of_one(objective: Objective, solution: Solution, run: Run) -> Certificate:
    """The certificate of an objective that is not a sum of others."""
    dual = sp.csr_array(solution.dual)
    shape = (objective.n_units, objective.problem.n_rows)
    if dual.shape != shape:
        raise DataError(f"the dual has shape {dual.shape}, but classes x rows are {shape}")
    if not dual.has_canonical_format:
        dual = dual.copy()
        dual.sum_duplicates()
    primal, lower = _both(objective, solution, dual, run)
    primal_error, dual_error = (float(np.sum(part.safe)) for part in (_added_up(primal), _added_up(lower)))
    return Certificate(
        np.atleast_1d(np.asarray(primal.value, dtype=np.float64)),
        np.atleast_1d(np.asarray(lower.value, dtype=np.float64)),
        solution.status,
        primal_error,
        dual_error,
    )


def _of_parts(whole: Parts, solution: Solution, run: Run) -> Certificate:
    """A part of the certificate for each part of a sum."""
    found = [
        _of_one(part, replace(one, dual=dual), run)
        for part, one, dual in zip(
            whole.parts, solution.details["parts"], whole.split(solution.dual), strict=True
        )
    ]
    return Certificate(
        np.concatenate([one.class_primal for one in found]),
        np.concatenate([one.class_dual for one in found]),
        solution.status,
        sum(one.primal_error for one in found) * (1 + 1e-12),
        sum(one.dual_error for one in found) * (1 + 1e-12),
    )


def _both(objective: Objective, solution: Solution, dual: sp.csr_array, run: Run) -> tuple[Ball, Ball]:
    """The primal and the dual objective."""
    loss = _LOSS_SIDES[objective.loss.facts.kind]
    if objective.problem.products is not None:
        return kernel_objectives(objective, solution, dual, loss, run)
    rows, tie = Rows(objective.problem.X), _tie_side(objective.tie.facts)(objective, solution)
    has_losses = np.ones(objective.n_units, dtype=bool)
    if loss is margin:
        has_losses = objective.problem.counted
    intercept = np.asarray(solution.vectors.intercept, dtype=np.float64)
    scores = Scores(rows, tie.columns, intercept, tie.offset, tie.slack)
    scores.short = scores.short and loss is margin
    losses = loss.losses(objective, scores, has_losses, run)
    biases = _bias_penalty(objective, intercept, has_losses)
    penalty = (
        tie.penalty()
    )  # after the losses: node vectors that are made anew at every call are asked for once

    def upper(losses: Ball) -> Ball:
        found = penalty
        for term in (biases, losses):
            found = found + (term if tie.independent else term.sum())
        return found

    primal = upper(losses)
    adjoint: Adjoint = loss.adjoint(objective, dual, has_losses)
    conjugates = adjoint.conjugates
    lower = Ball(0.0) - (conjugates if tie.independent else conjugates.sum())
    if np.any(np.isinf(lower.value)) and not tie.independent:
        return primal, lower
    lower = lower - tie.square(adjoint, rows, run) * 0.5
    if not objective.loss.facts.tied_bias:
        beta = adjoint.sums * objective.bias_feature
        of_bias = squared(beta) * 0.5
        if loss is margin and objective.bias_prior:  # the betas of softmax sum to zero
            of_bias = of_bias + beta * objective.bias_prior
        lower = lower - (of_bias if tie.independent else of_bias.sum())
    if scores.short and not _close(losses, primal, lower):
        scores.short = False
        primal = upper(loss.losses(objective, scores, has_losses, run))
    return primal, lower


def _close(losses: Ball, primal: Ball, lower: Ball) -> bool:
    """Whether what is not known of the losses is next to nothing of the gap."""
    gap = np.sum(primal.value) - np.sum(lower.value)
    return bool(np.sum(losses.safe) <= _NEGLIGIBLE * gap)


def _bias_penalty(objective: Objective, intercept: Any, has_losses: Any) -> Ball:
    """1/2 (b_l - b_0)^2 of every class that has losses; infinite where there is an intercept that must be zero."""
    nothing = np.zeros(len(intercept))
    if not objective.bias_feature:
        return Ball(np.where(has_losses & (intercept != 0), np.inf, nothing), nothing)
    if objective.loss.facts.tied_bias:
        return Ball(nothing, nothing)
    bias = Ball(intercept) / objective.bias_feature
    if objective.bias_prior:
        bias = bias - Ball(objective.bias_prior)
    found = squared(bias) * 0.5
    return Ball(np.where(has_losses, found.value, nothing), np.where(has_losses, found.error, nothing))


def _added_up(parts: Ball) -> Ball:
    """The sum of the parts as the certificate makes it."""
    return parts.sum() if np.ndim(parts.value) else parts


def _one_thread_of_blas(objective: Objective | Parts) -> Any:
    """Products here are thin: threads of BLAS would spend more time on waiting than on them."""
    parts = objective.parts if isinstance(objective, Parts) else (objective,)
    if all(one.problem.n_rows * one.problem.n_features * one.n_units < _MANY for one in parts):
        return nullcontext()
    return blas_threads(1)
