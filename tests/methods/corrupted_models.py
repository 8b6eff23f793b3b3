"""Damage to saved models, by the thousand: run as a script, since what goes wrong may end the process.

    python corrupted_models.py FOLDER N

Of the small models that `save_samples` left in the folder N copies with a fault are loaded and asked to predict. What
is neither an error of taxolearn nor a proper answer is printed, as a line of JSON, and the exit code is 1.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import taxolearn
from taxolearn import (
    ClassGraph,
    GraphRecursiveSVM,
    MulticlassSVM,
    NormalizedHierarchicalSVM,
    OneVsRestSVM,
    RecursiveSVM,
    SharedSVM,
    Taxonomy,
    TextClassifier,
    TopDownSVM,
)
from taxolearn.errors import TaxolearnError
from taxolearn.storage.manifest import document_checksum
from taxolearn.text import TextFeatures

JUNK: list[Any] = [
    None, True, -1, 0, 1, 2**31, 2**70, 1.5, 1e308, [], [[]], {}, {"a": 1}, "", "x" * 100, "é", "../up", [1, 2],
    {"$tuple": [1]}, {"$float": "nan"}, {"$float": "inf"}, {"$bytes": "00"}, {"mapping": [[1, 2]]}, {"tuple": ["a"]},
    {"graph": {"nodes": ["a"], "edges": [[0, 5, 1.0]]}}, {"pegasos": {"passes": "x"}},
]  # fmt: skip
TREE = Taxonomy.from_paths(["all/animal/cat", "all/animal/dog", "all/plant/oak", "all/plant/rose"])
LEAVES = ["cat", "dog", "oak", "rose"]
WORDS = {"cat": "purr meow", "dog": "bark woof", "oak": "leaf acorn", "rose": "leaf thorn"}


def _rows() -> tuple[list[str], Any, Any, list[str]]:
    """Labels; dense rows, sparse rows and texts of them."""
    rng = np.random.default_rng(0)
    labels = [LEAVES[i % 4] for i in range(24)]
    centres = dict(zip(LEAVES, np.eye(4), strict=True))
    X = np.array([centres[label] for label in labels]) + 0.1 * rng.normal(size=(24, 4))
    return labels, X, sparse.csr_array(np.where(X > 0.5, X, 0.0)), [WORDS[label] for label in labels]


def _models() -> list[tuple[Any, Any]]:
    """Estimators and their rows."""
    _, dense, thin, texts = _rows()
    graph = ClassGraph.from_edges([("cat", "dog"), ("oak", "rose")])
    return [
        (OneVsRestSVM(probability=True), dense),
        (OneVsRestSVM(TREE, class_weight={"cat": 2.0}), thin),
        (RecursiveSVM(TREE), dense),
        (RecursiveSVM(TREE, solver="descent"), thin),
        (NormalizedHierarchicalSVM(TREE), dense),
        (SharedSVM(TREE), dense),
        (GraphRecursiveSVM(graph=graph), dense),
        (MulticlassSVM(TREE, kernel="rbf"), dense),
        (NormalizedHierarchicalSVM(TREE, kernel="poly", kernel_params={"degree": 2}), thin),
        (TopDownSVM(TREE, kernel="precomputed"), dense @ dense.T),
        (TextClassifier(OneVsRestSVM(TREE), TextFeatures(), titles={"cat": "a cat"}), texts),
    ]


def save_samples(folder: Path) -> None:
    """Fit and save every model, with its answers beside it."""
    labels = _rows()[0]
    for number, (model, rows) in enumerate(_models()):
        model.fit(rows, labels).save(folder / f"{number}")
        (folder / f"{number}.json").write_text(json.dumps(model.predict(rows).tolist()))


class Sample:
    """A saved model: its two files, the rows to ask about, and the right answers."""

    def __init__(self, folder: Path, rows: Any) -> None:
        self.rows, self.answers = rows, json.loads(folder.with_suffix(".json").read_text())
        loaded = taxolearn.load(folder)
        assert loaded.predict(rows).tolist() == self.answers
        self.name = type(loaded).__name__
        self.manifest = (folder / "model.json").read_bytes()
        [arrays] = folder.glob("arrays-*.safetensors")
        self.arrays_name, self.arrays = arrays.name, arrays.read_bytes()


def damaged(raw: bytes, rng: random.Random) -> bytes:
    """The bytes with one fault."""
    data = bytearray(raw)
    first = rng.randrange(len(data))
    size = rng.choice([1, 2, 4, 8, 64])
    way = rng.randrange(7)
    if way == 0:
        data[first] ^= 1 << rng.randrange(8)
    elif way == 1:
        del data[first:]
    elif way == 2:
        del data[first : first + size]
    elif way == 3:
        data[first:first] = rng.randbytes(size)
    elif way == 4:
        data[first : first + size] = rng.randbytes(len(data[first : first + size]))
    elif way == 5:
        value = rng.choice([b"\0", b"\xff", b"\x7f"])
        data[first : first + size] = value * len(data[first : first + size])
    else:
        data += data[first : first + size]
    return bytes(data)


def spoiled(document: Any, rng: random.Random) -> Any:
    """The JSON value with one entry dropped, renamed or replaced."""
    places: list[tuple[Any, Any]] = []
    stack = [document]
    while stack:
        value = stack.pop()
        keys = list(value) if isinstance(value, dict) else range(len(value))
        places += [(value, key) for key in keys]
        stack += [value[key] for key in keys if isinstance(value[key], dict | list)]
    holder, key = rng.choice(places)
    way = rng.randrange(4)
    if way == 0:
        del holder[key]
    elif way == 1 and isinstance(holder, dict):
        holder[f"{key}-more"] = holder[key]
    elif way == 2 and isinstance(holder[key], int | float):
        holder[key] = rng.choice([-holder[key], holder[key] + 1, holder[key] * 1000])
    else:
        holder[key] = rng.choice(JUNK)
    return document


def write(sample: Sample, folder: Path, rng: random.Random) -> bool:
    """A folder with a faulty copy; whether its checksums are right, so that only other checks can find the fault."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    manifest, arrays, name = sample.manifest, sample.arrays, sample.arrays_name
    way = rng.randrange(4)
    if way == 0:
        manifest = damaged(manifest, rng)
    elif way == 1:
        arrays = damaged(arrays, rng)
    else:
        document = json.loads(manifest)
        if way == 2:
            arrays = damaged(arrays, rng)
            digest = hashlib.sha256(arrays).hexdigest()
            name = f"arrays-{digest[:16]}.safetensors"
            document["files"] = [{"name": name, "bytes": len(arrays), "sha256": digest}]
        else:
            document = spoiled(document, rng)
        document["checksum"] = document_checksum(document)
        manifest = json.dumps(document).encode()
    (folder / "model.json").write_bytes(manifest)
    (folder / name).write_bytes(arrays)
    return way >= 2


