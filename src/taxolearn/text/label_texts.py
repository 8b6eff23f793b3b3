"""What the taxonomy says about its classes in words, as rows to learn from: names, synonyms, definitions, paths.

A class has a row for each of its own texts and one for its path, in which the names of the nodes above it stand: so
inner nodes have their say, and classes that share them are near each other. Where these have synonyms or definitions,
too, one more row has all of them. With several parents there is a path by way of each.
"""

from __future__ import annotations

import re
from collections.abc import Container, Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from taxolearn.errors import DataError
from taxolearn.problem import encode_labels
from taxolearn.problem.inputs import check_sample_weight
from taxolearn.structure import Taxonomy
from taxolearn.structure.assembly import ARTIFICIAL_ROOT
from taxolearn.structure.names import show
from taxolearn.text.reading import check_one_label_each

NAMES = "names"
_WORDS = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_PLAIN = {str, bytes, bool, int, float}  # what arrays of one type are made of
_NAMES_NEEDED = "label_texts needs y as names of classes, or as sets of them; give the names"
_JOINED = re.compile(r"(?<=[a-z])(?=[A-Z])")  # camelCase


class LabelRows(NamedTuple):
    """Texts about classes, and which class each is about.

    >>> LabelRows(["house cat"], ["Cat"]).labels
    ['Cat']
    """

    texts: list[str]
    labels: list[Hashable]

    def of(self, classes: Iterable[Hashable]) -> LabelRows:
        """The rows about these classes.

        >>> LabelRows(["house cat", "dog"], ["Cat", "Dog"]).of(["Dog"]).texts
        ['dog']
        """
        wanted = set(classes)
        kept = [pair for pair in zip(self.texts, self.labels, strict=True) if pair[1] in wanted]
        return LabelRows([text for text, _ in kept], [label for _, label in kept])


def label_rows(given: Any, taxonomy: Taxonomy | None, classes: Iterable[Hashable]) -> LabelRows:
    """The rows about these classes and all leaves of the taxonomy.

    `given` is "names" (labels, synonyms and definitions of the taxonomy's terms; where a node has none, its name), or a
    dict from names of nodes to a text or a list of texts.

    >>> tree = Taxonomy.from_paths(["Animal/HouseCat", "Animal/Dog"])
    >>> label_rows("names", tree, []).texts
    ['House Cat', 'Animal House Cat', 'Dog', 'Animal Dog']
    >>> label_rows({"Dog": ["barks"]}, tree, []).texts
    ['barks']
    >>> label_rows({"Dog": ["barks"], "Animal": ["animal", "moves and eats"]}, tree, []).of(["Dog"]).texts
    ['barks', 'animal barks', 'animal moves and eats barks']
    """
    texts_of = _given_texts(given, taxonomy)
    told = taxonomy.leaves if taxonomy is not None else given if isinstance(given, Mapping) else ()
    wanted = list(dict.fromkeys([*told, *classes]))
    texts: list[str] = []
    labels: list[Hashable] = []
    for name in wanted:
        rows = _rows_about(name, texts_of, _ways(taxonomy, name))
        texts += rows
        labels += [name] * len(rows)
    if not texts:
        raise DataError("label_texts has no text for any class; give texts for the names of classes")
    return LabelRows(texts, labels)


def _rows_about(name: Hashable, texts_of: Any, ways: list[list[Hashable]]) -> list[str]:
    """A class's own texts; then for each way down to it the first texts of the nodes on it, and where they have more
    all of these, each with the class's first text."""
    own = texts_of(name)
    rows = list(own)
    for way in ways:
        above = [texts_of(node) for node in way]
        for said in ([text[0] for text in above if text], [text for some in above for text in some]):
            if said or own:
                rows.append(" ".join([*dict.fromkeys(said), *own[:1]]))
    return list(dict.fromkeys(rows))


def _ways(taxonomy: Taxonomy | None, name: Hashable) -> list[list[Hashable]]:
    """The nodes above a class from the top down, for each of its parents."""
    parents = () if taxonomy is None else taxonomy.parents(name)
    if taxonomy is None or not parents:
        return [[]]
    return [[node for node in taxonomy.path(parent) if node != ARTIFICIAL_ROOT] for parent in parents]


