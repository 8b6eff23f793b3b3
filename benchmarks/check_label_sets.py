"""Best label sets against all sets: 1,000 random trees and 1,000 random DAGs of up to 14 nodes.

    python benchmarks/check_label_sets.py [HOW_MANY]

Potentials have ties and zeros; every setting of `must` is asked, plain and loss-augmented (the cost of wrong nodes
added, that of right ones taken off), and max-marginals are compared, too. The suite looks at some of the same. Prints
how many were compared, and exits with 1 at the first difference.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from decoders.label_set_cases import check_sets, must_settings, small_taxonomy, tied_potentials
from reference.label_sets_twin import all_sets, best_values, max_marginals
from taxolearn.decoders import LabelSpace, decode_sets
from taxolearn.kernels.tree_set_changes import tree_marginals
from taxolearn.structure import Taxonomy

ROWS = 8


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


def main() -> None:
    how_many = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for kind, dag in (("trees", False), ("DAGs", True)):
        count = 0
        for seed in range(how_many):
            rng = np.random.default_rng([seed, int(dag)])
            count += compare(small_taxonomy(rng, dag), rng)
        print(f"{how_many} {kind}, {count} rows: every set is one of the best")


if __name__ == "__main__":
    main()
