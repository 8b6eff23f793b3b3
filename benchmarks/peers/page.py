"""docs/benchmarks.md and its plots, made of the results: python benchmarks/peers/page.py.

Best values of a column are bold; of equal ones all are.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
RESULTS, PAGE = HERE / "results.jsonl", DOCS / "benchmarks.md"
OURS = "taxolearn"


class Column(NamedTuple):
    """A measure: its key in the results, its title, the factor and format it is shown with, and which end is good."""

    key: str
    title: str
    factor: float
    form: str
    largest: bool
    compared: bool = True  # seconds on the clock are not: the machine was busy to different degrees

    def shown(self, line: dict[str, Any]) -> str:
        """The value of a line as the page has it, "" where there is none."""
        return format(line[self.key] * self.factor, self.form) if self.key in line else ""


QUALITY = (
    Column("accuracy", "accuracy", 100, ".1f", True),
    Column("micro_f1", "micro-F1", 100, ".1f", True),
    Column("macro_f1", "macro-F1", 100, ".1f", True),
    Column("hierarchical_f1", "hierarchical F1", 100, ".1f", True),
    Column("tree_loss", "tree loss", 1, ".3f", False),
    Column("p@1", "P@1", 100, ".1f", True),
    Column("p@3", "P@3", 100, ".1f", True),
    Column("p@5", "P@5", 100, ".1f", True),
)
COST = (
    Column("fit_cpu", "fit, CPU s", 1, ".2f", False),
    Column("fit_wall", "fit, s", 1, ".2f", False, compared=False),
    Column("predict_cpu", "predict, CPU s", 1, ".3f", False),
    Column("predict_wall", "predict, s", 1, ".3f", False, compared=False),
    Column("peak_mb", "peak MB", 1, ".0f", False),
    Column("model_mb", "model MB", 1, ".1f", False),
)
ONE_LABEL_ONLY = {"micro_f1"}  # with one label it is the accuracy
TITLES = {
    "clef": "CLEF (X-ray images)",
    "trec_question": "TREC questions",
    "20news_bydate": "20 newsgroups",
    "lshtc1_dryrun": "web directory (LSHTC)",
    "rcv1_subsets": "RCV1 (several labels)",
    "debtags_bookworm": "debtags (several labels)",
    "arxiv_2020": "arXiv (several labels)",
    "cve_cwe": "CVE to CWE (DAG)",
    "wordnet_nouns": "WordNet nouns (DAG)",
    "generated_1000": "generated, 1,000 leaves",
    "generated_10000": "generated, 10,000 leaves",
    "generated_50000": "generated, 50,000 leaves",
}
CUT = {"time": "cut after {limit_seconds:g} CPU s", "memory": "cut at {limit_gb:g} GB"}
STEP, MOST_STEPS = 9, 12  # names of points move up and down in steps of so many points of print
HEAD = (HERE / "head.md").read_text(encoding="utf-8")


def read(path: Path = RESULTS) -> list[dict[str, Any]]:
    """The newest line of each set and entrant, ours first, then by library and name."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for text in path.read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        found[line["set"], line["entrant"]] = line
    return sorted(
        found.values(), key=lambda line: (line["library"] != OURS, line["library"], line["entrant"])
    )


def columns_of(lines: Sequence[dict[str, Any]], among: Sequence[Column]) -> list[Column]:
    several = lines[0]["several"]
    return [
        column
        for column in among
        if any(column.key in line for line in lines) and (several or column.key not in ONE_LABEL_ONLY)
    ]


def winners(lines: Sequence[dict[str, Any]], column: Column) -> list[dict[str, Any]]:
    """The lines with the best value as it is shown."""
    values = {id(line): float(column.shown(line)) for line in lines if column.key in line}
    best = (max if column.largest else min)(values.values())
    return [line for line in lines if values.get(id(line)) == best]


def name_of(line: dict[str, Any]) -> str:
    return f"{line['entrant']}\\*" if line["library"] == OURS else line["entrant"]


