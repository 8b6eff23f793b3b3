"""What large fits cost, phase by phase, measured at small sizes and predicted for the published ones: docs/scaling.md.

    python benchmarks/table_scaling.py POINTS [--only dmoz_2011 1/16] [--page docs/scaling.md]

RecursiveSVM's objective (squared hinge, pinned root) is solved at shares of the shapes of DMOZ-2011 and SWIKI-2011,
to a gap of 5e-2 or for a dozen passes, and certified. Every task is timed (CPU), and its bytes are counted as another
process would get and return them. POINTS is a file with a line per measured size: sizes that it has are not measured
again, so that the script may be cut and go on; table_scaling.jsonl beside this file has those of the page. Without
--only all are measured, the smallest first, and the page is printed; --page writes it of what there is.

The model: CPU of a phase of one pass is a power of the products of one pricing (entries of X times classes), fitted to
each phase and shape. It is checked on the largest measured size, fitted to the others only. Workers divide tasks
evenly, but a tree that is swept is one task; bytes go through the driver at 1 Gbit/s.
"""

from __future__ import annotations

import argparse
import json
import pickle
import resource
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from taxolearn.certificates import certify
from taxolearn.datasets import SHAPES, make_text_like
from taxolearn.engines import Clock, SerialEngine
from taxolearn.engines.elsewhere import pack
from taxolearn.losses import SquaredHinge
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits
from taxolearn.solvers.tree_forest import make_forest
from taxolearn.solvers.tree_sweeps import solve_tree_sweeps
from taxolearn.ties import path_sum

TOL, MOST_PASSES = 5e-2, 12
SHARES = {
    "dmoz_2011": ("1/64", "1/32", "1/16", "1/8", "1/4"),
    "swiki_2011": ("1/64", "1/32", "1/16", "1/8", "1/4"),
}
PAPER_MINUTES = {"dmoz_2011": 58, "swiki_2011": 89, "lwiki": 2230}
NAMES = {"dmoz_2011": "DMOZ-2011", "swiki_2011": "SWIKI-2011", "lwiki": "LWIKI"}
WORKERS = (1, 8, 64, 512)
BYTES_A_SECOND = 1.25e8  # of the driver's network
PHASES = {
    "sweep_task": "sweeps",
    "price_task": "pricing",
    "_class_losses": "certificate",
    "_squares_of": "certificate",
}
MEASURED = ("sweeps", "longest sweep", "pricing", "certificate", "alone")


class Metered(SerialEngine):
    """Runs tasks one after the other, and notes CPU seconds and bytes of each kind of task."""

    def __init__(self) -> None:
        self.cpu: dict[str, float] = defaultdict(float)
        self.longest: dict[str, float] = defaultdict(float)  # summed over calls of `map`
        self.sent: dict[str, float] = defaultdict(float)
        self.received: dict[str, float] = defaultdict(float)
        self.shared = 0
        self.tasks = 0.0

    def share(self, arrays: Any) -> Any:
        """As ever; the first is X and all that never changes, others are states."""
        if not self.shared:
            self.shared = len(pickle.dumps(arrays, protocol=5))
        return arrays

    def map(self, function: Any, shared: Any, tasks: Sequence[Any], clock: Clock, on_result: Any) -> Any:
        """As ever, with a look at the clock and at the bytes."""
        named = shared[0] if isinstance(shared, tuple) and callable(shared[0]) else function
        phase, longest = PHASES.get(named.__name__, "other"), [0.0]

        def metered(known: Any, task: Any, clock: Clock) -> Any:
            started = time.process_time()
            result = function(known, task, clock)
            seconds = time.process_time() - started
            self.cpu[phase] += seconds
            longest[0] = max(longest[0], seconds)
            return result

        def noted(task: Any, result: Any) -> None:
            started = time.process_time()
            self.sent[phase] += len(pack(function, None, task)[0])
            self.received[phase] += len(pickle.dumps(result, protocol=5))
            self.tasks -= time.process_time() - started  # what is measured is not part of the fit
            on_result(task, result)

        outcome = super().map(metered, shared, tasks, clock, noted)
        self.longest[phase] += longest[0]
        return outcome


class Size(NamedTuple):
    """How large a problem is."""

    rows: int
    features: int
    classes: int
    entries: float

    @property
    def products(self) -> float:
        """Of one pricing."""
        return self.entries * self.classes


def sizes_of(shape: str, share: Fraction) -> list[int]:
    base = SHAPES[shape]
    return [int(share * size) for size in (base.n_rows, base.n_features, base.n_leaves, base.n_nodes)]


