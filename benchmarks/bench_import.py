"""Time of `import taxolearn`, in fresh processes.

python benchmarks/bench_import.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys

LIMIT = 0.5
CODE = "import time; t = time.perf_counter(); import taxolearn; taxolearn.Taxonomy; print(time.perf_counter() - t)"


def main() -> None:
    times = [
        float(subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True).stdout)
        for _ in range(7)
    ]
    median = statistics.median(times)
    print(f"import taxolearn and touch Taxonomy: median {median:.3f} s of {len(times)} (limit {LIMIT})")
    sys.exit(median > LIMIT)


if __name__ == "__main__":
    main()
