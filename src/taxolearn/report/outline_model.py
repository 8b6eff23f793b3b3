"""The sections of a report about the model rather than its scores: probabilities, words, examples, certificate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from taxolearn.report.blocks import Block, Cell, Drawing, Example, Paragraph, Place, Score, Table, Widget
from taxolearn.report.charts import coverage_chart, reliability_chart
from taxolearn.report.summary import number, percent

_TRIALS, _WORD_ROWS = 40, 40
NONE = "\N{EN DASH}"

Data = dict[str, Any]


def or_dash(value: float | None) -> str:
    """A score, or a dash where there is none.

    >>> or_dash(0.5), or_dash(None) == NONE
    ('0.500', True)
    """
    return NONE if value is None else f"{value:.3f}"


def calibration(data: Data) -> Iterator[Block]:
    """Probabilities by level."""
    found = data["calibration"]
    if "absent" in found:
        yield Paragraph(found["absent"], quiet=True)
        return
    yield Paragraph(
        "Of the nodes that are answered with a probability of 70%, say, 70% should be right: points on the diagonal. "
        "Below it the model is too sure of itself."
    )
    yield Drawing(
        reliability_chart(found["entries"]), "Share of right answers over their probability, by level"
    )
    for entry in found["entries"]:
        yield Table(
            f"Level {entry['level']}: {number(entry['answers'], 'answer')}, mean probability "
            f"{percent(entry['probability'])}, {percent(entry['right'])} right, calibration error {entry['error']:.3f}",
            ("probability", "answers", "mean probability", "right"),
            [
                [
                    f"{one['from']:.1f} to {one['to']:.1f}",
                    f"{one['answers']:,}",
                    f"{one['probability']:.3f}",
                    Score(one["right"]),
                ]
                for one in entry["bins"]
            ],
        )
    if found["shown"] < found["of"]:
        yield Paragraph(f"Showing {found['shown']:,} of {found['of']:,} rows, drawn by chance.", quiet=True)


def coverage(data: Data) -> Iterator[Block]:
    """How deep answers go."""
    found = data["coverage"]
    if "absent" in found:
        yield Paragraph(found["absent"], quiet=True)
        return
    if found["by"] == "calibration":
        how = "The model is calibrated: the coverage asked for is promised for new rows of the same kind."
    else:
        how = (
            "By probabilities alone: the deepest node that is so probable. Nothing is promised; after calibrate(X, y) "
            "it is."
        )
    yield Paragraph(
        f"{how} A label is covered when the answer is the label or stands above it. Labels have a mean depth of "
        f"{found['label_depth']:.2f}."
    )
    yield Drawing(
        coverage_chart(found["entries"], found["label_depth"]),
        "Covered rows over the mean depth of the answers",
    )
    yield Table(
        "How deep answers go",
        ("coverage asked for", "covered", "mean depth", "at their class", "at the root"),
        [
            [
                percent(entry["asked"]),
                Score(entry["covered"]),
                f"{entry['depth']:.2f}",
                percent(entry["at_class"]),
                percent(entry["at_root"]),
            ]
            for entry in found["entries"]
        ],
    )
    if found["shown"] < found["of"]:
        yield Paragraph(f"Showing {found['shown']:,} of {found['of']:,} rows, drawn by chance.", quiet=True)


def words(data: Data) -> Iterator[Block]:
    """Words of the upper nodes."""
    found = data["words"]
    if "absent" in found:
        yield Paragraph(found["absent"], quiet=True)
        return
    kind = found["kind"]
    yield Paragraph(
        f"The {kind}s with the largest weights; minus: they speak against the node. Of an inner node: mean weights of "
        f"the classes below it. Every node has its {kind}s in the taxonomy above."
    )
    taxonomy = data["taxonomy"]
    nodes = [node for node, depth in enumerate(taxonomy["depth"]) if depth == 1 and found["nodes"][node]]
    kept = nodes[:_WORD_ROWS]
    yield Table(
        f"{number(found['shown'], kind)} of each node of level 1",
        ("node", f"{kind}s"),
        [
            [
                Place({"node": node, "label": taxonomy["label"][node]}),
                ", ".join(
                    f"{found['features'][word]} {weight:+.3g}" for word, weight in found["nodes"][node]
                ),
            ]
            for node in kept
        ],
        n_words=2,
        shown=len(kept),
        of=len(taxonomy["depth"]),
    )


def examples(data: Data) -> Iterator[Block]:
    """Rows with the way to their answer."""
    found = data["examples"]
    yield Paragraph(
        "Half of them are from the costliest confusions, the others drawn by chance. At each node of the path: by how "
        "much it is ahead of the best node beside it, and what put it there."
    )
    if found["shown"] < found["of"]:
        yield Paragraph(f"Showing {found['shown']:,} of {found['of']:,} rows.", quiet=True)
    yield Widget("examples")
    for entry in found["entries"]:
        yield Example(entry)


def certificate(data: Data) -> Iterator[Block]:
    """The certificate."""
    found = data["certificate"]
    yield Paragraph(" ".join(found["sentences"]))
    rows: list[list[Cell]] = [
        ["status", found["status"]],
        ["upper bound on the optimum", _long(found["primal"])],
        ["lower bound on the optimum", _long(found["dual"])],
        ["relative gap", _long(found["gap"], "{:.2e}")],
        ["gap asked for", _long(found["tol"], "{:.2e}")],
    ]
    yield Table("The bounds", ("what", "value"), rows)


def _long(value: float | None, form: str = "{:.6g}") -> str:
    return NONE if value is None else form.format(value)


def trials(data: Data) -> Iterator[Block]:
    """What was tried."""
    found = data["trials"]
    if "absent" in found:
        yield Paragraph(found["absent"], quiet=True)
        return
    methods = found.get("methods")
    if methods:
        kept = methods["entries"][:_TRIALS]
        metric = methods["metric"].replace("_", " ")
        yield Table(
            f"Methods, by {metric} on {number(methods['held_out'], 'row')} held out of the fit",
            ("method", "decision", "C", metric, "tree loss", "gap", "seconds"),
            [
                [
                    f"{entry['method']}{' (chosen)' if entry['chosen'] else ''}",
                    entry["decision"],
                    f"{entry['C']:.3g}",
                    or_dash(entry["score"]),
                    or_dash(entry["tree_loss"]),
                    _long(entry["gap"], "{:.1e}"),
                    _long(entry["seconds"], "{:.1f}"),
                ]
                for entry in kept
            ],
            n_words=2,
            shown=len(kept),
            of=methods["of"],
        )
    features = found.get("features")
    if features:
        kept = features["entries"][:_TRIALS]
        yield Table(
            "Features of texts",
            ("features", "number", "held out"),
            [
                [
                    f"{entry['settings']}{' (chosen)' if entry['chosen'] else ''}",
                    f"{entry['features']:,}",
                    entry["problem"] or or_dash(entry["score"]),
                ]
                for entry in kept
            ],
            shown=len(kept),
            of=features["of"],
        )


def about(data: Data) -> Iterator[Block]:
    """Where all this comes from."""
    made, model = data["made"], data["model"]
    chosen = f", chosen by {model['chosen_by']}" if model["chosen_by"] else ""
    rows: list[list[Cell]] = [
        ["date", made["date"]],
        ["method", f"{model['method']}{chosen}"],
        *([f"parameter {name}", value] for name, value in model["parameters"].items()),
        *([f"text {name}", value] for name, value in (model["text"] or {}).items()),
        ["features", f"{model['features']:,}"],
        ["rows learned from", f"{model['trained_rows']:,}"],
        ["fingerprint of these", model["trained_fingerprint"]],
        ["rows of this report", f"{made['rows']:,}"],
        ["fingerprint of these rows", made["fingerprint"]],
        *([name, version] for name, version in made["versions"].items()),
    ]
    yield Table("Model, rows and versions", ("what", "value"), rows, n_words=2)
