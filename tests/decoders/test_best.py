"""One label: the best class, whatever the storage of vectors and rows."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from decoder_cases import eighths, node_vectors
from scipy import sparse

from taxolearn.decoders import DECODERS, Best, Decoder
from taxolearn.errors import DataError, ModelError
from taxolearn.testing import check_decoder
from taxolearn.vectors import ClassVectors


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_classes", [1, 2, 7])
def test_the_contract(n_classes: int, stored: Any, dtype: Any) -> None:
    rng = np.random.default_rng(n_classes)
    vectors = ClassVectors(stored(eighths(rng, (n_classes, 4)).astype(dtype)), eighths(rng, n_classes))
    check_decoder(Best(n_classes), vectors, eighths(rng, (20, 4)).astype(dtype))
    check_decoder(Best(n_classes), vectors, np.zeros((3, 4), dtype=dtype))


@pytest.mark.parametrize("seed", range(5))
def test_the_contract_with_vectors_at_nodes(seed: int) -> None:
    vectors, X = node_vectors(seed)
    check_decoder(Best(vectors.n_classes), vectors, X)


def test_a_beam_is_that_of_the_vectors() -> None:
    vectors, X = node_vectors(1)
    decoder = Best(vectors.n_classes)
    for beam in (1, 2, 100):
        ids, scores = vectors.top_k(X, 1, beam=beam)
        answers = decoder.decode(vectors, X, beam=beam)
        assert answers.ids.tolist() == ids[:, 0].tolist()
        assert answers.scores.tolist() == scores[:, 0].tolist()


@pytest.mark.parametrize("n_classes", [0, -1, 2.0, True, None])
def test_a_number_of_classes_is_needed(n_classes: Any) -> None:
    with pytest.raises(DataError, match="the number of classes must be a whole number from 1 on"):
        Best(n_classes)
    with pytest.raises(ModelError, match="stored decoder: the number of classes"):
        Best.from_arrays({}, n_classes)


def test_other_vectors_are_refused() -> None:
    vectors, X = ClassVectors(np.eye(3), np.zeros(3)), np.eye(3)
    for ask in (Best(2).decode, Best(2).scores, Best(2).row_facts, lambda v, x: Best(2).top_k(v, x, 1)):
        with pytest.raises(DataError, match="the decoder needs 2 vectors, but there are 3"):
            ask(vectors, X)


def test_decoders_are_known_by_their_names() -> None:
    assert {name: kind.__name__ for name, kind in DECODERS.items()} == {
        "best": "Best",
        "thresholds": "Thresholds",
        "top-down": "TopDown",
        "sets": "Sets",
        "probable_sets": "ProbableSets",
    }
    decoder: Decoder = Best(3)
    assert pickle.loads(pickle.dumps(decoder)) == decoder
