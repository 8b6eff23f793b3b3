"""What an old model gives to one over a new taxonomy: labels, duals, and whole classes where nothing touched them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.certificates import Certificate, certify
from taxolearn.engines import ThreadEngine
from taxolearn.losses import MarginLoss
from taxolearn.methods.inputs import check_seed
from taxolearn.methods.warm_start import Kept, mark_of
from taxolearn.objective import Objective, Parts
from taxolearn.problem import Problem
from taxolearn.solvers import Status
from taxolearn.vectors import ClassVectors, NodeVectors

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.intp]
Fate = Mapping[Hashable, tuple[Hashable, ...]]

_STEP = 1e-4  # of the margin, for the slope of a loss
_MOST_NODES = 4000  # for which a dense system of equations is solved
_MOST_DUALS = 2**27  # rows x classes, 1 GB
_FAR_BELOW = 5.0  # by which the score of a class that nothing became is below all others


class Heirs(NamedTuple):
    """Which old classes each new class comes from, as old classes x new classes of ones.

    >>> heirs_of(("a", "b"), ("b", "c"), {"a": ("c",), "b": ("b",)}).matrix.toarray().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """

    matrix: sp.csr_array

    @property
    def one_to_one(self) -> Ids:
        """The old class of each new class that comes from one alone, else -1."""
        columns = sp.csc_array(self.matrix)
        counts = np.diff(columns.indptr)
        found = np.full(columns.shape[1], -1)
        found[counts == 1] = columns.indices[columns.indptr[:-1][counts == 1]]
        return found


def heirs_of(old: Sequence[Hashable], new: Sequence[Hashable], fate: Fate) -> Heirs:
    """The heirs of the old classes among the new ones.

    >>> heirs_of(("a", "b"), ("c",), {"a": ("c",), "b": ("c",)}).one_to_one.tolist()
    [-1]
    """
    place = {name: number for number, name in enumerate(new)}
    pairs = [
        (number, place[target])
        for number, name in enumerate(old)
        for target in fate.get(name, (name,))
        if target in place
    ]
    rows, columns = ([pair[side] for pair in pairs] for side in (0, 1))
    return Heirs(sp.csr_array((np.ones(len(pairs)), (rows, columns)), shape=(len(old), len(new))))


def carried_dual(
    objective: Objective | Parts, scores: Array, heirs: Heirs, kept: Kept | None, rows: Ids
) -> sp.csr_array | None:
    """A dual to start from: what the scores of the old model say, or the duals it kept; None if there is none.

    `scores` are those of the old classes on the rows of the objective. At an optimum the dual of a row is the slope of
    its loss times its weight; at the old vectors it is so nearly. Losses that compare classes pairwise have no such
    slope: they go on from `kept` duals, of which `rows` are still there.
    """
    if isinstance(objective, Parts) or objective.n_units != objective.problem.n_classes:
        return None
    problem, loss = objective.problem, objective.loss
    if loss.facts.kind != "structured" and problem.n_rows * problem.n_classes > _MOST_DUALS:
        return None
    if loss.facts.kind == "margin":
        return _slopes(objective, loss, _inherited(scores, heirs))
    if loss.facts.kind == "softmax":
        return sp.csr_array(loss.probabilities(_inherited(scores, heirs)).T)
    if kept is None:
        return None
    dual = sp.csr_array(sp.csr_array(heirs.matrix.T @ kept.dual)[:, rows] * (objective.C / kept.C))
    own = sp.csr_array(problem.targets.T)  # merged classes push each other no more
    left = sp.csr_array(dual - dual.multiply(own))
    left.eliminate_zeros()
    return left


def carried_vectors(objective: Objective | Parts, old: Any, heirs: Heirs) -> NodeVectors | None:
    """Node vectors under the new tie whose sums are the old vectors, at the least penalty; None where that is no help.

    With B the paths of the classes that have an origin and A the scales, they are A B' (B A B')^-1 W. Classes that
    nothing became get what is left of their paths: the vector of their parent. A merged class has the mean vector.
    """
    if isinstance(objective, Parts) or objective.loss.facts.kind == "structured":
        return None  # those solvers go on from duals alone
    if not objective.tie.facts.paths or not old.by_features or sp.issparse(old.coef):
        return None
    tie, shares = objective.tie, np.asarray(heirs.matrix.sum(axis=0)).ravel()
    known = np.flatnonzero(shares)
    if tie.n_classes != len(shares) or max(len(known), tie.n_nodes) > _MOST_NODES or not len(known):
        return None
    mean = sp.csr_array(sp.diags_array(1.0 / shares[known]) @ heirs.matrix.T[known])
    paths = sp.csr_array(tie.paths[known])
    kernel = (paths @ sp.diags_array(np.asarray(tie.scale)) @ paths.T).toarray()
    try:
        pulls = np.linalg.solve(kernel, mean @ np.asarray(old.coef, dtype=np.float64))
    except np.linalg.LinAlgError:  # two classes have one path
        return None
    nodes = np.asarray(tie.scale)[:, None] * (paths.T @ pulls)
    intercept = np.full(tie.n_classes, float(np.min(old.intercept)))
    intercept[known] = mean @ old.intercept
    return NodeVectors(np.ascontiguousarray(nodes.T), sp.csr_array(tie.paths), intercept)


def _inherited(scores: Array, heirs: Heirs) -> Array:
    """Scores of the new classes: the best of those they come from."""
    lowest = scores.min(axis=1, keepdims=True) - _FAR_BELOW
    found = np.repeat(lowest, heirs.matrix.shape[1], axis=1)
    entries = sp.coo_array(heirs.matrix)
    for old, new in zip(entries.row.tolist(), entries.col.tolist(), strict=True):
        found[:, new] = np.maximum(found[:, new], scores[:, old])
    return found


def _slopes(objective: Objective, loss: MarginLoss, scores: Array) -> sp.csr_array:
    """Minus the slope of each weighted loss, classes x rows; zero for classes without rows, which have no losses."""
    problem = objective.problem
    has = np.asarray(problem.targets.toarray()) > 0
    margins = np.where(has, scores, -scores)
    fall = (loss.value(margins - _STEP) - loss.value(margins + _STEP)) / (2.0 * _STEP)
    weight = np.where(has, problem.positive_weight, problem.negative_weight) * problem.row_weight[:, None]
    return sp.csr_array((objective.C * weight * fall * problem.counted).T)


class Joined(NamedTuple):
    """Vectors and certificate of a model of which some classes are old and some new.

    >>> Joined(None, None, 0, []).n_iter
    0
    """

    vectors: Any
    certificate: Any
    n_iter: int
    history: list[Any]


def join_classes(model: Any, problem: Problem, old: Any, origin: Ids, touched: Ids) -> Joined:
    """Solve the touched classes, each by itself, and take all others from the old model: vectors and certificate.

    Needs classes that share nothing, so that the problem of a class is its own: what was certified of one whose rows
    are the same is still true. `origin` is the old class of each class that is taken over.
    """
    taken = np.setdiff1d(np.arange(problem.n_classes), touched)
    given, before = old.vectors_, old.certificate_
    inherited = Joined(
        ClassVectors(given.coef[origin[taken]], given.intercept[origin[taken]]),
        replace(
            before,
            class_primal=before.class_primal[origin[taken]],
            class_dual=before.class_dual[origin[taken]],
        ),
        0,
        [],
    )
    if not len(touched):
        return inherited
    solved = _solved(model, problem, touched)
    if not len(taken):
        return solved
    order = np.argsort(np.concatenate([touched, taken]), kind="stable")
    first, second = solved.certificate, inherited.certificate
    certificate = Certificate(
        np.concatenate([first.class_primal, second.class_primal])[order],
        np.concatenate([first.class_dual, second.class_dual])[order],
        first.status if first.status is not Status.CONVERGED else second.status,
        # bounds of sums: what belongs to classes that are gone is still in them, which is never too little
        first.primal_error + second.primal_error,
        first.dual_error + second.dual_error,
    )
    parts = [solved.vectors.coef, inherited.vectors.coef]
    coef: Any = (
        sp.csr_array(sp.vstack([sp.csr_array(part) for part in parts], format="csr"))[order]
        if any(sp.issparse(part) for part in parts)
        else np.vstack(parts)[order]
    )
    intercept = np.concatenate([solved.vectors.intercept, inherited.vectors.intercept])[order]
    return Joined(ClassVectors(coef, intercept), certificate, solved.n_iter, solved.history)


def _solved(model: Any, problem: Problem, touched: Ids) -> Joined:
    """Some classes of a problem, each against the rest of the rows."""
    some = Problem(
        problem.X,
        sp.csr_array(problem.targets[:, touched]),
        tuple(problem.classes[k] for k in touched),
        replace(problem.labels, form="sets"),  # of two touched classes the one is not the mirror of the other
        problem.taxonomy,
        problem.row_weight,
        problem.positive_weight[touched],
        problem.negative_weight[touched],
    )
    objective: Objective = model._objective(some)
    with ThreadEngine(model.n_jobs) as engine:
        limits = model._limits(objective, check_seed(model.random_state), engine)
        solution = model._solve(objective, limits, None, None)
        proof = certify(objective, solution, engine)
    return Joined(solution.vectors, proof, solution.n_iter, solution.history)


def join_parts(model: Any, whole: Parts, old: Any, before: Parts) -> tuple[Joined, int] | None:
    """Solve the parts that the old model has not, and take all others from it: vectors and certificate; how many were
    taken. None where there are none, or where the certificate cannot be told apart.

    Parts have no vector in common: what was certified of one with the same rows, options and weights is still true.
    """
    places = {_mark_of_part(before, number): number for number in range(len(before.parts))}
    origin = np.array([places.get(_mark_of_part(whole, number), -1) for number in range(len(whole.parts))])
    ends = np.cumsum([0, *map(_n_entries, before.parts)])
    proof, taken = old.certificate_, np.flatnonzero(origin >= 0)
    if not len(taken) or ends[-1] != len(proof.class_primal):
        return None
    coef = np.zeros((whole.n_units, whole.problem.n_features))
    intercept = np.zeros(whole.n_units)
    entries: list[Any] = [None] * len(whole.parts)
    for number in taken.tolist():
        own, units = whole.units[number], before.units[origin[number]]
        coef[own], intercept[own] = _dense_rows(old.vectors_.coef, units), old.vectors_.intercept[units]
        span = slice(ends[origin[number]], ends[origin[number] + 1])
        entries[number] = proof.class_primal[span], proof.class_dual[span]
    left = np.flatnonzero(origin < 0)
    solved = Joined(None, replace(proof, primal_error=0.0, dual_error=0.0, status=Status.CONVERGED), 0, [])
    if len(left):
        solved = _solved_parts(model, whole, left)
        first = 0
        for number in left.tolist():
            own, n = whole.units[number], _n_entries(whole.parts[number])
            coef[own], intercept[own] = _dense_rows(solved.vectors.coef, own), solved.vectors.intercept[own]
            span = slice(first, first + n)
            entries[number] = solved.certificate.class_primal[span], solved.certificate.class_dual[span]
            first += n
    status = solved.certificate.status
    certificate = Certificate(
        np.concatenate([primal for primal, _ in entries]),
        np.concatenate([dual for _, dual in entries]),
        status if status is not Status.CONVERGED else proof.status,
        # bounds of sums: what belongs to parts that are gone is still in them, which is never too little
        solved.certificate.primal_error + proof.primal_error,
        solved.certificate.dual_error + proof.dual_error,
    )
    return Joined(ClassVectors(coef, intercept), certificate, solved.n_iter, solved.history), len(taken)


def _dense_rows(coef: Any, units: Any) -> Any:
    rows = coef[units]
    return rows.toarray() if sp.issparse(rows) else rows


def _mark_of_part(whole: Parts, number: int) -> str:
    """A hash of all that the optimum of a part depends on, and of the features that it has."""
    part = whole.parts[number]
    features = b"" if whole.features is None else np.ascontiguousarray(whole.features[number]).tobytes()
    return f"{mark_of(part, part.problem.fingerprint())} {hash(features)}"


def _n_entries(part: Objective) -> int:
    """How many numbers a certificate has for a part: one per class where classes have nothing in common."""
    return part.n_units if part.loss.facts.kind == "margin" else 1


def _solved_parts(model: Any, whole: Parts, numbers: Ids) -> Joined:
    """Some parts of a sum; vectors of all others are zero."""
    some = Parts(
        whole.problem,
        tuple(whole.parts[k] for k in numbers),
        tuple(whole.rows[k] for k in numbers),
        tuple(whole.units[k] for k in numbers),
        whole.n_units,
        None if whole.features is None else tuple(whole.features[k] for k in numbers),
    )
    with ThreadEngine(model.n_jobs) as engine:
        limits = model._limits(some, check_seed(model.random_state), engine)
        solution = model._solve(some, limits, None, None)
        proof = certify(some, solution, engine)
    return Joined(solution.vectors, proof, solution.n_iter, solution.history)
