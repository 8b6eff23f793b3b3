"""Static vectors of words: those inside the package wordllama, read without its code and without a network.

A text is the mean of the vectors of its tokens, brought to length one. Tokens never reach across white space, so each
distinct chunk of the texts is cut into tokens once, and its share in the mean of a text is known exactly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from taxolearn.errors import DataError
from taxolearn.text.embedder import STATIC, Matrix
from taxolearn.text.reading import Chunks, read_chunks

_PACKAGE = "wordllama"
_VECTORS, _TOKENS = "l2_supercat_256.safetensors", "l2_supercat_tokenizer_config.json"
_REMEDY = "pip install 'taxolearn[words]'"
# The distinct chunks of a corpus whose vectors are in memory at a time.
_CHUNKS_AT_A_TIME = 65_536


def static_words_installed() -> bool:
    """Whether the static embedder can be used.

    >>> static_words_installed()
    True
    """
    try:
        static_words()
    except DataError:
        return False
    return True


@cache
def static_words() -> StaticWords:
    """The static embedder, read once.

    >>> words = static_words()
    >>> words.name, words.dimension
    ('words', 256)
    >>> cat, lion, tax = words.embed(["a cat", "the lions", "income tax"])
    >>> bool(cat @ lion > cat @ tax)
    True
    """
    try:
        files = metadata.files(_PACKAGE) or ()
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer
    except (metadata.PackageNotFoundError, ImportError):
        raise DataError(f"the embedder 'words' needs wordllama and tokenizers; {_REMEDY}") from None
    places = {file.name: Path(str(file.locate())) for file in files if file.name in (_VECTORS, _TOKENS)}
    if len(places) < 2 or not all(place.is_file() for place in places.values()):
        raise DataError(f"the installed wordllama does not hold {_VECTORS} and {_TOKENS}; {_REMEDY}")
    [table] = load_file(places[_VECTORS]).values()
    tokenizer = Tokenizer.from_file(str(places[_TOKENS]))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    digest = hashlib.sha256(places[_VECTORS].read_bytes() + places[_TOKENS].read_bytes())
    return StaticWords(table.astype(np.float32), tokenizer, digest.hexdigest()[:32])


@dataclass(frozen=True, eq=False)
class StaticWords:
    """A table of the vectors of tokens, and the tokenizer that it belongs to.

    >>> static_words().embed(["", "a cat"]).any(axis=1).tolist()
    [False, True]
    """

    table: Matrix
    tokenizer: Any
    fingerprint: str
    name: str = STATIC
    supports_truncation = True  # the first columns of its vectors are vectors, too

    @property
    def dimension(self) -> int:
        """Number of columns.

        >>> static_words().dimension
        256
        """
        return int(self.table.shape[1])

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One unit row per text; zeros for a text without any token.

        >>> static_words().embed(["a cat"]).shape
        (1, 256)
        """
        return self.leading(texts, self.dimension)

    def leading(self, texts: Sequence[str], dimension: int) -> Matrix:
        """The first columns of the vectors, brought to length one: they were trained to be vectors by themselves.

        >>> static_words().leading(["a cat"], 64).shape
        (1, 64)
        """
        rows = self._sums(read_chunks(list(texts), str), dimension)
        return rows / _lengths(rows)

    def word_shares(self, text: str, dimension: int) -> tuple[list[str], Matrix]:
        """The chunks of a text and what each adds to the text's vector.

        >>> chunks, shares = static_words().word_shares("left femur", 64)
        >>> bool(np.allclose(shares.sum(axis=0), static_words().leading(["left femur"], 64)[0], atol=1e-6))
        True
        """
        chunks = text.split()
        parts = self._sums(read_chunks(chunks, str), dimension)
        # of a long text the sum in single precision is not the row that it gets
        return chunks, parts / _lengths(parts.sum(axis=0, keepdims=True, dtype=np.float64))

    def _sums(self, chunks: Chunks, dimension: int) -> Matrix:
        """The sums of the vectors of tokens; as long as rows are brought to length one these are means."""
        # Texts x chunks times chunks x tokens first, where texts repeat few chunks: it stays sparse.
        counts = self._token_counts(chunks.distinct)
        ends = np.concatenate([[0], np.cumsum(chunks.lengths)])
        ones = np.ones(len(chunks.ids), dtype=np.float32)
        shape = (chunks.n_texts, len(chunks.distinct))
        texts = sparse.csr_array((ones, chunks.ids.copy(), ends), shape=shape)
        texts.sum_duplicates()  # in place; a word that a long text repeats is not added up in single precision
        vectors = self.table[:, :dimension]
        if len(chunks.distinct) <= _CHUNKS_AT_A_TIME:
            return np.asarray(texts @ (counts @ vectors), dtype=np.float32)
        return np.asarray((texts @ counts) @ vectors, dtype=np.float32)

    def _token_counts(self, distinct: list[str]) -> sparse.csr_array:
        encode = getattr(self.tokenizer, "encode_batch_fast", self.tokenizer.encode_batch)
        # a half character (lone surrogate) cannot be encoded
        cleaned = [chunk.encode("utf-8", "replace").decode() for chunk in distinct]
        tokens = [encoding.ids for encoding in encode(cleaned, add_special_tokens=False)]
        ends = np.concatenate([[0], np.cumsum([len(ids) for ids in tokens], dtype=np.int64)])
        flat = np.fromiter((token for ids in tokens for token in ids), np.int32, int(ends[-1]))
        ones = np.ones(len(flat), dtype=np.float32)
        return sparse.csr_array((ones, flat, ends), shape=(len(distinct), len(self.table)))


def _lengths(rows: Matrix) -> npt.NDArray[np.float32]:
    sizes: npt.NDArray[np.float32] = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    sizes[sizes == 0] = 1
    return sizes[:, None]
