"""The contract of decoders as assertions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from taxolearn.decoders import Answers, Decoder
from taxolearn.errors import DataError
from taxolearn.vectors import Vectors

_CLOSE = 1e-4  # relative and absolute: float32 rows may be added up in another order


def check_decoder(decoder: Decoder, vectors: Vectors, X: Any) -> None:
    """Assert that a decoder keeps its contract on these vectors and rows.

    Answers must be the first of the ranking; scores those of the ranking; all the same for dense and sparse rows,
    for a decoder that was stored, and for a beam that leaves nothing out. Take rows and vectors whose products are
    exact, such as eighths, if there are ties: what is equal may else round otherwise for dense and sparse rows.

    >>> from taxolearn.decoders import Best
    >>> from taxolearn.vectors import ClassVectors
    >>> check_decoder(Best(2), ClassVectors(np.eye(2), np.zeros(2)), np.array([[1.0, 2.0], [0.0, 0.0]]))
    >>> check_decoder(Best(2), ClassVectors(np.eye(3), np.zeros(3)), np.eye(3))
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: the decoder needs 2 vectors, but there are 3
    """
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X)
    for rows in (dense, sparse.csr_array(dense)):
        _check_rows(decoder, vectors, rows)
    _check_same(decoder, decoder, vectors, dense, sparse.csr_array(dense), "dense and sparse rows differ")
    stored = type(decoder).from_arrays(decoder.arrays(), decoder.n_classes)
    _check_same(decoder, stored, vectors, dense, dense, "the stored decoder answers differently")
    _check_alone(decoder, vectors, dense)
    _check_beam(decoder, vectors, dense)


def _check_rows(decoder: Decoder, vectors: Vectors, X: Any) -> None:
    n_rows, n_classes = X.shape[0], decoder.n_classes
    answers, scores = decoder.decode(vectors, X), decoder.scores(vectors, X)
    ids, best = decoder.top_k(vectors, X, n_classes)
    assert scores.shape == (n_rows, n_classes), f"scores have shape {scores.shape}"
    assert ids.shape == best.shape == (n_rows, n_classes), "top_k must give rows x k ids and scores"
    assert np.array_equal(np.sort(ids, axis=1), np.broadcast_to(np.arange(n_classes), ids.shape)), (
        "a ranking of all classes must have each of them once"
    )
    _check_answers(decoder, answers, ids, best)
    _check_close(best, np.take_along_axis(scores, ids, axis=1), "scores differ from those of top_k")
    if not decoder.several:
        assert np.array_equal(np.argmax(scores, axis=1), answers.ids), "the best score is not the answer's"
        assert np.all(np.diff(best, axis=1) <= 0), "the ranking is not by falling scores"
        tied = np.diff(best, axis=1) == 0
        assert np.all(np.diff(ids, axis=1)[tied] > 0), "equal classes must be ranked by their ids"
    for k in {1, max(1, n_classes // 2)}:
        some, theirs = decoder.top_k(vectors, X, k)
        assert np.array_equal(some, ids[:, :k]), f"top_k of {k} is not the beginning of the whole ranking"
        assert np.array_equal(theirs, best[:, :k]), f"top_k of {k} has other scores than the whole ranking"


def _check_answers(decoder: Decoder, answers: Answers, ids: npt.NDArray[Any], best: npt.NDArray[Any]) -> None:
    indptr = answers.indptr
    assert indptr[0] == 0, "indptr must begin with 0"
    assert len(indptr) == len(ids) + 1, "indptr must have one entry more than there are rows"
    assert indptr[-1] == len(answers.ids) == len(answers.scores), "indptr must end with the number of answers"
    lengths = np.diff(indptr)
    assert np.all(lengths >= 0), "indptr must not fall"
    assert decoder.several or np.all(lengths == 1), "every row must have one label"
    first = np.arange(ids.shape[1]) < lengths[:, None]
    assert np.array_equal(ids[first], answers.ids), "what is predicted must be the first of the ranking"
    assert np.array_equal(best[first], answers.scores), "scores of answers and ranking differ"


def _check_same(one: Decoder, other: Decoder, vectors: Vectors, X: Any, Z: Any, message: str) -> None:
    mine, theirs = one.decode(vectors, X), other.decode(vectors, Z)
    assert np.array_equal(mine.indptr, theirs.indptr), message
    assert np.array_equal(mine.ids, theirs.ids), message
    _check_close(mine.scores, theirs.scores, message)
    ids, best = one.top_k(vectors, X, one.n_classes)
    their_ids, their_best = other.top_k(vectors, Z, other.n_classes)
    assert np.array_equal(ids, their_ids), message
    _check_close(best, their_best, message)
    _check_close(one.scores(vectors, X), other.scores(vectors, Z), message)


def _check_close(found: npt.NDArray[Any], expected: npt.NDArray[Any], message: str) -> None:
    assert np.allclose(found, expected, rtol=_CLOSE, atol=_CLOSE), message


def _check_alone(decoder: Decoder, vectors: Vectors, X: Any) -> None:
    together = decoder.decode(vectors, X)
    for row in range(min(len(X), 5)):
        alone = decoder.decode(vectors, X[row : row + 1]).ids
        expected = together.ids[together.indptr[row] : together.indptr[row + 1]]
        assert np.array_equal(alone, expected), f"row {row} alone is answered differently"
    nothing = decoder.decode(vectors, X[:0])
    assert (nothing.indptr.tolist(), len(nothing.ids)) == ([0], 0), "no rows must have no answers"


def _check_beam(decoder: Decoder, vectors: Vectors, X: Any) -> None:
    widest = max(decoder.n_classes, vectors.n_classes) ** 2 + 1
    try:
        wide = decoder.decode(vectors, X, beam=widest)
    except DataError:
        return  # these vectors cannot be searched
    expected = decoder.decode(vectors, X)
    assert np.array_equal(wide.indptr, expected.indptr), "a beam that leaves nothing out finds other labels"
    assert np.array_equal(wide.ids, expected.ids), "a beam that leaves nothing out finds other labels"
    for beam in (1, 2, widest):
        found = decoder.decode(vectors, X, beam=beam)
        k = min(beam, decoder.n_classes) if decoder.several else 1
        ids, best = decoder.top_k(vectors, X, k, beam=beam)
        assert np.all(np.diff(found.indptr) <= beam), "a beam finds at most so many labels"
        _check_answers(decoder, found, ids, best)
    ids, _ = decoder.top_k(vectors, X, decoder.n_classes, beam=widest)
    assert np.array_equal(ids, decoder.top_k(vectors, X, decoder.n_classes)[0]), (
        "a beam that leaves nothing out ranks differently"
    )
