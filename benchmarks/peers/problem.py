"""One data set as every entrant gets it, and what an entrant has to be able to do.

This file and the adapters run in the peers' own environments: numpy and scipy are all that they share.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from scipy import sparse

SURE = 0.5  # a label belongs to the answer from this probability on, where an entrant has probabilities


@dataclass(frozen=True)
class Problem:
    """Rows and labels: `Y` marks the classes of each row of `X`; names and edges tell the taxonomy.

    `names` has the classes of `Y` in the order of its columns, then all other nodes: an answer may be any of them.
    """

    X: Any
    Y: Any
    X_test: Any
    names: list[str]
    edges: list[tuple[str, str]]
    several: bool
    scratch: Path

    @property
    def y(self) -> np.ndarray[Any, Any]:
        """The class number of each row, where rows have one label."""
        return np.asarray(self.Y.indices)

    def paths(self) -> list[list[str]]:
        """Names from below the root down to each class; of a tree."""
        parent = {child: above for above, child in self.edges}
        found = []
        for name in self.names:
            path = [name]
            while path[-1] in parent:
                path.append(parent[path[-1]])
            found.append(path[-2::-1] or path)
        return found


class Entrant(Protocol):
    """A library with its settings, beside one problem."""

    def fit(self) -> None:
        """Learn; counted."""

    def answer(self) -> Any:
        """The labels of the test rows: a class number each, or a sparse matrix of marks; counted."""

    def ranked(self, k: int) -> Any:
        """The k best classes of each test row, best first, -1 where there are none; not counted."""

    def save(self, folder: Path) -> None:
        """Write the model as the library's manual says."""


def read(folder: Path, scratch: Path) -> Problem:
    """A prepared problem; CLEF and its like come as dense arrays."""
    facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    X, X_test, Y = (
        sparse.csr_matrix(sparse.load_npz(folder / f"{part}.npz")) for part in ("train", "test", "labels")
    )
    if facts["dense"]:
        X, X_test = X.toarray(), X_test.toarray()
    edges = [(above, below) for above, below in facts["edges"]]
    return Problem(X, Y, X_test, facts["names"], edges, facts["several"], scratch)


def as_sparse(X: Any) -> Any:
    """Rows for libraries that take sparse matrices only, in the 32-bit numbers that most insist on."""
    rows = sparse.csr_matrix(X, dtype=np.float32)
    rows.sort_indices()
    rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    return rows


def best_of(scores: Any, k: int) -> Any:
    """The k best columns of each row of a dense matrix."""
    k = min(k, scores.shape[1])
    some = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(scores, some, axis=1), axis=1, kind="stable")
    return np.take_along_axis(some, order, axis=1)


def marks(rows: list[list[int]], n_classes: int) -> Any:
    """Lists of class numbers as a sparse matrix of ones."""
    lengths = [len(row) for row in rows]
    columns = np.array([number for row in rows for number in row], dtype=np.int64)
    return sparse.csr_matrix(
        (np.ones(len(columns)), columns, np.concatenate(([0], np.cumsum(lengths)))),
        shape=(len(rows), n_classes),
    )


def padded(rows: list[list[int]], k: int) -> Any:
    """Ranked class numbers of different lengths as one array."""
    found = np.full((len(rows), k), -1)
    for place, row in enumerate(rows):
        found[place, : len(row[:k])] = row[:k]
    return found


class Scored:
    """What entrants share whose library answers with pairs of class number and probability, best first."""

    problem: Problem
    asked = 20  # so many labels of a row are asked for

    def pairs(self, k: int) -> list[list[tuple[int, float]]]:
        """The k best classes of each test row with their probabilities."""
        raise NotImplementedError

    def answer(self) -> Any:
        if not self.problem.several:
            return np.array([row[0][0] if row else 0 for row in self.pairs(1)])
        rows = [[number for number, p in row if p >= SURE] for row in self.pairs(self.asked)]
        return marks(rows, len(self.problem.names))

    def ranked(self, k: int) -> Any:
        return padded([[number for number, _ in row] for row in self.pairs(k)], k)
