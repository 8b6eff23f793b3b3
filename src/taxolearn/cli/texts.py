"""What the options say about the features of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from taxolearn.errors import DataError

if TYPE_CHECKING:
    from taxolearn.text import TextFeatures

_KINDS = ("auto", "word", "char", "word+char")


def text_features(features: str, ngrams: str) -> TextFeatures | None:
    """The features of `--features` and `--ngrams`; None for those that are chosen later.

    >>> text_features("word", "1-2")
    TextFeatures(sublinear_tf=True)
    >>> text_features("auto", "1-2") is None
    True
    """
    from taxolearn.text import TextFeatures

    if features not in _KINDS:
        raise DataError(
            f"--features {features} is not known; choose {', '.join(_KINDS[:-1])} or {_KINDS[-1]}"
        )
    lengths = ngrams.split("-")
    if not all(part.isdigit() for part in lengths) or len(lengths) > 2:
        raise DataError(f"--ngrams {ngrams} is not understood; give the lengths as 1-2")
    if features == "auto":
        return None
    return TextFeatures(analyzer=features, word_ngrams=(int(lengths[0]), int(lengths[-1])), sublinear_tf=True)
