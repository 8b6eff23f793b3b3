"""HiClass: a local classifier per parent node or per node. One label per row, trees."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from problem import Problem

PACKAGE, ENVIRONMENT = "hiclass", "classic"
NEEDS = ("one label", "tree")


class Local:
    """One of HiClass's classifiers; levels are the paths, filled up with empty names as its manual has it."""

    def __init__(self, problem: Problem, kind: str, local: str) -> None:
        import hiclass
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import LinearSVC

        self.problem = problem
        paths = problem.paths()
        depth = max(len(path) for path in paths)
        levels = np.array([path + [""] * (depth - len(path)) for path in paths], dtype=object)
        self.levels = levels[problem.y]
        self.number = {name: place for place, name in enumerate(problem.names)}
        one = LinearSVC(random_state=0) if local == "svm" else LogisticRegression(max_iter=300)
        self.model = getattr(hiclass, kind)(local_classifier=one)

    def fit(self) -> None:
        self.model.fit(self.problem.X, self.levels)

    def answer(self) -> Any:
        found = np.asarray(self.model.predict(self.problem.X_test), dtype=str)
        return np.array([self.number[[name for name in row if name][-1]] for row in found])

    def save(self, folder: Path) -> None:
        import pickle

        with open(folder / "model.pickle", "wb") as file:
            pickle.dump(self.model, file)


def _of(kind: str, local: str) -> Callable[[Problem], Local]:
    return lambda problem: Local(problem, kind, local)


ENTRANTS = {
    "HiClass per parent, LogisticRegression": _of("LocalClassifierPerParentNode", "logistic"),
    "HiClass per parent, LinearSVC": _of("LocalClassifierPerParentNode", "svm"),
    "HiClass per node, LogisticRegression": _of("LocalClassifierPerNode", "logistic"),
}
