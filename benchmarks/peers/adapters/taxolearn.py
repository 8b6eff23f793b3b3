"""taxolearn: the methods that a user would take first, at their defaults."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from problem import Problem, marks

PACKAGE, ENVIRONMENT = "taxolearn", ""
WARM_ROWS = 60


class Ours:
    """One estimator. Kernels are compiled before the clock runs, as they are once per installation."""

    def __init__(self, problem: Problem, kind: str) -> None:
        import taxolearn

        self.problem = problem
        tree = taxolearn.Taxonomy.from_edges(problem.edges)
        self.make: Callable[[], Any] = lambda: getattr(taxolearn, kind)(
            taxonomy=tree, random_state=0, n_jobs=1
        )
        names = np.array(problem.names, dtype=object)
        Y = problem.Y
        if problem.several:
            self.y: Any = [
                names[Y.indices[a:b]].tolist() for a, b in zip(Y.indptr[:-1], Y.indptr[1:], strict=True)
            ]
        else:
            self.y = names[problem.y]
        self.number = {name: place for place, name in enumerate(problem.names)}

    def warm_up(self) -> None:
        some = slice(None, None, max(1, self.problem.X.shape[0] // WARM_ROWS))  # files may be sorted by class
        model = self.make().fit(self.problem.X[some], self.y[some])
        model.predict(self.problem.X_test[:WARM_ROWS])

    def fit(self) -> None:
        self.model = self.make().fit(self.problem.X, self.y)

    def answer(self) -> Any:
        found = self.model.predict(self.problem.X_test)
        if not self.problem.several:
            return np.array([self.number[name] for name in found])
        return marks([[self.number[name] for name in row] for row in found], len(self.problem.names))

    def ranked(self, k: int) -> Any:
        names, _ = self.model.top_k(self.problem.X_test, k)
        return np.array([[self.number[name] for name in row] for row in names])

    def notes(self) -> str:
        gap = f"certified gap {self.model.certificate_.gap:.0e}"
        chosen = getattr(self.model, "estimator_", None)
        return gap if chosen is None else f"{gap}; chose {type(chosen).__name__}"

    def save(self, folder: Path) -> None:
        self.model.save(folder)


def _of(kind: str) -> Callable[[Problem], Ours]:
    return lambda problem: Ours(problem, kind)


ENTRANTS = {
    kind: _of(kind)
    for kind in ("OneVsRestSVM", "NormalizedHierarchicalSVM", "RecursiveSVM", "TaxonomyClassifier")
}
