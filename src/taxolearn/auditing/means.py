"""Class means: what classes share, before anything is learned that tells them apart."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin

from taxolearn.methods.inputs import names_array
from taxolearn.problem.labels import encode_labels


class ClassMeans(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The score of class k is (x - c) . (m_k - c): m_k is the mean of its rows, c the mean of all m_k.

    The mean score of the rows of another class is then the covariance of two class vectors. Models that are trained to
    tell classes apart leave out what classes have in common, which is what an audit looks for. Dense columns are
    divided by their standard deviation within classes; sparse ones are taken as they are.

    >>> means = ClassMeans().fit(np.array([[0.0], [2.0], [4.0]]), ["a", "b", "c"])
    >>> means.decision_function(np.array([[3.0]])).tolist()
    [[-2.0, 0.0, 2.0]]
    """

    classes_: npt.NDArray[Any]

    def fit(self, X: Any, y: Any) -> Self:
        """Compute the means."""
        labels = encode_labels(y)
        targets = labels.matrix()
        counts = np.asarray(targets.sum(axis=0)).ravel()
        means: Any = sp.diags_array(1.0 / counts) @ (targets.T @ X)
        self.unit_ = np.ones(X.shape[1])
        if not sp.issparse(X):
            per_row = np.maximum(np.diff(targets.indptr), 1)
            within = np.asarray(X) - (targets @ means) / per_row[:, None]
            spread = within.std(axis=0)
            self.unit_ = np.where(spread > 0, spread, 1.0)
            means = means / self.unit_
        self.classes_, self.means_ = names_array(labels.names), means
        self.centre_ = np.asarray(means.mean(axis=0)).ravel()
        return self

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Scores, rows x classes."""
        rows = X if sp.issparse(X) else np.asarray(X) / self.unit_
        products = rows @ self.means_.T
        products = products.toarray() if sp.issparse(products) else np.asarray(products)
        shift = np.asarray(self.means_ @ self.centre_) - self.centre_ @ self.centre_
        scores: npt.NDArray[np.float64] = products - np.asarray(rows @ self.centre_)[:, None] - shift
        return scores
