"""A method by the name that `--method` takes, and its estimator."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from taxolearn.errors import DataError
from taxolearn.registry import METHODS, STARTER, Method

# parameters with an option of their own, or that a command sets
_HAVE_OPTIONS = {
    "taxonomy", "graph", "C", "tol", "loss", "n_jobs", "max_seconds", "probability", "random_state", "warm_start",
    "verbose",
}  # fmt: skip


def find_method(name: str) -> Method:
    """The method of a name, or of a class name.

    >>> find_method("OneVsRestSVM").name
    'svm'
    >>> find_method("tree")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: --method tree is not known; see taxolearn methods: auto, svm, logistic, ...
    """
    for method in (STARTER, *METHODS):
        if name in (method.name, method.class_name):
            return method
    known = ", ".join(method.name for method in (STARTER, *METHODS))
    raise DataError(f"--method {name} is not known; see taxolearn methods: {known}")


def make_estimator(method: Method, loss: str | None, **parameters: Any) -> Any:
    """The estimator of a method; parameters that are None keep their defaults.

    >>> make_estimator(find_method("logistic"), None, C=2.0, tol=None)
    OneVsRestLogistic(C=2.0)
    """
    if loss is not None and method is STARTER:
        raise DataError(
            f"--loss {loss}: auto chooses the loss itself; leave it out, or name a method by --method"
        )
    if loss is not None and not method.losses:
        raise DataError(f"--loss {loss}: {method.name} has one loss; leave it out")
    if loss is not None and loss not in method.losses:
        raise DataError(f"--loss {loss} is not a loss of {method.name}; choose {' or '.join(method.losses)}")
    given = {"loss": loss, **parameters}
    if method is STARTER:
        given["probability"] = None  # it has probabilities anyway
    chosen = {name: value for name, value in given.items() if value is not None}
    if method is STARTER and not set(chosen) <= set(method.kind().get_params(deep=False)):
        raise DataError(
            f"-C {chosen['C']:g}: auto chooses C itself; leave it out, or name a method by --method"
        )
    return method.kind(**chosen)


def graph_of(method: Method, path: str | None) -> Any:
    """The graph of classes that --graph names, for a method that takes one; None where none is given.

    >>> graph_of(find_method("svm"), "classes.tsv")
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: --graph classes.tsv: svm takes no graph of classes; choose --method graph, \
graph-logistic, covariance or ridge
    """
    if path is None:
        return None
    if "graph" not in method.kind().get_params(deep=False):
        raise DataError(
            f"--graph {path}: {method.name} takes no graph of classes; choose --method graph, "
            "graph-logistic, covariance or ridge"
        )
    from taxolearn.cli.labels import read_graph

    return read_graph(path)


def parse_settings(method: Method, settings: Sequence[str]) -> dict[str, Any]:
    """Parameters of a method given as `name=value`; values are JSON where they can be read so, else words.

    >>> parse_settings(find_method("normalized"), ["objective=13", "weights=rho", "directional=true"])
    {'objective': 13, 'weights': 'rho', 'directional': True}
    """
    if not settings:
        return {}
    known = set(method.kind().get_params(deep=False)) - _HAVE_OPTIONS
    found: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or name not in known:
            raise DataError(
                f"--set {setting} is not understood; give name=value for one of {', '.join(sorted(known))}"
            )
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found
