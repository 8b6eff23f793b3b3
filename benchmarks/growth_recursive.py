"""How CPU seconds and memory of RecursiveSVM grow with rows, leaves and non-zeros: exponents and a plot.

    python benchmarks/growth_recursive.py [--plot growth.png] [--steps 4]

Text-like sets; one size is doubled step by step while the others stay. Each fit (squared hinge, C = 1, the default gap
of 5e-2, one thread, certificate included) has a process of its own. Memory is its peak above the loaded data and
the compiled kernels. The exponent is the slope of the logarithms by least squares, with its standard error.

The figure printed last is the largest exponent of the seconds; above LIMIT the script exits with 1.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from _large import as_if_large
from scipy.stats import linregress

FEATURES = 300_000  # with 500 leaves or more weights are sparse, as at large sizes
BASE = {"rows": 10_000, "leaves": 500, "length": 50}
LIMIT = 2.0  # one-vs-rest is linear in rows x leaves x length; the rows of a class's border grow too


def one(rows: int, leaves: int, length: int) -> dict[str, float]:
    """Fit one set; seconds, megabytes above the data, non-zeros and the certified gap."""
    import warnings

    from taxolearn import RecursiveSVM
    from taxolearn.datasets import make_text_like

    warnings.simplefilter("ignore")
    sizes = {"depth": 4, "mean_length": float(length), "random_state": 0}
    data = make_text_like(rows, FEATURES, leaves, leaves + leaves // 3, **sizes)
    small = make_text_like(200, FEATURES, 20, 27, depth=3, random_state=0)
    model = RecursiveSVM(small.taxonomy, n_jobs=1).fit(small.X, small.y)  # compiles
    with as_if_large():
        model.fit(small.X, small.y)
    ctypes.CDLL(None).malloc_trim(0)
    watch = Watch()
    model = RecursiveSVM(data.taxonomy, n_jobs=1, random_state=0)
    began = time.process_time()
    model.fit(data.X, data.y)
    seconds = time.process_time() - began
    return {"seconds": seconds, "megabytes": watch.grown(), "gap": model.certificate_.gap, "nnz": data.X.nnz}


class Watch:
    """Peak resident memory above what there was at the start, in MB."""

    def __init__(self) -> None:
        self.start = self.peak = self._resident()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._follow, daemon=True)
        self.thread.start()

    def _resident(self) -> float:
        try:
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            return pages * resource.getpagesize() / 2**20
        except OSError:  # no such file: the high-water mark of the process
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    def _follow(self) -> None:
        while not self.over.wait(0.005):
            self.peak = max(self.peak, self._resident())

    def grown(self) -> float:
        self.over.set()
        self.thread.join()
        return max(self.peak, self._resident()) - self.start


def measure(steps: int) -> dict[str, list[dict[str, float]]]:
    found: dict[str, list[dict[str, float]]] = {}
    for name in BASE:
        found[name] = []
        for step in range(steps):
            sizes = {**BASE, name: BASE[name] * 2**step}
            command = [sys.executable, __file__, "--one", *(str(value) for value in sizes.values())]
            line = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            result = json.loads(line)
            result["size"] = result["nnz"] if name == "length" else sizes[name]
            found[name].append(result)
            print(
                f"{name:7} {result['size']:>9.0f}  non-zeros {result['nnz']:>9.0f}  {result['seconds']:8.2f} s CPU  "
                f"{result['megabytes']:8.1f} MB  gap {result['gap']:.1e}",
                flush=True,
            )
    return found


def exponents(found: dict[str, list[dict[str, float]]]) -> dict[str, dict[str, Any]]:
    slopes: dict[str, dict[str, Any]] = {}
    for name, results in found.items():
        sizes = np.log([result["size"] for result in results])
        slopes[name] = {}
        for what in ("seconds", "megabytes"):
            fit = linregress(sizes, np.log([result[what] for result in results]))
            slopes[name][what] = fit
            label = "non-zeros" if name == "length" else name
            print(f"{what:9} grow as {label} ** {fit.slope:.2f} (+- {fit.stderr:.2f})")
    return slopes


def plot(found: dict[str, list[dict[str, float]]], slopes: dict[str, dict[str, Any]], path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, len(found), figsize=(11, 6.5), constrained_layout=True)
    for column, (name, results) in enumerate(found.items()):
        sizes = np.array([result["size"] for result in results])
        for row, (what, label) in enumerate((("seconds", "CPU seconds"), ("megabytes", "MB above the data"))):
            axis, fit = axes[row, column], slopes[name][what]
            values = [result[what] for result in results]
            axis.loglog(sizes, values, "o", color="C0")
            axis.loglog(sizes, np.exp(fit.intercept) * sizes**fit.slope, "-", color="C1", lw=1)
            axis.set_title(f"exponent {fit.slope:.2f} ± {fit.stderr:.2f}", fontsize=10)
            axis.set_xlabel("non-zeros of X" if name == "length" else name)
            axis.set_xticks(sizes, [f"{size:,.0f}" for size in sizes])
            ends = [min(values), max(values)]
            axis.set_yticks(ends, [f"{value:.3g}" for value in ends])
            axis.minorticks_off()
            axis.grid(alpha=0.3)
            if column == 0:
                axis.set_ylabel(label)
    figure.suptitle("RecursiveSVM, squared hinge, certified gap 5e-2, one thread")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=4, help="sizes of each kind, at least 4")
    parser.add_argument("--plot", default="growth.png", help="where the plot is written")
    parser.add_argument("--one", type=int, nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(one(*arguments.one)))
        return 0
    found = measure(arguments.steps)
    slopes = exponents(found)
    plot(found, slopes, arguments.plot)
    largest = max(fits["seconds"].slope for fits in slopes.values())
    print(f"largest exponent of the seconds {largest:.2f} (limit {LIMIT})")
    return 0 if largest <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
