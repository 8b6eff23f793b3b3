"""Embedders: texts in, one dense vector each out; found by name, so that a saved model holds no code.

An embedder has a `name`, a `dimension`, a `fingerprint` and a method `embed`. The static one of the extra `words` is
called "words"; models of Sentence Transformers and Model2Vec go by "sentence-transformers:NAME" and "model2vec:NAME";
callables and tables of vectors are the user's own, and `register_embedder` makes them known to `load`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from taxolearn.errors import DataError
from taxolearn.structure.names import show
from taxolearn.text.embedder import STATIC, Embedder, EmbedderError, Matrix

# What a callable is known by: its vectors of these, to three digits.
_PROBES = ["a cat", "The quick brown fox jumps over the lazy dog.", "42 years"]
_registered: dict[str, Embedder] = {}


def embedder_of(given: Any) -> Embedder:
    """The embedder that is meant: itself, by name, a callable, or a dict from texts to vectors.

    >>> embedder_of(lambda texts: np.ones((len(texts), 2))).dimension
    2
    >>> embedder_of({"a cat": [1.0, 0.0]}).embed(["a cat"]).tolist()
    [[1.0, 0.0]]
    >>> embedder_of("nothing such")
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: embedder='nothing such' is not known; use 'words', 'sentence-transformers:NAME' or \
'model2vec:NAME', or make your own known by register_embedder
    """
    if isinstance(given, str):
        return _by_name(given)
    if isinstance(given, Mapping):
        return GivenVectors.of(given)
    if isinstance(given, Embedder) and not isinstance(given, type):
        return _described(given)
    if callable(given) and not isinstance(given, type):
        return CalledEmbedder.of(given)
    remedy = "give a name, a callable or a dict of vectors"
    if isinstance(given, type):
        remedy = "it is a class: give an embedder made of it"
    elif hasattr(given, "shape"):
        remedy = "say which text each vector is of: dict(zip(texts, vectors))"
    raise DataError(f"embedder={show(given)} is not valid; {remedy}")


def register_embedder(embedder: Any, name: str | None = None) -> Embedder:
    """Make an embedder known by its name, so that models that use it can be loaded; returns it.

    >>> length = register_embedder(lambda texts: np.array([[len(t), 1.0] for t in texts]), "length")
    >>> embedder_of("length").embed(["abc"]).tolist()
    [[3.0, 1.0]]
    """
    made = embedder_of(embedder)
    if name is not None:
        if not isinstance(made, CalledEmbedder | GivenVectors):
            raise DataError(f"the embedder {made.name!r} has a name of its own; leave name out")
        made = type(made)(**{**made.__dict__, "name": name})
    _registered[made.name] = made
    return made


def comes_with_a_package(name: str) -> bool:
    """Whether a name stands for what some package holds, so that it cannot be the user's own.

    >>> comes_with_a_package("model2vec:tiny"), comes_with_a_package("words"), comes_with_a_package("mine")
    (True, True, False)
    """
    kind, _, model = name.partition(":")
    return name == STATIC or (kind in ("sentence-transformers", "model2vec") and bool(model))


def checked(embedder: Embedder, texts: Sequence[str]) -> Matrix:
    """The vectors of texts, or what is wrong with them.

    >>> checked(embedder_of(lambda texts: np.full((len(texts), 1), np.nan)), ["a"])
    Traceback (most recent call last):
    ...
    taxolearn.text.embedder.EmbedderError: the embedder '<lambda>' returned a vector that is not finite for 'a cat'
    """
    rows = _matrix(embedder.embed(texts), embedder.name)
    wanted = (len(texts), embedder.dimension)
    if rows.shape != wanted:
        raise EmbedderError(
            f"the embedder {embedder.name!r} returned an array of shape {rows.shape}, not {wanted}"
        )
    if not np.isfinite(rows).all():
        culprit = texts[int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])]
        raise EmbedderError(
            f"the embedder {embedder.name!r} returned a vector that is not finite for {show(culprit)}"
        )
    return rows


@dataclass(frozen=True, eq=False)
class CalledEmbedder:
    """A function of the user's: a list of texts in, an array of vectors out.

    >>> CalledEmbedder.of(lambda texts: np.ones((len(texts), 2))).name
    '<lambda>'
    """

    name: str
    dimension: int
    fingerprint: str
    function: Callable[[list[str]], Any]

    @classmethod
    def of(cls, function: Callable[[list[str]], Any]) -> CalledEmbedder:
        """Try the function on three texts.

        >>> CalledEmbedder.of(lambda texts: np.ones((len(texts), 2))).dimension
        2
        """
        name = getattr(function, "__qualname__", type(function).__qualname__).rpartition("<locals>.")[2]
        rows = _matrix(function(list(_PROBES)), name)
        if rows.ndim != 2 or len(rows) != len(_PROBES) or not rows.shape[1]:
            raise EmbedderError(
                f"the embedder {name!r} returned an array of shape {rows.shape} for {len(_PROBES)} texts; "
                "one row per text"
            )
        found = cls(name, rows.shape[1], _digest(np.round(rows, 3) + np.float32(0)), function)
        checked(found, _PROBES)
        return found

    def embed(self, texts: Sequence[str]) -> Matrix:
        """What the function returns.

        >>> CalledEmbedder.of(lambda texts: np.ones((len(texts), 2))).embed(["a"]).tolist()
        [[1.0, 1.0]]
        """
        return _matrix(self.function(list(texts)), self.name)


@dataclass(frozen=True, eq=False)
class GivenVectors:
    """Vectors that were computed elsewhere, by text.

    >>> GivenVectors.of(dict(zip(["a", "b"], np.eye(2)))).embed(["b"]).tolist()
    [[0.0, 1.0]]
    """

    name: str
    dimension: int
    fingerprint: str
    place: Mapping[str, int]
    vectors: Matrix

    @classmethod
    def of(cls, vectors: Mapping[str, Any]) -> GivenVectors:
        """The vectors of a dict.

        >>> GivenVectors.of({"a": [1.0]}).dimension
        1
        """
        if not vectors or not all(isinstance(text, str) for text in vectors):
            raise DataError("an embedder that is a dict needs texts as keys and vectors as values")
        try:
            rows = _matrix(list(vectors.values()), "given vectors")
        except EmbedderError:
            rows = np.empty(0, dtype=np.float32)
        if rows.ndim != 2 or not rows.shape[1]:
            raise DataError("the vectors of an embedder that is a dict must be numbers, and of one length")
        place = {text: row for row, text in enumerate(vectors)}
        return cls("given vectors", rows.shape[1], _digest(rows, *place), place, rows)

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Look the texts up.

        >>> GivenVectors.of({"a": [1.0]}).embed(["b"])
        Traceback (most recent call last):
        ...
        taxolearn.text.embedder.EmbedderError: there is no vector for the text 'b'; give one for every text
        """
        try:
            return self.vectors[[self.place[text] for text in texts]]
        except KeyError as error:
            raise EmbedderError(
                f"there is no vector for the text {show(error.args[0])}; give one for every text"
            ) from None


