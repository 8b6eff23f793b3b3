"""What the first fits on a fresh installation spend on compilation: CPU seconds per method, with no kernels kept.

    python benchmarks/bench_first_fit.py [METHOD ...]

First the default, in processes of its own and with an empty cache of kernels each: TextClassifier() on eight texts, and
TaxonomyClassifier() on 60 and on 300 generated sparse rows. Then, in another process that begins with no kernels,
NormalizedHierarchicalSVM and every other method of the registry (or those named, by class name), which learn 300
generated sparse rows. Counted is what Numba spends.
Other work on the machine makes all of it slower. So one small kernel is compiled first, on every run: where that takes
longer than on the quiet machine on which the bars were set, they are raised by the same factor. Exits with 1 when a
default or the first method is above 10 seconds, or another above 5.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from itertools import pairwise
from typing import Any

FIRST, FIRST_BAR, FURTHER_BAR = "NormalizedHierarchicalSVM", 10.0, 5.0
DEFAULTS = ("TextClassifier, 8 texts", "TaxonomyClassifier, 60 rows", "TaxonomyClassifier, 300 rows")
TEXTS = ["meow purr whiskers", "woof bark tail", "acorn leaf trunk", "petal thorn red"] * 2
PATHS = ["Animal/Cat", "Animal/Dog", "Plant/Oak", "Plant/Rose"] * 2
QUIET_REFERENCE = 0.2  # CPU seconds of compiling the reference kernel, nothing else running


def reference_seconds() -> float:
    """Compile one kernel of fixed size."""
    import numba
    import numpy as np

    @numba.njit(nogil=True)  # type: ignore[untyped-decorator]
    def smallest_sums(rows: Any, out: Any) -> Any:
        order = np.empty(rows.shape[0], dtype=np.int64)
        size = 0
        for i in range(rows.shape[0]):
            out[i] = 0.0
            for j in range(rows.shape[1]):
                out[i] += rows[i, j] * rows[i, j]
            place = size
            while place > 0 and out[order[place - 1]] > out[i]:
                order[place] = order[place - 1]
                place -= 1
            order[place] = i
            size += 1
        return order[: min(size, 10)].copy()

    began = time.process_time()
    smallest_sums(np.ones((3, 2)), np.empty(3))
    return time.process_time() - began


def run(names: list[str]) -> None:
    """Fit one method after the other; a line of JSON per method."""
    import numpy as np
    from numba.core import event

    from taxolearn import ClassGraph, TaxonomyClassifier, TextClassifier
    from taxolearn.datasets import make_text_like
    from taxolearn.registry import method_of

    class Compiling(event.Listener):  # type: ignore[misc]
        """Adds up what compilations take that are not part of another."""

        depth, began, seconds = 0, 0.0, 0.0

        def on_start(self, event: Any) -> None:
            if self.depth == 0:
                self.began = time.process_time()
            self.depth += 1

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            if self.depth == 0:
                self.seconds += time.process_time() - self.began

    warnings.simplefilter("ignore")
    reference_seconds()  # loads LLVM
    print(json.dumps({"reference": reference_seconds()}), flush=True)
    listener = Compiling()
    event.register("numba:compile", listener)
    data = make_text_like(300, 500, 20, 30, depth=3, random_state=np.random.default_rng(0))
    graph = ClassGraph.from_edges(list(pairwise(data.taxonomy.leaves)))
    for name in names:
        X, y = data.X, data.y
        model: Any
        if name == DEFAULTS[0]:
            X, y = TEXTS, PATHS
            model = TextClassifier(random_state=0)
        elif name in DEFAULTS:
            n_rows = int(name.split()[1])
            X, y = X[:n_rows], y[:n_rows]
            model = TaxonomyClassifier(data.taxonomy, random_state=0)
        else:
            method = method_of(name)
            if method is None:
                raise SystemExit(f"no method is called {name}")
            taken = method.kind().get_params()
            model = method.kind(graph=graph) if "graph" in taken else method.kind(data.taxonomy)
        listener.seconds, began = 0.0, time.process_time()
        model.fit(X, y)
        print(
            json.dumps({"method": name, "compiled": listener.seconds, "all": time.process_time() - began}),
            flush=True,
        )


def above_bars(names: list[str]) -> int:
    """Fit these in a new process with no kernels kept; print what each took, and return how many took too much."""
    above, factor = 0, 1.0
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "XDG_CACHE_HOME": folder, "NUMBA_CACHE_DIR": ""}
        environment.pop("TAXOLEARN_CACHE", None)
        command = [sys.executable, __file__, "--run", *names]
        done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    for line in done.stdout.splitlines():
        found = json.loads(line)
        if "reference" in found:
            factor = max(1.0, found["reference"] / QUIET_REFERENCE)
            print(
                f"reference kernel {found['reference']:.2f} CPU s (quiet {QUIET_REFERENCE:g}), bars x {factor:.2f}"
            )
            continue
        bar = factor * (FIRST_BAR if found["method"] in (FIRST, *DEFAULTS) else FURTHER_BAR)
        above += found["compiled"] > bar
        said = f"{found['method']:28} {found['compiled']:6.2f} s of compilation, {found['all']:6.2f} s in all"
        print(f"{said}{' ABOVE' if found['compiled'] > bar else ''}", flush=True)
    return above


def main(names: list[str]) -> int:
    from taxolearn.registry import METHODS

    every = [FIRST, *(method.class_name for method in METHODS if method.class_name != FIRST)]
    names = [FIRST, *(name for name in names if name != FIRST)] if names else every
    above = sum(above_bars(few) for few in [*([name] for name in DEFAULTS), names])
    print(
        f"{above} of {len(DEFAULTS) + len(names)} above their bar: {FIRST_BAR:g} s first, {FURTHER_BAR:g} s further"
    )
    return int(above > 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(sys.argv[2:])
        sys.exit(0)
    sys.exit(main(sys.argv[1:]))
