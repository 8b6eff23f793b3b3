"""`model.json`: what it says, how it is written, and every check on the way back in."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from taxolearn.errors import ModelError
from taxolearn.storage.json_extent import json_extent
from taxolearn.storage.values import decode_header, encode_header

FORMAT_NAME = "taxolearn-model"
MANIFEST_NAME = "model.json"
# Room for some ten million names; a larger file is refused before it is read.
MAX_MANIFEST_BYTES = 256 * 2**20
# What a model may have in model.json without arrays, and what each byte of arrays allows besides: a class has 32 of
# these at least.
_MAX_BYTES_ALONE, _BYTES_PER_ARRAY_BYTE = 32 * 2**20, 32
_MAX_CONTAINERS_ALONE, _ARRAY_BYTES_PER_CONTAINER, _MAX_CONTAINERS = 2**20, 8, 2**23  # lists and objects
_MAX_DEPTH = 200  # levels of lists and objects
# dtype by name -> bytes per entry. Few, so that every reader can hold them all.
ITEM_BYTES = {"uint8": 1, "int32": 4, "int64": 8, "float32": 4, "float64": 8}
MAX_ARRAYS = 10_000
MAX_DIMENSIONS = 4
_MAX_ENTRIES = 2**48  # entries of an array, above which a stored shape is damage
_ARRAY_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,199}")
_FILE_NAME = re.compile(r"arrays-[0-9a-f]{16}\.safetensors")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class ArraySpec:
    """The dtype and shape of one stored array.

    >>> ArraySpec("float32", (3, 4)).n_bytes
    48
    """

    dtype: str
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.dtype not in ITEM_BYTES:
            raise ModelError(f"arrays may be {', '.join(ITEM_BYTES)}, not {self.dtype[:40]!r}")
        # The largest length counts even beside a zero: NumPy multiplies the non-zero ones.
        if len(self.shape) > MAX_DIMENSIONS or math.prod(max(n, 1) for n in self.shape) > _MAX_ENTRIES:
            raise ModelError(f"an array cannot have the shape {list(self.shape)[:6]}")

    @property
    def n_bytes(self) -> int:
        """Bytes the entries take on disk."""
        return math.prod(self.shape) * ITEM_BYTES[self.dtype]


@dataclass(frozen=True)
class Manifest:
    """The content of `model.json`; `file_bytes` and `file_sha256` are those of the arrays file.

    >>> spec = ArraySpec("float32", (2,))
    >>> kept = Manifest({"method": "demo"}, {"numpy": "2.0"}, {"w": spec}, 80, "0" * 64)
    >>> parse_manifest(manifest_bytes(kept)) == kept
    True
    """

    header: dict[str, Any]
    provenance: dict[str, str]
    arrays: dict[str, ArraySpec]
    file_bytes: int
    file_sha256: str
    format_version: int = 1

    @property
    def file_name(self) -> str:
        """Name of the arrays file: derived from its content, so a new one never overwrites the old one."""
        return f"arrays-{self.file_sha256[:16]}.safetensors"


def check_array_name(name: object) -> str:
    """Return an array name as it is, or say why it cannot be one.

    >>> check_array_name("weights/coef")
    'weights/coef'
    """
    if not isinstance(name, str) or name == "__metadata__" or not _ARRAY_NAME.fullmatch(name):
        raise ModelError(
            f"{str(name)[:80]!r} cannot be the name of an array; use up to 200 letters, digits and _ . / -"
        )
    return name


def manifest_bytes(manifest: Manifest) -> bytes:
    """Return `model.json` for a manifest: one line per entry, its own checksum among them.

    >>> text = manifest_bytes(Manifest({}, {}, {}, file_bytes=16, file_sha256="0" * 64)).decode()
    >>> print(text.splitlines()[1])
    "format": "taxolearn-model",
    """
    document: dict[str, Any] = {
        "format": FORMAT_NAME,
        "format_version": manifest.format_version,
        "provenance": manifest.provenance,
        "files": [{"name": manifest.file_name, "bytes": manifest.file_bytes, "sha256": manifest.file_sha256}],
        "arrays": {
            name: {"dtype": spec.dtype, "shape": list(spec.shape)} for name, spec in manifest.arrays.items()
        },
        "header": encode_header(manifest.header),
    }
    document["checksum"] = document_checksum(document)
    lines = (f"{json.dumps(key)}: {json.dumps(entry, ensure_ascii=False)}" for key, entry in document.items())
    raw = ("{\n" + ",\n".join(lines) + "\n}\n").encode()
    check_extent(raw, manifest.file_bytes)  # what is saved can be loaded
    return raw


def check_size(n_bytes: int, arrays_bytes: int) -> None:
    """Whether `model.json` can be as large as that beside arrays of so many bytes; asked before it is read.

    >>> check_size(100_000_000, 30_000)
    Traceback (most recent call last):
    ...
    taxolearn.errors.ModelError: model.json has 100,000,000 bytes, which is larger than a model with 30,000 bytes of \
