"""What is said about the nodes of a taxonomy, after a new version of it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from taxolearn.methods.migrating import labels_by_name
from taxolearn.structure import Taxonomy
from taxolearn.structure.versions import TaxonomyDiff
from taxolearn.text.label_texts import LabelRows, label_rows


def said_after(said: Any, changes: TaxonomyDiff) -> Any:
    """Titles or texts by node follow a node that one node became; those of nodes split or removed are dropped.

    >>> from taxolearn import diff
    >>> old, new = Taxonomy.from_paths(["all/bone", "all/skin"]), Taxonomy.from_paths(["all/bone", "all/cutis"])
    >>> said_after({"bone": "Bones", "skin": "The skin"}, diff(old, new, {"skin": "cutis"}))
    {'bone': 'Bones', 'cutis': 'The skin'}
    """
    if not isinstance(said, Mapping):
        return said
    fate = changes.fate
    return {fate[name][0]: text for name, text in said.items() if len(fate.get(name, ())) == 1}


class Told(NamedTuple):
    """The labels of rows by name, texts about the classes of the new version, and the classes that have rows.

    >>> Told(["skin"], LabelRows(["cutis"], ["skin"]), {"skin"}).seen
    {'skin'}
    """

    y: list[Any]
    about: LabelRows
    seen: set[Hashable]


def told_after(label_texts: Any, y: Any, old: Taxonomy, new: Taxonomy, changes: TaxonomyDiff) -> Told:
    """What `migrate` learns from besides: a class is called by its old name wherever it had one, as rows may be.

    >>> from taxolearn import diff
    >>> old, new = Taxonomy.from_paths(["all/skin"]), Taxonomy.from_paths(["all/cutis", "all/hair"])
    >>> told_after("names", ["skin"], old, new, diff(old, new, {"skin": "cutis"})).about
    LabelRows(texts=['cutis', 'all cutis', 'hair', 'all hair'], labels=['skin', 'skin', 'hair', 'hair'])
    """
    names, several = labels_by_name(y, old)
    became = {name: targets[0] for name, targets in changes.fate.items() if len(targets) == 1}
    was = {target: name for name, target in became.items()}
    given = dict.fromkeys(name for row in names for name in row)
    now = [became.get(name, name) for name in given if name in became or name not in old]
    rows = label_rows(said_after(label_texts, changes), new, [name for name in now if name in new])
    # a name that the old version has for something else would be taken for that
    about = rows.of(name for name in rows.labels if name in was or name not in old)
    called = [was.get(name, name) for name in about.labels]
    seen = {was.get(name, name) for name in now}
    return Told(names if several else [row[0] for row in names], LabelRows(about.texts, called), seen)
