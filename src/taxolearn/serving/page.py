"""The page for people: some files of the package, which ask nobody else for anything."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

# Every file by its name: no part of an address ever becomes part of a path.
_FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/common.js": ("common.js", "text/javascript; charset=utf-8"),
    "/batch.js": ("batch.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}


@cache
def _asset(name: str) -> bytes:
    return files("taxolearn.serving").joinpath("assets", name).read_bytes()


async def _page(request: Request) -> Response:
    name, media_type = _FILES[request.url.path]
    return Response(_asset(name), media_type=media_type, headers={"Cache-Control": "no-cache"})


def page_routes() -> list[Route]:
    """The addresses of the page and its parts.

    >>> [route.path for route in page_routes()][:2]
    ['/', '/page.css']
    """
    return [Route(path, _page) for path in _FILES]
