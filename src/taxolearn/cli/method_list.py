"""Every method by the name that `--method` takes, with its title and paper."""

from __future__ import annotations

from typing import Any, NamedTuple

from taxolearn.errors import DataError


class Method(NamedTuple):
    """A method: its name here, its class in taxolearn, what it is, its losses (default first), its paper.

    >>> METHODS[0].name, METHODS[0].class_name
    ('svm', 'OneVsRestSVM')
    """

    name: str
    class_name: str
    title: str
    losses: tuple[str, ...]
    paper: str


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
)


def find_method(name: str) -> Method:
    """The method of a name, or of a class name.

    >>> find_method("OneVsRestSVM").name
    'svm'
    >>> find_method("tree")
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: --method tree is not known; choose svm, logistic (see taxolearn methods)
    """
    for method in METHODS:
        if name in (method.name, method.class_name):
            return method
    known = ", ".join(method.name for method in METHODS)
    raise DataError(f"--method {name} is not known; choose {known} (see taxolearn methods)")


def make_estimator(method: Method, loss: str | None, **parameters: Any) -> Any:
    """The estimator of a method; parameters that are None keep their defaults.

    >>> make_estimator(find_method("logistic"), None, C=2.0, tol=None)
    OneVsRestLogistic(C=2.0)
    """
    import taxolearn

    if loss is not None and loss not in method.losses:
        raise DataError(f"--loss {loss} is not a loss of {method.name}; choose {' or '.join(method.losses)}")
    given = {"loss": loss, **parameters}
    if given.get("probability") and not hasattr(getattr(taxolearn, method.class_name)(), "probability"):
        given["probability"] = None  # this method has probabilities anyway
    chosen = {name: value for name, value in given.items() if value is not None}
    return getattr(taxolearn, method.class_name)(**chosen)
