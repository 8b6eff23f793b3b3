"""MeSH: its tree numbers, its records and its XML; `from_mesh` becomes a classmethod of Taxonomy."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from taxolearn.errors import FileFormatError
from taxolearn.opening import PathLike, plain_suffix, quoted, read_text, reading
from taxolearn.structure.terms import Term
from taxolearn.structure.vocabulary import Vocabulary

if TYPE_CHECKING:
    from taxolearn.structure.taxonomy import Taxonomy

_RECORD = "*NEWRECORD"
_TREE_LINE = re.compile(r"(.+);([A-Z]\d\d(?:\.\d{2,3})*)")
_HEAD_BYTES = 4096  # in which a file of XML says what it is


def from_mesh(
    cls: type[Taxonomy], path: PathLike, *, names: str = "id", root: Hashable | None = None
) -> Taxonomy:
    """A taxonomy from the files of MeSH: mtrees*.bin ("Eye;A01.456.505.420" lines), d*.bin (records) or desc*.xml.

    A descriptor is one node, below the descriptors of all its tree numbers with the last part cut off: a DAG.
    Nodes are called by heading in mtrees*.bin, by id ("D005123") elsewhere; the least tree number is the notation,
    and records have synonyms (entry terms) and definitions (scope notes), too.

    >>> import tempfile, pathlib
    >>> from taxolearn.structure import Taxonomy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "mtrees2026.bin")
    ...     _ = path.write_text("Face;A01.505\\nSense Organs;A09\\nEye;A01.505.420\\nEye;A09.371\\n")
    ...     Taxonomy.from_mesh(path).parents("Eye")
    ('Face', 'Sense Organs')
    """
    if is_mesh_xml(path):
        records = list(_mesh_xml(path))
    else:
        text = read_text(path)
        records = list(_mesh_records(path, text) if _RECORD in text[:1000] else _mesh_lines(path, text))
    if not records:
        raise FileFormatError(path, None, "expected descriptors with tree numbers, found none")
    vocabulary = Vocabulary(path, {})
    owner: dict[str, str] = {}
    for line, name, term, numbers in records:
        if name not in vocabulary.terms:
            vocabulary.terms[name] = term
        for number in numbers:
            if owner.setdefault(number, name) != name:
                raise FileFormatError(
                    path,
                    line,
                    f"expected each tree number once, found {number} of {quoted(owner[number])} again",
                )
    for number, name in sorted(owner.items(), reverse=True):
        vocabulary.terms[name] = vocabulary.terms[name]._replace(notation=number)  # the least one, in the end
        above = number.rpartition(".")[0]
        while above and above not in owner:  # numbers without a descriptor of their own
            above = above.rpartition(".")[0]
        if above and owner[above] != name:
            vocabulary.add_parent(name, owner[above])
    return vocabulary.build(cls, names, root)


_Descriptor = tuple[int, str, Term, list[str]]


def _mesh_lines(path: PathLike, text: str) -> Iterator[_Descriptor]:
    for line, row in enumerate(text.splitlines(), 1):
        if not row.strip():
            continue
        found = _TREE_LINE.fullmatch(row.strip())
        if not found:
            raise FileFormatError(path, line, f"expected 'heading;tree number', found {quoted(row)}")
        yield line, found[1].strip(), Term(), [found[2]]


def _mesh_records(path: PathLike, text: str) -> Iterator[_Descriptor]:
    """Descriptors of the ASCII file; those without tree numbers (check tags) are no classes."""
    entries: dict[str, list[str]] = {}
    start = 1
    for line, row in enumerate([*text.splitlines(), _RECORD], 1):
        if row.strip() == _RECORD:
            if entries.get("MN"):
                if "MH" not in entries or "UI" not in entries:
                    raise FileFormatError(path, start, "expected MH and UI in a record, found one without")
                synonyms = [
                    entry.split("|")[0] for key in ("PRINT ENTRY", "ENTRY") for entry in entries.get(key, ())
                ]
                term = Term(
                    entries["MH"][0],
                    None,
                    tuple(dict.fromkeys(synonyms)),
                    entries.get("MS", [None])[0],
                )
                yield start, entries["UI"][0], term, entries["MN"]
            entries, start = {}, line
        elif row.strip():
            key, equals, value = row.partition(" = ")
            if not equals:
                raise FileFormatError(path, line, f"expected 'KEY = value', found {quoted(row)}")
            entries.setdefault(key.strip(), []).append(value.strip())


def _mesh_xml(path: PathLike) -> Iterator[_Descriptor]:
    """Descriptors of the XML file, one at a time: the file has 300 MB."""
    with reading(path) as stream:
        try:
            for _, record in ElementTree.iterparse(stream):
                if record.tag != "DescriptorRecord":
                    continue
                numbers = [found.text or "" for found in record.iterfind("TreeNumberList/TreeNumber")]
                name, label = record.findtext("DescriptorUI"), record.findtext("DescriptorName/String")
                if not name or not label:
                    raise FileFormatError(
                        path, None, "expected a DescriptorUI and a DescriptorName in each record"
                    )
                terms = (found.text for found in record.iterfind("ConceptList/Concept/TermList/Term/String"))
                synonyms = dict.fromkeys(text for text in terms if text and text != label)
                note = record.findtext("ConceptList/Concept[@PreferredConceptYN='Y']/ScopeNote")
                if numbers:
                    yield 0, name, Term(label, None, tuple(synonyms), note.strip() if note else None), numbers
                record.clear()
        except ElementTree.ParseError as error:
            raise FileFormatError(path, error.position[0], f"expected XML: {error.msg}") from None


def is_mesh_xml(path: PathLike) -> bool:
    """Whether an .xml file is one of MeSH, by its beginning.

    >>> is_mesh_xml("desc2026.obo")
    False
    """
    if plain_suffix(path) != ".xml":
        return False
    with reading(path) as stream:
        return b"<DescriptorRecordSet" in stream.read(_HEAD_BYTES)


def is_mesh(path: PathLike) -> bool:
    """Whether a file is one of MeSH.

    >>> is_mesh("mtrees2026.bin")
    True
    """
    return plain_suffix(path) == ".bin" or is_mesh_xml(path)
