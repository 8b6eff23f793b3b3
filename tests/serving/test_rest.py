"""The REST interface says what the model says, in Annif's shapes and as its own description has them."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import numpy as np
import pytest
from served_models import TREE, pet_texts, plain_pets
from starlette.testclient import TestClient

from taxolearn.serving import Limits, ServedModel, create_app
from taxolearn.serving.served import LONG

TEXTS = [*pet_texts(12, seed=7)[0], "", "nothing that is known", "bark bark leaf"]
SUGGEST = "/v1/projects/pets/suggest"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
JSON = {"Content-Type": "application/json"}


def asking(model: Any, **options: Any) -> TestClient:
    return TestClient(create_app(model, name="pets", **options), base_url="http://127.0.0.1")


def test_suggestions_are_those_of_top_k(client: TestClient, pets: Any) -> None:
    names, scores, chances, _ = pets.top_k(TEXTS, 3, probability=True)
    for row, text in enumerate(TEXTS):
        found = client.post(SUGGEST, data={"text": text, "limit": 3}).json()["results"]
        assert [one["name"] for one in found] == names[row].tolist()
        np.testing.assert_allclose([one["raw_score"] for one in found], scores[row], rtol=1e-12)
        np.testing.assert_allclose([one["score"] for one in found], chances[row], rtol=1e-12)
        assert [one["probability"] for one in found] == [one["score"] for one in found]
        assert found[0]["name"] == pets.predict([text])[0]


def test_a_batch_answers_as_single_texts_do(client: TestClient) -> None:
    documents = [{"text": text, "document_id": str(row)} for row, text in enumerate(TEXTS)]
    found = client.post(f"{SUGGEST}-batch?limit=2", json={"documents": documents}).json()
    assert [one["document_id"] for one in found] == [str(row) for row in range(len(TEXTS))]
    for text, one in zip(TEXTS, found, strict=True):
        assert one["results"] == client.post(SUGGEST, data={"text": text, "limit": 2}).json()["results"]


def test_scores_without_probabilities_rank_alike_between_0_and_1() -> None:
    model = plain_pets()
    found = asking(model).post(SUGGEST, data={"text": "purr", "limit": 9}).json()["results"]
    names, scores = model.top_k(["purr"], 4)
    assert [one["name"] for one in found] == names[0].tolist()
    np.testing.assert_allclose([one["score"] for one in found], 1 / (1 + np.exp(-scores[0])), rtol=1e-12)
    assert {one["probability"] for one in found} == {None}


def test_limit_and_threshold_cut(client: TestClient) -> None:
    every = client.post(SUGGEST, data={"text": "bark fur", "limit": 4}).json()["results"]
    cut = client.post(SUGGEST, data={"text": "bark fur", "limit": 4, "threshold": every[1]["score"]}).json()
    assert cut["results"] == every[:2]
    assert client.post(SUGGEST, data={"text": "bark", "limit": 0}).json() == {"results": []}


def test_terms_are_told_as_annif_tells_them(client: TestClient) -> None:
    [best] = client.post(SUGGEST, data={"text": "purr meow", "limit": 1}).json()["results"]
    assert (best["uri"], best["label"], best["notation"]) == ("http://example.org/cat", "House cat", "A.1")
    assert best["path"] == ["Life", "Animal", "House cat"]
    lines = client.get("/v1/projects/pets/vocabulary.tsv").text.splitlines()
    assert lines[0] == "<http://example.org/cat>\tHouse cat\tA.1"
    assert lines[1:] == ["<Dog>\tDog", "<Oak>\tOak", "<Rose>\tRose"]


def test_explain_is_the_models_own_with_probabilities(client: TestClient, pets: Any) -> None:
    text = "bark leaf"
    found = client.post("/v1/explain", data={"text": text}).json()
    own = pets.explain(text, runners_up=5, coverage=0.95)
    assert (found["label"], found["score"]) == (own.label, own.score)
    assert found["words"] == own.to_dict()["words"]
    assert [one["name"] for one in found["runners_up"]] == [name for name, _ in own.runners_up]
    assert found["nodes"][1]["deciding_words"]
    assert [node["margin"] for node in found["nodes"]] == [node.margin for node in own.nodes]
    assert [node.get("deciding_words") for node in found["nodes"]] == [
        node.get("deciding_words") for node in own.to_dict()["nodes"]
    ]
    names = [node["name"] for node in found["path"]]
    assert names == list(TREE.named_path(own.label))
    np.testing.assert_allclose(
        [node["probability"] for node in found["path"]], pets.node_proba([text], names)[0]
    )
    assert found["stop"]["name"] == own.stop.answer == pets.predict([text], coverage=0.95)[0]
    assert [one["name"] for one in found["predicted"]] == pets.predict([text]).tolist()
    beside = found["nodes"][1]["siblings"]
    assert [one["name"] for one in beside] == list(TREE.siblings(names[1]))


@pytest.mark.parametrize("label", [None, "Rose"])
def test_a_long_text_is_explained_by_its_features(client: TestClient, pets: Any, label: str | None) -> None:
    """The same sums as of any text; only where words stand is not looked for."""
    text = "bark leaf purr " * 1400
    assert len(text) > LONG
    found = client.post("/v1/explain", json={"text": text, "label": label}).json()
    own = pets.explain(text, runners_up=5, label=label, coverage=0.95)
    assert found["long"] is True
    assert "words" not in found
    assert (found["label"], found["score"]) == (own.label, pytest.approx(own.score, rel=1e-9))
    for entry, node in zip(found["nodes"], own.nodes, strict=True):
        named = {one["feature"]: one["value"] for one in entry["deciding"]}
        assert named == pytest.approx({name.removeprefix("word: "): value for name, value in node.deciding})
    assert found["stop"]["name"] == own.stop.answer
    assert [one["name"] for one in found["runners_up"]] == [name for name, _ in own.runners_up]


def test_another_label_is_explained(client: TestClient, pets: Any) -> None:
    found = client.post("/v1/explain", json={"text": "purr", "label": "Rose"}).json()
    assert found["label"] == "Rose"
    assert found["score"] == pets.explain("purr", label="Rose").score
    assert [one["name"] for one in found["predicted"]] == ["Cat"]


def test_models_that_cannot_say_so_say_what_to_do() -> None:
    plain = asking(plain_pets()).post("/v1/explain", data={"text": "purr"}).json()
    assert plain["probability"] is None
    assert "--probability" in plain["no_probabilities"]
    assert "taxolearn calibrate" in plain["no_stop"]
    flat = asking(plain_pets(None)).post("/v1/explain", data={"text": "purr"}).json()
    assert "Without a taxonomy" in flat["no_stop"]
    assert [node["name"] for node in flat["path"]] == ["Cat"]


def test_label_sets(sets: Any) -> None:
    client = asking(sets)
    for text in ("purr acorn", "woof", "zzz"):
        found = client.post("/v1/explain", data={"text": text}).json()
        assert sorted(one["name"] for one in found["predicted"]) == sorted(sets.predict([text])[0])
    assert client.get("/v1/model").json()["several_labels"] is True


def test_rows_of_numbers(numbers: Any) -> None:
    client = asking(numbers)
    for text in ("-2, 0", "1:-2", "-2\t0"):
        found = client.post(SUGGEST, data={"text": text, "limit": 4}).json()["results"]
        assert [one["name"] for one in found] == numbers.top_k([[-2.0, 0.0]], 4)[0][0].tolist()
    assert client.post("/v1/explain", data={"text": "-2 0"}).json()["label"] == "Cat"
    assert "rows of 2 numbers" in client.get("/v1/model").json()["takes"]
    for bad in ("1", "1 2 3", "3:1", "one two", "1:nan", "1:1 1:2", "1:1 5"):
        answer = client.post(SUGGEST, data={"text": bad})
        assert answer.status_code == 400, bad
        assert answer.json()["detail"].startswith("row 1"), bad


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ("q=cat", ["Cat"]),
        ("q=MOUSER", ["Cat"]),
        ("q=house+c", ["Cat"]),
        ("q=A.1", ["Cat"]),
        ("q=zzz", []),
        ("q=", []),
        ("q=o", ["Oak", "Cat", "Dog", "Rose"]),
        ("below=Plant", ["Oak", "Rose"]),
        ("", ["Animal", "Plant"]),
        ("q=o&limit=1", ["Oak"]),
    ],
)
def test_nodes_are_found(client: TestClient, asked: str, names: list[str]) -> None:
    found = client.get(f"/v1/nodes?{asked}").json()
    assert [node["name"] for node in found["nodes"]] == names
    assert found["total"] == (4 if "limit" in asked else len(names))


def test_annifs_http_backend_finds_what_it_reads(client: TestClient) -> None:
    """The requests of Annif 1.4's `http` backend, and what it takes of the answers."""
    endpoint = SUGGEST
    info = client.get(endpoint.replace("/suggest", ""), headers={"User-Agent": "Annif/1.4"})
    assert info.status_code == 200
    assert info.json()["is_trained"] is True
    assert "modification_time" in info.json()
    data = {"text": "purr meow", "metadata_title": "cats", "project": "pets", "limit": "2"}
    response = client.post(endpoint, data=data, headers={"User-Agent": "Annif/1.4"}).json()
    hits = [(hit["uri"], hit["score"]) for hit in response["results"] if hit["score"] > 0.0]
    assert len(hits) == 2
    assert hits[0][0] == "http://example.org/cat"


