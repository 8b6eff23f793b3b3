"""A taxonomy from any file that people have one in, by its suffix; becomes a classmethod of Taxonomy."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from taxolearn.errors import FileFormatError, TaxolearnError
from taxolearn.opening import PathLike, plain_suffix, read_text
from taxolearn.structure.coded_tables import coded_levels, from_coded_columns
from taxolearn.structure.mesh import is_mesh
from taxolearn.structure.outlines import read_outline
from taxolearn.structure.skos import SUFFIXES

if TYPE_CHECKING:
    from taxolearn.structure.taxonomy import Taxonomy

_TABLES = (".csv", ".tsv", ".tab")
_DELIMITERS = ",;\t"


def from_file(cls: type[Taxonomy], path: PathLike) -> Taxonomy:
    """A taxonomy from a published file, compressed or not, by its suffix and, for plain text, its look.

    - .ttl, .rdf, .jsonld, .nt, ...: SKOS (`from_skos`); .obo: an ontology (`from_obo`); .json: OBO graph or JSON-LD;
    - .bin, and .xml of descriptors: MeSH (`from_mesh`);
    - .csv, .tsv: tables of codes and titles (GS1, UNSPSC, NAICS) or of columns called "level...";
    - .txt: lines of `A > B > C` (Google, Shopify), or indented lines.

    Files of edges are read by `datasets.read_edges`.

    >>> import tempfile, pathlib
    >>> from taxolearn.structure import Taxonomy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "products.txt")
    ...     _ = path.write_text("# version 1\\n1 - Animals\\n2 - Animals > Cats\\n")
    ...     products = Taxonomy.from_file(path)
    >>> products.edges, products.find("2")
    ((('Animals', 'Cats'),), ('Cats',))
    """
    found = published(cls, path)
    if found is None:
        raise FileFormatError(
            path,
            None,
            "expected SKOS, OBO, MeSH, a table of levels, `A > B` or indented lines; see read_edges",
        )
    return found


def published(cls: type[Taxonomy], path: PathLike) -> Taxonomy | None:
    """What `from_file` returns, or None for a file that looks like one of edges."""
    suffix = plain_suffix(path)
    if suffix == ".obo" or (suffix == ".json" and _is_graph(path)):
        return cls.from_obo(path)
    if is_mesh(path):
        return cls.from_mesh(path)
    if suffix in SUFFIXES:
        return cls.from_skos(path)
    if suffix in _TABLES:
        return _table(cls, path)
    if suffix in (".txt", ".text", ".outline"):
        return read_outline(cls, path)
    return None


def _is_graph(path: PathLike) -> bool:
    """Whether JSON is an OBO graph; what is broken is left to the reader, which says where."""
    try:
        document = json.loads(read_text(path))
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and "graphs" in document


def _table(cls: type[Taxonomy], path: PathLike) -> Taxonomy | None:
    text = read_text(path)
    header = text.partition("\n")[0]
    delimiter = "\t" if plain_suffix(path) != ".csv" else max(_DELIMITERS, key=header.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        names = [name.strip() for name in next(rows, [])]
    except csv.Error:
        return None  # not even a header
    levels = coded_levels(names)
    plain = [name for name in names if name.lower().startswith("level")]
    if not levels and len(plain) < 2:
        return None
    try:
        if len(set(names)) < len(names):
            raise FileFormatError(path, 1, "expected columns with names of their own, found one name twice")
        columns: dict[str, list[Any]] = {name: [] for name in names}
        for row in rows:
            if not row:
                continue
            if len(row) != len(names):
                told = f"expected {len(names)} cells as in the header, found {len(row)}"
                raise FileFormatError(path, rows.line_num, told)
            for name, cell in zip(names, row, strict=True):
                columns[name].append(cell.strip())
    except csv.Error as error:
        raise FileFormatError(path, rows.line_num, f"expected a table: {error}") from None
    try:
        if levels:
            return from_coded_columns(cls, columns, levels, None)
        return cls.from_paths(
            [_path(row) for row in zip(*(columns[name] for name in plain), strict=True)], repeated="path"
        )
    except TaxolearnError as error:
        raise FileFormatError(path, None, str(error)) from None


def _path(row: tuple[str, ...]) -> list[str]:
    return list(row[: max((place for place, cell in enumerate(row, 1) if cell), default=0)])
