"""Requests that come while the model is busy are answered together: one product of matrices instead of many."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

Answer = Callable[[Sequence[str], int], list[list[Any]]]


class _Waiting(NamedTuple):
    texts: Sequence[str]
    limit: int
    future: asyncio.Future[list[list[Any]]]


class Batcher:
    """Asks `answer(texts, limit)` for all who wait, in one thread; the next batch is whoever came meanwhile.

    Nobody waits for company: a request that finds the model idle is answered at once. If a batch fails, each of its
    requests is asked alone, so that a bad one does not spoil the others.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> async def ask():
    ...     with ThreadPoolExecutor(1) as thread:
    ...         batcher = Batcher(lambda texts, limit: [[text.upper()] for text in texts], thread)
    ...         return await asyncio.gather(batcher.ask(["a"], 1), batcher.ask(["b", "c"], 1))
    >>> asyncio.run(ask())
    [[['A']], [['B'], ['C']]]
    """

    def __init__(
        self, answer: Answer, thread: Executor, *, most_texts: int = 64, most_characters: int = 100_000
    ) -> None:
        self._answer = answer
        self._thread = thread
        self._most_texts, self._most_characters = most_texts, most_characters
        self._waiting: list[_Waiting] = []
        self._running: asyncio.Task[None] | None = None

    async def ask(self, texts: Sequence[str], limit: int) -> list[list[Any]]:
        """The best `limit` answers of each text."""
        future: asyncio.Future[list[list[Any]]] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(texts, limit, future))
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
        return await future

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while batch := self._next_batch():
            try:
                found = await loop.run_in_executor(self._thread, self._together, batch)
            except Exception as error:  # noqa: BLE001  whoever asked is told, and the next batch runs
                if len(batch) == 1:
                    _tell(batch[0].future, error)
                    continue
                for one in batch:
                    try:
                        alone = await loop.run_in_executor(self._thread, self._together, [one])
                    except Exception as own:  # noqa: BLE001
                        _tell(one.future, own)
                    else:
                        _give(one.future, alone[0])
                continue
            for one, results in zip(batch, found, strict=True):
                _give(one.future, results)

    def _next_batch(self) -> list[_Waiting]:
        """Who comes next, in turn, up to some texts and characters; those who have left are not waited for."""
        waiting = [one for one in self._waiting if not one.future.done()]
        texts = characters = taken = 0
        for one in waiting:
            texts += len(one.texts)
            characters += sum(map(len, one.texts))
            if taken and (texts > self._most_texts or characters > self._most_characters):
                break
            taken += 1
        self._waiting = waiting[taken:]
        return waiting[:taken]

    def _together(self, batch: Sequence[_Waiting]) -> list[list[list[Any]]]:
        texts = [text for one in batch for text in one.texts]
        results = self._answer(texts, max(one.limit for one in batch))
        found, start = [], 0
        for one in batch:
            found.append([best[: one.limit] for best in results[start : start + len(one.texts)]])
            start += len(one.texts)
        return found


def _give(future: asyncio.Future[Any], result: Any) -> None:
    if not future.done():
        future.set_result(result)


def _tell(future: asyncio.Future[Any], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
