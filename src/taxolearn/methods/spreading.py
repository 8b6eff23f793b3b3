"""Answers to many rows by several processes: each takes a stretch of rows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from taxolearn.decoders import Answers, Decoder
from taxolearn.engines import Clock, running, spread
from taxolearn.vectors import Vectors

_LEAST_ROWS = 64  # of a stretch: fewer are answered before they are sent


class Question(NamedTuple):
    """What is asked of every row: `decode`, `top_k` or `scores` of the decoder, and its options."""

    decoder: Decoder
    vectors: Vectors
    what: str
    options: dict[str, Any]

    def ask(self, X: Any, n_threads: int = 1) -> Any:
        """The answers to these rows."""
        answer: Callable[..., Any] = getattr(self.decoder, self.what)
        return answer(self.vectors, X, n_threads=n_threads, **self.options)


def ask(question: Question, X: Any, n_threads: int) -> Any:
    """The answers to all rows: here, or by all processes of the engine that the user has chosen."""
    pieces = spread(X.shape[0] // _LEAST_ROWS)
    if pieces == 1:
        return question.ask(X, n_threads)
    cuts = np.linspace(0, X.shape[0], pieces + 1).astype(int).tolist()
    with running() as run:
        stretches = [X[first:last] for first, last in pairwise(cuts)]
        kept = question._replace(vectors=run.cluster.keep(question.vectors))
        found = run.map(_answer, kept, stretches, anywhere=True)
        if run.over() or any(part is None for part in found):
            raise KeyboardInterrupt
    return _joined(found)


def _answer(question: Question, X: Any, clock: Clock) -> Any:
    return question.ask(X)


def _joined(parts: list[Any]) -> Any:
    """The answers to all rows from those to stretches of them."""
    first = parts[0]
    if isinstance(first, Answers):
        counts = np.concatenate([np.diff(part.indptr) for part in parts])
        indptr = np.concatenate(([0], np.cumsum(counts))).astype(first.indptr.dtype)
        return Answers(
            indptr, *(np.concatenate(some) for some in zip(*(part[1:] for part in parts), strict=True))
        )
    if isinstance(first, tuple):
        return tuple(np.concatenate(some) for some in zip(*parts, strict=True))
    return np.concatenate(parts)
