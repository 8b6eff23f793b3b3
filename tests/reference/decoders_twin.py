"""Decoders the slow, obvious way: one row, one node, one class at a time."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from taxolearn.structure import Taxonomy


def options(taxonomy: Taxonomy, classes: Sequence[Hashable], name: Hashable) -> list[Hashable]:
    """What can be chosen at a node: ("stop", name) if it is a class, and the children that lead to classes."""
    stop = [("stop", name)] if name in classes else []
    return stop + [c for c in taxonomy.children(name) if set(classes) & set(under(taxonomy, c))]


def under(taxonomy: Taxonomy, name: Hashable) -> tuple[Hashable, ...]:
    return taxonomy.descendants(name, include_self=True)


def choices(taxonomy: Taxonomy, classes: Sequence[Hashable]) -> list[tuple[Hashable, Hashable]]:
    """(node, option) of everything that has a vector, in the order of the nodes' ids."""
    found = []
    for name in taxonomy.nodes:
        here = options(taxonomy, classes, name)
        if len(here) > 1:
            found += [(name, option) for option in here]
    return found


def recursive_answer(taxonomy: Taxonomy, classes: Sequence[Hashable], score: dict[Any, float]) -> Hashable:
    """The class that is reached from the root by the best options, of equal ones the first."""
    name = taxonomy.nodes[0]
    while True:
        here = options(taxonomy, classes, name)
        if not here:
            return name
        best = here[0]
        for option in here[1:]:
            if score[name, option] > score[name, best]:
                best = option
        if best == ("stop", name):
            return name
        name = best


def path_sums(
    taxonomy: Taxonomy, classes: Sequence[Hashable], score: dict[Any, float]
) -> dict[Hashable, float]:
    """For each class the largest sum, over its paths, of each option's score less the best one at its node."""
    found: dict[Hashable, float] = {}

    def visit(name: Hashable, total: float) -> None:
        here = options(taxonomy, classes, name)
        if not here:
            here = [("stop", name)]
        best = max(score.get((name, option), 0.0) for option in here)
        for option in here:
            value = total + (score.get((name, option), 0.0) - best)
            if option == ("stop", name):
                found[name] = max(found.get(name, value), value)
            else:
                visit(option, value)

    visit(taxonomy.nodes[0], 0.0)
    return found


def ranking(
    taxonomy: Taxonomy, classes: Sequence[Hashable], score: dict[Any, float]
) -> list[tuple[Hashable, float]]:
    """The answer with 0, then all other classes by falling sums, equals in their order; none of them with 0."""
    answer, sums = recursive_answer(taxonomy, classes, score), path_sums(taxonomy, classes, score)
    others = sorted((c for c in classes if c != answer), key=lambda c: (-sums[c], classes.index(c)))
    return [(answer, 0.0), *((c, sums[c]) for c in others)]


def threshold_ranking(
    scores: Sequence[float], thresholds: Sequence[float]
) -> tuple[list[int], list[tuple[int, float]]]:
    """The classes above their thresholds, and all classes with their scores, by how far they are above."""
    order = sorted(range(len(scores)), key=lambda c: (thresholds[c] - scores[c], c))
    return [c for c in order if scores[c] > thresholds[c]], [(c, scores[c]) for c in order]
