"""300 damaged or forged model folders: each is refused with a ModelError or loads exactly as saved."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import struct
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_folders import (
    arrays_path,
    edit_document,
    fingerprint,
    join_arrays_file,
    load_content,
    replace_arrays_file,
    sample_content,
    save_content,
    split_arrays_file,
)
from safetensors.numpy import load_file, save

from taxolearn.errors import ModelError
from taxolearn.storage import read_model, write_model

Damage = Callable[[Path, random.Random], None]
JUNK: list[Any] = [
    None,
    True,
    -1,
    2**70,
    1.5,
    float("1e308"),
    [],
    [[]],
    {},
    {"a": 1},
    "",
    "x" * 100,
    "é",
    "../up",
]


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    """A load that hangs fails instead."""
    if hasattr(signal, "alarm"):
        signal.alarm(60)
    yield
    if hasattr(signal, "alarm"):
        signal.alarm(0)


def pick_file(folder: Path, rng: random.Random) -> Path:
    return rng.choice([folder / "model.json", arrays_path(folder)])


def flip_a_bit(folder: Path, rng: random.Random) -> None:
    path = pick_file(folder, rng)
    raw = bytearray(path.read_bytes())
    raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    path.write_bytes(raw)


def cut_or_extend(folder: Path, rng: random.Random) -> None:
    path = pick_file(folder, rng)
    raw = path.read_bytes()
    tail = rng.choice([b"", rng.randbytes(rng.randrange(1, 50)), b"\0" * 8])
    path.write_bytes(raw[: rng.randrange(len(raw))] if rng.random() < 0.7 else raw + tail)


def swap_files(folder: Path, rng: random.Random) -> None:
    other = folder.with_name("other")
    save_content(other, sample_content(3.0))
    manifest, arrays = folder / "model.json", arrays_path(folder)
    path = rng.choice([manifest, arrays])
    way = rng.randrange(7)
    if way == 0:
        shutil.copy(other / "model.json", manifest)
    elif way == 1:
        shutil.copy(arrays_path(other), arrays)
    elif way == 2:
        first, second = manifest.read_bytes(), arrays.read_bytes()
        manifest.write_bytes(second)
        arrays.write_bytes(first)
    else:
        path.unlink()
        if way == 3:
            path.mkdir()
        elif way == 4 and os.name == "posix":  # elsewhere the file is missing
            os.mkfifo(path)
        elif way == 5 and os.name == "posix":
            path.symlink_to(rng.choice(["/dev/zero", "/dev/null", path.name, "."]))


def forge_header_length(folder: Path, rng: random.Random) -> None:
    raw = arrays_path(folder).read_bytes()
    right = struct.unpack("<Q", raw[:8])[0]
    wrong = rng.choice([0, 1, right - 1, right + 8, len(raw) - 8, len(raw), 2**31, 2**40, 2**63, 2**64 - 1])
    replace_arrays_file(folder, struct.pack("<Q", wrong) + raw[8:])


def forge_entries(folder: Path, rng: random.Random) -> None:
    """A value that cannot be, in a file that is right otherwise."""
    arrays = {name: array.copy() for name, array in load_file(arrays_path(folder)).items()}
    name = rng.choice(sorted(arrays))
    array = arrays[name].reshape(-1)
    if array.dtype.kind == "f":
        array[rng.randrange(array.size)] = rng.choice([np.nan, np.inf, -np.inf])
    else:
        position = rng.randrange(array.size)
        limit = {"weights/indices": 4}.get(name, 5)
        array[position] = rng.choice([-1, limit, 1000, 2**31 - 1, -(2**31)])
    replace_arrays_file(folder, save(arrays))


def forge_structure(folder: Path, rng: random.Random) -> None:
    """Arrays whose numbers are in range but which are not a CSR matrix, or not a taxonomy."""
    arrays = {name: array.copy() for name, array in load_file(arrays_path(folder)).items()}
    name, values = rng.choice(
        [
            ("weights/indices", [3, 1, 0, 2]),
            ("weights/indices", [1, 3, 2, 2]),
            ("weights/indptr", [0, 3, 2, 4]),
            ("weights/indptr", [0, 0, 0, 3]),
            ("weights/indptr", [1, 2, 3, 4]),
            ("weights/indptr", [0, 4, 4]),
            ("weights/data", [1.0, 2.0, 3.0]),
            ("weights/intercept", [1.0, 2.0]),
            ("calibration/coef", [[1.0]]),
            ("taxonomy/parent_indices", [0, 1, 1, 4]),
            ("taxonomy/parent_indices", [2, 1, 1, 0]),
            ("taxonomy/parent_indices", [0, 1, 1]),
            ("taxonomy/parent_indptr", [0, 1, 1, 2, 3, 4]),
            ("taxonomy/parent_indptr", [0, 0, 1, 2, 3]),
            ("taxonomy/parent_indptr", []),
        ]
    )
    arrays[name] = np.array(values, dtype=arrays[name].dtype)
    replace_arrays_file(folder, save(arrays))
    shape = list(arrays[name].shape)
    edit_document(folder, lambda document: document["arrays"][name].update(shape=shape))


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All paths into a JSON value."""
    if isinstance(value, dict):
        inner = [places(entry, (*path, key)) for key, entry in value.items()]
    elif isinstance(value, list):
        inner = [places(entry, (*path, i)) for i, entry in enumerate(value)]
    else:
        inner = []
    return [path] * bool(path) + [place for some in inner for place in some]


