"""A report as one HTML file: no network, no further file; nothing of a stranger's text is markup or code."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from taxolearn.report.blocks import (
    Block,
    Bullets,
    Cell,
    Drawing,
    Example,
    Figures,
    Paragraph,
    Place,
    Score,
    Section,
    Table,
    Widget,
    text_of,
)
from taxolearn.report.markdown import answer_text, path_text
from taxolearn.report.outline import outline
from taxolearn.terminal import printable

# what could end the script tag or be taken for the end of a line, and characters that steer a screen
_UNSAFE = re.compile("[<>&\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def to_html(data: dict[str, Any]) -> str:
    """The whole page.

    >>> from taxolearn import OneVsRestSVM
    >>> report = OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "<i>"]).report([[2.0]], ["<i>"])
    >>> page = to_html(report.data)
    >>> "<i>" in page, "&lt;i&gt;" in page
    (False, True)
    """
    sections = outline(data)
    style, script = asset("report.css"), asset("report.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    links = "".join(
        f'<li><a href="#{section.anchor}">{escaped(section.title)}</a></li>' for section in sections
    )
    made = data["made"]
    head = (
        f"<p>{escaped(data['model']['method'])} · {made['rows']:,} held-out rows · "
        f"{escaped(made['date'][:10])} · taxolearn {escaped(made['versions']['taxolearn'])}</p>"
    )
    return "\n".join(
        (
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{escaped(data['title'])}</title>",
            f"<style>{style}</style>",
            "</head>",
            "<body>",
            '<a class="skip" href="#summary">Skip to the report</a>',
            f'<header><h1>{_said(data["title"])}</h1>{head}<nav aria-label="Sections"><ul>{links}</ul></nav></header>',
            "<main>",
            *(_section(section) for section in sections),
            "</main>",
            f'<script type="application/json" id="data">{safe_json(data)}</script>',
            f"<script>{script}</script>",
            "</body>",
            "</html>",
            "",
        )
    )


def asset(name: str) -> str:
    """A file that comes with the package.

    >>> "d3-hierarchy" in asset("licenses.txt")
    True
    """
    return files("taxolearn.report").joinpath("assets", name).read_text("utf-8")


def safe_json(value: Any) -> str:
    r"""JSON that may stand in a script tag: nothing in it can end the tag, and nothing steers a screen.

    >>> print(safe_json({"label": "</script>\u2028"}))
    {"label":"\u003c/script\u003e\u2028"}
    """
    said = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", said)


def escaped(text: str, keep: str = "") -> str:
    r"""A text in which nothing is markup, and no control character is left but those in `keep`.

    >>> print(escaped("<b> \x1b[31m"))
    &lt;b&gt; \u001b[31m
    """
    return html.escape(printable(text, keep), quote=True)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _said(text: str) -> str:
    """A stranger's text, whose direction of writing stays its own."""
    return f"<bdi>{escaped(text)}</bdi>"


def _section(section: Section) -> str:
    inner = "".join(part for block in section.blocks for part in _block(block))
    title = escaped(section.title)
    name = f"h-{section.anchor}"
    heading = f'<h2 id="{name}">{title}</h2>'
    return f'<section id="{section.anchor}" aria-labelledby="{name}">{heading}{inner}</section>'


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Paragraph):
        yield f'<p class="quiet">{_said(block.text)}</p>' if block.quiet else f"<p>{_said(block.text)}</p>"
    elif isinstance(block, Bullets):
        items = "".join(f"<li>{_said(item)}</li>" for item in block.items)
        yield f'<div class="advice"><h3>{escaped(block.title)}</h3><ul>{items}</ul></div>'
    elif isinstance(block, Figures):
        yield f"<h3>{escaped(block.caption)}</h3><dl class='figures'>{''.join(map(_figure, block.rows))}</dl>"
    elif isinstance(block, Table):
        yield from _table(block)
    elif isinstance(block, Drawing):
        caption = f"{escaped(block.caption)}. The table below says the same."
        yield f"<figure>{block.svg}<figcaption>{caption}</figcaption></figure>"
    elif isinstance(block, Example):
        yield _example(block.entry)
    elif isinstance(block, Widget):
        yield f'<div id="widget-{block.name}" class="widget"></div>'


