"""Decisions of least expected cost against brute force, and what they take beside `predict`.

    python benchmarks/check_decisions.py [--taxonomies 1000] [--leaves 10000]

1. On random trees and DAGs, with classes at any nodes and random probabilities: the expected tree loss and hierarchical
   F1 of every class and of every node must be those of a sum over all classes by `taxolearn.metrics`, and the decision
   must cost no more than the best of them; on up to 14 nodes the label set must have the largest expected F1 of all
   sets that are closed under ancestors, by a sum over all outcomes of the nodes.
2. On a tree, and on a DAG of which every twentieth leaf has two parents, with so many leaves: CPU seconds of
   `predict(decision=...)` beside those of `predict`, by turns. Exits with 1 where the ratio on the tree is above 2.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from taxolearn import OneVsRestLogistic, Taxonomy
from taxolearn.decoders import (
    Best,
    HierarchicalF1,
    LabelSpace,
    NodeSums,
    Temperature,
    TreeLoss,
    expected_f1_sets,
    falling,
)
from taxolearn.metrics import hierarchical_f1, tree_loss
from taxolearn.vectors import ClassVectors

ROWS = 3  # of probabilities per taxonomy
MOST_NODES = 14
SAME = 1e-10
BAR = 2.0
TURNS = 5
DAGS = (False, True)


def random_taxonomy(rng: Any, n_nodes: int, dag: bool) -> Taxonomy:
    edges = []
    for node in range(1, n_nodes):
        count = 1 + int(dag and rng.random() < 0.3)
        for parent in rng.choice(node, size=min(node, count), replace=False):
            edges.append((f"n{parent}", f"n{node}"))
    return Taxonomy.from_edges(edges)


def one_minus_f1(true: Any, answered: Any, taxonomy: Taxonomy) -> float:
    return 1.0 - hierarchical_f1(true, answered, taxonomy, average="samples")


def check_costs(rng: Any, taxonomy: Taxonomy) -> int:
    """How many of the expected costs and decisions are not those of brute force."""
    count = int(rng.integers(1, taxonomy.n_nodes + 1))
    classes = np.sort(rng.choice(taxonomy.n_nodes, size=count, replace=False))
    p = rng.dirichlet(np.full(count, rng.choice([0.2, 1.0, 5.0])), size=ROWS).T
    wrong = 0
    for kind, metric in ((TreeLoss, tree_loss), (HierarchicalF1, one_minus_f1)):
        names = taxonomy.nodes
        table = np.array([[metric([names[c]], [n], taxonomy) for n in names] for c in classes])
        truth = table.T @ p
        for answers in (classes, np.arange(taxonomy.n_nodes)):
            costs = kind(taxonomy, classes, answers)(p)
            wrong += int(np.abs(costs - truth[answers]).max() > SAME)
            chosen = answers[np.argmin(costs, axis=0)]
            wrong += int(np.any(truth[chosen, np.arange(ROWS)] > truth[answers].min(axis=0) + SAME))
    below = taxonomy.ancestor_matrix(classes).T @ p
    return wrong + int(np.abs(NodeSums(taxonomy, classes)(p) - below).max() > SAME)


def closed_sets(space: LabelSpace) -> Any:
    """All sets of nodes below the root that are closed under ancestors and not empty, sets x nodes."""
    n = space.n_nodes - 1
    every = np.array(list(itertools.product([False, True], repeat=n)))[1:]
    up = space.upward.toarray()[1:, 1:] > 0
    for node in range(n):
        needed = np.flatnonzero(up[node])
        every = every[~every[:, node] | every[:, needed].all(axis=1)]
    return every


def check_sets(rng: Any, taxonomy: Taxonomy) -> int:
    """Whether a set that is closed under ancestors has a larger expected F1 than the answered one."""
    names = list(taxonomy.nodes)
    space = LabelSpace.over(taxonomy, names[1:], np.zeros(len(names), dtype=bool), closed=True)
    p = falling(space, rng.random((1, space.n_nodes)) ** rng.choice([0.5, 1.0, 3.0]))
    answered = expected_f1_sets(space, p)
    n = space.n_nodes - 1
    outcomes = np.array(list(itertools.product([0.0, 1.0], repeat=n)))
    chance = np.prod(np.where(outcomes > 0, p[0, 1:], 1.0 - p[0, 1:]), axis=1)
    sets = closed_sets(space).astype(np.float64)
    both = sets @ outcomes.T
    total = sets.sum(axis=1)[:, None] + outcomes.sum(axis=1)
    best = float(((2.0 * both / total) @ chance).max())
    return int(abs(answered.values[0] - best) > SAME)


def large(n_leaves: int, dag: bool) -> Taxonomy:
    """Four levels, about ten children to a node."""
    rng = np.random.default_rng(0)
    edges, level, number = [], ["root"], itertools.count()
    for size in (max(2, n_leaves // 1000), max(4, n_leaves // 100), max(8, n_leaves // 10), n_leaves):
        nodes = [f"n{next(number)}" for _ in range(size)]
        edges += [(level[i * len(level) // size], node) for i, node in enumerate(nodes)]
        if dag and size == n_leaves:
            for node, parent in zip(nodes[::20], rng.choice(level, size=len(nodes[::20])), strict=True):
                if (parent, node) not in set(edges[-size:]):
                    edges.append((parent, node))
        level = nodes
    return Taxonomy.from_edges(dict.fromkeys(edges))


def made_model(taxonomy: Taxonomy, n_features: int) -> Any:
    """A model with random vectors: what is timed does not depend on what was learned."""
    rng = np.random.default_rng(0)
    few = [taxonomy.name_of(node) for node in taxonomy.leaf_ids[:3]]
    model = OneVsRestLogistic(taxonomy=taxonomy).fit(np.eye(3, n_features), few)
    n = taxonomy.n_leaves
    model.classes_ = np.array([taxonomy.name_of(node) for node in taxonomy.leaf_ids])
    model.vectors_ = ClassVectors(rng.normal(size=(n, n_features)).astype(np.float32), np.zeros(n))
    model.decoder_, model.calibration_ = Best(n), Temperature(0.5)
    return model


def seconds(model: Any, X: Any, **options: Any) -> float:
    start = time.process_time()
    model.predict(X, **options)
    return time.process_time() - start


def time_decisions(n_leaves: int) -> float:
    """Print the table; the largest ratio on a tree."""
    rng = np.random.default_rng(1)
    print("\n| taxonomy | rows | decision | ms per row | times predict |\n|---|---|---|---|---|")
    worst = 0.0
    for dag in DAGS:
        taxonomy = large(n_leaves, dag)
        kind = "DAG" if dag else "tree"
        for what, X, n_features in (
            ("dense, 384", rng.normal(size=(500, 384)).astype(np.float32), 384),
            (
                "sparse, 100 of 20,000",
                sp.csr_array(sp.random(500, 20000, 0.005, "csr", np.float32, rng)),
                20000,
            ),
        ):
            model = made_model(taxonomy, n_features)
            decisions = ("best", "tree_loss", "hierarchical_f1")
            for decision in decisions:
                model.predict(X[:2], decision=decision)
            taken = [[seconds(model, X, decision=one) for one in decisions] for _ in range(TURNS)]
            middle = np.median(np.array(taken), axis=0)
            for decision, value in zip(decisions, middle, strict=True):
                ratio = value / middle[0]
                worst = max(worst, 0.0 if dag else ratio)
                line = (
                    f"{kind}, {taxonomy.n_leaves:,} leaves",
                    what,
                    decision,
                    f"{1e3 * value / 500:.2f}",
                    f"{ratio:.2f}",
                )
                print("| " + " | ".join(line) + " |", flush=True)
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--taxonomies", type=int, default=1000)
    parser.add_argument("--leaves", type=int, default=10_000)
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    wrong = 0
    for number in range(asked.taxonomies):
        n_nodes = int(rng.integers(2, MOST_NODES + 1))
        taxonomy = random_taxonomy(rng, n_nodes, dag=number % 2 == 1)
        wrong += check_costs(rng, taxonomy)
        if n_nodes <= (MOST_NODES if number % 20 == 0 else 10):
            wrong += check_sets(rng, taxonomy)
    print(f"{asked.taxonomies} random trees and DAGs: {wrong} answers unlike brute force")
    worst = time_decisions(asked.leaves)
    print(f"\nlargest ratio on a tree: {worst:.2f} (bar {BAR:g}); wrong answers: {wrong}")
    return int(worst > BAR or wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
