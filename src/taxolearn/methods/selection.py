"""Choosing among methods and strengths of regularization on held-out rows, as the papers do."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from taxolearn.errors import DataError
from taxolearn.methods.held_out import hold_out
from taxolearn.methods.hierarchical_svm import HierarchicalSVM
from taxolearn.methods.inputs import check_positive
from taxolearn.methods.multiclass_svm import MulticlassSVM
from taxolearn.methods.normalized_svm import NormalizedHierarchicalSVM
from taxolearn.methods.shared_svm import SharedSVM
from taxolearn.metrics import accuracy, tree_loss
from taxolearn.problem import make_problem
from taxolearn.problem.inputs import check_matrix
from taxolearn.structure import Taxonomy
from taxolearn.structure.names import show

LAMBDAS = tuple(10.0**power for power in range(-8, 3))  # the grid of Choi, Sasaki and Srebro, section 8.1
_METRICS = ("accuracy", "tree_loss")


@dataclass(frozen=True)
class Trial:
    """One candidate at one lambda: what it scored on the held-out rows, its certified gap and its time.

    >>> Trial(0, "flat", 0.01, 0.8, 0.25, 1e-3, 0.1).C
    50.0
    """

    candidate: int
    title: str
    lambda_: float
    accuracy: float
    tree_loss: float
    gap: float
    seconds: float

    @property
    def C(self) -> float:
        """The estimator's parameter: 1 / (2 lambda).

        >>> Trial(0, "flat", 0.5, 0.8, 0.25, 1e-3, 0.1).C
        1.0
        """
        return 1.0 / (2.0 * self.lambda_)


@dataclass(frozen=True)
class Selection:
    """What `select` tried, the best trial, and the model fitted anew on all rows.

    >>> Selection([Trial(0, "flat", 0.01, 0.8, 0.25, 1e-3, 0.1)], 0, None).best.title
    'flat'
    """

    trials: list[Trial]
    chosen: int
    model: Any
    metric: str = field(default="accuracy")

    @property
    def best(self) -> Trial:
        """The trial with the best score; of equal ones the one with the largest lambda.

        >>> Selection([Trial(0, "flat", 0.01, 0.8, 0.25, 1e-3, 0.1)], 0, None).best.accuracy
        0.8
        """
        return self.trials[self.chosen]

    def to_text(self) -> str:
        """All trials as a table, the chosen one marked.

        >>> print(Selection([Trial(0, "flat", 0.01, 0.8, 0.25, 1e-3, 0.1)], 0, None).to_text())
        candidate  lambda   accuracy  tree loss  gap      seconds
        flat       1e-02    0.8000    0.250      1.0e-03  0.1      <- chosen
        """
        width = max(9, *(len(trial.title) for trial in self.trials))
        lines = [f"{'candidate':{width}}  lambda   accuracy  tree loss  gap      seconds"]
        for number, trial in enumerate(self.trials):
            line = (
                f"{trial.title:{width}}  {trial.lambda_:<7.0e}  {trial.accuracy:.4f}    {trial.tree_loss:<9.3f}  "
                f"{trial.gap:.1e}  {trial.seconds:<7.1f}"
            )
            lines.append(line + ("  <- chosen" if number == self.chosen else ""))
        return "\n".join(line.rstrip() for line in lines)

    def plot(self, file: str | Path) -> None:
        """Draw the score of every candidate over lambda into a picture file; needs matplotlib (the extra "plot").

        >>> Selection([Trial(0, "flat", 0.01, 0.8, 0.25, 1e-3, 0.1)], 0, None).plot("picture.nothing")
        Traceback (most recent call last):
        ...
        taxolearn.errors.DataError: cannot draw 'picture.nothing'; give a name that ends with .png, .svg or .pdf
        """
        if Path(file).suffix not in (".png", ".svg", ".pdf"):
            raise DataError(f"cannot draw {show(str(file))}; give a name that ends with .png, .svg or .pdf")
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise DataError(
                "a plot needs matplotlib, which is not installed; install taxolearn with the extra 'plot'"
            ) from None
        figure = Figure(figsize=(7, 4.5), layout="constrained")
        axes = figure.add_subplot()
        for candidate in sorted({trial.candidate for trial in self.trials}):
            mine = [trial for trial in self.trials if trial.candidate == candidate]
            mine.sort(key=lambda trial: trial.lambda_)
            scores = [getattr(trial, self.metric) for trial in mine]
            axes.plot([trial.lambda_ for trial in mine], scores, marker="o", label=mine[0].title)
        best = self.best
        axes.plot(
            [best.lambda_], [getattr(best, self.metric)], "o", mfc="none", mec="black", ms=14, label="chosen"
        )
        axes.set_xscale("log")
        axes.set_xlabel("lambda")
        axes.set_ylabel(f"{self.metric.replace('_', ' ')} on held-out rows")
        axes.legend(fontsize="small")
        figure.savefig(file)


def paper_candidates(
    taxonomy: Taxonomy | None, methods: Sequence[str] = ("normalized",), **parameters: Any
) -> list[Any]:
    """What the paper chooses among: for NHSVM weights (6) with rho = 2, (7), and (6) with the directional
    constraint, each with objective (10) and (13).

    `methods` may also name "flat", "hierarchical" and "shared"; `parameters` go to all of them. On a tree (6) with the
    directional constraint is (7) and is left out.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> [title(model) for model in paper_candidates(tree)]
    ['NormalizedHierarchicalSVM(maxmin, (10))', 'NormalizedHierarchicalSVM(maxmin, (13))', \
'NormalizedHierarchicalSVM(rho=2, (10))', 'NormalizedHierarchicalSVM(rho=2, (13))']
    """
    found: list[Any] = []
    for method in methods:
        if method == "flat":
            found.append(MulticlassSVM(taxonomy, **parameters))
        elif method == "hierarchical":
            found.append(HierarchicalSVM(taxonomy, **parameters))
        elif method == "shared":
            found.append(SharedSVM(taxonomy, **parameters))
        elif method == "normalized":
            rules: list[dict[str, Any]] = [{"weights": "maxmin"}, {"weights": "rho"}]
            if taxonomy is not None and not taxonomy.is_tree:
                rules.append({"weights": "rho", "directional": True})
            found += [
                NormalizedHierarchicalSVM(taxonomy, objective=objective, **rule, **parameters)
                for rule in rules
                for objective in (10, 13)
            ]
        else:
            raise DataError(
                f"method {show(method)} is not known; choose 'flat', 'hierarchical', 'normalized' or 'shared'"
            )
    return found


def title(model: Any) -> str:
    """A short name of a candidate.

    >>> title(MulticlassSVM())
    'MulticlassSVM'
    """
    name = type(model).__name__
    if not isinstance(model, NormalizedHierarchicalSVM):
        return name
    weights = model.weights if isinstance(model.weights, str) else "given"
    if weights == "rho":
        weights = f"rho={model.rho:g}" + (", directional" if model.directional else "")
    return f"{name}({weights}, ({model.objective}))"


def select(
    candidates: Sequence[Any],
    X: Any,
    y: Any,
    *,
    lambdas: Sequence[float] = LAMBDAS,
    holdout: float = 0.2,
    metric: str = "accuracy",
    random_state: int = 0,
    on_trial: Callable[[int, int, Trial], None] | None = None,
) -> Selection:
    """Choose a candidate and a lambda on held-out rows, then fit the choice on all rows (Choi, Sasaki, Srebro, 8.1).

    Each candidate is fitted along lambda from the largest to the smallest, every fit started from the dual of the last
    (`fit_path`). `metric` is "accuracy" or "tree_loss". A fit that does not reach its `tol` still counts; its gap is in
    the table. `on_trial(done, total, trial)` is called after each.

    >>> X, y = [[-1.0], [-1.2], [0.0], [0.1], [1.0], [1.1]], ["a", "a", "b", "b", "c", "c"]
    >>> selection = select([MulticlassSVM()], X, y, lambdas=[1.0, 0.01], holdout=0.3)
    >>> selection.best.lambda_, selection.model.C
    (0.01, 50.0)
    """
    if not len(candidates):
        raise DataError("there is no candidate to choose from; give at least one estimator")
    if metric not in _METRICS:
        raise DataError(f"metric={show(metric)} is not known; choose {' or '.join(map(repr, _METRICS))}")
    for value in lambdas:
        check_positive(lambdas=value)
    rows = check_matrix(X)
    taxonomy = candidates[0].taxonomy
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = make_problem(rows, y, taxonomy)
    held, kept = hold_out(problem, holdout, random_state)
    labels = np.asarray(y, dtype=object)
    trials: list[Trial] = []
    total = len(candidates) * len(lambdas)
    for number, candidate in enumerate(candidates):
        path = candidate.fit_path(rows[kept], labels[kept], [1.0 / (2.0 * value) for value in lambdas])
        while True:
            began = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # gaps are in the table
                model = next(path, None)
            if model is None:
                break
            predicted = model.predict(rows[held])
            trial = Trial(
                number,
                title(candidate),
                1.0 / (2.0 * model.C),
                float(accuracy(labels[held], predicted, taxonomy)),
                float(tree_loss(labels[held], predicted, taxonomy)) if taxonomy is not None else float("nan"),
                model.certificate_.gap,
                time.perf_counter() - began,
            )
            trials.append(trial)
            if on_trial is not None:
                on_trial(len(trials), total, trial)
    sign = 1.0 if metric == "accuracy" else -1.0
    chosen = max(range(len(trials)), key=lambda k: (sign * getattr(trials[k], metric), trials[k].lambda_))
    best = trials[chosen]
    final = clone(candidates[best.candidate]).set_params(C=best.C)
    with warnings.catch_warnings():
        warnings.simplefilter("always", ConvergenceWarning)
        final.fit(rows, labels)
    return Selection(trials, chosen, final, metric)
