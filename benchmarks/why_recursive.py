"""Why sharing along a taxonomy may not help: what rows do to the vectors of the nodes above them.

    python benchmarks/why_recursive.py FOLDER_OF_DATA [lshtc1_dryrun trec_question 20news_bydate]

RecursiveSVM, squared hinge, a_n = 1. A row of class y has the dual d_iy in its own class, which pulls the vector of
every node above y towards the row, and d_il in other classes l, which pushes the nodes above l away. At the parent of
y the row's coefficient is d_iy minus the sum of d_il over the other classes below that parent: where it is negative, a
row pushes away the very vector that is to speak for it.

For every C and intercept prior the script prints the share of rows whose coefficient is negative at their own parent,
the mean coefficient over the mean d_iy there and at the highest node above them, the sum of all duals of other
classes' rows over that of own rows, and the accuracy on the test rows. A parent is the nearest node above a class that
has another class below it; rows without one below the root are left out.

Then, with intercepts tied to -1, the accuracy for several scales a_n of the inner nodes, of the single-child nodes
alone and of the others alone, over all test rows and by the number of training rows of their class. Nothing is chosen
by these figures.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from _data import load

from taxolearn import RecursiveSVM, Taxonomy

SETS = ("lshtc1_dryrun", "trec_question", "20news_bydate")
C_VALUES = (0.1, 1.0, 10.0)


def shared_parent(taxonomy: Taxonomy, nodes: Any) -> Any:
    """For every class the nearest node above it that has another class below it too."""
    below = np.asarray(taxonomy.ancestor_matrix(nodes).sum(axis=0)).ravel()
    found = np.array(taxonomy.parent)[nodes]
    while np.any(alone := (below[found] < 2) & (found > 0)):
        found[alone] = np.array(taxonomy.parent)[found[alone]]
    return found


def top_node(taxonomy: Taxonomy, nodes: Any) -> Any:
    """For every class the child of the root that it is below."""
    found = np.array(nodes)
    parent = np.array(taxonomy.parent)
    while np.any(deep := parent[found] > 0):
        found[deep] = parent[found[deep]]
    return found


def coefficients(dual: sp.csr_array, own: Any, group: Any) -> tuple[Any, Any]:
    """d_iy of each row, and the sum of d_il over the other classes l of the same group as y."""
    by_row = sp.csr_array(dual.T)
    mine, others = np.zeros(len(own)), np.zeros(len(own))
    for i in range(len(own)):
        span = slice(by_row.indptr[i], by_row.indptr[i + 1])
        classes, values = by_row.indices[span], by_row.data[span]
        is_own = classes == own[i]
        mine[i] = values[is_own].sum()
        others[i] = values[(group[classes] == group[own[i]]) & ~is_own].sum()
    return mine, others


def measure(folder: str, name: str) -> None:
    X, y, X_test, y_test, taxonomy = load(folder, name)
    print(f"\n{name}: {X.shape[0]} rows, {len(set(y))} classes")
    heads = ("pushed away", "mean pull", "at the top", "others / own", "accuracy")
    print(f"{'C':>5} {'b0':>4} " + " ".join(f"{head:>12}" for head in heads))
    for C in C_VALUES:
        for prior in (0.0, -1.0):
            model = RecursiveSVM(
                taxonomy, C=C, intercept_prior=prior, tol=1e-2, warm_start=True, random_state=0, n_jobs=2
            ).fit(X, y)
            number = {label: k for k, label in enumerate(model.classes_.tolist())}
            own = np.array([number[label] for label in y])
            nodes = taxonomy.ids_of(list(model.classes_))
            group = shared_parent(taxonomy, nodes)
            counted = group[own] > 0
            mine, others = coefficients(model._kept.dual, own, group)
            pull = (mine - others)[counted]
            above = (mine - coefficients(model._kept.dual, own, top_node(taxonomy, nodes))[1])[counted]
            total = model._kept.dual.sum()
            accuracy = np.mean(model.predict(X_test) == y_test)
            print(
                f"{C:5g} {prior:4g} {np.mean(pull < 0):12.1%} {pull.mean() / mine[counted].mean():12.2f} "
                f"{above.mean() / mine[counted].mean():12.2f} "
                f"{(total - mine.sum()) / mine.sum():12.2f} {accuracy:12.2%}",
                flush=True,
            )


def scales_of(taxonomy: Taxonomy) -> dict[str, Any]:
    """What is tried: `weights` of RecursiveSVM by name."""
    children = np.bincount(np.array(taxonomy.parent)[1:], minlength=taxonomy.n_nodes)
    chains, shared = np.ones(taxonomy.n_nodes), np.ones(taxonomy.n_nodes)
    chains[children > 1] = 0.0
    shared[children == 1] = 0.0
    found: dict[str, Any] = {"none (flat)": "leaf", "0.03": 0.03, "0.1": 0.1, "0.3": 0.3, "1": 1.0}
    return {**found, "1, chains only": chains, "1, no chains": shared}


def compare_scales(folder: str, name: str) -> None:
    X, y, X_test, y_test, taxonomy = load(folder, name)
    labels, counts = np.unique(y.astype(str), return_counts=True)
    size = dict(zip(labels.tolist(), counts.tolist(), strict=True))
    rows = np.array([size.get(str(label), 0) for label in y_test])
    groups = {
        "all": rows >= 0,
        "1 row": rows == 1,
        "2-3": (rows > 1) & (rows < 4),
        "4-9": (rows > 3) & (rows < 10),
    }
    groups["10 or more"] = rows > 9
    print(f"{'C':>5} {'a_n of inner nodes':20} " + " ".join(f"{head:>10}" for head in groups))
    for C in (1.0, 10.0, 100.0):
        for title, weights in scales_of(taxonomy).items():
            model = RecursiveSVM(
                taxonomy, C=C, weights=weights, intercept_prior=-1.0, tol=1e-2, random_state=0, n_jobs=2
            ).fit(X, y)
            right = model.predict(X_test) == y_test
            shares = [
                f"{right[group].mean():10.2%}" if group.any() else f"{'-':>10}" for group in groups.values()
            ]
            print(f"{C:5g} {title:20} " + " ".join(shares), flush=True)


def main() -> int:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    warnings.simplefilter("ignore")
    for name in sys.argv[2:] or SETS:
        measure(sys.argv[1], name)
        compare_scales(sys.argv[1], name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
