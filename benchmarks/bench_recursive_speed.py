"""CPU time of recursive regularization on trees (tree sweeps) against LinearSVC one-vs-rest.

    python benchmarks/bench_recursive_speed.py FOLDER_OF_DATA [lshtc ipc dmoz] [--prior -1] [--gap 0.05]

Squared hinge, C = 1, intercept, pinned root, a_n = 1. Each solve has a process of its own, so that its peak
memory can be told. taxolearn's time is the solve and the exact certificate over all rows and classes; compilation is
not in it, nor is the compiler's memory (another process compiles first). LinearSVC runs in the same process; where all
classes would take too long it is fitted on a sample: the sampled classes and "the rest", less the time of "the rest"
alone, times classes / sample. lshtc takes seconds only, of which the first touch of fresh memory is a good part: there
both run five times by turns and the medians count. The seconds are CPU seconds of all threads. Without names all three
run; dmoz takes a while. The bars are for the intercept as LinearSVC has it, b0 = 0; --prior gives another one. Peak
memory is that of the whole process.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from _data import load, narrow
from _large import as_if_large
from sklearn.svm import LinearSVC

from taxolearn.certificates import certify
from taxolearn.datasets import make_text_like
from taxolearn.engines import ThreadEngine
from taxolearn.kernels import rows
from taxolearn.losses import SquaredHinge
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, tree_sweeps
from taxolearn.solvers.base import Progress
from taxolearn.solvers.tree_sweeps import solve_tree_sweeps
from taxolearn.ties import path_sum


class Case(NamedTuple):
    """What is run and what it may take: gap -> ratio of CPU seconds; sample = classes LinearSVC is fitted on."""

    limits: dict[float, float]
    sample: int | None
    megabytes: float | None = None
    repeats: int = 1


CASES = {
    "lshtc": Case({1e-2: 1.0}, None, repeats=5),
    "ipc": Case({2e-2: 0.35}, 24),
    "dmoz": Case({1e-1: 0.07, 5e-2: 0.07}, 24, 1.2 * 1024),
}


def rows_of(folder: str, name: str) -> tuple[Any, Any, Any]:
    if name == "lshtc":
        X, y, _, _, taxonomy = load(folder, "lshtc1_dryrun")
        return X, y, taxonomy
    data = make_text_like(shape={"ipc": "ipc", "dmoz": "dmoz_2010"}[name], random_state=0)
    return data.X, np.array(data.y, dtype=object), data.taxonomy


def problem_of(X: Any, y: Any, taxonomy: Any) -> tuple[Any, Any]:
    problem = make_problem(X, list(y), taxonomy)
    scale = np.ones(taxonomy.n_nodes)
    scale[0] = 0.0
    return problem, path_sum(taxonomy, problem.class_nodes, scale)


def liblinear_seconds(X: Any, y: Any, sample: int | None) -> float:
    """CPU seconds of LinearSVC over all classes, extrapolated from a sample of them if one is given."""
    X = narrow(X.astype(np.float64))
    _, numbers = np.unique(y.astype(str), return_inverse=True)
    n_classes = int(numbers.max()) + 1

    def fit(target: Any) -> float:
        started = time.process_time()
        LinearSVC(C=1.0, dual=True, random_state=0).fit(X, target)
        return time.process_time() - started

    if sample is None or sample >= n_classes:
        return fit(numbers)
    chosen = np.random.default_rng(0).choice(n_classes, sample, replace=False)
    few = np.where(np.isin(numbers, chosen), numbers, -1)
    rest = fit(few >= 0)  # one binary problem, which the fit of the sample has as well
    return (fit(few) - rest) * n_classes / sample


def peak_memory() -> float:
    """Of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def compile_kernels() -> None:
    """Solve and certify a few rows in a process of its own: the kernels for problems of all sizes are kept."""
    data = make_text_like(60, 200, 6, 10, depth=2, random_state=0)
    problem, tie = problem_of(data.X, np.array(data.y, dtype=object), data.taxonomy)
    objective = Objective(problem, SquaredHinge(), tie)
    many_pairs, few_bytes = tree_sweeps._MANY_PAIRS, rows._FEW_BYTES
    for tree_sweeps._MANY_PAIRS, rows._FEW_BYTES in (
        (many_pairs, few_bytes),
        (0, few_bytes),
        (many_pairs, 0),
        (0, 0),
    ):
        for size in (nullcontext, as_if_large):
            with size():
                certify(objective, solve_tree_sweeps(objective, Limits(0.5, max_iter=2)))


