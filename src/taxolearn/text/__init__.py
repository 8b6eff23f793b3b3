"""Texts as rows of features: word and character n-grams, tf-idf or BM25, kept with the model, and embeddings."""

from __future__ import annotations

from taxolearn.text.choice import choose_text_features, default_candidates
from taxolearn.text.embedder import Embedder
from taxolearn.text.embedders import register_embedder
from taxolearn.text.features import TextFeatures
from taxolearn.text.spans import FeatureSpan, WordShares

__all__ = [
    "Embedder",
    "FeatureSpan",
    "TextFeatures",
    "WordShares",
    "choose_text_features",
    "default_candidates",
    "register_embedder",
]
