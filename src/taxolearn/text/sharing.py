"""Clones that share the embedder: a model takes room, a connection cannot be copied."""

from __future__ import annotations

import copy
from typing import Any

from sklearn.base import BaseEstimator


class SharesEmbedder(BaseEstimator):  # type: ignore[misc]
    """An estimator whose `embedder` is the same in each clone of it.

    >>> from sklearn.base import clone
    >>> from taxolearn.text import TextFeatures
    >>> features = TextFeatures(embedder={"a cat": [1.0, 0.0]})
    >>> clone(features).embedder is features.embedder
    True
    """

    def __sklearn_clone__(self) -> Any:
        bare = copy.copy(self)
        bare.embedder = None
        made = BaseEstimator.__sklearn_clone__(bare)
        made.embedder = self.embedder
        return made