def schema_of(document: dict[str, Any], schema: Any) -> Any:
    """OpenAPI 3.0 says `nullable` where JSON Schema has a type more."""
    if isinstance(schema, list):
        return [schema_of(document, part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return schema_of(document, document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]])
    found = {key: schema_of(document, value) for key, value in schema.items()}
    if found.pop("nullable", False) is True:
        found["type"] = [found["type"], "null"]
    return found


CALLS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("get", "/v1/", "/v1/", {}),
    ("get", "/healthz", "/healthz", {}),
    ("get", "/v1/model", "/v1/model", {}),
    ("get", "/v1/vocabs", "/v1/vocabs", {}),
    ("get", "/v1/projects", "/v1/projects", {}),
    ("get", "/v1/projects/{project_id}", "/v1/projects/pets", {}),
    ("post", "/v1/projects/{project_id}/suggest", SUGGEST, {"data": {"text": "purr"}}),
    ("post", "/v1/projects/{project_id}/suggest", SUGGEST, {"json": {"text": "purr", "limit": 2}}),
    (
        "post",
        "/v1/projects/{project_id}/suggest-batch",
        f"{SUGGEST}-batch",
        {"json": {"documents": [{"text": "purr"}]}},
    ),
    ("post", "/v1/explain", "/v1/explain", {"data": {"text": "purr"}}),
    ("post", "/v1/explain", "/v1/explain", {"json": {"text": "bark", "label": "Oak"}}),
    ("get", "/v1/nodes", "/v1/nodes?q=cat", {}),
    ("get", "/v1/projects/{project_id}/vocabulary.tsv", "/v1/projects/pets/vocabulary.tsv", {}),
]


