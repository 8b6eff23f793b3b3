"""Taxonomies of pairs in files as people have them: a header or none, further columns, several roots by a typo."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from taxolearn.cli.console import say
from taxolearn.cli.inputs import Source, plain_suffix
from taxolearn.cli.left_out import LeftOut
from taxolearn.cli.rows import sniffed_delimiter
from taxolearn.datasets._files import quoted, text_lines
from taxolearn.errors import DataError, FileFormatError

if TYPE_CHECKING:
    from taxolearn.structure import Taxonomy

_TABLES = {".tsv": "tsv", ".tab": "tsv", ".csv": "csv"}
_PARENTS = {"parent", "parent_id", "parentid", "parent_name", "parent_code", "broader", "source", "from"}
_CHILDREN = {
    "child",
    "child_id",
    "childid",
    "child_name",
    "child_code",
    "narrower",
    "target",
    "to",
    "node",
    "id",
    "code",
}
_CHILDREN |= {"name", "label", "category"}
_ALIKE = 0.65  # how much two names have in common when one is a typo of the other


class Edges(NamedTuple):
    """The pairs of a taxonomy file with their lines, the nodes that stand alone, and what there is to tell.

    >>> Edges([(1, ("Pet", "Cat"))], [], []).pairs
    [(1, ('Pet', 'Cat'))]
    """

    pairs: list[tuple[int, tuple[str, str]]]
    alone: list[str]
    notes: list[str]


def read_edges_file(path: str, left_out: LeftOut | None = None, used: str | None = None) -> Edges:
    """The pairs of a file: tables (.csv, .tsv) may have a header and more than two columns, other files hold names
    between blanks, also as chains. `used`: a column that is read elsewhere.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.csv")
    ...     _ = path.write_text("child,parent,note\\nHouse cat,Pet,purrs\\nPet,,\\n")
    ...     read_edges_file(str(path))
    Edges(pairs=[(2, ('Pet', 'House cat'))], alone=['Pet'], notes=["line 1 is a header; column 'note' is left out"])
    """
    form = _TABLES.get(plain_suffix(path), "lines")
    source = Source(path, form, left_out=left_out)
    lines = _cells(source)
    first_line, first = next(lines, (1, []))
    notes: list[str] = []
    parent, child = 0, 1
    header = _header(first)
    if header is not None:
        parent, child = header
        others = [
            quoted(name) for k, name in enumerate(first) if k not in header and name.strip() not in ("", used)
        ]
        column = "column" if len(others) == 1 else "columns"
        left = (
            f"; {column} {', '.join(others)} {'is' if len(others) == 1 else 'are'} left out" if others else ""
        )
        notes.append(f"line 1 is a header{left}")
    pairs: list[tuple[int, tuple[str, str]]] = []
    alone: list[str] = []
    wide = 0
    for line, cells in [*([] if header is not None else [(first_line, first)]), *lines]:
        if form == "lines":
            names = [name for name in cells if name]
            if len(names) < 2:
                source.refuse("cells", line, f"expected two or more names, found {quoted(' '.join(cells))}")
            pairs += [(line, pair) for pair in pairwise(names)]
            continue
        if len(cells) <= max(parent, child):
            found = quoted(",".join(cells))
            source.refuse("cells", line, f"expected two names, parent and child, found {found}")
            continue
        above, below = cells[parent].strip(), cells[child].strip()
        wide += header is None and len(cells) > 2
        if not below:
            source.refuse(
                "cells", line, f"expected the name of a child, found an empty cell after {quoted(above)}"
            )
        elif not above and header is not None:
            alone.append(below)
        elif not above:
            source.refuse(
                "cells", line, f"expected the name of a parent, found an empty cell before {quoted(below)}"
            )
        else:
            pairs.append((line, (above, below)))
    if wide:
        notes.append(f"{wide:,} lines have more than two cells; those after the second are left out")
    return Edges(pairs, alone, notes)


def _cells(source: Source) -> Iterator[tuple[int, list[str]]]:
    """The cells of every line that is not empty."""
    lines = ((line, text.rstrip("\r\n")) for line, text in text_lines(source.path))
    if source.format == "lines":
        yield from ((line, text.split()) for line, text in lines if text.split())
        return
    delimiter: str | None = None
    for line, text in lines:
        if not text.strip():
            continue
        if delimiter is None:
            delimiter = sniffed_delimiter(text, "," if source.format == "csv" else "\t")
        if source.format == "tsv" and delimiter == "\t":
            yield line, text.split("\t")  # no quotes: names are as they are
            continue
        try:
            yield line, next(csv.reader([text], delimiter=delimiter, strict=True), [])
        except csv.Error as error:
            source.refuse("quotes", line, f"expected a row of a CSV table, found: {error}")


def _header(cells: Sequence[str]) -> tuple[int, int] | None:
    """Which columns of a header are parent and child; None where the line is no header."""
    words = [cell.strip().lower().replace(" ", "_") for cell in cells]
    above = [k for k, word in enumerate(words) if word in _PARENTS]
    below = [k for k, word in enumerate(words) if word in _CHILDREN]
    # a catalogue may well have a node called "name"; a header names both columns
    return (above[0], below[0]) if above and below else None


def column_texts(path: str, column: str) -> dict[str, list[str]]:
    """The texts about nodes in a column of a table with a header, by the name of the child.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.csv")
    ...     _ = path.write_text("child,parent,about\\nCat,Pet,it purrs\\nPet,,\\n")
    ...     column_texts(str(path), "about")
    {'Cat': ['it purrs']}
    """
    form = _TABLES.get(plain_suffix(path))
    lines: Iterator[tuple[int, list[str]]] = iter(()) if form is None else _cells(Source(path, form))
    _, first = next(lines, (1, []))
    header = _header(first)
    names = [cell.strip() for cell in first]
    if header is None or column not in names:
        known = ", ".join(map(quoted, names)) if header is not None else "no header with parent and child"
        raise DataError(f"{path}: expected a table with a column {quoted(column)}, found {known}")
    place, child = names.index(column), header[1]
    found: dict[str, list[str]] = {}
    for _, cells in lines:
        text = cells[place].strip() if len(cells) > place else ""
        if text and text not in found.setdefault(cells[child].strip(), []):
            found[cells[child].strip()].append(text)
    if not found:
        raise DataError(f"{path}: column {quoted(column)} is empty; name one that has texts")
    return found


def read_taxonomy(path: str, used: str | None = None) -> Taxonomy:
    """The taxonomy of a published file (SKOS, OBO, MeSH, tables of codes, `A > B` and indented lines), by its suffix.

    Any other is an edge file: cells of a table (.csv, .tsv), or names between blanks. There a header and further
    columns are told and left out (but for `used`, a column that is read elsewhere), and several roots are told, one of
    which may be a typo.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.tsv")
    ...     _ = path.write_text("Pet\\tHouse cat\\n")
    ...     read_taxonomy(str(path))
    Taxonomy(tree, 2 nodes, 1 leaf, depth 1)
    """
    from taxolearn.structure import Taxonomy
    from taxolearn.structure.file_formats import published

    taxonomy = published(Taxonomy, path)
    if taxonomy is not None:
        return taxonomy
    found = LeftOut()
    edges = read_edges_file(path, found, used)
    check_pairs(edges, found, chains=plain_suffix(path) not in _TABLES)
    if found.count:
        first = found.problems[0]
        raise FileFormatError(path, first.line, first.message + found.others(f"ROWS --taxonomy {path}"))
    taxonomy = taxonomy_of_edges(path, edges)
    for note in (*edges.notes, *told_roots(taxonomy)):
        say(f"{path}: {note}")
    return taxonomy


def check_pairs(edges: Edges, found: LeftOut, *, chains: bool) -> None:
    """Note pairs that come twice (in chains they may), and names that are their own parents.

    >>> found = LeftOut()
    >>> check_pairs(Edges([(1, ("Pet", "Cat")), (2, ("Pet", "Cat")), (3, ("Cat", "Cat"))], [], []), found, chains=False)
    >>> [(problem.line, problem.message) for problem in found.problems]
    [(2, 'expected a new edge, found that of line 1'), (3, "expected two different names, found 'Cat' twice")]
    """
    first: dict[tuple[str, str], int] = {}
    for line, pair in edges.pairs:
        if pair[0] == pair[1]:
            found.add("loop", line, f"expected two different names, found {quoted(pair[0])} twice")
        elif pair in first and not chains:
            found.add("twice", line, f"expected a new edge, found that of line {first[pair]}")
        first.setdefault(pair, line)


def taxonomy_of_edges(path: str, edges: Edges) -> Taxonomy:
    """The taxonomy of the pairs, each once; an invalid structure is an error about the file.

    >>> taxonomy_of_edges("pets.csv", Edges([(1, ("Pet", "Cat"))], [], [])).nodes
    ('Pet', 'Cat')
    """
    from taxolearn.datasets._names import build
    from taxolearn.structure import Taxonomy

    pairs = list(dict.fromkeys(pair for _, pair in edges.pairs if pair[0] != pair[1]))
    if not pairs:
        raise FileFormatError(path, None, "expected lines of 'parent child', found none")
    known = {name for pair in pairs for name in pair}
    lonely = [name for name in edges.alone if name not in known]
    if not lonely:
        return build(path, None, Taxonomy.from_edges, pairs)
    parents: dict[Hashable, list[Hashable] | None] = {name: [] for pair in pairs for name in pair}
    for above, below in pairs:
        parents[below].append(above)  # type: ignore[union-attr]
    return build(path, None, Taxonomy.from_parents, {**parents, **dict.fromkeys(lonely)})


def told_roots(taxonomy: Taxonomy) -> list[str]:
    """What is said where there are several roots; none where there is one.

    >>> from taxolearn import Taxonomy
    >>> told_roots(Taxonomy.from_edges([("Animal", "Cat"), ("Animal", "Dog"), ("Anmial", "Emu")]))
    ["it has 2 roots, 'Animal' and 'Anmial'; 'Anmial' may be a typo of 'Animal'"]
    """
    from taxolearn.structure.assembly import ARTIFICIAL_ROOT

    if taxonomy.root != ARTIFICIAL_ROOT:
        return []
    roots = taxonomy.children(taxonomy.root)
    shown = " and ".join(quoted(str(name)) for name in roots[:3])
    told = f"it has {len(roots):,} roots, {shown}{' and others' if len(roots) > 3 else ''}"
    size = {name: len(taxonomy.descendants(name)) for name in roots}
    texts = [str(name) for name in taxonomy.nodes]
    typos = []
    for name in sorted(roots, key=lambda name: size[name])[:20]:
        others = [text for text in texts if text != str(name)]
        near = difflib.get_close_matches(str(name), others, n=1, cutoff=_ALIKE)
        if near and not (near[0] in size and size[near[0]] < size[name]):
            typos.append(f"{quoted(str(name))} may be a typo of {quoted(near[0])}")
    return ["; ".join([told, *dict.fromkeys(typos[:3])])]
