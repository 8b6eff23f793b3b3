"""The structured solver against LIBLINEAR's Crammer-Singer solver and block-coordinate Frank-Wolfe, at IPC's shape.

    python benchmarks/bench_structured_speed.py [SHARE_OF_THE_ROWS]

One run, text-like rows (75,000 x 228,000, 553 nodes, 451 leaves), C = 1, intercept on everywhere:

- taxolearn on the flat problem (Crammer and Singer), HSVM and NHSVM to a certified gap of 1e-3, certificate included,
  on one thread and on two;
- LinearSVC(multi_class="crammer_singer") on the flat problem, at the loosest tolerance whose primal value is within
  1e-3 of taxolearn's lower bound: a gap that flatters it, as it proves no bound of its own;
- block-coordinate Frank-Wolfe on the flat problem to 1e-2, last or averaged iterate, whichever is there first; only
  its steps are timed, not the looks at its gap;
- peak memory of HierarchicalSVM.fit, certificate included, above the loaded data, in a process of its own, in units of
  dense float32 node weights (`SHARE --memory` measures only this).

CPU seconds are compared. Compilation is not counted: a small fit comes first.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
from sklearn.svm import LinearSVC

from taxolearn import HierarchicalSVM
from taxolearn.certificates import Certificate, certify
from taxolearn.datasets import make_text_like
from taxolearn.engines import ThreadEngine
from taxolearn.losses import structured_hinge
from taxolearn.objective import Objective
from taxolearn.problem import Problem, make_problem
from taxolearn.scales import node_weights
from taxolearn.solvers import Limits, solve_structured
from taxolearn.solvers import structured as solver
from taxolearn.solvers.structured import StructuredRun
from taxolearn.ties import flat, path_sum

GAP, ROUGH_GAP = 1e-3, 1e-2
LIBLINEAR_LIMIT, FRANK_WOLFE_LIMIT, MEMORY_LIMIT = 0.5, 3.0, 1.3
LIBLINEAR_TOLS = (0.1, 0.06, 0.04, 0.03, 0.02, 0.015, 0.01, 0.003, 0.001)
FRANK_WOLFE_PASSES = 150
KINDS = {"flat": "zero_one", "HSVM": "hamming", "NHSVM": "normalized"}


def make_rows(share: float) -> Problem:
    sizes = {} if share == 1.0 else {"n_rows": int(75_000 * share), "n_features": int(228_000 * share**0.65)}
    data = make_text_like(shape="ipc_75k", random_state=0, **sizes)
    return make_problem(data.X, data.y, data.taxonomy)


def make_objective(problem: Problem, kind: str) -> Objective:
    taxonomy = problem.taxonomy
    if kind == "flat":
        tie = flat(problem.n_classes)
    else:
        scale = np.ones(taxonomy.n_nodes)
        if kind == "NHSVM":
            scale = node_weights(taxonomy, "maxmin", class_nodes=problem.class_nodes)
        tie = path_sum(taxonomy, problem.class_nodes, scale)
    return Objective(problem, structured_hinge(problem, tie, KINDS[kind]), tie)


def fit(problem: Problem, kind: str, tol: float = GAP, n_jobs: int = 1) -> tuple[float, float, Certificate]:
    """CPU and wall seconds of a fit with its certificate, and the certificate."""
    objective = make_objective(problem, kind)
    cpu, wall = time.process_time(), time.perf_counter()
    with ThreadEngine(n_jobs) as engine:
        solution = solve_structured(objective, Limits(tol=tol, engine=engine))
        certificate = certify(objective, solution)
    spent = time.process_time() - cpu, time.perf_counter() - wall
    if not certificate.holds(tol):
        sys.exit(f"{kind}: the certified gap {certificate.gap:.2e} is above {tol:g}")
    return *spent, certificate


def compile_kernels(problem: Problem) -> None:
    few = problem.subset(np.arange(300))
    limit, solver._SINGLE_BYTES = solver._SINGLE_BYTES, 0  # single precision, as the large fits
    for kind in ("flat", "HSVM"):
        fit(few, kind, tol=0.5)
    fit(few, "flat", tol=0.5, n_jobs=2)
    frank_wolfe(few, 0.0, passes=1)
    solver._SINGLE_BYTES = limit


def liblinear(problem: Problem, bound: float) -> tuple[float, float]:
    """CPU seconds of LinearSVC at the loosest tolerance that comes within the gap of the bound, and its gap."""
    X, y = problem.X.astype(np.float64), problem.targets.indices
    for tol in LIBLINEAR_TOLS:
        model = LinearSVC(multi_class="crammer_singer", C=1.0, tol=tol, max_iter=1000, random_state=0)
        cpu = time.process_time()
        model.fit(X, y)
        cpu = time.process_time() - cpu
        primal = 0.5 * float((model.coef_**2).sum() + (model.intercept_**2).sum())
        for first in range(0, X.shape[0], 2000):
            scores = X[first : first + 2000] @ model.coef_.T + model.intercept_
            rows, own = np.arange(len(scores)), y[first : first + 2000]
            right = scores[rows, own].copy()
            scores += 1.0
            scores[rows, own] -= 1.0
            primal += float((scores.max(axis=1) - right).sum())
        gap = (primal - bound) / primal
        print(
            f"LinearSVC tol {tol:g}: {cpu:.1f} s CPU, {model.n_iter_} iterations, gap {gap:.2e}", flush=True
        )
        if gap <= GAP:
            return cpu, gap
    sys.exit("LinearSVC did not come within the gap at any tolerance tried")


def frank_wolfe(problem: Problem, enough: float, passes: int = FRANK_WOLFE_PASSES) -> tuple[float, bool]:
    """CPU seconds of the steps until the gap is 1e-2 or `enough` have been spent, and whether it got there."""
    from _frank_wolfe import FrankWolfe

    limits = Limits(tol=ROUGH_GAP)
    with limits.run() as engine_run:
        run = StructuredRun(make_objective(problem, "flat"), limits, engine_run)
    rival, spent = FrankWolfe(run, passes), 0.0
    space = np.empty_like(run.arrays.nodes)
    for number in range(1, passes + 1):
        cpu = time.process_time()
        rival.one_pass()
        spent += time.process_time() - cpu
        if passes > 1 and number % 4 and spent < enough:
            continue  # looking takes longer than a pass
        gaps = rival.gap(), rival.mean_gap(space)
        print(
            f"Frank-Wolfe pass {number}: {spent:.1f} s CPU, gap {gaps[0]:.2e}, of the average {gaps[1]:.2e}",
            flush=True,
        )
        if min(gaps) <= ROUGH_GAP:
            return spent, True
        if spent >= enough:
            break
    return spent, False


def memory(share: float) -> None:
    """Print what HierarchicalSVM.fit adds to this process at its peak, in units of dense float32 node weights.

    Counted is resident memory above that of the process with X, y and the taxonomy loaded and the kernels compiled: the
    weights themselves, duals, the solver's scratch, the certificate, and any copy of the data.
    """
    problem = make_rows(share)
    compile_kernels(problem)
    X, taxonomy, y = problem.X, problem.taxonomy, np.array(problem.classes)[problem.targets.indices]
    unit = 4.0 * problem.n_features * taxonomy.n_nodes
    del problem
    if hasattr(ctypes.CDLL(None), "malloc_trim"):
        ctypes.CDLL(None).malloc_trim(0)  # else a fit could live on what making the rows left behind

    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    before = peak = resident()
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.is_set():
            peak = max(peak, resident())
            time.sleep(0.005)

    watcher = threading.Thread(target=watch)
    watcher.start()
    model = HierarchicalSVM(taxonomy, tol=GAP, random_state=0).fit(X, y)
    done.set()
    watcher.join()
    if not model.certificate_.holds(GAP):
        sys.exit(f"HierarchicalSVM: the certified gap {model.certificate_.gap:.2e} is above {GAP:g}")
    print(json.dumps((peak - before) / unit))


def main() -> None:
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    warnings.filterwarnings("ignore")
    if sys.argv[2:] == ["--memory"]:
        memory(share)
        return
    problem = make_rows(share)
    print(
        f"{problem.n_rows:,} rows, {problem.n_features:,} features, {problem.n_classes} classes", flush=True
    )
    compile_kernels(problem)
    seconds = {}
    for kind in KINDS:
        for n_jobs in (1, 2):
            cpu, wall, certificate = fit(problem, kind, n_jobs=n_jobs)
            seconds[kind, n_jobs] = cpu
            print(
                f"{kind}, {n_jobs} thread(s): {cpu:.1f} s CPU, {wall:.1f} s wall, {certificate}", flush=True
            )
            if kind == "flat" and n_jobs == 1:
                bound = certificate.dual
    rough, _, _ = fit(problem, "flat", tol=ROUGH_GAP)
    print(f"flat to 1e-2: {rough:.1f} s CPU", flush=True)
    theirs, arrived = frank_wolfe(problem, enough=1.3 * FRANK_WOLFE_LIMIT * rough)
    peer, gap = liblinear(problem, bound)
    child = [sys.executable, __file__, str(share), "--memory"]
    answer = subprocess.run(child, stdout=subprocess.PIPE, text=True, check=True).stdout
    room = json.loads(answer.splitlines()[-1])
    ratio = seconds["flat", 1] / peer
    faster = theirs / rough
    print(
        f"flat at 1e-3 over LinearSVC (gap {gap:.1e}): {ratio:.2f} of its CPU time (limit {LIBLINEAR_LIMIT}); "
        f"Frank-Wolfe to 1e-2 takes {'' if arrived else 'more than '}{faster:.1f} times as long "
        f"(at least {FRANK_WOLFE_LIMIT}); "
        f"memory {room:.2f} of dense float32 node weights (limit {MEMORY_LIMIT})"
    )
    sys.exit(ratio > LIBLINEAR_LIMIT or faster < FRANK_WOLFE_LIMIT or room > MEMORY_LIMIT)


if __name__ == "__main__":
    main()
