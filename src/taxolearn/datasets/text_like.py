"""Rows that look like bags of words of documents filed under a taxonomy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from taxolearn.datasets._numbers import csr
from taxolearn.datasets.dataset import Dataset
from taxolearn.datasets.random_taxonomy import Seed, random_taxonomy
from taxolearn.datasets.shapes import Shape, find_shape
from taxolearn.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from taxolearn.structure import Taxonomy

_WORDS_PER_TOPIC = 60  # words of a topic; a small vocabulary allows fewer
_TOPICAL_SHARE_BETA = (2.0, 3.0)  # parameters of the Beta distribution of a document's share of topical words
_OWN_TOPIC_SHARE = 0.5  # share of topical words that come from the class itself rather than its ancestors
_LOG_LENGTH_DEVIATION = 0.6  # standard deviation of the logarithm of document lengths
_NEIGHBOUR_PROBABILITY = 0.4  # that the next class is the confusable one; distances are geometric
_WORDS_AT_A_TIME = 2_000_000  # words drawn at a time


def make_text_like(
    n_rows: int | None = None,
    n_features: int | None = None,
    n_leaves: int | None = None,
    n_nodes: int | None = None,
    *,
    depth: int | None = None,
    taxonomy: Taxonomy | None = None,
    shape: str | Shape | None = None,
    labels_per_row: float | None = None,
    mean_length: float | None = None,
    class_skew: float = 1.0,
    overlap: float = 0.35,
    random_state: Seed = None,
) -> Dataset:
    """Draw tf-idf rows of documents whose topics are inherited down a taxonomy.

    A document mixes words of the general vocabulary, which follows Zipf's law, with words of the topics of
    its class and of the ancestors of its class: documents of related classes share words. Part of its
    topical words come from one other class, more often a close one, which is what keeps the classes from
    being separated at once. Rows are (1 + log tf) idf, scaled to norm 1, in float32 CSR.

    Parameters
    ----------
    n_rows, n_features, n_leaves, n_nodes : int, optional
        The sizes, exactly; they override those of `shape`.
    depth : int, optional
        The depth of the taxonomy.
    taxonomy : Taxonomy, optional
        Use this one rather than a random one of `n_nodes` and `n_leaves`.
    shape : str or Shape, optional
        A published shape, one of the keys of `SHAPES`, for whatever is not given.
    labels_per_row : float, optional
        Above 1, rows have about so many labels on average, and y is a list of lists.
    mean_length : float, optional
        The mean number of words of a document.
    class_skew : float
        Class sizes fall as rank ** -class_skew; every class has a row when there are enough.
    overlap : float
        The mean share of topical words that come from another class, in [0, 1).
    random_state : int, numpy Generator or None

    >>> make_text_like(200, 500, 20, 30, depth=3, random_state=0).taxonomy
    Taxonomy(tree, 30 nodes, 20 leaves, depth 3)
    >>> make_text_like(shape="rcv1", n_rows=300, random_state=0).X.shape
    (300, 48728)
    """
    rng = np.random.default_rng(random_state)
    base = find_shape(shape) if shape is not None else Shape(1_000, 5_000, 0, 0, 0, mean_length=100.0)
    given: dict[str, Any] = {
        "n_rows": n_rows,
        "n_features": n_features,
        "n_leaves": n_leaves,
        "n_nodes": n_nodes,
        "labels_per_row": labels_per_row,
        "mean_length": mean_length,
    }
    sizes = replace(base, **{name: value for name, value in given.items() if value is not None})
    _check(sizes, overlap)
    if taxonomy is None:
        taxonomy = _taxonomy_for(sizes, depth, resized=n_leaves is not None or n_nodes is not None, rng=rng)
    model = _Model(sizes, taxonomy, class_skew, overlap, rng)
    labels = model.draw_labels()
    X = _tf_idf(model.draw_counts(labels))
    leaves = np.array(taxonomy.leaves, dtype=object)
    names = leaves[labels.indices].tolist()
    y: list[Any] = names
    if sizes.labels_per_row > 1.0:
        bounds = labels.indptr.tolist()
        y = [names[start:end] for start, end in pairwise(bounds)]
    name = f"text-like {shape}" if isinstance(shape, str) else "text-like"
    return Dataset(X, y, taxonomy, name=name)


def _check(sizes: Shape, overlap: float) -> None:
    if sizes.n_rows < 1 or sizes.n_features < 2:
        raise DataError(f"need a row and two features, found {sizes.n_rows} and {sizes.n_features}")
    if sizes.labels_per_row < 1.0 or sizes.mean_length < 1.0:
        raise DataError(
            "labels_per_row and mean_length must be 1 or more, "
            f"found {sizes.labels_per_row} and {sizes.mean_length}"
        )
    if not 0.0 <= overlap < 1.0:
        raise DataError(f"overlap must be in [0, 1), found {overlap}")


def _taxonomy_for(sizes: Shape, depth: int | None, resized: bool, rng: np.random.Generator) -> Taxonomy:
    if not sizes.n_leaves or not sizes.n_nodes:
        raise DataError("n_leaves and n_nodes are needed; give both, a taxonomy or a shape")
    if depth is None and not resized:
        depth = sizes.depth
    return random_taxonomy(sizes.n_nodes, sizes.n_leaves, depth, dag=sizes.dag, random_state=rng)


@dataclass(frozen=True)
class _Labels:
    """Positions of leaves per row, as CSR."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]


