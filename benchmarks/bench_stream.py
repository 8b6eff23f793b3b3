"""Peak memory of `taxolearn predict` on 100,000 and on 1,000,000 generated rows; exits with 1 above a ratio of 1.3.

Usage: python benchmarks/bench_stream.py [ROWS]
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

_COMMAND = [sys.executable, "-m", "taxolearn.cli"]
_LIMIT = 1.3
_CLASSES = 100
_WORDS = [f"word{k}" for k in range(2000)]


def _text(choice: random.Random, label: int) -> str:
    own = [_WORDS[(label * 20 + choice.randrange(20)) % len(_WORDS)] for _ in range(4)]
    return " ".join([*own, *choice.choices(_WORDS, k=6)])


def _write_rows(path: Path, n_rows: int, labels: bool, seed: int) -> None:
    choice = random.Random(seed)
    with path.open("w", encoding="utf-8") as stream:
        stream.write("text,label\n" if labels else "text\n")
        for _ in range(n_rows):
            label = choice.randrange(_CLASSES)
            stream.write(_text(choice, label) + (f",group{label % 10}/class{label}\n" if labels else "\n"))


def _peak(pid: int, peaks: list[int]) -> None:
    """Follow the high-water mark of a process until it ends."""
    while True:
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return
        found = [line for line in status.splitlines() if line.startswith("VmHWM")]
        if not found:
            return
        peaks.append(int(found[0].split()[1]))
        time.sleep(0.05)


def _predict(model: Path, rows: Path) -> float:
    """Peak resident memory of one run, in MB."""
    started = time.perf_counter()
    peaks: list[int] = []
    out = rows.with_suffix(".answers.csv")
    with subprocess.Popen([*_COMMAND, "predict", str(model), str(rows), "-o", str(out)]) as process:
        watcher = threading.Thread(target=_peak, args=(process.pid, peaks))
        watcher.start()
        # wait4 gives the usage of this child alone; RUSAGE_CHILDREN would be the largest of all so far.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        watcher.join()
    if process.returncode != 0:
        raise SystemExit(f"predict failed with {process.returncode}")
    with out.open(encoding="utf-8") as stream:
        answers = sum(1 for _ in stream) - 1
    out.unlink()
    peak = max([usage.ru_maxrss, *peaks]) / 1024
    print(f"{answers:,} rows: {time.perf_counter() - started:.1f} s, peak {peak:.1f} MB")
    return peak


def main() -> int:
    """Print the ratio of the peaks last; return 0 when it is within the limit."""
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_rows(folder / "train.csv", 5000, labels=True, seed=0)
        fit = [
            "fit",
            str(folder / "train.csv"),
            "--sep",
            "/",
            "--features",
            "word",
            "-o",
            str(folder / "model"),
        ]
        subprocess.run([*_COMMAND, *fit, "--tol", "1e-2"], check=True)
        peaks = []
        for size in (n_rows // 10, n_rows):
            _write_rows(folder / "rows.csv", size, labels=False, seed=1)
            peaks.append(_predict(folder / "model", folder / "rows.csv"))
    ratio = peaks[1] / peaks[0]
    print(f"peak memory ratio {ratio:.3f} (limit {_LIMIT})")
    return 0 if ratio <= _LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
