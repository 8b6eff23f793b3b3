"""Taxonomies written as plain text: indented lines and `A > B > C` lines.

`from_indented` becomes a classmethod of Taxonomy; `read_outline` reads files for `from_file`.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from typing import TYPE_CHECKING

from taxolearn.errors import FileFormatError, TaxolearnError, TaxonomyError
from taxolearn.opening import PathLike, quoted, read_text
from taxolearn.structure.names import check_iterable
from taxolearn.structure.terms import Term

if TYPE_CHECKING:
    from taxolearn.structure.taxonomy import Taxonomy

_TAB = 8  # columns of a tab in indented text, where blanks and tabs are mixed
_ARROW = " > "
# Google's "3237 - Animals > Pets" and Shopify's "gid://shopify/TaxonomyCategory/ap-1 : Animals > Pets"
_PATH_ID = re.compile(r"(\d+) - (?=\S)|(\S+) +: +(?=\S)")


class _Line(TaxonomyError):
    """An error at a line of a text, whichever file it is from."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}")
        self.line, self.message = line, message


def from_indented(
    cls: type[Taxonomy],
    lines: Iterable[str],
    *,
    repeated: str = "error",
    sep: str = "/",
    root: Hashable | None = None,
) -> Taxonomy:
    r"""A taxonomy from lines of text, each name deeper than its parent by blanks or tabs.

    Empty lines are passed over. `repeated` and `sep` are those of from_paths.

    >>> from taxolearn.structure import Taxonomy
    >>> Taxonomy.from_indented(["Animal", "  Cat", "    Lion", "  Dog"]).edges
    (('Animal', 'Cat'), ('Animal', 'Dog'), ('Cat', 'Lion'))
    >>> Taxonomy.from_indented("Animal\n    Cat\n  Dog".splitlines())
    Traceback (most recent call last):
    ...
    taxolearn.errors.TaxonomyError: line 3: expected 0 or 4 blanks before 'Dog', as a line above has, found 2
    """
    try:
        paths = list(_indented_paths(check_iterable(lines, "lines")))
    except _Line as error:
        raise TaxonomyError(str(error)) from None
    return cls.from_paths(paths, repeated=repeated, sep=sep, root=root)


def _indented_paths(lines: Iterable[object]) -> Iterator[list[str]]:
    branch: list[tuple[int, str]] = []  # (indentation, name) from the top to the last line
    for number, line in enumerate(lines, 1):
        if not isinstance(line, str):
            raise _Line(number, f"expected a line of text, found {quoted(repr(line))}")
        text = line.expandtabs(_TAB).rstrip()
        name = text.lstrip()
        if not name:
            continue
        depth = len(text) - len(name)
        known = [indent for indent, _ in branch]
        while branch and branch[-1][0] >= depth:
            branch.pop()
        if depth not in known and (branch or depth) and (not known or depth < known[-1]):
            expected = " or ".join(map(str, known)) or "0"
            raise _Line(
                number,
                f"expected {expected} blanks before {quoted(name)}, as a line above has, found {depth}",
            )
        branch.append((depth, name))
        yield [above for _, above in branch]


def read_outline(cls: type[Taxonomy], path: PathLike) -> Taxonomy | None:
    """The taxonomy of a text file of `A > B > C` lines or of indented lines; None when it is neither.

    Lines that start with # are comments. A name under two parents is called by its whole path.
    """
    lines = ["" if line.startswith("#") else line for line in read_text(path).splitlines()]
    filled = [line for line in lines if line.strip()]
    try:
        if any(_ARROW in line for line in filled):
            return _arrow_lines(cls, lines)
        # the lines of an edge file hold two names each, and none of them is deeper than the first
        if filled and not filled[0][0].isspace() and any(line[0].isspace() for line in filled):
            return cls.from_paths(list(_indented_paths(lines)), repeated="path")
    except _Line as error:
        raise FileFormatError(path, error.line, error.message) from None
    except TaxolearnError as error:
        raise FileFormatError(path, None, str(error)) from None
    return None


def _arrow_lines(cls: type[Taxonomy], lines: list[str]) -> Taxonomy:
    codes: dict[tuple[str, ...], str] = {}
    paths: list[tuple[str, ...]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        found = _PATH_ID.match(line)
        names = tuple(name.strip() for name in line[found.end() if found else 0 :].split(_ARROW))
        if not all(names):
            raise _Line(number, f"expected names between ' > ', found {quoted(line)}")
        paths.append(names)
        if found:
            codes[names] = found[1] or found[2]
    taxonomy = cls.from_paths(paths, sep=_ARROW, repeated="path")
    terms = {}
    for names, code in codes.items():
        whole = _ARROW.join(names)
        terms[whole if whole in taxonomy else names[-1]] = Term(names[-1], notation=code)
    return taxonomy.with_terms(terms)
