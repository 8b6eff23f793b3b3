"""Choosing among methods and strengths of regularization on held-out rows, as the papers do."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from taxolearn.engines import Clock, running, spread, under
from taxolearn.errors import DataError, EmptyClassWarning
from taxolearn.methods.fitting import CertifiedClassifier
from taxolearn.methods.held_out import hold_out
from taxolearn.methods.hierarchical_svm import HierarchicalSVM
from taxolearn.methods.inputs import check_rows, check_seed, check_targets
from taxolearn.methods.multiclass_svm import MulticlassSVM
from taxolearn.methods.normalized_svm import NormalizedHierarchicalSVM
from taxolearn.methods.parameters import positive
from taxolearn.methods.shared_svm import SharedSVM
from taxolearn.metrics import accuracy, example_f1, macro_f1, micro_f1, tree_loss
from taxolearn.problem import Problem, make_problem
from taxolearn.selection.row_labels import RowLabels
from taxolearn.selection.trials import METRICS, SEVERAL, Selection, Trial, best_trial
from taxolearn.solvers import Status
from taxolearn.structure import Taxonomy
from taxolearn.structure.names import show

__all__ = ["LAMBDAS", "Selection", "Trial", "paper_candidates", "select", "title"]

LAMBDAS = tuple(10.0**power for power in range(-8, 3))  # the grid of Choi, Sasaki and Srebro, section 8.1
_F1 = (micro_f1, macro_f1, example_f1)  # as a Trial calls them
_T = 1.5  # of (8) on DAGs, section 8.2
_PAPER: dict[str, Any] = {
    "multiclass": MulticlassSVM,
    "hierarchical": HierarchicalSVM,
    "normalized": NormalizedHierarchicalSVM,
    "shared": SharedSVM,
}
# How to solve, not what: no part of a candidate's title.
_NOT_IN_TITLES = {
    "taxonomy", "C", "tol", "max_iter", "warm_start", "n_jobs", "random_state", "verbose", "max_seconds",
}  # fmt: skip


def paper_candidates(
    taxonomy: Taxonomy | None, methods: Sequence[str] = ("normalized",), **parameters: Any
) -> list[Any]:
    """What Choi, Sasaki and Srebro (section 8) choose among, besides lambda.

    "normalized" stands for several: node weights (7), (6) with rho = 2 and, on DAGs, (6) with the directional
    constraint, each with objective (10) and (13). On DAGs (6) is relaxed to (8) with T = 1.5. On a tree (6) with
    the directional constraint is (7). `methods` may also name "multiclass", "hierarchical" and "shared", which
    stand for one each; `parameters` go to all.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> for model in paper_candidates(tree, ["multiclass", "normalized"]):
    ...     print(title(model))
    MulticlassSVM()
    NormalizedHierarchicalSVM(weights='maxmin', objective=10)
    NormalizedHierarchicalSVM(weights='maxmin', objective=13)
    NormalizedHierarchicalSVM(weights='rho', objective=10)
    NormalizedHierarchicalSVM(weights='rho', objective=13)
    """
    found: list[Any] = []
    for method in methods:
        if method not in _PAPER:
            known = ", ".join(map(repr, _PAPER))
            raise DataError(f"method {show(method)} is none of the paper's; choose among {known}")
        if method != "multiclass" and taxonomy is None:
            raise DataError(f"method {method!r} needs a taxonomy; give one, or choose 'multiclass'")
        if method != "normalized":
            found.append(_PAPER[method](taxonomy, **parameters))
            continue
        rules: list[dict[str, Any]] = [{"weights": "maxmin"}, {"weights": "rho"}]
        if taxonomy is not None and not taxonomy.is_tree:
            rules = [rules[0], {"weights": "rho", "T": _T}, {"weights": "rho", "directional": True, "T": _T}]
        found += [
            NormalizedHierarchicalSVM(taxonomy, objective=objective, **rule, **parameters)
            for rule in rules
            for objective in (10, 13)
        ]
    return found


def title(model: Any) -> str:
    """A candidate as it would be written, without what is the same for all.

    >>> title(HierarchicalSVM(cost="tree", C=10.0, n_jobs=2))
    "HierarchicalSVM(cost='tree')"
    """
    defaults = inspect.signature(type(model)).parameters
    shown = []
    for name, value in model.get_params(deep=False).items():
        if name in _NOT_IN_TITLES:
            continue
        plain = value is None or isinstance(value, str | int | float)
        named = isinstance(model, NormalizedHierarchicalSVM) and name in ("weights", "objective")
        if named or not plain or value != defaults[name].default:
            shown.append((name, f"{name}={value!r}" if plain else f"{name}=..."))
    order = list(defaults)
    shown.sort(key=lambda entry: order.index(entry[0]))
    return f"{type(model).__name__}({', '.join(text for _, text in shown)})"


def select(
    candidates: Sequence[Any],
    X: Any,
    y: Any,
    *,
    lambdas: Sequence[float] = LAMBDAS,
    holdout: float = 0.2,
    metric: str = "accuracy",
    sample_weight: Any = None,
    random_state: Any = 0,
    refit: bool = True,
    on_trial: Callable[[int, int, Trial], None] | None = None,
) -> Selection:
    """Choose a candidate and a lambda on held-out rows, then fit the choice on all rows (Choi, Sasaki, Srebro, 8.1).

    Each candidate is fitted from the largest lambda to the smallest, every fit started from the last one where the
    method can (`fit_path`, `warm_start`). Of equally good trials the one with the largest lambda is chosen, then
    the candidate named first. A fit that does not reach its `tol` still counts; its gap is in the table.

    Parameters
    ----------
    candidates : list of estimators
        taxolearn's estimators, made but not fitted; see `paper_candidates`. Their C does not matter; with a taxonomy,
        it is the same for all. With several labels per row also their thresholds are part of the choice:
        `OneVsRestSVM(thresholds="tuned", serve="macro")` is a candidate.
    X, y
        Rows and labels, in any form that `fit` takes.
    lambdas : list of float
        C = 1 / (2 lambda).
    holdout : float
        Share of the rows to hold out; every class keeps one row to learn from.
    metric : {"accuracy", "tree_loss", "micro_f1", "macro_f1", "example_f1"}
        What decides; the F1 are for several labels per row, where "accuracy" asks for whole sets.
    sample_weight : array of float, optional
        Of the losses and of the scores on held-out rows.
    random_state : int, RandomState instance or None
        Decides which rows are held out, and goes to the candidates that have none of their own.
    refit : bool
        False: `model` of the selection is the chosen estimator, not fitted.
    on_trial : function, optional
        Called as on_trial(done, total, trial) after each.

    >>> X, y = [[-1.0], [-1.2], [0.0], [0.1], [1.0], [1.1]], ["a", "a", "b", "b", "c", "c"]
    >>> selection = select([MulticlassSVM()], X, y, lambdas=[1.0, 0.01], holdout=0.3)
    >>> selection.best.lambda_, selection.model.C
    (1.0, 0.5)
    """
    candidates, taxonomy = _check_candidates(candidates)
    grid = _check_lambdas(lambdas)
    _check_choices(metric, holdout)
    seed = check_seed(random_state)
    for candidate in candidates:
        if candidate.random_state is None:
            candidate.set_params(random_state=seed)
    rows = check_rows(clone(candidates[0]), X, reset=True)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", EmptyClassWarning
        )  # of a method that cannot predict them, by the fits
        problem = make_problem(
            rows, check_targets(candidates[0], y), taxonomy, sample_weight=sample_weight, build=True
        )
    if taxonomy is None and problem.taxonomy is not None:  # the one that y spells
        taxonomy = problem.taxonomy
        for candidate in candidates:
            candidate.set_params(taxonomy=taxonomy)
    if metric == "tree_loss" and taxonomy is None:
        raise DataError("metric='tree_loss' needs candidates with a taxonomy, or labels that spell one")
    several = problem.labels.multilabel and bool(np.any(np.diff(problem.labels.indptr) != 1))
    if metric in SEVERAL and not several:
        raise DataError(f"metric={metric!r} is for several labels per row; choose 'accuracy' or 'tree_loss'")
    labels = RowLabels(problem, y, several)
    held, kept = _split(problem, holdout, seed)
    weight = None if sample_weight is None else problem.row_weight
    of_held, of_kept = (None, None) if weight is None else (weight[held], weight[kept])
    about = _Data(rows, labels, held, kept, of_held, of_kept, taxonomy, several, tuple(grid))
    trials: list[Trial] = []

    def take(found: Sequence[Trial]) -> None:
        for trial in found:
            trials.append(trial)
            if on_trial is not None:
                on_trial(len(trials), len(candidates) * len(grid), trial)

    if spread(len(candidates)) == 1:
        for number, candidate in enumerate(candidates):
            for trial in _trials(about, number, candidate):
                take([trial])
    else:  # the fits of a candidate begin with each other's duals: one task has them all
        with running() as run:
            tasks = list(enumerate(candidates))
            run.map(_try_candidate, run.share(about), tasks, lambda _, found: take(found), anywhere=True)
            if run.over():
                raise KeyboardInterrupt
        trials.sort(key=lambda trial: trial.candidate)
    chosen = best_trial(trials, metric)
    final = clone(candidates[trials[chosen].candidate]).set_params(C=trials[chosen].C)
    if refit:
        final.fit(X, y, sample_weight=sample_weight)
    return Selection(trials, chosen, final, len(held), metric)


class _Data(NamedTuple):
    """What the trials of all candidates read."""

    rows: Any
    labels: RowLabels
    held: Any
    kept: Any
    held_weight: Any
    kept_weight: Any
    taxonomy: Taxonomy | None
    several: bool
    lambdas: tuple[float, ...]


def _try_candidate(data: _Data, task: tuple[int, Any], clock: Clock) -> list[Trial]:
    """All trials of one candidate, as a task."""
    number, candidate = task
    with under(clock):
        return list(_trials(data, number, clone(candidate).set_params(n_jobs=1)))


def _trials(data: _Data, number: int, candidate: Any) -> Iterator[Trial]:
    """The candidate fitted for each lambda, and its scores on the held-out rows."""
    held, kept, taxonomy, weight = data.held, data.kept, data.taxonomy, data.held_weight
    fits = _fits(candidate, data.rows[kept], data.labels[kept], data.kept_weight, data.lambdas)
    for lambda_, (model, seconds) in zip(data.lambdas, fits, strict=True):
        predicted, truth = model.predict(data.rows[held]), data.labels[held]
        right = accuracy(truth, predicted, taxonomy, sample_weight=weight)
        loss = float("nan")
        if taxonomy is not None and not data.several:
            loss = tree_loss(truth, predicted, taxonomy, sample_weight=weight)
        of_sets: dict[str, Any] = {
            f1.__name__: f1(truth, predicted, taxonomy, sample_weight=weight) for f1 in _F1 if data.several
        }
        gap, certified = model.certificate_.gap, model.certificate_.holds(model.tol)
        yield Trial(number, title(candidate), lambda_, right, loss, gap, certified, seconds, **of_sets)


def _fits(
    candidate: Any, rows: Any, labels: Any, weight: Any, lambdas: Sequence[float]
) -> Iterator[tuple[Any, float]]:
    """The candidate fitted for each lambda, largest first, and the seconds it took."""
    path = _path(candidate, rows, labels, weight, [1.0 / (2.0 * value) for value in lambdas])
    for _ in lambdas:
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # gaps are in the table
            warnings.simplefilter("ignore", EmptyClassWarning)  # the last fit tells
            model = next(path)
        if model.certificate_.status is Status.INTERRUPTED:
            raise KeyboardInterrupt  # a fit would keep what it has; half a selection is none
        yield model, time.perf_counter() - began


def _path(candidate: Any, rows: Any, labels: Any, weight: Any, Cs: Sequence[float]) -> Iterator[Any]:
    return iter(candidate.fit_path(rows, labels, Cs, sample_weight=weight))


def _check_candidates(candidates: Sequence[Any]) -> tuple[list[Any], Taxonomy | None]:
    """Copies of the candidates, and the taxonomy that those with one share."""
    if not isinstance(candidates, list | tuple) or not candidates:
        raise DataError(f"candidates={show(candidates)} is not allowed; give a list of estimators")
    for candidate in candidates:
        if not isinstance(candidate, CertifiedClassifier):
            raise DataError(f"candidate {show(candidate)} is not one of taxolearn's; try MulticlassSVM()")
    taxonomies = [candidate.taxonomy for candidate in candidates if candidate.taxonomy is not None]
    if any(other != taxonomies[0] for other in taxonomies):
        raise DataError("the candidates have different taxonomies; give all the same, or none")
    return [clone(candidate) for candidate in candidates], taxonomies[0] if taxonomies else None


def _check_lambdas(lambdas: Any) -> list[float]:
    """Distinct and largest first."""
    if isinstance(lambdas, str | bytes) or not hasattr(lambdas, "__iter__") or not len(list(lambdas)):
        raise DataError(f"lambdas={show(lambdas)} is not allowed; give a list of positive numbers")
    for value in lambdas:
        positive("lambdas", value)
    return sorted({float(value) for value in lambdas}, reverse=True)


def _check_choices(metric: str, holdout: float) -> None:
    if metric not in METRICS:
        raise DataError(f"metric={show(metric)} is not known; choose {' or '.join(map(repr, METRICS))}")
    if not isinstance(holdout, float) or not 0 < holdout < 1:
        raise DataError(f"holdout={show(holdout)} is not allowed; give a share of rows between 0 and 1")


def _split(problem: Problem, share: float, seed: int) -> tuple[Any, Any]:
    if np.asarray(problem.targets.sum(axis=0)).max() < 2:
        raise DataError("no row can be held out: every class has a single row; give more rows")
    return hold_out(problem, max(share, 1.0 / problem.n_rows), seed)
