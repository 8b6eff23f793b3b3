"""From counts to weights: tf-idf as in scikit-learn, or BM25, and unit rows.

With n texts, f of which hold a feature, and its count t in a text of d counted features (D on average):

    tfidf   t (1 + ln((1 + n) / (1 + f)))                     t replaced by 1 + ln t with `sublinear_tf`
    bm25    t (k1 + 1) / (t + k1 (1 - b + b d / D)) * ln(1 + (n - f + 1/2) / (f + 1/2))

The first is scikit-learn's smoothed form; the second is from Robertson and Zaragoza, The Probabilistic
Relevance Framework: BM25 and Beyond (2009), with the idf of Apache Lucene, which is never negative.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

Floats = npt.NDArray[np.floating[Any]]


def document_frequency(counts: sparse.csr_array) -> npt.NDArray[np.int64]:
    """In how many rows each column is not zero.

    >>> document_frequency(sparse.csr_array([[2, 0], [1, 0]])).tolist()
    [2, 0]
    """
    return np.bincount(counts.indices, minlength=counts.shape[1])


def inverse_frequency(weighting: str, frequency: npt.NDArray[np.int64], n_texts: int) -> Floats:
    """The idf of each feature.

    >>> inverse_frequency("tfidf", np.array([1, 3]), 3).round(3).tolist()
    [1.693, 1.0]
    >>> inverse_frequency("bm25", np.array([1, 3]), 3).round(3).tolist()
    [0.981, 0.134]
    """
    idf: Floats
    if weighting == "tfidf":
        idf = np.log((1 + n_texts) / (1 + frequency)) + 1
    else:
        idf = np.log1p((n_texts - frequency + 0.5) / (frequency + 0.5))
    return idf


def sublinear(counts: sparse.csr_array) -> None:
    """Replace each count t by 1 + ln t, in place.

    >>> counts = sparse.csr_array([[1.0, 0.0]])
    >>> sublinear(counts)
    >>> counts.toarray().tolist()
    [[1.0, 0.0]]
    """
    np.log(counts.data, out=counts.data)
    counts.data += 1


def saturate(counts: sparse.csr_array, mean_length: float, k1: float, b: float) -> None:
    """Replace each count by its BM25 term frequency, in place.

    >>> counts = sparse.csr_array([[1.0, 3.0]])
    >>> saturate(counts, mean_length=4.0, k1=1.0, b=0.75)
    >>> counts.toarray().tolist()
    [[1.0, 1.5]]
    """
    slack = k1 * (1 - b + b * _row_sums(counts.data, counts.indptr) / mean_length)
    slack = np.repeat(slack.astype(counts.dtype), np.diff(counts.indptr))
    counts.data *= (k1 + 1) / (counts.data + slack)


def normalize_rows(rows: sparse.csr_array, norm: str) -> None:
    """Scale each row to the "l1" or "l2" norm 1, in place; rows of zeros stay.

    >>> rows = sparse.csr_array([[3.0, 4.0], [0.0, 0.0]])
    >>> normalize_rows(rows, "l2")
    >>> rows.toarray().tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    sizes = _row_sums(rows.data**2 if norm == "l2" else np.abs(rows.data), rows.indptr)
    if norm == "l2":
        sizes = np.sqrt(sizes)
    sizes[sizes == 0] = 1
    rows.data /= np.repeat(sizes.astype(rows.dtype), np.diff(rows.indptr))


def _row_sums(data: Floats, indptr: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    sums = np.zeros(len(indptr) - 1)
    filled = np.flatnonzero(np.diff(indptr))  # reduceat would repeat an entry for an empty row
    if len(filled):
        sums[filled] = np.add.reduceat(data, indptr[filled], dtype=np.float64)
    return sums
