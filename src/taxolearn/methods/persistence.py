"""Fitted estimators to a folder and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import taxolearn
from taxolearn.certificates import Certificate
from taxolearn.errors import ModelError
from taxolearn.methods.base import TaxonomyClassifier
from taxolearn.methods.inputs import names_array
from taxolearn.models import (
    decode_names,
    encode_names,
    pack_taxonomy,
    pack_weights,
    read_model,
    unpack_taxonomy,
    unpack_weights,
    write_model,
)
from taxolearn.solvers import Status


def save(estimator: TaxonomyClassifier, folder: str | Path) -> None:
    """Write a fitted estimator to a folder; everything is checked before anything is written.

    >>> import tempfile
    >>> model = taxolearn.OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, folder)
    ...     load(folder).certificate_.gap == model.certificate_.gap
    True
    """
    if not estimator.__sklearn_is_fitted__():
        raise ModelError(f"this {type(estimator).__name__} is not fitted yet; call fit before save")
    parameters = estimator.get_params(deep=False)
    taxonomy = parameters.pop("taxonomy")
    weights_header, arrays = pack_weights(estimator.weights_)
    arrays["thresholds"] = estimator.thresholds_
    arrays["certificate/primal"] = estimator.certificate_.class_primal
    arrays["certificate/dual"] = estimator.certificate_.class_dual
    calibration = getattr(estimator, "calibration_", None)
    if calibration is not None:
        arrays["calibration/slopes"], arrays["calibration/offsets"] = calibration
    header: dict[str, Any] = {
        "method": type(estimator).__name__,
        "params": parameters,
        "classes": {"names": encode_names(estimator.classes_.tolist()), "dtype": str(estimator.classes_.dtype)},
        "labels": {"form": estimator.label_form_, "indicator": estimator._indicator},
        "weights": weights_header,
        "certificate": {
            "status": estimator.certificate_.status.value,
            "primal": estimator.certificate_.primal,
            "dual": estimator.certificate_.dual,
            "gap": estimator.certificate_.gap,
        },
        "n_iter": int(estimator.n_iter_),
        "feature_names": _feature_names(estimator),
        "taxonomy": None,
    }
    if taxonomy is not None:
        header["taxonomy"], taxonomy_arrays = pack_taxonomy(taxonomy)
        arrays.update(taxonomy_arrays)
    write_model(folder, header, arrays)


def load(folder: str | Path) -> Any:
    """The estimator that was saved in the folder, ready to predict.

    >>> load("no such folder")
    Traceback (most recent call last):
    ...
    taxolearn.errors.ModelError: no such folder: there is no such folder
    """
    header, arrays = read_model(folder)
    try:
        return _rebuild(header, arrays)
    except ModelError as error:
        raise ModelError(f"{folder}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ModelError(f"{folder}: the model's header does not fit its arrays ({error}); save it again") from None


def _rebuild(header: dict[str, Any], arrays: dict[str, Any]) -> Any:
    method = header["method"]
    if method not in taxolearn.__all__ or not isinstance(getattr(taxolearn, method), type):
        raise ModelError(f"the method {method!r} is not known to this version of taxolearn")
    taxonomy = None
    if header["taxonomy"] is not None:
        taxonomy = unpack_taxonomy(header["taxonomy"], arrays)
    kind = getattr(taxolearn, method)
    if not issubclass(kind, TaxonomyClassifier):
        raise ModelError(f"{method!r} is not a method")
    estimator: Any = kind(**header["params"], taxonomy=taxonomy)
    weights = unpack_weights(header["weights"], arrays)
    names = decode_names(header["classes"]["names"])
    dtype = header["classes"]["dtype"]
    estimator.classes_ = names_array(names, None if dtype == "object" else np.empty(0, dtype=dtype))
    if dtype == "object":
        estimator.classes_ = estimator.classes_.astype(object)
    if len(names) != weights.n_classes:
        raise ModelError(f"{len(names)} classes do not fit {weights.n_classes} rows of weights")
    if taxonomy is not None:
        taxonomy.ids_of(names)
    estimator.weights_ = weights
    estimator.n_features_in_ = weights.n_features
    if header["feature_names"] is not None:
        estimator.feature_names_in_ = np.array(header["feature_names"], dtype=object)
        if len(estimator.feature_names_in_) != weights.n_features:
            raise ModelError(f"{len(estimator.feature_names_in_)} feature names do not fit {weights.n_features} features")
    estimator.label_form_ = header["labels"]["form"]
    estimator._indicator = header["labels"]["indicator"]
    estimator.n_iter_ = header["n_iter"]
    estimator.thresholds_ = _per_class(arrays, "thresholds", weights.n_classes)
    estimator.certificate_ = Certificate(
        _per_class(arrays, "certificate/primal", weights.n_classes),
        _per_class(arrays, "certificate/dual", weights.n_classes),
        Status(header["certificate"]["status"]),
    )
    estimator.calibration_ = None
    if "calibration/slopes" in arrays:
        estimator.calibration_ = (
            _per_class(arrays, "calibration/slopes", weights.n_classes),
            _per_class(arrays, "calibration/offsets", weights.n_classes),
        )
    return estimator


def _per_class(arrays: dict[str, Any], name: str, n_classes: int) -> Any:
    if name not in arrays:
        raise ModelError(f"the array {name!r} is missing")
    if arrays[name].shape != (n_classes,) or arrays[name].dtype != np.float64:
        raise ModelError(f"the array {name!r} should hold {n_classes} float64 numbers, one a class")
    return arrays[name]


def _feature_names(estimator: Any) -> list[str] | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]
