"""Random hierarchies with rows of true and predicted label sets, for the metric tests."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from taxolearn.structure import Taxonomy


class Case(NamedTuple):
    taxonomy: Taxonomy
    parents: dict[str, list[str]]  # what the twins read; keys in the order of the node ids
    true: list[set[str]]
    pred: list[set[str]]
    weights: list[float] | None

    @property
    def y_true(self):
        return [sorted(labels) for labels in self.true]

    @property
    def y_pred(self):
        return [sorted(labels) for labels in self.pred]


def with_parents(edges) -> tuple[Taxonomy, dict[str, list[str]]]:
    taxonomy = Taxonomy.from_edges(edges)
    parents = {name: [a for a, b in edges if b == name] for name in taxonomy.nodes}
    return taxonomy, parents


@st.composite
def hierarchies(draw, *, dag: bool):
    n = draw(st.integers(2, 9))
    edges = []
    for child in range(1, n):
        above = st.integers(0, child - 1)
        chosen = draw(st.sets(above, min_size=1, max_size=3)) if dag else {draw(above)}
        edges += [(f"n{parent}", f"n{child}") for parent in sorted(chosen)]
    return with_parents(draw(st.permutations(edges)))


@st.composite
def cases(draw, *, single: bool = False, min_true: int = 0):
    taxonomy, parents = draw(hierarchies(dag=draw(st.booleans())))
    names = st.sampled_from(taxonomy.nodes)
    n_rows = draw(st.integers(1, 6))
    one = names.map(lambda name: {name})
    true = one if single else st.sets(names, min_size=min_true, max_size=4)
    pred = one if single else st.sets(names, max_size=4)
    weights = st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=n_rows, max_size=n_rows).filter(any)
    return Case(
        taxonomy,
        parents,
        draw(st.lists(true, min_size=n_rows, max_size=n_rows)),
        draw(st.lists(pred, min_size=n_rows, max_size=n_rows)),
        draw(st.none() | weights),
    )


def crossing_case(*, n_groups: int = 9, n_leaves: int = 40, n_rows: int = 400, seed: int = 0) -> Case:
    """Leaves with several parents each, all at depth two: labels meet in many nodes at the same distance."""
    rng = np.random.default_rng(seed)
    edges = [("root", f"g{i}") for i in range(n_groups)]
    for leaf in range(n_leaves):
        groups = rng.choice(n_groups, rng.integers(1, 5), replace=False)
        edges += [(f"g{group}", f"leaf{leaf}") for group in sorted(groups)]
    taxonomy, parents = with_parents(edges)

    def rows():
        return [{f"leaf{i}" for i in rng.integers(0, n_leaves, size)} for size in rng.integers(1, 9, n_rows)]

    return Case(taxonomy, parents, rows(), rows(), None)


def large_case(*, dag: bool, single: bool, n_nodes: int = 40, n_rows: int = 300, seed: int = 0) -> Case:
    """Deeper and wider than hypothesis would draw: many ties and redundant common ancestors."""
    rng = np.random.default_rng(seed)
    edges = []
    for child in range(1, n_nodes):
        size = int(rng.integers(1, 4)) if dag else 1
        low = max(0, child - 12)
        chosen = {int(parent) for parent in rng.integers(low, child, size)}
        edges += [(f"n{parent}", f"n{child}") for parent in sorted(chosen)]
    taxonomy, parents = with_parents(edges)

    def rows():
        sizes = np.ones(n_rows, dtype=int) if single else rng.integers(0, 7, n_rows)
        return [{f"n{i}" for i in rng.integers(0, n_nodes, size)} for size in sizes]

    return Case(taxonomy, parents, rows(), rows(), None)