def _by_name(name: str) -> Embedder:
    if name in _registered:
        return _registered[name]
    if name == STATIC:
        from taxolearn.text.static_words import static_words

        return static_words()
    if comes_with_a_package(name):
        from taxolearn.text.model_embedders import model_embedder

        kind, _, model = name.partition(":")
        return model_embedder(kind, model)
    raise DataError(
        f"embedder={show(name)} is not known; use 'words', 'sentence-transformers:NAME' or 'model2vec:NAME', or "
        "make your own known by register_embedder"
    )


def _described(given: Embedder) -> Embedder:
    """An embedder of the user's that says what a model must know about it."""
    named = all(isinstance(said, str) and said for said in (given.name, given.fingerprint))
    width = given.dimension
    if not named or isinstance(width, bool) or not isinstance(width, int | np.integer) or width < 1:
        said = f"name={show(given.name)}, dimension={show(width)}, fingerprint={show(given.fingerprint)}"
        raise DataError(
            f"an embedder has {said}; name and fingerprint must be str, dimension a whole number from 1 on"
        )
    return given


def _matrix(found: Any, name: str) -> Matrix:
    """What an embedder returned, as float32; numbers too large for that become infinite."""
    try:
        rows = np.asarray(found)
        if rows.dtype.kind in "cSUMm":
            raise TypeError(f"values of type {rows.dtype}")
        with np.errstate(over="ignore"):
            return rows.astype(np.float32, copy=False)
    except (TypeError, ValueError) as error:
        raise EmbedderError(f"the embedder {name!r} returned no array of numbers: {error}") from None


def _digest(rows: Matrix, *texts: str) -> str:
    digest = hashlib.sha256(np.ascontiguousarray(rows).tobytes())
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()[:32]
