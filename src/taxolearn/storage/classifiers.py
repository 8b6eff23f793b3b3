"""A fitted estimator as the header and arrays of a model, and back with every entry checked."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from taxolearn.certificates.base import Certificate
from taxolearn.decoders import Best, Coverage, Decoder, Link, Thresholds, decoder_of, link_of
from taxolearn.errors import DataError, ModelError
from taxolearn.problem.labels import Form
from taxolearn.solvers.base import Status
from taxolearn.solvers.pegasos import PegasosSGD
from taxolearn.storage.names import decode_names, encode_names
from taxolearn.storage.packing import pack_taxonomy, pack_vectors, unpack_taxonomy, unpack_vectors
from taxolearn.structure import ClassGraph, Taxonomy

Arrays = dict[str, npt.NDArray[Any]]

# What str(dtype) can be for names, "object" aside.
_DTYPE = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)|[<>][iuf][248]|[<>]U\d{1,8}|\|S\d{1,8}")
_MAX_NAME_BYTES = 64 * 2**20  # bytes of an array of class names


def pack_classifier(estimator: Any) -> tuple[dict[str, Any], Arrays]:
    """Return header and arrays of a fitted estimator.

    >>> from taxolearn import OneVsRestSVM
    >>> model = OneVsRestSVM(C=2.0).fit([[-1.0], [1.0]], ["a", "b"])
    >>> header, arrays = pack_classifier(model)
    >>> header["method"], header["params"]["C"], header["classes"]["names"], sorted(arrays)[0]
    ('OneVsRestSVM', 2.0, ['a', 'b'], 'certificate/dual')
    """
    parameters = estimator.get_params(deep=False)
    parameters.pop("taxonomy")
    taxonomy = estimator.taxonomy_
    classes, certificate = estimator.classes_, estimator.certificate_
    weights_header, arrays = pack_vectors(estimator.vectors_)
    decoder = estimator.decoder_
    arrays["thresholds"] = estimator.thresholds_
    arrays |= {f"decoder/{name}": array for name, array in decoder.arrays().items() if name != "thresholds"}
    arrays["certificate/primal"] = certificate.class_primal
    arrays["certificate/dual"] = certificate.class_dual
    calibration = getattr(estimator, "calibration_", None)
    if calibration is not None:
        arrays |= {f"calibration/{name}": array for name, array in calibration.arrays().items()}
    coverage = getattr(estimator, "coverage_", None)
    if coverage is not None:
        arrays |= {f"coverage/{name}": array for name, array in coverage.arrays().items()}
    if hasattr(estimator, "node_weights_"):
        arrays["node_weights"] = np.array(estimator.node_weights_, dtype=np.float64)
    arrays |= {f"learned/{name}": array for name, array in estimator._learned_arrays().items()}
    feature_names = getattr(estimator, "feature_names_in_", None)
    header: dict[str, Any] = {
        "method": type(estimator).__name__,
        "params": pack_params(parameters),
        "classes": {"names": encode_names(classes.tolist()), "dtype": str(classes.dtype)},
        "labels": {"form": estimator.label_form_, "indicator": estimator._indicator},
        "weights": weights_header,
        "decoder": decoder.name,
        "certificate": {
            "status": certificate.status.value,
            "primal": certificate.primal,
            "dual": certificate.dual,
            "gap": certificate.gap,
            "primal_error": certificate.primal_error,
            "dual_error": certificate.dual_error,
        },
        "n_iter": int(estimator.n_iter_),
        "learned": sorted(estimator._learned_arrays()),
        "data": estimator.data_,
        "feature_names": None if feature_names is None else [str(name) for name in feature_names],
        "taxonomy": None,
    }
    if taxonomy is not None:
        header["taxonomy"], taxonomy_arrays = pack_taxonomy(taxonomy)
        header["labels"]["spell_taxonomy"] = estimator.taxonomy is None
        header["labels"]["closed"] = estimator._closed_labels
        arrays |= taxonomy_arrays
    return header, arrays


def unpack_classifier(kind: Any, header: dict[str, Any], arrays: Arrays, *, full: bool = True) -> Any:
    """Undo `pack_classifier`; whatever does not fit is a `ModelError`. `full` as in `unpack_vectors`.

    >>> from taxolearn import OneVsRestSVM
    >>> model = OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"])
    >>> unpack_classifier(OneVsRestSVM, *pack_classifier(model)).predict([[2.0]]).tolist()
    ['b']
    """
    taxonomy = None
    if entry(header, "taxonomy", dict | None) is not None:
        taxonomy = unpack_taxonomy(header["taxonomy"], arrays)
    given = None if _is_spelt(header) else taxonomy
    estimator: Any = kind(**unpack_params(header, kind), taxonomy=given)
    try:
        estimator._check_parameters()
    except DataError as error:
        raise ModelError(f"stored parameters: {error}") from None
    weights = unpack_vectors(entry(header, "weights", dict), arrays, full=full)
    estimator.vectors_, estimator.taxonomy_ = weights, taxonomy
    estimator.n_features_in_ = weights.n_features
    estimator.classes_ = _classes(entry(header, "classes", dict), taxonomy)
    n_classes = len(estimator.classes_)
    labels = entry(header, "labels", dict)
    estimator.label_form_ = entry(labels, "form", str)
    if estimator.label_form_ not in get_args(Form):
        raise ModelError(f"the form of labels {estimator.label_form_[:40]!r} is not known")
    estimator._closed_labels = bool(entry({"closed": False, **labels}, "closed", bool))
    n_columns = n_classes if taxonomy is None else taxonomy.n_nodes
    estimator._indicator = _indicator(labels, n_columns)
    estimator.n_iter_ = entry(header, "n_iter", int)
    estimator.data_ = entry(header, "data", dict)
    entry(estimator.data_, "rows", int)
    entry(estimator.data_, "fingerprint", str)
    _check_class_rows(estimator.data_, n_classes)
    feature_names = entry(header, "feature_names", list | None)
    if feature_names is not None:
        if len(feature_names) != weights.n_features or not all(type(name) is str for name in feature_names):
            raise ModelError(f"the feature names are not {weights.n_features} strings, one a feature")
        estimator.feature_names_in_ = np.array(feature_names, dtype=object)
    estimator.decoder_ = _decoder(header, arrays, n_classes, weights.n_classes)
    estimator.certificate_ = _certificate(entry(header, "certificate", dict), arrays)
    estimator.calibration_ = _calibration(arrays, estimator.decoder_)
    estimator.coverage_ = _coverage(arrays, taxonomy)
    if "node_weights" in arrays:
        # flat methods have one a class, all others one a node
        count = n_classes if len(arrays["node_weights"]) == n_classes else n_columns
        shape = (count, weights.n_features) if arrays["node_weights"].ndim == 2 else (count,)
        estimator.node_weights_ = _numbers(arrays, "node_weights", *shape)
        if (estimator.node_weights_ < 0).any():
            raise ModelError("the array 'node_weights' holds a negative number")
    estimator._take_learned(_learned(header, arrays))
    return estimator


def _check_class_rows(data: dict[str, Any], n_classes: int) -> None:
    """How many rows each class had; models of older versions do not know it."""
    counts = entry({"class_rows": None, **data}, "class_rows", list | tuple | None)
    if counts is not None and not (
        len(counts) == n_classes and all(type(count) is int and count >= 0 for count in counts)
    ):
        raise ModelError(f"the numbers of rows are not {n_classes} counts, one a class")


def entry(header: Any, key: str, kind: Any) -> Any:
    """An entry of a header, which must be there and of that type.

    >>> entry({"n_iter": True}, "n_iter", int)
    Traceback (most recent call last):
    ...
    taxolearn.errors.ModelError: the header has no valid entry 'n_iter'
    """
    value = header.get(key, ...) if type(header) is dict else ...
    if not isinstance(value, kind) or (type(value) is bool and kind is not bool):
        raise ModelError(f"the header has no valid entry {key!r}")
    return value


def _is_spelt(header: dict[str, Any]) -> bool:
    """Whether the taxonomy was that which the labels spell; models of older versions do not know it."""
    return bool(entry({"spell_taxonomy": False, **entry(header, "labels", dict)}, "spell_taxonomy", bool))


def pack_params(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters by name as a header holds them.

    >>> pack_params({"C": 1.0, "class_weight": {3: 2.0}})
    {'C': 1.0, 'class_weight': {'mapping': [(3, 2.0)]}}
    """
    return {name: _pack_value(value) for name, value in parameters.items()}


