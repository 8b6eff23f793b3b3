"""A model as a folder: `model.json` and one file of arrays, replaced as a whole and checked on the way in."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib import metadata
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from taxolearn.errors import ModelError
from taxolearn.storage.arrays_file import map_arrays, storable_arrays, write_arrays
from taxolearn.storage.manifest import (
    FORMAT_NAME,
    MANIFEST_NAME,
    ArraySpec,
    Manifest,
    check_extent,
    check_size,
    manifest_bytes,
    parse_manifest,
)
from taxolearn.storage.values import encode_header

_OWN_FILE = re.compile(r"arrays-[0-9a-f]{16}\.safetensors|\.saving-[0-9a-f]{16}")
_FORMAT_ENTRY = re.compile(rb'"format"\s*:\s*"' + FORMAT_NAME.encode() + rb'"')


def write_model(
    folder: str | os.PathLike[str], header: dict[str, Any], arrays: Mapping[str, np.ndarray[Any, Any]]
) -> None:
    """Write a model folder, or replace the model in it; a crash at any moment leaves the old one in place.

    `header` may hold None, bool, int, float, str, bytes and lists, tuples and dicts (with str keys) of these;
    `arrays` may be uint8, int32, int64, float32 and float64. What cannot be stored, or a path that is
    something else than a model or an empty folder, is a `ModelError` before anything is written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(folder, {"method": "demo", "shape": (2, 3)}, {"w": np.arange(3.0)})
    ...     header, arrays = read_model(folder)
    >>> header
    {'method': 'demo', 'shape': (2, 3)}
    >>> arrays["w"].tolist(), arrays["w"].flags.writeable
    ([0.0, 1.0, 2.0], False)
    """
    folder = Path(folder)
    encode_header(header)
    storable = storable_arrays(arrays)
    try:
        new = not os.path.lexists(folder)
        if not new:
            _check_replaceable(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with _only_writer(folder):
            try:
                _replace(folder, header, storable)
            finally:
                _remove_unused(folder)
                if new:
                    with contextlib.suppress(OSError):  # not empty: the model is there
                        folder.rmdir()
    except OSError as error:
        raise ModelError(f"cannot save the model to {folder}: {error.strerror or error}") from error


def read_model(
    folder: str | os.PathLike[str], *, verify: bool = True
) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """Return header and arrays of a model folder; the arrays are read-only views of the mapped file.

    `verify=False` leaves out the SHA-256 of the arrays file, and so does not read it through; everything else
    is checked all the same. Whatever is wrong with the folder is a `ModelError`.

    >>> read_model("no-such-folder")
    Traceback (most recent call last):
    ...
    taxolearn.errors.ModelError: cannot load a model from no-such-folder: there is no model.json
    """
    with _load_errors(folder):
        manifest = _read_manifest(Path(folder))
        while True:
            try:
                file = _open_regular(Path(folder, manifest.file_name))
                break
            except FileNotFoundError:
                # Another process may have replaced the model since model.json was read.
                newer = _read_manifest(Path(folder))
                if newer.file_name == manifest.file_name:
                    raise ModelError(f"{manifest.file_name} is missing") from None
                manifest = newer
        with file:
            _check_file(file, manifest, verify)
            return manifest.header, map_arrays(file, manifest.arrays)


def read_manifest(folder: str | os.PathLike[str]) -> Manifest:
    """Return what `model.json` says, without opening the arrays: header, provenance, dtypes and shapes.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(folder, {"method": "demo"}, {"w": np.arange(3.0)})
    ...     read_manifest(folder).arrays["w"]
    ArraySpec(dtype='float64', shape=(3,))
    """
    with _load_errors(folder):
        return _read_manifest(Path(folder))


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Say before long work why a model could not be saved to a folder; nothing is written.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(prefix="rows") as file:
    ...     check_folder(file.name)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    taxolearn.errors.ModelError: cannot save a model to ...: it is a file, and a model is a folder
    """
    folder = Path(folder)
    try:
        if os.path.lexists(folder):
            _check_replaceable(folder)
        nearest = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
        if not nearest.is_dir():
            raise ModelError(f"cannot save a model to {folder}: {nearest} is not a folder")
        if not os.access(nearest, os.W_OK | os.X_OK):
            raise ModelError(f"cannot save a model to {folder}: {nearest} cannot be written to")
    except (OSError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"cannot save a model to {folder}: {_reason(error)}") from error