arrays may have, 34,514,432; put large lists into arrays
    """
    if n_bytes > MAX_MANIFEST_BYTES:
        raise ModelError(
            f"model.json has {n_bytes:,} bytes, which is larger than the {MAX_MANIFEST_BYTES:,} allowed; "
            "put large lists into arrays"
        )
    if n_bytes > _MAX_BYTES_ALONE + _BYTES_PER_ARRAY_BYTE * arrays_bytes:
        raise ModelError(
            f"model.json has {n_bytes:,} bytes, which is larger than a model with {arrays_bytes:,} bytes of arrays "
            f"may have, {_MAX_BYTES_ALONE + _BYTES_PER_ARRAY_BYTE * arrays_bytes:,}; put large lists into arrays"
        )


def check_extent(raw: bytes, arrays_bytes: int) -> None:
    """Whether the lists and objects in a `model.json` are few enough, and flat enough, to be parsed.

    >>> check_extent(b"[" * 1000, 0)
    Traceback (most recent call last):
    ...
    taxolearn.errors.ModelError: model.json is nested too deep, 1,000 levels
    """
    check_size(len(raw), arrays_bytes)
    containers, depth = json_extent(raw)
    if depth > _MAX_DEPTH:
        raise ModelError(f"model.json is nested too deep, {depth:,} levels")
    allowed = min(_MAX_CONTAINERS_ALONE + arrays_bytes // _ARRAY_BYTES_PER_CONTAINER, _MAX_CONTAINERS)
    if containers > allowed:
        raise ModelError(
            f"model.json holds {containers:,} lists and objects, more than a model with {arrays_bytes:,} bytes of "
            f"arrays may have, {allowed:,}; put large lists into arrays"
        )


def document_checksum(document: dict[str, Any]) -> str:
    """Return the SHA-256 of a document's canonical JSON: sorted keys, no blanks, ASCII, no `checksum` entry.

    >>> document_checksum({"b": 1, "a": 2, "checksum": "?"}) == document_checksum({"a": 2, "b": 1})
    True
    """
    content = {key: entry for key, entry in document.items() if key != "checksum"}
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def parse_manifest(raw: bytes) -> Manifest:
    """Return the manifest in the bytes of a `model.json`, or raise `ModelError`.

    >>> parse_manifest(b'{"format": "taxolearn-model", "format_version": 9}')
    Traceback (most recent call last):
    ...
    taxolearn.errors.ModelError: model.json has format version 9, but this taxolearn reads up to version 1; \
install a newer taxolearn
    """
    try:
        document = json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant)
        if type(document) is not dict or document.get("format") != FORMAT_NAME:
            raise ModelError(f"model.json does not say that its format is {FORMAT_NAME!r}")
        version = document.get("format_version")
        if type(version) is not int or version < 1:
            raise ModelError("model.json has no valid format version")
        if version not in _READERS:
            raise ModelError(
                f"model.json has format version {version}, but this taxolearn reads up to version "
                f"{max(_READERS)}; install a newer taxolearn"
            )
        return _READERS[version](document)
    except RecursionError:
        raise ModelError("model.json is nested too deep") from None
    except ModelError:
        raise
    except ValueError as error:  # what json and str.decode raise, with the place in the text
        raise ModelError(f"model.json is not valid JSON ({error})") from None


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _read_version_1(document: dict[str, Any]) -> Manifest:
    if document.get("checksum") != document_checksum(document):
        raise ModelError("model.json was altered: its checksum does not match its content")
    expected = {"format", "format_version", "provenance", "files", "arrays", "header", "checksum"}
    if set(document) != expected:
        raise ModelError(f"model.json must have the entries {', '.join(sorted(expected))}, and no others")
    provenance, header = document["provenance"], decode_header(document["header"])
    if type(provenance) is not dict or not all(type(entry) is str for entry in provenance.values()):
        raise ModelError("the provenance in model.json is not an object of strings")
    n_bytes, sha256 = _file_entry(document["files"])
    manifest = Manifest(header, provenance, _array_specs(document["arrays"]), n_bytes, sha256)
    if manifest.file_name != document["files"][0]["name"]:
        raise ModelError("the arrays file named in model.json does not fit its own checksum")
    return manifest


def _file_entry(files: Any) -> tuple[int, str]:
    if type(files) is not list or len(files) != 1 or type(files[0]) is not dict:
        raise ModelError("model.json must list exactly one arrays file")
    entry = files[0]
    if set(entry) != {"name", "bytes", "sha256"} or type(entry["bytes"]) is not int:
        raise ModelError("model.json must give name, bytes and sha256 of the arrays file")
    for key, pattern in (("name", _FILE_NAME), ("sha256", _SHA256)):
        if type(entry[key]) is not str or not pattern.fullmatch(entry[key]):
            raise ModelError(f"the {key} of the arrays file in model.json is not valid")
    return entry["bytes"], entry["sha256"]


def _array_specs(arrays: Any) -> dict[str, ArraySpec]:
    if type(arrays) is not dict or len(arrays) > MAX_ARRAYS:
        raise ModelError("the arrays listed in model.json are not an object of reasonable size")
    specs = {}
    for name, entry in arrays.items():
        check_array_name(name)
        if type(entry) is not dict or set(entry) != {"dtype", "shape"} or type(entry["dtype"]) is not str:
            raise ModelError(f"model.json must give dtype and shape of the array {name!r}")
        shape = entry["shape"]
        if type(shape) is not list or not all(type(n) is int and n >= 0 for n in shape):
            raise ModelError(f"the shape of the array {name!r} in model.json is not valid")
        specs[name] = ArraySpec(entry["dtype"], tuple(shape))
    return specs


# Format version -> the function that reads it. A version, once released, stays here for good.
_READERS: dict[int, Callable[[dict[str, Any]], Manifest]] = {1: _read_version_1}
