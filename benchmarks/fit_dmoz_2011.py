"""DMOZ-2011's shape in full, certified to 5e-2: a fit of hours that goes on where it was cut.

    python benchmarks/fit_dmoz_2011.py FOLDER [--share 1.0] [--jobs 2] [--tol 0.05]

FOLDER keeps the duals (`checkpoint`) and a line for each pass of every run (passes.jsonl), with the CPU seconds of all
runs so far and the peak memory of this one: start it again after it was cut, and it goes on. The last line tells the
certified gap, CPU hours and memory; without it the last pass tells how far it came. Rows are generated
(394,756 x 594,158, 27,875 classes). Exit code 1: above the gap, 6 CPU hours or 4 GB.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
import warnings
from pathlib import Path

from taxolearn import RecursiveSVM
from taxolearn.datasets import SHAPES, make_text_like
from taxolearn.engines import listening

MOST_HOURS, MOST_GIGABYTES = 6.0, 4.0


def peak_gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> int:
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tol", type=float, default=0.05)
    parser.add_argument("--keep-every", type=float, default=600.0, help="seconds between checkpoints")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    passes = arguments.folder / "passes.jsonl"
    lines = passes.read_text().splitlines() if passes.exists() else []
    before = json.loads(lines[-1])["cpu"] if lines else 0.0
    shape = SHAPES["dmoz_2011"]
    sizes = [
        int(arguments.share * size)
        for size in (shape.n_rows, shape.n_features, shape.n_leaves, shape.n_nodes)
    ]
    data = make_text_like(
        *sizes,
        depth=shape.depth,
        labels_per_row=shape.labels_per_row,
        mean_length=shape.mean_length,
        random_state=0,
    )
    print(
        f"{data.X.shape[0]:,} rows x {data.X.shape[1]:,}, {data.X.nnz:,} entries, {sizes[2]:,} classes",
        flush=True,
    )
    started = time.process_time()

    def tell(done: int, _total: int, gap: float) -> None:
        found = {
            "percent": done,
            "gap": gap,
            "cpu": before + time.process_time() - started,
            "gigabytes": peak_gigabytes(),
        }
        with passes.open("a") as file:
            file.write(json.dumps(found) + "\n")
        print(
            f"pass {done}: gap {gap:.4f}, {found['cpu'] / 3600:.2f} CPU h, {found['gigabytes']:.2f} GB",
            flush=True,
        )

    model = RecursiveSVM(
        data.taxonomy,
        tol=arguments.tol,
        n_jobs=arguments.jobs,
        random_state=0,
        checkpoint=arguments.folder / "duals",
        checkpoint_seconds=arguments.keep_every,
    )
    with listening(tell):
        model.fit(data.X, data.y)
    hours = (before + time.process_time() - started) / 3600
    gap = model.certificate_.gap
    print(
        f"certified gap {gap:.2e} (asked for {arguments.tol:g}), {hours:.2f} CPU h (bar {MOST_HOURS:g}), "
        f"{peak_gigabytes():.2f} GB (bar {MOST_GIGABYTES:g})"
    )
    return int(gap > arguments.tol or hours > MOST_HOURS or peak_gigabytes() > MOST_GIGABYTES)


if __name__ == "__main__":
    sys.exit(main())