def holds_model_files(folder: Path) -> bool:
    """Whether what is in a folder, damaged or not, was written by `write_model`, and little else.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "model.json").write_text("damaged"), Path(folder, "thesis.txt").write_text("precious")
    ...     holds_model_files(Path(folder))
    False
    """
    try:
        names = {entry.name for entry in folder.iterdir()}
        with contextlib.suppress(OSError, ModelError), _open_regular(folder / MANIFEST_NAME) as file:
            if _FORMAT_ENTRY.search(file.read(2**16)):
                return True
    except OSError:
        return True  # nobody can look into it
    own = {name for name in names if _OWN_FILE.fullmatch(name)}
    return bool(own) or names <= {MANIFEST_NAME}


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _replace(folder: Path, header: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    # Order is all: the new arrays come to rest beside the old ones before model.json, by one atomic rename,
    # turns from the old to the new.
    waiting = _temporary(folder)
    write_arrays(waiting, arrays)
    with waiting.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    specs = {name: ArraySpec(array.dtype.name, array.shape) for name, array in arrays.items()}
    manifest = Manifest(header, provenance(), specs, waiting.stat().st_size, sha256)
    raw = manifest_bytes(manifest)
    os.replace(waiting, folder / manifest.file_name)
    _sync_folder(folder)

    waiting = _temporary(folder)
    with waiting.open("xb") as file:
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())
    os.replace(waiting, folder / MANIFEST_NAME)
    _sync_folder(folder)


def _check_replaceable(folder: Path) -> None:
    if not folder.is_dir():
        what = "it is a file, and a model is a folder" if folder.exists() else "it is a link to nothing"
        raise ModelError(f"cannot save a model to {folder}: {what}")
    try:
        with _open_regular(folder / MANIFEST_NAME) as file:
            ours = _FORMAT_ENTRY.search(file.read(2**16)) is not None
    except FileNotFoundError:
        # A first save that was killed leaves files of our own names only.
        ours = all(_OWN_FILE.fullmatch(entry.name) for entry in folder.iterdir())
    except ModelError:
        ours = False
    if not ours:
        raise ModelError(
            f"cannot save a model to {folder}: the folder holds something else than a taxolearn model; "
            "choose another folder or empty this one"
        )


def _remove_unused(folder: Path) -> None:
    """Remove arrays and unfinished files that the present model.json does not name."""
    try:
        manifest = (folder / MANIFEST_NAME).read_bytes()
    except FileNotFoundError:
        manifest = b""
    for entry in list(folder.iterdir()):
        if _OWN_FILE.fullmatch(entry.name) and entry.name.encode() not in manifest:
            # Where an open file cannot be removed, the next save tries again.
            with contextlib.suppress(OSError):
                entry.unlink()


@contextlib.contextmanager
def _only_writer(folder: Path) -> Iterator[None]:
    """Let one process at a time save into a folder; the lock ends with the process, however it ends."""
    try:
        import fcntl
    except ImportError:  # Windows: two processes saving to the same folder at once are not kept apart
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # file systems without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    """Make renames last through a power cut, where folders can be opened at all."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _temporary(folder: Path) -> Path:
    return folder / f".saving-{secrets.token_hex(8)}"


def provenance() -> dict[str, str]:
    """Versions and the date, as models and reports keep them.

    >>> sorted(provenance())
    ['date', 'numpy', 'python', 'scipy', 'taxolearn']
    """
    try:
        version = metadata.version("taxolearn")
    except metadata.PackageNotFoundError:  # run from a source tree that is not installed
        version = "unknown"
    return {
        "taxolearn": version,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


@contextlib.contextmanager
def _load_errors(folder: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except (ModelError, OSError) as error:
        raise ModelError(f"cannot load a model from {os.fspath(folder)}: {_reason(error)}") from None


def _read_manifest(folder: Path) -> Manifest:
    try:
        with _open_regular(folder / MANIFEST_NAME) as file:
            arrays_bytes = _arrays_bytes(folder)
            size = os.fstat(file.fileno()).st_size
            check_size(size, arrays_bytes)
            raw = file.read(size)  # and not what it may have grown to since
            check_extent(raw, arrays_bytes)
            return parse_manifest(raw)
    except (FileNotFoundError, NotADirectoryError):
        raise ModelError(f"there is no {MANIFEST_NAME}") from None


def _arrays_bytes(folder: Path) -> int:
    """The size of the largest arrays file there, whichever it is that model.json names."""
    found = 0
    for path in folder.iterdir():
        if _OWN_FILE.fullmatch(path.name):
            with contextlib.suppress(FileNotFoundError):  # another process has just replaced the model
                found = max(found, path.stat().st_size)
    return found


def _check_file(file: BufferedReader, manifest: Manifest, verify: bool) -> None:
    size = os.fstat(file.fileno()).st_size
    if size != manifest.file_bytes:
        raise ModelError(
            f"{manifest.file_name} has {size:,} bytes where {manifest.file_bytes:,} were saved; "
            "it is truncated or altered"
        )
    if verify:
        if hashlib.file_digest(file, "sha256").hexdigest() != manifest.file_sha256:
            raise ModelError(f"{manifest.file_name} was altered: its checksum is not that in {MANIFEST_NAME}")
        file.seek(0)


def _open_regular(path: Path) -> BufferedReader:
    """Open a file for reading, but not a pipe or a device, which could block or never end."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ModelError(f"{path.name} is not a regular file")
    return os.fdopen(descriptor, "rb")
