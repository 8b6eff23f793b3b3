"""Models of Sentence Transformers and of Model2Vec as embedders, by name, where these packages are installed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from taxolearn.errors import DataError
from taxolearn.text.embedder import Embedder, Matrix


@dataclass(frozen=True, eq=False)
class ModelEmbedder:
    """A model that has `encode`.

    >>> class Model:
    ...     def encode(self, texts):
    ...         return [[len(text)] for text in texts]
    >>> ModelEmbedder("lengths", 1, "0", Model()).embed(["abc"]).tolist()
    [[3.0]]
    """

    name: str
    dimension: int
    fingerprint: str
    model: Any

    def embed(self, texts: Sequence[str]) -> Matrix:
        """What the model returns.

        >>> ModelEmbedder("none", 1, "0", None).dimension
        1
        """
        return np.asarray(self.model.encode(list(texts)), dtype=np.float32)


@cache
def model_embedder(kind: str, name: str) -> Embedder:
    """The model of that name, loaded by the package it is for.

    >>> try:
    ...     model_embedder("model2vec", "no such model")
    ... except DataError as error:
    ...     "model2vec" in str(error)
    True
    """
    module, maker = {
        "sentence-transformers": ("sentence_transformers", "SentenceTransformer"),
        "model2vec": ("model2vec", "StaticModel"),
    }[kind]
    try:
        package = import_module(module)
    except ImportError:
        raise DataError(f"the embedder '{kind}:{name}' needs {kind}; pip install {kind}") from None
    made = getattr(package, maker)
    try:
        model = made(name) if kind == "sentence-transformers" else made.from_pretrained(name)
    except Exception as error:  # noqa: BLE001  whatever these packages and the network raise
        raise DataError(f"{kind} has no model {name!r} here: {str(error).splitlines()[0][:200]}") from None
    weights = _weights(model)
    digest = hashlib.sha256()
    for array in weights:
        digest.update(np.ascontiguousarray(array).tobytes())
    dimension = np.asarray(model.encode(["a"])).shape[1]
    return ModelEmbedder(f"{kind}:{name}", int(dimension), digest.hexdigest()[:32], model)


def _weights(model: Any) -> list[Any]:
    """All numbers of a model, in the order of their names."""
    if hasattr(model, "state_dict"):
        state = model.state_dict()
        return [state[key].detach().float().cpu().numpy() for key in sorted(state)]
    return [np.asarray(model.embedding)]
