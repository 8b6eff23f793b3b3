"""taxolearn: certified large-margin classification over label trees, DAGs and graphs.

>>> import taxolearn
>>> taxolearn.Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
Taxonomy(tree, 3 nodes, 2 leaves, depth 1)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from taxolearn.registry import METHODS as _METHODS
from taxolearn.registry import STARTER as _STARTER

if TYPE_CHECKING:
    from taxolearn.auditing.audit import audit as audit
    from taxolearn.engines import engine as engine
    from taxolearn.registry import *  # noqa: F403
    from taxolearn.scales import node_weights as node_weights
    from taxolearn.selection import select as select
    from taxolearn.selection.taxonomy_classifier import TaxonomyClassifier as TaxonomyClassifier
    from taxolearn.storage.loading import load as load
    from taxolearn.structure import ClassGraph as ClassGraph
    from taxolearn.structure import Taxonomy as Taxonomy
    from taxolearn.structure import Term as Term
    from taxolearn.structure.versions import diff as diff
    from taxolearn.text.text_classifier import TextClassifier as TextClassifier

__version__ = "0.1.0"

# Where each public name lives. Loaded on first use, so that `import taxolearn` stays light.
_HOMES = {method.class_name: method.home for method in (_STARTER, *_METHODS)} | {
    "ClassGraph": "taxolearn.structure",
    "Taxonomy": "taxolearn.structure",
    "Term": "taxolearn.structure",
    "TextClassifier": "taxolearn.text.text_classifier",
    "audit": "taxolearn.auditing",
    "diff": "taxolearn.structure.versions",
    "engine": "taxolearn.engines",
    "load": "taxolearn.storage.loading",
    "node_weights": "taxolearn.scales",
    "select": "taxolearn.selection",
}
_SUBMODULES = (
    "auditing",
    "certificates",
    "datasets",
    "errors",
    "losses",
    "metrics",
    "norms",
    "solvers",
    "testing",
)

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _SUBMODULES:
        return import_module(f"taxolearn.{name}")
    raise AttributeError(f"module 'taxolearn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted((*__all__, *_SUBMODULES, "__version__"))