def unpack_params(header: dict[str, Any], kind: type) -> dict[str, Any]:
    """The parameters of a model as its class takes them.

    >>> from taxolearn import OneVsRestSVM
    >>> unpack_params({"params": {"C": 1.0, "class_weight": {"mapping": [(3, 2.0)]}}}, OneVsRestSVM)
    {'C': 1.0, 'class_weight': {3: 2.0}}
    """
    found = {}
    known = signature(kind).parameters
    for name, value in entry(header, "params", dict).items():
        if name not in known:
            raise ModelError(f"{kind.__name__} has no parameter {name[:40]!r}")
        found[name] = _unpack_value(value)
    return found


def _unpack_value(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "pegasos" in value:
        return PegasosSGD(**entry(value, "pegasos", dict))
    if "graph" not in value:
        return dict(entry(value, "mapping", list))
    nodes = decode_names(entry(value["graph"], "nodes", list))
    edges = [(nodes[i], nodes[j], weight) for i, j, weight in entry(value["graph"], "edges", list)]
    return ClassGraph.from_edges(edges, nodes=nodes)


def _pack_value(value: Any) -> Any:
    """A parameter; a dict, whose keys may be any names, as a list of pairs, an array as a list, a path as text."""
    if isinstance(value, ClassGraph):
        number = {name: place for place, name in enumerate(value.nodes)}
        edges = [[number[a], number[b], weight] for a, b, weight in value.edges]
        return {"graph": {"nodes": encode_names(value.nodes), "edges": edges}}
    if isinstance(value, PegasosSGD):
        return {"pegasos": {"passes": int(value.passes)}}
    if isinstance(value, Mapping):
        return {"mapping": list(value.items())}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return str(value) if isinstance(value, Path) else value


def _decoder(header: dict[str, Any], arrays: Arrays, n_classes: int, n_units: int) -> Decoder:
    """The decoder; models of older versions have none, and answer by thresholds or by the best score."""
    several = entry(header["labels"], "form", str) in ("sets", "indicator")
    name = header.get("decoder", Thresholds.name if several else Best.name)
    if name != Thresholds.name:
        _numbers(arrays, "thresholds", n_classes)
    prefix = "decoder/"
    own = {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}
    own["thresholds"] = arrays.get("thresholds", np.zeros(0))
    return decoder_of(name, own, n_classes, n_units)


def _calibration(arrays: Arrays, decoder: Decoder) -> Link | None:
    prefix = "calibration/"
    own = {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}
    try:
        return link_of(own, decoder.n_classes, decoder.several)
    except DataError as error:
        raise ModelError(str(error)) from None


def _coverage(arrays: Arrays, taxonomy: Taxonomy | None) -> Coverage | None:
    prefix = "coverage/"
    own = {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}
    return Coverage.from_arrays(own, 0 if taxonomy is None else taxonomy.n_nodes) if own else None


def _classes(stored: dict[str, Any], taxonomy: Taxonomy | None) -> npt.NDArray[Any]:
    names = decode_names(entry(stored, "names", list))
    if not names:
        raise ModelError("the model has no classes")
    n_classes = len(names)
    if len(set(names)) != len(names):
        raise ModelError("a class is named twice")
    if taxonomy is not None:
        taxonomy.ids_of(names)
    dtype = entry(stored, "dtype", str)
    if dtype == "object":
        classes = np.empty(n_classes, dtype=object)
        for number, name in enumerate(names):
            classes[number] = name
        return classes
    if not _DTYPE.fullmatch(dtype) or np.dtype(dtype).itemsize * n_classes > _MAX_NAME_BYTES:
        raise ModelError(f"the classes cannot have the dtype {dtype[:40]!r}")
    try:
        classes = np.array(names, dtype=dtype)
    except (TypeError, ValueError, OverflowError):
        classes = np.empty(0)
    if [(type(name), name) for name in classes.tolist()] != [(type(name), name) for name in names]:
        raise ModelError(f"the names of the classes do not fit their dtype {dtype!r}")
    return classes


def _indicator(labels: dict[str, Any], n_columns: int) -> tuple[str, int, str, bool] | None:
    stored = entry(labels, "indicator", tuple | None)
    if (stored is not None) != (labels["form"] == "indicator"):
        raise ModelError("the header has no valid entry 'indicator'")
    if stored is None:
        return None
    if tuple(map(type, stored)) != (str, int, str, bool) or stored[:2] != ("columns", n_columns):
        raise ModelError(f"the indicator is not described as one of {n_columns} columns")
    _, _, dtype, sparse = stored
    if not _DTYPE.fullmatch(dtype) or np.dtype(dtype).kind not in "biuf":
        raise ModelError(f"the indicator cannot have the dtype {dtype[:40]!r}")
    return "columns", n_columns, dtype, sparse


def _certificate(stored: dict[str, Any], arrays: Arrays) -> Certificate:
    status = entry(stored, "status", str)
    if status not in {known.value for known in Status}:
        raise ModelError(f"the status {status[:40]!r} is not known")
    n_parts = len(arrays.get("certificate/primal", ()))
    if not n_parts:
        raise ModelError("the certificate has no parts")
    errors = {
        name: float(entry({name: 0.0, **stored}, name, float)) for name in ("primal_error", "dual_error")
    }
    certificate = Certificate(
        _numbers(arrays, "certificate/primal", n_parts),
        _numbers(arrays, "certificate/dual", n_parts),
        Status(status),
        **errors,
    )
    for name in ("primal", "dual", "gap"):
        told, found = entry(stored, name, float), getattr(certificate, name)
        if not math.isclose(told, found, rel_tol=1e-9, abs_tol=1e-9):
            raise ModelError(f"the certificate says {name} {told!r}, but its classes add up to {found!r}")
    return certificate


def _learned(header: dict[str, Any], arrays: Arrays) -> Arrays:
    """What a method learned besides; models of older versions have nothing of that."""
    found = {}
    for name in entry({"learned": [], **header}, "learned", list):
        array = arrays.get(f"learned/{name}") if isinstance(name, str) else None
        if array is None or array.dtype != np.float64 or not np.isfinite(array).all():
            raise ModelError(f"the array 'learned/{str(name)[:40]}' should hold finite float64 numbers")
        found[name] = array
    return found


def _numbers(arrays: Arrays, name: str, *shape: int) -> npt.NDArray[np.float64]:
    if name not in arrays:
        raise ModelError(f"the array {name!r} is missing")
    array = arrays[name]
    if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
        told = " x ".join(map(str, shape))
        raise ModelError(f"the array {name!r} should hold {told} float64 numbers")
    return array
