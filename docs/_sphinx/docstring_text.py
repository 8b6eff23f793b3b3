"""Docstrings as they are written here, made into reStructuredText: plain prose with formulas set in by four blanks.

`|x|`, `vectors_` and `*` mean themselves, and a formula keeps its lines. Examples and code stay as they are.
"""

from __future__ import annotations

import re
from typing import Any

_CODE = re.compile(r"(``.*?``|`[^`]*`)")
_SPECIAL = re.compile(r"(?<!\\)([|*]|(?<=\w)_(?!\w))")
_MARKUP = re.compile(r"\s*(?:\.\. |:\w+|- |\d+\. |>>> )")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _escaped(line: str) -> str:
    """The line with characters that reStructuredText would take for markup escaped, outside of backticks."""
    field = re.match(r"\s*:\w+(?: [^:]*)?:", line)
    head = field[0] if field else ""
    parts = _CODE.split(line[len(head) :])
    return head + "".join(part if i % 2 else _SPECIAL.sub(r"\\\1", part) for i, part in enumerate(parts))


def rewritten(lines: list[str]) -> list[str]:
    """All lines of a docstring."""
    found: list[str] = []
    base, literal, example = 0, False, False
    for place, line in enumerate(lines):
        before = lines[place - 1] if place else ""
        if not line.strip():
            example = False
            found.append(line)
            continue
        if literal and _indent(line) > base:
            found.append(line)
            continue
        literal = False
        if line.lstrip().startswith(">>>"):
            example = True
        if example:
            found.append(line)
            continue
        text_above = next((each for each in reversed(lines[:place]) if each.strip()), "")
        set_in = _indent(line) >= _indent(text_above) + 4 and not before.strip() and text_above
        if set_in and not _MARKUP.match(text_above) and not _MARKUP.match(line):
            base, literal = _indent(text_above), True
            found += [" " * base + "::", "", line]
            continue
        found.append(_escaped(line))
    return found


def _process(app: Any, what: str, name: str, of: Any, options: Any, lines: list[str]) -> None:
    lines[:] = rewritten(lines)


def _skip(app: Any, what: str, name: str, of: Any, skip: bool, options: Any) -> bool | None:
    """What scikit-learn adds to every estimator to route metadata is documented there."""
    return True if name == "get_metadata_routing" or re.fullmatch(r"set_\w+_request", name) else None


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", _process, priority=900)  # after napoleon
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True}
