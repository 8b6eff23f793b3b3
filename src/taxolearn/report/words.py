"""What each node listens to: its strongest words, or features."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.decoders.scored_row import ScoredRow
from taxolearn.report.held_out import HeldOut
from taxolearn.terminal import cut

_BLOCK = 2**22  # weights that are held at a time where vectors are full
_LONGEST_WORD = 60
_DIGITS = 3


def words(held: HeldOut, count: int) -> dict[str, Any]:
    """The features of largest weight of every node, the largest first: of an inner node, of largest mean weight over
    the classes below it.

    `features` has the names, `nodes` for each node a list of pairs (number of the feature, weight); None where the
    model has nothing below a node.

    >>> from taxolearn import OneVsRestSVM
    >>> from taxolearn.report.held_out import held_out
    >>> model = OneVsRestSVM().fit([[-1.0, 0.0], [1.0, 0.0]], ["a", "b"])
    >>> found = words(held_out(model, [[2.0, 0.0]], ["b"]), 3)
    >>> found["features"], [pairs and pairs[0][1] < 0 for pairs in found["nodes"]]
    (['feature 1'], [None, True, False])
    """
    vectors = held.estimator.vectors_
    if not vectors.by_features:
        return {"absent": "The model compares rows by a kernel, in which no word or feature has a weight."}
    means, weights = _weights(held)
    number: dict[int, int] = {}
    found: list[list[list[float]] | None] = []
    step = held.taxonomy.n_nodes if sp.issparse(weights) else max(1, _BLOCK // max(1, weights.shape[1]))
    for first in range(0, held.taxonomy.n_nodes, step):
        block = means[first : first + step]
        product = block @ weights
        rows = product.tocsr() if sp.issparse(product) else np.asarray(product)
        for row, size in enumerate(np.diff(block.indptr).tolist()):
            if not size:
                found.append(None)
                continue
            columns, values = _strongest(rows, row, count)
            found.append(
                [
                    [number.setdefault(column, len(number)), _short(value)]
                    for column, value in zip(columns, values, strict=True)
                ]
            )
    return {
        "kind": "word" if held.texts is not None else "feature",
        "features": _names(held, list(number)),
        "nodes": found,
        "shown": count,
        "of": int(vectors.n_features),
    }


def _short(value: float) -> float:
    """Three digits: nobody reads more, and there are many."""
    return float(f"{value:.{_DIGITS}g}")


def _strongest(rows: Any, row: int, count: int) -> tuple[list[int], list[float]]:
    if sp.issparse(rows):
        mine = slice(rows.indptr[row], rows.indptr[row + 1])
        columns, values = rows.indices[mine], rows.data[mine]
    else:
        columns, values = np.arange(rows.shape[1]), rows[row]
    size = np.abs(values)
    if len(size) > count:
        some = np.argpartition(-size, count - 1)[:count]
        columns, values, size = columns[some], values[some], size[some]
    order = np.lexsort((columns, -size))
    order = order[size[order] > 0]
    return columns[order].tolist(), values[order].tolist()


def _weights(held: HeldOut) -> tuple[sp.csr_array, Any]:
    """Nodes x vectors, what a node's weights are made of, and the vectors."""
    estimator, taxonomy = held.estimator, held.taxonomy
    vectors = estimator.vectors_
    below = sp.csr_array(taxonomy.ancestor_matrix(held.class_nodes, dtype=np.float64).T)
    nothing = np.zeros((1, vectors.n_features), dtype=vectors.dtype)
    facts = estimator.decoder_.row_facts(
        vectors, sp.csr_array(nothing) if sp.issparse(held.rows) else nothing
    )
    if isinstance(facts, ScoredRow):
        sizes = np.diff(below.indptr)
        share = np.divide(1.0, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
        share[0] = 0.0  # what all classes have in common tells nothing apart
        means = sp.csr_array(below.multiply(share[:, None]))
        means.eliminate_zeros()
        return means, vectors.coef
    # decisions are made at the nodes: each has vectors of its own
    rows: list[int] = []
    units: list[int] = []
    for node in range(1, taxonomy.n_nodes):
        own = np.sort(below.indices[below.indptr[node] : below.indptr[node + 1]])
        if not len(own):
            continue
        mine = facts.contest(own, own[:0], node if held.has_taxonomy else None).units
        rows += [node] * len(mine)
        units += mine
    weights = facts.deciding.coef
    shape = (taxonomy.n_nodes, weights.shape[0])
    return sp.csr_array((np.ones(len(rows)), (rows, units)), shape=shape), weights


def _names(held: HeldOut, columns: list[int]) -> list[str]:
    names: npt.NDArray[Any] | None
    if held.texts is not None:
        names = held.model.features_.get_feature_names_out()
    else:
        names = getattr(held.estimator, "feature_names_in_", None)
    if names is None:
        return [f"feature {column + 1}" for column in columns]
    return [cut(str(names[column]), _LONGEST_WORD) for column in columns]
