"""Mutation table: which single-line mistakes the tests notice.

    python tools/mutants.py [--only WORDS] [--full] [--check] [--list FILE]

tools/mutants.toml lists the mutants. Each is put into a copy of the tree and its own tests run there, until the first
that fails; with --full those that survive get the whole suite. Before, the tests run without any mutant and must pass.
--check only looks whether every mutant finds its line exactly once and leaves a file that can be parsed; --only takes
those whose name or room holds one of the words (separated by commas). A mutant that takes longer than --seconds is
killed: tests would hang. --list FILE takes another table.

Prints a table of mutant, room, verdict, seconds and the test that noticed, and last "killed N of M". Exits with 1 if
fewer than 38 of 40 (95%) are killed or, without --only, if the table has fewer than 40.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
SHARE, LEAST = 38 / 40, 40
SUITE = ("-n", "2", "--dist", "loadfile", "src", "tests")
_LEFT_OUT = (".git", ".venv", "*_cache", "__pycache__", ".hypothesis", "*.egg-info")


@dataclass(frozen=True)
class Mutant:
    """A line to be spoiled; `tests` are files and folders in which that should be noticed."""

    name: str
    room: str
    file: str
    find: str
    replace: str
    breaks: str
    tests: tuple[str, ...]

    def spoiled(self, tree: Path) -> str:
        """The file with the mutant in it; exits with a sentence when that cannot be made."""
        path = tree / "src" / "taxolearn" / self.file
        if not path.is_file():
            sys.exit(f"mutant {self.name}: there is no file {self.file}")
        source = path.read_text(encoding="utf-8")
        if source.count(self.find) != 1 or "\n" in self.find + self.replace or self.find == self.replace:
            times = source.count(self.find)
            sys.exit(
                f"mutant {self.name}: {self.find!r} stands {times} times in {self.file}, not once in a line"
            )
        for test in self.tests:
            if not (tree / test).exists():
                sys.exit(f"mutant {self.name}: there is no {test}")
        spoiled = source.replace(self.find, self.replace)
        try:
            compile(spoiled, self.file, "exec")
        except SyntaxError as error:
            sys.exit(f"mutant {self.name}: {self.file} is no Python any more: {error}")
        return spoiled


def read_table(path: Path) -> list[Mutant]:
    with path.open("rb") as stream:
        found = [
            Mutant(**{**entry, "tests": tuple(entry["tests"])}) for entry in tomllib.load(stream)["mutant"]
        ]
    names = [mutant.name for mutant in found]
    if twice := {name for name in names if names.count(name) > 1}:
        sys.exit(f"mutants of the same name: {', '.join(sorted(twice))}")
    return found


def copy_tree() -> Path:
    """A copy that is always at the same place with the same times of files: kernels once compiled there stay valid."""
    mark = hashlib.sha256(str(TREE).encode()).hexdigest()[:12]
    copy = Path(tempfile.gettempdir()) / f"taxolearn-mutants-{mark}"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(TREE, copy, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    return copy


def run_tests(copy: Path, tests: Sequence[str], seconds: float) -> tuple[bool, str]:
    """Whether all passed, and the first that did not."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(
        [*command, "--doctest-modules", *tests],
        cwd=copy,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            told, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return False, f"more than {seconds:g} s"
    if process.returncode == 0:
        return True, ""
    if process.returncode == 1 and (failed := re.search(r"^(?:FAILED|ERROR) (\S+)", told, re.MULTILINE)):
        return False, failed[1]
    # nothing was tested: a mutant that cannot be imported, or wrong names of tests
    sys.exit(f"pytest {' '.join(tests)} ended with {process.returncode}:\n{told[-2000:]}")


def judge(mutant: Mutant, copy: Path, full: bool, seconds: float) -> tuple[bool, str]:
    """Whether the mutant was noticed, and where; the copy is as before afterwards, times of files included."""
    path = copy / "src" / "taxolearn" / mutant.file
    source, times = path.read_bytes(), path.stat()
    path.write_text(mutant.spoiled(copy), encoding="utf-8")
    try:
        passed, where = run_tests(copy, mutant.tests, seconds)
        if passed and full:
            passed, where = run_tests(copy, SUITE, 4 * seconds)
    finally:
        path.write_bytes(source)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    return not passed, where


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="words of names or rooms, separated by commas")
    parser.add_argument("--full", action="store_true", help="the whole suite for those that survive")
    parser.add_argument("--check", action="store_true", help="look for the lines only")
    parser.add_argument("--seconds", type=float, default=600.0, help="that the tests of a mutant may take")
    parser.add_argument("--list", type=Path, default=Path(__file__).with_suffix(".toml"))
    arguments = parser.parse_args()
    table = read_table(arguments.list)
    words = [word.strip() for word in arguments.only.split(",")]
    chosen = [mutant for mutant in table if any(word in f"{mutant.name} {mutant.room}" for word in words)]
    for mutant in chosen:
        mutant.spoiled(TREE)
    if arguments.check:
        print(f"{len(chosen)} mutants, each finds its line")
        return 0
    copy = copy_tree()
    tests = sorted({test for mutant in chosen for test in mutant.tests})
    passed, where = run_tests(copy, tests, 4 * arguments.seconds)
    if not passed:
        sys.exit(f"{where} fails without any mutant")
    print(f"{'mutant':36} {'room':13} {'verdict':9} {'s':>5}  noticed by / breaks")
    killed = 0
    for mutant in chosen:
        began = time.monotonic()
        noticed, where = judge(mutant, copy, arguments.full, arguments.seconds)
        killed += noticed
        verdict = "killed" if noticed else "SURVIVED"
        told = where if noticed else mutant.breaks
        print(
            f"{mutant.name:36} {mutant.room:13} {verdict:9} {time.monotonic() - began:5.0f}  {told}",
            flush=True,
        )
    enough = bool(arguments.only) or len(table) >= LEAST
    if not enough:
        print(f"the table has {len(table)} mutants, {LEAST} are needed")
    print(f"killed {killed} of {len(chosen)} (at least {100 * SHARE:.0f}%)")
    return int(killed < SHARE * len(chosen) or not enough)


if __name__ == "__main__":
    sys.exit(main())
