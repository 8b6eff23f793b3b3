"""The OpenAPI description of the REST interface; where Annif has the same address, its shapes are Annif's."""

from __future__ import annotations

from typing import Any

import taxolearn
from taxolearn.serving.limits import Limits

_TEXT = {"type": "string"}
_MAYBE_TEXT = {"type": "string", "nullable": True}
_MAYBE_NUMBER = {"type": "number", "nullable": True}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _object(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
    }


def _answer(schema: dict[str, Any], status: str = "200") -> dict[str, Any]:
    problem = {"application/problem+json": {"schema": _ref("Problem")}}
    return {
        status: {"description": "done", "content": {"application/json": {"schema": schema}}},
        "default": {"description": "what is wrong, in one sentence", "content": problem},
    }


def _operation(
    summary: str, schema: dict[str, Any], *, status: str = "200", body: Any = None, parameters: Any = ()
) -> dict[str, Any]:
    found: dict[str, Any] = {"summary": summary, "responses": _answer(schema, status)}
    if parameters:
        found["parameters"] = list(parameters)
    if body is not None:
        found["requestBody"] = {"required": True, "content": body}
    return found


def _query(name: str, schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"in": "query", "name": name, "schema": schema, "description": description}


_PROJECT = {"in": "path", "name": "project_id", "required": True, "schema": _TEXT}
_NUMBER_OF_RESULTS = {"type": "integer", "format": "int32", "default": 10, "minimum": 0}
_THRESHOLD = {"type": "number", "default": 0.0, "minimum": 0.0, "maximum": 1.0}


def _schemas() -> dict[str, Any]:
    node = {"name": _TEXT, "title": _TEXT, "uri": _TEXT, "notation": _MAYBE_TEXT}
    on_path = _object({**node, "probability": _MAYBE_NUMBER})
    term = {"value": {"type": "number"}}
    contribution = _list(_object({"feature": _TEXT, **term}))
    words = _list(_object({"word": _TEXT, **term}))
    named = {**node, "label": _TEXT, "path": _list(on_path), "probability": _MAYBE_NUMBER}
    maybe_node = {**_object(node), "nullable": True}
    return {
        "ApiInfo": _object({"title": _TEXT, "version": _TEXT}),
        "Vocabulary": _object(
            {
                "vocab_id": _TEXT,
                "languages": _list(_TEXT),
                "size": {"type": "integer", "nullable": True},
                "loaded": {"type": "boolean"},
            },
            ["vocab_id"],
        ),
        "VocabularyList": _object({"vocabs": _list(_ref("Vocabulary"))}),
        "Project": _object(
            {
                "project_id": _TEXT,
                "name": _TEXT,
                "language": _TEXT,
                "backend": _object({"backend_id": _TEXT}),
                "vocab": _ref("Vocabulary"),
                "vocab_language": _MAYBE_TEXT,
                "is_trained": {"type": "boolean", "nullable": True},
                "modification_time": {"type": "string", "format": "date-time", "nullable": True},
            },
            ["backend", "language", "name", "project_id"],
        ),
        "ProjectList": _object({"projects": _list(_ref("Project"))}),
        "SuggestionResult": _object(
            {
                "uri": _TEXT,
                "label": _TEXT,
                "notation": _MAYBE_TEXT,
                "score": {
                    "type": "number",
                    "description": "the probability; without one, 1 / (1 + exp(-raw_score)), which only ranks",
                },
                "name": {**_TEXT, "description": "what `predict` answers"},
                "path": {**_list(_TEXT), "description": "from the top of the taxonomy down"},
                "probability": _MAYBE_NUMBER,
                "raw_score": {"type": "number"},
            },
            ["label", "score", "uri", "name", "path", "probability", "raw_score"],
        ),
        "SuggestionResultList": _object({"results": _list(_ref("SuggestionResult"))}),
        "BatchSuggestionResultList": _list(
            _object({"results": _list(_ref("SuggestionResult")), "document_id": _MAYBE_TEXT}, ["results"])
        ),
        "Document": _object(
            {
                "text": _TEXT,
                "document_id": _TEXT,
                "metadata": {"type": "object", "additionalProperties": _TEXT},
            },
            ["text"],
        ),
        "Explanation": _object(
            {
                **named,
                "score": {"type": "number"},
                "predicted": _list(_ref("SuggestionResult")),
                "runners_up": _list(_object({**named, "score": {"type": "number"}})),
                "contributions": contribution,
                "words": words,
                "nodes": _list(
                    _object(
                        {
                            **named,
                            "score": {"type": "number"},
                            "best": maybe_node,
                            "margin": _MAYBE_NUMBER,
                            "runner_up": maybe_node,
                            "rival": maybe_node,
                            "contributions": contribution,
                            "deciding": contribution,
                            "words": words,
                            "deciding_words": words,
                            "siblings": _list(on_path),
                        },
                        [
                            *named,
                            "score",
                            "best",
                            "margin",
                            "runner_up",
                            "contributions",
                            "deciding",
                            "siblings",
                        ],
                    )
                ),
                "stop": {
                    **_object({**node, "asked": _TEXT, "sentence": _TEXT, "further": maybe_node}),
                    "description": "where a 95% answer stops",
                },
                "known": {"type": "boolean", "description": "whether the model knows a word of the text"},
                "long": {
                    "type": "boolean",
                    "description": "whether features stand in for words: the text is long",
                },
                "no_stop": _MAYBE_TEXT,
                "no_probabilities": _MAYBE_TEXT,
            },
            [
                *named,
                "score",
                "predicted",
                "runners_up",
                "contributions",
                "nodes",
                "known",
                "no_stop",
                "no_probabilities",
            ],
        ),
        "Node": _object({**node, "path": _list(_object(node)), "class": {"type": "boolean"}}),
        "Problem": _object(
            {"type": _TEXT, "title": _TEXT, "status": {"type": "integer"}, "detail": _TEXT},
        ),
    }


