"""Kinds of features of the same texts, each made once: candidates are sums or neighbours of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from taxolearn.text.embedder import Embedder
from taxolearn.text.embedders import embedder_of
from taxolearn.text.embedding_block import EmbeddingBlock, beside
from taxolearn.text.features import TextFeatures
from taxolearn.text.settings import KINDS


class Parts:
    """Features learned from texts, of these and of other texts, for any number of candidates.

    `n_texts`: how many texts the features are for in the end, of which these may be some; it decides how many columns
    of an embedding are used.

    >>> parts = Parts(["left femur", "burnt skin"], ["a femur"], n_texts=2)
    >>> known, asked = parts.rows(TextFeatures(word_ngrams=(1, 1), embedder="words"))
    >>> known.shape, asked.shape
    ((2, 260), (1, 260))
    >>> both, words = parts.products(TextFeatures(embedder="words")), parts.products(TextFeatures())
    >>> bool(np.allclose(both, words + parts.products(TextFeatures(analyzer=None, embedder="words"))))
    True
    """

    def __init__(self, texts: list[str], others: list[str], n_texts: int) -> None:
        self._texts, self._others, self._n_texts = texts, others, n_texts
        self._blocks: dict[str, tuple[sparse.csr_array, sparse.csr_array]] = {}
        self._vectors: dict[int, tuple[npt.NDArray[Any], npt.NDArray[Any]]] = {}
        self._products: dict[Any, npt.NDArray[np.float64]] = {}
        self._embedder: Embedder | None = None

    def rows(self, features: TextFeatures) -> tuple[Any, Any]:
        """The rows of the texts and those of the others, as `features` would have them."""
        blocks = [self._block(features, kind)[1] for kind in KINDS[features.analyzer]]
        embedding = self._embedding(features)
        found = []
        for side in (0, 1):
            vectors = None if embedding is None else embedding.weight * self._unweighted(embedding)[1][side]
            if not blocks:
                found.append(vectors)
                continue
            rows = blocks[0][side]
            if len(blocks) > 1:
                rows = sparse.hstack([block[side] for block in blocks], format="csr")
            found.append(rows if vectors is None else beside(rows, vectors))
        return found[0], found[1]

    def products(self, features: TextFeatures) -> npt.NDArray[np.float64]:
        """The products of the texts' rows with each other: the sum of those of the parts."""
        n = len(self._texts)
        total = np.zeros((n, n))
        for kind in KINDS[features.analyzer]:
            key, (rows, _) = self._block(features, kind)
            if key not in self._products:
                self._products[key] = (rows @ rows.T).toarray()
            total += self._products[key]
        embedding = self._embedding(features)
        if embedding is not None:
            made, (vectors, _) = self._unweighted(embedding)
            if made not in self._products:
                self._products[made] = vectors @ vectors.T
            total += embedding.weight**2 * self._products[made]
        return total

    def width(self, features: TextFeatures) -> int:
        """Number of columns."""
        blocks = [int(self._block(features, kind)[1][0].shape[1]) for kind in KINDS[features.analyzer]]
        embedding = self._embedding(features)
        return sum(blocks) + (0 if embedding is None else embedding.columns)

    def _block(self, features: TextFeatures, kind: str) -> tuple[Any, tuple[Any, Any]]:
        settings = features.get_params() | {"analyzer": kind, "dtype": "float64"}
        for name in ("embedder", "embedding_weight", "embedding_columns", *_NOT_OF[kind]):
            del settings[name]
        key = repr(sorted(settings.items()))
        if key not in self._blocks:
            made = TextFeatures(**settings)
            rows = made.fit_transform(self._texts)
            self._blocks[key] = rows, made.transform(self._others) if self._others else rows[:0]
        return key, self._blocks[key]

    def _embedding(self, features: TextFeatures) -> EmbeddingBlock | None:
        if features.embedder is None:
            return None
        if self._embedder is None:  # all candidates have the same
            self._embedder = embedder_of(features.embedder)
        given = self._embedder, features.embedding_weight, features.embedding_columns
        return EmbeddingBlock.of(*given, features.analyzer is None, self._n_texts)

    def _unweighted(self, embedding: EmbeddingBlock) -> tuple[Any, tuple[Any, Any]]:
        key = embedding.columns
        if key not in self._vectors:
            plain = EmbeddingBlock(embedding.embedder, embedding.columns, 1.0)
            others = plain.rows(self._others, np.float64) if self._others else np.zeros((0, plain.columns))
            self._vectors[key] = plain.rows(self._texts, np.float64), others
        return key, self._vectors[key]


_NOT_OF = {"word": ("char_ngrams",), "char": ("word_ngrams",)}
