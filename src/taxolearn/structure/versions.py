"""Two versions of a taxonomy: what was added, removed, moved, merged, split, renamed."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from taxolearn.errors import LabelError, TaxonomyError
from taxolearn.structure.names import show
from taxolearn.structure.taxonomy import Taxonomy

Names = tuple[Hashable, ...]
Kind = Literal["added", "removed", "moved", "merged", "split", "renamed"]

KINDS: tuple[Kind, ...] = ("added", "removed", "renamed", "merged", "split", "moved")
_SAME_CHILDREN = 0.5  # share of the children of either that two nodes of different names have in common
_SIMILAR = 0.75  # ratio of difflib above which two names of leaves under one parent are taken for one


@dataclass(frozen=True)
class Change:
    """One change: nodes of the old version, nodes of the new one, and the parents before and after.

    `guessed`: neither the names nor a mapping say so, but the place in the taxonomy does.

    >>> print(Change("moved", ("Wolf",), ("Wolf",), ("Cat",), ("Dog",)).sentence)
    Wolf moved from Cat to Dog
    """

    kind: Kind
    old: Names = ()
    new: Names = ()
    old_parents: Names = ()
    new_parents: Names = ()
    guessed: bool = False

    @property
    def sentence(self) -> str:
        """The change in words."""
        old, new = _listed(self.old), _listed(self.new)
        before, after = _listed(self.old_parents), _listed(self.new_parents)
        said = {
            "added": f"{new} added under {after}",
            "removed": f"{old} removed from under {before}",
            "moved": f"{new} moved from {before} to {after}",
            "merged": f"{old} merged into {new}",
            "split": f"{old} split into {new}",
            "renamed": f"{old} renamed to {new}",
        }[self.kind]
        return f"{said} (a guess)" if self.guessed else said


@dataclass(frozen=True)
class TaxonomyDiff:
    """What `diff` found: the changes, and what became of every node of the old version (`fate`).

    >>> old, new = Taxonomy.from_paths(["All/Cat"]), Taxonomy.from_paths(["All/Cat", "All/Dog"])
    >>> diff(old, new).fate["Cat"]
    ('Cat',)
    """

    changes: tuple[Change, ...]
    fate: dict[Hashable, Names]

    def of(self, kind: Kind) -> tuple[Change, ...]:
        """The changes of one kind.

        >>> old, new = Taxonomy.from_paths(["All/Cat"]), Taxonomy.from_paths(["All/Cat", "All/Dog"])
        >>> [change.new for change in diff(old, new).of("added")]
        [('Dog',)]
        """
        return tuple(change for change in self.changes if change.kind == kind)

    def to_text(self) -> str:
        """A line per change.

        >>> old, new = Taxonomy.from_paths(["All/Cat"]), Taxonomy.from_paths(["All/Cat", "All/Dog"])
        >>> print(diff(old, new).to_text())
        1 added
        Dog added under All
        """
        counts = [f"{len(self.of(kind)):,} {kind}" for kind in KINDS if self.of(kind)]
        return "\n".join([", ".join(counts) or "no change", *(change.sentence for change in self.changes)])

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Columns and rows of cells.

        >>> old, new = Taxonomy.from_paths(["All/Cat"]), Taxonomy.from_paths(["All/Cat", "All/Dog"])
        >>> diff(old, new).table()[1]
        [['added', '', 'Dog', '', 'All', '']]
        """
        columns = ["change", "old", "new", "from", "to", "guessed"]
        rows = [
            [
                change.kind,
                *map(_listed, (change.old, change.new, change.old_parents, change.new_parents)),
                "yes" if change.guessed else "",
            ]
            for change in self.changes
        ]
        return columns, rows

    def to_dict(self) -> dict[str, Any]:
        """The changes by kind, for JSON.

        >>> old, new = Taxonomy.from_paths(["All/Cat"]), Taxonomy.from_paths(["All/Cat", "All/Dog"])
        >>> diff(old, new).to_dict()["added"]
        [{'old': [], 'new': ['Dog'], 'from': [], 'to': ['All'], 'guessed': False}]
        """
        return {
            kind: [
                {
                    "old": _plain(change.old),
                    "new": _plain(change.new),
                    "from": _plain(change.old_parents),
                    "to": _plain(change.new_parents),
                    "guessed": change.guessed,
                }
                for change in self.of(kind)
            ]
            for kind in KINDS
        }

    def __str__(self) -> str:
        return self.to_text()


