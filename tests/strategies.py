"""Hypothesis strategies for label structures."""

from __future__ import annotations

from collections.abc import Hashable

from hypothesis import strategies as st

from taxolearn.structure import Taxonomy

Edge = tuple[Hashable, Hashable]

strings = st.text(st.characters(codec="utf-8", exclude_characters="/"), min_size=1, max_size=6)
integers = st.integers(-(2**40), 2**40)
tuples = st.tuples(strings, st.integers(0, 9))

NAMES = {"str": strings, "int": integers, "tuple": tuples, "mixed": st.one_of(strings, integers, tuples)}


@st.composite
def names(draw: st.DrawFn, kind: str | None = None, min_size: int = 1, max_size: int = 12) -> list[Hashable]:
    """Distinct names: str (with any unicode but '/'), int, tuple, or mixed."""
    kind = kind or draw(st.sampled_from(sorted(NAMES)))
    return draw(st.lists(NAMES[kind], min_size=min_size, max_size=max_size, unique=True))


def _draw_parents(draw: st.DrawFn, n_nodes: int) -> list[int]:
    picks = draw(st.lists(st.integers(0, 2**16), min_size=n_nodes - 1, max_size=n_nodes - 1))
    return [pick % node for node, pick in enumerate(picks, start=1)]


@st.composite
def tree_edges(
    draw: st.DrawFn, kind: str | None = None, min_nodes: int = 2, max_nodes: int = 12
) -> list[Edge]:
    """The (parent, child) pairs of a random tree, in random order."""
    labels = draw(names(kind, min_nodes, max_nodes))
    edges = [(labels[p], labels[c]) for c, p in enumerate(_draw_parents(draw, len(labels)), start=1)]
    return draw(st.permutations(edges))


@st.composite
def dag_edges(
    draw: st.DrawFn, kind: str | None = None, min_nodes: int = 2, max_nodes: int = 12
) -> list[Edge]:
    """The (parent, child) pairs of a random rooted DAG (a tree with some edges added), in random order."""
    labels = draw(names(kind, min_nodes, max_nodes))
    pairs = {(p, c) for c, p in enumerate(_draw_parents(draw, len(labels)), start=1)}
    ends = st.tuples(st.integers(0, len(labels) - 1), st.integers(0, len(labels) - 1))
    pairs |= {(min(e), max(e)) for e in draw(st.lists(ends, max_size=12)) if e[0] != e[1]}
    return draw(st.permutations([(labels[p], labels[c]) for p, c in sorted(pairs)]))


@st.composite
def taxonomies(
    draw: st.DrawFn, kind: str | None = None, dag: bool | None = None, min_nodes: int = 2, max_nodes: int = 12
) -> Taxonomy:
    """A random taxonomy: a tree (dag=False), a tree or DAG with extra edges (dag=True), or either."""
    dag = draw(st.booleans()) if dag is None else dag
    edges = dag_edges(kind, min_nodes, max_nodes) if dag else tree_edges(kind, min_nodes, max_nodes)
    return Taxonomy.from_edges(draw(edges))
