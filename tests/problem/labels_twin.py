"""Labels read the slow and obvious way: a set of names a row."""

from __future__ import annotations

from typing import Any

from taxolearn.problem import Labels
from taxolearn.structure import Taxonomy


def named_rows(labels: Labels) -> list[set[Any]]:
    """The names of each row of encoded labels."""
    return [
        {labels.names[i] for i in labels.indices[start:end]}
        for start, end in zip(labels.indptr[:-1], labels.indptr[1:], strict=True)
    ]


def expected_names(rows: list[set[Any]], taxonomy: Taxonomy | None) -> list[Any]:
    """All nodes, or the labels that occur in sorted order (by type and text when they do not compare)."""
    if taxonomy is not None:
        return list(taxonomy.nodes)
    seen = set().union(*rows)
    try:
        return sorted(seen)
    except TypeError:
        return sorted(seen, key=lambda name: (type(name).__name__, repr(name)))


def forms_of(rows: list[set[Any]], taxonomy: Taxonomy | None) -> dict[str, Any]:
    """The same rows in every accepted form that can say them."""
    import numpy as np
    import pandas as pd
    import polars as pl
    import scipy.sparse as sp

    forms: dict[str, Any] = {
        "lists": [sorted(row, key=repr) for row in rows],
        "sets": [set(row) for row in rows],
        "frozensets": tuple(frozenset(row) for row in rows),
        "arrays": [np.array(sorted(row, key=repr), dtype=object) for row in rows],
        "series of lists": pd.Series([list(row) for row in rows]),
        "said twice": [[*row, *row] for row in rows],
    }
    if taxonomy is not None:
        dense = np.zeros((len(rows), taxonomy.n_nodes), dtype=int)
        for i, row in enumerate(rows):
            for name in row:
                dense[i, taxonomy.nodes.index(name)] = 1
        forms |= {"dense": dense, "truth values": dense > 0, "floats": dense.astype(np.float32)}
        forms |= {"csr": sp.csr_array(dense), "csc": sp.csc_matrix(dense), "coo": sp.coo_array(dense)}
        if dense.shape[1] > 2:
            forms["table of 0 and 1"] = pd.DataFrame(dense, columns=[f"c{j}" for j in range(dense.shape[1])])
    if all(len(row) == 1 for row in rows):
        single = [next(iter(row)) for row in rows]
        forms |= {"names": single, "iterator": iter(single), "series": pd.Series(single, dtype=object)}
        objects = np.empty(len(single), dtype=object)
        objects[:] = single
        forms["object array"] = objects
        if all(isinstance(name, str) for name in single):
            forms |= {
                "str array": np.array(single),
                "polars": pl.Series(single),
                "category": pd.Series(single, dtype="category"),
            }
    return forms
