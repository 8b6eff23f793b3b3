"""Where the features of one text stand in it, and which of its words they belong to."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from taxolearn.text.block import Block
from taxolearn.text.embedding_block import EMBEDDING, EmbeddingBlock
from taxolearn.text.ngrams import Ints
from taxolearn.text.ngrams import Occurrences as NgramPlaces
from taxolearn.text.reading import read_chunks, text_cleaner
from taxolearn.text.vocabulary import WORD, ragged

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


class Entries(NamedTuple):
    """The features of a text in the order of their columns: columns, values and readable names.

    >>> Entries(np.array([3]), np.array([0.7]), ["word: femur"]).names
    ['word: femur']
    """

    columns: Ints
    values: npt.NDArray[np.float64]
    names: list[str]


class _Occurrences(NamedTuple):
    """Occurrences of features as arrays: columns, places in the cleaned text, and chunks, a row of them for each."""

    columns: Ints
    starts: Ints
    ends: Ints
    chunks: Ints


def text_entries(
    text: str, blocks: Sequence[Block], settings: Mapping[str, Any], embedding: EmbeddingBlock | None = None
) -> Entries:
    """The features of a text without their places; see `TextFeatures.entries`.

    >>> from taxolearn.text import TextFeatures
    >>> features = TextFeatures(norm=None).fit(["hip"])
    >>> text_entries("a HIP", features.blocks_, features.settings_).names
    ['word: hip']
    """
    chunks = read_chunks([text], text_cleaner(settings["lowercase"], settings["strip_accents"]))
    columns, values, names = [np.empty(0, np.int64)], [np.empty(0)], []
    first = 0
    for block in blocks:
        row = block.rows(chunks, settings)
        columns.append(first + row.indices.astype(np.int64))
        values.append(row.data.astype(np.float64))
        names += _readable_names(block, row.indices)
        first += len(block.vocabulary)
    if embedding is not None:
        columns.append(np.arange(first, first + embedding.columns))
        values.append(embedding.rows([text], np.float64)[0])
        names += [EMBEDDING] * embedding.columns
    return Entries(np.concatenate(columns), np.concatenate(values), names)


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
    places: dict[int, list[Span]] = {}
    for first, block in _with_first_columns(blocks):
        for found in reading.occurrences(block):
            starts, ends = reading.places(found.starts, found.ends)
            for column, start, end in zip(
                (first + found.columns).tolist(), starts.tolist(), ends.tolist(), strict=True
            ):
                places.setdefault(column, []).append((start, end))
    whole = [(0, len(text))]
    columns, values, names = text_entries(text, blocks, settings, embedding)
    return [
        FeatureSpan(column, name, value, tuple(sorted(places.get(column, whole))))
        for column, name, value in zip(columns.tolist(), names, values.tolist(), strict=True)
    ]


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
    words, parts = share_parts(text, blocks, settings, embedding)
    return WordShares(words, sparse.hstack([sparse.csr_array((len(words), 0)), *parts], format="csr"))


def share_parts(
    text: str, blocks: Sequence[Block], settings: Mapping[str, Any], embedding: EmbeddingBlock | None = None
) -> tuple[list[str], list[Any]]:
    """The words of a text, and its row split among them as matrices side by side: a dense one for embeddings.

    >>> from taxolearn.text import TextFeatures
    >>> features = TextFeatures(analyzer="word+char").fit(["left femur", "right femur"])
    >>> words, parts = share_parts("right hip", features.blocks_, features.settings_)
    >>> words, [part.shape[1] == len(block.vocabulary) for part, block in zip(parts, features.blocks_)]
    (['right', 'hip'], [True, True])
    """
    reading = _Reading(text, settings)
    words = reading.words(text)
    parts: list[Any] = [_shares_of(reading, block, len(words)) for block in blocks]
    if embedding is None:
        return words, parts
    vectors, by_word = embedding.shares(text, len(words))
    if by_word:
        return words, [*parts, vectors]
    # what the embedder cannot split among words has a line of its own
    parts = [sparse.vstack([part, sparse.csr_array((1, part.shape[1]))], format="csr") for part in parts]
    return [*words, f"({EMBEDDING})"], [
        *parts,
        np.vstack([np.zeros((len(words), vectors.shape[1])), vectors]),
    ]


def _shares_of(reading: _Reading, block: Block, n_words: int) -> sparse.csr_array:
    """The features of one block: each occurrence has the same share, and so has each word that it is made of."""
    found = reading.occurrences(block)
    times = sum(
        (np.bincount(part.columns, minlength=len(block.vocabulary)) for part in found),
        start=np.zeros(len(block.vocabulary), np.int64),
    )
    each = reading.row(block) / np.maximum(times, 1)
    rows, columns, shares = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    for part in found:
        width = part.chunks.shape[1]
        rows.append(part.chunks.ravel())
        columns.append(np.repeat(part.columns, width))
        shares.append(np.repeat(each[part.columns] / width, width))
    entries = np.concatenate(shares), (np.concatenate(rows), np.concatenate(columns))
    return sparse.coo_array(entries, shape=(n_words, len(block.vocabulary)), dtype=np.float64).tocsr()


class _Reading:
    """One text, cleaned and cut, with the way back from cleaned characters to those of the text."""

    def __init__(self, text: str, settings: Mapping[str, Any]) -> None:
        clean = text_cleaner(settings["lowercase"], settings["strip_accents"])
        self._settings = settings
        self._chunks = read_chunks([text], clean)
        self._cleaned = clean(text)
        self._origin = _origins(text, self._cleaned, clean)
        self._starts, self._ends = _bounds(_CHUNK, self._cleaned)

    def places(self, starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
        """Places in the cleaned text as places in the text itself."""
        return self._origin[starts], self._origin[ends - 1] + 1

    def words(self, text: str) -> list[str]:
        """The chunks as they stand in the text."""
        starts, ends = self.places(self._starts, self._ends)
        return [_shown(text[start:end]) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]

    def row(self, block: Block) -> npt.NDArray[np.float64]:
        """The dense values of a block's features."""
        values: npt.NDArray[np.float64] = block.rows(self._chunks, self._settings).toarray()[0].astype(float)
        return values

    def occurrences(self, block: Block) -> list[_Occurrences]:
        """Every occurrence of every feature of a block, by the length of n-grams."""
        digits, lengths = block.vocabulary.digits(self._chunks)
        of_kind = self._of_characters if block.vocabulary.kind == "char" else self._of_words
        return list(of_kind(block.vocabulary.table.find(digits, lengths), lengths))

    def _of_words(self, found: Iterable[NgramPlaces], lengths: Ints) -> Iterator[_Occurrences]:
        starts, ends = _bounds(WORD, self._cleaned)
        chunk_of = np.searchsorted(self._starts, starts, side="right") - 1
        for n, at, columns in found:
            yield _Occurrences(columns, starts[at], ends[at + n - 1], chunk_of[at[:, None] + np.arange(n)])

    def _of_characters(self, found: Iterable[NgramPlaces], lengths: Ints) -> Iterator[_Occurrences]:
        last = np.cumsum(lengths)
        # the positions in the text of each distinct chunk, one chunk after the other
        copies = np.argsort(self._chunks.ids, kind="stable")
        n_copies = np.bincount(self._chunks.ids, minlength=len(lengths))
        for n, at, columns in found:
            chunks = np.searchsorted(last, at, side="right")
            offsets = at - (last - lengths)[chunks] - 1  # the blank before the chunk has offset -1
            times = n_copies[chunks]
            positions = copies[ragged((np.cumsum(n_copies) - n_copies)[chunks], times)]
            start, end = self._starts[positions], self._ends[positions]
            begins = start + np.repeat(offsets, times)
            # Blanks are not shown; one by itself stands at the character next to it.
            first = np.minimum(np.maximum(begins, start), end - 1)
            after = np.maximum(np.minimum(begins + n, end), first + 1)
            yield _Occurrences(np.repeat(columns, times), first, after, positions[:, None])


def _bounds(pattern: re.Pattern[str], text: str) -> tuple[Ints, Ints]:
    spans = np.array([match.span() for match in pattern.finditer(text)], np.int64).reshape(-1, 2)
    return spans[:, 0], spans[:, 1]


def _with_first_columns(blocks: Sequence[Block]) -> list[tuple[int, Block]]:
    firsts = accumulate((len(block.vocabulary) for block in blocks), initial=0)
    return list(zip(firsts, blocks, strict=False))


def _readable_names(block: Block, rows: Any) -> list[str]:
    names = block.vocabulary.names(rows)
    if block.vocabulary.kind == "word":
        return [f"word: {name}" for name in names]
    return [f"chars: {name.replace(' ', '␣')}" for name in names]


def _origins(text: str, cleaned: str, clean: Callable[[str], str]) -> Ints:
    """For each character of the cleaned text, the position of the character of the text it comes from."""
    if len(text) == len(cleaned):
        return np.arange(len(text))
    # Lower case, decomposition and the removal of accents all turn one character into none, one or several.
    return np.repeat(np.arange(len(text)), [len(clean(character)) for character in text])


def _shown(chunk: str) -> str:
    return chunk.strip(string.punctuation) or chunk
