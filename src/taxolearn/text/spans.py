"""Where the features of one text stand in it, and which of its words they belong to."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from taxolearn.text.block import Block
from taxolearn.text.embedding_block import EMBEDDING, EmbeddingBlock
from taxolearn.text.reading import read_chunks, text_cleaner
from taxolearn.text.vocabulary import WORD

Span = tuple[int, int]
# The same blanks at which `str.split` cuts.
_CHUNK = re.compile(r"\S+")


class FeatureSpan(NamedTuple):
    """A feature of a text: its column, a readable name, its value, and where it stands: text[start:end].

    >>> FeatureSpan(3, "word: femur", 0.7, ((5, 10),)).name
    'word: femur'
    """

    column: int
    name: str
    value: float
    spans: tuple[Span, ...]


class WordShares(NamedTuple):
    """The words of a text, and its row of features split among them: the rows of `shares` add up to it.

    >>> WordShares(["left", "femur"], sparse.csr_array([[1.0, 0.0], [0.0, 2.0]])).shares.sum(axis=0).tolist()
    [1.0, 2.0]
    """

    words: list[str]
    shares: sparse.csr_array


class _Occurrence(NamedTuple):
    """One occurrence of a feature: its column, its place, and the chunks it takes part in."""

    column: int
    span: Span
    chunks: tuple[int, ...]


def feature_spans(
    text: str, blocks: Sequence[Block], settings: Mapping[str, Any], embedding: EmbeddingBlock | None = None
) -> list[FeatureSpan]:
    """The features of a text in the order of their columns; see `TextFeatures.feature_spans`.

    >>> from taxolearn.text import TextFeatures
    >>> features = TextFeatures(analyzer="char", char_ngrams=(2, 2)).fit(["hip"])
    >>> [(span.name, span.spans) for span in feature_spans("a HIP", features.blocks_, features.settings_)]
    [('chars: ␣h', ((2, 3),)), ('chars: hi', ((2, 4),)), ('chars: ip', ((3, 5),)), ('chars: p␣', ((4, 5),))]
    """
    reading = _Reading(text, settings)
    spans = []
    for first, block in _with_first_columns(blocks):
        places: dict[int, list[Span]] = {}
        for occurrence in reading.occurrences(block):
            places.setdefault(occurrence.column, []).append(occurrence.span)
        columns = sorted(places)
        values = reading.row(block)
        names = _readable_names(block, columns)
        spans += [
            FeatureSpan(first + column, name, float(values[column]), tuple(sorted(places[column])))
            for column, name in zip(columns, names, strict=True)
        ]
    if embedding is not None:
        first = sum(len(block.vocabulary) for block in blocks)
        values = embedding.rows([text], np.float64)[0].tolist()
        whole = ((0, len(text)),)
        spans += [FeatureSpan(first + place, EMBEDDING, value, whole) for place, value in enumerate(values)]
    return spans


def word_shares(
    text: str, blocks: Sequence[Block], settings: Mapping[str, Any], embedding: EmbeddingBlock | None = None
) -> WordShares:
    """The row of a text split among its words; see `TextFeatures.word_shares`.

    >>> from taxolearn.text import TextFeatures
    >>> features = TextFeatures().fit(["left femur", "right femur"])
    >>> shares = word_shares("a right hip", features.blocks_, features.settings_)
    >>> shares.words, shares.shares.sum(axis=1).tolist()
    (['a', 'right', 'hip'], [0.0, 1.0, 0.0])
    """
    reading = _Reading(text, settings)
    rows: list[int] = []
    columns: list[int] = []
    shares: list[float] = []
    n_features = 0
    for first, block in _with_first_columns(blocks):
        occurrences = reading.occurrences(block)
        times = np.bincount([occurrence.column for occurrence in occurrences], minlength=1)
        values = reading.row(block)
        for column, _, chunks in occurrences:
            rows += chunks
            columns += [first + column] * len(chunks)
            shares += [float(values[column]) / (times[column] * len(chunks))] * len(chunks)
        n_features = first + len(block.vocabulary)
    words = [_shown(text[start:end]) for start, end in map(reading.place, reading.chunk_spans)]
    matrix = sparse.coo_array((shares, (rows, columns)), shape=(len(words), n_features), dtype=np.float64)
    if embedding is None:
        return WordShares(words, matrix.tocsr())
    vectors, by_word = embedding.shares(text, len(words))
    if by_word:
        return WordShares(words, sparse.hstack([matrix, vectors], format="csr"))
    # what the embedder cannot split among words has a line of its own
    corner = sparse.csr_array((len(words), embedding.columns))
    below = sparse.csr_array((1, n_features))
    whole = sparse.block_array([[matrix, corner], [below, sparse.csr_array(vectors)]], format="csr")
    return WordShares([*words, f"({EMBEDDING})"], whole)


class _Reading:
    """One text, cleaned and cut, with the way back from cleaned characters to those of the text."""

    def __init__(self, text: str, settings: Mapping[str, Any]) -> None:
        clean = text_cleaner(settings["lowercase"], settings["strip_accents"])
        self._settings = settings
        self._chunks = read_chunks([text], clean)
        self._cleaned = clean(text)
        self._origin = _origins(text, self._cleaned, clean)
        self.chunk_spans: list[Span] = [match.span() for match in _CHUNK.finditer(self._cleaned)]

    def place(self, span: Span) -> Span:
        """A span of the cleaned text as a span of the text itself."""
        start, end = span
        return self._origin[start], self._origin[end - 1] + 1

    def row(self, block: Block) -> Any:
        """The dense values of a block's features."""
        return block.rows(self._chunks, self._settings).toarray()[0]

    def occurrences(self, block: Block) -> list[_Occurrence]:
        """Every occurrence of every feature of a block."""
        if block.vocabulary.kind == "char":
            return self._of_characters(block)
        words = [match.span() for match in WORD.finditer(self._cleaned)]
        starts = [start for start, _ in self.chunk_spans]
        chunk_of = np.searchsorted(starts, [start for start, _ in words], side="right") - 1
        digits, lengths = block.vocabulary.digits(self._chunks)
        return [
            _Occurrence(
                column,
                self.place((words[start][0], words[start + n - 1][1])),
                tuple(chunk_of[start : start + n].tolist()),
            )
            for n, starts_, columns in block.vocabulary.table.find(digits, lengths)
            for start, column in zip(starts_.tolist(), columns.tolist(), strict=True)
        ]

    def _of_characters(self, block: Block) -> list[_Occurrence]:
        digits, lengths = block.vocabulary.digits(self._chunks)
        ends = np.cumsum(lengths)
        copies: dict[int, list[int]] = {}  # distinct chunk -> its positions among the chunks of the text
        for position, chunk in enumerate(self._chunks.ids.tolist()):
            copies.setdefault(chunk, []).append(position)
        found = []
        for n, starts, columns in block.vocabulary.table.find(digits, lengths):
            chunks = np.searchsorted(ends, starts, side="right")
            offsets = starts - (ends - lengths)[chunks] - 1  # the blank before the chunk has offset -1
            for offset, chunk, column in zip(
                offsets.tolist(), chunks.tolist(), columns.tolist(), strict=True
            ):
                for position in copies[chunk]:
                    start, end = self.chunk_spans[position]
                    # Blanks are not shown; one by itself stands at the character next to it.
                    first = min(max(start + offset, start), end - 1)
                    span = first, max(min(start + offset + n, end), first + 1)
                    found.append(_Occurrence(column, self.place(span), (position,)))
        return found


def _with_first_columns(blocks: Sequence[Block]) -> list[tuple[int, Block]]:
    firsts = accumulate((len(block.vocabulary) for block in blocks), initial=0)
    return list(zip(firsts, blocks, strict=False))


def _readable_names(block: Block, rows: list[int]) -> list[str]:
    names = block.vocabulary.names(rows)
    if block.vocabulary.kind == "word":
        return [f"word: {name}" for name in names]
    return [f"chars: {name.replace(' ', '␣')}" for name in names]


def _origins(text: str, cleaned: str, clean: Callable[[str], str]) -> Sequence[int]:
    """For each character of the cleaned text, the position of the character of the text it comes from."""
    if len(text) == len(cleaned):
        return range(len(text))
    # Lower case, decomposition and the removal of accents all turn one character into none, one or several.
    return [position for position, character in enumerate(text) for _ in clean(character)]


def _shown(chunk: str) -> str:
    return chunk.strip(string.punctuation) or chunk
