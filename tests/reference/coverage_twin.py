"""Answers that stop when unsure, from the definitions: slow, obvious, one row at a time."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np

from taxolearn.structure import Taxonomy


def above(taxonomy: Taxonomy, node: int) -> set[int]:
    """The node and all its ancestors, by walking up every edge."""
    found, todo = set(), [node]
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            todo += taxonomy.parent_indices[
                taxonomy.parent_indptr[one] : taxonomy.parent_indptr[one + 1]
            ].tolist()
    return found


def node_chance(p: Any, class_nodes: Any, taxonomy: Taxonomy, node: int) -> float:
    return float(sum(p[c] for c, at in enumerate(class_nodes) if node in above(taxonomy, at)))


def path(p: Any, predicted: int, class_nodes: Any, taxonomy: Taxonomy) -> list[tuple[int, float]]:
    """(node, doubt) from the root to the predicted class, each step through the likeliest parent."""
    node = int(class_nodes[predicted])
    climbed = [node]
    while node != 0:
        parents = taxonomy.parent_indices[
            taxonomy.parent_indptr[node] : taxonomy.parent_indptr[node + 1]
        ].tolist()
        chances = [node_chance(p, class_nodes, taxonomy, one) for one in parents]
        node = parents[chances.index(max(chances))]
        climbed.append(node)
    found, doubt = [(0, -inf)], 0.0
    for parent, child in zip(climbed[::-1], climbed[-2::-1], strict=False):
        of_parent = node_chance(p, class_nodes, taxonomy, parent)
        of_child = node_chance(p, class_nodes, taxonomy, child)
        doubt = max(doubt, (of_parent - of_child) / of_parent if of_parent > 0 else 1.0)
        found.append((child, doubt))
    return found


def first_miss(ladder: list[tuple[int, float]], label: int, taxonomy: Taxonomy) -> float:
    """The least doubt of a wrong node on the path."""
    return min((doubt for node, doubt in ladder if node not in above(taxonomy, label)), default=inf)


def limit(misses: list[float], coverage: float) -> float:
    """Of n rows the ceil((n + 1) coverage)-th largest first miss; -inf where that is more than there are."""
    needed = -(-(len(misses) + 1) * Fraction(str(coverage)) // 1)
    return -inf if needed > len(misses) else sorted(misses, reverse=True)[int(needed) - 1]


def answer(ladder: list[tuple[int, float]], below: float) -> int:
    """The deepest node with a doubt below the limit."""
    return [node for node, doubt in ladder if doubt == -inf or doubt < below][-1]


def blocks(groups: list[Any], enough: Fraction) -> dict[Any, set[Any]]:
    """Group -> the groups that it is taken together with, itself among them; from all rows, the new one among them."""
    count = Counter(groups)
    small = {group for group in count if count[group] < enough}
    large = sorted((count[group], group) for group in count if count[group] >= enough)
    if small and sum(count[group] for group in small) < enough and large:
        small.add(large[0][1])
    return {group: small if group in small else {group} for group in count}


def grouped_answer(
    ladder: list[tuple[int, float]],
    misses: list[float],
    groups: list[Any],
    group_of_class: list[Any],
    class_nodes: Any,
    coverage: float,
    taxonomy: Taxonomy,
) -> int:
    """The deepest node that leaves out only classes which rows of their groups allow to be missed."""

    def may_be_missed(group: Any, miss: float) -> bool:
        """Whether a new row of that group may be missed, which is missed from this doubt on."""
        together = blocks([*groups, group], 1 / (1 - Fraction(str(coverage))))[group]
        return miss < limit([m for m, g in zip(misses, groups, strict=True) if g in together], coverage)

    best = 0
    for node, _ in ladder:
        left_out = [c for c, at in enumerate(class_nodes) if node not in above(taxonomy, int(at))]
        if all(
            may_be_missed(group_of_class[c], first_miss(ladder, int(class_nodes[c]), taxonomy))
            for c in left_out
        ):
            best = node
    return best


def tree_loss(node: int, label: int, taxonomy: Taxonomy) -> float:
    """Half the edges between two nodes, nothing where the label lies at or below the node."""
    if node in above(taxonomy, label):
        return 0.0
    return float(taxonomy.distance(np.array([node]), np.array([label]))[0]) / 2
