"""CPU time of two versions of the library on the same work: fits of 150 rows, and what the other benchmarks measure.

    python benchmarks/compare_versions.py BEFORE [AFTER] [--data FOLDER_OF_DATA] [--repeats 5] [--only WORDS]

BEFORE and AFTER (by default this tree) are folders that hold src/taxolearn. The versions take turns, each time in a
new process with a folder of compiled kernels of its own; a first turn that fills these folders is not counted.
A turn's time is the CPU seconds of all threads, without import and compilation, of its quickest run where it has time
for several; the medians of the turns are compared. Small fits are every method at its
defaults on iris, with one thread and with two. The others need the folder of data and are not run without it; those
above their bar get as many repeats again, twice at most, as the largest of many noisy ratios is above 1. `--only`
takes the works whose names hold one of the words (separated by commas; iris: the small fits). Other processes on the
same cores make CPU seconds longer too, by a half and more: the load of the machine is printed with the figures.

A row has both times, their ratio, the noise (of each version the spread of its repeats, largest less smallest over the
median; the larger of the two) and both certified gaps. Exits with 1 if the median ratio of the small fits is
above 0.5, if the worst ratio of the others is above 1.05 (and their smallest times say so too), or if a gap that
was within `tol` is not any more, or if answers (shares of rows that are right, metrics) differ by more than 0.5%.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

SMALL_BAR, OTHER_BAR = 0.5, 1.05
ALIKE = 5e-3  # share by which answers of fits within their tol may differ
MORE = 2  # times that a work above its bar gets more repeats
SMALL = "iris"
SETS = ("clef", "trec_question", "20news_bydate", "rcv1_subsets", "lshtc1_dryrun", "wordnet_nouns")


class Run(NamedTuple):
    """One turn of one version: CPU seconds, certified gap and the gap asked for (None without one), answers."""

    seconds: float
    gap: float | None
    tol: float | None
    answers: list[float]


class Row:
    """All turns of both versions on one work."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.before: list[Run] = []
        self.after: list[Run] = []

    def _times(self) -> tuple[list[float], list[float]]:
        return [run.seconds for run in self.before], [run.seconds for run in self.after]

    @property
    def ratio(self) -> float:
        before, after = self._times()
        return statistics.median(after) / statistics.median(before)

    @property
    def quickest_ratio(self) -> float:
        before, after = self._times()
        return min(after) / min(before)

    @property
    def noise(self) -> float:
        if len(self.before) == 1:
            return float("nan")  # one turn says nothing about it
        return max((max(times) - min(times)) / statistics.median(times) for times in self._times())

    @property
    def complaint(self) -> str:
        """What went wrong other than the time."""
        for old, new in zip(self.before, self.after, strict=True):
            if (
                old.gap is not None
                and new.gap is not None
                and old.tol is not None
                and old.gap <= old.tol < new.gap
            ):
                return f"{self.name}: the gap {new.gap:.1e} is above tol = {old.tol:g}, before it was not"
            if any(abs(a - b) > ALIKE * abs(a) for a, b in zip(old.answers, new.answers, strict=True)):
                return f"{self.name}: answers {new.answers}, before {old.answers}"
        return ""

    def __str__(self) -> str:
        before, after = (statistics.median(times) for times in self._times())
        gaps = [self.before[-1].gap, self.after[-1].gap]
        told = "  ".join(f"{'-' if gap is None else f'{gap:.1e}':>8}" for gap in gaps)
        return f"{self.name:40} {before:9.4f} {after:9.4f} {self.ratio:7.3f} {100 * self.noise:6.1f}%  {told}"


def environment(tree: Path) -> dict[str, str]:
    """That of a process which takes the library from there, and kernels from a folder that belongs to these sources."""
    digest = hashlib.sha256(str(tree).encode())
    for file in sorted((tree / "src").rglob("*.py")):
        digest.update(file.read_bytes())
    kernels = Path(tempfile.gettempdir()) / f"taxolearn-compare-kernels-{digest.hexdigest()[:16]}"
    ours = {"PYTHONPATH": str(tree / "src"), "NUMBA_CACHE_DIR": str(kernels), "TAXOLEARN_CACHE": "1"}
    return {**os.environ, **ours}


