"""ARFF files of Clus: features and a hierarchical class attribute, a tree or a DAG."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from taxolearn.datasets._arff_header import ROOT, read_header
from taxolearn.datasets._arff_rows import DataRows
from taxolearn.datasets._arff_text import quote
from taxolearn.datasets._files import PathLike, text_lines, writing
from taxolearn.datasets._names import name_texts
from taxolearn.datasets._numbers import features_of, number_texts, sparse_rows
from taxolearn.datasets.dataset import Dataset
from taxolearn.errors import DataError, FileFormatError, LabelError

if TYPE_CHECKING:
    from taxolearn.structure import Taxonomy

_HIERARCHIES = ("auto", "tree", "dag")
_IN_PATH = re.compile(r"[\s,@'\"{}?\0]|^/|//|/$")
_IN_EDGE = re.compile(r"[\s,@'\"{}?\0/]")


def read_arff(path: PathLike, *, hierarchy: str = "auto") -> Dataset:
    r"""Read a Clus ARFF file, whose class attribute is `hierarchical`.

    Labels are separated by `@`; a row whose class is `?` has none. A nominal attribute becomes one column per
    value, called `name=value`; an attribute of type string becomes the texts; keys are left out. A missing
    value (`?`) is nan. Rows may be dense (X is an array) or sparse `{position value, ...}` (X is a CSR
    array).

    Parameters
    ----------
    path : str or path
    hierarchy : {"auto", "tree", "dag"}
        How the class attribute lists the classes. "tree": paths such as `01/02/03`; a class is called by
        its whole path, and the root is called "root". "dag": edges `parent/child`. "auto": a DAG when an
        entry starts with `root/`, which is what Clus asks for, else a tree.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "genes.arff")
    ...     _ = path.write_text('''@relation genes
    ... @attribute size numeric
    ... @attribute arm {left, right}
    ... @attribute class hierarchical 01/01,01/02,02
    ... @data
    ... 1.5,right,01/01@02
    ... ?,left,01
    ... ''')
    ...     genes = read_arff(path)
    >>> genes
    Dataset('genes', 2 rows, 3 features, 3 labels, 1.50 a row, Taxonomy(tree, 5 nodes, 3 leaves, depth 2))
    >>> genes.feature_names, genes.X[0].tolist(), genes.y
    (('size', 'arm=left', 'arm=right'), [1.5, 0.0, 1.0], [['01/01', '02'], ['01']])
    """
    if hierarchy not in _HIERARCHIES:
        raise DataError(f"hierarchy must be one of {', '.join(_HIERARCHIES)}, found {hierarchy!r}")
    lines = text_lines(path)
    header = read_header(path, lines, hierarchy)
    rows = DataRows(path, header)
    for line, text in lines:
        text = text.strip()
        if text and not text.startswith("%"):
            rows.add(line, text)
    if not rows.labels:
        raise FileFormatError(path, None, "expected rows after @data, found none")
    has_text = any(attribute.kind == "string" for attribute in rows.attributes)
    has_features = bool(rows.feature_names) or not has_text
    return Dataset(
        rows.matrix() if has_features else None,
        rows.labels,
        header.taxonomy,
        rows.texts if has_text else None,
        tuple(rows.feature_names) if has_features else None,
        header.relation or Path(path).name,
    )


def write_arff(path: PathLike, dataset: Dataset) -> None:
    r"""Write what `read_arff` reads: dense rows for an array, sparse rows for a CSR array.

    A tree whose classes are called by their paths (`01/02` under `01`) is written as paths, everything else
    as edges, as for a DAG. Clus calls the root "root", whatever its name was.

    >>> import tempfile, pathlib
    >>> from taxolearn.structure import Taxonomy
    >>> tree = Taxonomy.from_edges([("Pet", "Cat"), ("Pet", "Dog")])
    >>> pets = Dataset(np.eye(2), [["Cat"], ["Dog", "Cat"]], tree)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.arff")
    ...     write_arff(path, pets)
    ...     print(path.read_text(), end="")
    @relation taxolearn
    @attribute x1 numeric
    @attribute x2 numeric
    @attribute class hierarchical Cat,Dog
    @data
    1.0,0.0,Cat
    0.0,1.0,Dog@Cat
    """
    if dataset.taxonomy is None:
        raise DataError("the dataset has no taxonomy; an ARFF file of Clus needs one")
    names, entries = _hierarchy_texts(dataset.taxonomy)
    try:
        label_texts = ["@".join([names[label] for label in labels]) or "?" for labels in dataset.label_rows()]
    except KeyError as error:
        raise LabelError(f"the label {error.args[0]!r} is not in the taxonomy") from error
    if not label_texts:
        raise DataError("the dataset has no rows; an ARFF file needs one at least")
    with writing(path) as stream:
        _write_header(stream, dataset, entries)
        for cells in _row_texts(dataset, label_texts):
            stream.write(cells + "\n")


def _hierarchy_texts(taxonomy: Taxonomy) -> tuple[dict[Any, str], list[str]]:
    """The text of each node, and the entries of the class attribute."""
    nodes, root = list(taxonomy.nodes), taxonomy.root
    if len(nodes) == 1:
        raise DataError("a taxonomy of one node has no classes to write")
    if ROOT in nodes and root != ROOT:
        raise LabelError(f"the node {ROOT!r} is not the root, but Clus calls the root so; rename it")
    if taxonomy.is_tree and all(_is_path(taxonomy, parent, child) for parent, child in taxonomy.edges):
        texts = name_texts((node for node in nodes if node != root), _IN_PATH, "the paths of an ARFF file")
        return {**texts, root: ROOT}, [texts[node] for node in nodes if node != root]
    texts = name_texts((node for node in nodes if node != root), _IN_EDGE, "the edges of an ARFF file")
    texts[root] = ROOT
    return texts, [f"{texts[parent]}/{texts[child]}" for parent, child in taxonomy.edges]


def _is_path(taxonomy: Taxonomy, parent: Any, child: Any) -> bool:
    """Whether `child` is called by its parent's path and one more name."""
    head, slash, _ = str(child).rpartition("/")
    return head == "" and not slash if parent == taxonomy.root else head == str(parent)