def spoil(document: Any, rng: random.Random) -> None:
    """Drop, add or replace one entry, but do not turn a name or a parameter into another valid one."""
    free = ({"params", "method"}, {"classes", "names"})
    candidates = [
        place
        for place in places(document)
        if not free[0] & set(place) and (not free[1] & set(place) or place[-1] in free[1])
    ]
    *above, key = rng.choice(candidates)
    holder = document
    for step in above:
        holder = holder[step]
    way = rng.randrange(3)
    if way == 0:
        del holder[key]
    elif way == 1 and isinstance(holder, dict):
        holder[f"{key}-more"] = holder[key]
    else:
        holder[key] = rng.choice(JUNK)


def forge_document(folder: Path, rng: random.Random) -> None:
    edit_document(folder, lambda document: spoil(document, rng))


def forge_names(folder: Path, rng: random.Random) -> None:
    def edit(document: Any) -> None:
        header = document["header"]
        names = rng.choice([header["classes"], header["taxonomy"]["names"]])
        bad = [
            None,
            [],
            [1],
            {},
            {"tuple": None},
            {"tuple": [None]},
            {"bytes": "0"},
            {"x": 1},
            {"float": "1"},
        ]
        if names is header["taxonomy"]["names"]:
            bad += [names[1] if names[0] == "all" else "all", ""]
        names[0] = rng.choice(bad)

    edit_document(folder, edit)


def forge_arrays_header(folder: Path, rng: random.Random) -> None:
    header, entries = split_arrays_file(folder)
    name = rng.choice(sorted(header))
    other = rng.choice(sorted(set(header) - {name}))
    way = rng.randrange(8)
    if way == 0:
        spoil(header, rng)
    elif way == 1:
        header[name], header[other] = header[other], header[name]
    elif way == 2:
        header[name]["data_offsets"] = header[other]["data_offsets"]
    elif way == 3:
        header[name]["data_offsets"] = [offset + rng.choice([-8, 1, 8, 2**62]) for offset in (0, 8)]
    elif way == 4:
        header[name]["shape"] = rng.choice([[2**62], [0, 2**62], [-1], [1] * 70, [3.0], [True], "3", None])
    elif way == 5:
        header[name]["dtype"] = rng.choice(["F16", "BF16", "I8", "object", "", None, 3, [], "f8"])
    elif way == 6:
        entries = rng.choice([entries[:-1], entries + b"\0", b"", entries[8:]])
    else:
        header["__metadata__"] = {"format": "np"}
    replace_arrays_file(folder, join_arrays_file(header, entries))


def strange_text(folder: Path, rng: random.Random) -> None:
    manifest = folder / "model.json"
    text = manifest.read_bytes()
    manifest.write_bytes(
        rng.choice(
            [
                b"",
                b"null",
                b"[" * 100_000,
                b'{"a":' * 50_000,
                b"1" * 100_000,
                b"\xff\xfe" + text,
                b"\xef\xbb\xbf" + text,
                text.decode().encode("utf-16"),
                text.replace(b'"format_version": 1', b'"format_version": ' + b"9" * 5000),
                text.replace(b'"format_version": 1', b'"format_version": NaN'),
                text.replace(b'"format_version": 1', b'"format_version": 1.0'),
                text.replace(b'"header": {', b'"header": {"x": Infinity, '),
                text.replace(b'"header": {', b'"header": {"x": "\\ud800", '),
                text.replace(b'"header": {', b'"header": ' + b"[" * 20_000 + b"{"),
                text + text,
            ]
        )
    )


