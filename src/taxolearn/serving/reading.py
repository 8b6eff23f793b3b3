"""Requests read and checked: bodies up to a size, forms and JSON, numbers within their range."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request

from taxolearn.serving.limits import Limits, Problem
from taxolearn.structure.names import show

_FORM = "application/x-www-form-urlencoded"
_JSON = "application/json"
_MOST_FIELDS = 100


async def body_of(request: Request, limits: Limits) -> bytes:
    """The body, if it is not too large and comes in time."""
    most = limits.body_bytes
    too_large = Problem(
        413, f"the request has more than {most:,} bytes; send less at a time", {"Connection": "close"}
    )
    told = request.headers.get("content-length", "")
    if told.isdigit() and int(told) > most:
        raise too_large
    parts, size = [], 0
    try:
        async with asyncio.timeout(limits.seconds):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise too_large
                parts.append(part)
    except TimeoutError:
        raise Problem(408, f"the request did not arrive within {limits.seconds:g} seconds") from None
    except ClientDisconnect:
        raise Problem(400, "the connection was closed before the request had arrived") from None
    return b"".join(parts)


async def fields_of(request: Request, limits: Limits) -> dict[str, Any]:
    """The fields of a form or of a JSON object."""
    kind = request.headers.get("content-type", _FORM).split(";")[0].strip().lower()
    body = await body_of(request, limits)
    if kind == _JSON:
        found = json_of(body)
        if not isinstance(found, dict):
            raise Problem(400, "expected a JSON object")
        return found
    if kind != _FORM:
        raise Problem(415, f"expected a body of type {_FORM} or {_JSON}")
    try:
        pairs = parse_qsl(
            body.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
        )
    except UnicodeDecodeError:
        raise Problem(400, "the form is not in UTF-8") from None
    except ValueError:
        raise Problem(400, f"the form has more than {_MOST_FIELDS} fields") from None
    return dict(pairs)


async def json_body(request: Request, limits: Limits) -> dict[str, Any]:
    """A JSON object, and nothing that a page of another site could send without asking."""
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != _JSON:
        raise Problem(415, f"expected a body of type {_JSON}")
    found = json_of(await body_of(request, limits))
    if not isinstance(found, dict):
        raise Problem(400, "expected a JSON object")
    return found


def json_of(body: bytes) -> Any:
    """What JSON says, or a problem.

    >>> json_of(b'{"text": "it purrs"}')
    {'text': 'it purrs'}
    """
    try:
        return json.loads(body.decode("utf-8"))
    except UnicodeDecodeError:
        raise Problem(400, "the body is not in UTF-8") from None
    except (ValueError, RecursionError):
        raise Problem(400, "the body is not valid JSON") from None


def text_of(fields: Mapping[str, Any], where: str = "") -> str:
    """The field `text`, as it was sent; half characters are replaced, as no text has them.

    >>> text_of({"text": "it purrs"})
    'it purrs'
    """
    if "text" not in fields:
        raise Problem(400, f"expected a field 'text'{where}")
    text = fields["text"]
    if not isinstance(text, str):
        raise Problem(400, f"expected a string as 'text'{where}, found {show(text)}")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def whole_number(fields: Mapping[str, Any], name: str, default: int, most: int) -> int:
    """A number of things, from 0 to `most`.

    >>> whole_number({"limit": "3"}, "limit", 10, 1000), whole_number({}, "limit", 10, 1000)
    (3, 10)
    """
    given = fields.get(name, default)
    if isinstance(given, str) and given.isascii() and given.isdigit() and len(given) < 10:
        given = int(given)
    if isinstance(given, bool) or not isinstance(given, int) or given < 0:
        raise Problem(400, f"expected a whole number from 0 on as {name!r}, found {show(given)}")
    return min(given, most)


def share(fields: Mapping[str, Any], name: str) -> float:
    """A number from 0 to 1; 0 where there is none.

    >>> share({"threshold": "0.5"}, "threshold")
    0.5
    """
    given = fields.get(name, 0.0)
    try:
        value = float(given) if not isinstance(given, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not 0.0 <= value <= 1.0:
        raise Problem(400, f"expected a number from 0 to 1 as {name!r}, found {show(given)}")
    return value
