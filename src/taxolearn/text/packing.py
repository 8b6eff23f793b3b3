"""Fitted text features as the header entry and arrays of a model, checked on the way back.

Per kind of features: `atoms`, the words or characters as UTF-8 end to end; `atom_ends`, where each ends, in
bytes; `grams`, one row of atom numbers a feature (from 1, padded with 0; uint8 where that is enough); `idf`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import lt
from typing import Any

import numpy as np
import numpy.typing as npt

from taxolearn.errors import DataError, ModelError
from taxolearn.text.block import Block
from taxolearn.text.ngrams import NgramTable
from taxolearn.text.settings import KINDS, check_settings, plain_settings, setting_names
from taxolearn.text.vocabulary import Vocabulary

Arrays = dict[str, npt.NDArray[Any]]
_MAX_IDF = 100  # bound on stored weights: logarithms of counts are far below, and squares do not overflow


def pack_blocks(
    settings: dict[str, Any], blocks: Sequence[Block], prefix: str
) -> tuple[dict[str, Any], Arrays]:
    """Return header entry and arrays; see `TextFeatures.pack`.

    >>> from taxolearn.text import TextFeatures
    >>> features = TextFeatures(word_ngrams=(1, 1)).fit(["left femur"])
    >>> header, arrays = pack_blocks(features.settings_, features.blocks_, "t")
    >>> header["mean_lengths"], arrays["t/word/atoms"].tobytes(), arrays["t/word/atom_ends"].tolist()
    ([2.0], b'femurleft', [5, 9])
    """
    header = {"settings": dict(settings), "mean_lengths": [block.mean_length for block in blocks]}
    arrays: Arrays = {}
    for block in blocks:
        vocabulary = block.vocabulary
        encoded = [atom.encode() for atom in vocabulary.atoms]
        small = np.uint8 if len(encoded) < 256 else np.int32
        place = f"{prefix}/{vocabulary.kind}"
        arrays[f"{place}/atoms"] = np.frombuffer(b"".join(encoded), np.uint8)
        arrays[f"{place}/atom_ends"] = np.cumsum([len(atom) for atom in encoded], dtype=np.int64)
        arrays[f"{place}/grams"] = vocabulary.table.grams.astype(small)
        arrays[f"{place}/idf"] = block.idf
    return header, arrays


def unpack_blocks(
    header: Any, arrays: Mapping[str, npt.NDArray[Any]], prefix: str
) -> tuple[dict[str, Any], tuple[Block, ...]]:
    """Undo `pack_blocks`; see `TextFeatures.unpack`.

    >>> unpack_blocks({}, {}, "text")
    Traceback (most recent call last):
    ...
    taxolearn.errors.ModelError: stored text: the header has no valid 'settings'
    """
    settings = _settings(header, prefix)
    kinds = KINDS[settings["analyzer"]]
    mean_lengths = header.get("mean_lengths")
    if type(mean_lengths) is not list or len(mean_lengths) != len(kinds):
        raise ModelError(f"stored {prefix}: the header has no valid 'mean_lengths'")
    return settings, tuple(
        _block(kind, settings, mean_length, arrays, f"{prefix}/{kind}")
        for kind, mean_length in zip(kinds, mean_lengths, strict=True)
    )


def _settings(header: Any, prefix: str) -> dict[str, Any]:
    settings = header.get("settings") if type(header) is dict else None
    if type(settings) is not dict or set(settings) != set(setting_names()):
        raise ModelError(f"stored {prefix}: the header has no valid 'settings'")
    try:
        check_settings(settings)
    except DataError as error:
        raise ModelError(f"stored {prefix}: {error}") from None
    return plain_settings(settings)


def _block(
    kind: str, settings: dict[str, Any], mean_length: Any, arrays: Mapping[str, npt.NDArray[Any]], place: str
) -> Block:
    if type(mean_length) is not float or not 0 < mean_length < np.inf:
        raise ModelError(f"stored {place}: the mean length of texts must be a positive number")
    atoms = _atoms(
        _array(arrays, f"{place}/atoms", (np.uint8,), 1),
        _array(arrays, f"{place}/atom_ends", (np.int64,), 1),
        place,
    )
    if kind == "char" and max(map(len, atoms)) > 1:
        raise ModelError(f"stored {place}: an entry of the alphabet is more than one character")
    if len("x".join(atom for atom in atoms if kind == "word" or atom != " ").split()) > 1:
        raise ModelError(f"stored {place}: a word or character of the vocabulary holds white space")
    grams = _array(arrays, f"{place}/grams", (np.uint8, np.int32), 2)
    _check_grams(grams, len(atoms), place)
    _check_lengths(kind, grams, atoms, settings[f"{kind}_ngrams"], place)
    idf = _array(arrays, f"{place}/idf", (settings["dtype"],), 1)
    if len(idf) != len(grams):
        raise ModelError(f"stored {place}: there are {len(idf):,} weights for {len(grams):,} features")
    if not np.all((idf > 0) & (idf < _MAX_IDF)):
        raise ModelError(f"stored {place}: a weight is not a positive number below {_MAX_IDF}")
    return Block(Vocabulary(kind, atoms, NgramTable(grams)), idf, mean_length)


def _atoms(raw: npt.NDArray[Any], ends: npt.NDArray[Any], place: str) -> tuple[str, ...]:
    if not len(ends) or ends[0] < 1 or np.any(ends[1:] <= ends[:-1]) or ends[-1] != len(raw):
        raise ModelError(f"stored {place}: the offsets of the words do not fit their bytes")
    begins_character = (raw & 0xC0) != 0x80  # all other bytes of UTF-8 start with the bits 10
    if not begins_character[ends[:-1]].all():
        raise ModelError(f"stored {place}: an offset cuts a character in two")
    try:
        joined = raw.tobytes().decode("utf-8")
    except UnicodeDecodeError:
        raise ModelError(f"stored {place}: the words are not valid UTF-8") from None
    cuts = np.cumsum(begins_character)[ends - 1].tolist()
    atoms = tuple(joined[start:end] for start, end in zip([0, *cuts], cuts, strict=False))
    if not all(map(lt, atoms, atoms[1:])):
        raise ModelError(f"stored {place}: the words are not sorted or not distinct")
    return atoms


def _check_grams(grams: npt.NDArray[Any], n_atoms: int, place: str) -> None:
    """Rows must hold atom numbers, then zeros, and rise: the look-up relies on all of it."""
    if not grams.size or grams.min() < 0 or grams.max() > n_atoms:
        raise ModelError(f"stored {place}: there are no features, or one refers to a word that is not there")
    used = grams > 0
    if not used[:, 0].all() or np.any(used[:, 1:] & ~used[:, :-1]):
        raise ModelError(f"stored {place}: a feature has a gap")
    risen = np.zeros(len(grams) - 1, dtype=bool)
    for column in range(grams.shape[1]):
        above, below = grams[:-1, column], grams[1:, column]
        if np.any(~risen & (below < above)):
            raise ModelError(f"stored {place}: the features are not sorted")
        risen |= below > above
    if not risen.all():
        raise ModelError(f"stored {place}: a feature is there twice")


def _check_lengths(
    kind: str, grams: npt.NDArray[Any], atoms: tuple[str, ...], ngrams: tuple[int, int], place: str
) -> None:
    lengths = np.count_nonzero(grams, axis=1)
    fits = (lengths >= ngrams[0]) & (lengths <= ngrams[1])
    if kind == "char":
        # A chunk too short for an n-gram is a feature by itself, with its two blanks.
        blank = atoms.index(" ") + 1 if " " in atoms else -1
        last = grams[np.arange(len(grams)), lengths - 1]
        fits |= (lengths < ngrams[0]) & (grams[:, 0] == blank) & (last == blank)
    if not fits.all():
        raise ModelError(f"stored {place}: a feature is longer or shorter than the settings say")


def _array(
    arrays: Mapping[str, npt.NDArray[Any]], name: str, dtypes: tuple[Any, ...], ndim: int
) -> npt.NDArray[Any]:
    array = arrays.get(name)
    if not isinstance(array, np.ndarray):
        raise ModelError(f"the array {name!r} is missing in the model")
    if array.dtype not in dtypes or array.ndim != ndim:
        raise ModelError(f"the array {name!r} has an unexpected dtype or number of dimensions")
    return array
