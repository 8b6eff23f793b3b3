"""Probabilities: the model's own where the loss is a likelihood, calibrated on held-out rows elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.metaestimators import available_if

from taxolearn.decoders import comparable, normalized, sigmoid
from taxolearn.errors import DataError
from taxolearn.losses import LOSSES, Softmax
from taxolearn.methods.fitting import CertifiedClassifier
from taxolearn.methods.parameters import estimator, parameter


def _has_probabilities(estimator: Any) -> bool:
    if not estimator.probability:
        raise AttributeError("predict_proba needs probability=True when the model is made and fitted")
    return True


@estimator
class CalibratedProbabilities(CertifiedClassifier):
    """`predict_proba` through one sigmoid per class, for methods with the parameter `probability`.

    >>> from taxolearn import OneVsRestSVM
    >>> issubclass(OneVsRestSVM, CalibratedProbabilities)
    True
    """

    probability: bool = parameter(
        default=False,
        doc=(
            "Fit one sigmoid per class on held-out rows (Platt), so that `predict_proba` works. With one "
            "label per row the probabilities are scaled to sum to one."
        ),
    )

    def _wants_probabilities(self) -> bool:
        return bool(self.probability)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Calibrated probability of each class, rows x classes; needs `probability=True`.

        A sigmoid of each class's score, fitted on held-out rows (Platt with smoothed targets; classes with fewer than 5
        held-out rows share one). One label per row: scaled to sum to one. Several: each class on its own.

        >>> from taxolearn import OneVsRestSVM
        >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]] * 5, ["a", "a", "b", "b"] * 5
        >>> OneVsRestSVM(probability=True, random_state=0).fit(X, y).predict_proba([[3.0]]).argmax()
        np.int64(1)
        """
        rows = self._rows(X)
        scores = self.decoder_.scores(self.vectors_, rows).astype(np.float64)
        if self.calibration_ is None:
            raise DataError(
                "this model was fitted with probability=False; fit it again with probability=True"
            )
        slopes, offsets = self.calibration_
        if self.decoder_.several:
            return sigmoid(slopes * scores + offsets)
        return normalized(sigmoid(slopes * comparable(scores) + offsets))


@estimator
class LikelihoodProbabilities(CertifiedClassifier):
    """`predict_proba` of losses that are likelihoods, logistic and softmax: they need no calibration.

    >>> from taxolearn import OneVsRestLogistic
    >>> issubclass(OneVsRestLogistic, LikelihoodProbabilities)
    True
    """

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Probability of each class, rows x classes.

        The model's own sigmoid of each score. One label per row: scaled to sum to one; of two classes, the sigmoid of
        `decision_function`. Several: each class on its own. With loss="softmax" the softmax of all scores.

        >>> from taxolearn import OneVsRestLogistic
        >>> model = OneVsRestLogistic().fit([[-1.0], [0.0], [1.0]], ["a", "b", "c"])
        >>> model.predict_proba([[0.5]]).sum().round(6)
        np.float64(1.0)
        """
        rows = self._rows(X)
        scores = self.decoder_.scores(self.vectors_, rows).astype(np.float64)
        if LOSSES[self.loss].facts.kind == "softmax":
            return Softmax().probabilities(scores)
        return sigmoid(scores) if self.decoder_.several else normalized(sigmoid(comparable(scores)))

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Logarithm of `predict_proba`.

        >>> from taxolearn import OneVsRestLogistic
        >>> OneVsRestLogistic().fit([[-1.0], [1.0]], ["a", "b"]).predict_log_proba([[0.5]]).shape
        (1, 2)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
