"""Damage to checkpoints, by the hundred: run as a script, since what goes wrong may end the process.

    python corrupted_checkpoints.py FOLDER N

A fit is given each of N checkpoints with a fault. It must end with a warning that names the checkpoint, with the
checkpoint set aside, and with the model of a fit without one; or go on from it where the fault does not matter. What
else happens is printed, as a line of JSON, and the exit code is 1.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import struct
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from taxolearn import RecursiveLogistic, RecursiveSVM, Taxonomy
from taxolearn.storage import read_model, write_model
from taxolearn.storage.manifest import document_checksum

TREE = Taxonomy.from_paths(["all/animal/cat", "all/animal/dog", "all/plant/oak", "all/plant/rose"])
LEAVES = ["cat", "dog", "oak", "rose"]
TOL = 1e-3
Arrays = dict[str, Any]


def data() -> tuple[Any, list[str]]:
    rng = np.random.default_rng(0)
    labels = [LEAVES[i % 4] for i in range(24)]
    centres = dict(zip(LEAVES, np.eye(4), strict=True))
    return np.array([centres[label] for label in labels]) + 0.4 * rng.normal(size=(24, 4)), labels


def estimator(number: int, folder: Path | None) -> Any:
    settings: dict[str, Any] = {
        "tol": TOL,
        "checkpoint": folder,
        "random_state": 0,
        "n_jobs": 1,
        "solver": "descent",
    }
    kinds: list[Callable[[], Any]] = [
        lambda: RecursiveSVM(TREE, C=2.0, **{**settings, "solver": "tree"}),
        lambda: RecursiveSVM(TREE, C=2.0, **settings),
        lambda: RecursiveLogistic(TREE, C=2.0, loss="softmax", **settings),
    ]
    return kinds[number % len(kinds)]()


def flip(folder: Path, rng: random.Random) -> None:
    path = rng.choice(sorted(folder.iterdir()))
    raw = bytearray(path.read_bytes())
    raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    path.write_bytes(raw)


def cut(folder: Path, rng: random.Random) -> None:
    path = rng.choice(sorted(folder.iterdir()))
    path.write_bytes(path.read_bytes()[: rng.randrange(path.stat().st_size)])


def repaired_flip(folder: Path, rng: random.Random) -> None:
    """Bytes of the arrays changed, with checksums that fit."""
    [path] = folder.glob("arrays-*")
    raw = bytearray(path.read_bytes())
    first = 8 + struct.unpack("<Q", raw[:8])[0]
    for _ in range(rng.randrange(1, 5)):
        raw[rng.randrange(first, len(raw))] ^= 1 << rng.randrange(8)
    path.unlink()
    digest = hashlib.sha256(raw).hexdigest()
    name = f"arrays-{digest[:16]}.safetensors"
    (folder / name).write_bytes(raw)
    document = json.loads((folder / "model.json").read_text())
    document["files"] = [{"name": name, "bytes": len(raw), "sha256": digest}]
    document["checksum"] = document_checksum(document)
    (folder / "model.json").write_text(json.dumps(document))


def forged(
    edit: Callable[[dict[str, Any], Arrays, random.Random], Any],
) -> Callable[[Path, random.Random], None]:
    """A checkpoint as taxolearn would write it, of what nobody should write."""

    def damage(folder: Path, rng: random.Random) -> None:
        header, arrays = read_model(folder)
        copies = {name: np.array(array) for name, array in arrays.items()}
        edit(header, copies, rng)
        shutil.rmtree(folder)
        write_model(folder, header, copies)

    return damage


def bad_value(header: Any, arrays: Arrays, rng: random.Random) -> None:
    arrays["data"][rng.randrange(arrays["data"].size)] = rng.choice(
        [np.nan, np.inf, -np.inf, -1.0, 1e300, -1e-30]
    )


def bad_index(header: Any, arrays: Arrays, rng: random.Random) -> None:
    arrays["indices"][rng.randrange(arrays["indices"].size)] = rng.choice([-1, 24, 1000, 2**31 - 1, -(2**31)])


def unsorted(header: Any, arrays: Arrays, rng: random.Random) -> None:
    arrays["indices"] = arrays["indices"][::-1].copy()


def bad_pointers(header: Any, arrays: Arrays, rng: random.Random) -> None:
    pointers = arrays["indptr"]
    way = rng.randrange(4)
    if way == 0:
        pointers[rng.randrange(1, len(pointers) - 1)] = rng.choice([-5, 2**31 - 1])
    elif way == 1:
        pointers[-1] += 1000
    elif way == 2:
        pointers[0] = 1
    else:
        arrays["indptr"] = pointers[:-1]


def bad_dtype(header: Any, arrays: Arrays, rng: random.Random) -> None:
    name = rng.choice(["data", "indices", "indptr"])
    arrays[name] = arrays[name].astype(np.uint8 if name == "data" else np.float64)


def bad_shape(header: Any, arrays: Arrays, rng: random.Random) -> None:
    shape = [
        [24, 4],
        [4, 24],
        [4, 25],
        [2**40, 2**40],
        [4],
        [4, 24, 1],
        [],
        None,
        "4x24",
        [4.0, 24.0],
        [-4, -24],
        {},
    ]
    header["shape"] = rng.choice([found for found in shape if found != header["shape"]])


def bad_names(header: Any, arrays: Arrays, rng: random.Random) -> None:
    del arrays[rng.choice(sorted(arrays))]


def bad_mark(header: Any, arrays: Arrays, rng: random.Random) -> None:
    header["checkpoint"] = rng.choice([3, "", "mark", ["a"], True])


def two_dimensions(header: Any, arrays: Arrays, rng: random.Random) -> None:
    name = rng.choice(sorted(arrays))
    arrays[name] = arrays[name].reshape(1, -1)


def short_data(header: Any, arrays: Arrays, rng: random.Random) -> None:
    arrays["data"] = arrays["data"][: rng.randrange(arrays["data"].size)]


def not_a_folder(folder: Path, rng: random.Random) -> None:
    shutil.rmtree(folder)
    way = rng.randrange(4)
    if way == 0:
        folder.write_text("a file")
    elif way == 1:
        folder.symlink_to("nowhere")
    elif way == 2:
        folder.symlink_to(folder.name)
    else:
        os.mkfifo(folder)


def strange_files(folder: Path, rng: random.Random) -> None:
    path = rng.choice(sorted(folder.iterdir()))
    path.unlink()
    way = rng.randrange(5)
    if way == 0:
        path.mkdir()
    elif way == 1:
        os.mkfifo(path)
    else:
        path.symlink_to(["/dev/zero", "nowhere", path.name][way - 2])


def huge(folder: Path, rng: random.Random) -> None:
    os.truncate(rng.choice(sorted(folder.iterdir())), 2**36)  # takes no room on the disk


def bomb(folder: Path, rng: random.Random) -> None:
    (folder / "model.json").write_text(
        rng.choice(["[" * 100_000, '{"a":' * 50_000, "9" * 100_000, "", "null", "{}"])
    )


DAMAGES = [
    flip, cut, repaired_flip, not_a_folder, strange_files, huge, bomb,
    *map(forged, (bad_value, bad_index, unsorted, bad_pointers, bad_dtype, bad_shape, bad_names, bad_mark,
                  two_dimensions, short_data)),
]  # fmt: skip


def attempt(number: int, seed: int, kept: Path, folder: Path, right: Any) -> str:
    """Fit with a damaged checkpoint: "set aside", or "used" where the damage did not matter."""
    for old in folder.parent.glob("checkpoint*"):
        shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
    shutil.copytree(kept, folder)
    DAMAGES[seed % len(DAMAGES)](folder, random.Random(seed))
    X, y = data()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = estimator(number, folder).fit(X, y)
    sentences = [str(warning.message) for warning in told if "checkpoint" in str(warning.message)]
    aside = [path for path in folder.parent.glob("checkpoint*") if path.name != "checkpoint"]
    assert len(sentences) == len(aside) <= 1, (sentences, aside)
    assert np.isfinite(model.coef_).all(), "not finite"
    assert model.certificate_.holds(TOL), f"gap {model.certificate_.gap}"
    assert abs(model.certificate_.primal - right.primal) <= 2 * TOL * right.primal, "another optimum"
    if not aside:
        return "used"
    assert str(folder) in sentences[0], sentences
    assert aside[0].name == "checkpoint.damaged-1", aside
    assert "\n" not in sentences[0], sentences
    return "set aside"


def save_checkpoints(folder: Path) -> None:
    """A good checkpoint of each kind, and what the fits found."""
    X, y = data()
    for number in range(3):
        model = estimator(number, folder / f"good-{number}").fit(X, y)
        assert model.certificate_.holds(TOL)


def main() -> int:
    folder, count = Path(sys.argv[1]), int(sys.argv[2])
    save_checkpoints(folder)
    X, y = data()
    right = [estimator(number, None).fit(X, y).certificate_ for number in range(3)]
    found: dict[str, int] = {}
    for seed in range(count):
        (folder / "seed").write_text(f"{seed}")
        number = seed // len(DAMAGES)
        try:
            outcome = attempt(
                number, seed, folder / f"good-{number % 3}", folder / "checkpoint", right[number % 3]
            )
        except BaseException as error:  # noqa: BLE001  this is what is looked for
            outcome = "wrong"
            where = traceback.format_exc().splitlines()[-3:]
            print(
                json.dumps(
                    {"seed": seed, "damage": seed % len(DAMAGES), "error": repr(error)[:300], "where": where}
                )
            )
        found[outcome] = found.get(outcome, 0) + 1
    print(json.dumps(found))
    return 1 if "wrong" in found else 0


if __name__ == "__main__":
    sys.exit(main())