def words_of(name: Hashable, parent: Hashable = None) -> str:
    """The words in a name, without the parent's name that it starts with.

    >>> words_of("Music@Classic_Rock", "Music"), words_of("comp.sys.mac", "comp.sys"), words_of("DressShirts")
    ('Classic Rock', 'mac', 'Dress Shirts')
    """
    text, before = str(name), "" if parent is None else str(parent)
    if before and text.startswith(before) and len(text) > len(before) and not text[len(before)].isalnum():
        text = text[len(before) :]
    return " ".join(_WORDS.findall(_JOINED.sub(" ", text)))


def _given_texts(given: Any, taxonomy: Taxonomy | None) -> Any:
    """The function from a node to its texts."""
    if isinstance(given, Mapping):
        texts = {}
        for name, found in given.items():
            if taxonomy is not None and name not in taxonomy:
                raise DataError(f"label_texts: unknown name {show(name)}{taxonomy.hint_at(name)}")
            said = [found] if isinstance(found, str) else found
            if not isinstance(said, list | tuple) or not all(isinstance(text, str) for text in said):
                raise DataError(
                    f"label_texts: {show(name)} has {show(found)}; give a text or a list of texts"
                )
            texts[name] = said
        return lambda name: [text for text in texts.get(name, ()) if text.strip()]
    if not isinstance(given, str) or given != NAMES:
        raise DataError(f"label_texts={show(given)} is not valid; use 'names' or a dict from names to texts")
    if taxonomy is None:
        return lambda name: [words_of(name)]
    terms = taxonomy.terms

    def of(name: Hashable) -> list[str]:
        term = terms.get(name)
        above = taxonomy.path(name)[-2:-1]
        label = term.label if term is not None and term.label else words_of(name, *above)
        said = [label, *term.synonyms, term.definition or ""] if term is not None else [label]
        return [text for text in said if text.strip()]

    return of


def with_label_rows(y: Any, labels: list[Hashable]) -> Any:
    """The labels of rows, followed by those of texts about classes, in the form in which y is.

    >>> with_label_rows(["a", "b"], ["b"]), with_label_rows([{"a"}], ["b"])
    (['a', 'b', 'b'], [{'a'}, {'b'}])
    """
    if getattr(y, "ndim", 1) != 1:
        raise DataError(_NAMES_NEEDED)
    if isinstance(y, np.ndarray) and y.dtype != object:
        values = [*y.tolist(), *labels]
        kinds = set(map(type, values))
        return np.array(values, dtype=None if len(kinds) == 1 and kinds <= _PLAIN else object)
    rows = list(y)
    kinds = set(map(type, rows))
    if kinds and kinds <= {set, frozenset, list}:
        return [*rows, *(next(iter(kinds))([label]) for label in labels)]
    if tuple in kinds:
        raise DataError(_NAMES_NEEDED)
    return [*rows, *labels]


def with_texts_about(
    about: LabelRows, weight: float, texts: list[str], y: Any, sample_weight: Any, seen: Container[Hashable]
) -> tuple[list[str], Any, npt.NDArray[np.float64]]:
    """Texts, labels and weights, followed by those of texts about classes.

    Whatever these weigh, a class without rows, one that is not `seen`, answers by its own.

    >>> about = LabelRows(["house cat", "dog"], ["Cat", "Dog"])
    >>> texts, y, weights = with_texts_about(about, 0.3, ["it purrs"], ["Cat"], None, {"Cat"})
    >>> texts, y, weights.tolist()
    (['it purrs', 'house cat', 'dog'], ['Cat', 'Cat', 'Dog'], [1.0, 0.3, 1.0])
    """
    least = [weight if label in seen else max(weight, 1.0) for label in about.labels]
    kept = [place for place, value in enumerate(least) if value > 0]
    given = check_sample_weight(sample_weight, len(texts))
    given = np.ones(len(texts)) if given is None else given
    weights = np.concatenate([given, np.array([least[place] for place in kept], dtype=np.float64)])
    labels = [about.labels[place] for place in kept]
    check_one_label_each(len(y), len(texts))
    return [*texts, *(about.texts[place] for place in kept)], with_label_rows(y, labels), weights


def label_names(y: Any, taxonomy: Taxonomy | None) -> list[Hashable]:
    """The names of the classes in labels that are names, or whatever else means one node, or sets of them.

    >>> label_names(["a", "b", "a"], None), label_names([{"a"}, {"a"}], None)
    (['a', 'b'], ['a'])
    """
    found = encode_labels(y, taxonomy, allow_empty=True)
    with_label_rows(y, [])  # refuses other forms
    return [found.names[number] for number in dict.fromkeys(found.indices.tolist())]
