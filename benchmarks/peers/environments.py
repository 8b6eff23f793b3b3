"""Environments of the peers, one per group that can live together: python environments.py FOLDER."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

ENVIRONMENTS = {
    "classic": ("scikit-learn", "hiclass", "omikuji", "napkinxc"),
    "pecos": ("libpecos",),
    "libmultilabel": ("libmultilabel",),
}


def interpreter(folder: Path, name: str) -> Path:
    """Where the interpreter of an environment is, installed or not."""
    return folder / name / "bin" / "python"


def install(folder: Path) -> None:
    """Make what is not there; a package that does not install is said and left out."""
    for name, packages in ENVIRONMENTS.items():
        place = folder / name
        if (place / "installed").is_file():
            continue
        venv.create(place, with_pip=True)
        for package in packages:
            command = [interpreter(folder, name), "-m", "pip", "install", "--quiet", package]
            done = subprocess.run(command, capture_output=True, text=True)
            reason = (
                "" if done.returncode == 0 else f" did not install: {done.stderr.strip().splitlines()[-1]}"
            )
            print(f"{name}: {package}{reason}", flush=True)
        (place / "installed").touch()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    install(Path(sys.argv[1]))
