"""What a report is about and made of: the model, the rows, versions and the date."""

from __future__ import annotations

import hashlib
import warnings
from importlib import metadata
from typing import Any

import numpy as np
import scipy.sparse as sp

from taxolearn.errors import TaxolearnError
from taxolearn.problem import make_problem
from taxolearn.report.held_out import HeldOut
from taxolearn.storage.folders import provenance
from taxolearn.terminal import cut

_PACKAGES = ("scikit-learn", "numba")
_LONGEST_VALUE = 80


def model_facts(held: HeldOut) -> dict[str, Any]:
    """Method, parameters and sizes.

    >>> from taxolearn import OneVsRestSVM
    >>> from taxolearn.report.held_out import held_out
    >>> facts = model_facts(held_out(OneVsRestSVM(C=2.0).fit([[-1.0], [1.0]], ["a", "b"]), [[2.0]], ["b"]))
    >>> facts["method"], facts["parameters"]["C"], facts["structure"], facts["classes"]
    ('OneVsRestSVM', '2.0', 'none', 2)
    """
    estimator, taxonomy = held.estimator, held.taxonomy
    chosen = getattr(estimator, "estimator_", estimator)
    parameters = chosen.get_params(deep=False)
    parameters.pop("taxonomy", None)
    text = None
    if held.texts is not None:
        settings = held.model.features_.settings_
        text = {str(name): cut(str(value), _LONGEST_VALUE) for name, value in settings.items()}
    return {
        "method": type(chosen).__name__,
        "chosen_by": None if chosen is estimator else type(estimator).__name__,
        "parameters": {name: cut(str(value), _LONGEST_VALUE) for name, value in parameters.items()},
        "text": text,
        "structure": "none" if not held.has_taxonomy else "tree" if taxonomy.is_tree else "DAG",
        "nodes": taxonomy.n_nodes if held.has_taxonomy else None,
        "leaves": taxonomy.n_leaves if held.has_taxonomy else None,
        "depth": taxonomy.max_depth if held.has_taxonomy else None,
        "classes": len(held.class_nodes),
        "features": int(estimator.vectors_.n_features),
        "several_labels": held.several,
        "trained_rows": estimator.data_["rows"],
        "trained_fingerprint": estimator.data_["fingerprint"],
    }


def made(held: HeldOut, date: str | None) -> dict[str, Any]:
    """Versions, a fingerprint of the rows of the report, and the date."""
    known = provenance()
    now = known.pop("date")
    versions = {**known, **{name: metadata.version(name) for name in _PACKAGES}}
    return {
        "date": date or now,
        "versions": versions,
        "rows": held.n_rows,
        "fingerprint": fingerprint(held),
        "rows_of_the_fit": rows_of_the_fit(held),
    }


def fingerprint(held: HeldOut) -> str:
    """A hash of rows and labels: equal rows give equal fingerprints.

    >>> from taxolearn import OneVsRestSVM
    >>> from taxolearn.report.held_out import held_out
    >>> model = OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"])
    >>> fingerprint(held_out(model, [[2.0]], ["b"])) == fingerprint(held_out(model, [[2.0]], ["a"]))
    False
    """
    digest = hashlib.blake2b(digest_size=16)
    digest.update(repr((held.rows.shape, str(held.rows.dtype))).encode())
    rows = held.rows
    arrays = (rows.data, rows.indices, rows.indptr) if sp.issparse(rows) else (rows,)
    for array in (*arrays, held.true.indptr, held.true.nodes):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def rows_of_the_fit(held: HeldOut) -> bool:
    """Whether these are the very rows that the model learned from, so that its scores say little about others.

    >>> from taxolearn import OneVsRestSVM
    >>> from taxolearn.report.held_out import held_out
    >>> model = OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"])
    >>> rows_of_the_fit(held_out(model, [[-1.0], [1.0]], ["a", "b"]))
    True
    """
    known = held.estimator.data_
    if known["rows"] != held.n_rows:
        return False
    chosen = getattr(held.estimator, "estimator_", held.estimator)
    names = [[held.taxonomy.nodes[node] for node in held.true.of(row)] for row in range(held.n_rows)]
    labels: Any = names if held.several else [row[0] if row else None for row in names]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about classes without rows: the fit told
            problem = make_problem(
                held.rows,
                labels,
                held.taxonomy if held.has_taxonomy else None,
                class_weight=getattr(chosen, "class_weight", None),
                empty_classes=getattr(chosen, "_empty_classes", "drop"),
                leaf_only=getattr(chosen, "leaf_only", False),
            )
    except TaxolearnError:
        return False
    return bool(problem.fingerprint() == known["fingerprint"])