def turn(tree: Path, name: str, data: str) -> dict[str, Run]:
    """One work in a new process (all small fits are one)."""
    command = [sys.executable, __file__, str(tree), "--child", name, "--data", data]
    done = subprocess.run(command, env=environment(tree), stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{name} failed in {tree}")
    return {key: Run(*found) for key, found in json.loads(done.stdout.splitlines()[-1]).items()}


def compare(trees: tuple[Path, Path], name: str, data: str, repeats: int) -> Iterator[Row]:
    """Rows of a work, both versions by turns; a work above its bar gets more turns."""
    rows: dict[str, Row] = {}
    for tree in trees:
        filled = Path(environment(tree)["NUMBA_CACHE_DIR"]) / f"filled by {name}"
        if not filled.exists():
            turn(tree, name, data)
            filled.touch()
    for again in range(1 + MORE):
        if again and (name == SMALL or all(row.ratio <= OTHER_BAR for row in rows.values())):
            break
        for _ in range(repeats):
            for tree, side in zip(trees, ("before", "after"), strict=True):
                for key, run in turn(tree, name, data).items():
                    getattr(rows.setdefault(key, Row(key)), side).append(run)
    yield from rows.values()


def child(tree: Path, name: str, data: str) -> dict[str, Any]:
    """What `turn` reads."""
    import _works

    import taxolearn

    if not Path(taxolearn.__file__).is_relative_to(tree):
        sys.exit(f"taxolearn came from {taxolearn.__file__}, not from {tree}")
    if name == SMALL:
        return _works.small_fits()
    return {name: _works.timed(name, data)}


def prepare(folder: str, scratch: Path, sets: Iterable[str]) -> None:
    """Real data in a form that is read quickly, by every version alike."""
    import table_recursive
    from _data import find, load, single
    from _works import store

    from taxolearn.datasets import read_jsonl

    table_recursive.WORDNET_ROWS = 10_000
    for name in sets:
        place = find(folder, name)
        if name == "trec_question":
            parts = [read_jsonl(place / f"{part}.jsonl") for part in ("train", "test")]
            texts = [[text.replace("\t", " ") for text in part.texts] for part in parts]
            rows = texts[0], single(parts[0].y), texts[1], single(parts[1].y)
        elif name == "wordnet_nouns":
            rows = table_recursive.data_of(folder, name)[:4]
        else:
            rows = load(folder, name)[:4]
        store(scratch / name, *rows, place / "hierarchy.edges")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path, nargs="?", default=Path())
    parser.add_argument("--data", help="folder of the data sets; without it only the small fits run")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="words of the names of works, separated by commas")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # fits that compile are cut short
    if arguments.child:
        print(json.dumps(child(arguments.before, arguments.child, arguments.data)))
        return 0
    trees = arguments.before.resolve(), arguments.after.resolve()
    for tree in trees:
        if not (tree / "src" / "taxolearn").is_dir():
            sys.exit(f"{tree} does not hold src/taxolearn")
    words = [word.strip() for word in arguments.only.split(",")]
    small: list[Row] = []
    others: list[Row] = []
    print(
        f"{'work':40} {'before s':>9} {'after s':>9} {'ratio':>7} {'noise':>7}  gap before  gap after",
        flush=True,
    )

    def run(name: str, data: str, rows: list[Row]) -> None:
        for row in compare(trees, name, data, arguments.repeats):
            rows.append(row)
            print(row, flush=True)

    if any(word in SMALL for word in words):
        run(SMALL, "", small)
    if arguments.data:
        from _works import WORKS

        chosen = [name for name in WORKS if any(word in name for word in words)]
        with tempfile.TemporaryDirectory(prefix="taxolearn-compare-") as scratch:
            prepare(
                arguments.data,
                Path(scratch),
                [name for name in SETS if name in {WORKS[c][0] for c in chosen}],
            )
            for name in chosen:
                run(name, scratch, others)
    return verdict(small, others)


def verdict(small: list[Row], others: list[Row]) -> int:
    """Print what fell short and the figures; the exit status."""
    complaints = [row.complaint for row in [*small, *others] if row.complaint]
    print("\n".join(complaints) or "all gaps and answers as before")
    print(f"load of the machine {os.getloadavg()[2]:.1f} in the last 15 minutes, {os.cpu_count()} cores")
    short = bool(complaints)
    if small:
        median = statistics.median(row.ratio for row in small)
        noise = statistics.median(row.noise for row in small)
        print(f"small fits: median ratio {median:.3f} (bar {SMALL_BAR}; median noise {100 * noise:.1f}%)")
        short |= median > SMALL_BAR
    if others:
        worst = max(others, key=lambda row: row.ratio)
        worse = [row for row in others if min(row.ratio, row.quickest_ratio) > OTHER_BAR]
        noise = statistics.median(row.noise for row in others)
        print(
            f"others: worst ratio {worst.ratio:.3f} ({worst.name}; by the quickest runs {worst.quickest_ratio:.3f}; "
            f"its noise {100 * worst.noise:.1f}%, the median one {100 * noise:.1f}%), {len(worse)} above the bar of "
            f"{OTHER_BAR}"
        )
        short |= bool(worse)
    return int(short)


if __name__ == "__main__":
    sys.exit(main())