def _figure(row: tuple[str, Cell, str]) -> str:
    name, value, meaning = row
    large, _, small = text_of(value).partition(" ")
    bar = _bar(value.measured) if isinstance(value, Score) and value.share else ""
    inner = f"<b>{escaped(large)}</b> <span>{escaped(small)}</span>{bar}<span>{escaped(meaning)}</span>"
    return f"<div><dt>{escaped(name)}</dt><dd>{inner}</dd></div>"


def _table(table: Table) -> Iterator[str]:
    def kind(place: int) -> str:
        return "" if place < table.n_words else ' class="n"'

    head = "".join(f'<th scope="col"{kind(k)}>{escaped(name)}</th>' for k, name in enumerate(table.columns))
    body = []
    for row in table.rows:
        first, *others = row
        cells = "".join(f"<td{kind(k + 1)}>{_cell(cell)}</td>" for k, cell in enumerate(others))
        body.append(f'<tr><th scope="row">{_cell(first)}</th>{cells}</tr>')
    yield (
        f'<div class="scroll" role="region" aria-label="{escaped(table.caption)}" tabindex="0"><table>'
        f"<caption>{_said(table.caption)}</caption><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )
    if table.showing:
        yield f'<p class="quiet">{escaped(table.showing)}</p>'


def _cell(cell: Cell) -> str:
    if isinstance(cell, Place):
        return f'<a href="#taxonomy" data-node="{cell.place["node"]}">{_said(cell.text)}</a>'
    if isinstance(cell, Score):
        return f"{_bar(cell.measured) if cell.share else ''}<span>{escaped(cell.text)}</span>"
    return _said(cell)


def _bar(measured: dict[str, Any]) -> str:
    value, low, high = (100 * (measured[name] or 0.0) for name in ("value", "low", "high"))
    return (
        '<svg class="bar" viewBox="0 0 100 10" width="100" height="10" aria-hidden="true">'
        '<rect class="rail" width="100" height="10"/>'
        f'<rect class="fill" width="{value:.1f}" height="10"/>'
        f'<rect class="span" x="{low:.1f}" y="4" width="{max(high - low, 0.5):.1f}" height="2"/></svg>'
    )


def _example(entry: dict[str, Any]) -> str:
    nodes = sorted(
        {place["node"] for path in entry["true_paths"] for place in path} | {p["node"] for p in entry["path"]}
    )
    marks = f'data-right="{int(entry["right"])}" data-nodes=" {" ".join(map(str, nodes))} "'
    text = (
        ""
        if entry["text"] is None
        else f'<blockquote dir="auto">{escaped(entry["text"], keep=chr(10))}</blockquote>'
    )
    true = (
        "".join(f"<li>{_said(path_text(path))}</li>" for path in entry["true_paths"]) or "<li>no label</li>"
    )
    steps = "".join(f"<li>{_step(step)}</li>" for step in entry["path"])
    note = f'<p class="quiet">{escaped(entry["note"])}</p>' if "note" in entry else ""
    verdict = "right" if entry["right"] else "wrong"
    short = "" if entry["text"] is None else f" <q>{_said(_first_words(entry['text']))}</q>"
    return (
        f'<details class="example" {marks}><summary><b class="{verdict}">{verdict}</b> row {entry["row"]:,}{short} '
        f"→ {_said(answer_text(entry))}</summary>{text}"
        f"<p>True</p><ul>{true}</ul><p>Answered, from the top down</p><ol>{steps}</ol>{note}</details>"
    )


def _first_words(text: str) -> str:
    line = " ".join(text[:200].split())
    return line if len(line) <= 70 else line[:69] + "…"


def _step(step: dict[str, Any]) -> str:
    said = _cell(Place(step))
    if step["probability"] is not None:
        said += f" <span>(probability {step['probability']:.3f})</span>"
    if "lead" not in step:
        return said
    way = "ahead of" if step["lead"] >= 0 else "behind"
    rival = (
        f"{way} {_said(step['over'])} by {abs(step['lead']):.3f}"
        if step["over"] is not None
        else f"score {step['lead']:+.3f}"
    )
    words = "".join(_word(word, value) for word, value in step["words"])
    more = f" <span>and {step['more_words']:,} more</span>" if step.get("more_words") else ""
    return f"{said}: {rival}<br>{words}{more}"


def _word(word: str, value: float) -> str:
    kind = "for" if value > 0 else "against"
    return f'<span class="word {kind}">{_said(word)} {value:+.3f}</span> '
