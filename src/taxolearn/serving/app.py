"""The web application: a page for people, and beside it a REST interface in the shapes of Annif's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

import taxolearn
from taxolearn.serving.batching import Batcher
from taxolearn.serving.corrections import Corrections
from taxolearn.serving.facts import model_facts, project_facts, vocabulary_facts
from taxolearn.serving.guard import Guard
from taxolearn.serving.limits import Limits, Problem
from taxolearn.serving.openapi import description
from taxolearn.serving.page import page_routes
from taxolearn.serving.reading import body_of, fields_of, json_body, share, text_of, whole_number
from taxolearn.serving.served import ServedModel
from taxolearn.structure.names import show

_LIMIT = 10  # results, as in Annif
_FOUND = 20  # nodes of a search


class Table(Protocol):
    """What is read of a dropped file."""

    @property
    def column(self) -> str:
        """The column of the texts."""

    @property
    def columns(self) -> list[str]:
        """All columns."""

    @property
    def texts(self) -> list[str]:
        """The texts."""

    @property
    def left_out(self) -> int:
        """How many rows could not be used."""


ReadTable = Callable[[str, bytes, str | None, int], Table]


class Application:
    """The answers to all requests; `read_table` reads files that are dropped on the page.

    >>> from taxolearn import OneVsRestSVM, TextClassifier
    >>> from taxolearn.text import TextFeatures
    >>> model = TextClassifier(OneVsRestSVM(), TextFeatures()).fit(["it purrs", "it barks"], ["Cat", "Dog"])
    >>> "/v1/explain" in [route.path for route in Application(ServedModel(model, "pets"), Limits()).routes()]
    True
    """

    def __init__(
        self,
        served: ServedModel,
        limits: Limits,
        corrections: Corrections | None = None,
        read_table: ReadTable | None = None,
        language: str = "und",
    ) -> None:
        self._served, self._limits, self._corrections = served, limits, corrections
        self._read_table, self._language = read_table, language

    @cached_property
    def _batcher(self) -> Batcher:
        """With a thread of its own, made in the process that serves."""
        return Batcher(self._served.suggest, ThreadPoolExecutor(1, "taxolearn-suggest"))

    @cached_property
    def _thread(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(1, "taxolearn-explain")

    def routes(self) -> list[Route]:
        """All addresses."""
        project = "/v1/projects/{project_id}"
        return [
            *page_routes(),
            Route("/healthz", self.health),
            Route("/v1", self.info),
            Route("/v1/", self.info),
            Route("/v1/openapi.json", self.openapi),
            Route("/v1/model", self.model),
            Route("/v1/vocabs", self.vocabularies),
            Route("/v1/projects", self.projects),
            Route(project, self.project),
            Route(f"{project}/suggest", self.suggest, methods=["POST"]),
            Route(f"{project}/suggest-batch", self.suggest_batch, methods=["POST"]),
            Route(f"{project}/vocabulary.tsv", self.vocabulary),
            Route("/v1/explain", self.explain, methods=["POST"]),
            Route("/v1/nodes", self.nodes),
            Route("/v1/table", self.table, methods=["POST"]),
            Route("/v1/corrections", self.correct, methods=["POST"]),
        ]

    async def _soon(self, work: Any) -> Any:
        """The result of what is under way, or a problem when it takes too long."""
        try:
            return await asyncio.wait_for(work, self._limits.seconds)
        except TimeoutError:
            raise Problem(
                504, f"the answer took more than {self._limits.seconds:g} seconds; send less at a time"
            ) from None

    async def _in_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return await self._soon(
            asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)
        )

    def _check_project(self, request: Request) -> None:
        asked = request.path_params["project_id"]
        if asked != self._served.name:
            raise Problem(404, f"Project {show(asked)} not found; this server has {show(self._served.name)}")

    def _check_language(self, fields: Any) -> None:
        asked = fields.get("language")
        if asked not in (None, "", self._language):
            raise Problem(400, f"language {show(asked)} not supported by vocabulary")

    async def health(self, request: Request) -> Response:
        """Whether the server answers."""
        return _json({"status": "ok"})

    async def info(self, request: Request) -> Response:
        """What this is."""
        return _json({"title": "taxolearn REST API", "version": taxolearn.__version__})

    async def openapi(self, request: Request) -> Response:
        """The description of this interface."""
        return _json(description(self._served.name, self._limits))

    async def model(self, request: Request) -> Response:
        """Method, sizes, certificate and abilities of the model."""
        facts = model_facts(self._served, self._limits)
        return _json({**facts, "takes_corrections": self._corrections is not None})

    async def vocabularies(self, request: Request) -> Response:
        """The one vocabulary, as Annif lists them."""
        return _json({"vocabs": [vocabulary_facts(self._served, self._language)]})

    async def projects(self, request: Request) -> Response:
        """The one project, as Annif lists them."""
        return _json({"projects": [project_facts(self._served, self._language)]})

    async def project(self, request: Request) -> Response:
        """The project, as Annif describes one."""
        self._check_project(request)
        return _json(project_facts(self._served, self._language))

    async def suggest(self, request: Request) -> Response:
        """The best labels of one text."""
        self._check_project(request)
        fields = await fields_of(request, self._limits)
        self._check_language(fields)
        limit = whole_number(fields, "limit", _LIMIT, self._limits.results)
        threshold = share(fields, "threshold")
        [found] = await self._soon(self._batcher.ask([text_of(fields)], limit))
        return _json({"results": _above(found, threshold)})

    async def suggest_batch(self, request: Request) -> Response:
        """The best labels of several texts."""
        self._check_project(request)
        self._check_language(request.query_params)
        limit = whole_number(request.query_params, "limit", _LIMIT, self._limits.results)
        threshold = share(request.query_params, "threshold")
        documents = (await json_body(request, self._limits)).get("documents")
        if not isinstance(documents, list) or not all(isinstance(one, dict) for one in documents):
            raise Problem(400, "expected a list of objects as 'documents'")
        if len(documents) > self._limits.batch:
            raise Problem(400, f"expected up to {self._limits.batch} documents, found {len(documents):,}")
        texts = [text_of(one, f" of document {place}") for place, one in enumerate(documents)]
        found = await self._soon(self._batcher.ask(texts, limit)) if texts else []
        return _json(
            [
                {"results": _above(results, threshold), "document_id": one.get("document_id")}
                for results, one in zip(found, documents, strict=True)
            ]
        )

    async def vocabulary(self, request: Request) -> Response:
        """The classes as a vocabulary that `annif load-vocab` reads."""
        self._check_project(request)
        lines = (
            "\t".join([f"<{' '.join(uri.split())}>", *(" ".join(cell.split()) for cell in cells)]).rstrip()
            for uri, *cells in self._served.vocabulary()
        )
        body = "".join(f"{line}\n" for line in lines)
        return Response(
            body.encode("utf-8", "replace"), media_type="text/tab-separated-values; charset=utf-8"
        )

    async def explain(self, request: Request) -> Response:
        """Everything about one text."""
        fields = await fields_of(request, self._limits)
        text, label = text_of(fields), fields.get("label") or None
        others = whole_number(fields, "limit", 5, 100)
        name = None if label is None else self._served.class_called(str(label))
        return _json(await self._in_thread(self._served.explain, text, name, others))

    async def nodes(self, request: Request) -> Response:
        """Nodes that some letters may mean (`q`), or the children of a node (`below`), with their paths."""
        asked = request.query_params
        limit = whole_number(asked, "limit", _FOUND, self._limits.results)
        book = self._served.book
        if "q" in asked:
            found, total = await self._in_thread(book.search, asked["q"][:200], limit)
        else:
            above = None
            if asked.get("below"):
                above = book.node(asked["below"])
                if above is None:
                    raise Problem(404, f"{show(asked['below'])} is not a node of the taxonomy")
            below = book.children(above)
            found, total = below[:limit], len(below)
        return _json(
            {
                "nodes": [
                    {**book.card(one), "path": book.path(one), "class": book.is_class(one)} for one in found
                ],
                "total": total,
            }
        )

    async def table(self, request: Request) -> Response:
        """The answers to all rows of a file."""
        if self._read_table is None:
            raise Problem(404, "this server reads no files; send texts to suggest-batch")
        body = await body_of(request, self._limits)
        name, column = request.query_params.get("name", "rows.csv"), request.query_params.get("text") or None
        return _json(await self._in_thread(self._answer_table, name, body, column))

    def _answer_table(self, name: str, body: bytes, column: str | None) -> dict[str, Any]:
        assert self._read_table is not None
        table = self._read_table(name, body, column, self._limits.table_rows)
        texts = table.texts[: self._limits.table_rows]
        answers = [
            found
            for first in range(0, len(texts), 64)
            for found in self._served.predicted(texts[first : first + 64])
        ]
        return {
            "columns": table.columns,
            "text": table.column,
            "rows": [{"text": text, "answers": found} for text, found in zip(texts, answers, strict=True)],
            "left_out": table.left_out,
            "more": len(table.texts) > len(texts),
        }

    async def correct(self, request: Request) -> Response:
        """Write down what is right."""
        if self._corrections is None:
            raise Problem(403, "this server takes no corrections; start it without --no-corrections")
        fields = await json_body(request, self._limits)
        text, labels = text_of(fields), fields.get("labels")
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise Problem(400, "expected a list of strings as 'labels'")
        if not labels or (len(labels) > 1 and not self._served.several):
            raise Problem(
                400, f"expected {'labels' if self._served.several else 'one label'}, found {len(labels):,}"
            )
        if not text.strip():
            raise Problem(400, "there is no text to learn from")
        names = [self._served.node_called(label) for label in dict.fromkeys(labels)]
        await self._in_thread(self._write, text, names)
        return _json({"saved": [self._served.book.card(name) for name in names]}, 201)

    def _write(self, text: str, names: list[Any]) -> None:
        assert self._corrections is not None
        answered = [self._served.class_called(one["name"]) for one in self._served.predicted([text])[0]]
        written = text if self._served.is_text else self._served.libsvm(text)
        try:
            self._corrections.append(written, names, several=self._served.several, predicted=answered)
        except OSError as error:
            raise Problem(
                507, f"the correction could not be written ({error.strerror}); it is lost"
            ) from None


def create_app(
    fitted: Any,
    *,
    name: str = "model",
    limits: Limits | None = None,
    corrections: Corrections | None = None,
    read_table: ReadTable | None = None,
    hosts: Collection[str] = (),
    language: str = "und",
    folder: str | None = None,
) -> Guard:
    """An ASGI application over a fitted model, for `taxolearn serve` or any ASGI server.

    >>> from taxolearn import OneVsRestSVM, TextClassifier
    >>> from taxolearn.text import TextFeatures
    >>> model = TextClassifier(OneVsRestSVM(), TextFeatures()).fit(["it purrs", "it barks"], ["Cat", "Dog"])
    >>> app = create_app(model, name="pets")
    """
    limits = limits or Limits()
    application = Application(ServedModel(fitted, name, folder), limits, corrections, read_table, language)
    router = Router(application.routes(), redirect_slashes=False)

    async def routed(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope["app"] = router  # so that what is not found is an exception, and becomes a problem
        await router(scope, receive, send)

    return Guard(routed, limits, hosts)


def _above(found: list[dict[str, Any]], threshold: float) -> list[dict[str, Any]]:
    return [one for one in found if one["score"] >= threshold] if threshold else found


def _json(value: Any, status: int = 200) -> Response:
    body = json.dumps(value, ensure_ascii=False, default=str, separators=(",", ":"), allow_nan=False)
    return Response(body.encode("utf-8", "replace"), status, media_type="application/json")
