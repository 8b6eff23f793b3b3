"""What the server tells about its model: for people, and as Annif describes a project."""

from __future__ import annotations

import math
from typing import Any

import taxolearn
from taxolearn.serving.limits import Limits
from taxolearn.serving.served import COVERAGE, ServedModel


def model_facts(served: ServedModel, limits: Limits) -> dict[str, Any]:
    """Method, sizes, certificate, and what the model can say."""
    taxonomy, certificate = served.book.taxonomy, served.estimator.certificate_
    return {
        "project_id": served.name,
        "version": taxolearn.__version__,
        "method": type(getattr(served.estimator, "estimator_", served.estimator)).__name__,
        "classes": len(served.classes),
        "features": served.estimator.n_features_in_,
        "taxonomy": None
        if taxonomy is None
        else {
            "root": str(taxonomy.root),
            "title": served.book.card(taxonomy.root)["title"],
            "kind": "tree" if taxonomy.is_tree else "DAG",
            "nodes": taxonomy.n_nodes,
            "leaves": taxonomy.n_leaves,
            "depth": taxonomy.max_depth,
        },
        "several_labels": served.several,
        "reads_texts": served.is_text,
        "takes": served.takes,
        "probabilities": served.has_probabilities,
        "no_probabilities": served.no_probabilities,
        "coverage": None if served.no_stop else COVERAGE,
        "no_stop": served.no_stop,
        "certificate": {
            "status": certificate.status.value,
            "gap": certificate.gap if math.isfinite(certificate.gap) else None,
        },
        "data": getattr(served.estimator, "data_", None),
        "limits": vars(limits),
    }


def vocabulary_facts(served: ServedModel, language: str) -> dict[str, Any]:
    """The classes, as Annif describes a vocabulary."""
    return {"vocab_id": served.name, "languages": [language], "size": len(served.classes), "loaded": True}


def project_facts(served: ServedModel, language: str) -> dict[str, Any]:
    """The model, as Annif describes a project."""
    return {
        "project_id": served.name,
        "name": served.name,
        "language": language,
        "backend": {"backend_id": "taxolearn"},
        "vocab": vocabulary_facts(served, language),
        "vocab_language": language,
        "is_trained": True,
        "modification_time": served.modified,
    }
