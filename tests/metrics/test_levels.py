"""Scores by level against a slow twin."""

from __future__ import annotations

import numpy as np
import pytest

from taxolearn import Taxonomy
from taxolearn.metrics.levels import by_level

TREE = Taxonomy.from_paths(["r/a/x", "r/a/y", "r/b/z/deep", "r/b/w"])


@pytest.mark.parametrize("several", [False, True])
def test_against_sets_of_ancestors(several: bool) -> None:
    rng = np.random.default_rng(0)
    names = list(TREE.nodes[1:])

    def drawn() -> list[list[str]]:
        return [rng.choice(names, size=int(rng.integers(1, 3)) if several else 1).tolist() for _ in range(60)]

    true, pred = drawn(), drawn()
    given = (true, pred) if several else ([row[0] for row in true], [row[0] for row in pred])
    found = {scores.level: scores for scores in by_level(*given, TREE)}
    for level in (1, 2, 3):
        at = {name for name in names if TREE.depth[TREE.id_of(name)] == level}
        sets = [
            [{node for name in row for node in TREE.ancestors(name, include_self=True)} & at for row in rows]
            for rows in (true, pred)
        ]
        rows = [(t, p) for t, p in zip(*sets, strict=True) if t]
        assert found[level].rows == len(rows)
        assert found[level].accuracy == pytest.approx(np.mean([t == p for t, p in rows]))
        hits = sum(len(t & p) for t, p in zip(*sets, strict=True))
        sizes = sum(len(t) + len(p) for t, p in zip(*sets, strict=True))
        assert found[level].micro_f1 == pytest.approx(2 * hits / sizes)
        f1 = []
        for name in at:
            one = [(name in t, name in p) for t, p in zip(*sets, strict=True)]
            if any(a or b for a, b in one):
                f1.append(2 * sum(a and b for a, b in one) / sum(a + b for a, b in one))
        assert found[level].macro_f1 == pytest.approx(np.mean(f1))
