"""Explanations the slow, obvious way: names, loops and dense arrays."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from taxolearn.structure import Taxonomy


def class_scores(coef: Any, intercept: Any, x: Any) -> list[float]:
    """The score of every class, in float64."""
    return [
        sum(float(w) * float(v) for w, v in zip(row, x, strict=True)) + float(b)
        for row, b in zip(np.asarray(coef), intercept, strict=True)
    ]


def node_margins(
    taxonomy: Taxonomy, classes: Sequence[Hashable], scores: Sequence[float], path: Sequence[Hashable]
) -> list[tuple[float, float | None]]:
    """For each node of a path the best score under it, and its lead over the best one under its siblings."""
    found: list[tuple[float, float | None]] = []
    by_class = dict(zip(classes, scores, strict=True))
    for node in path:
        mine = {name for name in classes if node in taxonomy.ancestors(name, include_self=True)}
        others = {
            name
            for sibling in taxonomy.siblings(node)
            for name in classes
            if sibling in taxonomy.ancestors(name, include_self=True)
        } - mine
        best = max(by_class[name] for name in mine)
        rival = max((by_class[name] for name in others), default=None)
        found.append((best, None if rival is None else best - rival))
    return found
