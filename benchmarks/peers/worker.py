"""One entrant on one prepared problem, in a process of its own: python worker.py ADAPTER ENTRANT PREPARED OUTPUT.

Runs in the entrant's environment. Writes what it answered and what that took into the folder OUTPUT.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from problem import read

TOP = 5


def cpu_seconds() -> float:
    """CPU seconds of this process and of those it has waited for, all threads counted."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def peak_mb() -> float:
    """The most memory that this process has held. `ru_maxrss` would be at least that of the process that started it."""
    status = Path("/proc/self/status")
    if not status.is_file():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) / 1024


def timed(work: Any) -> tuple[Any, float, float]:
    """What it returns, its CPU seconds, its seconds on the clock."""
    cpu, wall = cpu_seconds(), time.perf_counter()
    found = work()
    return found, cpu_seconds() - cpu, time.perf_counter() - wall


def version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed as a package"


def main(adapter: str, name: str, prepared: str, output: str) -> None:
    target = Path(output)
    module = import_module(f"adapters.{adapter}")
    problem = read(Path(prepared), target)
    entrant = module.ENTRANTS[name](problem)
    if hasattr(entrant, "warm_up"):
        entrant.warm_up()
    facts: dict[str, Any] = {"version": version_of(module.PACKAGE)}
    _, facts["fit_cpu"], facts["fit_wall"] = timed(entrant.fit)
    facts["fit_peak_mb"] = peak_mb()
    answers, facts["predict_cpu"], facts["predict_wall"] = timed(entrant.answer)
    facts["peak_mb"] = peak_mb()
    if hasattr(entrant, "notes"):
        facts["notes"] = entrant.notes()
    if problem.several:
        sparse.save_npz(target / "answers.npz", sparse.csr_matrix(answers))
        np.save(target / "ranked.npy", np.asarray(entrant.ranked(TOP)))
    else:
        np.save(target / "answers.npy", np.asarray(answers))
    folder = target / "model"
    folder.mkdir(exist_ok=True)
    entrant.save(folder)
    facts["model_mb"] = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 2**20
    (target / "facts.json").write_text(json.dumps(facts), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