class _Model:
    """The classes' topics and sizes, and how documents are drawn from them."""

    def __init__(
        self, sizes: Shape, taxonomy: Taxonomy, class_skew: float, overlap: float, rng: np.random.Generator
    ) -> None:
        self.sizes = sizes
        self.overlap = overlap
        self.rng = rng
        self.n_leaves = taxonomy.n_leaves
        self.leaf_ids = taxonomy.leaf_ids.astype(np.int64)
        above = taxonomy.ancestor_matrix(taxonomy.leaf_ids, include_self=False, include_root=False)
        self.ancestor_indptr = above.indptr.astype(np.int64)
        self.ancestors = above.indices.astype(np.int64)
        weights = (1.0 + rng.permutation(self.n_leaves)) ** -class_skew
        self.class_share = weights / weights.sum()
        # Word numbers say nothing about frequency, as in an alphabetical vocabulary.
        self.word_of_rank = rng.permutation(sizes.n_features).astype(np.int32)
        n_words = max(1, min(_WORDS_PER_TOPIC, sizes.n_features // 4))
        # Topics prefer the rarer words, so the commonest ones tell little.
        ranks = (sizes.n_features * rng.random((taxonomy.n_nodes, n_words)) ** 0.7).astype(np.int64)
        self.topics = self.word_of_rank[ranks]

    def draw_labels(self) -> _Labels:
        n_rows, n_leaves, rng = self.sizes.n_rows, self.n_leaves, self.rng
        sure = rng.permutation(n_leaves)[:n_rows]
        counts = rng.multinomial(n_rows - sure.size, self.class_share)
        counts[sure] += 1
        first = rng.permutation(np.repeat(np.arange(n_leaves), counts))
        if self.sizes.labels_per_row == 1.0:
            return _Labels(np.arange(n_rows + 1), first)
        more = rng.poisson(self.sizes.labels_per_row - 1.0, n_rows)
        rows = np.repeat(np.arange(n_rows), more)
        others = np.where(
            rng.random(rows.size) < 0.5,
            self._neighbours(first[rows]),
            rng.choice(n_leaves, rows.size, p=self.class_share),
        )
        rows = np.concatenate([np.arange(n_rows), rows])
        keys = np.unique(rows * n_leaves + np.concatenate([first, others]))
        return _Labels(np.searchsorted(keys, np.arange(n_rows + 1) * n_leaves), keys % n_leaves)

    def _neighbours(self, leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each leaf another one near it in depth-first order, so mostly under the same parent."""
        distances = self.rng.geometric(_NEIGHBOUR_PROBABILITY, leaves.size)
        steps = distances * self.rng.choice(np.array([-1, 1]), leaves.size)
        near: NDArray[np.int64] = (leaves + steps) % self.n_leaves
        return near

    def draw_counts(self, labels: _Labels) -> sparse.csr_array:
        """How often each word stands in each document."""
        from scipy import sparse

        n_rows, rng = self.sizes.n_rows, self.rng
        scale = self.sizes.mean_length * np.exp(-0.5 * _LOG_LENGTH_DEVIATION**2)
        lengths = np.maximum(1, np.rint(scale * rng.lognormal(0.0, _LOG_LENGTH_DEVIATION, n_rows))).astype(
            np.int64
        )
        ends = np.concatenate([[0], np.cumsum(lengths)])
        pieces = []
        start = 0
        while start < n_rows:
            stop = max(
                start + 1, int(np.searchsorted(ends, ends[start] + _WORDS_AT_A_TIME, side="right")) - 1
            )
            rows = np.repeat(np.arange(start, stop), lengths[start:stop])
            words = self._draw_words(rows - start, start, stop, labels)
            spans = ends[start : stop + 1] - ends[start]
            piece = csr(np.ones(words.size, np.float32), words, spans, (stop - start, self.sizes.n_features))
            piece.sum_duplicates()
            pieces.append(piece)
            start = stop
        return sparse.vstack(pieces, format="csr")

    def _draw_words(
        self, rows: NDArray[np.int64], start: int, stop: int, labels: _Labels
    ) -> NDArray[np.int32]:
        """One word per entry of `rows`, which count from `start`."""
        rng, size = self.rng, stop - start
        n_labels = np.diff(labels.indptr[start : stop + 1])
        rival = self._neighbours(labels.indices[labels.indptr[start:stop]])
        rival = np.where(rng.random(size) < 0.7, rival, rng.integers(self.n_leaves, size=size))
        topical_share = rng.beta(*_TOPICAL_SHARE_BETA, size)
        rival_share = np.zeros(size)
        if self.overlap:
            rival_share = rng.beta(2.0 * self.overlap, 2.0 * (1.0 - self.overlap), size)

        words = self.word_of_rank[_zipf(rng.random(rows.size), self.sizes.n_features)]
        topical = np.flatnonzero(rng.random(rows.size) < topical_share[rows])
        rows = rows[topical]
        own = labels.indptr[start + rows] + (rng.random(rows.size) * n_labels[rows]).astype(np.int64)
        leaf = np.where(rng.random(rows.size) < rival_share[rows], rival[rows], labels.indices[own])
        n_above = self.ancestor_indptr[leaf + 1] - self.ancestor_indptr[leaf]
        node = self.leaf_ids[leaf]
        above = np.flatnonzero((rng.random(rows.size) >= _OWN_TOPIC_SHARE) & (n_above > 0))
        pick = self.ancestor_indptr[leaf[above]] + (rng.random(above.size) * n_above[above]).astype(np.int64)
        node[above] = self.ancestors[pick]
        words[topical] = self.topics[node, _zipf(rng.random(rows.size), self.topics.shape[1])]
        return words


def _zipf(uniform: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Ranks 0 .. size - 1, rank r with a probability proportional to log((r + 2) / (r + 1)), about 1 / r."""
    return np.minimum((size + 1.0) ** uniform - 1.0, size - 1.0).astype(np.int64)


def _tf_idf(counts: sparse.csr_array) -> sparse.csr_array:
    """(1 + log tf) (1 + log((1 + n) / (1 + df))), rows scaled to norm 1; every row has a word."""
    n_rows, n_features = counts.shape
    in_rows = np.bincount(counts.indices, minlength=n_features)
    idf = (1.0 + np.log((1.0 + n_rows) / (1.0 + in_rows))).astype(np.float32)
    counts.data = (1.0 + np.log(counts.data)) * idf[counts.indices]
    norms = np.sqrt(np.add.reduceat(counts.data.astype(np.float64) ** 2, counts.indptr[:-1]))
    counts.data = (counts.data / np.repeat(norms, np.diff(counts.indptr))).astype(np.float32)
    return counts