def description(project: str, limits: Limits) -> dict[str, Any]:
    """The whole description, as OpenAPI 3.0 has it.

    >>> description("pets", Limits())["openapi"]
    '3.0.3'
    """
    text = _object(
        {
            "text": _TEXT,
            "limit": _NUMBER_OF_RESULTS,
            "threshold": _THRESHOLD,
            "language": _TEXT,
        },
        ["text"],
    )
    explained = _object(
        {"text": _TEXT, "label": _TEXT, "limit": {**_NUMBER_OF_RESULTS, "default": 5}}, ["text"]
    )
    correction = _object({"text": _TEXT, "labels": {**_list(_TEXT), "minItems": 1}})
    documents = _object({"documents": {**_list(_ref("Document")), "maxItems": limits.batch}})
    limit = _query("limit", _NUMBER_OF_RESULTS, "how many at most")
    parts = [
        _query("threshold", _THRESHOLD, "least score"),
        _query("language", _TEXT, "that of the vocabulary"),
    ]

    def form_or_json(schema: dict[str, Any]) -> dict[str, Any]:
        return {
            kind: {"schema": schema} for kind in ("application/x-www-form-urlencoded", "application/json")
        }

    paths = {
        "/v1/": {"get": _operation("what this is", _ref("ApiInfo"))},
        "/healthz": {"get": _operation("whether the server answers", _object({"status": _TEXT}))},
        "/v1/model": {
            "get": _operation("method, sizes, certificate and abilities of the model", {"type": "object"})
        },
        "/v1/vocabs": {"get": _operation("the vocabulary", _ref("VocabularyList"))},
        "/v1/projects": {"get": _operation("the projects: this model", _ref("ProjectList"))},
        "/v1/projects/{project_id}": {
            "get": _operation("the project", _ref("Project"), parameters=[_PROJECT])
        },
        "/v1/projects/{project_id}/suggest": {
            "post": _operation(
                "the best labels of a text",
                _ref("SuggestionResultList"),
                parameters=[_PROJECT],
                body=form_or_json(text),
            )
        },
        "/v1/projects/{project_id}/suggest-batch": {
            "post": _operation(
                f"the best labels of up to {limits.batch} texts",
                _ref("BatchSuggestionResultList"),
                parameters=[_PROJECT, limit, *parts],
                body={"application/json": {"schema": documents}},
            )
        },
        "/v1/explain": {
            "post": _operation(
                "path, probabilities, words and stop of a text",
                _ref("Explanation"),
                body=form_or_json(explained),
            )
        },
        "/v1/nodes": {
            "get": _operation(
                "nodes that some letters may mean, or the children of a node",
                _object({"nodes": _list(_ref("Node")), "total": {"type": "integer"}}),
                parameters=[
                    _query("q", _TEXT, "letters"),
                    _query("below", _TEXT, "the node whose children are asked for"),
                    limit,
                ],
            )
        },
        "/v1/table": {
            "post": _operation(
                "the answers to all rows of a CSV, TSV, JSON lines, text or libsvm file",
                {"type": "object"},
                parameters=[
                    _query("name", _TEXT, "name of the file, whose suffix tells the format"),
                    _query("text", _TEXT, "column of the texts"),
                ],
                body={"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
            )
        },
        "/v1/corrections": {
            "post": _operation(
                "append what is right to the file of corrections",
                _object({"saved": _list(_object({"name": _TEXT, "title": _TEXT}))}),
                status="201",
                body={"application/json": {"schema": correction}},
            )
        },
    }
    vocabulary = _operation("the classes, as `annif load-vocab` reads them", _TEXT, parameters=[_PROJECT])
    done = {"description": "done", "content": {"text/tab-separated-values": {"schema": _TEXT}}}
    vocabulary["responses"]["200"] = done
    paths["/v1/projects/{project_id}/vocabulary.tsv"] = {"get": vocabulary}
    return {
        "openapi": "3.0.3",
        "info": {"title": f"taxolearn: {project}", "version": taxolearn.__version__},
        "paths": paths,
        "components": {"schemas": _schemas()},
    }
