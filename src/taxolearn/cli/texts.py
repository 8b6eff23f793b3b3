"""What the options say about the features of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from taxolearn.errors import DataError

if TYPE_CHECKING:
    from taxolearn.text import TextFeatures

FEATURES_HELP = (
    "word, char or word+char n-grams; or by held-out accuracy: ngrams, embeddings (extra `words`), both, "
    "auto (the best of these)."
)
_CHOSEN = ("auto", "ngrams", "embeddings", "both")
_KINDS = (*_CHOSEN, "word", "char", "word+char")


def text_features(features: str, ngrams: str, embedder: str | None = None) -> TextFeatures | str:
    """The features of `--features`, `--ngrams` and `--embedder`; the word itself for those that are chosen later.

    >>> text_features("word", "1-2")
    TextFeatures(sublinear_tf=True)
    >>> text_features("auto", "1-2")
    'auto'
    """
    from taxolearn.text import TextFeatures

    if features not in _KINDS:
        raise DataError(
            f"--features {features} is not known; choose {', '.join(_KINDS[:-1])} or {_KINDS[-1]}"
        )
    lengths = ngrams.split("-")
    if not all(part.isdigit() for part in lengths) or len(lengths) > 2:
        raise DataError(f"--ngrams {ngrams} is not understood; give the lengths as 1-2")
    if features in _CHOSEN:
        return features
    word_ngrams = int(lengths[0]), int(lengths[-1])
    return TextFeatures(analyzer=features, word_ngrams=word_ngrams, sublinear_tf=True, embedder=embedder)


def label_texts_of(given: str | None, taxonomy: str | None) -> Any:
    """What `--label-texts` means: "names", or the texts of a column of the taxonomy file.

    >>> label_texts_of("names", None), label_texts_of(None, None)
    ('names', None)
    """
    if given is None or given == "names":
        return given
    if taxonomy is None:
        raise DataError(f"--label-texts {given} is a column of the --taxonomy table; give one, or: names")
    from taxolearn.cli.taxonomy_files import column_texts

    return column_texts(taxonomy, given)
