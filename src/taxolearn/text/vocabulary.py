"""The words or characters of a corpus and their n-grams: texts in, counts of n-grams out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from taxolearn.text.ngrams import Ints, NgramTable, Occurrences, learn_ngrams
from taxolearn.text.reading import Chunks

# scikit-learn's default: two or more letters, digits or underscores.
WORD = re.compile(r"\b\w\w+\b")
_END = "\n"
_WORD_OR_END = re.compile(rf"{WORD.pattern}|{_END}")


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
        """Count the features in texts: one row per text.

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
        return _word_sequences(chunks, _words(chunks.distinct), self._numbers)

    def restricted(self, rows: npt.NDArray[np.bool_]) -> Vocabulary:
        """Return the vocabulary of these features only.

        >>> vocabulary = Vocabulary("char", ("a", "b"), NgramTable(np.array([[1], [2]])))
        >>> vocabulary.restricted(np.array([False, True])).names()
        ['b']
        """
        table, numbers = self.table.restricted(rows)
        return Vocabulary(self.kind, tuple(self.atoms[number - 1] for number in numbers), table)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return _numbered(self.atoms)


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
        digits: Ints = np.cumsum(present, dtype=np.int64)[codes]
    else:
        words = _words(chunks.distinct)
        atoms = tuple(sorted(set(words) - {_END}))
        digits, lengths = _word_sequences(chunks, words, _numbered(atoms))
    table, found = learn_ngrams(digits, lengths, *ngrams, keep_short=kind == "char")
    return Vocabulary(kind, atoms, table), _count(kind, chunks, lengths, found, len(table), dtype)


def _words(distinct: list[str]) -> list[str]:
    """The words of all distinct chunks in one go, with `_END` after those of each chunk."""
    return _WORD_OR_END.findall(_END.join([*distinct, ""]))


def _numbered(atoms: tuple[str, ...]) -> dict[str, int]:
    return {_END: -1} | {atom: number for number, atom in enumerate(atoms, start=1)}


def _word_sequences(chunks: Chunks, words: list[str], numbers: dict[str, int]) -> tuple[Ints, Ints]:
    """The texts as sequences of word numbers; an unknown word stays as 0, so that nothing leaps over it."""
    digits = np.fromiter(map(numbers.get, words, repeat(0)), np.int64, len(words))
    ends = np.flatnonzero(digits < 0)
    per_chunk = np.diff(ends, prepend=-1) - 1
    picked = per_chunk[chunks.ids]
    return digits[ragged((ends - per_chunk)[chunks.ids], picked)], _row_sums(picked, chunks.lengths)


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
    keys = keys[first]
    row_starts = np.arange(n_rows + 1) * n_columns
    indptr = np.searchsorted(keys, row_starts)
    keys -= np.repeat(row_starts[:-1], np.diff(indptr))
    index = np.int32 if max(len(keys), n_columns) < 2**31 else np.int64
    return sparse.csr_array((data, keys.astype(index), indptr.astype(index)), shape=shape)


def ragged(first: Ints, lengths: Ints) -> Ints:
    """Return the ranges first[i], ..., first[i] + lengths[i] - 1, one after the other.

    >>> ragged(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    offsets = np.cumsum(lengths) - lengths
    return np.repeat(first - offsets, lengths) + np.arange(int(lengths.sum()))


def _row_sums(values: Ints, lengths: Ints) -> Ints:
    total = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=total[1:])
    ends = np.cumsum(lengths)
    return np.asarray(total[ends] - total[ends - lengths])
