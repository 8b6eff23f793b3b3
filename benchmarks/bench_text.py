"""Word and character n-grams of 100,000 short texts: TextFeatures next to scikit-learn's TfidfVectorizer.

    python benchmarks/bench_text.py [texts]

CPU seconds of `fit_transform` and `transform`, on texts from a Zipf vocabulary of 60,000 made-up words and on
a dirtier mix (capitals, punctuation, numbers, accents, typing errors). The fit of a linear model on the same
rows, 20 classes, shows how much the vectorizer matters. All rows are compared. Exits with 1 when TextFeatures
is slower anywhere, or when its rows differ.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from taxolearn.text import TextFeatures

N_WORDS = 60_000
N_CLASSES = 20
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "words 1-2": ({"word_ngrams": (1, 2)}, {"ngram_range": (1, 2)}),
    "chars 2-5": (
        {"analyzer": "char", "char_ngrams": (2, 5)},
        {"analyzer": "char_wb", "ngram_range": (2, 5)},
    ),
}


def made_up_words(rng: np.random.Generator) -> list[str]:
    """Distinct words of one to four syllables, the short ones first."""
    onsets = [*"bcdfghklmnprstv", "tr", "st", "ph", "cl"]
    syllables = np.array([o + v + e for o in onsets for v in "aeiou" for e in ("", "n", "r", "s", "l")])
    words = dict.fromkeys(syllables.tolist())
    while len(words) < N_WORDS:
        words["".join(rng.choice(syllables, rng.integers(2, 5)))] = None
    return list(words)


def zipf_texts(n_texts: int, rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """Texts of 3 to 13 words, a third of them shifted in the vocabulary by the class."""
    words = np.array(made_up_words(rng), dtype=object)
    chances = 1 / np.arange(1, N_WORDS + 1)
    lengths = rng.integers(3, 14, n_texts)
    classes = rng.integers(0, N_CLASSES, n_texts)
    picks = rng.choice(N_WORDS, lengths.sum(), p=chances / chances.sum())
    shift = np.repeat(classes * 1000, lengths) * (rng.random(len(picks)) < 1 / 3)
    parts = np.split(words[(picks + shift) % N_WORDS], np.cumsum(lengths)[:-1])
    return [" ".join(part) for part in parts], classes


def dirty(text: str, rng: np.random.Generator) -> str:
    """The text with capitals, punctuation, numbers, accents and typing errors here and there."""
    words = text.split(" ")
    for i, chance in enumerate(rng.random(len(words))):
        word = words[i]
        if chance < 0.05:
            words[i] = word.replace("e", "é", 1)
        elif chance < 0.10:
            words[i] = f"{word}-{rng.integers(100)}"
        elif chance < 0.20:
            words[i] = word + ",.;)"[rng.integers(4)]
        elif chance < 0.25:
            cut = rng.integers(len(word))
            words[i] = word[:cut] + word[cut + 1 :]
        elif chance < 0.30:
            words[i] = word.upper()
    return " ".join(words).capitalize()


def cpu_seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    value = call()
    return time.process_time() - start, value


def same(ours: Any, theirs: Any) -> bool:
    theirs.sort_indices()
    equal = np.array_equal(ours.indptr, theirs.indptr) and np.array_equal(ours.indices, theirs.indices)
    return bool(equal and np.allclose(ours.data, theirs.data, rtol=1e-12, atol=0))


def main() -> int:
    n_texts = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rng = np.random.default_rng(0)
    clean, classes = zipf_texts(n_texts, rng)
    corpora = {"Zipf": clean, "mix": [dirty(text, rng) for text in clean]}
    print(f"{n_texts:,} texts, e.g. {corpora['mix'][0][:60]!r}; CPU seconds")
    print(f"{'':16} {'features':>9} {'scikit-learn':>13} {'taxolearn':>10} {'ratio':>6} {'linear SVM':>11}")
    ratios = []
    for corpus, texts in corpora.items():
        for case, (settings, arguments) in CASES.items():
            features, vectorizer = TextFeatures(**settings), TfidfVectorizer(**arguments)
            their_fit, theirs = cpu_seconds(lambda v=vectorizer, t=texts: v.fit_transform(t))
            our_fit, ours = cpu_seconds(lambda f=features, t=texts: f.fit_transform(t))
            their_next, _ = cpu_seconds(lambda v=vectorizer, t=texts: v.transform(t))
            our_next, again = cpu_seconds(lambda f=features, t=texts: f.transform(t))
            if not (same(ours, theirs) and same(again, theirs)):
                print(f"{corpus}, {case}: the rows differ")
                return 1
            svm, _ = cpu_seconds(lambda X=ours: LinearSVC(tol=0.1).fit(X, classes))
            ratios += [their_fit / our_fit, their_next / our_next]
            for step, theirs_, ours_, model in (
                ("fit", their_fit, our_fit, f"{svm:11.2f}"),
                ("transform", their_next, our_next, ""),
            ):
                print(
                    f"{corpus + ', ' + case:16} {ours.shape[1]:9,} {theirs_:13.2f} {ours_:10.2f} "
                    f"{theirs_ / ours_:6.1f} {model} {step}",
                    flush=True,
                )
    print(f"scikit-learn / taxolearn, the smallest ratio of CPU time: {min(ratios):.2f}")
    return int(min(ratios) < 1)


if __name__ == "__main__":
    sys.exit(main())