DAMAGES: list[Damage] = [
    flip_a_bit,
    cut_or_extend,
    swap_files,
    forge_header_length,
    forge_entries,
    forge_structure,
    forge_document,
    forge_names,
    forge_arrays_header,
    strange_text,
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_thirty_damaged_folders_are_refused_or_load_as_saved(tmp_path: Path, damage: Damage) -> None:
    expected = fingerprint(sample_content())
    sentences = []
    for seed in range(30):
        folder = tmp_path / f"{seed}" / "model"
        folder.parent.mkdir()
        save_content(folder, sample_content())
        damage(folder, random.Random(f"{damage.__name__} {seed}"))
        try:
            loaded = fingerprint(load_content(folder))
        except ModelError as error:
            sentences.append(str(error))
        else:
            assert loaded == expected, seed
    # Few damages are harmless, such as a flipped bit that turns one blank of JSON into another.
    assert len(sentences) >= 20
    assert all("\n" not in sentence and len(sentence) < 500 for sentence in sentences)


@pytest.mark.parametrize("seed", range(60))
def test_without_the_checksum_damage_is_still_no_crash(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    folder = tmp_path / "model"
    save_content(folder, sample_content())
    path = arrays_path(folder)
    raw = bytearray(path.read_bytes())
    for _ in range(rng.randrange(1, 4)):
        raw[rng.randrange(len(raw))] = rng.randrange(256)
    path.write_bytes(raw)
    try:
        content = load_content(folder, verify=False)
    except ModelError:
        return
    scores = content["weights"].scores(np.ones((2, 4)))
    assert scores.shape == (2, 3)


def test_honest_edits_go_through(tmp_path: Path) -> None:
    """The forgeries above are refused for what they forge: done with the right content, they load."""
    folder = tmp_path / "model"
    save_content(folder, sample_content())
    replace_arrays_file(folder, join_arrays_file(*split_arrays_file(folder)))
    arrays = load_file(arrays_path(folder))
    replace_arrays_file(folder, save(arrays))
    edit_document(folder, lambda document: None)
    assert fingerprint(load_content(folder)) == fingerprint(sample_content())


@pytest.mark.parametrize("places", [{"b": [0, 16]}, {"b": [8, 24]}, {"a": [16, 32], "b": [32, 48]}])
def test_arrays_may_neither_overlap_nor_leave_gaps(tmp_path: Path, places: dict[str, list[int]]) -> None:
    write_model(tmp_path, {}, {"a": np.ones(2), "b": np.zeros(2), "c": np.ones(2)})
    header, entries = split_arrays_file(tmp_path)
    for name, place in places.items():
        header[name]["data_offsets"] = place
    replace_arrays_file(tmp_path, join_arrays_file(header, entries))
    with pytest.raises(ModelError, match="the place of the array"):
        read_model(tmp_path)


def test_sizes_are_checked_before_memory_is_asked_for(tmp_path: Path) -> None:
    save_content(tmp_path / "json", sample_content())
    os.truncate(tmp_path / "json" / "model.json", 2**36)  # sparse files: they take no room
    save_content(tmp_path / "arrays", sample_content())
    os.truncate(arrays_path(tmp_path / "arrays"), 2**36)
    save_content(tmp_path / "header", sample_content())
    forged = arrays_path(tmp_path / "header")
    with forged.open("rb+") as file:
        file.write(struct.pack("<Q", 2**35))
        file.truncate(2**36)
    edit_document(tmp_path / "header", lambda document: document["files"][0].update(bytes=2**36))
    tracemalloc.start()
    for name, reason in (("json", "larger than"), ("arrays", "truncated or altered"), ("header", "length")):
        with pytest.raises(ModelError, match=reason):
            read_model(tmp_path / name, verify=False)
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (lambda folder: arrays_path(folder).unlink(), r"arrays-.* is missing"),
        (lambda folder: (folder / "model.json").unlink(), r"there is no model\.json"),
        (
            lambda folder: os.truncate(arrays_path(folder), 100),
            "has 100 bytes where .* truncated",
        ),
        (lambda folder: os.truncate(folder / "model.json", 100), r"model\.json is not valid JSON"),
        (lambda folder: alter(arrays_path(folder), -1), "was altered: its checksum"),
        (lambda folder: rename_method(folder), r"model\.json was altered: its checksum"),
    ],
)
def test_the_sentence_says_what_happened(tmp_path: Path, edit: Callable[[Path], Any], sentence: str) -> None:
    save_content(tmp_path, sample_content())
    edit(tmp_path)
    with pytest.raises(ModelError, match=f"cannot load a model from .*: .*{sentence}"):
        read_model(tmp_path)


def alter(path: Path, position: int) -> None:
    raw = bytearray(path.read_bytes())
    raw[position] ^= 1
    path.write_bytes(raw)


def rename_method(folder: Path) -> None:
    path = folder / "model.json"
    document = json.loads(path.read_text())
    document["header"]["method"] = "Another"
    path.write_text(json.dumps(document))
