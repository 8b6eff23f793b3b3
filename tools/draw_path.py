"""Draw the path that a model predicts for a text, with the scores of the siblings it passed by, as an SVG file.

    python tools/draw_path.py "fracture of left femur" docs/images/path.svg [--model FOLDER]

Without --model it learns the ICD-10-CM texts of the package first, as `taxolearn demo` does (about a minute). The score
of an inner node is the best score of a class under it.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Hashable, Iterable
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import taxolearn
from taxolearn.datasets import load_icd10cm
from taxolearn.text import TextFeatures

SIBLINGS = 3
INK, FAINT, CHOSEN, PALE = "#1f2933", "#616e7c", "#0b6e4f", "#e4f3ec"
LINE, PAPER, BAR = "#cbd2d9", "#ffffff", "#9aa5b1"
COLUMN, GUTTER, MARGIN = 268, 44, 28
BOX, SPACE, TOP = 74, 14, 126
TITLE_CHARACTERS, TITLE_LINES = 36, 2


class Node(NamedTuple):
    """A node to draw."""

    name: str
    title: str
    score: float
    on_path: bool


class Level(NamedTuple):
    """The children of one node of the path, the chosen one first, and how many more there are."""

    nodes: list[Node]
    hidden: int


def learned() -> Any:
    """A model of the ICD-10-CM texts, with the settings of `taxolearn demo`."""
    data = load_icd10cm()
    estimator = taxolearn.OneVsRestSVM(data.taxonomy, tol=1e-2, n_jobs=-1, random_state=0)
    features = TextFeatures(word_ngrams=(1, 1), sublinear_tf=True)
    return taxolearn.TextClassifier(estimator, features, titles=data.titles).fit(
        data.train.texts, data.train.y
    )


def node_scores(model: Any, text: str) -> dict[Hashable, float]:
    """For each node the best score of a class under it, or of itself."""
    taxonomy = model.taxonomy
    best = np.full(taxonomy.n_nodes, -np.inf)
    best[taxonomy.ids_of(model.classes_.tolist())] = model.decision_function([text])[0]
    # a parent's id is below its children's, so children are done first
    for child in range(taxonomy.n_nodes - 1, 0, -1):
        for parent in taxonomy.parent_indices[
            taxonomy.parent_indptr[child] : taxonomy.parent_indptr[child + 1]
        ]:
            best[parent] = max(best[parent], best[child])
    return dict(zip(taxonomy.nodes, best.tolist(), strict=True))


def levels_of(model: Any, text: str, path: Iterable[Hashable]) -> list[Level]:
    """What to draw: at each step down the chosen child and its best siblings."""
    scores = node_scores(model, text)
    titles = model.titles or {}
    found = []
    for name in path:
        if name == model.taxonomy.root:
            continue
        others = [s for s in model.taxonomy.siblings(name) if np.isfinite(scores[s])]
        others.sort(key=lambda sibling: -scores[sibling])
        shown = [name, *others[:SIBLINGS]]
        nodes = [Node(str(n), titles.get(n, ""), scores[n], n == name) for n in shown]
        found.append(Level(nodes, len(others) - len(shown) + 1))
    return found


def text_at(
    x: float, y: float, words: str, size: int, fill: str, *, bold: bool = False, end: bool = False
) -> str:
    weight = ' font-weight="600"' if bold else ""
    anchor = ' text-anchor="end"' if end else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}"{weight}{anchor}>{escape(words)}</text>'
    )


def draw_node(node: Node, x: float, y: float, lowest: float, highest: float) -> list[str]:
    """A box: name and score on the first line, a bar for the score, the title on the next lines."""
    colour, fill, edge = (CHOSEN, PALE, CHOSEN) if node.on_path else (FAINT, PAPER, LINE)
    lines = textwrap.wrap(node.title, TITLE_CHARACTERS, max_lines=TITLE_LINES, placeholder=" ...")
    share = (node.score - lowest) / (highest - lowest) if highest > lowest else 1.0
    length = 4 + share * (COLUMN - 28)
    return [
        f'<rect x="{x:g}" y="{y:g}" width="{COLUMN}" height="{BOX}" rx="6" fill="{fill}" stroke="{edge}"/>',
        text_at(x + 12, y + 21, node.name, 14, colour, bold=True),
        text_at(x + COLUMN - 12, y + 21, signed(node.score), 14, colour, bold=True, end=True),
        *(
            text_at(x + 12, y + 39 + 16 * i, part, 12, INK if node.on_path else FAINT)
            for i, part in enumerate(lines)
        ),
        f'<rect x="{x + 12:g}" y="{y + BOX - 10}" width="{length:.1f}" height="4" rx="2" '
        f'fill="{CHOSEN if node.on_path else BAR}"/>',
    ]


def link(x: float, y_from: float, y_to: float, on_path: bool) -> str:
    """A line from the right edge of a chosen box to the left edge of one of its children."""
    middle = x + GUTTER / 2
    stroke = f'stroke="{CHOSEN}" stroke-width="2.5"' if on_path else f'stroke="{LINE}" stroke-width="1.2"'
    bend = f"M{x:g} {y_from:g} C{middle:g} {y_from:g} {middle:g} {y_to:g} {x + GUTTER:g} {y_to:g}"
    return f'<path d="{bend}" fill="none" {stroke}/>'


def draw_words(words: Iterable[tuple[str, float]], x: float) -> list[str]:
    """The text, each word above its share of the score, and their sum."""
    parts, total = [], 0.0
    for word, value in words:
        size, fill = (13, FAINT) if word == "(intercept)" else (20, INK)
        parts.append(text_at(x, 48, word, size, fill, bold=size == 20))
        parts.append(text_at(x, 70, signed(value), 13, CHOSEN if value > 0 else FAINT))
        x += max(0.68 * size * len(word), 44) + 18  # letters of the widest usual font
        total += value
    return [*parts, text_at(x, 70, f"= {signed(total)}", 13, CHOSEN, bold=True)]


def signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "\u2212")


def draw(levels: list[Level], words: Iterable[tuple[str, float]]) -> str:
    """The whole picture."""
    deepest = max(len(level.nodes) for level in levels)
    width = 2 * MARGIN + len(levels) * COLUMN + (len(levels) - 1) * GUTTER
    height = TOP + deepest * (BOX + SPACE) + 22
    every = [node.score for level in levels for node in level.nodes]
    parts, boxes = [], []
    for depth, level in enumerate(levels):
        x = MARGIN + depth * (COLUMN + GUTTER)
        for position, node in reversed(list(enumerate(level.nodes))):
            y = TOP + position * (BOX + SPACE)
            if depth:
                parts.append(link(x - GUTTER, TOP + BOX / 2, y + BOX / 2, node.on_path))
            boxes += draw_node(node, x, y, min(every), max(every))
        if level.hidden:
            y = TOP + len(level.nodes) * (BOX + SPACE) + 6
            boxes.append(text_at(x + 12, y, f"and {level.hidden} more", 12, FAINT))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'font-family="Helvetica, Arial, sans-serif" role="img">',
            f'<rect width="{width}" height="{height}" rx="8" fill="{PAPER}"/>',
            *draw_words(words, MARGIN),
            text_at(
                MARGIN,
                TOP - 18,
                "the predicted path, and the best siblings at each step (score of the best class under each)",
                13,
                FAINT,
            ),
            *parts,
            *boxes,
            "</svg>",
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text")
    parser.add_argument("output", type=Path)
    parser.add_argument("--model", help="a saved TextClassifier with a taxonomy")
    arguments = parser.parse_args()
    model = taxolearn.load(arguments.model) if arguments.model else learned()
    explanation = model.explain(arguments.text)
    picture = draw(levels_of(model, arguments.text, explanation.path), explanation.words)
    arguments.output.write_text(picture, encoding="utf-8")
    print(f"{arguments.output}: {' > '.join(map(str, explanation.path))}, score {explanation.score:.3f}")


if __name__ == "__main__":
    main()
