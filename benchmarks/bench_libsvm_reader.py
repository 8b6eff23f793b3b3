"""Read 100 MB of libsvm text: read_libsvm against scikit-learn's load_svmlight_file(multilabel=True).

Two files are generated in a temporary folder: numbers of six decimals, and numbers with all their digits.
Each reader reads each file `--repeats` times, in turn; the best time counts. Prints the worst ratio of CPU
times last and exits with 1 when it is above 1. The first call compiles the parser; an installed package keeps
the result.

    python benchmarks/bench_libsvm_reader.py [--megabytes 100] [--repeats 3]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from taxolearn.datasets import read_libsvm

FORMATS = {"six decimals": "%d:%.6f", "all digits": "%d:%.17g"}


def write_rows(path: Path, pair: str, megabytes: float) -> None:
    """Rows of about 100 features and 1 to 3 of 12,000 labels, the same block of rows again and again."""
    rng = np.random.default_rng(0)
    lines = []
    for length in rng.integers(30, 200, 2_000):
        indices = np.unique((300_000 * rng.random(length) ** 3).astype(np.int64)) + 1
        labels = ",".join(map(str, rng.choice(12_000, rng.integers(1, 4), replace=False)))
        values = rng.random(indices.size)
        pairs = " ".join(pair % cell for cell in zip(indices.tolist(), values.tolist(), strict=True))
        lines.append(f"{labels} {pairs}\n")
    block = "".join(lines).encode()
    with path.open("wb") as stream:
        for _ in range(max(1, round(megabytes * 1e6 / len(block)))):
            stream.write(block)


def timed(read: Callable[[], object]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    read()
    return time.process_time() - cpu, time.perf_counter() - wall


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=100.0)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "warm_up.svm")
        write_rows(path, FORMATS["six decimals"], 0.0)
        compiling = timed(lambda: read_libsvm(path))
        print(f"first call, compiling: {compiling[1]:.2f} s")
        for name, pair in FORMATS.items():
            path = Path(folder, "rows.svm")
            write_rows(path, pair, options.megabytes)
            readers: dict[str, Callable[[], object]] = {
                "taxolearn": partial(read_libsvm, path),
                "scikit-learn": partial(load_svmlight_file, str(path), multilabel=True, zero_based=False),
            }
            times = {reader: [(float("inf"), float("inf"))] for reader in readers}
            for _ in range(options.repeats):
                for reader, read in readers.items():
                    times[reader].append(timed(read))
            best = {
                reader: (min(t[0] for t in rounds), min(t[1] for t in rounds))
                for reader, rounds in times.items()
            }
            ours, theirs = best["taxolearn"], best["scikit-learn"]
            worst = max(worst, ours[0] / theirs[0])
            print(f"{name}, {path.stat().st_size / 1e6:.0f} MB:")
            for reader, (cpu, wall) in best.items():
                print(f"  {reader:<13} CPU {cpu:6.2f} s  wall {wall:6.2f} s")
            print(f"  ratio         CPU {ours[0] / theirs[0]:6.2f}    wall {ours[1] / theirs[1]:6.2f}")
    print(f"worst CPU ratio to scikit-learn's reader (1.0 is the limit): {worst:.2f}")
    return 1 if worst > 1.0 else 0


if __name__ == "__main__":
    sys.exit(main())
