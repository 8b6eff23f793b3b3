"""Names beside ids: what Taxonomy and ClassGraph share about the names of their nodes."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Callable, Hashable, Iterable
from typing import Any, NoReturn, SupportsIndex, cast

import numpy as np
import numpy.typing as npt

from taxolearn.errors import LabelError, TaxonomyError

IntArray = npt.NDArray[np.int32]

_SHOWN = 60  # characters of a name or value that an error message repeats


def show(value: object) -> str:
    """The value as an error message shows it: its repr, cut when long.

    >>> show("cat"), len(show("x" * 1000))
    ("'cat'", 60)
    """
    text = _text(value, repr)
    if "\n" in text:  # a table or an array: one line is enough
        text = " ".join(text.split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _text(value: object, of: Callable[[object], str]) -> str:
    try:
        return of(value)
    except Exception:  # noqa: BLE001  a broken repr must not hide the error that is about to be reported
        return f"<{type(value).__name__}>"


def is_blank(cell: object) -> bool:
    """Whether a cell of a table holds no name: empty, or nothing but blanks.

    >>> [is_blank(cell) for cell in (None, "  ", "cat", 0)]
    [True, True, False, False]
    """
    return is_empty(cell) or (isinstance(cell, str) and not cell.strip())


def is_empty(cell: object) -> bool:
    """Whether a cell holds no name: None, "", NaN, NaT or pandas.NA.

    >>> [is_empty(cell) for cell in (None, "", float("nan"), "cat", 0)]
    [True, True, True, False, False]
    """
    if cell is None:
        return True
    if isinstance(cell, str):
        return not cell
    try:
        return bool(cell != cell)  # only a missing value differs from itself
    except TypeError:  # pandas.NA has no truth value
        return True
    except ValueError:  # an array: not a name, but not empty either
        return False


def _plain(name: object) -> object:
    """Numpy scalars as Python scalars, so that names compare, print and store as people wrote them."""
    if isinstance(name, np.generic) and not isinstance(name, np.datetime64 | np.timedelta64):
        return name.item()
    if type(name) is tuple:
        return tuple(_plain(part) for part in name)
    return name


def clean_name(name: object, where: str, position: object) -> Hashable:
    """The name as it is kept, or a TaxonomyError that starts with `where position`.

    >>> clean_name(np.str_("cat"), "edge", 0), clean_name(np.int64(3), "edge", 0)
    ('cat', 3)
    >>> clean_name("", "edge", 7)
    Traceback (most recent call last):
    ...
    taxolearn.errors.TaxonomyError: edge 7: empty name ''; every node needs a name
    """
    name = _plain(name)
    try:
        hash(name)
    except TypeError:
        raise TaxonomyError(
            f"{where} {position}: the name {show(name)} is unhashable ({type(name).__name__}); "
            "use a string, a number or a tuple"
        ) from None
    if is_empty(name):
        raise TaxonomyError(f"{where} {position}: empty name {show(name)}; every node needs a name")
    return name


def check_iterable(values: object, what: str) -> Iterable[Any]:
    """The values, once it is sure that a for loop over them means something.

    >>> check_iterable(3, "edges")
    Traceback (most recent call last):
    ...
    taxolearn.errors.TaxonomyError: edges must be an iterable, not 3 (int)
    """
    if isinstance(values, np.ndarray) and values.ndim > 0:
        return cast(Iterable[Any], values.tolist())  # Python scalars, and faster to walk through
    if isinstance(values, str | bytes) or not isinstance(values, Iterable) or isinstance(values, np.ndarray):
        raise TaxonomyError(f"{what} must be an iterable, not {show(values)} ({type(values).__name__})")
    return values


def nearest_names(name: object, names: Iterable[Hashable]) -> list[Hashable]:
    """Up to three names that look like `name`, best first; paths that end in it come before all others.

    >>> nearest_names("cta", ["cat", "dog"]), nearest_names("3", [3, 4]), nearest_names("cat", ["pet/cat", "bat"])
    (['cat'], [3], ['pet/cat', 'bat'])
    """
    by_text: dict[str, Hashable] = {}
    for candidate in names:
        by_text.setdefault(_text(candidate, str).lower(), candidate)
    wanted = _text(name, str).lower()
    ends = [text for text in by_text if text.endswith(("/" + wanted, "> " + wanted))]
    return [
        by_text[text] for text in dict.fromkeys((*ends, *difflib.get_close_matches(wanted, by_text, n=3)))
    ][:3]


def hint(name: object, names: Iterable[Hashable], otherwise: str = "") -> str:
    """The end of an "unknown name" message: nearest names, or what else to do.

    >>> hint("cta", ["cat", "dog"]), hint("zebra", ["cat"], "correct it")
    ("; did you mean 'cat'?", '; correct it')
    """
    nearest = nearest_names(name, names)
    if nearest:
        return f"; did you mean {' or '.join(show(found) for found in nearest)}?"
    return f"; {otherwise}" if otherwise else ""


class NamedNodes:
    """A frozen structure whose node number i is called `nodes[i]`; the base of Taxonomy and ClassGraph.

    >>> from taxolearn.structure import Taxonomy
    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> "Cat" in tree, len(tree), tree.name_of(2)
    (True, 3, 'Dog')
    """

    __slots__ = ("_lookup", "nodes")

    nodes: tuple[Hashable, ...]
    _lookup: dict[Hashable, int] | None

    def __setattr__(self, attribute: str, value: object) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} is frozen: cannot set {attribute!r}; build a new one")

    def __delattr__(self, attribute: str) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} is frozen: cannot delete {attribute!r}")

    def __copy__(self) -> NamedNodes:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> NamedNodes:
        return self

    def __len__(self) -> int:
        return len(self.nodes)

    def __contains__(self, name: object) -> bool:
        try:
            return name in self._ids()
        except TypeError:  # unhashable
            return False

    @property
    def n_nodes(self) -> int:
        """Number of nodes.

        >>> from taxolearn.structure import Taxonomy
        >>> Taxonomy.from_edges([("Animal", "Cat"), ("Animal", "Dog")]).n_nodes
        3
        """
        return len(self.nodes)

    def _ids(self) -> dict[Hashable, int]:
        # Built on first use: the dictionary takes more memory than all the arrays together.
        if self._lookup is None:
            object.__setattr__(self, "_lookup", {name: node for node, name in enumerate(self.nodes)})
        assert self._lookup is not None
        return self._lookup

    def _unknown(self, name: object, where: str = "") -> LabelError:
        if is_empty(name):
            return LabelError(f"{where}empty name {show(name)}; give the name of a node")
        todo = f"correct it, or add it to the {type(self).__name__}"
        return LabelError(f"{where}unknown name {show(name)}{self.hint_at(name, todo)}")

    def hint_at(self, name: object, otherwise: str = "") -> str:
        """The end of an "unknown name" message, see `hint`.

        >>> from taxolearn.structure import Taxonomy
        >>> Taxonomy.from_paths(["Animal/Cat"]).hint_at("Cta")
        "; did you mean 'Cat'?"
        """
        return hint(name, self.nodes, otherwise)

    def id_of(self, name: object) -> int:
        """The id of the node called `name`; LabelError with the nearest names when there is none.

        >>> from taxolearn.structure import Taxonomy
        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> tree.id_of("Dog")
        2
        >>> tree.id_of("Dgo")
        Traceback (most recent call last):
        ...
        taxolearn.errors.LabelError: unknown name 'Dgo'; did you mean 'Dog'?
        """
        try:
            return self._ids()[name]
        except (KeyError, TypeError):
            raise self._unknown(name) from None

    def ids_of(self, names: Iterable[object]) -> IntArray:
        """The ids of many names, as an int32 array.

        >>> from taxolearn.structure import Taxonomy
        >>> Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"]).ids_of(["Dog", "Animal"])
        array([2, 0], dtype=int32)
        """
        if isinstance(names, np.ndarray):
            if names.ndim != 1:
                raise LabelError(f"names must be one-dimensional, not of shape {names.shape}")
            names = names.tolist()
        if isinstance(names, str | bytes) or not isinstance(names, Iterable):
            raise LabelError(f"names must be an iterable of names, not {show(names)}; for one name use id_of")
        known = list(names)
        lookup = self._ids()
        try:
            return np.fromiter(map(lookup.__getitem__, known), dtype=np.int32, count=len(known))
        except (KeyError, TypeError):
            position, culprit = next((i, name) for i, name in enumerate(known) if name not in self)
            raise self._unknown(culprit, f"position {position}: ") from None

    def name_of(self, node: SupportsIndex) -> Hashable:
        """The name of the node with this id.

        >>> from taxolearn.structure import Taxonomy
        >>> Taxonomy.from_paths(["Animal/Cat"]).name_of(1)
        'Cat'
        """
        try:
            position = operator.index(node)
        except TypeError:
            raise LabelError(f"a node id is an integer, not {show(node)}") from None
        if not 0 <= position < len(self.nodes):
            raise LabelError(f"unknown node id {position}; ids run from 0 to {len(self.nodes) - 1}")
        return self.nodes[position]