def run(folder: str, name: str, bias_prior: float) -> dict[str, Any]:
    """Solve to each gap from a cold start; returns seconds, gaps and the growth of the peak memory."""
    X, y, taxonomy = rows_of(folder, name)
    problem, tie = problem_of(X, y, taxonomy)
    loaded = peak_memory()
    times: dict[str, list[tuple[float, float]]] = {}
    gaps, liblinear, peaks = {}, [], []
    for _ in range(CASES[name].repeats):
        for gap in sorted(CASES[name].limits, reverse=True):
            seconds, gaps[str(gap)] = solve_once(name, problem, tie, gap, bias_prior)
            times.setdefault(str(gap), []).append(seconds)
        peaks.append(peak_memory())
        liblinear.append(liblinear_seconds(X, y, CASES[name].sample))
    return {
        "times": {gap: np.median(found, axis=0).tolist() for gap, found in times.items()},
        "gaps": gaps,
        "growth": peaks[0] - loaded,
        "peak": peaks[0],  # before LinearSVC
        "liblinear": float(np.median(liblinear)),
    }


def solve_once(
    name: str, problem: Any, tie: Any, gap: float, bias_prior: float
) -> tuple[tuple[float, float], float]:
    """CPU seconds of a cold solve and of its certificate, and the certified gap."""
    started = time.process_time()

    def tell(progress: Progress, _dual: Any) -> None:
        seconds = time.process_time() - started
        reached = f"gap {progress.gap:.4f}, cpu {seconds:.1f} s, peak {peak_memory():.0f} MB"
        print(f"  {name} pass {progress.done}: {reached}", file=sys.stderr, flush=True)

    objective = Objective(problem, SquaredHinge(), tie, bias_prior=bias_prior)
    with ThreadEngine(2) as engine:
        solution = solve_tree_sweeps(objective, Limits(gap, engine=engine), None, tell)
        solved = time.process_time() - started
        certificate = certify(objective, solution)
    return (solved, time.process_time() - started - solved), certificate.gap


def main() -> int:
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*", choices=[*CASES, []], help="all by default")
    parser.add_argument("--prior", type=float, default=0.0, help="b0 of the intercept")
    parser.add_argument("--gap", type=float, help="only this one")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--compile", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.gap is not None:
        for name, case in CASES.items():
            only = {gap: limit for gap, limit in case.limits.items() if gap == arguments.gap}
            CASES[name] = case._replace(limits=only)
        if not any(case.limits for case in CASES.values()):
            parser.error(f"no shape is run to a gap of {arguments.gap:g}")
    if arguments.compile:
        compile_kernels()
        return 0
    if arguments.alone:
        print(json.dumps(run(arguments.folder, arguments.names[0], arguments.prior)))
        return 0
    short = []
    subprocess.run([sys.executable, __file__, arguments.folder, "--compile"], check=True)
    for name in arguments.names or CASES:
        case = CASES[name]
        for gap, limit in case.limits.items():
            command = [sys.executable, __file__, arguments.folder, name, "--alone"]
            command += ["--prior", str(arguments.prior), "--gap", str(gap)]
            result = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
            sampled = "" if case.sample is None else f" (extrapolated from {case.sample} classes)"
            (solved, proved), certified = result["times"][str(gap)], result["gaps"][str(gap)]
            ratio = (solved + proved) / result["liblinear"]
            print(
                f"{name:6} gap {gap:g} (certified {certified:.2e})  solve {solved:.1f} s + certificate "
                f"{proved:.1f} s  LinearSVC {result['liblinear']:.1f} s{sampled}  ratio {ratio:.3f} "
                f"(limit {limit})",
                flush=True,
            )
            if ratio > limit or certified > gap:
                short.append(f"{name} at {gap:g}: {ratio:.3f}")
            least = "" if case.megabytes is None else f" (limit {case.megabytes:.0f})"
            print(
                f"{name:6} peak memory {result['peak']:.0f} MB{least}, {result['growth']:.0f} MB above the loaded data"
            )
            if case.megabytes is not None and result["peak"] > case.megabytes:
                short.append(f"{name} at {gap:g}: {result['peak']:.0f} MB")
    print("all within their limits" if not short else "fell short: " + ", ".join(short))
    return int(bool(short))


if __name__ == "__main__":
    sys.exit(main())
