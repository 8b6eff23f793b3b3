"""LibMultiLabel's linear part: LIBLINEAR one-vs-rest, and a tree of labels as Bonsai makes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from problem import SURE, Problem, as_sparse, best_of

PACKAGE, ENVIRONMENT = "libmultilabel", "libmultilabel"
OPTIONS = "-s 1 -B 1 -m 1 -q"  # squared hinge, an intercept, one thread


class Linear:
    """One of its training functions; sets are the scores above a threshold, zero or one half."""

    def __init__(self, problem: Problem, train: str, above: float) -> None:
        from libmultilabel import linear

        self.problem, self.train, self.above = problem, getattr(linear, train), above
        self.X, self.X_test, self.Y = as_sparse(problem.X), as_sparse(problem.X_test), as_sparse(problem.Y)

    def fit(self) -> None:
        self.model = self.train(self.Y, self.X, options=OPTIONS, verbose=False)

    def values(self) -> Any:
        return np.asarray(self.model.predict_values(self.X_test))

    def answer(self) -> Any:
        values = self.values()
        return sparse.csr_matrix(values > self.above) if self.problem.several else values.argmax(axis=1)

    def ranked(self, k: int) -> Any:
        return best_of(self.values(), k)

    def save(self, folder: Path) -> None:
        from libmultilabel import linear

        linear.save_pipeline(str(folder), None, self.model)


ENTRANTS = {
    "LibMultiLabel one-vs-rest": lambda problem: Linear(problem, "train_1vsrest", 0.0),
    "LibMultiLabel tree": lambda problem: Linear(problem, "train_tree", SURE),
}
