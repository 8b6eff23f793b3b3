"""Random trees and DAGs with exactly the wanted numbers of nodes, leaves and levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from taxolearn.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from taxolearn.structure import Taxonomy

Seed = int | np.random.Generator | None

_DEFAULT_DEPTH = 5  # levels below the root, where the numbers of nodes allow them
_LEVEL_GROWTH = 3.0  # expected width of a level, as a multiple of the width of the level above
_SECOND_PARENT_SHARE = 0.1  # share of a DAG's nodes that get a second parent


def random_taxonomy(
    n_nodes: int,
    n_leaves: int,
    depth: int | None = None,
    *,
    dag: bool = False,
    random_state: Seed = None,
) -> Taxonomy:
    """A random taxonomy with exactly `n_nodes` nodes, `n_leaves` leaves and a longest path of `depth` edges.

    Inner levels widen downwards, numbers of children are skewed, leaves hang at every depth. Names are "n0"
    (the root), "n1", ...

    Parameters
    ----------
    n_nodes, n_leaves : int
    depth : int, optional
        By default 5, or the nearest that the numbers of nodes and leaves allow.
    dag : bool
        Whether about a tenth of the nodes get a second parent.
    random_state : int, numpy Generator or None

    >>> random_taxonomy(97, 63, 3, random_state=0)
    Taxonomy(tree, 97 nodes, 63 leaves, depth 3)
    >>> random_taxonomy(97, 63, 3, dag=True, random_state=0).is_tree
    False
    """
    from taxolearn.structure import Taxonomy

    rng = np.random.default_rng(random_state)
    n_inner = n_nodes - n_leaves
    depth = _check_sizes(n_inner, n_leaves, depth, dag)
    parent, level = _inner_tree(rng, _level_sizes(rng, n_inner, n_leaves, depth), n_leaves)
    parent, level = _hang_leaves(rng, parent, level, n_leaves)
    pairs = [(parent[1:], np.arange(1, n_nodes))]
    if dag:
        pairs.append(_second_parents(rng, parent, level, n_inner))
    above, below = (np.concatenate(column) for column in zip(*pairs, strict=True))
    edges = zip(above.tolist(), below.tolist(), strict=True)
    return Taxonomy.from_edges([(f"n{parent_id}", f"n{child_id}") for parent_id, child_id in edges])


def _check_sizes(n_inner: int, n_leaves: int, depth: int | None, dag: bool) -> int:
    """The depth, when a tree of these numbers exists.

    It has `depth` inner nodes in a row at least, and at most as many as `n_leaves` paths hold that meet in
    the root only.
    """
    if n_inner < 1 or n_leaves < 1:
        raise DataError(f"a tree has a root and leaves, found {n_inner} inner nodes, {n_leaves} leaves")
    least = 1 + -(-(n_inner - 1) // n_leaves)
    if depth is None:
        depth = min(max(_DEFAULT_DEPTH, least), n_inner)
    if not least <= depth <= n_inner:
        raise DataError(
            f"{n_inner} inner nodes, {n_leaves} leaves allow a depth of {least} to {n_inner}, found {depth}"
        )
    if dag and depth < 2:
        raise DataError("a taxonomy of depth 1 is a tree; a DAG needs depth 2 at least")
    return depth


def _level_sizes(rng: np.random.Generator, n_inner: int, n_leaves: int, depth: int) -> list[int]:
    """Numbers of inner nodes at levels 0 .. depth - 1, never falling: then all can have inner children."""
    sizes = np.ones(depth, np.int64)
    rest = n_inner - depth
    while rest > 0:
        weights = _LEVEL_GROWTH ** np.arange(depth) * (sizes < n_leaves)
        weights[0] = 0.0
        extra = np.minimum(rng.multinomial(rest, weights / weights.sum()), n_leaves - sizes)
        sizes += extra
        rest -= int(extra.sum())
    return [1, *np.sort(sizes[1:]).tolist()]


def _skewed(rng: np.random.Generator, n_draws: int, choices: NDArray[np.int64]) -> NDArray[np.int64]:
    """Draws from `choices` with Zipf-like weights in a random order."""
    weights = 1.0 / (1.0 + rng.permutation(choices.size))
    return rng.choice(choices, n_draws, p=weights / weights.sum())


def _inner_tree(
    rng: np.random.Generator, sizes: list[int], n_leaves: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Parent and level of the inner nodes, level by level.

    An inner node without inner children needs a leaf, so as many may be left so as there are leaves to spare.
    """
    parent, level = [np.array([-1])], [np.array([0])]
    spare = (n_leaves - sizes[-1]) // 2
    above = np.array([0])
    for depth, size in enumerate(sizes[1:], 1):
        bare = min(int(above.size * rng.uniform(0.0, 0.5)), spare)
        spare -= bare
        chosen = rng.permutation(above)[bare:]
        parents = np.concatenate([chosen, _skewed(rng, size - chosen.size, chosen)])
        parent.append(parents)
        level.append(np.full(size, depth))
        above = np.arange(above[-1] + 1, above[-1] + 1 + size)
    return np.concatenate(parent), np.concatenate(level)


def _hang_leaves(
    rng: np.random.Generator, parent: NDArray[np.int64], level: NDArray[np.int64], n_leaves: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Add the leaves: one for each inner node that needs it, the others mostly deep."""
    bare = np.setdiff1d(np.arange(parent.size), parent)
    weights = _LEVEL_GROWTH**level / (1.0 + rng.permutation(parent.size))
    parents = np.concatenate([bare, rng.choice(parent.size, n_leaves - bare.size, p=weights / weights.sum())])
    return np.concatenate([parent, parents]), np.concatenate([level, level[parents] + 1])


def _second_parents(
    rng: np.random.Generator, parent: NDArray[np.int64], level: NDArray[np.int64], n_inner: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Second parents one level up where there is another node, else the root: depths do not change."""
    below = np.flatnonzero(level >= 2)
    chosen = rng.permutation(below)[: max(1, int(_SECOND_PARENT_SHARE * below.size))]
    size = np.bincount(level[:n_inner])
    start = np.cumsum(size) - size
    above = level[chosen] - 1
    others = size[above] - 1
    # Number the other nodes of the level above, leaving out the parent.
    number = (rng.random(chosen.size) * others).astype(np.int64)
    number += start[above] + number >= parent[chosen]
    return np.where(others > 0, start[above] + number, 0), chosen
