"""The lowest and the newest versions of what taxolearn depends on: python tools/check_versions.py [lowest] [newest].

Makes an environment for each in .versions/, installs the package with exactly these versions (the lowest are the lower
bounds in pyproject.toml, extras included), and runs a part of the tests in it. The lowest go with the oldest Python
that is supported, as newer ones have no wheels of them; the newest with every Python from 3.11 to 3.13 that is on PATH.
What is not there is said. Exits with 1 when anything fails.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / ".versions"
PYTHONS = ("python3.11", "python3.12", "python3.13")
EXTRAS = ("parquet", "networkx", "skos", "obo", "plot", "serve", "words")
# any version; starlette's client for tests needs httpx where it is old, and httpx2 where it is new
TOOLS = ("pytest", "pytest-xdist", "hypothesis", "pandas", "polars", "httpx", "httpx2", "jsonschema")
# sharp and quick: every method learns, is saved and answers; tables and published files are read; the command line
# runs, a report is made, the server answers
TESTS = (
    "tests/structure/test_published_formats.py",
    "tests/structure/test_taxonomy_builders.py",
    "tests/storage/test_saved_estimators.py",
    "tests/text/test_text_equals_sklearn.py",
    "tests/text/test_words.py",
    "tests/methods/test_sklearn_habits.py",
    "tests/methods/test_taxonomy_classifier.py",
    "tests/cli/test_cli_commands.py",
    "tests/report",
    "tests/serving/test_rest.py",
    "tests/docs/test_examples.py",
)


def lower_bounds() -> list[str]:
    """`name==version` of every dependency with a lower bound, once each."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [
        *project["dependencies"],
        *(one for extra in EXTRAS for one in project["optional-dependencies"][extra]),
    ]
    found = {}
    for one in asked:
        match = re.fullmatch(r"([\w-]+)>=([\w.]+)(,[^;]*)?(;.*)?", one.replace(" ;", ";"))
        if match is None:
            sys.exit(f"{one} in pyproject.toml has no lower bound of the form name>=version")
        found[match[1]] = f"{match[1]}=={match[2]}{match[4] or ''}"
    return sorted(found.values())


def run(*command: str | Path) -> bool:
    print("$", *command, flush=True)
    return subprocess.run([str(part) for part in command], cwd=ROOT).returncode == 0


def tried(python: str, kind: str) -> bool:
    """Whether one Python with the lowest or the newest versions passes."""
    place = PLACE / f"{python}-{kind}"
    shutil.rmtree(place, ignore_errors=True)
    own = place / "bin" / "python"
    if not run(python, "-m", "venv", place):
        return False
    pins = lower_bounds() if kind == "lowest" else []
    wanted = f".[{','.join(EXTRAS)}]"
    quiet = ("--quiet", "--disable-pip-version-check", "--no-compile")
    if not run(own, "-m", "pip", "install", *quiet, wanted, *TOOLS, *pins):
        print(f"{python}, {kind}: could not be installed", flush=True)
        return False
    run(own, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check")
    return run(own, "-m", "pytest", "-q", "-n", "2", *TESTS)


def works(python: str) -> bool:
    """Whether such an interpreter can be started; a name on PATH may be a stand-in that finds none."""
    if shutil.which(python) is None:
        return False
    return subprocess.run([python, "-c", ""], capture_output=True).returncode == 0


def main() -> int:
    kinds = sys.argv[1:] or ["lowest", "newest"]
    there = [python for python in PYTHONS if works(python)]
    asked = [(python, kind) for kind in kinds for python in (there[:1] if kind == "lowest" else there)]
    outcomes = {f"{python}, {kind}": tried(python, kind) for python, kind in asked}
    for python in PYTHONS:
        if python not in there:
            print(f"{python}: not on this machine, not tried")
    for name, good in outcomes.items():
        print(f"{name}: {'good' if good else 'FAILED'}")
    return 0 if outcomes and all(outcomes.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
