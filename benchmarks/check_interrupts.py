"""Ctrl-C at random moments of fits of every method: nothing is lost, no foreign error.

    PYTHONPATH=src python benchmarks/check_interrupts.py [200]

Presses Ctrl-C so many times, method after method, at moments drawn at random. After each the model must predict, have a
true certificate, and go on from where it was. Prints what happened per method and last the number of presses; exits
with 1 when anything was lost.
"""

from __future__ import annotations

import signal
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from reference.interrupted_fits import press_while_fitting
from taxolearn.registry import METHODS


def main() -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    presses = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    outcomes = {method.class_name: Counter[str]() for method in METHODS}
    wrong = 0
    for number in range(presses):
        method = METHODS[number % len(METHODS)]
        try:
            outcomes[method.class_name][press_while_fitting(method, number)] += 1
        except BaseException as error:  # noqa: BLE001  everything that gets out is what is looked for
            wrong += 1
            print(f"{method.class_name}, press {number}: {error!r}")
    for name, found in outcomes.items():
        print(f"{name:28s} {dict(found)}")
    print(f"{presses} presses, {wrong} went wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
