"""A report as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from taxolearn.report.blocks import Block, Bullets, Cell, Example, Figures, Paragraph, Table, text_of
from taxolearn.report.outline import outline
from taxolearn.terminal import printable

_MARKS = re.compile(r"([\\`*_\[\]<>|#~!&$])")
_EXAMPLES = 10


def to_markdown(data: dict[str, Any]) -> str:
    """All sections; names and texts are escaped, so that none of them is markup.

    >>> from taxolearn import OneVsRestSVM
    >>> report = OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"]).report([[2.0]], ["b"])
    >>> to_markdown(report.data).splitlines()[2]
    '## In short'
    """
    lines = [f"# {escaped(data['title'])}", ""]
    for section in outline(data):
        lines += [f"## {escaped(section.title)}", ""]
        n_examples = 0
        for block in section.blocks:
            if isinstance(block, Example):
                n_examples += 1
                if n_examples > _EXAMPLES:
                    continue
            lines += _lines(block)
        if n_examples > _EXAMPLES:
            lines += [f"Showing {_EXAMPLES:,} of {data['examples']['of']:,}.", ""]
    return "\n".join(lines).rstrip() + "\n"


def escaped(text: str) -> str:
    r"""A text in which nothing is markup, on one line.

    >>> print(escaped("<b>|a_b|"))
    \<b\>\|a\_b\|
    """
    return _MARKS.sub(r"\\\1", printable(text))


def _lines(block: Block) -> Iterator[str]:
    if isinstance(block, Paragraph):
        yield from (escaped(block.text), "")
    elif isinstance(block, Bullets):
        yield from (f"{escaped(block.title)}:", "")
        yield from (f"- {escaped(item)}" for item in block.items)
        yield ""
    elif isinstance(block, Figures):
        yield from _lines(Table(block.caption, ("score", "value", "what it is"), block.rows, n_words=3))
    elif isinstance(block, Table):
        yield from (f"**{escaped(block.caption)}**", "")
        yield _row(block.columns)
        yield "|" + "|".join("---" if k < block.n_words else "---:" for k in range(len(block.columns))) + "|"
        yield from (_row(row) for row in block.rows)
        yield ""
        if block.showing:
            yield from (escaped(block.showing), "")
    elif isinstance(block, Example):
        yield from _example(block.entry)


def _row(cells: Sequence[Cell]) -> str:
    return f"| {' | '.join(escaped(text_of(cell)) for cell in cells)} |"


def _example(entry: dict[str, Any]) -> Iterator[str]:
    text = "" if entry["text"] is None else f": {escaped(entry['text'])}"
    yield from (f"**Row {entry['row']:,}**{text}", "")
    true = "; ".join(path_text(path) for path in entry["true_paths"]) or "no label"
    yield f"- true: {escaped(true)}"
    yield f"- answered: {escaped(answer_text(entry))}"
    yield from (f"  - {escaped(step_text(step))}" for step in entry["path"])
    if "note" in entry:
        yield f"- {escaped(entry['note'])}"
    yield ""


def path_text(path: Sequence[dict[str, Any]]) -> str:
    """The names of a path.

    >>> path_text([{"label": "Animal"}, {"label": "Cat"}])
    'Animal > Cat'
    """
    return " > ".join(place["label"] for place in path)


def answer_text(entry: dict[str, Any]) -> str:
    """What was answered, and whether that is right.

    >>> answer_text({"answer": [{"label": "Cat"}], "right": False, "loss": 1.0})
    'Cat, wrong: costs 1'
    """
    names = "; ".join(place["label"] for place in entry["answer"]) or "no label"
    return f"{names}, right" if entry["right"] else f"{names}, wrong: costs {entry['loss']:.3g}"


def step_text(step: dict[str, Any]) -> str:
    """One node of a path, and what decided there.

    >>> step_text({"label": "Cat", "probability": None, "lead": 0.5, "over": "Dog", "words": [["fur", 0.5]]})
    'Cat: ahead of Dog by 0.500: fur +0.500'
    """
    said = str(step["label"])
    if step["probability"] is not None:
        said += f" (probability {step['probability']:.3f})"
    if "lead" not in step:
        return said
    words = ", ".join(f"{word} {value:+.3f}" for word, value in step["words"])
    if step.get("more_words"):
        words += f", {step['more_words']:,} more"
    way = "ahead of" if step["lead"] >= 0 else "behind"
    rival = (
        f"{way} {step['over']} by {abs(step['lead']):.3f}"
        if step["over"] is not None
        else f"score {step['lead']:+.3f}"
    )
    return f"{said}: {rival}: {words}"
