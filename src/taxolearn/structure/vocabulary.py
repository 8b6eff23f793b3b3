"""A vocabulary as a file has it, concepts by id, on its way to a Taxonomy."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from taxolearn.errors import DataError, FileFormatError, TaxonomyError
from taxolearn.opening import PathLike
from taxolearn.structure.assembly import assemble
from taxolearn.structure.names import show
from taxolearn.structure.terms import Term

if TYPE_CHECKING:
    from taxolearn.structure.taxonomy import Taxonomy

NAMED_BY = ("id", "label", "notation")


@dataclass
class Vocabulary:
    """Concepts in the order of the file (`terms`) and the parents of each; both may be filled in any order.

    >>> from taxolearn.structure import Taxonomy
    >>> animals = Vocabulary("animals.ttl", {"a": Term("Animal"), "c": Term("Cat")})
    >>> animals.add_parent("c", "a")
    >>> animals.build(Taxonomy, names="label", root=None).nodes
    ('Animal', 'Cat')
    """

    path: PathLike
    terms: dict[str, Term]
    parents: dict[str, dict[str, None]] = field(default_factory=dict)

    def add_parent(self, child: str, parent: str) -> None:
        """Say that one concept is above another; saying it twice changes nothing."""
        self.parents.setdefault(child, {})[parent] = None

    def leave_out(self, dropped: set[str]) -> None:
        """Take concepts away; what was below them hangs on what was above them."""
        if not dropped:
            return
        kept: dict[str, dict[str, None]] = {}
        for child, parents in self.parents.items():
            if child in dropped:
                continue
            found: dict[str, None] = {}
            seen: set[str] = set()
            waiting = list(reversed(parents))
            while waiting:
                parent = waiting.pop()
                if parent not in dropped:
                    found[parent] = None
                elif parent not in seen:
                    seen.add(parent)
                    waiting.extend(reversed(self.parents.get(parent, {})))
            if child not in parents:
                found.pop(child, None)  # a way round through what is left out
            kept[child] = found
        self.parents = kept
        self.terms = {name: term for name, term in self.terms.items() if name not in dropped}

    def build(self, cls: type[Taxonomy], names: str, root: Hashable | None) -> Taxonomy:
        """The taxonomy, without edges that longer ways imply; every error names the file."""
        if names not in NAMED_BY:
            raise DataError(f'names must be "id", "label" or "notation", not {show(names)}')
        self._take_in_strangers()
        called = self._names(names)
        number = {concept: i for i, concept in enumerate(self.terms)}
        pairs = np.array(
            [
                (number[parent], number[child])
                for child in self.terms
                for parent in self.parents.get(child, {})
            ],
            dtype=np.int32,
        ).reshape(-1, 2)
        try:
            parts = assemble(list(called.values()), pairs[:, 0], pairs[:, 1], root)
        except TaxonomyError as error:
            raise FileFormatError(self.path, None, str(error)) from None
        terms: dict[Hashable, Term] = {}
        for concept, term in self.terms.items():
            name = called[concept]
            told = term if name == concept else term._replace(id=concept)
            if told != Term():
                terms[name] = told
        return cls._trusted(
            parts.parent_indptr, parts.parent_indices, parts.names, terms
        ).transitive_reduction()

    def _take_in_strangers(self) -> None:
        """Concepts that are only mentioned become nodes, with a warning: an excerpt, or a typo."""
        strangers: dict[str, str] = {}
        for child, parents in self.parents.items():
            for parent in parents:
                for name, beside in ((parent, child), (child, parent)):
                    if name not in self.terms:
                        strangers.setdefault(name, beside)
        if not strangers:
            return
        name, beside = next(iter(strangers.items()))
        few = "1 concept is" if len(strangers) == 1 else f"{len(strangers):,} concepts are"
        warnings.warn(
            f"{self.path}: {few} only mentioned and not described, for example {show(name)} at {show(beside)}; "
            "taken as nodes without a label",
            stacklevel=4,
        )
        self.terms.update(dict.fromkeys(strangers, Term()))

    def _names(self, by: str) -> dict[str, str]:
        """Concept -> name of its node; the id where it has no such name."""
        called: dict[str, str] = {}
        owners: dict[str, str] = {}
        for concept, term in self.terms.items():
            name = concept if by == "id" else getattr(term, by) or concept
            if owners.setdefault(name, concept) != concept:
                raise FileFormatError(
                    self.path,
                    None,
                    f"{show(owners[name])} and {show(concept)} have the same {by} {show(name)}; "
                    "choose names='id', or rename one",
                )
            called[concept] = name
        return called
