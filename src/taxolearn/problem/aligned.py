"""Two sets of labels, true and predicted, over one set of names."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from taxolearn.errors import LabelError
from taxolearn.problem.label_paths import find_label
from taxolearn.problem.labels import Labels, encode_labels, sorted_names
from taxolearn.structure import Taxonomy


def align_labels(
    y_true: Any,
    y_pred: Any,
    taxonomy: Taxonomy | None = None,
    *,
    allow_empty: bool = True,
    known: Taxonomy | None = None,
) -> tuple[Labels, Labels]:
    """Two sets of labels over one set of names: the taxonomy's, or all that occur in either.

    `known` may lack some of the labels; those that it has are called as it calls them.

    >>> true, predicted = align_labels(["a", "b"], ["b", "c"])
    >>> true.names, predicted.indices.tolist()
    (('a', 'b', 'c'), [1, 2])
    """
    true = encode_labels(y_true, taxonomy, allow_empty=allow_empty, what="y_true")
    predicted = encode_labels(y_pred, taxonomy, allow_empty=allow_empty, what="y_pred")
    if true.n_rows != predicted.n_rows:
        raise LabelError(
            f"y_true has {true.n_rows} rows and y_pred has {predicted.n_rows}; give the same rows to both"
        )
    if known is not None and not true.multilabel:
        found = [name if (node := find_label(name, known)) is None else node for name in true.names]
        names = sorted_names(dict.fromkeys(found))
        place = {name: i for i, name in enumerate(names)}
        ids = np.array([place[name] for name in found], dtype=np.int32)[true.indices]
        true = Labels(true.indptr, ids, names, true.form)
    if true.names == predicted.names:
        return true, predicted
    if "indicator" in (true.form, predicted.form):
        raise LabelError(
            f"y_true has {len(true.names)} classes and y_pred has {len(predicted.names)}; "
            "indicators need the same columns on both sides"
        )
    names = sorted_names(dict.fromkeys((*true.names, *predicted.names)))
    return _renamed(true, names), _renamed(predicted, names)


def _renamed(labels: Labels, names: tuple[Hashable, ...]) -> Labels:
    lookup = {name: i for i, name in enumerate(names)}
    to_new = np.array([lookup[name] for name in labels.names], dtype=np.int32)
    moved = to_new[labels.indices] if len(labels.indices) else labels.indices
    # both lists are sorted the same way, so ids keep their order within a row
    return Labels(labels.indptr, moved, names, labels.form)