@pytest.mark.parametrize(("method", "path", "address", "body"), CALLS, ids=lambda part: str(part)[:40])
def test_answers_are_as_described(
    client: TestClient, method: str, path: str, address: str, body: dict[str, Any]
) -> None:
    document = client.get("/v1/openapi.json").json()
    answer = client.request(method, address, **body)
    [(kind, content)] = document["paths"][path][method]["responses"]["200"]["content"].items()
    assert answer.status_code == 200
    assert answer.headers["content-type"].split(";")[0] == kind
    value = answer.json() if kind == "application/json" else answer.text
    jsonschema.validate(value, schema_of(document, content["schema"]))


def test_every_address_is_described(pets: Any) -> None:
    from taxolearn.serving import Application
    from taxolearn.serving.openapi import description

    served = ServedModel(pets, "pets")
    routes = Application(served, Limits()).routes()
    addresses = {route.path for route in routes if route.path.startswith("/v1") or route.path == "/healthz"}
    described = description("pets", Limits())["paths"]
    assert addresses - {"/v1", "/v1/openapi.json"} == set(described)
    for route in routes:
        for method in described.get(route.path, ()):
            assert method.upper() in (route.methods or ())


BAD: list[tuple[str, str, dict[str, Any], int, str]] = [
    ("get", "/v1/projects/other", {}, 404, "Project 'other' not found"),
    ("post", "/v1/projects/other/suggest", {"data": {"text": "a"}}, 404, "not found"),
    ("get", "/v1/nothing", {}, 404, "nothing at this address"),
    ("get", "/v1/projects/..%2f..%2fetc%2fpasswd", {}, 404, "nothing at this address"),
    ("get", "/assets/../served.py", {}, 404, "nothing at this address"),
    ("get", SUGGEST, {}, 405, "other methods"),
    ("post", SUGGEST, {"data": {"limit": 3}}, 400, "expected a field 'text'"),
    ("post", SUGGEST, {"json": {"text": 7}}, 400, "expected a string as 'text', found 7"),
    ("post", SUGGEST, {"json": {"text": "a", "limit": True}}, 400, "'limit', found True"),
    ("post", SUGGEST, {"data": {"text": "a", "limit": "-1"}}, 400, "'limit', found '-1'"),
    ("post", SUGGEST, {"data": {"text": "a", "limit": "1.5"}}, 400, "'limit'"),
    ("post", SUGGEST, {"data": {"text": "a", "threshold": "2"}}, 400, "from 0 to 1 as 'threshold'"),
    ("post", SUGGEST, {"data": {"text": "a", "threshold": "nan"}}, 400, "from 0 to 1 as 'threshold'"),
    ("post", SUGGEST, {"data": {"text": "a", "language": "fi"}}, 400, "language 'fi' not supported"),
    ("post", SUGGEST, {"content": b"{", "headers": JSON}, 400, "not valid JSON"),
    ("post", SUGGEST, {"content": b"[" * 99_999, "headers": JSON}, 400, "valid JSON"),
    ("post", SUGGEST, {"content": b"[1]", "headers": JSON}, 400, "a JSON object"),
    ("post", SUGGEST, {"content": b"\xff", "headers": JSON}, 400, "UTF-8"),
    ("post", SUGGEST, {"content": b"text=%ff", "headers": FORM}, 400, "UTF-8"),
    ("post", SUGGEST, {"content": b"<a/>", "headers": {"Content-Type": "text/xml"}}, 415, "expected a body of type"),
    ("post", SUGGEST, {"content": b"a&" * 101, "headers": FORM}, 400, "more than 100 fields"),
    ("post", f"{SUGGEST}-batch", {"json": {"documents": "a"}}, 400, "list of objects"),
    ("post", f"{SUGGEST}-batch", {"json": {"documents": [{}]}}, 400, "'text' of document 0"),
    ("post", f"{SUGGEST}-batch", {"json": {"documents": [{"text": "a"}] * 33}}, 400, "up to 32 documents, found 33"),
    ("post", f"{SUGGEST}-batch", {"data": {"documents": "a"}}, 415, "application/json"),
    ("post", "/v1/explain", {"data": {"text": "a", "label": "Bird"}}, 400, "'Bird' is not a label of this model"),
    ("post", "/v1/explain", {"data": {"text": "a", "label": "Plant"}}, 400, "no class of this model"),
    ("get", "/v1/nodes?below=Bird", {}, 404, "not a node"),
    ("get", "/v1/nodes?limit=x", {}, 400, "'limit'"),
    ("post", "/v1/table", {"content": b"a"}, 404, "reads no files"),
    ("post", "/v1/corrections", {"json": {"text": "a", "labels": ["Cat"]}}, 403, "takes no corrections"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("method", "address", "body", "status", "told"), BAD, ids=lambda part: str(part)[:50]
)
def test_bad_requests_are_told_in_one_sentence(
    client: TestClient, method: str, address: str, body: dict[str, Any], status: int, told: str
) -> None:
    answer = client.request(method, address, **body)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    problem = json.loads(answer.content)
    assert problem["status"] == status
    assert told in problem["detail"]
    assert "\n" not in problem["detail"]
    assert client.get("/healthz").json() == {"status": "ok"}
