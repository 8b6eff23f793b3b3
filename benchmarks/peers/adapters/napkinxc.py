"""napkinXC: a probabilistic label tree at its defaults, over a tree that it makes itself."""

from __future__ import annotations

import shutil
from pathlib import Path

from problem import Problem, Scored, as_sparse

PACKAGE, ENVIRONMENT = "napkinxc", "classic"


class Tree(Scored):
    """A tree of logistic regressions; the model is written while it learns."""

    def __init__(self, problem: Problem) -> None:
        from napkinxc import models

        self.problem = problem
        self.place = problem.scratch / "napkinxc"
        self.X, self.X_test = as_sparse(problem.X), as_sparse(problem.X_test)
        Y = problem.Y
        self.labels = [Y.indices[a:b].tolist() for a, b in zip(Y.indptr[:-1], Y.indptr[1:], strict=True)]
        self.model = models.PLT(str(self.place), threads=1, seed=0, verbose=0)

    def fit(self) -> None:
        self.model.fit(self.X, self.labels)
        self.model.load()

    def pairs(self, k: int) -> list[list[tuple[int, float]]]:
        return [list(row) for row in self.model.predict_proba(self.X_test, top_k=k)]

    def save(self, folder: Path) -> None:
        shutil.copytree(self.place, folder, dirs_exist_ok=True)


ENTRANTS = {"napkinXC PLT": Tree}