def diff(
    old: Taxonomy, new: Taxonomy, mapping: Mapping[Hashable, Any] | None = None, *, guess: bool = True
) -> TaxonomyDiff:
    """What changed between two versions of a taxonomy.

    A name is a node: what has the same name in both is the same node, unless `mapping` says otherwise. `mapping` goes
    from names of the old version to a name of the new one, to a list of names (a split), or to None (removed). Two old
    names with one new name are merged. Where neither says what became of a node, and `guess` is true, its place does:
    an inner node is found again by its children, a leaf by its parent and a similar name, the children of a node that
    became a leaf are merged into it, and a node whose children are divided among new nodes is split. A leaf that got
    new children is split into these, and stays. Roots are the same node, whatever they are called.

    >>> old = Taxonomy.from_paths(["All/Cat/Lion", "All/Cat/Wolf", "All/Dog/Hound"])
    >>> new = Taxonomy.from_paths(["All/Felidae/Lion", "All/Dog/Hound", "All/Dog/Wolf"])
    >>> print(diff(old, new).to_text())
    1 renamed, 1 moved
    Cat renamed to Felidae (a guess)
    Wolf moved from Cat to Dog
    """
    for version in (old, new):
        if not isinstance(version, Taxonomy):
            raise TaxonomyError(
                f"diff compares two taxonomies, not {show(version)}; build them with from_edges"
            )
    fate = _said(old, new, mapping or {})
    sure = set(fate)
    if guess:
        _guess_inner(old, new, fate)
        _guess_leaves(old, new, fate)
        _guess_merged(old, new, fate)
    changes = sorted(_changes(old, new, fate, sure), key=lambda change: KINDS.index(change.kind))
    return TaxonomyDiff(tuple(changes), {name: fate.get(name, ()) for name in old.nodes})


def _said(old: Taxonomy, new: Taxonomy, mapping: Mapping[Hashable, Any]) -> dict[Hashable, Names]:
    """What the mapping, the names and the roots say."""
    fate: dict[Hashable, Names] = {}
    for name, targets in mapping.items():
        if name not in old:
            raise LabelError(f"mapping: {show(name)} is no node of the old taxonomy; give old names as keys")
        several = list(targets) if isinstance(targets, list | set | frozenset) else [targets]
        names = tuple(dict.fromkeys(target for target in several if target is not None))
        unknown = next((target for target in names if target not in new), None)
        if unknown is not None:
            raise LabelError(
                f"mapping: {show(name)} goes to {show(unknown)}, which is no node of the new taxonomy; correct it"
            )
        fate[name] = names
    for name in old.nodes:
        if name in new:
            fate.setdefault(name, (name,))
    if old.root not in fate and new.root not in old:
        fate[old.root] = (new.root,)
    return fate


def _fresh(new: Taxonomy, fate: Mapping[Hashable, Names]) -> list[Hashable]:
    """Nodes of the new version that nothing has become."""
    known = {name for names in fate.values() for name in names}
    return [name for name in new.nodes if name not in known]


def _became(names: Iterable[Hashable], fate: Mapping[Hashable, Names]) -> set[Hashable]:
    return {target for name in names for target in fate.get(name, ())}


def _guess_inner(old: Taxonomy, new: Taxonomy, fate: dict[Hashable, Names]) -> None:
    """Inner nodes by their children, from the bottom up; several of them may have become one, or one several."""
    for node in sorted(range(old.n_nodes), key=lambda node: int(old.height[node])):
        name = old.name_of(node)
        below = _became(old.children(name), fate)
        if name in fate or not below:
            continue
        fresh = {other: set(new.children(other)) for other in _fresh(new, fate)}
        alike = {
            other: len(below & kids) / len(below | kids) for other, kids in fresh.items() if below & kids
        }
        parts = [other for other in alike if fresh[other] <= below]
        if len(parts) > 1:
            fate[name] = tuple(parts)
            continue
        best = max(alike, key=alike.__getitem__, default=None)
        if best is not None and alike[best] >= _SAME_CHILDREN:
            fate[name] = (best,)
            continue
        # all of its children are now below one other node that is not above it: it was merged into that one
        homes = {parent for kid in below for parent in new.parents(kid)}
        above = _became(old.ancestors(name), fate)
        if len(homes) == 1 and not homes & above:
            fate[name] = tuple(homes)


