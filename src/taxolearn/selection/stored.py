"""A fitted `TaxonomyClassifier` as the header and arrays of a model, and back: the chosen method and its trials."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from taxolearn.errors import ModelError
from taxolearn.registry import STARTER, method_of
from taxolearn.selection.trials import Selection, Trial
from taxolearn.storage.classifiers import Arrays, entry, pack_params, unpack_params

_KINDS = {"int": int, "str": str, "float": float, "bool": bool}


def pack_starter(model: Any) -> tuple[dict[str, Any], Arrays]:
    """Return header and arrays of a fitted classifier: those of the chosen method, and the trials beside them.

    >>> from taxolearn import TaxonomyClassifier
    >>> model = TaxonomyClassifier(random_state=0).fit([[-1.0], [1.0], [-2.0], [2.0]], ["a", "b", "a", "b"])
    >>> sorted(pack_starter(model)[0])
    ['estimator', 'method', 'params', 'trials']
    """
    parameters = model.get_params(deep=False)
    parameters.pop("taxonomy")
    estimator, arrays = model.estimator_._pack()
    trials = model.trials_
    header = {
        "method": type(model).__name__,
        "params": pack_params(parameters),
        "estimator": estimator,
        "trials": {
            "tried": [[_plain(getattr(trial, one.name)) for one in fields(Trial)] for trial in trials.trials],
            "chosen": trials.chosen,
            "n_held_out": trials.n_held_out,
            "metric": trials.metric,
        },
    }
    return header, arrays


def unpack_starter(kind: Any, header: dict[str, Any], arrays: Arrays, full: bool) -> Any:
    """Undo `pack_starter`; whatever does not fit is a `ModelError`.

    >>> from taxolearn import TaxonomyClassifier
    >>> model = TaxonomyClassifier(random_state=0).fit([[-1.0], [1.0], [-2.0], [2.0]], ["a", "b", "a", "b"])
    >>> unpack_starter(TaxonomyClassifier, *pack_starter(model), True).trials_.best == model.trials_.best
    True
    """
    inner = entry(header, "estimator", dict)
    name = entry(inner, "method", str)
    method = method_of(name)
    if method is None or method is STARTER:
        raise ModelError(f"the method {name[:40]!r} is not known to this version of taxolearn")
    chosen = method.kind._unpack(inner, arrays, full)
    stored = entry(header, "trials", dict)
    trials = [_trial(row) for row in entry(stored, "tried", list)]
    number = entry(stored, "chosen", int)
    if not 0 <= number < max(1, len(trials)):
        raise ModelError("the chosen trial is none of the trials")
    selection = Selection(
        trials, number, chosen, entry(stored, "n_held_out", int), entry(stored, "metric", str)
    )
    model = kind(chosen.taxonomy, **unpack_params(header, kind))
    return model._take(chosen, chosen.decision, selection)


def _plain(value: Any) -> Any:
    """Numbers that JSON has not are left out."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _trial(row: Any) -> Trial:
    kinds = [_KINDS[str(one.type)] for one in fields(Trial)]
    if type(row) is not list and type(row) is not tuple:
        raise ModelError("a trial is not a list of its entries")
    values: list[Any] = [math.nan if value is None else value for value in row]
    if len(values) != len(kinds) or not all(
        isinstance(value, kind) and (kind is bool) == isinstance(value, bool)
        for value, kind in zip(values, kinds, strict=True)
    ):
        raise ModelError("a trial does not have the entries that it should")
    return Trial(*values)
