"""Every entrant on every set: python benchmarks/peers/run.py FOLDER_OF_DATA [--sets ...] [--entrants ...].

The same features, rows, labels and metrics for all. Each run is a process of its own in the environment of its library,
on one thread, with a limit of CPU seconds and of memory. A line of JSON is appended to the results as soon as a run
ends; a cut run goes on where it was. `python benchmarks/peers/page.py` makes docs/benchmarks.md and the plots of them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from environments import ENVIRONMENTS, install, interpreter
from prepare import SETS, prepare
from scipy import sparse

from taxolearn import Taxonomy
from taxolearn.metrics import accuracy, hierarchical_f1, macro_f1, micro_f1, precision_at_k, tree_loss

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RESULTS = HERE / "results.jsonl"
ADAPTERS = ("taxolearn", "scikit_learn", "hiclass", "omikuji", "napkinxc", "pecos", "libmultilabel")
TOPS = (1, 3, 5)
WALL_PER_CPU = 20  # a busy machine takes longer on the clock
SECOND = 1.0


def limited(seconds: float) -> Any:
    def apply() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 10))

    return apply


def run(command: list[str], seconds: float, gigabytes: float) -> tuple[str, str]:
    """How a process ended ("ok", "time", "memory" or "error") and the end of what it said."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            command,
            cwd=HERE,
            stdout=said,
            stderr=subprocess.STDOUT,
            preexec_fn=limited(seconds),
            env={**os.environ, **threads},
        )
        began, status = time.monotonic(), ""
        watched = psutil.Process(process.pid)
        while process.poll() is None and not status:
            time.sleep(SECOND / 5)
            try:
                if watched.memory_info().rss > gigabytes * 2**30:
                    status = "memory"
                elif time.monotonic() - began > WALL_PER_CPU * seconds:
                    status = "time"
            except psutil.NoSuchProcess:
                break
        if status:
            process.kill()
        process.wait()
        said.seek(0)
        tail = said.read().strip()[-1500:]
    if not status:
        used_up = process.returncode in (-24, -9)  # SIGXCPU, SIGKILL
        refused = "MemoryError" in tail  # by the system, before anything was taken
        failed = "time" if used_up else "memory" if refused else "error"
        status = "ok" if process.returncode == 0 else failed
    return status, tail


def scores(prepared: Path, output: Path, facts: dict[str, Any]) -> dict[str, float]:
    """All metrics of the answers, by taxolearn's own functions for everyone."""
    names = np.array(facts["names"], dtype=object)
    tree = Taxonomy.from_edges([(above, below) for above, below in facts["edges"]])
    truth = sparse.load_npz(prepared / "truth.npz")
    if facts["several"]:
        y, found = _lists(truth, names), _lists(sparse.load_npz(output / "answers.npz"), names)
        ranked = np.load(output / "ranked.npy")
        measured = {
            f"p@{k}": precision_at_k(y, _as_scores(ranked, len(names)), tree, k=k, labels=names) for k in TOPS
        }
    else:
        y, found = names[truth.indices], names[np.load(output / "answers.npy")]
        measured = {}
    metrics = {
        "accuracy": accuracy,
        "micro_f1": micro_f1,
        "macro_f1": macro_f1,
        "hierarchical_f1": hierarchical_f1,
        "tree_loss": tree_loss,
    }
    if facts["several"]:
        del metrics["tree_loss"]  # a distance between two nodes, not between sets
    return {name: float(metric(y, found, tree)) for name, metric in metrics.items()} | measured


def _lists(matrix: Any, names: Any) -> list[list[str]]:
    matrix = sparse.csr_matrix(matrix)
    matrix.eliminate_zeros()
    return [
        names[matrix.indices[a:b]].tolist()
        for a, b in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
    ]


def _as_scores(ranked: Any, n_classes: int) -> Any:
    """Ranks as a sparse matrix of scores: the best has the highest."""
    rows, places = np.nonzero(ranked >= 0)
    values = (ranked.shape[1] - places).astype(np.float64)
    return sparse.csr_matrix((values, (rows, ranked[rows, places])), shape=(len(ranked), n_classes))


def fits(adapter: Any, facts: dict[str, Any]) -> bool:
    """Whether the library takes such labels."""
    needs = getattr(adapter, "NEEDS", ())
    return not ("one label" in needs and facts["several"]) and not ("tree" in needs and not facts["tree"])


def entry(line: dict[str, Any]) -> tuple[str, str]:
    return line["set"], line["entrant"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--entrants", nargs="+", help="parts of names; all without it")
    parser.add_argument("--environments", type=Path, default=ROOT / ".peers")
    parser.add_argument(
        "--prepared", type=Path, help="where prepared sets are kept; below the environments without it"
    )
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--seconds", type=float, default=300.0, help="CPU seconds per run")
    parser.add_argument("--memory", type=float, default=8.0, help="GB per run")
    parser.add_argument("--install", action="store_true", help="make the environments first")
    asked = parser.parse_args()
    if asked.install:
        install(asked.environments)
    done = set()
    if asked.results.is_file():
        lines = [json.loads(line) for line in asked.results.read_text(encoding="utf-8").splitlines()]
        done = {entry(line) for line in lines if line["status"] != "error"}
    for name in asked.sets:
        prepared = (asked.prepared or asked.environments / "prepared") / name
        try:
            facts = prepare(asked.data, name, prepared)
        except SystemExit as missing:
            print(missing, flush=True)
            continue
        for adapter_name in ADAPTERS:
            adapter = import_module(f"adapters.{adapter_name}")
            environment = adapter.ENVIRONMENT
            python = interpreter(asked.environments, environment) if environment else Path(sys.executable)
            for entrant in adapter.ENTRANTS if fits(adapter, facts) else ():
                wanted = not asked.entrants or any(part in entrant for part in asked.entrants)
                if (name, entrant) in done or not wanted:
                    continue
                line = {"set": name, "entrant": entrant, "library": adapter_name}
                if not python.exists():
                    print(
                        f"{name}: {entrant} left out, no {python} ({', '.join(ENVIRONMENTS[environment])})",
                        flush=True,
                    )
                    continue
                output = Path(tempfile.mkdtemp(prefix="taxolearn-peers-"))
                command = [
                    str(python),
                    "worker.py",
                    adapter_name,
                    entrant,
                    str(prepared.resolve()),
                    str(output),
                ]
                status, said = run(command, asked.seconds, asked.memory)
                line |= {"status": status, "limit_seconds": asked.seconds, "limit_gb": asked.memory}
                line |= {
                    key: facts[key]
                    for key in ("rows", "test_rows", "features", "classes", "nodes", "several")
                }
                if status == "ok":
                    line |= json.loads((output / "facts.json").read_text(encoding="utf-8"))
                    line |= scores(prepared, output, facts)
                elif status == "error":
                    line["said"] = said.splitlines()[-1] if said else ""
                    print(said, file=sys.stderr, flush=True)
                with open(asked.results, "a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
                print(json.dumps(line), flush=True)
                shutil.rmtree(output)


if __name__ == "__main__":
    main()
