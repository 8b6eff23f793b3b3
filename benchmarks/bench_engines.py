"""What a Ray cluster costs beside threads: CPU of the same fit, start-up, one task, and a worker's memory.

    python benchmarks/bench_engines.py [--share 0.25] [--repeats 3] [--tasks 50]

RecursiveSVM at a share of the shape of DMOZ-2010, certified gap 5e-2, certificate included; two threads and two Ray
workers by turns, medians. Before that each does a small fit, so that kernels are loaded. CPU seconds of Ray are
those of its two workers and of this process; those of its daemons are printed beside. A worker's private memory is read
from the system after each of further pricing rounds, until so many tasks were done; 200 MB that all tasks read must not
add to it. Linux only.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from _large import as_if_large

import taxolearn
from taxolearn import RecursiveSVM
from taxolearn.datasets import SHAPES, make_text_like
from taxolearn.engines import Clock, running

BAR = 1.25  # CPU of Ray over that of threads
GROWTH = 0.1  # of a worker's private memory over all tasks
SHARED_MB = 200
TICK = os.sysconf("SC_CLK_TCK")


def processes(title: str) -> list[int]:
    """Processes that this one has started, directly or not, whose title begins so."""
    parents, found = {}, []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
    for pid in parents:
        above = pid
        while above in parents and above != os.getpid():
            above = parents[above]
        if above == os.getpid() and pid != above:
            try:
                if Path(f"/proc/{pid}/cmdline").read_text().startswith(title):
                    found.append(pid)
            except OSError:
                continue
    return found


def cpu_seconds(pids: list[int]) -> float:
    """User and system time of processes."""
    total = 0
    for pid in pids:
        parts = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += int(parts[11]) + int(parts[12])
    return total / TICK


def private_megabytes(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def fit(data: Any, tol: float = 5e-2) -> RecursiveSVM:
    return RecursiveSVM(data.taxonomy, tol=tol, n_jobs=2, random_state=0).fit(data.X, data.y)


def load_kernels(data: Any) -> None:
    """Fit a few rows, as few and as many rows are fitted."""
    fit(data)
    with as_if_large():
        fit(data)


def nothing(shared: Any, task: int, clock: Clock) -> int:
    return task


def total(shared: tuple[Any], task: int, clock: Clock) -> float:
    return float(shared[0].sum())


def main() -> int:
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--share", type=float, default=0.25)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tasks", type=int, default=50)
    arguments = parser.parse_args()
    # workers look tasks up by name, and this file has another one where it is run
    os.environ["PYTHONPATH"] = os.pathsep.join((str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")))
    import bench_engines

    shape = SHAPES["dmoz_2010"]
    rows, features, leaves, nodes = (
        int(arguments.share * size)
        for size in (shape.n_rows, shape.n_features, shape.n_leaves, shape.n_nodes)
    )
    data = make_text_like(rows, features, leaves, nodes, depth=shape.depth, random_state=0)
    small = make_text_like(300, 1000, 30, 45, depth=3, random_state=0)
    print(f"{data.X.shape[0]:,} rows x {data.X.shape[1]:,}, {leaves:,} classes", flush=True)
    load_kernels(small)
    began = time.perf_counter()
    short = []
    with taxolearn.engine("ray", address="local", n_jobs=2) as engine:
        print(f"start of Ray {time.perf_counter() - began:.1f} s", flush=True)
        load_kernels(small)
        workers = processes("ray::")
        began, driver = time.perf_counter(), time.process_time()
        with running() as run:
            run.map(bench_engines.nothing, None, list(range(200)), anywhere=True)
        each = 5 * (time.perf_counter() - began)
        print(
            f"a task {each:.1f} ms, of which this process {5 * (time.process_time() - driver):.1f} ms of CPU",
            flush=True,
        )
        before = {pid: private_megabytes(pid) for pid in workers}
        with running() as run:
            run.map(
                bench_engines.total, run.share((np.ones(SHARED_MB * 2**17),)), list(range(8)), anywhere=True
            )
        more = max(private_megabytes(pid) - before[pid] for pid in workers)
        print(f"{SHARED_MB} MB shared add {more:.0f} MB of private memory to a worker", flush=True)
        if more > 0.1 * SHARED_MB:
            short.append("shared arrays are copied")
        ratio = compare(data, workers, arguments.repeats)
        if ratio > BAR:
            short.append(f"CPU {ratio:.2f}")
        short += memory(engine, data, workers, arguments.tasks)
    print(f"CPU of two Ray workers over two threads {ratio:.2f} (bar {BAR})")
    print("all within their limits" if not short else "fell short: " + ", ".join(short))
    return int(bool(short))


def compare(data: Any, workers: list[int], repeats: int) -> float:
    """Median CPU of fits on Ray over that on threads."""
    times: dict[str, list[float]] = {"ray": [], "threads": []}
    others = [pid for pid in processes("") if pid not in workers]
    for _ in range(repeats):
        began, daemons = time.process_time() + cpu_seconds(workers), cpu_seconds(others)
        model = fit(data)
        seconds = time.process_time() + cpu_seconds(workers) - began
        daemons = cpu_seconds(others) - daemons
        times["ray"].append(seconds)
        print(
            f"ray     {seconds:7.1f} CPU s, daemons {daemons:.1f}, gap {model.certificate_.gap:.4e}",
            flush=True,
        )
        began = time.process_time()
        with taxolearn.engine("threads", n_jobs=2):
            model = fit(data)
        times["threads"].append(time.process_time() - began)
        print(f"threads {times['threads'][-1]:7.1f} CPU s, gap {model.certificate_.gap:.4e}", flush=True)
    return float(np.median(times["ray"]) / np.median(times["threads"]))


def memory(engine: Any, data: Any, workers: list[int], tasks: int) -> list[str]:
    """A worker's private memory over so many tasks of further fits."""
    done, seen = 0, {pid: [private_megabytes(pid)] for pid in workers}
    handed_out = engine.map

    def counted(function: Any, shared: Any, some: Any, *rest: Any) -> Any:
        nonlocal done
        found = handed_out(function, shared, some, *rest)
        done += len(some)
        for pid in workers:
            seen[pid].append(private_megabytes(pid))
        return found

    engine.map = counted
    while done < tasks * len(workers):
        fit(data)
    short = []
    for pid, values in seen.items():
        print(
            f"worker {pid}: private memory " + " ".join(f"{value:.0f}" for value in values) + " MB",
            flush=True,
        )
        half = max(values[: len(values) // 2])
        if max(values[len(values) // 2 :]) > (1 + GROWTH) * half:
            short.append(f"worker {pid} grows")
    print(f"private memory over {done} tasks of two workers", flush=True)
    return short


if __name__ == "__main__":
    sys.exit(main())
