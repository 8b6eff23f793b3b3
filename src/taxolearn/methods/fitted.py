"""What a fit leaves behind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from taxolearn.certificates import Certificate
from taxolearn.decoders import Coverage, Decoder, Link
from taxolearn.structure import Taxonomy
from taxolearn.vectors import Vectors

if TYPE_CHECKING:
    from taxolearn.solvers import Progress


class Fitted:
    """What a fit leaves behind; no parameters."""

    _fitted: ClassVar[Mapping[str, str]] = {
        "classes_": "array: The labels learned, in the order of the columns of scores.",
        "taxonomy_": "Taxonomy or None: The given one, or the one that y spells.",
        "certificate_": "Certificate: Upper and lower bound on the optimum, recomputed after the fit.",
        "vectors_": "Vectors: What scores rows: one vector per class, node or decision, or support rows.",
        "coef_, intercept_": "arrays: The vectors and intercepts of the classes, classes x features.",
        "decoder_": "Decoder: How scores become labels.",
        "thresholds_": "array: Above which score a class is predicted, with several labels per row.",
        "calibration_": "Link or None: How scores become probabilities, where that was learned on held-out rows.",
        "coverage_": "Coverage or None: What `calibrate` learned from its rows.",
        "label_form_": "str: In which form y was given, and `predict` answers.",
        "n_iter_": "int: Passes of the solver.",
        "history_": "list of Progress: Bounds and seconds after each pass.",
        "n_features_in_": "int: Number of features.",
        "feature_names_in_": "array: Names of the features, where X was a table with names.",
        "data_": "dict: Number of rows, of all and of each class, and a fingerprint of what the model was fitted on.",
    }
    vectors_: Vectors
    decoder_: Decoder
    classes_: npt.NDArray[Any]
    certificate_: Certificate
    n_iter_: int
    n_features_in_: int
    taxonomy_: Taxonomy | None
    history_: list[Progress]
    label_form_: str
    data_: dict[str, Any]
    calibration_: Link | None
    coverage_: Coverage | None
    _indicator: tuple[str, int, str, bool] | None
    _closed_labels = False  # whether rows have the ancestors of their labels as labels, too

    @property
    def _binary(self) -> bool:
        return len(self.classes_) == 2 and not self.decoder_.several

    @property
    def weights_(self) -> Vectors:
        """The name that `vectors_` had before.

        >>> from taxolearn import OneVsRestSVM
        >>> model = OneVsRestSVM().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
        >>> model.weights_ is model.vectors_
        True
        """
        return self.vectors_

    @property
    def thresholds_(self) -> npt.NDArray[np.float64]:
        """Above which score each class is predicted, with several labels per row; zeros unless they were tuned.

        >>> from taxolearn import OneVsRestSVM
        >>> OneVsRestSVM().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"]).thresholds_.tolist()
        [0.0, 0.0, 0.0]
        """
        check_is_fitted(self)
        thresholds = getattr(self.decoder_, "thresholds", None)
        return np.zeros(len(self.classes_)) if thresholds is None else thresholds

    @property
    def coef_(self) -> Any:
        """Weights, classes x features (for two classes one row, half their difference: its sign decides).

        >>> from taxolearn import OneVsRestSVM
        >>> OneVsRestSVM().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"]).coef_.shape
        (3, 1)
        """
        check_is_fitted(self)
        coef = self.vectors_.coef
        return 0.5 * (coef[[1]] - coef[[0]]) if self._binary else coef

    @property
    def intercept_(self) -> npt.NDArray[np.float64]:
        """Intercepts, one per class (one for two classes).

        >>> from taxolearn import OneVsRestSVM
        >>> OneVsRestSVM().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"]).intercept_.shape
        (3,)
        """
        check_is_fitted(self)
        intercept = self.vectors_.intercept
        return 0.5 * (intercept[1:] - intercept[:1]) if self._binary else intercept