def table(lines: Sequence[dict[str, Any]], columns: Sequence[Column]) -> list[str]:
    """A line per entrant; who was cut has the limit in place of figures."""
    done = [line for line in lines if line["status"] not in CUT]
    best = {
        column.key: {id(line) for line in winners(done, column)} if column.compared else set()
        for column in columns
    }
    text = [
        "| | " + " | ".join(column.title for column in columns) + " |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for line in lines:
        if line["status"] in CUT:
            told = CUT[line["status"]].format(**line)
            text.append(f"| {name_of(line)} | {told} |" + " |" * (len(columns) - 1))
            continue
        cells = [column.shown(line) for column in columns]
        bold = [
            f"**{cell}**" if id(line) in best[c.key] else cell for cell, c in zip(cells, columns, strict=True)
        ]
        text.append(f"| {name_of(line)} | " + " | ".join(bold) + " |")
    return text


def section(name: str, lines: Sequence[dict[str, Any]]) -> list[str]:
    done = [line for line in lines if line["status"] == "ok"]
    facts = lines[0]
    text = [
        f"\n## {TITLES.get(name, name)}\n",
        f"{facts['rows']:,} rows to learn from, {facts['test_rows']:,} to answer, {facts['features']:,} features, "
        f"{facts['classes']:,} classes, {facts['nodes']:,} nodes.\n",
    ]
    tried = [line for line in lines if line["status"] != "error"]
    if done:
        text += table(tried, columns_of(done, QUALITY))
        text += ["", *table(tried, columns_of(done, COST)), ""]
        text += [f"![{TITLES.get(name, name)}: quality against CPU seconds](images/peers/{name}.svg)\n"]
    notes = [f"{line['entrant']}: {line['notes']}" for line in done if line.get("notes")]
    if notes:
        text += ["Notes of the runs:", "", *(f"- {note}." for note in notes), ""]
    failed = [f"- {line['entrant']}: {line['said'][:120]}." for line in lines if line["status"] == "error"]
    return [*text, *failed, ""] if failed else text


def missing(lines: Sequence[dict[str, Any]], everything: Sequence[dict[str, Any]]) -> list[str]:
    """Entrants that ran on another set with as many labels a row, and have not run on this one."""
    known = {line["entrant"] for line in everything if line["several"] == lines[0]["several"]}
    return sorted(known - {line["entrant"] for line in lines})


def who_wins(sets: dict[str, list[dict[str, Any]]]) -> list[str]:
    """A line per column: how often taxolearn is best, and where a peer is; sets on which all have run."""
    text = [
        "\n## Who wins\n",
        "| column | taxolearn is best, alone or with others | a peer alone is best |",
        "|---|---|---|",
    ]
    for column in (each for each in (*QUALITY, *COST) if each.compared):
        ours, theirs = [], []
        for name, lines in sets.items():
            if missing(lines, [line for others in sets.values() for line in others]):
                continue
            done = [line for line in lines if line["status"] == "ok"]
            if not done or column not in columns_of(done, (column,)):
                continue
            best = winners(done, column)
            if any(line["library"] == OURS for line in best):
                ours.append(name)
            else:
                theirs.append(f"{name}: {', '.join(name_of(line) for line in best)}")
        text.append(
            f"| {column.title} | {len(ours)} of {len(ours) + len(theirs)} | {'; '.join(theirs) or 'nowhere'} |"
        )
    return text


def render(lines: Sequence[dict[str, Any]]) -> str:
    """The whole page."""
    sets: dict[str, list[dict[str, Any]]] = {name: [] for name in TITLES}
    for line in lines:
        sets.setdefault(line["set"], []).append(line)
    sets = {name: found for name, found in sets.items() if found}
    versions = sorted(
        {f"{line['library'].replace('_', '-')} {line['version']}" for line in lines if "version" in line}
    )
    text = [HEAD, f"Versions: {', '.join(versions)}.", *who_wins(sets)]
    for name, found in sets.items():
        text += section(name, found)
        if absent := missing(found, lines):
            text += ["**Not finished**, and not counted above; these have not run here:", ""]
            text += [*(f"- {entrant}" for entrant in absent), ""]
    return "\n".join(text).rstrip() + "\n"


def plot(name: str, lines: Sequence[dict[str, Any]], path: Path) -> None:
    """Quality against CPU seconds of the fit, a point per entrant."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "taxolearn", "font.size": 8})
    from matplotlib import pyplot

    key, title = ("micro_f1", "micro-F1") if lines[0]["several"] else ("hierarchical_f1", "hierarchical F1")
    drawing, axes = pyplot.subplots(figsize=(6.4, 4.2), layout="constrained")
    for line in lines:
        mine = line["library"] == OURS
        axes.plot(
            line["fit_cpu"], 100 * line[key], "o" if mine else "x", color="#0b5394" if mine else "#b45f06"
        )
    axes.set_xscale("log")
    axes.margins(x=0.25, y=0.1)
    axes.set_xlabel("CPU seconds of the fit")
    axes.set_ylabel(title)
    axes.set_title(TITLES.get(name, name), loc="left")
    _name_points(axes, {line["entrant"]: (line["fit_cpu"], 100 * line[key]) for line in lines})
    drawing.savefig(path, metadata={"Date": None})
    pyplot.close(drawing)


def _name_points(axes: Any, points: dict[str, tuple[float, float]]) -> None:
    """Write names beside their points where they cover no other name and no point, with a line where that is far."""
    axes.figure.canvas.draw()
    marks = [axes.transData.transform(point) for point in points.values()]
    frame, taken = axes.get_window_extent(), []
    for name, point in sorted(points.items(), key=lambda item: (item[1][1], item[0]), reverse=True):
        best: tuple[float, Any] = (float("inf"), None)
        for side in (1, -1):
            for step in range(-MOST_STEPS, MOST_STEPS + 1):
                text = axes.annotate(
                    name,
                    point,
                    xytext=(6 * side, STEP * step - 3),
                    textcoords="offset points",
                    ha="left" if side == 1 else "right",
                )
                box = text.get_window_extent()
                text.remove()
                inside = (
                    frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1
                )
                covers = sum(box.overlaps(other) for other in taken) + sum(
                    box.x0 - 3 <= x <= box.x1 + 3 and box.y0 - 3 <= y <= box.y1 + 3 for x, y in marks
                )
                cost = 1000 * covers + 500 * (not inside) + 10 * abs(step) + (side == -1)
                if cost < best[0]:
                    best = (cost, (side, step, box))
        side, step, box = best[1]
        taken.append(box)
        axes.annotate(
            name,
            point,
            xytext=(6 * side, STEP * step - 3),
            textcoords="offset points",
            ha="left" if side == 1 else "right",
            arrowprops={"arrowstyle": "-", "lw": 0.4, "color": "#888888"} if step else None,
        )


def main() -> None:
    lines = read()
    target = DOCS / "images" / "peers"
    target.mkdir(parents=True, exist_ok=True)
    for name in dict.fromkeys(line["set"] for line in lines):
        done = [line for line in lines if line["set"] == name and line["status"] == "ok"]
        if done:
            plot(name, done, target / f"{name}.svg")
    text = render(lines)
    PAGE.write_text(text, encoding="utf-8")
    print(
        "\n".join(
            who_wins(
                {
                    name: [x for x in lines if x["set"] == name]
                    for name in TITLES
                    if any(x["set"] == name for x in lines)
                }
            )
        )
    )
    print(f"written: {PAGE.name}, from {len(lines)} runs")


if __name__ == "__main__":
    main()
