"""Certificates against exact arithmetic: random problems of every loss and tie, and how wide the intervals are.

    python benchmarks/check_intervals.py [problems]

Features, outliers, sample weights and C go to 1e+-12. Ends with status 1 if a single interval excludes the true value,
or a certificate holds at a gap below the true one.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

TESTS = Path(__file__).parent.parent / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "certificates")]

from interval_cases import LOSSES, TIES, make_case  # noqa: E402

ORDINARY = 10 * len(LOSSES) * len(TIES)  # problems for the width


def main() -> int:
    """Print the count, the faults and the widest interval."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    began, faults, unbounded = time.monotonic(), 0, 0
    for seed in range(count):
        case = make_case(seed)
        unbounded += not case.width < float("inf")
        for fault in case.faults:
            faults += 1
            print(fault)
    widest = max((make_case(seed, wild=False) for seed in range(ORDINARY)), key=lambda case: case.width)
    print(
        f"{count:,} problems of {len(LOSSES)} losses x {len(TIES)} ties in {time.monotonic() - began:.0f} s"
    )
    print(f"{faults} intervals exclude the true value; {unbounded} say nothing")
    print(
        f"widest interval of {ORDINARY} ordinary problems: {widest.width:.1e} of the primal ({widest.name})"
    )
    return 1 if faults or widest.width > 1e-12 else 0


if __name__ == "__main__":
    sys.exit(main())
