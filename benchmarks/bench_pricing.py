"""Speed of pricing at the shape of the large Wikipedia set: one block of classes against all rows, on one core.

    python benchmarks/bench_pricing.py [--share 1.0] [--classes 128] [--least 1.3]

Rows are generated: as many, with as many features and entries as LWIKI has, features by Zipf's law. A task prices one
block of classes that have nothing in common, 300 rows each being worked on: product with X, best intercepts, and the
choice of new rows. Multiply-adds are entries of X times classes, and seconds are CPU seconds of the whole task, kernels
loaded before. Beside it a block as wide as 80 MB of vectors and scores allow: 5 classes. --share takes a part of rows
and features, for a machine with less than 5 GB free.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np

from taxolearn.engines import Clock, frozen
from taxolearn.kernels.dual_descent import row_squares
from taxolearn.kernels.rows import SparseRows
from taxolearn.kernels.tree_descent import Active, Costs, TreeArrays
from taxolearn.losses import SquaredHinge
from taxolearn.losses.for_kernels import for_kernels
from taxolearn.solvers import tree_tasks
from taxolearn.solvers.tree_tasks import Part, PriceTask, Shared, price_task

ROWS, FEATURES, ENTRIES = 2_365_436, 1_617_899, 169_000_000  # LWIKI
ACTIVE = 300  # rows that a class works on
OLD_WIDTH = 5


def draw_rows(n_rows: int, n_features: int, entries: int, rng: np.random.Generator) -> SparseRows:
    """Rows of length one with features by Zipf's law, the most frequent first."""
    per_row = max(1, entries // n_rows)
    columns = np.empty(n_rows * per_row, dtype=np.uint32)
    step = 2**22
    for first in range(0, len(columns), step):
        some = columns[first : first + step]
        some[:] = np.minimum(n_features ** rng.random(len(some), dtype=np.float32), n_features - 1)
    values = np.full(len(columns), per_row**-0.5, dtype=np.float32)
    return SparseRows(per_row * np.arange(n_rows + 1, dtype=np.int64), columns, values)


def made(
    rows: SparseRows, n_features: int, n_classes: int, rng: np.random.Generator
) -> tuple[Shared, PriceTask]:
    """What a solve shares, and the task to price all classes."""
    n_rows = len(rows.indptr) - 1
    each = np.arange(n_classes)
    tree = TreeArrays(
        each + 1, each, each + 1, each + 1, np.ones(n_classes), np.ones(n_classes), each, each + 1,
        np.column_stack([each, each + 1]),
    )  # fmt: skip
    ends = ACTIVE * np.arange(n_classes + 1)
    working = np.concatenate([rng.choice(n_rows, ACTIVE, replace=False) for _ in each]).astype(np.int32)
    active = Active(ends, np.full(n_classes, 10), working, rng.random(len(working)), np.full(n_classes, 40))
    costs = Costs(np.ones(n_rows), np.ones(n_classes), np.ones(n_classes))
    shared = Shared(
        for_kernels(SquaredHinge()), rows, row_squares(rows, 0.0), tree, costs, n_features, 1.0, 0.0, 0.05, 0.015, True
    )  # fmt: skip
    part: Any = frozen(Part(0, n_classes, active, np.full(n_classes, -1.0)))
    return frozen(shared), PriceTask(part, 0, n_classes, np.full(n_classes, 8 * ACTIVE))


def speed(rows: SparseRows, n_features: int, n_classes: int, width: int) -> float:
    """Multiply-adds of a task over its CPU seconds, in thousand millions."""
    tree_tasks._BLOCK_CLASSES = width
    shared, task = made(rows, n_features, n_classes, np.random.default_rng(1))
    price_task(
        shared, task._replace(last=min(width, n_classes)), Clock()
    )  # fresh memory is slow at the first touch
    started = time.process_time()
    price_task(shared, task, Clock())
    seconds = time.process_time() - started
    tree_tasks.release_scratch()
    found = len(rows.indices) * n_classes / seconds / 1e9
    print(f"{n_classes} classes, {width} at a time: {seconds:.1f} CPU s, {found:.2f} Gmac/s", flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--classes", type=int, default=128)
    parser.add_argument("--width", type=int, default=tree_tasks._BLOCK_CLASSES, help="classes at a time")
    parser.add_argument("--least", type=float, default=1.3)
    arguments = parser.parse_args()
    n_rows, n_features, entries = (int(arguments.share * size) for size in (ROWS, FEATURES, ENTRIES))
    few = draw_rows(1000, 500, 20_000, np.random.default_rng(0))
    speed(few, 500, 8, 8)  # load the kernels
    rows = draw_rows(n_rows, n_features, entries, np.random.default_rng(0))
    print(f"{n_rows:,} rows, {n_features:,} features, {len(rows.indices):,} entries", flush=True)
    speed(rows, n_features, OLD_WIDTH, OLD_WIDTH)
    found = speed(rows, n_features, arguments.classes, arguments.width)
    print(f"pricing {found:.2f} Gmac/s (bar {arguments.least:g})")
    return int(found < arguments.least)


if __name__ == "__main__":
    sys.exit(main())
