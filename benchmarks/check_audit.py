"""Does the audit find what was planted, and keep quiet where nothing was?

    python benchmarks/check_audit.py [FOLDER | -] [seeds, as 20 or 5-20] [dense | words | 20news ...]

Made rows of two kinds, 20 seeds each: dense ones around class centres that are sums along paths, and bags of words.
Each seed is audited twice, with the true taxonomy and with one class moved to another branch.
Claims are made by held-out class means; how often the learned graph agrees is counted beside.
FOLDER holds the real sets: with it, 5% of the labels of 20news_bydate are replaced at random and looked for.
Exits with 1 when a bar of the issue is missed: the moved class found in 18 of 20, at most one clean taxonomy of 20 with
a finding, 60% of the wrong labels among the first 5% of the ranking. Parts can be run one by one, by their names.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from _data import load

import taxolearn
from taxolearn import Taxonomy
from taxolearn.auditing import Audit
from taxolearn.datasets import make_text_like

SEEDS = 20
FOUND, FALSE, SHARE = 18, 1, 0.6


def tree() -> Taxonomy:
    """Four branches of two nodes of three leaves, and three leaves right below each branch."""
    paths = []
    for branch in "abcd":
        paths += [["all", branch, f"{branch}{leaf}"] for leaf in "xyz"]
        paths += [
            ["all", branch, f"{branch}{node}", f"{branch}{node}{leaf}"] for node in "12" for leaf in "xyz"
        ]
    return Taxonomy.from_paths(paths)


def dense(taxonomy: Taxonomy, seed: int) -> tuple[Any, Any]:
    """50 rows per class around sums along paths, 30 features, all nodes weighing alike."""
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(taxonomy.n_nodes, 30))
    centres = taxonomy.ancestor_matrix(taxonomy.leaf_ids) @ steps
    which = np.repeat(np.arange(taxonomy.n_leaves), 50)
    X = centres[which] + 3.0 * rng.normal(size=(len(which), 30))
    return X, np.array(taxonomy.leaves)[which]


def words(taxonomy: Taxonomy, seed: int) -> tuple[Any, Any]:
    """Bags of 60 words of 5,000, 50 rows per class on average."""
    made = make_text_like(
        50 * taxonomy.n_leaves, 5_000, taxonomy=taxonomy, mean_length=60, class_skew=0.5, random_state=seed
    )
    return made.X, np.array(made.y)


def planted(taxonomy: Taxonomy, seed: int) -> tuple[Taxonomy, str, str]:
    """The taxonomy with one leaf in another branch; the leaf and the branch it belongs to."""
    rng = np.random.default_rng(1000 + seed)
    leaf = str(rng.choice(np.array(taxonomy.leaves)))
    home, old = leaf[0], taxonomy.parents(leaf)[0]
    others = [
        str(node)
        for node in taxonomy.nodes
        if node != taxonomy.root and str(node)[0] != home and taxonomy.children(node)
    ]
    new = str(rng.choice(np.array(others)))
    edges = [edge for edge in taxonomy.edges if edge != (old, leaf)]
    return Taxonomy.from_edges([*edges, (new, leaf)]), leaf, home


def told(found: Audit) -> str:
    """The findings in one line."""
    parts = [f"{one.node}->{one.better}{'' if one.agrees else ' (graph: no)'}" for one in found.misplaced]
    parts += [f"loose {one.node}" for one in found.loose]
    parts += [f"{one.first}={one.second}" for one in found.twins]
    parts += [f"F1 {one.change:+.4f}±{one.error:.4f}{'!' if one.claimed else ''}" for one in found.moves]
    return ", ".join(parts) or "nothing"


def made_rows(name: str, make: Any, seeds: range) -> tuple[int, int, int, int]:
    """How often the moved class was found and the learned graph agreed, how often something else was claimed, and
    clean ones with a finding.
    """
    taxonomy, hits, agreed, extras, false = tree(), 0, 0, 0, 0
    for seed in seeds:
        X, y = make(taxonomy, seed)
        wrong, leaf, home = planted(taxonomy, seed)
        began = time.perf_counter()
        clean = taxolearn.audit(X, y, taxonomy, n_jobs=2, random_state=seed)
        found = taxolearn.audit(X, y, wrong, n_jobs=2, random_state=seed)
        right = [one for one in found.misplaced if one.node == leaf and str(one.better).startswith(home)]
        hit = bool(right)
        agreed += hit and bool(right[0].agrees)
        others = found.n_findings - hit
        hits, extras, false = hits + hit, extras + (others > 0), false + (clean.n_findings > 0)
        print(
            f"{name} {seed:2d}: agreement {clean.agreement:.2f} / {found.agreement:.2f}, accuracy "
            f"{clean.accuracy:.2f}; clean: {told(clean)}; {leaf} moved: {told(found)}; "
            f"{time.perf_counter() - began:.1f} s",
            flush=True,
        )
    return hits, agreed, extras, false


def wrong_labels(folder: str, share: float = 0.05) -> float:
    """The share of planted wrong labels among the first 5% of the ranking."""
    X, y, _, _, taxonomy = load(folder, "20news_bydate")
    rng = np.random.default_rng(0)
    names = np.unique(y)
    chosen = rng.choice(len(y), round(share * len(y)), replace=False)
    noisy = y.copy()
    for row in chosen:
        noisy[row] = rng.choice(names[names != y[row]])
    began = time.perf_counter()
    found = taxolearn.audit(X, noisy, taxonomy, n_jobs=2, max_moves=0)
    first = found.ranking[: len(chosen)]
    listed = {one.row for one in found.suspects}
    rate = float(np.isin(first, chosen).mean())
    right = np.mean([row in listed for row in chosen])
    print(
        f"20news_bydate: {len(chosen)} wrong labels, {rate:.3f} of them in the first {len(first)} of the ranking"
    )
    print(
        f"  {len(listed)} listed as beyond noise, with {right:.3f} of the wrong ones; "
        f"{time.perf_counter() - began:.0f} s"
    )
    print(found.to_text())
    return rate


def main() -> int:
    """All three, and whether the bars are met."""
    folder = sys.argv[1] if len(sys.argv) > 1 and sys.argv[1] != "-" else None
    seeds = range(*map(int, (sys.argv[2] if len(sys.argv) > 2 else str(SEEDS)).split("-")))
    asked = sys.argv[3:] or ["dense", "words", "20news"]
    short: list[str] = []
    lines: list[str] = []
    for name, make in (("dense", dense), ("words", words)):
        if name not in asked:
            continue
        hits, agreed, extras, false = made_rows(name, make, seeds)
        lines.append(
            f"{name}: moved class found in {hits} of {len(seeds)} (bar {FOUND} of {SEEDS}), the learned graph agrees "
            f"in {agreed}, other claims in {extras}; clean taxonomies with a finding: {false} (bar {FALSE})"
        )
        short += [name] if hits * SEEDS < FOUND * len(seeds) or false > FALSE else []
    if folder is not None and "20news" in asked:
        rate = wrong_labels(folder)
        lines.append(
            f"20news_bydate: {rate:.1%} of 5% wrong labels in the first 5% of the ranking (bar {SHARE:.0%})"
        )
        short += ["20news_bydate"] if rate < SHARE else []
    print("\n".join(lines))
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
