"""A fit at DMOZ-2010's shape that is stopped by Ctrl-C, by `max_seconds`, and then finished with `warm_start`.

    python benchmarks/bench_resume.py [--shape dmoz_2010] [--seconds 300] [--test-rows 200]

RecursiveSVM with its defaults (squared hinge, C = 1, certified gap 5e-2) on text-like data, two threads. The first fit
gets a real SIGINT after so many seconds, the second, warm-started, stops at `max_seconds` of as much, the third
goes on to the end. After every one the weights must predict and the certificate must hold what it says. The dual must
rise from one to the next and the gap must fall: weights in the middle of a pass may be worse than those before it, but
then the better ones stay. The last gap must be within `tol`, like that of a fit that nobody stopped.

Prints the three gaps last; exits with 1 if the dual does not rise, if a gap does, if fewer than nine of ten of the
training rows tried are right, or if the last gap is above `tol`.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
import warnings

import numpy as np
from _large import as_if_large

from taxolearn import RecursiveSVM
from taxolearn.datasets import make_text_like


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shape", default="dmoz_2010")
    parser.add_argument(
        "--seconds", type=float, default=300.0, help="after which the first two fits are stopped"
    )
    parser.add_argument("--test-rows", type=int, default=200)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # the gaps are printed
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a script in the background has it ignored
    small = make_text_like(200, 40_000, 20, 27, depth=3, random_state=0)
    with as_if_large():
        RecursiveSVM(small.taxonomy, tol=5e-2, n_jobs=2).fit(small.X, small.y)  # compiles
    data = make_text_like(shape=arguments.shape, random_state=0)
    rows = np.random.default_rng(0).choice(data.X.shape[0], arguments.test_rows, replace=False)
    wanted = np.array(data.y, dtype=object)[rows]
    model = RecursiveSVM(data.taxonomy, tol=5e-2, warm_start=True, n_jobs=2, random_state=0)
    gaps, duals, shares, status = [], [], [], []
    for stop in ("Ctrl-C", "max_seconds", "end"):
        model.set_params(max_seconds=arguments.seconds if stop == "max_seconds" else None)
        key = threading.Timer(arguments.seconds, os.kill, (os.getpid(), signal.SIGINT))
        began, cpu = time.perf_counter(), time.process_time()
        if stop == "Ctrl-C":
            key.start()
        model.fit(data.X, data.y)
        key.cancel()
        found = model.certificate_
        gaps.append(found.gap)
        duals.append(found.dual)
        status.append(found.status.value)
        right = np.mean(model.predict(data.X[rows]) == wanted)
        shares.append(right)
        print(
            f"{stop:11} {found.status.value:12} certified gap {found.gap:.3e}  primal {found.primal:.1f}  dual "
            f"{found.dual:.1f}  {model.n_iter_} passes  {time.perf_counter() - began:.0f} s wall, "
            f"{time.process_time() - cpu:.0f} s CPU  {100 * right:.1f}% of {len(rows)} training rows right",
            flush=True,
        )
    good = duals[0] < duals[1] < duals[2] and gaps[0] > gaps[1] > gaps[2]
    good = good and min(shares) >= 0.9 and gaps[2] <= model.tol
    good = good and status == ["interrupted", "time limit", "converged"]
    print(f"certified gaps: {', '.join(f'{gap:.3g}' for gap in gaps)} (the last at most {model.tol:g})")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
