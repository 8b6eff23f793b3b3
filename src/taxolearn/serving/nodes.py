"""Nodes as a page shows them: how they are called and written, their paths, and which of them a few letters mean."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

from taxolearn.errors import DataError
from taxolearn.structure import Taxonomy
from taxolearn.structure.names import show
from taxolearn.structure.terms import Term
from taxolearn.terminal import cut

_KEPT = 65_536  # cards and paths that are made once
_LONGEST_TITLE = 300  # characters; names are never cut


class NodeBook:
    """The nodes of a model (its classes, where it has no taxonomy) as they are written in JSON.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> book = NodeBook(tree, ["Cat", "Dog"], {"Cat": "Felis catus"})
    >>> book.card("Cat")
    {'name': 'Cat', 'title': 'Felis catus', 'uri': 'Cat', 'notation': None}
    >>> [card["name"] for card in book.path("Cat")], book.node("Dog")
    (['Animal', 'Cat'], 'Dog')
    """

    def __init__(
        self, taxonomy: Taxonomy | None, classes: Sequence[Hashable], titles: Mapping[Any, str]
    ) -> None:
        self.taxonomy = taxonomy
        self.nodes: Sequence[Hashable] = classes if taxonomy is None else taxonomy.nodes
        self._classes = frozenset(classes)
        self._terms: Mapping[Hashable, Term] = {} if taxonomy is None else taxonomy.terms
        self._titles = {name: term.label for name, term in self._terms.items() if term.label} | dict(titles)
        self._by_text: dict[str, Hashable] = {}
        for name in self.nodes:
            if self._by_text.setdefault(str(name), name) != name:
                raise DataError(
                    f"two nodes are written {show(str(name))}; rename one of them to serve the model"
                )
        self.card = lru_cache(maxsize=_KEPT)(self._card)
        self.path = lru_cache(maxsize=_KEPT)(self._path)

    def node(self, text: str) -> Hashable | None:
        """The node that is written so, or that only this term means; None if there is none."""
        if text in self._by_text:
            return self._by_text[text]
        found = () if self.taxonomy is None else self.taxonomy.find(text)
        return found[0] if len(found) == 1 else None

    def is_class(self, name: Hashable) -> bool:
        """Whether the model can answer with it."""
        return name in self._classes

    def _card(self, name: Hashable) -> dict[str, Any]:
        """Name, title, address and notation of a node; one dict for all who ask."""
        term = self._terms.get(name)
        return {
            "name": str(name),
            "title": cut(self._titles.get(name) or self._shown(name), _LONGEST_TITLE),
            "uri": str((term.id if term is not None else None) or name),
            "notation": term.notation if term is not None else None,
        }

    def _shown(self, name: Hashable) -> str:
        """A node that is called by its whole path is shown by the last word of it."""
        return str(name) if self.taxonomy is None else str(self.taxonomy.shown_path(name)[-1])

    def _path(self, name: Hashable) -> tuple[dict[str, Any], ...]:
        """The cards from the top down to a node."""
        names = (name,) if self.taxonomy is None else self.taxonomy.named_path(name)
        return tuple(map(self.card, names))

    def search(self, text: str, limit: int) -> tuple[list[Hashable], int]:
        """The nodes that some letters may mean, best first: at most `limit`, and how many there are.

        Every word must occur. Those that are called exactly so come first, then those that begin so.

        >>> book = NodeBook(Taxonomy.from_paths(["Animal/House cat", "Animal/Cat", "Plant/Catnip"]), [], {})
        >>> book.search("cat", 2)
        (['Cat', 'Catnip'], 3)
        """
        wanted = text.casefold().split()
        if not wanted:
            return [], 0
        whole = " ".join(wanted)
        ranked = []
        for place, (names, words) in enumerate(self._searched):
            if all(word in words for word in wanted):
                if whole in names:
                    rank = 0
                elif any(name.startswith(whole) for name in names):
                    rank = 1
                else:
                    rank = 2 if all(f" {word}" in words for word in wanted) else 3
                ranked.append((rank, place))
        ranked.sort()
        return [self.nodes[place] for _, place in ranked[:limit]], len(ranked)

    @cached_property
    def _searched(self) -> list[tuple[tuple[str, ...], str]]:
        """Of each node all that it is called, and this in one line."""
        found = []
        for name in self.nodes:
            term = self._terms.get(name, Term())
            called = (str(name), self._titles.get(name), self._shown(name), term.notation, *term.synonyms)
            names = tuple(dict.fromkeys(" ".join(one.casefold().split()) for one in called if one))
            found.append((names, " " + " ".join(names)))
        return found

    def children(self, name: Hashable | None) -> Sequence[Hashable]:
        """The children of a node; of None the top of the taxonomy, or all classes.

        >>> NodeBook(Taxonomy.from_paths(["Animal/Cat", "Plant"]), [], {}).children(None)
        ('Animal', 'Plant')
        """
        if self.taxonomy is None:
            return self.nodes if name is None else ()
        return self.taxonomy.children(self.taxonomy.root if name is None else name)
