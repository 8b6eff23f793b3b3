"""One kind of features with its weights: the n-grams kept, their idf, and the rows they give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from taxolearn.errors import DataError
from taxolearn.text.reading import Chunks
from taxolearn.text.vocabulary import Vocabulary, learn_vocabulary
from taxolearn.text.weighting import (
    Floats,
    document_frequency,
    inverse_frequency,
    normalize_rows,
    saturate,
    sublinear,
)


@dataclass(frozen=True, eq=False)
class Block:
    """A vocabulary, the idf of its features, and how many of them a text held on average.

    >>> from taxolearn.text.ngrams import NgramTable
    >>> from taxolearn.text.reading import read_chunks
    >>> block = Block(Vocabulary("word", ("femur",), NgramTable(np.array([[1]]))), np.array([1.5]), 1.0)
    >>> settings = {"weighting": "tfidf", "sublinear_tf": False, "norm": None}
    >>> block.rows(read_chunks(["femur femur", "tibia"], str), settings).toarray().tolist()
    [[3.0], [0.0]]
    """

    vocabulary: Vocabulary
    idf: Floats
    mean_length: float

    def rows(self, chunks: Chunks, settings: Mapping[str, Any]) -> sparse.csr_array:
        """Return the weighted rows of texts."""
        counts = self.vocabulary.counts(chunks, self.idf.dtype)
        return self._weighted(counts, settings)

    def _weighted(self, counts: sparse.csr_array, settings: Mapping[str, Any]) -> sparse.csr_array:
        """Turn counts into weights, in place."""
        if settings["weighting"] == "bm25":
            saturate(counts, self.mean_length, settings["k1"], settings["b"])
        elif settings["sublinear_tf"]:
            sublinear(counts)
        counts.data *= self.idf[counts.indices]
        if settings["norm"] is not None:
            normalize_rows(counts, settings["norm"])
        return counts


def learn_block(kind: str, chunks: Chunks, settings: Mapping[str, Any]) -> tuple[Block, sparse.csr_array]:
    """Learn the features of one kind from texts; return them with the rows of these texts.

    >>> from taxolearn.text.features import TextFeatures
    >>> from taxolearn.text.reading import read_chunks
    >>> block, rows = learn_block("word", read_chunks(["left femur"], str), TextFeatures().get_params())
    >>> block.vocabulary.names(), block.mean_length, rows.shape
    (['femur', 'left', 'left femur'], 3.0, (1, 3))
    """
    vocabulary, counts = learn_vocabulary(kind, chunks, settings[f"{kind}_ngrams"], settings["dtype"])
    if not len(vocabulary):
        raise DataError(f"the texts hold no {_WANTED[kind]}; give other texts or change the settings")
    frequency = document_frequency(counts)
    kept = _kept(counts, frequency, settings["min_df"], settings["max_features"])
    if not kept.any():
        raise DataError(
            f"no {_WANTED[kind]} occurs in enough texts for min_df={settings['min_df']}; lower min_df"
        )
    if not kept.all():
        vocabulary, counts, frequency = vocabulary.restricted(kept), _columns(counts, kept), frequency[kept]
    idf = inverse_frequency(settings["weighting"], frequency, chunks.n_texts).astype(settings["dtype"])
    block = Block(vocabulary, idf, float(counts.data.sum(dtype=np.float64)) / chunks.n_texts)
    return block, block._weighted(counts, settings)


_WANTED = {"word": "word (two or more letters or digits)", "char": "character"}


def _kept(
    counts: sparse.csr_array, frequency: npt.NDArray[np.int64], min_df: float, max_features: int | None
) -> npt.NDArray[np.bool_]:
    """Which features are in enough texts and, of these, among the `max_features` that occur most often."""
    kept = frequency >= (min_df if isinstance(min_df, int) else min_df * counts.shape[0])
    if max_features is not None and np.count_nonzero(kept) > max_features:
        occurrences = np.bincount(counts.indices, counts.data, minlength=len(kept))
        candidates = np.flatnonzero(kept)
        # Stable, so that of equals those first in the order of names stay, on every machine.
        order = np.argsort(-occurrences[candidates], kind="stable")
        kept = np.zeros(len(kept), dtype=bool)
        kept[candidates[order[:max_features]]] = True
    return kept


def _columns(counts: sparse.csr_array, kept: npt.NDArray[np.bool_]) -> sparse.csr_array:
    """The columns kept, in the same order; faster than SciPy's indexing."""
    entries = kept[counts.indices]
    new = np.cumsum(kept, dtype=counts.indices.dtype) - 1
    indptr = np.concatenate([[0], np.cumsum(entries)])[counts.indptr].astype(counts.indptr.dtype)
    data, indices = counts.data[entries], new[counts.indices[entries]]
    return sparse.csr_array((data, indices, indptr), shape=(counts.shape[0], np.count_nonzero(kept)))
