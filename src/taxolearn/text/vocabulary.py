"""The words or characters of a corpus and their n-grams: texts in, counts of n-grams out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from taxolearn.text.ngrams import Ints, NgramTable, Occurrences, learn_ngrams
from taxolearn.text.reading import Chunks

# scikit-learn's default: two or more letters, digits or underscores.
WORD = re.compile(r"\b\w\w+\b")


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The n-grams that are features: of words (`kind="word"`) or of characters inside chunks (`kind="char"`).

    `atoms` are the words or characters in order; the rows of `table` are the features, in the order of their
    names (the blank between words is smaller than any character of a word, so both orders are one).

    >>> from taxolearn.text.reading import read_chunks
    >>> vocabulary, counts = learn_vocabulary("word", read_chunks(["left femur", "femur"], str), (1, 2))
    >>> vocabulary.names(), counts.toarray().tolist()
    (['femur', 'left', 'left femur'], [[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
    """

    kind: str
    atoms: tuple[str, ...]
    table: NgramTable

    def __len__(self) -> int:
        return len(self.table)

    def names(self, rows: Any = slice(None)) -> list[str]:
        """Names of all features, or of some of them.

        >>> Vocabulary("char", ("a", "b"), NgramTable(np.array([[1, 2], [2, 0]]))).names([0])
        ['ab']
        """
        atoms = np.array(["", *self.atoms], dtype=object)
        parts = atoms[self.table.grams[rows]].tolist()
        if self.kind == "char":
            return ["".join(row) for row in parts]
        return [" ".join(filter(None, row)) for row in parts]

    def counts(self, chunks: Chunks, dtype: Any = np.float64) -> sparse.csr_array:
        """Count the features in texts: one row a text.

        >>> from taxolearn.text.reading import read_chunks
        >>> vocabulary = Vocabulary("word", ("left",), NgramTable(np.array([[1]])))
        >>> vocabulary.counts(read_chunks(["left left", "right"], str)).toarray().tolist()
        [[2.0], [0.0]]
        """
        digits, lengths = self.digits(chunks)
        found = self.table.find(digits, lengths)
        return _count(self.kind, chunks, lengths, found, len(self), dtype)

    def digits(self, chunks: Chunks) -> tuple[Ints, Ints]:
        """Return the sequences in which n-grams are sought: their atom numbers end to end, and their lengths.

        For words these are the texts, for characters the distinct chunks with a blank on either side.
        """
        if self.kind == "char":
            codes, lengths = _characters(chunks.distinct)
            known = np.array([ord(atom) for atom in self.atoms], np.int64)
            place = np.minimum(np.searchsorted(known, codes), len(known) - 1)
            return np.where(known[place] == codes, place + 1, 0), lengths
        words, per_chunk = _words(chunks.distinct)
        return _word_sequences(chunks, words, per_chunk, self._numbers)

    def restricted(self, rows: npt.NDArray[np.bool_]) -> Vocabulary:
        """Return the vocabulary of these features only.

        >>> Vocabulary("char", ("a", "b"), NgramTable(np.array([[1], [2]]))).restricted(np.array([False, True]))
        Vocabulary(kind='char', atoms=('b',), table=NgramTable(grams=array([[1]])))
        """
        table, numbers = self.table.restricted(rows)
        return Vocabulary(self.kind, tuple(self.atoms[number - 1] for number in numbers), table)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {atom: number for number, atom in enumerate(self.atoms, start=1)}


def learn_vocabulary(
    kind: str, chunks: Chunks, ngrams: tuple[int, int], dtype: Any = np.float64
) -> tuple[Vocabulary, sparse.csr_array]:
    """Return the vocabulary of all n-grams in the texts, and their counts.

    >>> from taxolearn.text.reading import read_chunks
    >>> vocabulary, counts = learn_vocabulary("char", read_chunks(["aa a"], str), (2, 2))
    >>> dict(zip(vocabulary.names(), counts.toarray()[0].tolist()))
    {' a': 2.0, 'a ': 2.0, 'aa': 1.0}
    """
    if kind == "char":
        codes, lengths = _characters(chunks.distinct)
        present = np.bincount(codes) > 0
        atoms = tuple(map(chr, np.flatnonzero(present).tolist()))
        digits = np.cumsum(present)[codes]
    else:
        words, per_chunk = _words(chunks.distinct)
        atoms = tuple(sorted(set(words)))
        numbers = {atom: number for number, atom in enumerate(atoms, start=1)}
        digits, lengths = _word_sequences(chunks, words, per_chunk, numbers)
    table, found = learn_ngrams(digits, lengths, *ngrams, keep_short=kind == "char")
    return Vocabulary(kind, atoms, table), _count(kind, chunks, lengths, found, len(table), dtype)