def measure(shape: str, share: str) -> dict[str, Any]:
    """One size: CPU seconds and bytes of all phases, and how far it came."""
    data = make_text_like(*sizes_of(shape, Fraction(share)), shape=shape, random_state=0)
    problem = make_problem(data.X, list(data.y), data.taxonomy)
    scale = np.ones(data.taxonomy.n_nodes)
    scale[0] = 0.0
    objective = Objective(
        problem, SquaredHinge(), path_sum(data.taxonomy, problem.class_nodes, scale), bias_prior=-1.0
    )
    # kernels as they will be called, compiled or loaded
    solve_tree_sweeps(objective, Limits(0.9, max_iter=1, engine=SerialEngine()))
    meter, proof = Metered(), Metered()
    started = time.process_time()
    solution = solve_tree_sweeps(objective, Limits(TOL, max_iter=MOST_PASSES, engine=meter))
    certificate = certify(objective, solution, proof)
    whole = time.process_time() - started + meter.tasks + proof.tasks
    forest = make_forest(objective.tie, problem.counted)
    trees = forest.last[forest.tops] - forest.first[forest.tops]
    inside = sum(meter.cpu.values()) + sum(proof.cpu.values())
    return {
        "shape": shape,
        "share": share,
        "rows": problem.n_rows,
        "features": problem.n_features,
        "classes": problem.n_classes,
        "entries": int(data.X.nnz),
        "passes": solution.n_iter,
        "gap": certificate.gap,
        "unfolding": forest.unfolding,
        "trees": len(trees),
        "largest tree": float(trees.max() / trees.sum()),
        "duals": int(solution.dual.nnz),
        "sweeps": meter.cpu["sweeps"],
        "longest sweep": meter.longest["sweeps"],
        "pricing": meter.cpu["pricing"],
        "certificate": sum(proof.cpu.values()),
        "alone": max(0.0, whole - inside),
        "shared bytes": meter.shared,
        "state bytes": sum(meter.sent.values()) + sum(meter.received.values()),
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def a_pass(point: dict[str, Any], phase: str) -> float:
    """CPU seconds of a phase, of one pass where there are several."""
    return float(point[phase] / (1 if phase == "certificate" else point["passes"]))


class Law(NamedTuple):
    """log cost = start + power * log products."""

    start: float
    power: float

    def at(self, products: float) -> float:
        """The cost of so many products."""
        return float(np.exp(self.start + self.power * np.log(products)))


def fitted(points: list[dict[str, Any]], phase: str) -> Law:
    """Least squares in the logarithms; products cost at least as much when there are more, from the largest size on."""
    x = np.log([point["entries"] * point["classes"] for point in points])
    y = np.log([max(a_pass(point, phase), 1e-3) for point in points])
    power, start = np.polyfit(x, y, 1)
    if phase in ("pricing", "certificate") and power < 1.0:
        power, start = 1.0, y[np.argmax(x)] - x.max()
    return Law(float(start), float(power))


def predicted(points: list[dict[str, Any]], products: float) -> dict[str, float]:
    return {phase: fitted(points, phase).at(products) for phase in MEASURED}


def wall_hours(a_pass: dict[str, float], passes: float, shared: float, states: float, workers: int) -> float:
    """Hours on so many workers: tasks divide evenly but for the longest tree, and bytes go through the driver."""
    sweeps = max(a_pass["sweeps"] / workers, a_pass["longest sweep"])
    seconds = (
        passes * (sweeps + a_pass["pricing"] / workers + a_pass["alone"]) + a_pass["certificate"] / workers
    )
    if workers > 1:
        seconds += (passes * states + shared * workers / 8) / BYTES_A_SECOND  # eight workers a machine
    return seconds / 3600


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def main() -> int:
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("points", type=Path)
    parser.add_argument("--only", nargs=2, metavar=("SHAPE", "SHARE"), help="measure one size")
    parser.add_argument("--page", type=Path, help="write the page of what there is, and measure nothing")
    arguments = parser.parse_args()
    known = {(point["shape"], point["share"]) for point in read(arguments.points)}
    wanted = (
        [(shape, share) for shape, shares in SHARES.items() for share in shares]
        if arguments.only is None
        else [tuple(arguments.only)]
    )
    for shape, share in [] if arguments.page else sorted(wanted, key=lambda one: Fraction(one[1])):
        if (shape, share) not in known:
            point = measure(shape, share)
            with arguments.points.open("a") as file:
                file.write(json.dumps(point) + "\n")
            print(json.dumps(point), flush=True)
    if arguments.only is not None:
        return 0
    from _scaling_page import page

    text, error = page(read(arguments.points))
    if arguments.page:
        arguments.page.write_text(text)
    else:
        print(text)
    print(f"largest error on a size that the model did not see: {error:.0%} of its CPU")
    return int(error > 0.5)


if __name__ == "__main__":
    sys.exit(main())
