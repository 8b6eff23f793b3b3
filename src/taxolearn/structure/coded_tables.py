"""Tables of classifications with codes beside titles: GS1's GPC, UNSPSC, NAICS and their like."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from taxolearn.errors import TaxonomyError
from taxolearn.structure.codes import DigitPaths, lengths_of
from taxolearn.structure.names import is_empty, show
from taxolearn.structure.terms import Term

if TYPE_CHECKING:
    from taxolearn.structure.taxonomy import Taxonomy

_TITLE = re.compile(r"(.*?)[ _]*(?:title|name|description)", re.IGNORECASE)
_CODE_WORDS = ("code", "id", "number", "key", "")


class CodedLevel(NamedTuple):
    """The columns of one level: code, title, and definition where there is one.

    >>> CodedLevel("Brick Code", "Brick Title", None).code
    'Brick Code'
    """

    code: str
    title: str
    definition: str | None


def coded_levels(columns: Sequence[Any]) -> list[CodedLevel]:
    """The levels of a table whose columns are codes and titles; none when it is another kind of table.

    >>> [level.code for level in coded_levels(["Segment Code", "Segment Title", "Brick Code", "Brick Title"])]
    ['Segment Code', 'Brick Code']
    >>> coded_levels(["kingdom", "species"])
    []
    """
    columns = [column for column in columns if isinstance(column, str)]
    by_text = {re.sub(r"[ _]+", " ", column).strip().lower(): column for column in columns}
    found: list[CodedLevel] = []
    for column in columns:
        title = _TITLE.fullmatch(column.strip())
        if not title:
            continue
        stem = re.sub(r"[ _]+", " ", title[1]).strip().lower()
        codes = [by_text.get(f"{stem} {word}".strip()) for word in _CODE_WORDS]
        code = next((code for code in codes if code is not None and code != column), None)
        if code is not None and code not in [level.code for level in found]:
            found.append(CodedLevel(code, column, by_text.get(f"{stem} definition")))
    return found


def from_coded_columns(
    cls: type[Taxonomy], columns: dict[str, list[Any]], levels: Sequence[CodedLevel], root: Hashable | None
) -> Taxonomy:
    """Nodes are codes, titles their labels; one level alone has its hierarchy in the digits of the codes."""
    terms: dict[str, Term] = {}
    paths: list[list[str]] = []
    for position in range(len(columns[levels[0].code])):
        path: list[str] = []
        for level in levels:
            code = _text(columns[level.code][position])
            if not code:
                break
            title = _text(columns[level.title][position])
            defined = "" if level.definition is None else _text(columns[level.definition][position])
            term = Term(title or None, definition=defined or None)
            if terms.setdefault(code, term).label != term.label:
                raise TaxonomyError(
                    f"row {position}: the code {show(code)} is called {show(title)} here, and "
                    f"{show(terms[code].label)} above; give each code one title"
                )
            if not path or path[-1] != code:  # some tables repeat a code where there is no deeper one
                path.append(code)
        if path:
            paths.append(path)
    if len(levels) == 1:
        codes = [path[0] for path in paths]
        digits = DigitPaths(lengths_of(codes), codes)
        paths = [digits.path(code, position) for position, code in enumerate(codes)]
    taxonomy = cls.from_paths(paths, root=root)
    return taxonomy.with_terms({code: term for code, term in terms.items() if term != Term()})


def _text(cell: Any) -> str:
    if is_empty(cell):
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))  # a column of whole numbers with empty cells
    return str(cell).strip()
