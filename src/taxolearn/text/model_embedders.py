"""Models of Sentence Transformers and of Model2Vec as embedders, by name, where these packages are installed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
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
    ...     def encode(self, texts, show_progress_bar):
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
        return np.asarray(self.model.encode(list(texts), show_progress_bar=False), dtype=np.float32)


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
        # Model2Vec asks the network even for what is in its cache, unless told not to.
        model = (
            made(name)
            if kind == "sentence-transformers"
            else made.from_pretrained(name, force_download=False)
        )
    except Exception as error:  # noqa: BLE001  whatever these packages and the network raise
        raise DataError(f"{kind} has no model {name!r} here: {str(error).splitlines()[0][:200]}") from None
    digest = hashlib.sha256()
    for part in _content(model):
        digest.update(part)
    dimension = np.asarray(model.encode(["a"], show_progress_bar=False)).shape[1]
    return ModelEmbedder(f"{kind}:{name}", int(dimension), digest.hexdigest()[:32], model)


def _content(model: Any) -> Iterator[bytes]:
    """All that vectors depend on: numbers in the order of their names, and how texts are cut."""
    if hasattr(model, "state_dict"):
        state = model.state_dict()
        for key in sorted(state):
            yield np.ascontiguousarray(state[key].detach().float().cpu().numpy()).tobytes()
        # Not all of the tokenizer: it remembers how it was last called. Some have a list of words, some nothing.
        words: Any = getattr(getattr(model, "tokenizer", None), "get_vocab", list)()
        yield repr(sorted(words.items()) if isinstance(words, Mapping) else list(words)).encode()
        return
    for name in ("embedding", "weights", "token_mapping"):
        array = getattr(model, name, None)
        yield b"" if array is None else np.ascontiguousarray(array).tobytes()
    yield model.tokenizer.to_str().encode()
