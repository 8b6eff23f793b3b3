"""Files, lines and functions of each room (subpackage) of the library, of one tree or of two side by side.

    python tools/count_rooms.py FOLDER [FOLDER]

FOLDER holds src/taxolearn. A room's row: files, lines, of them docstrings, of them code (neither blank, comment nor
docstring), functions and methods, their mean and largest number of lines, and the lines of `__init__` of classes: the
parameters that every estimator repeats. Nested functions count as functions of their own and as lines of the outer
one. Modules beside the rooms are the room "(top)". With two trees a cell is "before > after" and the last line has the
change of the totals. Exits with 1 if a file cannot be parsed.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from dataclasses import dataclass, field
from pathlib import Path

COLUMNS = ("files", "lines", "docstrings", "code", "functions", "mean", "largest", "__init__")
_NOT_CODE = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)


@dataclass
class Room:
    """What was counted in one room."""

    files: int = 0
    lines: int = 0
    docstrings: int = 0
    code: int = 0
    init: int = 0
    sizes: list[int] = field(default_factory=list)
    largest: str = ""

    def add(self, path: Path) -> None:
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source, str(path))
        documented = docstring_lines(tree)
        self.files += 1
        self.lines += len(source.splitlines())
        self.docstrings += len(documented)
        self.code += len(code_lines(source) - documented)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                size = span(node)
                if size > max(self.sizes, default=0):
                    self.largest = f"{path.name}:{node.name}"
                self.sizes.append(size)
            elif isinstance(node, ast.ClassDef):
                self.init += sum(
                    span(child)
                    for child in node.body
                    if isinstance(child, ast.FunctionDef) and child.name == "__init__"
                )

    def merge(self, other: Room) -> None:
        if max(other.sizes, default=0) > max(self.sizes, default=0):
            self.largest = other.largest
        for name in ("files", "lines", "docstrings", "code", "init"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.sizes += other.sizes

    def cells(self) -> list[str]:
        mean = f"{sum(self.sizes) / len(self.sizes):.1f}" if self.sizes else "-"
        largest = str(max(self.sizes, default=0))
        counts = [self.files, self.lines, self.docstrings, self.code, len(self.sizes)]
        return [*map(str, counts), mean, largest, str(self.init)]


def span(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function with its decorators."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return (node.end_lineno or node.lineno) - first + 1


def docstring_lines(tree: ast.Module) -> set[int]:
    found: set[int] = set()
    for node in ast.walk(tree):
        holds = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if holds and ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            found.update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return found


def code_lines(source: str) -> set[int]:
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NOT_CODE:
            found.update(range(token.start[0], token.end[0] + 1))
    return found


def rooms_of(folder: Path) -> dict[str, Room]:
    """Rooms by name, in alphabetical order, "(top)" first."""
    base = folder / "src" / "taxolearn"
    if not base.is_dir():
        sys.exit(f"{folder} does not hold src/taxolearn")
    rooms: dict[str, Room] = {}
    for path in sorted(base.rglob("*.py")):
        inside = path.relative_to(base).parts
        rooms.setdefault(inside[0] if len(inside) > 1 else "(top)", Room()).add(path)
    return dict(sorted(rooms.items()))


def total_of(rooms: dict[str, Room]) -> Room:
    total = Room()
    for room in rooms.values():
        total.merge(room)
    return total


def main() -> int:
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    try:
        trees = [rooms_of(Path(name)) for name in sys.argv[1:]]
    except SyntaxError as error:
        print(f"cannot parse {error.filename}: {error}")
        return 1
    totals = [total_of(rooms) for rooms in trees]
    names = sorted({name for rooms in trees for name in rooms})
    lines = [["room", *COLUMNS]]
    for name in [*names, "all"]:
        both = totals if name == "all" else [rooms.get(name, Room()) for rooms in trees]
        lines.append(
            [name, *(" > ".join(cells) for cells in zip(*(room.cells() for room in both), strict=True))]
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print(
            "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
        )
    print(
        "largest functions: " + " > ".join(f"{total.largest} ({max(total.sizes)} lines)" for total in totals)
    )
    told = [
        f"{t.files} files, {t.code} lines of code, {len(t.sizes)} functions, {t.init} lines of __init__"
        for t in totals
    ]
    print(" > ".join(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
