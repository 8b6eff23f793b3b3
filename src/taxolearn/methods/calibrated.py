"""Probabilities for methods that have only scores: sigmoids fitted on held-out rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.metaestimators import available_if

from taxolearn.decoders import normalized, sigmoid
from taxolearn.errors import DataError
from taxolearn.methods.certified import CertifiedClassifier


def _has_probabilities(estimator: Any) -> bool:
    if not estimator.probability:
        raise AttributeError("predict_proba needs probability=True when the model is made and fitted")
    return True


class CalibratedProbabilities(CertifiedClassifier):
    """`predict_proba` through one sigmoid a class, for methods with the parameter `probability`.

    >>> from taxolearn import OneVsRestSVM
    >>> issubclass(OneVsRestSVM, CalibratedProbabilities)
    True
    """

    probability: bool

    def _wants_probabilities(self) -> bool:
        return bool(self.probability)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Calibrated probability of each class, rows x classes; needs `probability=True`.

        A sigmoid of each class's score, fitted on held-out rows (Platt with smoothed targets; classes with fewer than 5
        held-out rows share one). One label a row: scaled to sum to one. Several: each class on its own.

        >>> from taxolearn import OneVsRestSVM
        >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]] * 5, ["a", "a", "b", "b"] * 5
        >>> OneVsRestSVM(probability=True, random_state=0).fit(X, y).predict_proba([[3.0]]).argmax()
        np.int64(1)
        """
        rows = self._rows(X)
        scores = self.weights_.scores(rows).astype(np.float64)
        if self.calibration_ is None:
            raise DataError(
                "this model was fitted with probability=False; fit it again with probability=True"
            )
        slopes, offsets = self.calibration_
        probabilities = sigmoid(slopes * scores + offsets)
        return probabilities if self._multilabel else normalized(probabilities)
