"""Two hundred hostile labels and texts through the REST interface: nothing breaks, and all come back as they were."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from hostile_strings import HOSTILE, LABELS, WRITABLE, hostile_model
from taxolearn.cli.uploads import upload_reader
from taxolearn.serving import Corrections, create_app

SUGGEST = "/v1/projects/pets/suggest"


@pytest.fixture(scope="module")
def model() -> Any:
    return hostile_model()


@pytest.fixture
def client(model: Any, tmp_path: Path) -> Iterator[TestClient]:
    app = create_app(
        model,
        name="pets",
        corrections=Corrections(tmp_path / "c.jsonl"),
        read_table=upload_reader(model),
    )
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as found:
        yield found


def test_there_are_two_hundred() -> None:
    assert len(HOSTILE) == len(set(HOSTILE)) == 200
    assert max(map(len, HOSTILE)) >= 1_000_000


def test_texts_and_labels_come_back_as_they_were(client: TestClient, model: Any, tmp_path: Path) -> None:
    kept: list[str] = []
    names, explained_as = model.top_k(WRITABLE, 2)[0].tolist(), model.predict(WRITABLE)
    for number, text in enumerate(WRITABLE):
        found = client.post(SUGGEST, data={"text": text, "limit": 2})
        assert found.status_code == 200, text[:80]
        assert found.headers["content-type"] == "application/json"
        assert [one["name"] for one in found.json()["results"]] == names[number]
        if number % 10 == 0 or len(text) > 1000:
            kept.append(text)
            explained = client.post("/v1/explain", json={"text": text})
            assert explained.status_code == 200, text[:80]
            assert explained.json()["label"] == explained_as[number]
            saved = client.post("/v1/corrections", json={"text": text, "labels": [LABELS[number]]})
            assert saved.json()["saved"][0]["name"] == LABELS[number]
    lines = [json.loads(line) for line in (tmp_path / "c.jsonl").read_text().splitlines()]
    assert [line["text"] for line in lines] == kept


def test_half_characters_are_no_failure(client: TestClient) -> None:
    body = b'{"text": "half \\ud800 x", "limit": 1}'
    assert client.post(SUGGEST, content=body, headers={"Content-Type": "application/json"}).status_code == 200


def test_they_are_found_by_their_letters(client: TestClient) -> None:
    found = client.get("/v1/nodes", params={"q": "<script>", "limit": 300}).json()
    assert found["total"] == sum("<script>" in text.casefold() for text in HOSTILE)


def test_they_are_read_from_a_file(client: TestClient) -> None:
    body = "\n".join(json.dumps({"text": text}) for text in HOSTILE)
    found = client.post("/v1/table?name=rows.jsonl", content=body.encode())
    assert [row["text"] for row in found.json()["rows"]] == [
        text.encode("utf-8", "replace").decode() for text in HOSTILE
    ]
    assert client.post("/v1/table?name=../../etc/passwd", content=b"a").status_code == 400
    assert client.post("/v1/table?name=%1b[31m.csv", content=b"\x00\xff\xfe").status_code in (200, 400)
    assert client.post("/v1/table?name=bomb.csv.gz", content=b"\x1f\x8b" + b"\0" * 50).status_code == 400
