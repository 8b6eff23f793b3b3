"""Probabilities of methods whose loss is a likelihood: they need no calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from taxolearn.decoders import normalized, sigmoid
from taxolearn.losses import Softmax
from taxolearn.methods.certified import CertifiedClassifier


class LogisticProbabilities(CertifiedClassifier):
    """`predict_proba` of logistic and softmax losses.

    >>> from taxolearn import OneVsRestLogistic
    >>> issubclass(OneVsRestLogistic, LogisticProbabilities)
    True
    """

    loss: str

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Probability of each class, rows x classes.

        The model's own sigmoid of each score. One label a row: scaled to sum to one. Several: each class on its own.
        With loss="softmax" the softmax of all scores.

        >>> from taxolearn import OneVsRestLogistic
        >>> model = OneVsRestLogistic().fit([[-1.0], [0.0], [1.0]], ["a", "b", "c"])
        >>> model.predict_proba([[0.5]]).sum().round(6)
        np.float64(1.0)
        """
        rows = self._rows(X)
        scores = self.weights_.scores(rows).astype(np.float64)
        if self.loss == "softmax":
            return Softmax().probabilities(scores)
        probabilities = sigmoid(scores)
        return probabilities if self._multilabel else normalized(probabilities)

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Logarithm of `predict_proba`.

        >>> from taxolearn import OneVsRestLogistic
        >>> OneVsRestLogistic().fit([[-1.0], [1.0]], ["a", "b"]).predict_log_proba([[0.5]]).shape
        (1, 2)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
