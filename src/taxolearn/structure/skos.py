"""SKOS vocabularies in and out: Turtle, RDF/XML, JSON-LD and what else pyoxigraph reads.

The functions become methods of Taxonomy.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote
from xml.parsers import expat

from taxolearn.errors import DataError, FileFormatError, LabelError
from taxolearn.opening import BOM, PathLike, plain_suffix, quoted, reading, writing
from taxolearn.structure.assembly import ARTIFICIAL_ROOT
from taxolearn.structure.names import hint, show
from taxolearn.structure.skos_labels import Labels
from taxolearn.structure.terms import Term
from taxolearn.structure.vocabulary import Vocabulary

if TYPE_CHECKING:
    from taxolearn.structure.taxonomy import Taxonomy

_SKOS = "http://www.w3.org/2004/02/skos/core#"
_XL = "http://www.w3.org/2008/05/skos-xl#"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_DEPRECATED = "http://www.w3.org/2002/07/owl#deprecated"
_IS_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+")
_DEFAULT_PREFIX = "urn:taxonomy:"
# suffix -> name of the format in pyoxigraph
_FORMATS = {
    ".ttl": "TURTLE",
    ".turtle": "TURTLE",
    ".rdf": "RDF_XML",
    ".xml": "RDF_XML",
    ".owl": "RDF_XML",
    ".jsonld": "JSON_LD",
    ".json": "JSON_LD",
    ".nt": "N_TRIPLES",
    ".nq": "N_QUADS",
    ".trig": "TRIG",
    ".n3": "N3",
}
_ABOVE = {_SKOS + "broader", _SKOS + "narrower"}
_SCHEMES = {_SKOS + "inScheme", _SKOS + "topConceptOf", _SKOS + "hasTopConcept"}
SUFFIXES = frozenset(_FORMATS)


def from_skos(
    cls: type[Taxonomy],
    path: PathLike,
    *,
    language: str | None = None,
    scheme: str | Iterable[str] | None = None,
    deprecated: bool = False,
    names: str = "id",
    prefix: str = "",
    root: Hashable | None = None,
) -> Taxonomy:
    """A taxonomy from a SKOS file: Turtle, RDF/XML, JSON-LD, N-Triples, ... by its suffix, compressed or not.

    Edges are skos:broader and the inverse of skos:narrower, without those that longer ways imply. Concepts
    without a broader one are the tops. Labels, synonyms (altLabel), definitions and notations are in `terms`.
    Needs pyoxigraph: `pip install 'taxolearn[skos]'`.

    Parameters
    ----------
    path : str or path
    language : str, optional
        Of labels, synonyms and definitions, as "en"; else those without a language, English, or the first.
        A concept without a label in that language has one of these.
    scheme : str or list of str, optional
        Concepts of these schemes only, by inScheme and top concepts; by default all.
    deprecated : bool
        Whether to keep what is owl:deprecated. What was below a concept left out hangs on what was above it.
    names : "id", "label" or "notation"
        What nodes are called: their IRI, or their label or notation, where each has its own.
    prefix : str
        Cut off from ids, so that they are short.
    root : optional
        What to call the artificial root above several top concepts.

    >>> import tempfile, pathlib
    >>> from taxolearn.structure import Taxonomy
    >>> text = '''@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix : <http://pets.org/> .
    ... :pet a skos:Concept ; skos:prefLabel "Pet"@en . :cat a skos:Concept ; skos:broader :pet ;
    ... skos:prefLabel "Cat"@en, "Katze"@de ; skos:altLabel "Puss"@en .'''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.ttl")
    ...     _ = path.write_text(text)
    ...     pets = Taxonomy.from_skos(path, prefix="http://pets.org/")
    ...     Taxonomy.from_skos(path, language="de", names="label").leaves
    ('Katze',)
    >>> pets.edges, pets.terms["cat"]
    ((('pet', 'cat'),), Term(label='Cat', notation=None, synonyms=('Puss',), definition=None, id=None))
    """
    found = _read(path, language)
    wanted = _schemes(path, scheme, found)
    vocabulary = Vocabulary(path, found.terms(), found.parents)
    dropped = set() if deprecated else set(found.deprecated)
    if wanted is not None:
        everything = set(vocabulary.terms).union(found.parents, *found.parents.values())
        dropped |= {concept for concept in everything if not wanted & found.schemes.get(concept, set())}
    vocabulary.leave_out(dropped)
    if not vocabulary.terms:
        left = " once deprecated ones and those of other schemes are left out" if found.order else ""
        raise FileFormatError(path, None, f"expected concepts (skos:Concept), found none{left}")
    if prefix:
        vocabulary = _shortened(vocabulary, prefix)
    return vocabulary.build(cls, names, root)


class _Found:
    """What the triples of a file say."""

    def __init__(self, path: PathLike, language: str | None) -> None:
        self.path = path
        self.order: dict[str, None] = {}  # concepts in the order of the file
        self.parents: dict[str, dict[str, None]] = {}
        self.schemes: dict[str, set[str]] = {}
        self.scheme_names: dict[str, None] = {}
        self.deprecated: dict[str, None] = {}
        self.labels = Labels(language)
        self._xl: list[tuple[str, str, str]] = []
        self._forms: dict[str, Any] = {}

    def take(self, subject: str, predicate: str, value: Any, is_text: bool) -> None:
        """One triple; those about other things are passed over."""
        if predicate == _TYPE:
            if value.value == _SKOS + "Concept":
                self._concept(subject)
            elif value.value == _SKOS + "ConceptScheme":
                self.scheme_names[subject] = None
        elif predicate == _DEPRECATED:
            if value.value in ("true", "1"):
                self.deprecated[subject] = None
        elif predicate.startswith(_SKOS):
            self._take_skos(subject, predicate, value, is_text)
        elif predicate.startswith(_XL):
            word = predicate.removeprefix(_XL)
            if word == "literalForm":
                self._forms[subject] = value
            elif word in ("prefLabel", "altLabel") and not is_text:
                self._xl.append((subject, word, name_of(value)))

    def _take_skos(self, subject: str, predicate: str, value: Any, is_text: bool) -> None:
        if predicate in _ABOVE or predicate in _SCHEMES:
            if is_text:
                told = f"{predicate.removeprefix(_SKOS)} of {show(subject)} is the text {quoted(value.value)}"
                raise FileFormatError(self.path, None, f"{told}; expected a resource")
            self._take_link(subject, predicate.removeprefix(_SKOS), name_of(value))
        elif is_text:
            self.labels.add(subject, predicate.removeprefix(_SKOS), value)

    def _take_link(self, subject: str, word: str, other: str) -> None:
        if word in ("broader", "narrower"):
            child, parent = (subject, other) if word == "broader" else (other, subject)
            self._concept(subject)
            self._check_name(other)
            self.parents.setdefault(child, {})[parent] = None
        else:
            concept, scheme = (other, subject) if word == "hasTopConcept" else (subject, other)
            self.scheme_names[scheme] = None
            self.schemes.setdefault(concept, set()).add(scheme)
            if word != "inScheme":  # collections are in schemes, too
                self._concept(concept)

    def _concept(self, name: str) -> None:
        self._check_name(name)
        self.order[name] = None

    def _check_name(self, name: str) -> None:
        if name.startswith("_:"):
            raise FileFormatError(self.path, None, "expected an IRI for each concept, found one without")

    def terms(self) -> dict[str, Term]:
        """The concepts with all they are called."""
        for subject, word, label in self._xl:
            if label in self._forms:
                self.labels.add(subject, word, self._forms[label])
        for child, parents in self.parents.items():
            for name in (child, *parents):  # what has a broader or a narrower one is a concept, typed or not
                if name not in self.order and self.labels.has(name):
                    self._concept(name)
        return {concept: self.labels.term(concept) for concept in self.order}


def name_of(value: Any) -> str:
    """An IRI as it is, a blank node marked as such."""
    return value.value if type(value).__name__ == "NamedNode" else f"_:{value.value}"


def _read(path: PathLike, language: str | None) -> _Found:
    oxigraph = _pyoxigraph()
    found = _Found(path, language)
    for subject, predicate, value in _triples(path, oxigraph):
        if not isinstance(subject, oxigraph.NamedNode | oxigraph.BlankNode):
            continue  # a quoted triple
        found.take(name_of(subject), predicate.value, value, isinstance(value, oxigraph.Literal))
    found.labels.check_language(path)
    return found


def _pyoxigraph() -> Any:
    try:
        import pyoxigraph
    except ImportError:
        raise DataError("SKOS files need pyoxigraph; pip install 'taxolearn[skos]'") from None
    return pyoxigraph


def _triples(path: PathLike, oxigraph: Any) -> Iterator[tuple[Any, Any, Any]]:
    """All triples, whichever graph they are in; what is no RDF is an error with its line."""
    format_name = _FORMATS.get(plain_suffix(path))
    if format_name is None:
        known = ", ".join(sorted(_FORMATS))
        raise FileFormatError(path, None, f"expected a SKOS file, its name ending in one of {known}")
    with reading(path) as stream:
        raw = stream.read().removeprefix(BOM)
    if not raw.strip():
        raise FileFormatError(path, None, "the file is empty")
    base = f"file:///{quote(Path(path).name)}"  # of relative IRIs in a file that names no base
    try:
        quads = oxigraph.parse(raw, getattr(oxigraph.RdfFormat, format_name), base_iri=base)
        for quad in quads:
            yield quad.subject, quad.predicate, quad.object
    except (SyntaxError, ValueError, OSError) as error:
        raise _broken(path, format_name, raw, error) from None


def _broken(path: PathLike, format_name: str, raw: bytes, error: Exception) -> FileFormatError:
    told = str(error.args[0]) if error.args else str(error)
    if "LoadDocumentCallback" in told:
        told = "its @context is at an address, and nothing is fetched; put the context into the file"
    told = re.sub(r"^Parser error at line [^:]*: ", "", told)
    line = getattr(error, "lineno", None)
    if line is None and format_name == "RDF_XML":
        line = _xml_line(raw)
    kind = format_name.replace("_", "/" if format_name == "RDF_XML" else "-")
    return FileFormatError(path, line, f"expected {kind}: {told}")


def _xml_line(raw: bytes) -> int | None:
    try:
        expat.ParserCreate().Parse(raw, True)
    except expat.ExpatError as error:
        return error.lineno
    return None


def _schemes(path: PathLike, asked: str | Iterable[str] | None, found: _Found) -> set[str] | None:
    if asked is None:
        return None
    wanted = {asked} if isinstance(asked, str) else set(asked)
    for name in sorted(wanted):
        if name not in found.scheme_names:
            there = ", ".join(map(show, list(found.scheme_names)[:5])) or "none"
            told = hint(name, found.scheme_names, f"the file has {there}")
            raise FileFormatError(
                path, None, f"expected the scheme {show(name)}, found none of that name{told}"
            )
    return wanted


def _shortened(vocabulary: Vocabulary, prefix: str) -> Vocabulary:
    def short(name: str) -> str:
        rest = name.removeprefix(prefix)
        return unquote(rest) if rest and rest != name else name

    parents = {
        short(child): {short(parent): None for parent in parents}
        for child, parents in vocabulary.parents.items()
    }
    terms = {short(name): term for name, term in vocabulary.terms.items()}
    if len(terms) < len(vocabulary.terms):
        raise FileFormatError(
            vocabulary.path, None, f"two concepts have one id without the prefix {show(prefix)}"
        )
    return Vocabulary(vocabulary.path, terms, parents)


def to_skos(
    taxonomy: Taxonomy,
    path: PathLike,
    *,
    prefix: str = _DEFAULT_PREFIX,
    scheme: str | None = None,
    language: str | None = None,
) -> None:
    """Write a SKOS file, Turtle, RDF/XML, JSON-LD, ... by its suffix, that `from_skos` reads.

    A name that is no IRI is written after `prefix`; `from_skos` with that prefix gives it back. The tops are
    the top concepts of one scheme, called `scheme` or after the prefix. Needs pyoxigraph.

    >>> import tempfile, pathlib
    >>> from taxolearn.structure import Taxonomy
    >>> pets = Taxonomy.from_paths(["Pet/House cat", "Pet/Dog"]).with_terms({"Dog": "A dog"})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.ttl")
    ...     pets.to_skos(path, prefix="http://pets.org/")
    ...     again = Taxonomy.from_skos(path, prefix="http://pets.org/")
    >>> again == pets, again.terms["Dog"].label
    (True, 'A dog')
    """
    oxigraph = _pyoxigraph()
    format_name = _FORMATS.get(plain_suffix(path))
    if format_name is None:
        raise DataError(f"{path}: the name does not tell the format; let it end in .ttl, .rdf or .jsonld")
    format = getattr(oxigraph.RdfFormat, format_name)
    triples = [oxigraph.Triple(*parts) for parts in _written(taxonomy, oxigraph, prefix, scheme, language)]
    prefixes = {"skos": _SKOS} if format_name in ("TURTLE", "TRIG", "RDF_XML", "N3") else None
    raw = oxigraph.serialize(triples, format=format, prefixes=prefixes)
    with writing(path) as stream:
        stream.write(raw.decode())


def _written(
    taxonomy: Taxonomy, oxigraph: Any, prefix: str, scheme: str | None, language: str | None
) -> Iterator[tuple[Any, Any, Any]]:
    def skos(word: str) -> Any:
        return oxigraph.NamedNode(_SKOS + word)

    def text(value: str) -> Any:
        return oxigraph.Literal(value, language=language)

    kind = oxigraph.NamedNode(_TYPE)
    whole = _node(oxigraph, scheme if scheme is not None else f"{prefix}scheme", prefix)
    yield whole, kind, skos("ConceptScheme")
    artificial = taxonomy.root == ARTIFICIAL_ROOT
    iris = _iris(taxonomy, oxigraph, prefix)
    for node, name in enumerate(taxonomy.nodes):
        if artificial and not node:
            continue
        concept, term = iris[node], taxonomy.terms.get(name, Term())
        yield concept, kind, skos("Concept")
        yield concept, skos("inScheme"), whole
        if term.label is not None:
            yield concept, skos("prefLabel"), text(term.label)
        for synonym in term.synonyms:
            yield concept, skos("altLabel"), text(synonym)
        if term.notation is not None:
            yield concept, skos("notation"), oxigraph.Literal(term.notation)
        if term.definition is not None:
            yield concept, skos("definition"), text(term.definition)
        above = taxonomy.parent_indices[taxonomy.parent_indptr[node] : taxonomy.parent_indptr[node + 1]]
        for parent in above.tolist():
            if artificial and not parent:
                yield concept, skos("topConceptOf"), whole
            else:
                yield concept, skos("broader"), iris[parent]
        if not len(above):
            yield concept, skos("topConceptOf"), whole


def _iris(taxonomy: Taxonomy, oxigraph: Any, prefix: str) -> list[Any]:
    nodes: dict[Any, Hashable] = {}
    for name in taxonomy.nodes:
        iri = _node(oxigraph, name, prefix)
        if nodes.setdefault(iri, name) != name:
            raise LabelError(
                f"the names {show(nodes[iri])} and {show(name)} would be one in a SKOS file; rename one"
            )
    return list(nodes)


def _node(oxigraph: Any, name: Hashable, prefix: str) -> Any:
    text = str(name)
    known = _IS_IRI.fullmatch(text) and ("://" in text or text.startswith("urn:"))
    try:
        return oxigraph.NamedNode(text if known else prefix + quote(text, safe=""))
    except ValueError as error:
        raise LabelError(f"the name {show(name)} cannot be an IRI after {show(prefix)} ({error})") from None
