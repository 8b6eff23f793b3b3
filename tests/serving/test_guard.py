"""Who may ask, how much, how many at a time and how long; and what browsers are told."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from taxolearn.serving import Limits, create_app

SUGGEST = "/v1/projects/pets/suggest"
EVERY_ANSWER = ["/", "/page.js", "/healthz", "/v1/model", "/nothing", "/v1/projects/other"]

KNOWN = ["127.0.0.1", "127.0.0.1:8000", "localhost:8000", "[::1]:8000", "10.1.2.3", "LOCALHOST", "my.lan"]
UNKNOWN = ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost.evil", "", "1:2:3:x"]
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def asking(model: Any, limits: Limits, **options: Any) -> TestClient:
    app = create_app(model, name="pets", limits=limits, **options)
    return TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)


@pytest.mark.parametrize("address", EVERY_ANSWER)
def test_browsers_are_told_to_run_and_load_nothing_else(client: TestClient, address: str) -> None:
    headers = client.get(address, headers={"Origin": "http://evil.example"}).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert not [name for name in headers if name.startswith("access-control")]


@pytest.mark.parametrize("host", KNOWN)
def test_known_names(pets: Any, host: str) -> None:
    client = asking(pets, Limits(), hosts=["my.lan"])
    assert client.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", UNKNOWN)
def test_a_name_that_was_pointed_here_is_refused(client: TestClient, host: str) -> None:
    answer = client.get("/v1/model", headers={"Host": host})
    assert answer.status_code == 421
    assert "--allow-host" in answer.json()["detail"]


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_other_sites_send_nothing(client: TestClient, site: str) -> None:
    headers = {"Sec-Fetch-Site": site}
    assert client.post(SUGGEST, data={"text": "purr"}, headers=headers).status_code == 403
    assert (
        client.post(SUGGEST, data={"text": "purr"}, headers={"Sec-Fetch-Site": "same-origin"}).status_code
        == 200
    )


def test_too_large(pets: Any) -> None:
    client = asking(pets, Limits(body_bytes=2000))
    told = client.post(SUGGEST, data={"text": "a" * 3000})
    assert told.status_code == 413
    assert "2,000 bytes" in told.json()["detail"]
    untold = client.post(SUGGEST, content=(b"a" * 500 for _ in range(9)), headers=FORM)
    assert untold.status_code == 413
    assert client.post(SUGGEST, data={"text": "a" * 1900}).status_code == 200


class Slow:
    """A model whose answers wait until they are let go."""

    def __init__(self, model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.let_go = threading.Event()
        transform = model.features_.transform

        def wait(texts: Any) -> Any:
            self.let_go.wait(20)
            return transform(texts)

        monkeypatch.setattr(model.features_, "transform", wait)


async def _both(app: Any, slow: Slow, requests: int) -> list[int]:
    transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        running = [asyncio.create_task(client.post(SUGGEST, data={"text": "purr"})) for _ in range(requests)]
        while app.at_work < min(requests, 2):
            await asyncio.sleep(0.001)
        late = await client.post(SUGGEST, data={"text": "purr"})
        healthy = await client.get("/healthz")
        slow.let_go.set()
        return [(await one).status_code for one in running] + [late.status_code, healthy.status_code]


def test_too_many_at_a_time(pets: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow(pets, monkeypatch)
    app = create_app(pets, name="pets", limits=Limits(waiting=2))
    assert asyncio.run(_both(app, slow, 2)) == [200, 200, 503, 200]
    assert app.at_work == 0


@pytest.mark.parametrize("address", [SUGGEST, "/v1/explain"])
def test_too_long(pets: Any, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    slow = Slow(pets, monkeypatch)
    client = asking(pets, Limits(seconds=0.05))
    answer = client.post(address, data={"text": "purr"})
    slow.let_go.set()
    assert answer.status_code == 504
    assert "0.05 seconds" in answer.json()["detail"]


def test_a_body_that_never_comes(pets: Any) -> None:
    app = create_app(pets, name="pets", limits=Limits(seconds=0.05))
    sent: list[Any] = []

    async def never() -> Any:
        await asyncio.sleep(60)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": SUGGEST, "raw_path": SUGGEST.encode()}
    scope |= {"query_string": b"", "headers": [(b"host", b"127.0.0.1")]}
    asyncio.run(app(scope, never, send))
    assert sent[0]["status"] == 408


def test_a_failure_is_logged_and_not_shown(
    pets: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    client = asking(pets, Limits())
    with monkeypatch.context() as broken:
        broken.setattr(pets.features_, "transform", lambda texts: 1 / 0)
        answer = client.post(SUGGEST, data={"text": "purr"})
        assert client.post("/v1/explain", data={"text": "purr"}).status_code == 500
    assert answer.status_code == 500
    assert "ZeroDivision" not in answer.text
    assert "ZeroDivisionError" in caplog.text
    assert client.post(SUGGEST, data={"text": "purr"}).status_code == 200
