"""How much a request may ask for, and how it is told that it asked for too much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Limits:
    """Limits of a server.

    - `body_bytes`: of a request; more is 413.
    - `batch`: documents of `suggest-batch`, as in Annif; `table_rows`: rows of a dropped file.
    - `results`: of one text. `seconds`: until an answer; later is 504.
    - `waiting`: requests at work or in line, in one process; more are 503.

    >>> Limits(seconds=5).batch
    32
    """

    body_bytes: int = 8 * 2**20
    batch: int = 32
    table_rows: int = 5_000
    results: int = 1_000
    seconds: float = 30.0
    waiting: int = 256


class Problem(Exception):
    """What is wrong with a request, in one sentence, with its HTTP status.

    >>> Problem(413, "the request is too large").as_json()
    {'type': 'about:blank', 'title': 'Request Entity Too Large', 'status': 413, 'detail': 'the request is too large'}
    """

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers or {}

    def as_json(self) -> dict[str, Any]:
        """As RFC 9457 has it, and Annif writes it."""
        from http import HTTPStatus

        title = HTTPStatus(self.status).phrase
        return {"type": "about:blank", "title": title, "status": self.status, "detail": self.detail}