def _guess_leaves(old: Taxonomy, new: Taxonomy, fate: dict[Hashable, Names]) -> None:
    """Leaves by similar names below the same parent, each the other's most similar."""
    fresh = [name for name in _fresh(new, fate) if not new.children(name)]
    for name in old.leaves:
        if name in fate:
            continue
        beside = [other for other in fresh if set(new.parents(other)) & _became(old.parents(name), fate)]
        alike = {other: _similarity(name, other) for other in beside}
        best = max(alike, key=alike.__getitem__, default=None)
        if best is not None and alike[best] >= _SIMILAR:
            fate[name] = (best,)
            fresh.remove(best)


def _similarity(name: Hashable, other: Hashable) -> float:
    return difflib.SequenceMatcher(None, str(name).lower(), str(other).lower()).ratio()


def _guess_merged(old: Taxonomy, new: Taxonomy, fate: dict[Hashable, Names]) -> None:
    """What was below a node that is a leaf now was merged into it."""
    for name in old.nodes:
        above = [parent for parent in old.parents(name) if len(fate.get(parent, ())) == 1]
        if name not in fate and above:
            target = fate[above[0]][0]
            if target in new and not new.children(target):
                fate[name] = (target,)


def _changes(
    old: Taxonomy, new: Taxonomy, fate: Mapping[Hashable, Names], sure: set[Hashable]
) -> Iterator[Change]:
    origins: dict[Hashable, list[Hashable]] = {name: [] for name in new.nodes}
    for name, targets in fate.items():
        for target in targets:
            origins[target].append(name)
    parts = {target for targets in fate.values() if len(targets) > 1 for target in targets}
    for name in old.nodes:
        targets = fate.get(name, ())
        if not targets:
            yield Change("removed", (name,), (), old.parents(name))
        elif len(targets) > 1:
            yield Change("split", (name,), targets, old.parents(name), (), name not in sure)
        elif not old.children(name) and new.children(targets[0]) and origins[targets[0]] == [name]:
            kids = tuple(kid for kid in new.children(targets[0]) if not origins[kid])
            parts.update(kids)
            if kids:
                yield Change("split", (name,), kids, old.parents(name), (targets[0],))
    for name in new.nodes:
        came = origins[name]
        if not came:
            if name not in parts:
                yield Change("added", (), (name,), (), new.parents(name))
        elif len(came) > 1:
            guessed = any(origin not in sure for origin in came)
            yield Change("merged", tuple(came), (name,), (), new.parents(name), guessed)
        elif came[0] != name and len(fate[came[0]]) == 1:
            yield Change("renamed", (came[0],), (name,), (), (), came[0] not in sure)
        yield from _moves(old, new, fate, name, came)


def _moves(
    old: Taxonomy, new: Taxonomy, fate: Mapping[Hashable, Names], name: Hashable, came: list[Hashable]
) -> Iterator[Change]:
    """A move, where the parents are not what the parents of its origin have become."""
    origin = name if name in came else (came[0] if len(came) == 1 else None)
    if origin is None or len(fate[origin]) != 1:
        return
    before, after = old.parents(origin), new.parents(name)
    exact = all(len(fate.get(parent, ())) == 1 for parent in before)
    expected = _became(before, fate)
    if set(after) != expected if exact else not set(after) <= expected:
        yield Change("moved", (origin,), (name,), before, after)


def _listed(names: Names) -> str:
    return ", ".join(map(str, names))


def _plain(names: Names) -> list[Any]:
    return [name if isinstance(name, str | int | float | bool) else str(name) for name in names]
