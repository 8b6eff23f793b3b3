"""RCV1's topic hierarchy file (`rcv1.topics.hier.orig`, Lewis et al. 2004, online appendix 2)."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from taxolearn.datasets._files import PathLike, quoted, text_lines, writing
from taxolearn.datasets._names import build, name_texts
from taxolearn.errors import DataError, FileFormatError

if TYPE_CHECKING:
    from taxolearn.structure import Taxonomy

_NO_PARENT = "None"
_LINE = re.compile(r"\s*parent:\s*(\S+)\s+child:\s*(\S+)\s+child-description:\s?(.*)")
_IN_NAME = re.compile(r"\s|\0")


class Topics(NamedTuple):
    """What `read_rcv1_topics` returns: the taxonomy and each topic's description.

    >>> Topics._fields
    ('taxonomy', 'descriptions')
    """

    taxonomy: Taxonomy
    descriptions: dict[str, str]


def read_rcv1_topics(path: PathLike) -> Topics:
    r"""Read lines of `parent: ... child: ... child-description: ...`; the root's parent is `None`.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "rcv1.topics.hier.orig")
    ...     _ = path.write_text('''parent: None  child: Root  child-description: Root
    ... parent: Root  child: CCAT  child-description: CORPORATE/INDUSTRIAL
    ... parent: CCAT  child: C11  child-description: STRATEGY/PLANS
    ... ''')
    ...     topics = read_rcv1_topics(path)
    >>> topics.taxonomy, topics.descriptions["C11"]
    (Taxonomy(tree, 3 nodes, 1 leaf, depth 2), 'STRATEGY/PLANS')
    """
    from taxolearn.structure import Taxonomy

    first_line: dict[tuple[str, str], int] = {}
    descriptions: dict[str, str] = {}
    for line, text in text_lines(path):
        if not text.strip():
            continue
        found = _LINE.fullmatch(text)
        if found is None:
            expected = "'parent: ... child: ... child-description: ...'"
            raise FileFormatError(path, line, f"expected {expected}, found {quoted(text)}")
        parent, child, description = found.groups()
        if (parent, child) in first_line:
            message = f"expected a new pair, found that of line {first_line[parent, child]}"
            raise FileFormatError(path, line, message)
        first_line[parent, child] = line
        descriptions.setdefault(child, description.strip())
    roots = [child for parent, child in first_line if parent == _NO_PARENT]
    if len(roots) != 1:
        message = f"expected one topic whose parent is {_NO_PARENT}, found {len(roots)}"
        raise FileFormatError(path, None, message)
    for (parent, child), line in first_line.items():
        if parent not in descriptions and parent != _NO_PARENT:
            message = f"expected a parent that is a topic, found {quoted(parent)} above {quoted(child)}"
            raise FileFormatError(path, line, message)
    edges = [pair for pair in first_line if pair[0] != _NO_PARENT]
    if not edges:
        return Topics(Taxonomy.from_parents({roots[0]: None}), descriptions)
    return Topics(build(path, None, Taxonomy.from_edges, edges), descriptions)


def write_rcv1_topics(
    path: PathLike, taxonomy: Taxonomy, descriptions: Mapping[Hashable, str] | None = None
) -> None:
    """Write what `read_rcv1_topics` reads; a topic without a description is described by its name.

    >>> import tempfile, pathlib
    >>> from taxolearn.structure import Taxonomy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "topics.hier")
    ...     write_rcv1_topics(path, Taxonomy.from_edges([("Root", "CCAT")]), {"CCAT": "CORPORATE/INDUSTRIAL"})
    ...     print(path.read_text(), end="")
    parent: None child: Root child-description: Root
    parent: Root child: CCAT child-description: CORPORATE/INDUSTRIAL
    """
    texts = name_texts(taxonomy.nodes, _IN_NAME, "a topic file")
    if _NO_PARENT in texts.values():
        raise DataError(
            f"a topic file uses the name {_NO_PARENT!r} for the parent of the root; rename the node"
        )
    described = {} if descriptions is None else descriptions
    pairs = [(_NO_PARENT, taxonomy.root), *((texts[parent], child) for parent, child in taxonomy.edges)]
    with writing(path) as stream:
        for parent, child in pairs:
            description = " ".join(str(described.get(child, texts[child])).split())
            stream.write(f"parent: {parent} child: {texts[child]} child-description: {description}\n")
