"""What is wrong with labelled rows and their taxonomy, all at once; and what of it can be put right safely."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from taxolearn.cli.labels import Columns, Path, TextRow, _node, text_rows, unknown_label
from taxolearn.cli.left_out import LeftOut
from taxolearn.cli.libsvm_rows import read_libsvm
from taxolearn.cli.rows import open_table
from taxolearn.cli.taxonomy_files import check_pairs, read_edges_file, taxonomy_of_edges, told_roots
from taxolearn.datasets._files import quoted
from taxolearn.errors import FileFormatError
from taxolearn.problem.label_paths import parts_of, separator_of

if TYPE_CHECKING:
    from taxolearn.cli.inputs import Source
    from taxolearn.structure import Taxonomy

_SHOWN = 60  # characters of a label in a finding
_ALIKE = 0.85  # how much two names have in common when one may be a typo of the other
_NEAREST = 5  # so many of the nearest labels are looked at
_RARE = 0.1  # rows of a name that may be a typo, as a share of those of the other
_MOST_NAMES = 5000  # names that are compared with each other


class Finding(NamedTuple):
    """One line of the report: what, in how many rows, the first line of them, and whether it can be fixed.

    >>> Finding("empty texts", 3, 7, True).rows
    3
    """

    what: str
    rows: int
    line: int | None
    fixed: bool = False


class Checked(NamedTuple):
    """The rows that can be read, the columns they have, what was found, and labels that a fix would rename.

    >>> Checked([], [], [], {}).renamed
    {}
    """

    rows: list[TextRow]
    names: list[str]
    findings: list[Finding]
    renamed: dict[Path, Path]


def check_taxonomy(path: str) -> tuple[Taxonomy | None, list[Finding]]:
    """The taxonomy of a file, as far as it can be read, and what is wrong with the file."""
    from taxolearn.structure import Taxonomy
    from taxolearn.structure.file_formats import published

    found = LeftOut()
    try:
        taxonomy = published(Taxonomy, path)
        if taxonomy is not None:
            return taxonomy, []
        edges = read_edges_file(path, found)
        check_pairs(edges, found, chains=not path.lower().endswith((".csv", ".tsv", ".tab")))
        taxonomy = taxonomy_of_edges(path, edges)
    except FileFormatError as error:
        return None, [*_grouped(found, path), Finding(f"{path}: {error.message}", 1, error.line)]
    notes = [Finding(f"{path}: {note}", 1, 1) for note in edges.notes]
    notes += [Finding(f"{path}: {note}", 1, None) for note in told_roots(taxonomy)]
    return taxonomy, [*_grouped(found, path), *notes]


def check_rows(source: Source, columns: Columns, taxonomy: Taxonomy | None) -> Checked:
    """Read all rows and note everything that is wrong with them."""
    found = LeftOut()
    source = replace(source, left_out=found)
    nothing, same = "empty texts", "texts"
    if source.format == "libsvm":
        names, nothing, same = ["row"], "rows without features", "the same features"
        rows = read_libsvm(source, columns, None)[1]
    else:
        with open_table(source) as table:
            names = table.names
            rows = list(text_rows(source, table, columns, labels=True, keep=names))
    findings = _grouped(found, source.name, fixed=True)
    lines, counts = _labels(rows)
    renamed = _differ_in_case(counts, taxonomy, columns)
    findings += _empty_texts(rows, nothing) + _repeats(rows, same, renamed)
    for wrong, right in renamed.items():
        said = f"the label {_shown(wrong)} differs in blanks or case from {_shown(right)}"
        findings.append(Finding(said, counts[wrong], lines[wrong], True))
    others = {path: count for path, count in counts.items() if path not in renamed}
    if taxonomy is not None:
        findings += [
            Finding(unknown_label(path, columns, taxonomy), count, lines[path])
            for path, count in sorted(others.items(), key=lambda item: -item[1])
            if _node(path, columns, taxonomy) is None
        ]
    else:
        findings += _typos(others, lines)
    single = [path for path, count in others.items() if count == 1]
    if single:
        what = f"labels with a single row: {', '.join(_shown(path) for path in single[:3])}"
        findings.append(Finding(what + (", ..." if len(single) > 3 else ""), len(single), lines[single[0]]))
    return Checked(rows, names, findings, renamed)


def _grouped(found: LeftOut, name: str, fixed: bool = False) -> list[Finding]:
    """Problems of one kind and one wording as one finding."""
    counts: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], int | None] = {}
    for problem in found.problems:
        # what was found differs from line to line; what was expected does not
        key = (problem.kind, problem.message.split(", found")[0] if problem.kind != "twice" else problem.kind)
        counts[key] += 1
        first.setdefault(key, problem.line)
    wording = {key: next(p.message for p in found.problems if p.line == line) for key, line in first.items()}
    titles = {
        "cells": "lines of another length",
        "encoding": "lines that are no UTF-8",
        "twice": "edges given twice",
    }
    return [
        Finding(f"{name}: {titles.get(key[0], 'bad lines')}: {wording[key]}", count, first[key], fixed)
        for key, count in counts.items()
    ]


def _empty_texts(rows: Sequence[TextRow], what: str) -> list[Finding]:
    empty = [row.line for row in rows if not row.text.strip()]
    return [Finding(what, len(empty), empty[0], True)] if empty else []


def _repeats(rows: Sequence[TextRow], what: str, renamed: Mapping[Path, Path]) -> list[Finding]:
    """Rows that come twice, and texts that come with labels that differ in more than case."""
    first: dict[str, tuple[object, int]] = {}
    seen: set[tuple[object, ...]] = set()
    same: list[int] = []
    other: list[int] = []
    for row in rows:
        labels = frozenset(renamed.get(path, path) for path in row.paths)
        whole = tuple(map(repr, row.kept))
        before = first.setdefault(row.text, (labels, row.line))
        if whole in seen:
            same.append(row.line)
        elif before[0] != labels and row.text.strip():
            other.append(row.line)
        seen.add(whole)
    found = []
    if same:
        found.append(Finding("rows that are given twice", len(same), same[0], True))
    if other:
        found.append(Finding(f"{what} that come with different labels", len(other), other[0]))
    return found


def _labels(rows: Iterable[TextRow]) -> tuple[dict[Path, int], Counter[Path]]:
    """The first line of every label, and its number of rows."""
    lines: dict[Path, int] = {}
    counts: Counter[Path] = Counter()
    for row in rows:
        for path in dict.fromkeys(row.paths):
            lines.setdefault(path, row.line)
            counts[path] += 1
    return lines, counts


def _plain(path: Path) -> Path:
    return tuple(" ".join(name.split()).casefold() for name in path)


def _differ_in_case(counts: Counter[Path], taxonomy: Taxonomy | None, columns: Columns) -> dict[Path, Path]:
    """Labels that are another one but for blanks and case: the more frequent, or the one in the taxonomy."""
    alike: dict[Path, list[Path]] = {}
    for path in counts:
        alike.setdefault(_plain(path), []).append(path)
    if taxonomy is None:
        best = {key: max(paths, key=lambda path: counts[path]) for key, paths in alike.items()}
        return {path: best[key] for key, paths in alike.items() for path in paths if path != best[key]}
    names: dict[Path, list[Path]] = {}
    for node in taxonomy.nodes:
        for path in {(str(node),), tuple(map(str, taxonomy.shown_path(node)))}:
            names.setdefault(_plain(path), []).append(path)
    found = {}
    for key, paths in alike.items():
        for path in paths:
            if _node(path, columns, taxonomy) is None and len(names.get(key, ())) == 1:
                found[path] = names[key][0]
    return found


def _typos(counts: dict[Path, int], lines: dict[Path, int]) -> list[Finding]:
    """Rare labels that look like frequent ones."""
    texts = {"/".join(path): path for path in counts}
    frequent = [text for text, path in texts.items() if counts[path] >= 1 / _RARE]
    if not frequent or len(texts) > _MOST_NAMES:
        return []
    sep = separator_of([path[0] for path in counts if len(path) == 1])
    found = []
    for text, path in texts.items():
        others = [other for other in frequent if other != text]
        close = [texts[other] for other in difflib.get_close_matches(text, others, _NEAREST, _ALIKE)]
        near = next((other for other in close if _alike(_levels(path, sep), _levels(other, sep))), None)
        if near is not None and counts[path] <= _RARE * counts[near]:
            said = f"the label {_shown(path)} may be a typo of {_shown(near)}"
            found.append(Finding(said, counts[path], lines[path]))
    return found


def _levels(path: Path, sep: str | None) -> Path:
    """A label that spells a path as the names on it."""
    return path if sep is None or len(path) > 1 else tuple(parts_of(path[0], sep))


def _alike(one: Path, other: Path) -> bool:
    """Whether two paths are alike level by level: a long way that both share makes no two names alike."""
    if len(one) != len(other):
        return True
    return all(
        a == b or difflib.SequenceMatcher(None, a, b).ratio() >= _ALIKE
        for a, b in zip(one, other, strict=True)
    )


def _shown(path: Path) -> str:
    """A label, cut in front when long: paths differ at their ends."""
    text = "/".join(path)
    return quoted(text, _SHOWN) if len(text) <= _SHOWN else quoted(f"...{text[-_SHOWN:]}", _SHOWN + 3)