def _words(distinct: list[str]) -> tuple[list[str], Ints]:
    """The words of all distinct chunks, and how many each chunk has."""
    per_chunk = [WORD.findall(chunk) for chunk in distinct]
    return list(chain.from_iterable(per_chunk)), np.fromiter(map(len, per_chunk), np.int64, len(per_chunk))


def _word_sequences(
    chunks: Chunks, words: list[str], per_chunk: Ints, numbers: dict[str, int]
) -> tuple[Ints, Ints]:
    """The texts as sequences of word numbers; an unknown word stays in between as 0, so nothing leaps over it."""
    digits = np.fromiter(map(numbers.get, words, repeat(0)), np.int64, len(words))
    first = np.cumsum(per_chunk) - per_chunk
    lengths = _row_sums(per_chunk[chunks.ids], chunks.lengths)
    return digits[ragged(first[chunks.ids], per_chunk[chunks.ids])], lengths


def _characters(distinct: list[str]) -> tuple[Ints, Ints]:
    """Code points of all chunks, each between two blanks; half characters (lone surrogates) become '?'."""
    lengths = np.fromiter(map(len, distinct), np.int64, len(distinct)) + 2
    joined = " " + "  ".join(distinct) + " " if distinct else ""
    codes = np.frombuffer(joined.encode("utf-32-le", "replace"), "<u4")
    return codes.astype(np.int64), lengths


def _count(
    kind: str, chunks: Chunks, lengths: Ints, found: Iterable[Occurrences], n_features: int, dtype: Any
) -> sparse.csr_array:
    owner = np.repeat(np.arange(len(lengths)), lengths)
    pairs = [(owner[occurrences.starts], occurrences.rows) for occurrences in found]
    per_sequence = count_matrix(pairs, (len(lengths), n_features), dtype)
    if kind == "word":
        return per_sequence
    text = np.repeat(np.arange(chunks.n_texts), chunks.lengths)
    per_text = count_matrix([(text, chunks.ids)], (chunks.n_texts, len(chunks.distinct)), dtype)
    counts = per_text @ per_sequence
    counts.sort_indices()
    return counts


def count_matrix(
    pairs: list[tuple[Ints, Ints]], shape: tuple[int, int], dtype: Any = np.float64
) -> sparse.csr_array:
    """Count equal (row, column) pairs into a CSR array; sorting whole numbers is faster than SciPy's way.

    >>> count_matrix([(np.array([1, 0, 1]), np.array([2, 0, 2]))], (2, 3)).toarray().tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 2.0]]
    """
    n_rows, n_columns = shape
    keys = np.concatenate([np.empty(0, np.int64), *(rows * n_columns + columns for rows, columns in pairs)])
    keys.sort()
    fresh = np.ones(len(keys), dtype=bool)
    fresh[1:] = keys[1:] != keys[:-1]
    first = np.flatnonzero(fresh)
    data = np.diff(first, append=len(keys)).astype(dtype)
    rows, columns = np.divmod(keys[first], max(n_columns, 1))
    index = np.int32 if max(len(first), n_columns) < 2**31 else np.int64
    indptr = np.zeros(n_rows + 1, index)
    np.cumsum(np.bincount(rows, minlength=n_rows), out=indptr[1:])
    return sparse.csr_array((data, columns.astype(index), indptr), shape=shape)


def ragged(first: Ints, lengths: Ints) -> Ints:
    """Return the ranges first[i], ..., first[i] + lengths[i] - 1, one after the other.

    >>> ragged(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    offsets = np.cumsum(lengths) - lengths
    return np.repeat(first - offsets, lengths) + np.arange(int(lengths.sum()))


def _row_sums(values: Ints, lengths: Ints) -> Ints:
    total = np.concatenate([[0], np.cumsum(values)])
    ends = np.cumsum(lengths)
    return total[ends] - total[ends - lengths]
