"""`TextFeatures`: texts in, weighted rows of word and character n-grams out, and of an embedding if asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from taxolearn.errors import DataError, ModelError
from taxolearn.text.block import Block, learn_block
from taxolearn.text.embedding_block import EmbeddingBlock, beside
from taxolearn.text.packing import pack_blocks, unpack_blocks
from taxolearn.text.reading import Chunks, check_texts, read_chunks, text_cleaner
from taxolearn.text.settings import KINDS, check_settings, plain_settings, setting_names
from taxolearn.text.sharing import SharesEmbedder
from taxolearn.text.spans import (
    Entries,
    FeatureSpan,
    WordShares,
    feature_spans,
    share_parts,
    text_entries,
    word_shares,
)


class TextFeatures(TransformerMixin, SharesEmbedder):  # type: ignore[misc]
    """Word and character n-grams with tf-idf or BM25 weights, learned fast.

    With `weighting="tfidf"` rows and names equal those of scikit-learn's `TfidfVectorizer` with its default
    tokens, `analyzer="char"` those of its "char_wb", and `analyzer="word+char"` those of a `FeatureUnion` of
    both, named "word" and "char".

    Parameters
    ----------
    analyzer : "word", "char", "word+char" or None
        Kinds of n-grams. Those of characters stay between white space, of which they see one blank at either
        end. None: the embedding alone; rows are dense then.
    word_ngrams, char_ngrams : (shortest, longest)
        Lengths of the n-grams of each kind.
    weighting : "tfidf" or "bm25"
        How counts become weights; see `taxolearn.text.weighting` for the formulas.
    sublinear_tf : bool
        For tf-idf: count t as 1 + ln t.
    k1, b : float
        For BM25: how fast counts saturate, and how much long texts are held back.
    min_df : int or float
        Least number (int) or share (float) of the texts that a feature must occur in.
    max_features : int or None
        Keep only the most frequent features of each kind; of equals, the first by name.
    lowercase, strip_accents : bool; None, "ascii" or "unicode"
        What is done to a text first.
    norm : "l2", "l1" or None
        The norm that is 1 in each row, for each kind by itself.
    dtype : "float64" or "float32"
        Of the rows.
    embedder : None, str, callable, dict or Embedder
        Vectors of whole texts that stand after the n-grams: "words" (static vectors, of the extra `words`),
        "sentence-transformers:NAME" or "model2vec:NAME" where these are installed, a function from a list of texts
        to an array, or a dict from texts to vectors; see `taxolearn.text.embedders`.
    embedding_weight : float
        Length of these vectors in a row.
    embedding_columns : int or None
        How many of their leading columns are used. None: all of them; with "words" beside n-grams 64 from
        more than 5,000 texts on, 32 from more than 20,000.

    Attributes
    ----------
    settings_ : dict
        The parameters in use since `fit`.
    blocks_ : tuple
        For each kind of features its vocabulary and weights.
    embedding_ : EmbeddingBlock or None
        The embedder in use, its columns and weight.

    Examples
    --------
    >>> features = TextFeatures(word_ngrams=(1, 1), norm=None)
    >>> features.fit_transform(["left femur", "femur, right femur"]).toarray().round(2)
    array([[1.  , 1.41, 0.  ],
           [2.  , 0.  , 1.41]])
    >>> features.get_feature_names_out()
    array(['femur', 'left', 'right'], dtype=object)
    """

    settings_: dict[str, Any]
    blocks_: tuple[Block, ...]
    embedding_: EmbeddingBlock | None

    def __init__(
        self,
        *,
        analyzer: str | None = "word",
        word_ngrams: tuple[int, int] = (1, 2),
        char_ngrams: tuple[int, int] = (2, 5),
        weighting: str = "tfidf",
        sublinear_tf: bool = False,
        k1: float = 1.2,
        b: float = 0.75,
        min_df: float = 1,
        max_features: int | None = None,
        lowercase: bool = True,
        strip_accents: str | None = None,
        norm: str | None = "l2",
        dtype: Any = "float64",
        embedder: Any = None,
        embedding_weight: float = 1.0,
        embedding_columns: int | None = None,
    ) -> None:
        self.analyzer = analyzer
        self.word_ngrams = word_ngrams
        self.char_ngrams = char_ngrams
        self.weighting = weighting
        self.sublinear_tf = sublinear_tf
        self.k1 = k1
        self.b = b
        self.min_df = min_df
        self.max_features = max_features
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.norm = norm
        self.dtype = dtype
        self.embedder = embedder
        self.embedding_weight = embedding_weight
        self.embedding_columns = embedding_columns

    def fit(self, texts: Iterable[str], y: object = None) -> Self:
        """Learn the features from texts; `y` is not used.

        >>> TextFeatures().fit(["left femur", "right femur"])
        TextFeatures()
        """
        self.fit_transform(texts, y)
        return self

    def fit_transform(self, texts: Iterable[str], y: object = None) -> Any:
        """Learn the features from texts and return the rows of these.

        >>> TextFeatures().fit_transform(["left femur", "right femur"]).shape
        (2, 5)
        """
        given = {
            name: value for name, value in self.get_params(deep=False).items() if name in setting_names()
        }
        check_settings(given)
        settings = plain_settings(given)
        texts = check_texts(texts)
        embedding = self._embedding(settings["analyzer"] is None, len(texts))
        if not texts:
            raise DataError("texts is empty; give at least one text to learn from")
        kinds = KINDS[settings["analyzer"]]
        chunks = _read(texts if kinds else [], settings)
        learned = [learn_block(kind, chunks, settings) for kind in kinds]
        self.settings_ = settings
        self.blocks_ = tuple(block for block, _ in learned)
        self.embedding_ = embedding
        return _side_by_side([rows for _, rows in learned], embedding, texts, settings["dtype"])

    def transform(self, texts: Iterable[str]) -> Any:
        """Return one row per text; n-grams not seen by `fit` count for nothing.

        >>> TextFeatures().fit(["left femur"]).transform(["femur", "", "tibia"]).toarray().tolist()
        [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
        """
        check_is_fitted(self)
        texts = check_texts(texts)
        chunks = _read(texts if self.blocks_ else [], self.settings_)
        rows = [block.rows(chunks, self.settings_) for block in self.blocks_]
        return _side_by_side(rows, self.embedding_, texts, self.settings_["dtype"])

    @property
    def n_features_out_(self) -> int:
        """Number of columns.

        >>> TextFeatures(word_ngrams=(1, 1)).fit(["left femur"]).n_features_out_
        2
        """
        embedded = 0 if self.embedding_ is None else self.embedding_.columns
        return sum(len(block.vocabulary) for block in self.blocks_) + embedded

    def _embedding(self, alone: bool, n_texts: int) -> EmbeddingBlock | None:
        if self.embedder is not None:
            given = self.embedder, self.embedding_weight, self.embedding_columns
            return EmbeddingBlock.of(*given, alone, n_texts)
        if alone:
            raise DataError("analyzer=None leaves no features without an embedder; try embedder='words'")
        return None

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Names of the columns as scikit-learn has them; with two kinds of features they start with the kind.

        >>> TextFeatures(analyzer="char", char_ngrams=(2, 2)).fit(["ab"]).get_feature_names_out().tolist()
        [' a', 'ab', 'b ']
        """
        check_is_fitted(self)
        both = len(self.blocks_) > 1
        names = (
            f"{block.vocabulary.kind}__{name}" if both else name
            for block in self.blocks_
            for name in block.vocabulary.names()
        )
        embedded = 0 if self.embedding_ is None else self.embedding_.columns
        return np.array([*names, *(f"embedding__{column}" for column in range(embedded))], dtype=object)

    def entries(self, text: str) -> Entries:
        """List the features of one text: their columns, their values and readable names.

        >>> features = TextFeatures(norm=None).fit(["left femur", "Femur"])
        >>> features.entries("The left FEMUR.").names
        ['word: femur', 'word: left', 'word: left femur']
        """
        check_is_fitted(self)
        [text] = check_texts([text], "text")
        return text_entries(text, self.blocks_, self.settings_, self.embedding_)

    def feature_spans(self, text: str) -> list[FeatureSpan]:
        """List the features of one text, each with a readable name, its value and where in the text it is.

        >>> features = TextFeatures(norm=None).fit(["left femur", "Femur"])
        >>> for span in features.feature_spans("The left FEMUR."):
        ...     print(span.name, round(span.value, 2), span.spans)
        word: femur 1.0 ((9, 14),)
        word: left 1.41 ((4, 8),)
        word: left femur 1.41 ((4, 14),)
        """
        check_is_fitted(self)
        [text] = check_texts([text], "text")
        return feature_spans(text, self.blocks_, self.settings_, self.embedding_)

    def word_shares(self, text: str) -> WordShares:
        """Split the row of one text among its words: a product with weights gives each word's contribution.

        >>> features = TextFeatures(norm=None).fit(["left femur", "Femur"])
        >>> words, shares = features.word_shares("The left FEMUR.")
        >>> words
        ['The', 'left', 'FEMUR']
        >>> shares.toarray().round(2)
        array([[0.  , 0.  , 0.  ],
               [0.  , 1.41, 0.7 ],
               [1.  , 0.  , 0.7 ]])
        """
        check_is_fitted(self)
        [text] = check_texts([text], "text")
        return word_shares(text, self.blocks_, self.settings_, self.embedding_)

    def explained(self, text: str) -> tuple[Entries, list[str], list[Any]]:
        """The entries of one text, its words, and the values of the entries split among them, matrices side by side.

        >>> entries, words, parts = TextFeatures(norm=None).fit(["left femur", "Femur"]).explained("the femur")
        >>> entries.names, words, [part.toarray().tolist() for part in parts]
        (['word: femur'], ['the', 'femur'], [[[0.0], [1.0]]])
        """
        entries = self.entries(text)
        words, parts = share_parts(text, self.blocks_, self.settings_, self.embedding_)
        ends = np.cumsum([0, *(part.shape[1] for part in parts)])
        bounds = np.searchsorted(entries.columns, ends)
        there = [entries.columns[a:b] - first for first, a, b in zip(ends, bounds, bounds[1:], strict=False)]
        return (
            entries,
            words,
            [
                part if len(own) == part.shape[1] else part[:, own]
                for part, own in zip(parts, there, strict=True)
            ],
        )

    def pack(self, prefix: str = "text") -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return the header entry and the arrays (named `prefix`/...) of fitted features.

        >>> header, arrays = TextFeatures().fit(["left femur", "right femur"]).pack()
        >>> sorted(arrays)
        ['text/word/atom_ends', 'text/word/atoms', 'text/word/grams', 'text/word/idf']
        """
        check_is_fitted(self)
        header, arrays = pack_blocks(self.settings_, self.blocks_, prefix)
        if self.embedding_ is not None:
            header["embedding"] = self.embedding_.pack()
        return header, arrays

    @classmethod
    def unpack(cls, header: Any, arrays: Mapping[str, npt.NDArray[Any]], prefix: str = "text") -> Self:
        """Undo `pack`; whatever is odd is a `ModelError`.

        >>> features = TextFeatures().fit(["left femur", "right femur"])
        >>> TextFeatures.unpack(*features.pack()).get_feature_names_out().tolist()
        ['femur', 'left', 'left femur', 'right', 'right femur']
        """
        settings, blocks = unpack_blocks(header, arrays, prefix)
        stored = header.get("embedding")
        embedding = None if stored is None else EmbeddingBlock.unpack(stored)
        if embedding is None and not blocks:
            raise ModelError(f"stored {prefix}: there are no features")
        features = cls(**settings)
        if embedding is not None:
            features.embedder = embedding.embedder.name
            features.embedding_weight, features.embedding_columns = embedding.weight, embedding.columns
        features.settings_, features.blocks_, features.embedding_ = settings, blocks, embedding
        return features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _read(texts: list[str], settings: Mapping[str, Any]) -> Chunks:
    return read_chunks(texts, text_cleaner(settings["lowercase"], settings["strip_accents"]))


def _side_by_side(
    blocks: list[sparse.csr_array], embedding: EmbeddingBlock | None, texts: list[str], dtype: str
) -> Any:
    """N-grams, then the embedding: sparse, or dense where it is alone."""
    vectors = None if embedding is None else embedding.rows(texts, dtype)
    if not blocks:
        return vectors
    rows = blocks[0] if len(blocks) == 1 else sparse.hstack(blocks, format="csr")
    return rows if vectors is None else beside(rows, vectors)