def ask(sample: Sample, folder: Path, forged: bool, verify: Any) -> str:
    """What became of a model: refused, right, or forged (a proper answer of a model that was meant to be another)."""
    try:
        answers = taxolearn.load(folder, verify=verify).predict(sample.rows).tolist()
    except TaxolearnError as error:
        return "refused" if len(str(error)) < 1000 and "\n" not in str(error) else "wrong"
    if answers == sample.answers:
        return "right"
    assert forged or verify == "sizes", "another answer"
    assert len(answers) == len(sample.answers), "not one answer a row"
    return "forged"


def main() -> int:
    folder, count = Path(sys.argv[1]), int(sys.argv[2])
    warnings.simplefilter("ignore")  # unread values of a forged file may be NaN, with verify="sizes"
    kept = [Sample(folder / f"{number}", rows) for number, (_, rows) in enumerate(_models())]
    found: dict[str, int] = {}
    for seed in range(count):
        rng = random.Random(seed)
        sample = kept[seed % len(kept)]
        (folder / "seed").write_text(f"{seed}")
        forged = write(sample, folder / "model", rng)
        try:
            outcome = ask(sample, folder / "model", forged, rng.choice(["full", "full", "sizes"]))
        except (Exception, RecursionError) as error:  # noqa: BLE001  this is what is looked for
            outcome = "wrong"
            where = traceback.format_exc().splitlines()[-3:]
            told = {"seed": seed, "method": sample.name, "error": repr(error)[:300], "where": where}
            print(json.dumps(told))
        found[outcome] = found.get(outcome, 0) + 1
    print(json.dumps(found))
    return 1 if "wrong" in found else 0


if __name__ == "__main__":
    sys.exit(main())
