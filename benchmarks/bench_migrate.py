"""Is a migration really less work than a fit from scratch?

    python benchmarks/bench_migrate.py DATA [method ...]

CLEF, every second row; one class moves to another parent, and two siblings are merged. Each method is fitted to the
gap 1e-3 over the old taxonomy, migrated, and fitted from scratch over the new one; seconds are those of the
processor. Both ends must be certified at the same gap.
Exit code 1: a migration is not certified, or one of a method that starts from its vectors takes longer than the fit
from scratch. Structured losses start from duals, of which the last tenth of the gap takes as long from anywhere, and
least squares have nothing to start from: their seconds are only shown.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import _data
import numpy as np
from sklearn.base import clone

from taxolearn import (
    MulticlassSVM,
    NormalizedHierarchicalSVM,
    OneVsRestSVM,
    RecursiveLogistic,
    RecursiveSVM,
    Taxonomy,
    TaxonomyRidge,
    TopDownSVM,
)

EVERY = 2  # rows of CLEF that are taken


def models(old: Taxonomy) -> dict[str, Any]:
    return {
        "OneVsRestSVM": OneVsRestSVM(taxonomy=old),
        "RecursiveSVM": RecursiveSVM(old),
        "RecursiveSVM, hinge": RecursiveSVM(old, loss="hinge"),
        "RecursiveLogistic": RecursiveLogistic(old),
        "RecursiveLogistic, softmax": RecursiveLogistic(old, loss="softmax"),
        "TaxonomyRidge": TaxonomyRidge(old, lambda_=1e-3),
        "MulticlassSVM, warm_start": MulticlassSVM(old, warm_start=True),
        "NormalizedHierarchicalSVM, warm_start": NormalizedHierarchicalSVM(old, warm_start=True),
        "NormalizedHierarchicalSVM": NormalizedHierarchicalSVM(old),
        "TopDownSVM": TopDownSVM(old),
    }


def changed(old: Taxonomy, y: Any) -> tuple[Taxonomy, dict[str, str]]:
    """One class under another parent, and two siblings made one."""
    seen = set(np.unique(y).tolist())
    parents = [node for node in old.nodes if len([c for c in old.children(node) if c in seen]) >= 2]
    first = [c for c in old.children(parents[0]) if c in seen]
    second = parents[1]
    mover, kept, gone = first[0], *[c for c in old.children(second) if c in seen][:2]
    edges = [(a, b) for a, b in old.edges if b not in (mover, gone)] + [(second, mover)]
    return Taxonomy.from_edges(edges), {gone: kept}


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def main() -> int:
    warnings.simplefilter("ignore")
    X, y, _, _, tree = _data.load(sys.argv[1], "clef")
    X, y = X[::EVERY], y[::EVERY]
    new, mapping = changed(tree, y)
    asked = sys.argv[2:]
    short = []
    for name, model in models(tree).items():
        if asked and not any(name.startswith(one) for one in asked):
            continue
        model.set_params(random_state=0, tol=1e-3)
        clone(model).fit(X[:300], y[:300])  # compile
        fitted = clone(model).fit(X, y)
        took, migration = seconds(lambda fitted=fitted: fitted.migrate(X, y, new, mapping))
        labels = np.array(migration.y)
        anew, fresh = seconds(
            lambda model=model, labels=labels: clone(model).set_params(taxonomy=new).fit(X, labels)
        )
        made = migration.model.certificate_
        print(
            f"{name}: {took:.2f} s by migration ({migration.started}; {migration.model.n_iter_} passes, first gap "
            f"{migration.model.history_[0].gap if migration.model.history_ else 0.0:.1e}), {anew:.2f} s from scratch "
            f"({fresh.n_iter_} passes): {took / anew:.2f} of the time; gaps {made.gap:.1e} and "
            f"{fresh.certificate_.gap:.1e}",
            flush=True,
        )
        started = migration.started != "from zero"
        short += [name] if not made.holds(migration.model.tol) or (started and took > max(anew, 0.05)) else []
    print(f"short of it: {', '.join(short) or 'none'}")
    return int(bool(short))


if __name__ == "__main__":
    sys.exit(main())
