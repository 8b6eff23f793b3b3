"""Every error that taxolearn raises on purpose: one sentence that names the culprit and what to do."""

from __future__ import annotations

from pathlib import Path


class TaxolearnError(ValueError):
    """Base of every error taxolearn raises about what it was given.

    >>> issubclass(TaxonomyError, TaxolearnError) and issubclass(TaxolearnError, ValueError)
    True
    """


class TaxonomyError(TaxolearnError):
    """The taxonomy or class graph is malformed: a cycle, a duplicate edge, an empty name, ...

    >>> from taxolearn import Taxonomy
    >>> Taxonomy.from_edges([("a", "a")])
    Traceback (most recent call last):
    ...
    taxolearn.errors.TaxonomyError: node 'a' is its own parent; remove the edge ('a', 'a')
    """


class LabelError(TaxolearnError):
    """A label is unknown, empty or of a form that is not understood.

    >>> raise LabelError("row 3: unknown label 'cta'; did you mean 'cat'?")
    Traceback (most recent call last):
    ...
    taxolearn.errors.LabelError: row 3: unknown label 'cta'; did you mean 'cat'?
    """


class DataError(TaxolearnError):
    """X, weights or another array cannot be used: NaN, wrong shape, wrong type.

    >>> raise DataError("X holds NaN at row 0, column 2; impute or drop it first")
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: X holds NaN at row 0, column 2; impute or drop it first
    """


class ModelError(TaxolearnError):
    """A model folder is missing, truncated, altered or of a newer format.

    >>> raise ModelError("model.json is missing")
    Traceback (most recent call last):
    ...
    taxolearn.errors.ModelError: model.json is missing
    """


class EngineError(TaxolearnError):
    """A cluster cannot be used: nobody answers, a library is missing, or machines have different versions.

    >>> raise EngineError("node 10.0.0.7 has numpy 2.0.0 instead of 2.1.0; install the same versions on all nodes")
    Traceback (most recent call last):
    ...
    taxolearn.errors.EngineError: node 10.0.0.7 has numpy 2.0.0 instead of 2.1.0; install the same versions on all nodes
    """


class FileFormatError(TaxolearnError):
    """A data file is malformed; the message starts with the file and the line number.

    >>> raise FileFormatError("rows.svm", 3, "expected index:value, found '7'")
    Traceback (most recent call last):
    ...
    taxolearn.errors.FileFormatError: rows.svm:3: expected index:value, found '7'
    """

    def __init__(self, path: str | Path, line: int | None, message: str) -> None:
        self.path = str(path)
        self.line = line
        self.message = message
        where = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{where}: {message}")

    def __reduce__(self) -> tuple[type, tuple[str, int | None, str]]:
        return type(self), (self.path, self.line, self.message)


class EmptyClassWarning(UserWarning):
    """Some classes of the taxonomy have no rows to learn from.

    >>> issubclass(EmptyClassWarning, UserWarning)
    True
    """
