"""Start-up time of the command line and the time of one prediction; exits with 1 above the limits.

Usage: python benchmarks/bench_cli.py [MODEL]

MODEL is a folder that `taxolearn demo` wrote (by default the one in the user's cache, made if it is missing).
Each command runs a few times in a process of its own, and the best time counts: the machine may be busy.
"""

from __future__ import annotations

import subprocess
import sys
import time

from taxolearn.cli.demo import demo_folder

_COMMAND = [sys.executable, "-m", "taxolearn.cli"]
_RUNS = 7
_LIMITS = {"start": 0.7, "predict": 2.0}


def _best_seconds(arguments: list[str]) -> float:
    seconds = []
    for _ in range(_RUNS):
        started = time.perf_counter()
        subprocess.run([*_COMMAND, *arguments], check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - started)
    print(f"taxolearn {arguments[0]}: " + ", ".join(f"{value:.2f}" for value in seconds) + " s")
    return min(seconds)


def main() -> int:
    """Print both times last; return 0 when they are within the limits."""
    model = sys.argv[1] if len(sys.argv) > 1 else str(demo_folder())
    subprocess.run(
        [*_COMMAND, "demo", "--reuse", "--text", "fracture of left femur", "-o", model], check=True
    )
    start = _best_seconds(["--help"])
    predict = _best_seconds(["predict", model, "--sentence", "fracture of left femur, initial encounter"])
    print(
        f"start {start:.2f} s (limit {_LIMITS['start']}), predict {predict:.2f} s (limit {_LIMITS['predict']})"
    )
    return 0 if start <= _LIMITS["start"] and predict <= _LIMITS["predict"] else 1


if __name__ == "__main__":
    sys.exit(main())
