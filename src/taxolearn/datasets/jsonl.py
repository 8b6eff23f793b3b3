"""JSON lines: one object with a text and its labels a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taxolearn.datasets._files import PathLike, quoted, text_lines, writing
from taxolearn.datasets.dataset import Dataset
from taxolearn.errors import DataError, FileFormatError, LabelError

if TYPE_CHECKING:
    from taxolearn.structure import Taxonomy


def read_jsonl(
    path: PathLike, *, text: str = "text", labels: str = "labels", taxonomy: Taxonomy | None = None
) -> Dataset:
    r"""Read lines of `{"text": "...", "labels": ["...", ...]}`.

    Labels are strings or whole numbers; a single one needs no list. Blank lines are skipped, other fields
    too.

    Parameters
    ----------
    path : str or path
    text, labels : str
        The names of the two fields.
    taxonomy : Taxonomy, optional
        The taxonomy to put beside the rows.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.jsonl")
    ...     _ = path.write_text('''{"text": "it purrs", "labels": ["Cat", "Pet"]}
    ... {"text": "it barks", "labels": "Dog"}
    ... ''')
    ...     pets = read_jsonl(path)
    >>> pets.texts, pets.y
    (['it purrs', 'it barks'], [['Cat', 'Pet'], ['Dog']])
    """
    texts: list[str] = []
    rows: list[list[str | int]] = []
    for line, raw in text_lines(path):
        if not raw.strip():
            continue
        record = _record(path, line, raw)
        if text not in record or labels not in record:
            missing = text if text not in record else labels
            found = quoted(", ".join(record), limit=100)
            raise FileFormatError(path, line, f"expected the field {quoted(missing)}, found {found}")
        words = record[text]
        if not isinstance(words, str):
            raise FileFormatError(
                path, line, f"expected a string as {quoted(text)}, found {quoted(repr(words))}"
            )
        texts.append(words)
        rows.append(_labels(path, line, labels, record[labels]))
    if not rows:
        raise FileFormatError(path, None, "expected JSON objects, one a line, found none")
    return Dataset(None, rows, taxonomy, texts, name=Path(path).name)


def _record(path: PathLike, line: int, raw: str) -> dict[str, Any]:
    try:
        record = json.loads(raw)
    except (ValueError, RecursionError) as error:
        message = f"expected a JSON object, found {quoted(raw)} ({error})"
        raise FileFormatError(path, line, message) from error
    if not isinstance(record, dict):
        todo = "; write one object a line" if isinstance(record, list) else ""
        raise FileFormatError(path, line, f"expected a JSON object, found {quoted(raw)}{todo}")
    return record


def _labels(path: PathLike, line: int, field: str, found: Any) -> list[str | int]:
    labels = found if isinstance(found, list) else [found]
    for label in labels:
        if isinstance(label, bool) or not isinstance(label, str | int) or label == "":
            raise FileFormatError(
                path, line, f"expected names in {quoted(field)}, found {quoted(repr(label))}"
            )
    return labels


def write_jsonl(path: PathLike, dataset: Dataset, *, text: str = "text", labels: str = "labels") -> None:
    """Write what `read_jsonl` reads; the labels are always a list.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.jsonl")
    ...     write_jsonl(path, Dataset(None, ["Cat"], texts=["it purrs"]))
    ...     print(path.read_text(), end="")
    {"text": "it purrs", "labels": ["Cat"]}
    """
    if dataset.texts is None:
        raise DataError("the dataset has X but no texts; JSON lines hold texts")
    if text == labels:
        raise DataError(f"the fields of text and labels need two names, found {text!r} for both")
    if not dataset.texts:
        raise DataError("the dataset has no rows; a file of JSON lines needs one at least")
    with writing(path) as stream:
        for row, (words, names) in enumerate(zip(dataset.texts, dataset.label_rows(), strict=True)):
            for name in names:
                if isinstance(name, bool) or not isinstance(name, str | int) or name == "":
                    raise LabelError(f"row {row}: JSON lines hold labels that are str or int, found {name!r}")
            record = {text: words, labels: names}
            line = json.dumps(record, ensure_ascii=False)
            # Half a surrogate pair is text in JSON, as an escape, but not in UTF-8.
            stream.write((line if _is_utf8(line) else json.dumps(record)) + "\n")


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
