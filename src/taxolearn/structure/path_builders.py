"""Builders of a Taxonomy from paths and from tables; they become classmethods of Taxonomy."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

import numpy as np

from taxolearn.errors import TaxonomyError
from taxolearn.structure.assembly import Assembly, assemble
from taxolearn.structure.coded_tables import coded_levels, from_coded_columns
from taxolearn.structure.codes import DigitPaths
from taxolearn.structure.names import check_iterable, clean_name, is_empty, show
from taxolearn.structure.tables import columns_of, read_table

if TYPE_CHECKING:
    from taxolearn.structure.taxonomy import Taxonomy

_REPEATED = ("error", "merge", "path")


class _Places:
    """A trie of paths: each place has a parent place (-1 at the top) and a last component."""

    def __init__(self) -> None:
        self.parent: list[int] = []
        self.name: list[Hashable] = []
        self._place: dict[tuple[int, Hashable], int] = {}

    def add(self, path: Iterable[Hashable]) -> None:
        place = -1
        for name in path:
            key = (place, name)
            found = self._place.get(key)
            if found is None:
                found = self._place[key] = len(self.parent)
                self.parent.append(place)
                self.name.append(name)
            place = found

    def path(self, place: int) -> list[Hashable]:
        names = []
        while place >= 0:
            names.append(self.name[place])
            place = self.parent[place]
        return names[::-1]


def from_paths(
    cls: type[Taxonomy],
    paths: Iterable[str | Sequence[Hashable]],
    *,
    sep: str | Sequence[int] = "/",
    repeated: str = "error",
    root: Hashable | None = None,
) -> Taxonomy:
    """A taxonomy from paths such as "Animal/Cat" or ["Animal", "Cat"]; the last component names the node.

    When one name appears under two parents, `repeated="error"` names both paths, "merge" makes it one node
    with several parents, and "path" calls each of the two by its whole path. Strings are split on `sep`: a text such as
    "/" or " > ", or numbers of digits such as (2, 4, 6) for codes whose first digits are their parents (HS, NAICS).

    >>> from taxolearn.structure import Taxonomy
    >>> Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"]).nodes
    ('Animal', 'Cat', 'Dog')
    >>> Taxonomy.from_paths([["Cats", "Other"], ["Dogs", "Other"]], repeated="path").leaves
    ('Cats/Other', 'Dogs/Other')
    >>> Taxonomy.from_paths(["010121", "010129", "0102"], sep=(2, 4, 6)).path("010129")
    ('01', '0101', '010129')
    """
    places = _Places()
    if isinstance(sep, Sequence) and not isinstance(sep, str):
        codes = list(check_iterable(paths, "paths"))
        digits = DigitPaths(sep, codes)
        for position, code in enumerate(codes):
            places.add(digits.path(code, position))
        sep = "/"
    else:
        check_path_options(sep, repeated)
        for position, path in enumerate(check_iterable(paths, "paths")):
            places.add(_components(path, sep, position))
    return _from_places(cls, places, sep, repeated, root)


def check_path_options(sep: object, repeated: object) -> None:
    """Raise TaxonomyError on a separator or a `repeated` that is not offered.

    >>> check_path_options("/", "sometimes")
    Traceback (most recent call last):
    ...
    taxolearn.errors.TaxonomyError: repeated must be "error", "merge" or "path", not 'sometimes'
    """
    if not isinstance(sep, str) or not sep:
        raise TaxonomyError(f"sep must be a non-empty string, not {show(sep)}")
    if not isinstance(repeated, str) or repeated not in _REPEATED:
        raise TaxonomyError(f'repeated must be "error", "merge" or "path", not {show(repeated)}')


def _components(path: object, sep: str, position: int) -> list[Hashable]:
    parts: Iterable[object]
    if isinstance(path, str):
        parts = path.split(sep)
    elif isinstance(path, Iterable) and not isinstance(path, bytes | Mapping | AbstractSet):
        parts = path.tolist() if isinstance(path, np.ndarray) and path.ndim == 1 else path
    else:
        raise TaxonomyError(
            f"path {position}: expected a string or a sequence of names, found {show(path)} "
            f"({type(path).__name__})"
        )
    try:
        names = [part if type(part) is str and part else clean_name(part, "path", position) for part in parts]
    except TaxonomyError as error:
        raise TaxonomyError(f"{error} (path {show(path)})") from None
    if not names:
        raise TaxonomyError(f"path {position} is empty; a path needs at least one name")
    return names


def _from_places(
    cls: type[Taxonomy], places: _Places, sep: str, repeated: str, root: Hashable | None
) -> Taxonomy:
    if not places.name:
        raise TaxonomyError("no paths were given; a taxonomy needs at least one node")
    by_name: dict[Hashable, list[int]] = {}
    for place, name in enumerate(places.name):
        by_name.setdefault(name, []).append(place)
    parts: Assembly
    if len(by_name) == len(places.name):
        parts = _assemble_tree(places, places.name, root)
    elif repeated == "merge":
        parts = _assemble_merged(places, list(by_name), root)
    elif repeated == "path":
        parts = _assemble_tree(places, _names_by_path(places, by_name, sep), root)
    else:
        name, twice = next((name, found) for name, found in by_name.items() if len(found) > 1)
        first, second = (show(sep.join(map(str, places.path(place)))) for place in twice[:2])
        raise TaxonomyError(
            f"the name {show(name)} stands in two places, {first} and {second}; pass repeated='merge' if "
            "they are one node, repeated='path' to call them by their whole paths, or rename one"
        )
    return cls._trusted(parts.parent_indptr, parts.parent_indices, parts.names)


def _assemble_tree(places: _Places, names: Sequence[Hashable], root: Hashable | None) -> Assembly:
    parent = np.array(places.parent, dtype=np.int32)
    below = np.flatnonzero(parent >= 0).astype(np.int32)
    return assemble(names, parent[below], below, root)


def _assemble_merged(places: _Places, names: list[Hashable], root: Hashable | None) -> Assembly:
    number = {name: i for i, name in enumerate(names)}
    edges = {
        (number[places.name[parent]], number[name]): None  # a dictionary keeps the order of first appearance
        for parent, name in zip(places.parent, places.name, strict=True)
        if parent >= 0
    }
    pairs = np.array(list(edges), dtype=np.int32).reshape(-1, 2)
    return assemble(names, pairs[:, 0], pairs[:, 1], root)


def _names_by_path(places: _Places, by_name: dict[Hashable, list[int]], sep: str) -> list[Hashable]:
    names = list(places.name)
    for found in by_name.values():
        if len(found) > 1:
            for place in found:
                path = places.path(place)
                if len(path) > 1:  # at the top the whole path is the name itself
                    names[place] = sep.join(map(str, path))
    taken: dict[Hashable, int] = {}
    for place, name in enumerate(names):
        if taken.setdefault(name, place) != place:
            raise TaxonomyError(
                f"two nodes would be called {show(name)} when repeated names become paths; "
                "rename one, or choose another sep"
            )
    return names


def from_table(
    cls: type[Taxonomy],
    table: Any,
    *,
    parent: str | None = None,
    child: str | None = None,
    levels: Sequence[str] | None = None,
    sep: str = "/",
    repeated: str = "error",
    root: Hashable | None = None,
) -> Taxonomy:
    """A taxonomy from a pandas, polars or pyarrow table: parent and child columns, or one column per level.

    Columns called "parent" and "child" are taken unless others are named. Without them every column (or
    those in `levels`) is a level from the top down; an empty cell ends a shorter path. `sep` and `repeated`
    are those of from_paths. Columns of codes beside their titles ("Segment Code", "Segment Title", ...: GS1, UNSPSC)
    make codes the nodes and titles their labels; one such pair alone (NAICS) has its levels in the digits.

    >>> import pandas
    >>> from taxolearn.structure import Taxonomy
    >>> Taxonomy.from_table(pandas.DataFrame({"parent": ["Animal"] * 2, "child": ["Cat", "Dog"]})).leaves
    ('Cat', 'Dog')
    >>> table = pandas.DataFrame({"kingdom": ["Animal", "Plant"], "species": ["Cat", None]})
    >>> Taxonomy.from_table(table).nodes
    ('<root>', 'Animal', 'Cat', 'Plant')
    >>> industries = {"Code": ["31-33", "311", "3111"], "Title": ["Manufacturing", "Food", "Animal food"]}
    >>> coded = Taxonomy.from_table(pandas.DataFrame(industries))
    >>> coded.path("3111"), coded.terms["311"].label
    (('31-33', '311', '3111'), 'Food')
    """
    check_path_options(sep, repeated)
    frame = read_table(table)
    if levels is not None and (parent is not None or child is not None):
        raise TaxonomyError("give either parent and child columns or levels, not both")
    if levels is None and (
        parent is not None or child is not None or {"parent", "child"} <= set(frame.columns)
    ):
        ends = columns_of(frame, [parent or "parent", child or "child"], "parent and child")
        return cls.from_edges(zip(*ends, strict=True), root=root)
    coded = coded_levels(frame.columns) if levels is None else []
    if coded:
        used = [column for level in coded for column in level if column is not None]
        return from_coded_columns(
            cls, dict(zip(used, columns_of(frame, used, "levels"), strict=True)), coded, root
        )
    wanted = frame.columns if levels is None else levels
    if isinstance(wanted, str) or not isinstance(wanted, Sequence) or not wanted:
        raise TaxonomyError(f"levels must be a list of column names from the top down, not {show(wanted)}")
    places = _Places()
    for position, row in enumerate(zip(*columns_of(frame, wanted, "levels"), strict=True)):
        places.add(path_of_row(row, wanted, position))
    return _from_places(cls, places, sep, repeated, root)


def path_of_row(
    row: Sequence[object],
    levels: Sequence[str],
    position: int,
    empty: Callable[[object], bool] = is_empty,
) -> list[Hashable]:
    """The names in a row of level columns, without those at its end that are `empty`.

    >>> path_of_row(["Animal", "Cat", None], ["kingdom", "genus", "species"], 0)
    ['Animal', 'Cat']
    """
    filled = len(row)
    while filled and empty(row[filled - 1]):
        filled -= 1
    if not filled:
        raise TaxonomyError(f"row {position}: every level is empty; a row needs at least one name")
    for level, cell in zip(levels, row[:filled], strict=False):
        if empty(cell):
            raise TaxonomyError(
                f"row {position}: level {show(level)} is an empty name above {show(row[filled - 1])}; "
                "only the last levels of a row may be empty"
            )
    return [cell if type(cell) is str else clean_name(cell, "row", position) for cell in row[:filled]]
