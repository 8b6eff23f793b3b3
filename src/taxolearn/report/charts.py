"""Two small charts as SVG: numbers only, no text of strangers. Colours come from the page's style sheet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

_WIDTH, _HEIGHT = 420, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 16, 12, 40
_MARKS = ("circle", "square", "diamond", "triangle")
_LEVELS = 6  # that are drawn; the tables have all


def reliability_chart(entries: Sequence[dict[str, Any]]) -> str:
    """Share of right answers over their probability, a line per level; whiskers are 95% intervals.

    >>> right = {"value": 0.8, "low": 0.7, "high": 0.9}
    >>> chart = reliability_chart([{"level": 1, "bins": [{"probability": 0.85, "answers": 9, "right": right}]}])
    >>> chart.startswith("<svg"), chart.count("<circle")
    (True, 2)
    """
    parts = [*_frame(1.0, "probability", "share right"), _line([(0, 0), (1, 1)], 1.0, "diagonal")]
    shown = entries[:_LEVELS]
    for place, entry in enumerate(shown):
        points = [(one["probability"], one["right"]["value"]) for one in entry["bins"]]
        for one in entry["bins"]:
            x = one["probability"]
            parts.append(
                _line([(x, one["right"]["low"]), (x, one["right"]["high"])], 1.0, f"whisker s{place}")
            )
        parts.append(_line(points, 1.0, f"line s{place}"))
        parts += [_mark(x, y, 1.0, place) for x, y in points]
    names = [f"level {entry['level']}" for entry in shown]
    return _svg([*parts, *_legend(names)])


def coverage_chart(entries: Sequence[dict[str, Any]], deepest: float) -> str:
    """Covered rows over the mean depth of answers, a point for each coverage that was asked for.

    Points that fall together get the note of the highest coverage: the table has all.

    >>> covered = {"value": 0.9, "low": 0.8, "high": 0.95}
    >>> coverage_chart([{"asked": 0.9, "covered": covered, "depth": 1.5}], 2.0).count("<circle")
    1
    """
    width = max([deepest, *(entry["depth"] for entry in entries)]) * 1.05 or 1.0
    parts = [*_frame(width, "mean depth of answers", "share covered")]
    points = [(entry["depth"], entry["covered"]["value"]) for entry in entries]
    for entry in entries:
        x = entry["depth"]
        parts.append(
            _line([(x, entry["covered"]["low"]), (x, entry["covered"]["high"])], width, "whisker s0")
        )
    parts.append(_line(points, width, "line s0"))
    parts += [_mark(x, y, width, 0) for x, y in points]
    noted: list[tuple[float, float]] = []
    for entry, (x, y) in reversed(list(zip(entries, points, strict=True))):
        left, top = _at(x, y, width)
        if all(abs(left - other) > 26 or abs(top - above) > 11 for other, above in noted):
            noted.append((left, top))
            at = f'x="{left - 7:.1f}" y="{top + 14:.1f}"'
            parts.append(f'<text class="note" {at} text-anchor="end">{entry["asked"]:.0%}</text>')
    return _svg(parts)


def _at(x: float, y: float, width: float) -> tuple[float, float]:
    room = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    return _LEFT + room[0] * x / width, _TOP + room[1] * (1 - y)


def _line(points: Sequence[tuple[float, float]], width: float, kind: str) -> str:
    steps = " ".join("{:.1f},{:.1f}".format(*_at(x, y, width)) for x, y in points)
    return f'<polyline class="{kind}" points="{steps}"/>'


def _mark(x: float, y: float, width: float, place: int) -> str:
    return _shape(*_at(x, y, width), place)


def _shape(left: float, top: float, place: int) -> str:
    kind, name = _MARKS[place % len(_MARKS)], f"mark s{place}"
    if kind == "circle":
        return f'<circle class="{name}" cx="{left:.1f}" cy="{top:.1f}" r="4"/>'
    sides = {
        "square": ((-4, -4), (4, -4), (4, 4), (-4, 4)),
        "diamond": ((0, -5), (5, 0), (0, 5), (-5, 0)),
        "triangle": ((0, -5), (5, 4), (-5, 4)),
    }[kind]
    points = " ".join(f"{left + x:.1f},{top + y:.1f}" for x, y in sides)
    return f'<polygon class="{name}" points="{points}"/>'


def _frame(width: float, across: str, up: str) -> Iterator[str]:
    for step in range(6):
        y = step / 5
        left, top = _at(0, y, width)
        yield f'<line class="grid" x1="{left}" y1="{top:.1f}" x2="{_WIDTH - _RIGHT}" y2="{top:.1f}"/>'
        yield f'<text x="{left - 6}" y="{top + 4:.1f}" text-anchor="end">{y:.1f}</text>'
        x, _ = _at(width * y, 0, width)
        yield f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle">{width * y:.1f}</text>'
    middle = _LEFT + (_WIDTH - _LEFT - _RIGHT) / 2
    yield f'<text x="{middle}" y="{_HEIGHT - 6}" text-anchor="middle">{across}</text>'
    centre = _TOP + (_HEIGHT - _TOP - _BOTTOM) / 2
    yield f'<text transform="translate(12 {centre}) rotate(-90)" text-anchor="middle">{up}</text>'


def _legend(names: Sequence[str]) -> Iterator[str]:
    for place, name in enumerate(names):
        top = _TOP + 14 + 18 * place
        yield _shape(_LEFT + 16, top - 4, place)
        yield f'<text x="{_LEFT + 28}" y="{top}">{name}</text>'


def _svg(parts: Sequence[str]) -> str:
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    return f'<svg class="chart" {size} aria-hidden="true">{"".join(parts)}</svg>'
