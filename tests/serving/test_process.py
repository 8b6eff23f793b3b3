"""The server as a process: workers, and a SIGTERM that lets running requests finish."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from pathlib import Path

import httpx2
import pytest
from served_models import plain_pets
from serving_process import Server, serving

from taxolearn.cli.app import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("served") / "pets"
    plain_pets().save(found)
    return found


def drains(server: Server) -> None:
    """A request that has been sent by half when SIGTERM comes is still answered, and the process exits with 0."""
    port = int(server.address.rsplit(":", 1)[1])
    body = b"text=purr+meow&limit=1"
    head = f"POST /v1/projects/pets/suggest HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
    with socket.create_connection(("127.0.0.1", port)) as running:
        running.sendall(head.encode() + b"Content-Type: application/x-www-form-urlencoded\r\n\r\n" + body[:5])
        time.sleep(0.2)  # the head is read: the request is at work
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        assert server.process.poll() is None
        running.sendall(body[5:])
        answer = running.makefile("rb").read()
    assert b"200 OK" in answer
    assert b'"name":"Cat"' in answer
    assert server.process.wait(60) == 0


def test_one_process(folder: Path) -> None:
    with serving(folder) as server:
        answer = httpx2.post(f"{server.address}/v1/corrections", json={"text": "purr", "labels": ["Dog"]})
        assert answer.status_code == 201
        assert '"label": "Dog"' in folder.with_name("pets-corrections.jsonl").read_text()
        drains(server)


def test_workers_answer_alike_and_one_that_dies_is_replaced(folder: Path) -> None:
    with serving(folder, "--workers", "2") as server:
        found: list[str] = []

        def ask() -> None:
            for _ in range(5):
                answer = httpx2.post(f"{server.address}/v1/projects/pets/suggest", data={"text": "purr"})
                found.append(answer.json()["results"][0]["name"])

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == ["Cat"] * 20
        before = children(server)
        if before:  # where the system tells them
            # one copy for all: the arrays are mapped from their file, not read
            assert all("/arrays-" in Path(f"/proc/{worker}/maps").read_text() for worker in before)
            os.kill(min(before), signal.SIGKILL)
            deadline = time.monotonic() + 60
            while len(children(server) - before) < 1 and time.monotonic() < deadline:
                time.sleep(0.05)
            assert len(children(server)) == 2
        drains(server)


def children(server: Server) -> set[int]:
    """The processes of the workers."""
    told = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
    return {int(number) for number in told.read_text().split()} if told.exists() else set()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--project", "a b"], "letters, digits"),
        (["--corrections", "c.jsonl", "--no-corrections"], "exclude each other"),
        (["--corrections", "{model}/c.jsonl"], "inside the model folder"),
        (["--host", "no such host"], "cannot listen"),
    ],
)
def test_what_cannot_be_served_is_told_in_one_line(
    folder: Path, options: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", str(folder), *(option.format(model=folder) for option in options)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert told in line


def test_a_port_that_is_taken_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert run(["serve", str(folder), "--port", port]) == 2
    assert "give another --port" in capsys.readouterr().err
