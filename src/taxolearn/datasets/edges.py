"""Files of pairs of names, the plainest form of a taxonomy and of a graph of classes."""

from __future__ import annotations

import re
from collections.abc import Hashable
from itertools import pairwise
from typing import TYPE_CHECKING

from taxolearn.datasets._files import PathLike, quoted, text_lines, writing
from taxolearn.datasets._names import build, name_reader, name_texts
from taxolearn.errors import DataError, FileFormatError

if TYPE_CHECKING:
    from taxolearn.structure import ClassGraph, Taxonomy

_BLANKS = re.compile(r"[ \t\r\v\f]+")


def read_edges(
    path: PathLike,
    *,
    sep: str | None = None,
    chains: bool = False,
    label_type: type = str,
    root: Hashable | None = None,
) -> Taxonomy:
    r"""Read a taxonomy from lines of `parent child`.

    Parameters
    ----------
    path : str or path
    sep : str, optional
        What separates the names; by default spaces and tabs. With "\t" names may contain spaces.
    chains : bool
        Whether a line may be a longer chain from an ancestor down (`root a b c`); chains may share edges.
    label_type : str or int
    root : optional
        What to call the artificial root when the file has several roots.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.edges")
    ...     _ = path.write_text("Pet Cat\nPet Dog\n")
    ...     read_edges(path)
    Taxonomy(tree, 3 nodes, 2 leaves, depth 1)
    """
    from taxolearn.structure import Taxonomy

    name_of = name_reader(label_type)
    first_line: dict[tuple[Hashable, Hashable], int] = {}
    for line, text in text_lines(path):
        parts = _BLANKS.split(text.strip(" \t\r\v\f")) if sep is None else text.split(sep)
        if parts == [""]:
            continue
        if len(parts) < 2 or (len(parts) > 2 and not chains):
            expected = "two or more names" if chains else "two names, parent and child"
            raise FileFormatError(path, line, f"expected {expected}, found {quoted(text)}")
        try:
            names = [name_of(part) for part in parts]
        except ValueError as error:
            raise FileFormatError(path, line, str(error)) from error
        for edge in pairwise(names):
            if edge[0] == edge[1]:
                raise FileFormatError(
                    path, line, f"expected two different names, found {quoted(str(edge[0]))} twice"
                )
            if edge in first_line and not chains:
                raise FileFormatError(
                    path, line, f"expected a new edge, found that of line {first_line[edge]}"
                )
            first_line.setdefault(edge, line)
    if not first_line:
        raise FileFormatError(path, None, "expected lines of 'parent child', found none")
    return build(path, None, Taxonomy.from_edges, list(first_line), root=root)


def read_graph(path: PathLike, *, sep: str | None = None, label_type: type = str) -> ClassGraph:
    r"""Read a graph of classes from lines of `name name`, `name name weight`, or `name` for a node without edges.

    `sep` is what separates the names, by default spaces and tabs; weights are positive numbers, 1 where none is given.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.edges")
    ...     _ = path.write_text("Cat Lynx 2.5\nDog\n")
    ...     read_graph(path).edges
    (('Cat', 'Lynx', 2.5),)
    """
    from taxolearn.structure import ClassGraph

    name_of = name_reader(label_type)
    nodes: list[Hashable] = []
    edges: list[tuple[Hashable, Hashable, float]] = []
    for line, text in text_lines(path):
        parts = _BLANKS.split(text.strip(" \t\r\v\f")) if sep is None else text.split(sep)
        if parts == [""]:
            continue
        if len(parts) > 3:
            raise FileFormatError(path, line, f"expected one or two names and a weight, found {quoted(text)}")
        try:
            names = [name_of(part) for part in parts[:2]]
            weight = float(parts[2]) if len(parts) == 3 else 1.0
        except ValueError as error:
            raise FileFormatError(path, line, str(error)) from error
        nodes += names
        if len(names) == 2:
            edges.append((names[0], names[1], weight))
    if not nodes:
        raise FileFormatError(path, None, "expected lines of 'name name', found none")
    return build(path, None, ClassGraph.from_edges, edges, nodes=list(dict.fromkeys(nodes)))


def write_graph(path: PathLike, graph: ClassGraph, *, sep: str = " ") -> None:
    r"""Write what `read_graph` reads: `name name weight`, and `name` for a node without edges.

    Names may not contain `sep`; with "\t" they may contain spaces.

    >>> import tempfile, pathlib
    >>> from taxolearn.structure import ClassGraph
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.edges")
    ...     write_graph(path, ClassGraph.from_edges([("Cat", "Lynx", 2.5)], nodes=["Dog"]))
    ...     print(path.read_text(), end="")
    Dog
    Cat Lynx 2.5
    """
    texts = name_texts(graph.nodes, _forbidden(sep), "an edge file")
    with writing(path) as stream:
        for name in graph.nodes:
            if not graph.neighbours(name):
                stream.write(f"{texts[name]}\n")
        for a, b, weight in graph.edges:
            stream.write(f"{texts[a]}{sep}{texts[b]}{sep}{weight!r}\n")


def _forbidden(sep: str) -> re.Pattern[str]:
    """What names in a file may not have."""
    return re.compile(r"\s|\0" if sep.isspace() and sep != "\t" else rf"[\t\r\n\v\f\0]|{re.escape(sep)}")


def write_edges(path: PathLike, taxonomy: Taxonomy, *, sep: str = " ") -> None:
    r"""Write what `read_edges` reads, one `parent child` pair a line.

    Names may not contain `sep`; with "\t" they may contain spaces.

    >>> import tempfile, pathlib
    >>> from taxolearn.structure import Taxonomy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.edges")
    ...     write_edges(path, Taxonomy.from_edges([("Pet", "Cat"), ("Pet", "Dog")]))
    ...     print(path.read_text(), end="")
    Pet Cat
    Pet Dog
    """
    if not taxonomy.edges:
        raise DataError("a taxonomy of one node has no edges to write")
    texts = name_texts(taxonomy.nodes, _forbidden(sep), "an edge file")
    with writing(path) as stream:
        for parent, child in taxonomy.edges:
            stream.write(f"{texts[parent]}{sep}{texts[child]}\n")