def _write_header(stream: IO[str], dataset: Dataset, entries: Sequence[str]) -> None:
    stream.write(f"@relation {quote(dataset.name or 'taxolearn')}\n")
    names = dataset.feature_names or tuple(f"x{k + 1}" for k in range(dataset.n_features))
    taken = set(names)
    if len(taken) < len(names) or "" in taken or any("\0" in name for name in names):
        raise DataError(
            "feature_names holds an empty name or a name twice; an ARFF file needs different names"
        )
    stream.writelines(f"@attribute {quote(name)} numeric\n" for name in names)
    if dataset.texts is not None:
        stream.write(f"@attribute {quote(_free_name('text', taken))} string\n")
    stream.write(f"@attribute {quote(_free_name('class', taken))} hierarchical {','.join(entries)}\n@data\n")


def _free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _row_texts(dataset: Dataset, label_texts: list[str]) -> Iterator[str]:
    X = np.empty((dataset.n_rows, 0)) if dataset.X is None else features_of(dataset, "an ARFF file")
    texts = (
        None if dataset.texts is None else [_text_cell(row, text) for row, text in enumerate(dataset.texts)]
    )
    if isinstance(X, np.ndarray):
        for row, label_text in enumerate(label_texts):
            cells = ["?" if value == "nan" else value for value in number_texts(X[row])]
            yield ",".join([*cells, *([texts[row]] if texts else []), label_text])
        return
    pairs = sparse_rows(dataset, "an ARFF file", first_index=0, between=" ", join=", ")
    for row, (pair_text, label_text) in enumerate(zip(pairs, label_texts, strict=True)):
        cells = [pair_text.replace("nan", "?")] if pair_text else []
        if texts:
            cells.append(f"{dataset.n_features} {texts[row]}")
        yield "{" + ", ".join([*cells, f"{dataset.n_features + (texts is not None)} {label_text}"]) + "}"


def _text_cell(row: int, text: str) -> str:
    if "\0" in text:
        raise DataError(f"row {row}: the text holds the character NUL, which an ARFF file cannot")
    return quote(text)
