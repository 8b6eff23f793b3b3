"""The pages of the documentation, taken apart: code to run, excerpts to compare, links to follow.

An excerpt is a code block right below a line such as

    <!-- include: src/taxolearn/losses/hinge.py Hinge.kernel_step -->

(the file alone, or one name in it: a function, a class, a method or an assignment). A table that is made of the
sources stands between two lines,

    <!-- table: methods -->
    <!-- end of table -->

and its name is one of `TABLES`. After a change in the sources `python tests/docs/doc_pages.py` writes excerpts and
tables anew.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import taxolearn
from taxolearn.registry import METHODS, STARTER, Method

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts),
]

_BLOCK = re.compile(
    r"^(?:<!-- include: (?P<file>\S+)(?: (?P<name>\S+))? -->\n)?```(?P<language>\w*)\n(?P<code>.*?)^```$",
    re.M | re.S,
)
_MARKER = re.compile(r"^<!-- include:", re.M)
_TABLE = re.compile(r"^<!-- table: (?P<name>\S+) -->\n(?P<rows>.*?)^<!-- end of table -->$", re.M | re.S)
_TABLE_MARKER = re.compile(r"^<!-- (?:table:|end of table)", re.M)
_LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(?P<title>.+?) *$", re.M)


class Block(NamedTuple):
    """A fenced block: where it starts, its language and text, and the source it is an excerpt of."""

    line: int
    language: str
    code: str
    file: str | None
    name: str | None


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(text.count("\n", 0, m.start("code")) + 1, m["language"], m["code"], m["file"], m["name"])
        for m in _BLOCK.finditer(text)
    ]


def n_markers(page: Path) -> int:
    """How many include lines the page has, whether or not a block follows."""
    return len(_MARKER.findall(page.read_text(encoding="utf-8")))


def excerpt(file: str, name: str | None) -> str:
    """The source text of a whole file, or of one name in it with its decorators, not indented."""
    source = (ROOT / file).read_text(encoding="utf-8")
    if name is None:
        return source
    body: list[ast.stmt] = ast.parse(source).body
    node: ast.stmt | None = None
    for part in name.split("."):
        node = next((n for n in body if part in _names(n)), None)
        if node is None:
            raise LookupError(f"{file} has no {name}")
        body = getattr(node, "body", [])
    assert node is not None
    decorators = getattr(node, "decorator_list", [])
    start = min([node.lineno, *(d.lineno for d in decorators)])
    lines = source.splitlines(keepends=True)[start - 1 : node.end_lineno]
    return textwrap.dedent("".join(lines))


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
    return [target.id for target in targets if isinstance(target, ast.Name)]


def links(page: Path) -> list[str]:
    """Targets of the page's links that lead to files or headings, code left out."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    text = re.sub(r"`[^`\n]*`", "", text)
    found = [m["target"] for m in _LINK.finditer(text)]
    return [target for target in found if not re.match(r"[a-z]+:", target)]


def anchors(page: Path) -> set[str]:
    """Names that `page.md#name` may use, made of its headings as GitHub does."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    titles = [m["title"].lower() for m in _HEADING.finditer(text)]
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


class Table(NamedTuple):
    """A table between its two markers: where it starts, its name and its lines."""

    line: int
    name: str
    rows: str


def tables(page: Path) -> list[Table]:
    """The tables of a page that are made of the sources."""
    text = page.read_text(encoding="utf-8")
    return [
        Table(text.count("\n", 0, m.start("rows")) + 1, m["name"], m["rows"]) for m in _TABLE.finditer(text)
    ]


def n_table_markers(page: Path) -> int:
    """How many lines begin or end a table: two per table if all is well."""
    return len(_TABLE_MARKER.findall(page.read_text(encoding="utf-8")))


def _methods_table() -> str:
    """A line per method of the registry."""
    lines = [
        "| class | `--method` | what it is | losses | several labels | paper |",
        "|---|---|---|---|---|---|",
    ]
    for method in METHODS:
        losses = ", ".join(f"`{loss}`" for loss in method.losses) or "its own"
        several = "yes" if method.several else "no"
        page = f"[`{method.class_name}`](methods/{method.name}.md)"
        cells = (page, f"`{method.name}`", method.title, losses, several, method.paper)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _lead(method: Method) -> str:
    """What the docstring of a method says before its parameters: what it is, and its objective."""
    lead, _, _ = inspect.cleandoc(method.kind.__doc__).partition("\nParameters\n")
    return lead.strip()


def _method_facts(method: Method) -> str:
    """The part of a method's page that the registry and the docstring say."""
    papers = "\n".join(f"- Paper: {paper}" for paper in method.paper.split("; "))
    losses = ", ".join(f"`{loss}`" for loss in method.losses) or "its own"
    return f"""
{method.title[0].upper()}{method.title[1:]}.

- In Python: `taxolearn.{method.class_name}`; on the command line: `--method {method.name}`
- Losses: {losses}
- Several labels per row: {"yes" if method.several else "no"}
{papers}

## What it minimises

{_lead(method)}

"""


def _public_names() -> str:
    """A line of the reference per public name that is no method."""
    classes = {method.class_name for method in (STARTER, *METHODS)}
    lines = []
    for name in taxolearn.__all__:
        if name in classes:
            continue
        kind = "class" if inspect.isclass(getattr(taxolearn, name)) else "function"
        members = "   :members:\n" if kind == "class" else ""
        lines.append(f"````{{eval-rst}}\n.. auto{kind}:: taxolearn.{name}\n{members}````\n")
    return "\n".join(lines)


TABLES: dict[str, Callable[[], str]] = {
    "methods": _methods_table,
    "public": _public_names,
    **{f"method:{method.name}": partial(_method_facts, method) for method in (STARTER, *METHODS)},
}


def _renew(page: Path) -> None:
    def fresh_table(m: re.Match[str]) -> str:
        return f"<!-- table: {m['name']} -->\n{TABLES[m['name']]()}<!-- end of table -->"

    def fresh(m: re.Match[str]) -> str:
        if m["file"] is None:
            return m[0]
        opening = m[0][: m.start("code") - m.start()]
        return f"{opening}{excerpt(m['file'], m['name'])}```"

    text = _BLOCK.sub(fresh, page.read_text(encoding="utf-8"))
    page.write_text(_TABLE.sub(fresh_table, text), encoding="utf-8")


if __name__ == "__main__":
    for each in PAGES:
        _renew(each)
