"""The part of a row that an embedder gives: its weight and its leading columns, kept by name with a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from taxolearn.errors import DataError, ModelError
from taxolearn.structure.names import show
from taxolearn.text.embedder import Embedder
from taxolearn.text.embedders import checked, comes_with_a_package, embedder_of

# Columns beside n-grams, where the first ones can stand alone, from more than so many texts on: n-grams tell what the
# others would, the more the more texts there are. See the decisions.
_BESIDE_NGRAMS = ((20_000, 32), (5_000, 64))
EMBEDDING = "embedding of the text"  # what its columns are called in explanations, together
_FIELDS = {"name": str, "dimension": int, "fingerprint": str, "columns": int, "weight": float}


@dataclass(frozen=True, eq=False)
class EmbeddingBlock:
    """Unit vectors of texts, their leading columns alone if fewer are asked for, times a weight.

    >>> from taxolearn.text.embedders import embedder_of
    >>> block = EmbeddingBlock(embedder_of({"a": [3.0, 4.0]}), 2, 0.5)
    >>> block.rows(["a"], np.float64).round(2).tolist()
    [[0.3, 0.4]]
    """

    embedder: Embedder
    columns: int
    weight: float

    @classmethod
    def of(cls, embedder: Any, weight: Any, columns: Any, alone: bool, n_texts: int = 0) -> EmbeddingBlock:
        """The block that these parameters of `TextFeatures` ask for, with so many texts to learn from.

        >>> EmbeddingBlock.of("words", 1.0, None, alone=False).columns
        256
        """
        if (
            isinstance(weight, bool)
            or not isinstance(weight, int | float | np.number)
            or not 0 < weight < np.inf
        ):
            raise DataError(f"embedding_weight={show(weight)} is not valid; use a positive number")
        found = embedder_of(embedder)
        if columns is None:
            short = not alone and hasattr(found, "leading")
            enough = [few for most, few in _BESIDE_NGRAMS if n_texts > most] if short else []
            columns = min([found.dimension, *enough])
        elif isinstance(columns, bool) or not isinstance(columns, int | np.integer) or columns < 1:
            raise DataError(
                f"embedding_columns={show(columns)} is not valid; use None or a whole number from 1 on"
            )
        return cls(found, int(min(columns, found.dimension)), float(weight))

    def rows(self, texts: Sequence[str], dtype: Any = np.float32) -> npt.NDArray[Any]:
        """The vectors of texts.

        >>> from taxolearn.text.embedders import embedder_of
        >>> EmbeddingBlock(embedder_of({"a": [3.0, 4.0]}), 1, 1.0).rows(["a"]).tolist()
        [[1.0]]
        """
        if hasattr(self.embedder, "leading"):
            rows = self.embedder.leading(texts, self.columns)
        else:
            rows = checked(self.embedder, texts)[:, : self.columns]
            # squares of large or small numbers would leave single precision
            sizes = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
            rows = (rows / np.where(sizes == 0, 1, sizes)[:, None]).astype(np.float32)
        weighted: npt.NDArray[Any] = (rows * np.float32(self.weight)).astype(dtype, copy=False)
        return weighted

    def shares(self, text: str, n_words: int) -> tuple[npt.NDArray[np.float64], bool]:
        """What each word adds to the vector, words x columns; or one row for the text as a whole, and False.

        >>> shares, by_word = EmbeddingBlock.of("words", 1.0, 64, False).shares("left femur", 2)
        >>> shares.shape, by_word
        ((2, 64), True)
        """
        if hasattr(self.embedder, "word_shares"):
            words, shares = self.embedder.word_shares(text, self.columns)
            if len(words) == n_words:
                return self.weight * shares.astype(np.float64), True
        return self.rows([text], np.float64), False

    def pack(self) -> dict[str, Any]:
        """What a model keeps: which embedder, not the embedder.

        >>> sorted(EmbeddingBlock.of("words", 1.0, 64, False).pack())
        ['columns', 'dimension', 'fingerprint', 'name', 'weight']
        """
        found = self.embedder
        return {
            "name": found.name,
            "dimension": int(found.dimension),
            "fingerprint": found.fingerprint,
            "columns": self.columns,
            "weight": self.weight,
        }

    @classmethod
    def unpack(cls, stored: Any) -> EmbeddingBlock:
        """Find the embedder of a stored model again, or say what is missing.

        >>> EmbeddingBlock.unpack({"name": "words"})
        Traceback (most recent call last):
        ...
        taxolearn.errors.ModelError: the header has no valid entry 'embedding'
        """
        if (
            type(stored) is not dict
            or set(stored) != set(_FIELDS)
            or any(type(stored[field]) is not kind for field, kind in _FIELDS.items())
            or not 1 <= stored["columns"] <= stored["dimension"]
            or not 0 < stored["weight"] < np.inf
        ):
            raise ModelError("the header has no valid entry 'embedding'")
        name = stored["name"]
        try:
            embedder = embedder_of(name)
        except DataError as error:
            reason = str(error) if comes_with_a_package(name) else _not_known(name)
            raise ModelError(reason) from None
        if (embedder.dimension, embedder.fingerprint) != (stored["dimension"], stored["fingerprint"]):
            raise ModelError(
                f"the embedder {name!r} is not the one that the model was learned with (its fingerprint differs); "
                "install the version it was, or fit again"
            )
        return cls(embedder, stored["columns"], stored["weight"])


def _not_known(name: str) -> str:
    known_by = f"taxolearn.text.register_embedder(yours, {name[:80]!r})"
    return f"the model needs the embedder {name[:80]!r}, which is not known here; call {known_by} first"


def beside(rows: sparse.csr_array, vectors: npt.NDArray[Any]) -> sparse.csr_array:
    """Sparse rows with dense columns after theirs; SciPy's `hstack` takes several times as long.

    >>> beside(sparse.csr_array([[0.0, 2.0], [0.0, 0.0]]), np.array([[5.0], [6.0]])).toarray().tolist()
    [[0.0, 2.0, 5.0], [0.0, 0.0, 6.0]]
    """
    n_rows, width = vectors.shape
    before = rows.shape[1]
    total = rows.nnz + vectors.size
    index = np.int32 if max(total, before + width) < 2**31 else np.int64
    shifts = width * np.arange(n_rows + 1, dtype=np.int64)
    indptr = rows.indptr + shifts
    own = np.arange(rows.nnz) + np.repeat(shifts[:-1], np.diff(rows.indptr))
    added = (indptr[1:] - width)[:, None] + np.arange(width)
    data = np.empty(total, dtype=rows.dtype)
    indices = np.empty(total, dtype=index)
    data[own], indices[own] = rows.data, rows.indices
    data[added], indices[added] = vectors, np.arange(before, before + width)
    return sparse.csr_array((data, indices, indptr.astype(index)), shape=(n_rows, before + width))
