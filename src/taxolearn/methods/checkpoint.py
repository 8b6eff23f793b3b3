"""Duals of an unfinished fit in a folder, so that it can go on after a crash."""

from __future__ import annotations

import os
import re
import time
import warnings
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.errors import DataError, ModelError
from taxolearn.objective import Objective, Parts
from taxolearn.storage import read_model, write_model
from taxolearn.storage.folders import check_folder, holds_model_files
from taxolearn.storage.packing import unpack_sparse

_MARK = re.compile(r"[0-9a-f]{32}")


class Checkpoint:
    """A folder with the last duals, classes x rows, of one problem; every write replaces the last one atomically.

    `mark` says what the duals belong to: a folder with another mark is refused, so that nothing is overwritten. A
    damaged one is set aside, under a name of its own beside, with a warning.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Checkpoint(f"{folder}/c", 32 * "0", (2, 2)).write(sp.csr_array(np.eye(2)))
    ...     Checkpoint(f"{folder}/c", 32 * "0", (2, 2)).read().toarray().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    def __init__(self, folder: str | Path, mark: str, shape: tuple[int, int], seconds: float = 120.0) -> None:
        self.folder, self.mark, self.shape, self.seconds = Path(folder), mark, shape, seconds
        self._last = time.monotonic()

    def read(self, highest: float = np.inf) -> sp.csr_array | None:
        """The duals in the folder, or None when there is none yet, or none that can be trusted.

        They must be finite, not negative and not above `highest`.

        >>> Checkpoint("no such folder", "mark", (2, 2)).read() is None
        True
        """
        try:
            header, arrays = self._stored()
            dual = None if header is None else self._dual(header, arrays, highest)
        except ModelError as error:
            self._set_aside(str(error))
            dual = None
        try:
            check_folder(self.folder)  # rather now than after the first pass
        except ModelError as error:
            raise DataError(f"checkpoint={str(self.folder)!r} cannot be used: {error}") from None
        return dual

    def due(self) -> bool:
        """Whether it is time to write again.

        >>> Checkpoint("folder", "mark", (2, 2)).due()
        False
        """
        return time.monotonic() - self._last >= self.seconds

    def write(self, dual: sp.csr_array) -> None:
        """Replace what is in the folder.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Checkpoint(folder, "mark", (2, 2)).write(sp.csr_array(np.eye(2)))
        """
        if not dual.has_canonical_format:  # what is read is checked to be
            dual = dual.copy()
            dual.sum_duplicates()
        header = {"checkpoint": self.mark, "shape": list(dual.shape)}
        write_model(self.folder, header, {"data": dual.data, "indices": dual.indices, "indptr": dual.indptr})
        self._last = time.monotonic()

    def _stored(self) -> tuple[dict[str, Any] | None, dict[str, npt.NDArray[Any]]]:
        """Header and arrays; no header where nothing was written yet."""
        if not os.path.lexists(self.folder):
            return None, {}
        if not self.folder.is_dir():
            raise ModelError("it is not a folder")
        if not os.path.lexists(self.folder / "model.json"):
            return None, {}
        return read_model(self.folder)

    def _dual(
        self, header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]], highest: float
    ) -> sp.csr_array:
        shape = self.shape
        mark = header.get("checkpoint")
        if mark != self.mark:
            if mark is not None and not (isinstance(mark, str) and _MARK.fullmatch(mark)):
                raise ModelError("its mark is not one")
            raise DataError(
                f"checkpoint={str(self.folder)!r} belongs to other rows, labels or parameters; delete it, or give "
                "another folder"
            )
        if header.get("shape") != list(shape):
            raise ModelError(f"its duals are not {shape[0]:,} x {shape[1]:,}")
        dual = unpack_sparse(arrays, shape, "duals")
        if dual.data.size and not (dual.data.min() >= 0 and dual.data.max() <= highest):
            raise ModelError("a dual is out of its bounds")
        # Not mapped any more: what happens to the file now cannot end the fit.
        return sp.csr_array((np.array(dual.data), np.array(dual.indices), np.array(dual.indptr)), shape=shape)

    def _set_aside(self, reason: str) -> None:
        """Rename what cannot be read, so that the fit can write; it is never deleted."""
        name = f"checkpoint={str(self.folder)!r}"
        if self.folder.is_dir() and not holds_model_files(self.folder):
            raise DataError(f"{name} holds something else than a checkpoint; give another folder")
        try:
            aside = next(path for path in _names_beside(self.folder) if not os.path.lexists(path))
            os.rename(self.folder, aside)
        except (OSError, ValueError) as error:
            raise DataError(
                f"{name} is damaged ({reason}) and cannot be set aside ({error}); delete it, or give another folder"
            ) from None
        warnings.warn(
            f"{name} is damaged ({reason}); it is now called {str(aside)!r}, and the fit starts anew",
            stacklevel=2,
        )


def _names_beside(folder: Path) -> Iterable[Path]:
    absolute = Path(os.path.abspath(folder))
    return (absolute.with_name(f"{absolute.name}.damaged-{number}") for number in count(1))


def highest_dual(objective: Objective | Parts, shape: tuple[int, int]) -> float:
    """A number that no dual is near: what has larger ones is no checkpoint.

    The dual objective is not below that of zero, so that duals of the squared hinge are of the order of their cost
    times the root of their number; all others are bounded by their cost, and probabilities by 1.

    >>> from taxolearn import RecursiveLogistic
    >>> from taxolearn.problem import make_problem
    >>> objective = RecursiveLogistic(loss="softmax")._objective(make_problem([[0.0], [1.0]], ["a", "b"]))
    >>> highest_dual(objective, (2, 2))
    2.0
    """
    if not objective.loss.facts.dual_grows_with_C:
        return 2.0
    problem = objective.problem
    weight = problem.row_weight.max() * max(problem.positive_weight.max(), problem.negative_weight.max())
    first = objective.parts[0] if isinstance(objective, Parts) else objective
    margin = 1.0 + abs(first.bias_prior * first.bias_feature)
    return float(1e4 * objective.C * weight * margin * (1.0 + np.sqrt(float(shape[0]) * shape[1])))
