"""Requests that are answered together get what they would have got alone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from taxolearn.serving.batching import Batcher


class Recorder:
    """Answers each text with numbered copies of itself; the first call waits, so that others gather behind it."""

    def __init__(self) -> None:
        self.calls: list[tuple[list[str], int]] = []
        self.let_go = threading.Event()

    def __call__(self, texts: Sequence[str], limit: int) -> list[list[Any]]:
        if not self.calls:
            self.calls.append((list(texts), limit))
            self.let_go.wait(20)
        else:
            self.calls.append((list(texts), limit))
        if "bad" in texts:
            raise ValueError("a bad text")
        return [[f"{text}{k}" for k in range(limit)] for text in texts]


def gathered(
    asked: list[tuple[list[str], int]], **limits: int
) -> tuple[list[Any], list[tuple[list[str], int]]]:
    recorder = Recorder()

    async def run() -> list[Any]:
        with ThreadPoolExecutor(1) as thread:
            batcher = Batcher(recorder, thread, **limits)
            first = asyncio.create_task(batcher.ask(["first"], 1))
            while not recorder.calls:
                await asyncio.sleep(0.001)
            others = [asyncio.create_task(batcher.ask(texts, limit)) for texts, limit in asked]
            await asyncio.sleep(0.01)
            recorder.let_go.set()
            return await asyncio.gather(first, *others, return_exceptions=True)

    return asyncio.run(run()), recorder.calls


def test_all_who_wait_are_answered_together() -> None:
    found, calls = gathered([(["a"], 1), (["b", "c"], 3), (["d"], 2)])
    assert found == [[["first0"]], [["a0"]], [["b0", "b1", "b2"], ["c0", "c1", "c2"]], [["d0", "d1"]]]
    assert calls == [(["first"], 1), (["a", "b", "c", "d"], 3)]


def test_a_bad_request_spoils_no_other() -> None:
    found, _ = gathered([(["a"], 1), (["bad"], 1), (["c"], 1)])
    assert found[1] == [["a0"]]
    assert isinstance(found[2], ValueError)
    assert found[3] == [["c0"]]


@pytest.mark.parametrize("limits", [{"most_texts": 2}, {"most_characters": 4}])
def test_batches_have_a_size(limits: dict[str, int]) -> None:
    found, calls = gathered([(["aa"], 1)] * 5, **limits)
    assert found[1:] == [[["aa0"]]] * 5
    assert [len(texts) for texts, _ in calls] == [1, 2, 2, 1]


def test_who_has_left_is_not_answered() -> None:
    recorder = Recorder()

    async def run() -> None:
        with ThreadPoolExecutor(1) as thread:
            batcher = Batcher(recorder, thread)
            first = asyncio.create_task(batcher.ask(["first"], 1))
            while not recorder.calls:
                await asyncio.sleep(0.001)
            gone, stays = (asyncio.create_task(batcher.ask([text], 1)) for text in ("gone", "stays"))
            await asyncio.sleep(0.01)
            gone.cancel()
            await asyncio.sleep(0.01)
            recorder.let_go.set()
            assert await asyncio.gather(first, stays) == [[["first0"]], [["stays0"]]]

    asyncio.run(run())
    assert recorder.calls[1:] == [(["stays"], 1)]
