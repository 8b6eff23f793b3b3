"""Report: a plain dict and the three ways to write it down."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from taxolearn.errors import DataError
from taxolearn.files import replacing
from taxolearn.report.html import to_html
from taxolearn.report.markdown import to_markdown
from taxolearn.structure.names import show

_SUFFIXES = (".html", ".htm", ".md", ".markdown", ".json")


@dataclass(frozen=True)
class Report:
    """What `model.report(X, y)` found: `data` is a plain dict, and the rest are ways to write it down.

    >>> from taxolearn import OneVsRestSVM
    >>> report = OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"]).report([[2.0], [3.0]], ["b", "a"])
    >>> report.data["scores"]["accuracy"]["value"]
    0.5
    >>> report
    Report(2 rows, accuracy 0.5000)
    """

    data: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The plain dict.

        >>> Report({"version": 1}).to_dict()
        {'version': 1}
        """
        return self.data

    def to_json(self) -> str:
        r"""The dict as JSON; what no file can hold, half characters, is escaped.

        >>> Report({"label": "caf\u00e9 \ud800"}).to_json()
        '{"label": "café \\ud800"}'
        """
        said = json.dumps(self.data, ensure_ascii=False, allow_nan=False)
        return said.encode("utf-8", "backslashreplace").decode("utf-8")

    def to_markdown(self) -> str:
        """The tables and sentences of the report as Markdown.

        >>> from taxolearn import OneVsRestSVM
        >>> report = OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"]).report([[2.0]], ["b"])
        >>> report.to_markdown().splitlines()[0]
        '# How well the model answers'
        """
        return to_markdown(self.data)

    def to_html(self) -> str:
        """One page with everything in it: no network, no further file.

        >>> from taxolearn import OneVsRestSVM
        >>> report = OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"]).report([[2.0]], ["b"])
        >>> report.to_html()[:15]
        '<!DOCTYPE html>'
        """
        return to_html(self.data)

    def save(self, file: str | PathLike[str]) -> None:
        """Write the report; the suffix says how: .html, .md or .json.

        >>> Report({}).save("report.docx")
        Traceback (most recent call last):
        ...
        taxolearn.errors.DataError: cannot write 'report.docx'; give a name that ends with .html, .md or .json
        """
        suffix = Path(file).suffix.lower()
        if suffix not in _SUFFIXES:
            raise DataError(f"cannot write {show(str(file))}; give a name that ends with .html, .md or .json")
        if suffix == ".json":
            said = self.to_json()
        else:
            said = self.to_html() if suffix.startswith(".htm") else self.to_markdown()
        with replacing(file) as stream:
            stream.write(said.encode("utf-8", "backslashreplace"))

    def __repr__(self) -> str:
        scores = self.data.get("scores")
        if not scores:
            return "Report()"
        return f"Report({scores['rows']:,} rows, accuracy {scores['accuracy']['value']:.4f})"
