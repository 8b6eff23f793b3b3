"""Duals of an unfinished fit in a folder, so that it can go on after a crash."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import DataError, ModelError
from taxolearn.models import read_model, write_model


class Checkpoint:
    """A folder with the last duals, classes x rows, of one problem; every write replaces the last one atomically.

    `mark` says what the duals belong to: a folder with another mark is refused, so that nothing is overwritten.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Checkpoint(f"{folder}/c", "mark").write(sp.csr_array(np.eye(2)))
    ...     Checkpoint(f"{folder}/c", "mark").read().toarray().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    def __init__(self, folder: str | Path, mark: str, seconds: float = 120.0) -> None:
        self.folder, self.mark, self.seconds = Path(folder), mark, seconds
        self._last = time.monotonic()

    def read(self) -> sp.csr_array | None:
        """The duals in the folder, or None when there is none yet.

        >>> Checkpoint("no such folder", "mark").read() is None
        True
        """
        if not (self.folder / "model.json").exists():
            return None
        try:
            header, arrays = read_model(self.folder)
        except ModelError as error:
            raise DataError(
                f"checkpoint={str(self.folder)!r} cannot be read ({error}); delete it, or give another folder"
            ) from None
        if header.get("checkpoint") != self.mark:
            raise DataError(
                f"checkpoint={str(self.folder)!r} belongs to other rows, labels or parameters; delete it, or give "
                "another folder"
            )
        shape = tuple(header["shape"])
        return sp.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)

    def due(self) -> bool:
        """Whether it is time to write again.

        >>> Checkpoint("folder", "mark").due()
        False
        """
        return time.monotonic() - self._last >= self.seconds

    def write(self, dual: sp.csr_array) -> None:
        """Replace what is in the folder.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Checkpoint(folder, "mark").write(sp.csr_array(np.eye(2)))
        """
        header = {"checkpoint": self.mark, "shape": list(dual.shape)}
        write_model(self.folder, header, {"data": dual.data, "indices": dual.indices, "indptr": dual.indptr})
        self._last = time.monotonic()


def mark_of(*parts: Any) -> str:
    """A hash of everything that a dual depends on.

    >>> mark_of("rows", 1.0) == mark_of("rows", 1.0), mark_of("rows", 1.0) == mark_of("rows", 2.0)
    (True, False)
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        array: npt.NDArray[Any] | None = part if isinstance(part, np.ndarray) else None
        digest.update(repr(part).encode() if array is None else np.ascontiguousarray(array).tobytes())
        digest.update(b"|")
    return digest.hexdigest()
