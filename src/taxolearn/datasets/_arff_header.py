"""The declarations of an ARFF file: its attributes and, for Clus, the hierarchy of the class attribute."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from taxolearn.datasets._arff_text import split_name, split_values
from taxolearn.datasets._files import PathLike, quoted
from taxolearn.datasets._names import build
from taxolearn.errors import FileFormatError

if TYPE_CHECKING:
    from taxolearn.structure import Taxonomy

ROOT = "root"  # what Clus calls the root of a DAG

_DECLARATION = re.compile(r"@([A-Za-z]+)(.*)", re.DOTALL)
_KINDS = {"numeric": "numeric", "real": "numeric", "integer": "numeric", "string": "string", "key": "key"}


@dataclass(frozen=True)
class Attribute:
    """A declared column; its kind is numeric, nominal (with its values), string, key or class."""

    name: str
    kind: str
    values: tuple[str, ...] = ()


@dataclass
class Header:
    """What stands before @data; `attributes` by name, in order."""

    relation: str = ""
    attributes: dict[str, Attribute] = field(default_factory=dict)
    taxonomy: Taxonomy | None = None


def read_header(path: PathLike, lines: Iterator[tuple[int, str]], hierarchy: str) -> Header:
    """Read up to and including @data."""
    header = Header()
    line = 0
    for line, text in lines:
        text = text.strip()
        if not text or text.startswith("%"):
            continue
        found = _DECLARATION.match(text)
        keyword = found[1].lower() if found else ""
        rest = found[2].strip() if found else ""
        if keyword == "data":
            break
        if keyword == "relation":
            header.relation = split_name(rest)[0]
        elif keyword == "attribute":
            _read_attribute(path, line, rest, header, hierarchy)
        else:
            raise FileFormatError(
                path, line, f"expected @relation, @attribute or @data, found {quoted(text)}"
            )
    else:
        raise FileFormatError(path, line, "expected @data, found the end of the file")
    if header.taxonomy is None:
        raise FileFormatError(
            path, line, "expected an attribute of type hierarchical before @data, found none"
        )
    return header


def _read_attribute(path: PathLike, line: int, text: str, header: Header, hierarchy: str) -> None:
    name, declared = split_name(text)
    if not name or not declared:
        raise FileFormatError(
            path, line, f"expected @attribute name type, found {quoted('@attribute ' + text)}"
        )
    if name in header.attributes:
        raise FileFormatError(path, line, f"expected a new attribute name, found {quoted(name)} again")
    kind = declared.split(None, 1)[0].lower()
    if kind in _KINDS:
        attribute = Attribute(name, _KINDS[kind])
        if kind == "string" and attribute.kind in (other.kind for other in header.attributes.values()):
            raise FileFormatError(path, line, "expected one attribute of type string, found a second one")
    elif kind == "hierarchical":
        if header.taxonomy is not None:
            raise FileFormatError(
                path, line, "expected one attribute of type hierarchical, found a second one"
            )
        header.taxonomy = _read_hierarchy(path, line, declared[len(kind) :], hierarchy)
        attribute = Attribute(name, "class")
    elif declared.startswith("{") and declared.endswith("}"):
        values = tuple(split_values(path, line, declared[1:-1]))
        if len(set(values)) < len(values) or "" in values:
            raise FileFormatError(
                path, line, f"expected different values that are not empty, found {quoted(declared)}"
            )
        attribute = Attribute(name, "nominal", values)
    else:
        expected = "numeric, string, key, hierarchical or {values}"
        raise FileFormatError(path, line, f"expected {expected} as type, found {quoted(declared)}")
    header.attributes[name] = attribute


def _read_hierarchy(path: PathLike, line: int, text: str, hierarchy: str) -> Taxonomy:
    from taxolearn.structure import Taxonomy

    entries = [entry.split("/") for entry in split_values(path, line, text)]
    is_tree = hierarchy == "tree" or (hierarchy == "auto" and not any(entry[0] == ROOT for entry in entries))
    edges: dict[tuple[str, str], None] = {}
    for parts in entries:
        if not all(parts) or (len(parts) != 2 and not is_tree):
            expected = "a path of names" if is_tree else "parent/child"
            raise FileFormatError(
                path, line, f"expected {expected} in the hierarchy, found {quoted('/'.join(parts))}"
            )
        if is_tree:
            # A class is called by its whole path: 01/02 and 03/02 are two classes.
            edges.update(
                dict.fromkeys(pairwise([ROOT, *("/".join(parts[:k]) for k in range(1, len(parts) + 1))]))
            )
        elif (edge := (parts[0], parts[1])) in edges:
            raise FileFormatError(
                path, line, f"expected each edge once, found {quoted('/'.join(parts))} twice"
            )
        else:
            edges[edge] = None
    return build(path, line, Taxonomy.from_edges, list(edges))
