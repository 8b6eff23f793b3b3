"""Best label sets against all sets: 1,000 random trees and 1,000 random DAGs of up to 14 nodes. And the exact steps on
a row's node marginals against clarabel: 300 trees and 300 DAGs of up to 30 nodes.

    python benchmarks/check_label_sets.py [HOW_MANY]

Potentials have ties and zeros; every setting of `must` is asked, plain and loss-augmented (the cost of wrong nodes
added, that of right ones taken off), and max-marginals are compared, too. The suite looks at some of the same. Prints
how many were compared and the worst difference of the steps' gains, and exits with 1 at the first difference, or where
a gain differs by more than 1e-7.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from decoders.label_set_cases import check_sets, must_settings, small_taxonomy, tied_potentials
from kernels.test_set_row_kernels import drawn, gain, random_parents, space_of
from reference.label_sets_twin import all_sets, best_values, max_marginals
from reference.sets_twin import row_optimum
from taxolearn.decoders import LabelSpace, decode_sets
from taxolearn.kernels.closure_rows import dag_step, new_flow, payers
from taxolearn.kernels.set_rows import new_room, tree_step
from taxolearn.kernels.tree_set_changes import tree_marginals
from taxolearn.structure import Taxonomy

ROWS = 8
STEPS, STEP_NODES, STEP_TOL = 300, 30, 1e-7


def augmented(rng: np.random.Generator, sets: Any, potentials: Any) -> Any:
    """Potentials with the cost 1 of each node of the wrong kind: true sets are drawn."""
    truth = sets[rng.integers(len(sets), size=len(potentials))]
    return potentials + np.where(truth, -1.0, 1.0)


def compare(taxonomy: Taxonomy, rng: np.random.Generator) -> int:
    """How many rows were compared."""
    count = 0
    for must in must_settings(taxonomy, rng).values():
        sets = all_sets(taxonomy, must)
        space = LabelSpace.over(taxonomy, taxonomy.nodes, must)
        plain = tied_potentials(rng, ROWS, taxonomy.n_nodes)
        for potentials in (plain, augmented(rng, sets, plain)):
            found = decode_sets(space, potentials)
            assert found.proved.all()
            best = best_values(sets, potentials)
            check_sets(taxonomy, must, potentials, (found.values, found.indptr, found.indices), best)
            if taxonomy.is_tree:
                marginals = np.empty_like(potentials)
                tree_marginals(potentials, space.parent, space.subtree_end, space.must, marginals)
                np.testing.assert_array_equal(marginals, max_marginals(sets, potentials))
            count += len(potentials)
    return count


def step_difference(rng: np.random.Generator, dag: bool) -> float:
    """By how much the gain of a step differs from that of clarabel's optimum, on a random tree or DAG."""
    n = int(rng.integers(2, STEP_NODES + 1))
    parents = random_parents(rng, n, 3 if dag else 1)
    must = (rng.random(n) < rng.choice([0.0, 0.5, 1.0])) & (not dag)
    must[0] = not dag
    g, h = drawn(rng, n)
    space, mu = space_of(parents, must), np.zeros(n)
    if dag:
        flow = new_flow(n, len(space.dag.parents))
        found = dag_step(space.dag, flow, payers(space.dag, flow, n, g, flow.nodes), g, h)
        mu[flow.nodes[:found]] = flow.mu[flow.nodes[:found]]
    else:
        room = new_room(n)
        found, *_ = tree_step(space.tree, n, g, h, room, np.empty(2), np.empty(2))
        mu[room.queue[:found]] = room.mu[:found]
    mu[0] = 1.0
    assert all(0.0 <= mu[k] <= mu[p] for k in range(1, n) for p in parents[k])
    return abs(gain(mu, g, h) - gain(row_optimum(parents, must, not dag, g, h), g, h))


def main() -> int:
    how_many = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for kind, dag in (("trees", False), ("DAGs", True)):
        count = 0
        for seed in range(how_many):
            rng = np.random.default_rng([seed, int(dag)])
            count += compare(small_taxonomy(rng, dag), rng)
        print(f"{how_many} {kind}, {count} rows: every set is one of the best", flush=True)
    worst = {}
    for kind, dag in (("trees", False), ("DAGs", True)):
        worst[kind] = max(
            step_difference(np.random.default_rng([seed, dag, 2]), dag) for seed in range(STEPS)
        )
        print(f"{STEPS} steps on {kind}: gains differ by {worst[kind]:.1e} at most", flush=True)
    return 0 if max(worst.values()) <= STEP_TOL else 1


if __name__ == "__main__":
    sys.exit(main())
