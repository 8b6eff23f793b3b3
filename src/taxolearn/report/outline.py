"""A report's dict as sections of paragraphs and tables, which HTML and Markdown both print."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from taxolearn.report.blocks import (
    Block,
    Bullets,
    Cell,
    Figures,
    Paragraph,
    Place,
    Score,
    Section,
    Table,
    Widget,
)
from taxolearn.report.outline_model import (
    NONE,
    about,
    calibration,
    certificate,
    coverage,
    examples,
    or_dash,
    trials,
    words,
)
from taxolearn.report.summary import number, percent

_PAIRS, _BRANCHES, _CLASSES = 25, 40, 15


Data = dict[str, Any]


def outline(data: Data) -> list[Section]:
    """All sections, in the order in which they are read.

    >>> from taxolearn import OneVsRestSVM
    >>> report = OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"]).report([[2.0]], ["b"])
    >>> [section.anchor for section in outline(report.data)][:4]
    ['summary', 'taxonomy', 'levels', 'confusions']
    """
    sections: list[tuple[str, str, Callable[[Data], Iterator[Block]]]] = [
        ("summary", "In short", _summary),
        ("taxonomy", "The taxonomy", _taxonomy),
        ("levels", "Scores by level and branch", _levels),
        ("confusions", "The costliest confusions", _confusions),
        ("classes", "Classes to look at", _classes),
        ("calibration", "Do probabilities mean what they say?", calibration),
        ("coverage", "Coverage against depth", coverage),
        ("words", "Strongest words", words),
        ("examples", "Examples, step by step", examples),
        ("certificate", "Certificate", certificate),
        ("trials", "What was tried", trials),
        ("about", "About this report", about),
    ]
    kind = data["words"].get("kind", "word")
    return [
        Section(
            anchor, title.replace("words", f"{kind}s") if anchor == "words" else title, list(blocks(data))
        )
        for anchor, title, blocks in sections
    ]


def _summary(data: Data) -> Iterator[Block]:
    yield from map(Paragraph, data["summary"]["sentences"])
    advice = data["summary"]["advice"][1:]
    if advice:
        yield Bullets("And then", [one[0].upper() + one[1:] for one in advice])
    scores = data["scores"]
    yield Figures(
        f"Scores on {number(scores['rows'], 'held-out row')}, with 95% intervals",
        [
            ("accuracy", Score(scores["accuracy"]), "whole answers that are right"),
            ("hierarchical F1", Score(scores["hierarchical_f1"]), "right nodes along the paths"),
            ("tree loss", Score(scores["tree_loss"], share=False), "half the steps from answer to truth"),
            ("micro F1", Score(scores["micro_f1"]), "of all labels together"),
            ("macro F1", f"{scores['macro_f1']:.3f}", "all labels count alike"),
        ],
    )


def _taxonomy(data: Data) -> Iterator[Block]:
    model = data["model"]
    if model["structure"] == "none":
        yield Paragraph(
            f"The model has no taxonomy: {number(model['classes'], 'class', 'classes')} side by side."
        )
    else:
        kind = (
            "A DAG: a node with several parents is drawn below one of them"
            if model["structure"] == "DAG"
            else "A tree"
        )
        yield Paragraph(
            f"{kind}. {number(model['nodes'], 'node')}, {number(model['leaves'], 'leaf', 'leaves')}, "
            f"{number(model['depth'], 'level')} below the root; the model answers with "
            f"{number(model['classes'], 'class', 'classes')}."
        )
    yield Widget("taxonomy")


def _levels(data: Data) -> Iterator[Block]:
    rows: list[list[Cell]] = [
        [
            f"level {entry['level']}",
            f"{entry['nodes']:,}",
            f"{entry['rows']:,}",
            Score(entry["accuracy"]),
            Score(entry["micro_f1"]),
            f"{entry['macro_f1']:.3f}",
        ]
        for entry in data["levels"]["entries"]
    ]
    yield Table(
        "By level, from the top down: rows with a true node there, and how many get all of them right",
        ("level", "nodes", "rows", "accuracy", "micro F1", "macro F1"),
        rows,
    )
    branches = data["branches"]
    if "absent" in branches:
        yield Paragraph(branches["absent"], quiet=True)
        return
    kept = branches["entries"][:_BRANCHES]
    rows = [
        [Place(entry), f"{entry['classes']:,}", f"{entry['rows']:,}", *_scores_of_branch(entry)]
        for entry in kept
    ]
    yield Table(
        f"By branch below “{branches['below']['label']}”, the weakest first",
        ("branch", "classes", "rows", "accuracy", "hierarchical F1", "tree loss"),
        rows,
        shown=len(kept),
        of=branches["of"],
    )
    yield Paragraph(
        "In brackets: 95% intervals, of accuracy after Wilson, of all others by 400 new draws of the rows.",
        quiet=True,
    )


def _scores_of_branch(entry: Data) -> list[Cell]:
    if not entry["rows"]:
        return [NONE, NONE, NONE]
    return [Score(entry["accuracy"]), Score(entry["hierarchical_f1"]), Score(entry["tree_loss"], share=False)]


def _confusions(data: Data) -> Iterator[Block]:
    found = data["confusions"]
    if not found["entries"]:
        yield Paragraph("No mistake was made on these rows.")
        return
    yield Paragraph(
        f"{number(found['wrong_rows'], 'row')} cost {found['cost']:,.1f} of tree loss together. A wrong answer costs "
        "half the steps from it to the truth; two siblings are one step up and one down, and cost 1."
    )
    kept = found["entries"][:_PAIRS]
    rows: list[list[Cell]] = [
        [
            Place(entry["true"]),
            Place(entry["answer"]),
            Place(entry["meet"]),
            _shown_rows(data, entry["examples"]),
            f"{entry['rows']:,}",
            f"{entry['cost']:,.1f}",
            percent(entry["share"]),
        ]
        for entry in kept
    ]
    yield Table(
        "Pairs of labels, by what they cost together",
        ("true label", "answered instead", "they meet at", "rows such as", "rows", "cost", "of all cost"),
        rows,
        n_words=4,
        shown=len(kept),
        of=found["of"],
    )


def _shown_rows(data: Data, rows: list[int]) -> str:
    texts = data["texts"]
    if not texts:
        return "row " + ", ".join(f"{row:,}" for row in rows)
    return " · ".join(f"[{row:,}] {texts[str(row)]}" for row in rows[:2])


def _classes(data: Data) -> Iterator[Block]:
    found = data["classes"]
    columns = ("label", "rows", "rows to learn from", "F1", "precision", "recall")
    weakest = found["weakest"]
    kept = weakest["entries"][:_CLASSES]
    if kept:
        yield Table(
            f"The weakest, of those with {weakest['judged']} held-out rows or more",
            columns,
            [_class_cells(entry) for entry in kept],
            shown=len(kept),
            of=weakest["of"],
        )
    else:
        yield Paragraph(
            f"No label has {weakest['judged']} held-out rows, so that none can be called weak.", quiet=True
        )
    emptiest = found["emptiest"]
    if "absent" in emptiest:
        yield Paragraph(emptiest["absent"], quiet=True)
    else:
        kept = emptiest["entries"][:_CLASSES]
        yield Table(
            f"The emptiest: {number(emptiest['few'], 'label')} with fewer than {emptiest['below']} rows to learn from, "
            f"{emptiest['none']:,} without any",
            columns,
            [_class_cells(entry) for entry in kept],
            shown=len(kept),
            of=emptiest["of"],
        )
    confused = found["confused"]
    kept = confused["entries"][:_CLASSES]
    if kept:
        yield Table(
            "The most confused: labels that take part in the most mistakes, truly or by the answer",
            ("label", "most often with", "mistakes", "with that one", "rows", "F1"),
            [
                [
                    Place(entry),
                    Place(entry["with"]),
                    f"{entry['mistakes']:,}",
                    f"{entry['with_mistakes']:,}",
                    f"{entry['rows']:,}",
                    or_dash(entry["f1"]),
                ]
                for entry in kept
            ],
            n_words=2,
            shown=len(kept),
            of=confused["of"],
        )


def _class_cells(entry: Data) -> list[Cell]:
    return [
        Place(entry),
        f"{entry['rows']:,}",
        NONE if entry["trained"] is None else f"{entry['trained']:,}",
        or_dash(entry["f1"]),
        or_dash(entry["precision"]),
        NONE if entry["recall"] is None else Score(entry["recall"]),
    ]
