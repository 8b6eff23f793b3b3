"""Slow, obvious twins of the walk along a tree and of the beam search."""

from __future__ import annotations

from typing import Any

import numpy as np


def all_scores(nodes: Any, paths: Any, intercept: Any, X: Any) -> Any:
    """rows x classes: products with every node of the path, added up one by one."""
    scores = np.zeros((len(X), len(paths)))
    for i, x in enumerate(X):
        for cls, path in enumerate(paths):
            for node in np.flatnonzero(path):
                scores[i, cls] += sum(nodes[node][j] * x[j] for j in range(len(x)))
            scores[i, cls] += intercept[cls]
    return scores


def best_classes(scores: Any, k: int) -> Any:
    return np.array([sorted(range(len(row)), key=lambda c: (-row[c], c))[:k] for row in scores])


def beam_search(
    nodes: Any,
    children: dict[int, list[int]],
    at: dict[int, list[int]],
    intercept: Any,
    x: Any,
    k: int,
    beam: int,
) -> list[int]:
    """The best classes of one row in a tree with root 0; `at` are the classes that sit at each node."""

    def below(node: int) -> list[int]:
        return [c for child in children[node] for c in at[child] + below(child)]

    def reach(node: int) -> float:
        """The largest sum of squared norms on the way from below the node to a class."""
        ways = [float(nodes[child] @ nodes[child]) + reach(child) for child in children[node]]
        return max(
            [0.0]
            + [way for way, child in zip(ways, children[node], strict=True) if at[child] or below(child)]
        )

    def bonus(node: int) -> float:
        length = float(np.sqrt(x @ x))
        return max(intercept[c] for c in below(node)) + 0.05 * length * float(np.sqrt(reach(node)))

    found: dict[int, float] = {}
    level = [(0, float(nodes[0] @ x))]
    while level:
        for node, score in level:
            for cls in at[node]:
                found[cls] = score + intercept[cls]
        inner = [(node, score) for node, score in level if below(node)]
        inner.sort(key=lambda pair: (-(pair[1] + bonus(pair[0])), pair[0]))
        level = [
            (child, score + float(nodes[child] @ x))
            for node, score in inner[:beam]
            for child in children[node]
        ]
    if len(found) < k:
        return beam_search(nodes, children, at, intercept, x, k, 2 * beam)
    return sorted(found, key=lambda c: (-found[c], c))[:k]
