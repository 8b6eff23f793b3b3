"""Columns without entries: LSHTC documents under their raw feature numbers beside the same without empty columns.

    python benchmarks/bench_empty_columns.py FOLDER_OF_DATA

Task 2 of LSHTC's dry run has 4,463 rows, whose 10,794 features are numbered up to 1.2 million, as hashed features are.
Prints CPU seconds of fit and prediction of both forms on one thread, fits taking turns, best of three, and whether the
answers are the same. Exits with 1 if a raw fit takes more than 1.2 times the compact one.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from _data import load

from taxolearn import NormalizedHierarchicalSVM, OneVsRestSVM, RecursiveSVM, TopDownSVM

MOST, REPEATS = 1.2, 3
RAW_COLUMNS = 1_199_831


def raw(X: Any, numbers: Any) -> Any:
    """The rows under numbers that are spread over as many columns as the raw file has."""
    return sp.csr_array((X.data, numbers[X.indices], X.indptr), shape=(X.shape[0], RAW_COLUMNS))


def timed(work: Any) -> tuple[float, Any]:
    """CPU seconds of a call, and what it returned."""
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


def main() -> int:
    """Print a line per method and the worst ratio last."""
    X, y, X_test, _, tree = load(sys.argv[1], "lshtc1_dryrun")
    X, X_test = sp.csr_array(X), sp.csr_array(X_test)
    numbers = np.sort(np.random.default_rng(0).choice(RAW_COLUMNS, X.shape[1], replace=False))
    forms = {
        "compact": (X, X_test),
        "raw": (raw(X, numbers.astype(np.int32)), raw(X_test, numbers.astype(np.int32))),
    }
    worst = 0.0
    for kind in (RecursiveSVM, OneVsRestSVM, TopDownSVM, NormalizedHierarchicalSVM):
        fits: dict[str, list[float]] = {form: [] for form in forms}
        predictions: dict[str, list[float]] = {form: [] for form in forms}
        answers = {}
        kind(tree, random_state=0, max_iter=1).fit(X[:200], y[:200])  # loads the kernels
        for _ in range(REPEATS):
            for form, (rows, tested) in forms.items():
                model = kind(tree, random_state=0, max_seconds=120)
                seconds, model = timed(lambda model=model, rows=rows: model.fit(rows, y))
                fits[form].append(seconds)
                seconds, found = timed(lambda model=model, tested=tested: model.predict(tested))
                predictions[form].append(seconds)
                answers[form] = found
        ratio = min(fits["raw"]) / min(fits["compact"])
        worst = max(worst, ratio)
        same = float(np.mean(answers["raw"] == answers["compact"]))
        print(
            f"{kind.__name__}: fit {min(fits['raw']):.2f} / {min(fits['compact']):.2f} s = {ratio:.2f}, predict "
            f"{min(predictions['raw']):.2f} / {min(predictions['compact']):.2f} s, same answers {100 * same:.1f}%",
            flush=True,
        )
    print(f"raw numbers take at most {worst:.2f} times the CPU of compact ones (bar {MOST})")
    return 1 if worst > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
