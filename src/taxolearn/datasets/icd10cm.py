"""The demo data: short medical texts under the categories of ICD-10-CM, shipped with the package."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from taxolearn.datasets._files import PathLike, quoted, text_lines
from taxolearn.datasets._names import build
from taxolearn.datasets.dataset import Dataset
from taxolearn.errors import FileFormatError

if TYPE_CHECKING:
    from taxolearn.structure import Taxonomy

_FILE = ("data", "icd10cm.tsv.xz")
_PARTS = ("train", "test")
_VERSION = "1"
# What follows the first word of each kind of line.
_FIELDS = {"icd10cm": 2, "node": 3, "train": 2, "test": 2}
_REMEDY = "install taxolearn again"


@dataclass(frozen=True, repr=False, eq=False)
class Icd10cm:
    """What `load_icd10cm` returns.

    Parameters
    ----------
    train, test : Dataset
        The two sides of the fixed split, in `texts` and `y`; no text, compared without case, is on both.
    taxonomy : Taxonomy
        Chapters, blocks and, as leaves, the three-character categories that y names.
    titles : dict
        The title of each node.
    source : str
        The release that the texts come from.

    >>> from taxolearn.datasets import load_icd10cm
    >>> load_icd10cm().train
    Dataset('icd10cm train', 47,874 rows, texts, 1,918 single labels, \
Taxonomy(tree, 2238 nodes, 1918 leaves, depth 5))
    """

    train: Dataset
    test: Dataset
    taxonomy: Taxonomy
    titles: dict[str, str]
    source: str

    def __repr__(self) -> str:
        return (
            f"Icd10cm({self.train.n_rows:,} train texts, {self.test.n_rows:,} test texts, {self.taxonomy!r})"
        )


def load_icd10cm() -> Icd10cm:
    """Load 59,395 short medical texts, each with one of the 1,918 three-character categories of ICD-10-CM.

    The texts are the titles, inclusion terms and "includes" notes of the categories and of the codes below
    them. Every category has a training text: its title. Where the data come from, how they were made and on
    what terms they may be used is told by `ICD10CM.md` beside the data file.

    >>> icd = load_icd10cm()
    >>> icd
    Icd10cm(47,874 train texts, 11,521 test texts, Taxonomy(tree, 2238 nodes, 1918 leaves, depth 5))
    >>> icd.train.texts[:2], icd.train.y[:2]
    (['Cholera', 'Classical cholera'], ['A00', 'A00'])
    >>> for name in icd.taxonomy.path("S72"):
    ...     print(name, icd.titles[name], sep=": ")
    ICD-10-CM: International Classification of Diseases, Tenth Revision, Clinical Modification
    S00-T88: Injury, poisoning and certain other consequences of external causes
    S70-S79: Injuries to the hip and thigh
    S72: Fracture of femur
    """
    with resources.as_file(resources.files("taxolearn.datasets").joinpath(*_FILE)) as path:
        return _read(path)


def _read(path: PathLike) -> Icd10cm:
    """Read what `tools/build_icd10cm.py` writes."""
    from taxolearn.structure import Taxonomy

    source = ""
    titles: dict[str, str] = {}
    parents: dict[str, str | None] = {}
    texts: dict[str, list[str]] = {part: [] for part in _PARTS}
    labels: dict[str, list[str]] = {part: [] for part in _PARTS}
    first_line: dict[str, int] = {}
    for line, text in text_lines(path):
        kind, *fields = text.split("\t")
        if (line == 1) != (kind == "icd10cm") or _FIELDS.get(kind) != len(fields):
            message = f"expected a line of the ICD-10-CM data, found {quoted(text)}; {_REMEDY}"
            raise FileFormatError(path, line, message)
        if kind == "icd10cm":
            version, source = fields
            if version != _VERSION:
                message = f"expected format {_VERSION}, found {quoted(version)}; {_REMEDY}"
                raise FileFormatError(path, line, message)
        elif kind == "node":
            name, parent, title = fields
            parents[name] = parent or None
            titles[name] = title
        else:
            label, words = fields
            first_line.setdefault(label, line)
            labels[kind].append(label)
            texts[kind].append(words)
    taxonomy = build(path, None, Taxonomy.from_parents, parents)
    leaves = set(taxonomy.leaves)
    for label, line in first_line.items():
        if label not in leaves:
            message = f"expected a category, found {quoted(label)}; {_REMEDY}"
            raise FileFormatError(path, line, message)
    train, test = (
        Dataset(None, labels[part], taxonomy, texts=texts[part], name=f"icd10cm {part}") for part in _PARTS
    )
    return Icd10cm(train, test, taxonomy, titles, source)
