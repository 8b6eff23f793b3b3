"""Whether probabilities mean what they say, level by level."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from taxolearn.report.held_out import HeldOut
from taxolearn.report.intervals import measured, wilson

_BINS = 10
_BLOCK = 2**22  # probabilities that are held at a time
_MOST = 2**26  # probabilities that are asked for at most, rows x nodes
NO_PROBABILITIES = (
    "The model has no probabilities: fit it with probability=True, or with a logistic method, to see them."
)


def has_probabilities(held: HeldOut) -> bool:
    """Whether the model can say how probable its answers are.

    >>> from taxolearn import OneVsRestSVM
    >>> from taxolearn.report.held_out import held_out
    >>> has_probabilities(held_out(OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"]), [[2.0]], ["b"]))
    False
    """
    own = getattr(held.estimator, "_own_link", None)
    return held.estimator.calibration_ is not None or (own is not None and own() is not None)


def some_rows(held: HeldOut, most: int = _MOST) -> npt.NDArray[np.intp]:
    """The rows whose probabilities are asked for: all, or of large sets a part, drawn by chance.

    >>> from taxolearn import OneVsRestSVM
    >>> from taxolearn.report.held_out import held_out
    >>> some_rows(held_out(OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"]), [[2.0]], ["b"])).tolist()
    [0]
    """
    count = max(200, most // held.taxonomy.n_nodes)
    if count >= held.n_rows:
        return np.arange(held.n_rows)
    return np.sort(np.random.default_rng(0).permutation(held.n_rows)[:count])


def node_probabilities(
    held: HeldOut, rows: npt.NDArray[np.intp]
) -> Iterator[tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]]:
    """(rows, their probabilities of every node of the taxonomy) of some rows at a time.

    >>> from taxolearn import OneVsRestLogistic
    >>> from taxolearn.report.held_out import held_out
    >>> held = held_out(OneVsRestLogistic().fit([[-1.0], [1.0]], ["a", "b"]), [[2.0]], ["b"])
    >>> [p.round(1).tolist() for _, p in node_probabilities(held, np.array([0]))]
    [[[1.0, 0.2, 0.8]]]
    """
    step = max(1, _BLOCK // held.taxonomy.n_nodes)
    for first in range(0, len(rows), step):
        some = rows[first : first + step]
        with warnings.catch_warnings():  # these rows were checked with the names of their columns
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            found = held.estimator.node_proba(held.rows[some])
        if not held.has_taxonomy:  # columns are the classes
            whole = np.zeros((len(some), held.taxonomy.n_nodes))
            whole[:, held.class_nodes], whole[:, 0] = found, 1.0
            found = whole
        yield some, found


def calibration(held: HeldOut) -> dict[str, Any]:
    """Of each level, the answered nodes in ten bins of probability: how probable they were, and how many are right.

    `error` is the expected calibration error: the mean distance of the two, weighted by the number of answers.

    >>> from taxolearn import OneVsRestLogistic
    >>> from taxolearn.report.held_out import held_out
    >>> model = OneVsRestLogistic().fit([[-1.0], [1.0]], ["a", "b"])
    >>> found = calibration(held_out(model, [[2.0], [-2.0]], ["b", "a"]))
    >>> [(entry["level"], entry["answers"], entry["right"]) for entry in found["entries"]]
    [(1, 2, 1.0)]
    """
    if not has_probabilities(held):
        return {"absent": NO_PROBABILITIES}
    rows = some_rows(held)
    answered, hits = held.closed_answered[rows], held.hits[rows]
    place = {int(row): number for number, row in enumerate(rows)}
    chances, right, depth = [], [], []
    for some, probabilities in node_probabilities(held, rows):
        start = place[int(some[0])]
        mine = answered[start : start + len(some)].tocoo()
        chances.append(probabilities[mine.row, mine.col])
        right.append(np.asarray(hits[start : start + len(some)].toarray()[mine.row, mine.col] > 0))
        depth.append(held.taxonomy.depth[mine.col])
    chance, is_right, level = (np.concatenate(parts) for parts in (chances, right, depth))
    entries = [
        _level(int(number), chance[level == number], is_right[level == number]) for number in np.unique(level)
    ]
    return {"entries": entries, "shown": len(rows), "of": held.n_rows, "bins": _BINS}


def _level(level: int, chance: npt.NDArray[np.float64], right: npt.NDArray[np.bool_]) -> dict[str, Any]:
    number = np.minimum((chance * _BINS).astype(int), _BINS - 1)
    bins: list[dict[str, Any]] = []
    for place in range(_BINS):
        mine = number == place
        count, hits = int(mine.sum()), int(right[mine].sum())
        if count:
            low, high = wilson(hits, count)
            bins.append(
                {
                    "from": place / _BINS,
                    "to": (place + 1) / _BINS,
                    "answers": count,
                    "probability": float(chance[mine].mean()),
                    "right": measured(hits / count, low, high),
                }
            )
    error = sum(one["answers"] * abs(one["probability"] - one["right"]["value"]) for one in bins)
    return {
        "level": level,
        "answers": len(chance),
        "probability": float(chance.mean()),
        "right": float(right.mean()),
        "error": error / len(chance),
        "bins": bins,
    }
