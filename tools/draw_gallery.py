"""The pictures of the gallery: python tools/draw_gallery.py [FOLDER].

Learns two chapters of the demo data (ICD-10-CM: heart and lungs) and draws what the models say about the test texts.
Needs matplotlib (the extra `plot`). Takes about a minute.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from taxolearn import MulticlassSVM, NormalizedHierarchicalSVM, Taxonomy, TextClassifier
from taxolearn.datasets import load_icd10cm
from taxolearn.metrics import hierarchical_f1
from taxolearn.text import TextFeatures

CHAPTERS = ("I00-I99", "J00-J99")
TARGET = Path(__file__).parents[1] / "docs" / "images" / "gallery"
WIDTH, HEIGHT = 7.0, 3.2  # inches
WEAK, STRONG = 0.5, 1.0  # ends of the colour scale, F1
COVERAGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


def figure(title: str, wide: float = WIDTH, high: float = HEIGHT) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "taxolearn", "font.size": 9, "axes.spines.top": False})
    from matplotlib import pyplot

    drawing, axes = pyplot.subplots(figsize=(wide, high), layout="constrained")
    axes.set_title(title, loc="left")
    axes.spines["right"].set_visible(False)
    return drawing, axes


def save(drawing: Any, path: Path) -> None:
    from matplotlib import pyplot

    drawing.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)
    pyplot.close(drawing)


def icicle(tree: Taxonomy, y: Any, answers: Any, path: Path) -> dict[str, float]:
    """Nodes as bars below their parents: as wide as they have rows, coloured by hierarchical F1. Returns the F1s."""
    y, answers = np.asarray(y), np.asarray(answers)
    drawing, axes = figure("Where the model is good: width is rows, colour is hierarchical F1")
    from matplotlib import cm, colors

    shades = cm.ScalarMappable(colors.Normalize(WEAK, STRONG), "cividis")
    found: dict[str, float] = {}

    def place(node: Any, left: float, level: int) -> float:
        below = {node, *tree.descendants(node)}
        rows = np.array([label in below for label in y])
        if not rows.any():
            return left
        found[node] = hierarchical_f1(y[rows], answers[rows], tree)
        width = float(rows.sum())
        axes.bar(
            left, 0.94, width, -level - 1, align="edge", color=shades.to_rgba(found[node]), ec="white", lw=0.3
        )
        edge = left
        for child in tree.children(node):
            edge = place(child, edge, level + 1)
        return left + width

    place(tree.root, 0.0, 0)
    axes.set_axis_off()
    drawing.colorbar(shades, ax=axes, shrink=0.7)
    save(drawing, path)
    return found


def distances(tree: Taxonomy, y: Any, answers: dict[str, Any], path: Path) -> dict[str, list[float]]:
    """How far wrong answers are from the truth, in edges; one group of bars per model. Returns the heights."""
    drawing, axes = figure("How far mistakes are: share of all rows")
    true = tree.ids_of(list(y))
    far = {name: np.asarray(tree.distance(true, tree.ids_of(list(some)))) for name, some in answers.items()}
    steps = np.arange(2, max(int(each.max()) for each in far.values()) + 1, 2)
    heights = {name: [float((each == step).mean()) for step in steps] for name, each in far.items()}
    for k, (name, shares) in enumerate(heights.items()):
        axes.bar(
            np.arange(len(steps)) + 0.4 * k, shares, 0.38, label=name, color=("#0b5394", "#e69138")[k % 2]
        )
    axes.set_xticks(np.arange(len(steps)) + 0.2, [f"{step} edges" for step in steps])
    axes.legend(frameon=False)
    save(drawing, path)
    return heights


def depths(model: Any, tree: Taxonomy, texts: Any, y: Any, path: Path) -> list[tuple[float, float, float]]:
    """Coverage asked for, coverage reached, and how deep answers go: for a calibrated model."""
    drawing, axes = figure("Surer answers are less deep")
    lines = []
    for coverage in COVERAGES:
        stops = model.predict(texts, coverage=coverage)
        covered = [
            stop in tree.ancestors(label, include_self=True) for stop, label in zip(stops, y, strict=True)
        ]
        deep = np.mean([tree.depth[tree.id_of(stop)] for stop in stops])
        lines.append((coverage, float(np.mean(covered)), float(deep)))
    asked, reached, deep = zip(*lines, strict=True)
    axes.plot(deep, reached, "o-", color="#0b5394", label="reached on test rows")
    axes.plot(deep, asked, "x--", color="#e69138", label="asked for")
    axes.set_xlabel("mean depth of the answers")
    axes.set_ylabel("true label at or below")
    axes.legend(frameon=False)
    save(drawing, path)
    return lines


def main(folder: str = str(TARGET)) -> None:
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    icd = load_icd10cm()
    whole = icd.taxonomy
    parts = []
    for part in (icd.train, icd.test):
        pairs = [(t, c) for t, c in zip(part.texts, part.y, strict=True) if whole.path(c)[1] in CHAPTERS]
        parts.append(([text for text, _ in pairs], [code for _, code in pairs]))
    (texts, y), (asked, truth) = parts
    kept = {above for chapter in CHAPTERS for above in (chapter, *whole.descendants(chapter))}
    tree = Taxonomy.from_edges([edge for edge in whole.edges if edge[1] in kept])
    features = TextFeatures(sublinear_tf=True)
    flat = TextClassifier(MulticlassSVM(tree, random_state=0), features).fit(texts, y)
    ours = TextClassifier(NormalizedHierarchicalSVM(tree, random_state=0), features).fit(texts, y)
    answers = {"without the taxonomy": flat.predict(asked), "with the taxonomy": ours.predict(asked)}
    icicle(tree, truth, answers["with the taxonomy"], target / "icicle.svg")
    distances(tree, truth, answers, target / "distances.svg")
    careful = TextClassifier(NormalizedHierarchicalSVM(tree, probability=True, random_state=0), features)
    careful.fit(texts, y)
    careful.calibrate(asked[::2], truth[::2])
    depths(careful, tree, asked[1::2], truth[1::2], target / "depths.svg")
    print(f"{len(texts)} texts to learn from; pictures in {target}")


if __name__ == "__main__":
    main(*sys.argv[1:])
