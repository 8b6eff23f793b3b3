"""Labels that are paths: level columns, tuples, strings such as "Books/History"; and the taxonomy that they spell.

One rule for names: where rows spell the taxonomy, a node is called by its whole path, joined by "/" (or by what
separates the names in the labels). So a name never depends on which other rows there are.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from taxolearn.errors import LabelError, TaxonomyError
from taxolearn.structure import Taxonomy
from taxolearn.structure.names import hint, show
from taxolearn.structure.navigation import JOINTS

JOINT = "/"
_OTHER_MARKS = ("//", "::", "->", ">", "|", "\\")  # seen between the names of paths, but in plain names, too

Path = tuple[Hashable, ...]


def path_name(path: Sequence[Hashable], sep: str = JOINT) -> str:
    """What the node at the end of a path is called: all names, joined; whole numbers lose their ".0".

    >>> path_name(("Books", "History")), path_name((47, 11.0))
    ('Books/History', '47/11')
    """
    return sep.join(map(_word, path))


def _word(name: Hashable) -> str:
    # a table with empty cells holds whole numbers as 11.0
    return str(int(name)) if isinstance(name, float) and math.isfinite(name) and name % 1 == 0 else str(name)


def separator_of(names: Iterable[Any]) -> str | None:
    """What separates the names in labels that are paths; None where labels show no hierarchy.

    They do where two labels share a name above them, or one stands above another. A stray "and/or" is a plain name.

    >>> separator_of(["Books/History", "Books/Art"]), separator_of(["A > B", "A"]), separator_of(["and/or", "x"])
    ('/', ' > ', None)
    """
    texts = list(dict.fromkeys(names))
    if not all(isinstance(text, str) for text in texts):
        return None
    return next((sep for sep in JOINTS if _are_paths(texts, sep)), None)


def _are_paths(texts: Sequence[str], sep: str) -> bool:
    paths = [parts_of(text, sep) for text in texts if sep in text]
    if not paths or not all(name.strip() for path in paths for name in path):
        return False
    above = Counter(sep.join(path[:depth]) for path in paths for depth in range(1, len(path)))
    return max(above.values(), default=0) > 1 or any(sep.join(parts_of(text, sep)) in above for text in texts)


def parts_of(text: str, sep: str) -> list[str]:
    """The names of a path in a string; a separator before the first or after the last name adds none.

    >>> parts_of("/Books/History/", "/"), parts_of("Books", "/"), parts_of("/", "/")
    (['Books', 'History'], ['Books'], [''])
    """
    parts = text.split(sep)
    if len(parts) > 1 and not parts[0]:
        parts = parts[1:]
    return parts[:-1] if len(parts) > 1 and not parts[-1] else parts


def warn_of_marks(names: Sequence[Any], what: str) -> None:
    """Warn where labels look like paths, but are not separated by what is taken for a separator.

    >>> warn_of_marks(["Books", "Music"], "y")
    """
    texts = list(dict.fromkeys(names))
    if not all(isinstance(text, str) for text in texts):
        return
    for mark in _OTHER_MARKS:
        marked = [text for text in texts if mark in text]
        if 2 * len(marked) > len(texts) > 2 and _are_paths(texts, mark):
            warnings.warn(
                f"labels in {what} such as {show(marked[0])} are taken for plain names, but look like paths; "
                f"give tuples, [tuple(label.split({mark!r})) for label in {what}], or --sep on the command line",
                UserWarning,
                stacklevel=7,
            )
            return


def taxonomy_of_paths(paths: Iterable[Sequence[Hashable]], sep: str = JOINT) -> Taxonomy:
    """The tree that paths spell, every node called by its whole path.

    >>> taxonomy_of_paths([("Books", "History"), ("Music", "History")]).nodes
    ('<root>', 'Books', 'Books/History', 'Music', 'Music/History')
    """
    parents: dict[Hashable, str | None] = {}
    for path in sorted({tuple(map(_word, path)) for path in paths}):
        above: str | None = None
        for depth in range(1, len(path) + 1):
            name = sep.join(path[:depth])
            if parents.setdefault(name, above) != above:
                raise TaxonomyError(
                    f"two nodes would be called {show(name)}, as names have {show(sep)} in them; rename one"
                )
            above = name
    return Taxonomy.from_parents(parents)


def find_node(path: Sequence[Hashable], taxonomy: Taxonomy, sep: str | None = None) -> Hashable | None:
    """The node that a path of names leads to, None where there is none.

    A node may be called by the last name or by the whole path; of the names above it some may be left out. Where the
    taxonomy knows labels, notations, ids and synonyms, any of these will do that leads to one node.

    >>> tree = Taxonomy.from_paths(["Books/History", "Music/History", "Music/Pop"], repeated="path")
    >>> find_node(("Music", "Pop"), tree), find_node(("Music", "History"), tree), find_node(("Books", "Pop"), tree)
    ('Pop', 'Music/History', None)
    """
    joints = JOINTS if sep is None else (sep, *JOINTS)
    for whole in (*(path_name(path, joint) for joint in joints), tuple(path)):
        if len(path) > 1 and whole in taxonomy:
            return whole
    for last in (path[-1], _word(path[-1])):  # 48.0 may be called "48"
        if last in taxonomy and (len(path) == 1 or _is_below(last, path[:-1], taxonomy)):
            return last
    called = nodes_called(path, taxonomy)
    return called[0] if len(called) == 1 else None


def nodes_called(path: Sequence[Hashable], taxonomy: Taxonomy) -> list[Hashable]:
    """The nodes that are called so besides their names: by label, notation or id, else by synonym; numbers by text.

    >>> tree = Taxonomy.from_paths(["a/a1", "b/b1"]).with_terms({"a": "Books", "a1": "History", "b1": "History"})
    >>> nodes_called(("History",), tree), nodes_called(("Books", "History"), tree)
    (['a1', 'b1'], ['a1'])
    """
    called = dict.fromkeys(node for text in (path[-1], _word(path[-1])) for node in taxonomy.find(text))
    return [node for node in called if len(path) == 1 or _is_below(node, path[:-1], taxonomy)]


def _is_below(node: Hashable, names: Iterable[Hashable], taxonomy: Taxonomy) -> bool:
    above = set(taxonomy.ancestors(node))
    if all(name in above for name in names):
        return True
    words = above | {taxonomy.shown_path(ancestor)[-1] for ancestor in above}
    for term in (taxonomy.terms[ancestor] for ancestor in above if ancestor in taxonomy.terms):
        words |= {term.label, term.notation, term.id, *term.synonyms}
    return all(name in words or _word(name) in words for name in names)


def find_label(label: Hashable, taxonomy: Taxonomy) -> Hashable | None:
    """The node that a label means, None where there is none, or more than one.

    A label is the name of a node, a path as a tuple or in one string, or what the taxonomy's file calls a node besides.

    >>> tree = Taxonomy.from_paths(["Books/History", "Music/Pop"]).with_terms({"Pop": "Popular music"})
    >>> find_label("History", tree), find_label("Music/Pop", tree), find_label(("Music", "Pop"), tree)
    ('History', 'Pop', 'Pop')
    >>> find_label("Popular music", tree)
    'Pop'
    """
    if label in taxonomy:
        return label
    if isinstance(label, tuple) and label:
        return find_node(label, taxonomy)
    called = nodes_called((label,), taxonomy)
    if called:
        return called[0] if len(called) == 1 else None
    if isinstance(label, str):
        for sep in JOINTS:
            parts = parts_of(label, sep)
            if parts != [label] and (found := find_node(parts, taxonomy, sep)) is not None:
                return found
    return None


def node_called(name: Hashable, taxonomy: Taxonomy) -> Hashable:
    """The node that a person asks for: as `find_label`, and by the last name alone where only one node ends in it.

    >>> tree = taxonomy_of_paths([("Books", "History"), ("Music", "History"), ("Music", "Pop")])
    >>> node_called("Pop", tree)
    'Music/Pop'
    >>> node_called("History", tree)
    Traceback (most recent call last):
    ...
    taxolearn.errors.LabelError: unknown name 'History'; did you mean 'Books/History' or 'Music/History'?
    """
    found = find_label(name, taxonomy)
    if found is None and isinstance(name, str):
        ends = tuple(joint + name for joint in JOINTS)
        called = [node for node in taxonomy.nodes if isinstance(node, str) and node.endswith(ends)]
        found = called[0] if len(called) == 1 else None
    return taxonomy.name_of(taxonomy.id_of(name)) if found is None else found


def nodes_at(
    paths: Sequence[Path], taxonomy: Taxonomy, codes: npt.NDArray[np.int64], what: str
) -> list[Hashable]:
    """The nodes that paths of names lead to; `codes` has the number of each row's path.

    >>> nodes_at([("Music", "Pop")], Taxonomy.from_paths(["Books/History", "Music/Pop"]), np.zeros(1, int), "y")
    ['Pop']
    """
    found = [find_node(path, taxonomy) for path in paths]
    unknown = [number for number, node in enumerate(found) if node is None]
    if not unknown:
        return found
    path, row = paths[unknown[0]], int(np.flatnonzero(codes == unknown[0])[0])
    last, others = path[-1], and_others(len(unknown) - 1, "path")
    called = nodes_called(path, taxonomy)
    if len(called) > 1:
        raise LabelError(f"{what}, row {row}: {show(path_name(path))} {one_of(called)}{others}")
    told = f"{what}, row {row}: the taxonomy has no path {show(path_name(path))}"
    if last not in taxonomy:
        raise LabelError(f"{told}{hint(last, taxonomy.nodes)}{others}")
    if all(name in taxonomy for name in path):
        others = f"; for several labels per row give lists{others}"
    raise LabelError(f"{told}; {show(last)} stands at {show(path_name(taxonomy.shown_path(last)))}{others}")


def one_of(nodes: Sequence[Hashable]) -> str:
    """What is said of a text that may mean several nodes.

    >>> one_of(["a1", "b1"])
    "may be 'a1' or 'b1'; give one of these"
    """
    return f"may be {' or '.join(map(show, nodes[:3]))}{' or another' * (len(nodes) > 3)}; give one of these"


def and_others(more: int, noun: str) -> str:
    """How many more there are than the one that a message names.

    >>> and_others(2, "label"), and_others(0, "label")
    (' (2 other labels are unknown, too)', '')
    """
    return f" ({more} other {noun}{'s are' if more > 1 else ' is'} unknown, too)" if more else ""


def warn_of_paths(rows: Sequence[Any], what: str) -> None:
    """Warn where lists, which are sets of labels, look as if they were meant as paths.

    >>> warn_of_paths([["a", "b"], ["b", "c"]], "y")
    """
    if _look_like_levels(rows):
        warnings.warn(
            f"the lists in {what} are taken for several labels per row, but look like paths; give tuples, or "
            "numpy.array(y), for one path per row",
            UserWarning,
            stacklevel=7,
        )


def _look_like_levels(rows: Sequence[Any]) -> bool:
    """Whether rows are of one length, every name at one place only and below one other, and names above are shared."""
    if len(rows) < 2 or not all(isinstance(row, list) for row in rows):
        return False
    width = len(rows[0])
    if width < 2 or any(len(row) != width for row in rows):
        return False
    places: dict[Any, tuple[int, Any]] = {}
    for row in rows:
        for depth, name in enumerate(row):
            place = (depth, row[depth - 1] if depth else None)
            if not isinstance(name, str) or places.setdefault(name, place) != place:
                return False
    sizes = Counter(depth for depth, _ in places.values())
    return sizes[0] < sizes[width - 1]
