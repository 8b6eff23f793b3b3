"""OBO ontologies: OBO text by fastobo, OBO graphs in JSON.

The function becomes a classmethod of Taxonomy.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from taxolearn.errors import DataError, FileFormatError
from taxolearn.opening import PathLike, plain_suffix, quoted, read_text
from taxolearn.structure.names import show
from taxolearn.structure.terms import Term
from taxolearn.structure.vocabulary import Vocabulary

if TYPE_CHECKING:
    from taxolearn.structure.taxonomy import Taxonomy

_OBO_IRI = re.compile(r"http://purl\.obolibrary\.org/obo/([A-Za-z_]+)_(\w+)")
_PART_OF = {"part_of", "BFO:0000050"}


class _Entry(NamedTuple):
    """One term of an ontology; without a `term` it is only mentioned."""

    id: str
    term: Term | None
    obsolete: bool
    parents: tuple[str, ...] = ()


def from_obo(
    cls: type[Taxonomy],
    path: PathLike,
    *,
    part_of: bool = False,
    obsolete: bool = False,
    names: str = "id",
    root: Hashable | None = None,
) -> Taxonomy:
    """A taxonomy from an ontology: OBO text, or an OBO graph (.json), compressed or not.

    Edges are is_a, without those that longer ways imply. Names, synonyms and definitions are in `terms`.
    OBO text needs fastobo: `pip install 'taxolearn[obo]'`.

    Parameters
    ----------
    path : str or path
    part_of : bool
        Whether a term is also below what it is part of.
    obsolete : bool
        Whether to keep obsolete terms.
    names : "id", "label"
        What nodes are called: "GO:0008150", or the term's name, where each has its own.
    root : optional
        What to call the artificial root above several roots.

    >>> import tempfile, pathlib
    >>> from taxolearn.structure import Taxonomy
    >>> text = '''format-version: 1.4
    ...
    ... [Term]
    ... id: P:1
    ... name: pet
    ...
    ... [Term]
    ... id: P:2
    ... name: cat
    ... synonym: "puss" EXACT []
    ... is_a: P:1 ! pet
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.obo")
    ...     _ = path.write_text(text)
    ...     pets = Taxonomy.from_obo(path)
    >>> pets.edges, pets.terms["P:2"].synonyms
    ((('P:1', 'P:2'),), ('puss',))
    """
    text = read_text(path)
    if not text.strip():
        raise FileFormatError(path, None, "the file is empty")
    read = _graph_entries if plain_suffix(path) == ".json" else _text_entries
    vocabulary = Vocabulary(path, {})
    dropped = set()
    for entry in read(path, text, part_of):
        for parent in entry.parents:
            vocabulary.add_parent(entry.id, parent)
        if entry.term is None:
            continue
        if entry.id in vocabulary.terms:
            line = _second_line(text, entry.id)
            raise FileFormatError(path, line, f"expected each term once, found {show(entry.id)} again")
        vocabulary.terms[entry.id] = entry.term
        if entry.obsolete and not obsolete:
            dropped.add(entry.id)
    vocabulary.leave_out(dropped)
    if not vocabulary.terms:
        left = " that is not obsolete" if dropped else ""
        raise FileFormatError(path, None, f"expected terms ([Term] with an id), found none{left}")
    return vocabulary.build(cls, names, root)


def _second_line(text: str, name: str) -> int | None:
    found = list(re.finditer(rf"^id:\s*{re.escape(name)}\s*(!.*)?$", text, re.MULTILINE))
    return text.count("\n", 0, found[1].start()) + 1 if len(found) > 1 else None


def _text_entries(path: PathLike, text: str, part_of: bool) -> Iterator[_Entry]:
    try:
        import fastobo
    except ImportError:
        raise DataError("OBO files need fastobo; pip install 'taxolearn[obo]'") from None
    try:
        document = fastobo.load(io.BytesIO(text.encode()), ordered=True, threads=1)
        frames = [frame for frame in document if isinstance(frame, fastobo.term.TermFrame)]
    except SyntaxError as error:
        found = f", found {quoted(error.text.rstrip(chr(0x240A)))}" if error.text else ""
        raise FileFormatError(path, error.lineno, f"{error.args[0]}{found}") from None
    except (ValueError, OSError) as error:
        raise FileFormatError(path, None, f"expected OBO text: {error}") from None
    for frame in frames:
        yield _entry_of(frame, part_of)


def _entry_of(frame: Any, part_of: bool) -> _Entry:
    label = definition = None
    synonyms: list[str] = []
    parents: list[str] = []
    obsolete = False
    for clause in frame:
        tag = clause.raw_tag()
        if tag == "name":
            label = clause.name.strip()
        elif tag == "def":
            definition = str(clause.definition).strip()
        elif tag == "synonym":
            synonyms.append(clause.synonym.desc)
        elif tag == "is_a" or (part_of and tag == "relationship" and str(clause.typedef) in _PART_OF):
            parents.append(_short(str(clause.term)))
        elif tag == "is_obsolete":
            obsolete = clause.obsolete
    term = Term(label or None, None, tuple(dict.fromkeys(synonyms)), definition or None)
    return _Entry(_short(str(frame.id)), term, obsolete, tuple(parents))


def _short(iri: str) -> str:
    """GO:0008150 for its IRI: OBO text and graphs of one ontology have the same ids."""
    found = _OBO_IRI.fullmatch(iri)
    return f"{found[1]}:{found[2]}" if found else iri


def _graph_entries(path: PathLike, text: str, part_of: bool) -> Iterator[_Entry]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise FileFormatError(path, error.lineno, f"expected JSON: {error.msg}") from None
    except RecursionError:
        raise FileFormatError(path, None, "the JSON is nested too deep") from None
    graphs = _part(path, document, "graphs", list, "the file")
    if not graphs:
        raise FileFormatError(path, None, "expected a graph in 'graphs', found none")
    for graph in graphs:
        known = {"is_a"} | (_PART_OF if part_of else set())
        parents: dict[str, list[str]] = {}
        for edge in _part(path, graph, "edges", list, "a graph"):
            sub, pred, obj = (_part(path, edge, key, str, "an edge") for key in ("sub", "pred", "obj"))
            if _short(pred) in known:
                parents.setdefault(_short(sub), []).append(_short(obj))
        for node in _part(path, graph, "nodes", list, "a graph"):
            kind = _part(path, node, "type", str, "a node", missing=_kind_untold(node))
            if kind == "CLASS":  # without a type and a label: a mere mention
                yield _graph_entry(path, node)
        yield from (_Entry(name, None, False, tuple(above)) for name, above in parents.items())


def _kind_untold(node: Any) -> str:
    return "CLASS" if isinstance(node, dict) and node.get("lbl") else ""


def _graph_entry(path: PathLike, node: Any) -> _Entry:
    name = _short(_part(path, node, "id", str, "a node"))
    label = _part(path, node, "lbl", str, name, missing="")
    meta = _part(path, node, "meta", dict, name, missing={})
    definition = _part(path, meta, "definition", dict, name, missing={})
    synonyms = [
        _part(path, synonym, "val", str, f"a synonym of {name}")
        for synonym in _part(path, meta, "synonyms", list, name, missing=[])
    ]
    term = Term(
        label or None,
        None,
        tuple(dict.fromkeys(synonyms)),
        _part(path, definition, "val", str, name, missing="") or None,
    )
    obsolete = _part(path, meta, "deprecated", bool, name, missing=False)
    return _Entry(name, term, obsolete)


def _part(path: PathLike, of: Any, key: str, kind: type, what: str, missing: Any = ...) -> Any:
    """A value of an object in an OBO graph, which must be of that type; null is as good as none."""
    value = of.get(key) if isinstance(of, dict) else None
    if value is None and isinstance(of, dict) and missing is not ...:
        return missing
    if type(value) is not kind:
        expected = {str: "a text", list: "a list", dict: "an object", bool: "true or false"}[kind]
        raise FileFormatError(
            path, None, f"expected {expected} as {key!r} of {what}, found {quoted(repr(value))}"
        )
    return value
