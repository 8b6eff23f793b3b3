"""What stands before every request: who may ask, how many at a time, and what browsers are told about answers."""

from __future__ import annotations

import ipaddress
import json
import logging
from collections.abc import Collection
from typing import Any

from starlette.exceptions import HTTPException

from taxolearn.errors import TaxolearnError
from taxolearn.serving.limits import Limits, Problem

_LOG = logging.getLogger("taxolearn.serving")

# The page loads its own files alone, runs no script of anybody else, and is shown in no frame.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_NO_STORE = (b"cache-control", b"no-store")


class Guard:
    """An ASGI application around another one; all that fails becomes a problem in one sentence of JSON.

    `hosts` are the names by which the server may be called. An IP address and localhost always may: a page of another
    site that had its own name pointed here ("DNS rebinding") would call the server by that name.

    >>> Guard(None, Limits(), {"ask.example.org"}).knows("ASK.example.org:8000")
    True
    >>> Guard(None, Limits(), ()).knows("evil.example"), Guard(None, Limits(), ()).knows("[::1]:8000")
    (False, True)
    """

    def __init__(self, app: Any, limits: Limits, hosts: Collection[str]) -> None:
        self._app, self._limits = app, limits
        self._hosts = {host.lower().rstrip(".") for host in hosts} | {"localhost"}
        self._known: set[str] = set()
        self.at_work = 0

    def knows(self, host: str) -> bool:
        """Whether the server may be called by this `Host`."""
        if host in self._known:
            return True
        name = host.lower().rpartition(":")[0] if _has_port(host) else host.lower()
        allowed = name.rstrip(".") in self._hosts or _is_address(name)
        if allowed and len(self._known) < 1000:
            self._known.add(host)
        return allowed

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def guarded(message: Any) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = list(message.get("headers", ()))
                if not any(name == b"cache-control" for name, _ in headers):
                    headers.append(_NO_STORE)
                message = {**message, "headers": headers + _HEADERS}
            await send(message)

        self.at_work += 1
        try:
            self._check(scope)
            await self._app(scope, receive, guarded)
        except Exception as error:  # the server stays up
            if started:
                raise
            await _tell(_as_problem(error), guarded)
        finally:
            self.at_work -= 1

    def _check(self, scope: Any) -> None:
        found = dict(scope["headers"])
        if not self.knows(found.get(b"host", b"").decode("latin-1")):
            raise Problem(
                421, "this server is not called by that name; start it with --allow-host NAME to allow one"
            )
        if scope["method"] not in ("GET", "HEAD") and found.get(b"sec-fetch-site", b"none") not in (
            b"same-origin",
            b"none",
        ):
            raise Problem(403, "a page of another site may not send this")
        if self.at_work > self._limits.waiting and scope["path"] != "/healthz":
            raise Problem(503, "too many requests are waiting; ask again in a moment", {"Retry-After": "1"})


def _as_problem(error: Exception) -> Problem:
    """Whatever went wrong, as whoever asked is told."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):
        detail = {404: "there is nothing at this address", 405: "this address takes other methods"}
        return Problem(
            error.status_code, detail.get(error.status_code, error.detail), dict(error.headers or {})
        )
    if isinstance(error, TaxolearnError):
        return Problem(400, " ".join(str(error).split()))
    _LOG.error("a request failed", exc_info=error)
    return Problem(500, "the server failed; its log says why")


async def _tell(problem: Problem, send: Any) -> None:
    body = json.dumps(problem.as_json()).encode()
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(body)).encode())]
    headers += [(name.lower().encode(), value.encode()) for name, value in problem.headers.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _has_port(host: str) -> bool:
    return host.rpartition(":")[2].isdigit() and (host.count(":") == 1 or "]:" in host)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True
