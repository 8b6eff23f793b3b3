"""Every method by the name that `--method` takes, with its title and paper."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from taxolearn.errors import DataError


class Method(NamedTuple):
    """A method: its name here, its class in taxolearn, what it is, its losses (default first), its paper, and the
    certified gap to ask for unless the user names one.

    No losses: it has one and no parameter for it.

    >>> METHODS[0].name, METHODS[0].class_name
    ('svm', 'OneVsRestSVM')
    """

    name: str
    class_name: str
    title: str
    losses: tuple[str, ...]
    paper: str
    tol: float = 1e-3


_NHSVM = "Choi, Sasaki, Srebro: Normalized Hierarchical SVM (2015)"
_RECURSIVE = (
    "Gopal, Yang: Recursive Regularization for Large-scale Classification with Hierarchical and Graphical "
    "Dependencies. KDD 2013"
)

# parameters with an option of their own, or that a command sets
_HAVE_OPTIONS = {
    "taxonomy", "C", "tol", "loss", "n_jobs", "max_seconds", "probability", "random_state", "warm_start", "verbose",
}  # fmt: skip

METHODS = (
    Method(
        "svm",
        "OneVsRestSVM",
        "one-vs-rest support vector machine",
        ("squared_hinge", "hinge"),
        "Fan, Chang, Hsieh, Wang, Lin: LIBLINEAR: A Library for Large Linear Classification. JMLR 9 (2008); "
        "Hsieh et al.: A Dual Coordinate Descent Method for Large-scale Linear SVM. ICML 2008",
    ),
    Method(
        "logistic",
        "OneVsRestLogistic",
        "one-vs-rest logistic regression",
        ("logistic",),
        "Yu, Huang, Lin: Dual Coordinate Descent Methods for Logistic Regression and Maximum Entropy Models. "
        "Machine Learning 85 (2011)",
    ),
    Method(
        "multiclass",
        "MulticlassSVM",
        "multi-class support vector machine, all classes compared",
        (),
        "Crammer, Singer: On the Algorithmic Implementation of Multiclass Kernel-based Vector Machines. "
        "JMLR 2 (2001)",
    ),
    Method(
        "hierarchical",
        "HierarchicalSVM",
        "hierarchical support vector machine, mistakes cost by the taxonomy",
        (),
        "Cai, Hofmann: Hierarchical Document Categorization with Support Vector Machines. CIKM 2004",
    ),
    Method(
        "normalized",
        "NormalizedHierarchicalSVM",
        "hierarchical support vector machine with normalised node weights",
        (),
        _NHSVM,
    ),
    Method(
        "shared",
        "SharedSVM",
        "hierarchical support vector machine that learns its node weights",
        (),
        _NHSVM,
    ),
    Method(
        "recursive",
        "RecursiveSVM",
        "support vector machine tied to the parent in the taxonomy",
        ("squared_hinge", "hinge"),
        _RECURSIVE,
        5e-2,
    ),
    Method(
        "recursive-logistic",
        "RecursiveLogistic",
        "logistic regression tied to the parent in the taxonomy",
        ("logistic", "softmax"),
        _RECURSIVE,
        5e-2,
    ),
)


def find_method(name: str) -> Method:
    """The method of a name, or of a class name.

    >>> find_method("OneVsRestSVM").name
    'svm'
    >>> find_method("tree")
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: --method tree is not known; see taxolearn methods: svm, logistic, multiclass, \
hierarchical, normalized, shared, recursive, recursive-logistic
    """
    for method in METHODS:
        if name in (method.name, method.class_name):
            return method
    known = ", ".join(method.name for method in METHODS)
    raise DataError(f"--method {name} is not known; see taxolearn methods: {known}")


def make_estimator(method: Method, loss: str | None, **parameters: Any) -> Any:
    """The estimator of a method; parameters that are None keep their defaults.

    >>> make_estimator(find_method("logistic"), None, C=2.0, tol=None)
    OneVsRestLogistic(C=2.0)
    """
    import taxolearn

    if loss is not None and not method.losses:
        raise DataError(f"--loss {loss}: {method.name} has one loss, the structured hinge; leave it out")
    if loss is not None and loss not in method.losses:
        raise DataError(f"--loss {loss} is not a loss of {method.name}; choose {' or '.join(method.losses)}")
    given = {"loss": loss, **parameters}
    if given.get("probability") and not hasattr(getattr(taxolearn, method.class_name)(), "probability"):
        given["probability"] = None  # this method has probabilities anyway
    chosen = {name: value for name, value in given.items() if value is not None}
    return getattr(taxolearn, method.class_name)(**chosen)


def parse_settings(method: Method, settings: Sequence[str]) -> dict[str, Any]:
    """Parameters of a method given as `name=value`; values are JSON where they can be read so, else words.

    >>> parse_settings(find_method("normalized"), ["objective=13", "weights=rho", "directional=true"])
    {'objective': 13, 'weights': 'rho', 'directional': True}
    """
    import taxolearn

    if not settings:
        return {}
    known = set(getattr(taxolearn, method.class_name)().get_params(deep=False)) - _HAVE_OPTIONS
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
