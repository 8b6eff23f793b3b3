"""What nodes are called besides their names: labels, notations, synonyms, definitions.

The functions become methods of Taxonomy.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from taxolearn.errors import LabelError, TaxonomyError
from taxolearn.structure.names import hint, show

if TYPE_CHECKING:
    from taxolearn.structure.taxonomy import Taxonomy

SHOWN_AS = ("name", "label", "notation", "id")


class Term(NamedTuple):
    """What a node is called besides its name.

    - `label`: what people call it; `synonyms`: what they call it, too.
    - `notation`: its code in a classification, "01.2" say.
    - `definition`: a sentence or more.
    - `id`: its id in the file it came from, where it was not named by that (`names="label"`).

    >>> Term("Cat", synonyms=("House cat",)).label
    'Cat'
    """

    label: str | None = None
    notation: str | None = None
    synonyms: tuple[str, ...] = ()
    definition: str | None = None
    id: str | None = None


def checked_terms(terms: object, nodes: Iterable[Hashable]) -> dict[Hashable, Term]:
    """The terms of these nodes, each a `Term`; a text alone is a label.

    >>> checked_terms({"c1": "Cat", "c2": Term(notation="2")}, ["c1", "c2"])["c1"].label
    'Cat'
    """
    if not isinstance(terms, Mapping):
        raise TaxonomyError(f"terms must be a mapping from names to labels or Terms, not {show(terms)}")
    known = set(nodes)
    found = {}
    for name, given in terms.items():
        if name not in known:
            raise LabelError(f"terms: unknown name {show(name)}; give the name of a node")
        term = Term(given) if isinstance(given, str) else given
        if not isinstance(term, Term) or not _is_whole(term):
            raise TaxonomyError(f"terms: {show(name)} has {show(given)}; give a label or a Term of texts")
        found[name] = term
    return found


def _is_whole(term: Term) -> bool:
    texts = (term.label, term.notation, term.definition, term.id)
    return (
        all(text is None or type(text) is str for text in texts)
        and type(term.synonyms) is tuple
        and all(type(text) is str for text in term.synonyms)
    )


def with_terms(taxonomy: Taxonomy, terms: Mapping[Any, Term | str]) -> Taxonomy:
    """The same taxonomy with these labels, or a `Term` each, by name; nodes that are not named have none.

    They are saved with a model, and `explain` and the command line show them.

    >>> from taxolearn.structure import Taxonomy
    >>> tree = Taxonomy.from_paths(["A/A1", "A/A2"]).with_terms({"A": "Animal", "A1": "Cat"})
    >>> tree.show_as(["A1", "A2"], "label")
    ['Cat', 'A2']
    """
    kept = checked_terms(terms, taxonomy.nodes)
    return type(taxonomy)._trusted(taxonomy.parent_indptr, taxonomy.parent_indices, taxonomy.nodes, kept)


def show_as(taxonomy: Taxonomy, names: Iterable[Any], by: str) -> list[Any]:
    """The labels (or notations, or ids) of nodes, for people; the name itself where a node has none.

    `names` are those of one answer each, or lists of them where rows have several.

    >>> from taxolearn.structure import Taxonomy
    >>> from taxolearn.structure.terms import Term
    >>> tree = Taxonomy.from_paths(["A/A1", "A/A2"]).with_terms({"A1": Term("Cat", notation="1.1")})
    >>> tree.show_as(["A1"], "label"), tree.show_as(["A1", "A2"], "notation"), tree.show_as([["A1"]], "label")
    (['Cat'], ['1.1', 'A2'], [['Cat']])
    """
    check_shown_as(by)
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise LabelError(f"names must be an iterable of names, not {show(names)}")
    terms = taxonomy.terms
    found: list[Any] = []
    for name in names:
        if isinstance(name, list):
            found.append(show_as(taxonomy, name, by))
        else:
            node = taxonomy.nodes[taxonomy.id_of(name)]
            found.append((None if by == "name" else getattr(terms.get(node), by, None)) or node)
    return found


def check_shown_as(by: object) -> None:
    """Raise LabelError unless nodes can be shown by this.

    >>> check_shown_as("title")
    Traceback (most recent call last):
    ...
    taxolearn.errors.LabelError: nodes are shown by name, label, notation or id, not 'title'
    """
    if by not in SHOWN_AS:
        raise LabelError(f"nodes are shown by {', '.join(SHOWN_AS[:-1])} or {SHOWN_AS[-1]}, not {show(by)}")


def find(taxonomy: Taxonomy, text: Hashable) -> tuple[Hashable, ...]:
    """The nodes that a text may mean: of that name, else of that label, notation or id, else of that synonym.

    >>> from taxolearn.structure import Taxonomy
    >>> from taxolearn.structure.terms import Term
    >>> tree = Taxonomy.from_paths(["A/A1", "A/A2"])
    >>> tree = tree.with_terms({"A1": Term("Cat", synonyms=("Puss",)), "A2": Term("Dog", notation="1.2")})
    >>> tree.find("Puss"), tree.find("1.2"), tree.find("Emu")
    (('A1',), ('A2',), ())
    """
    if text in taxonomy:
        return (text,)
    if taxonomy._called is None:
        object.__setattr__(taxonomy, "_called", _by_text(taxonomy.terms))
    assert taxonomy._called is not None
    return taxonomy._called.get(text, ())


def hint_at(taxonomy: Taxonomy, name: object, otherwise: str = "") -> str:
    """The end of an "unknown name" message: the node of that label, or the nearest names, or what else to do.

    >>> from taxolearn.structure import Taxonomy
    >>> Taxonomy.from_paths(["A/A1"]).with_terms({"A1": "Cat"}).hint_at("Cat")
    "; the node 'A1' is called so: give its name, or read the taxonomy with names='label'"
    """
    found = taxonomy.find(name) if isinstance(name, str) else ()
    if found:
        meant = " or ".join(map(show, found[:3]))
        return f"; the node {meant} is called so: give its name, or read the taxonomy with names='label'"
    return hint(name, taxonomy.nodes, otherwise)


def _by_text(terms: Mapping[Hashable, Term]) -> dict[Hashable, tuple[Hashable, ...]]:
    """Text -> names of the nodes that it may mean."""
    called: dict[Hashable, dict[Hashable, None]] = {}
    also: dict[Hashable, dict[Hashable, None]] = {}
    for name, term in terms.items():
        for text in (term.label, term.notation, term.id):
            if text is not None:
                called.setdefault(text, {})[name] = None
        for text in term.synonyms:
            also.setdefault(text, {})[name] = None
    return {text: tuple(names) for text, names in (also | called).items()}
