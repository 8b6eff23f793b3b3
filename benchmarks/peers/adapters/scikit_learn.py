"""scikit-learn: LIBLINEAR through LinearSVC, with C = 1 or chosen by cross-validation, and softmax regression."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from problem import Problem, as_sparse, best_of

PACKAGE, ENVIRONMENT = "scikit-learn", "classic"
GRID = (0.1, 1.0, 10.0)


class Flat:
    """One classifier over all classes."""

    def __init__(self, problem: Problem, make: Any) -> None:
        from sklearn.multiclass import OneVsRestClassifier

        self.problem = problem
        self.target = problem.Y if problem.several else problem.y
        self.model = OneVsRestClassifier(make()) if problem.several else make()

    def fit(self) -> None:
        self.model.fit(self.problem.X, self.target)

    def answer(self) -> Any:
        return self.model.predict(self.problem.X_test)

    def ranked(self, k: int) -> Any:
        # OneVsRestClassifier has a column per column of Y, also for labels without rows
        return best_of(np.asarray(self.model.decision_function(self.problem.X_test)), k)

    def save(self, folder: Path) -> None:
        import joblib

        joblib.dump(self.model, folder / "model.joblib")


class Searched(Flat):
    """LinearSVC with C from three folds of the training rows, then on all of them."""

    def __init__(self, problem: Problem) -> None:
        from sklearn import model_selection
        from sklearn.svm import LinearSVC

        super().__init__(problem, lambda: LinearSVC(random_state=0))
        self.trying = model_selection

    def fit(self) -> None:
        parameter = "estimator__C" if self.problem.several else "C"
        scoring = "f1_micro" if self.problem.several else "accuracy"
        folds = self.trying.KFold(3, shuffle=True, random_state=0)
        search = self.trying.GridSearchCV(self.model, {parameter: list(GRID)}, scoring=scoring, cv=folds)
        search.fit(self.problem.X, self.target)
        self.model, self.C = search.best_estimator_, search.best_params_[parameter]

    def notes(self) -> str:
        return f"C = {self.C:g}"


def linear_svc(problem: Problem) -> Flat:
    from sklearn.svm import LinearSVC

    return Flat(_with_int32(problem), lambda: LinearSVC(random_state=0))


def softmax(problem: Problem) -> Flat:
    from sklearn.linear_model import LogisticRegression

    return Flat(problem, lambda: LogisticRegression(max_iter=300))


def searched(problem: Problem) -> Flat:
    return Searched(_with_int32(problem))


def _with_int32(problem: Problem) -> Problem:
    """LIBLINEAR insists on 32-bit indices."""
    if not sparse.issparse(problem.X):
        return problem
    from dataclasses import replace

    return replace(problem, X=as_sparse(problem.X), X_test=as_sparse(problem.X_test))


ENTRANTS = {
    "LinearSVC": linear_svc,
    "LinearSVC, C by cross-validation": searched,
    "LogisticRegression": softmax,
}
