"""The `.safetensors` file of a model, written and mapped back without a copy.

The safetensors library copies each array on the way out and in, and they may be larger than the memory. So the (very
simple) layout is written and mapped here: eight bytes of header length, a JSON header of dtype, shape and
offsets, then the entries of all arrays without gaps.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from taxolearn.errors import ModelError
from taxolearn.storage.manifest import ITEM_BYTES, MAX_ARRAYS, ArraySpec, check_array_name

_HEADER_LENGTH = struct.Struct("<Q")  # first 8 bytes of the file: how long its header is
_TAGS = {"uint8": "U8", "int32": "I32", "int64": "I64", "float32": "F32", "float64": "F64"}


def storable_arrays(arrays: Mapping[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays as they can be written (C order, little-endian), or say which one cannot be.

    >>> storable_arrays({"w": np.ones(2, dtype=np.complex128)})
    Traceback (most recent call last):
    ...
    taxolearn.errors.ModelError: array 'w' is complex128; arrays may be uint8, int32, int64, float32, float64
    """
    if len(arrays) > MAX_ARRAYS:
        raise ModelError(f"a model holds at most {MAX_ARRAYS:,} arrays, not {len(arrays):,}")
    storable = {}
    for name, array in arrays.items():
        check_array_name(name)
        if not isinstance(array, np.ndarray):
            raise ModelError(f"array {name!r} is a {type(array).__qualname__}, not a NumPy array")
        if array.dtype.name not in ITEM_BYTES:
            raise ModelError(f"array {name!r} is {array.dtype}; arrays may be {', '.join(ITEM_BYTES)}")
        ArraySpec(array.dtype.name, array.shape)
        storable[name] = np.asarray(array, dtype=_little_endian(array.dtype.name), order="C")
    return storable


def write_arrays(path: Path, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    """Write storable arrays to a new file and wait until they are on the disk.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_arrays(Path(folder, "a"), {"w": np.zeros(2)})
    ...     Path(folder, "a").stat().st_size > 16
    True
    """
    header: dict[str, Any] = {}
    end = 0
    # Largest items first: then all arrays are aligned.
    names = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    for name in names:
        array = arrays[name]
        places = [end, end + array.nbytes]
        header[name] = {"dtype": _TAGS[array.dtype.name], "shape": list(array.shape), "data_offsets": places}
        end += array.nbytes
    raw = json.dumps(header, separators=(",", ":")).encode()
    raw += b" " * (-len(raw) % 8)
    with path.open("xb") as file:
        file.write(_HEADER_LENGTH.pack(len(raw)) + raw)
        for name in names:
            file.write(arrays[name].reshape(-1).view(np.uint8).data)
        file.flush()
        os.fsync(file.fileno())


def map_arrays(file: BinaryIO, specs: dict[str, ArraySpec]) -> dict[str, np.ndarray[Any, Any]]:
    """Return read-only arrays over the mapped file, once its header agrees with `specs` in every entry.

    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     _ = file.write(b"nothing of the kind"), file.seek(0)
    ...     map_arrays(file, {})
    Traceback (most recent call last):
    ...
    taxolearn.errors.ModelError: the arrays file has a header of impossible length
    """
    size = os.fstat(file.fileno()).st_size
    offsets = _checked_offsets(file, specs, size)
    mapped = np.memmap(file, dtype=np.uint8, mode="r")
    # Cut off after this, a mapped file ends the process (SIGBUS); before this it does not.
    if mapped.size != size or os.fstat(file.fileno()).st_size != size:
        raise ModelError("the arrays file changed its size while it was opened")
    return {
        name: np.ndarray(spec.shape, dtype=_little_endian(spec.dtype), buffer=mapped, offset=offsets[name])
        for name, spec in specs.items()
    }


def _little_endian(dtype: str) -> np.dtype[Any]:
    # By its code, so that on most machines it is the native dtype itself and not just one that equals it.
    return np.dtype(np.dtype(dtype).newbyteorder("<").str)


def _checked_offsets(file: BinaryIO, specs: dict[str, ArraySpec], size: int) -> dict[str, int]:
    """Return where each array starts in the file."""
    start = file.read(_HEADER_LENGTH.size)
    length = _HEADER_LENGTH.unpack(start)[0] if len(start) == _HEADER_LENGTH.size else size
    # Names have at most 200 characters and shapes four numbers, so an honest header stays below this.
    if length > min(size - _HEADER_LENGTH.size, 4096 + 600 * len(specs)):
        raise ModelError("the arrays file has a header of impossible length")
    try:
        header = json.loads(file.read(length).decode("utf-8"))
    except (ValueError, RecursionError):
        raise ModelError("the header of the arrays file is not valid JSON") from None
    if type(header) is not dict or set(header) != set(specs):
        raise ModelError("the arrays file does not hold the arrays that model.json lists")

    places: dict[str, tuple[int, ...]] = {}
    for name, spec in specs.items():
        entry = header[name]
        if type(entry) is not dict or entry.keys() != {"dtype", "shape", "data_offsets"}:
            raise ModelError(f"array {name!r} is not described in the arrays file")
        if entry["dtype"] != _TAGS[spec.dtype] or _integers(entry["shape"]) != spec.shape:
            raise ModelError(f"dtype or shape of the array {name!r} differ between the two files")
        place = _integers(entry["data_offsets"])
        if place is None or len(place) != 2 or place[1] - place[0] != spec.n_bytes:
            raise ModelError(f"the place of the array {name!r} in the arrays file is not valid")
        places[name] = place

    first = _HEADER_LENGTH.size + length
    expected = 0
    for name, (begin, end) in sorted(places.items(), key=lambda item: item[1]):
        if begin != expected or (first + begin) % ITEM_BYTES[specs[name].dtype]:
            raise ModelError(f"the place of the array {name!r} in the arrays file is not valid")
        expected = end
    if first + expected != size:
        raise ModelError("the arrays file is longer or shorter than its arrays")
    return {name: first + begin for name, (begin, _) in places.items()}


def _integers(value: Any) -> tuple[int, ...] | None:
    """Return a JSON list of integers as a tuple; for anything else, `true` and `1.0` included, None."""
    if type(value) is not list or not all(type(n) is int for n in value):
        return None
    return tuple(value)
