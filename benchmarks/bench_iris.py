"""Every method on iris, 150 rows, warm: CPU milliseconds per fit.

    python benchmarks/bench_iris.py [REPEATS]

All methods at their defaults, over a taxonomy of two species in a genus of their own, or a graph with an edge between
them. The first fit, which compiles, does not count; of the further ones the median does. It exits with 1 when a method
takes more than 20 ms.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
from sklearn.datasets import load_iris
from threadpoolctl import threadpool_limits

from taxolearn import ClassGraph, Taxonomy
from taxolearn.registry import METHODS

BAR = 20.0
NAMES = np.array(["setosa", "versicolor", "virginica"])
TREE = Taxonomy.from_paths(["flowers/setosa", "flowers/others/versicolor", "flowers/others/virginica"])
GRAPH = ClassGraph.from_edges([("versicolor", "virginica"), ("setosa", "versicolor", 0.1)])


def made(kind: Any) -> Any:
    """The method at its defaults, over the structure that it takes."""
    wanted = {"graph": GRAPH, "taxonomy": TREE}
    return kind(**{name: value for name, value in wanted.items() if name in kind().get_params()})


def main(repeats: int) -> int:
    X, numbers = load_iris(return_X_y=True)
    y = NAMES[numbers]
    slowest = 0.0
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        for method in METHODS:
            model = made(method.kind)
            model.fit(X, y)
            times = []
            for _ in range(repeats):
                began = time.process_time()
                model.fit(X, y)
                times.append(1e3 * (time.process_time() - began))
            median = float(np.median(times))
            slowest = max(slowest, median)
            print(
                f"{method.class_name:26} {median:7.2f} ms, least {min(times):7.2f}, gap {model.certificate_.gap:.1e}, "
                f"{np.mean(model.predict(X) == y):.3f} of the rows right{'' if median <= BAR else ' ABOVE'}",
                flush=True,
            )
    print(f"slowest {slowest:.2f} ms (bar {BAR:g})")
    return int(slowest > BAR)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else 20))
