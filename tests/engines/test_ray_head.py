"""Whether the head of a Ray cluster is there, by a socket that stands for it."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any

import pytest

from taxolearn.engines import ray_engine
from taxolearn.errors import EngineError

LOOPBACK = "127.0.0.1"


@pytest.fixture
def watch(monkeypatch):
    """The clock by which a head is looked at, seconds being set by hand."""
    seconds = [0.0]
    monkeypatch.setattr(ray_engine, "time", SimpleNamespace(monotonic=lambda: seconds[0]))
    return seconds


def test_a_head_that_comes_back_in_time_is_waited_for(watch):
    def look(head: Any, *at: float) -> None:
        for watch[0] in at:
            head.check()

    with socket.create_server((LOOPBACK, 0)) as server:
        place = server.getsockname()
        head = ray_engine._Head(f"{LOOPBACK}:{place[1]}")
        look(head, 1, 3)
    look(head, *range(5, 45, 5))  # gone, but not for long
    with socket.create_server(place):
        look(head, 46)
    look(head, *range(50, 90, 5))
    with pytest.raises(EngineError, match=r"^the head of the Ray cluster at 127\.0\.0\.1:.* is gone"):
        look(head, 91)


def test_silence_of_a_head_counts_only_while_it_is_looked_at(watch):
    """Where tasks end all the time nobody looks for long: two looks in vain are no minute of silence."""
    with socket.create_server((LOOPBACK, 0)) as server:
        head = ray_engine._Head(f"{LOOPBACK}:{server.getsockname()[1]}")
    for watch[0] in (10.0, 5000.0, 9000.0):
        head.check()


@pytest.mark.parametrize("address", [f"{LOOPBACK}:1", "nowhere", "[nowhere]:1"])
def test_a_head_that_cannot_be_seen_from_here_is_not_looked_for(address, watch):
    head = ray_engine._Head(address)
    for watch[0] in range(5, 200, 5):
        head.check()
