"""taxolearn: certified large-margin classification over label trees, DAGs and graphs.

>>> import taxolearn
>>> taxolearn.Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
Taxonomy(tree, 3 nodes, 2 leaves, depth 1)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from taxolearn.methods.graph_recursive_logistic import GraphRecursiveLogistic
    from taxolearn.methods.graph_recursive_svm import GraphRecursiveSVM
    from taxolearn.methods.hierarchical_svm import HierarchicalSVM
    from taxolearn.methods.multiclass_svm import MulticlassSVM
    from taxolearn.methods.normalized_svm import NormalizedHierarchicalSVM
    from taxolearn.methods.one_vs_rest_logistic import OneVsRestLogistic
    from taxolearn.methods.one_vs_rest_svm import OneVsRestSVM
    from taxolearn.methods.persistence import load
    from taxolearn.methods.recursive_logistic import RecursiveLogistic
    from taxolearn.methods.recursive_svm import RecursiveSVM
    from taxolearn.methods.selection import select
    from taxolearn.methods.shared_svm import SharedSVM
    from taxolearn.methods.text_classifier import TextClassifier
    from taxolearn.regularizers import node_weights
    from taxolearn.structure import ClassGraph, Taxonomy

__version__ = "0.1.0"

# Where each public name lives. Loaded on first use, so that `import taxolearn` stays light.
_HOMES = {
    "ClassGraph": "taxolearn.structure",
    "GraphRecursiveLogistic": "taxolearn.methods.graph_recursive_logistic",
    "GraphRecursiveSVM": "taxolearn.methods.graph_recursive_svm",
    "HierarchicalSVM": "taxolearn.methods.hierarchical_svm",
    "MulticlassSVM": "taxolearn.methods.multiclass_svm",
    "NormalizedHierarchicalSVM": "taxolearn.methods.normalized_svm",
    "OneVsRestLogistic": "taxolearn.methods.one_vs_rest_logistic",
    "OneVsRestSVM": "taxolearn.methods.one_vs_rest_svm",
    "RecursiveLogistic": "taxolearn.methods.recursive_logistic",
    "RecursiveSVM": "taxolearn.methods.recursive_svm",
    "SharedSVM": "taxolearn.methods.shared_svm",
    "Taxonomy": "taxolearn.structure",
    "TextClassifier": "taxolearn.methods.text_classifier",
    "load": "taxolearn.methods.persistence",
    "node_weights": "taxolearn.regularizers",
    "select": "taxolearn.methods.selection",
}
_SUBMODULES = ("certificates", "datasets", "errors", "losses", "metrics", "norms")

__all__ = [
    "ClassGraph",
    "GraphRecursiveLogistic",
    "GraphRecursiveSVM",
    "HierarchicalSVM",
    "MulticlassSVM",
    "NormalizedHierarchicalSVM",
    "OneVsRestLogistic",
    "OneVsRestSVM",
    "RecursiveLogistic",
    "RecursiveSVM",
    "SharedSVM",
    "Taxonomy",
    "TextClassifier",
    "load",
    "node_weights",
    "select",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _SUBMODULES:
        return import_module(f"taxolearn.{name}")
    raise AttributeError(f"module 'taxolearn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted((*globals(), *__all__, *_SUBMODULES))
