"""Slow, obvious twins of the text features: Python strings, dictionaries and one loop a feature."""

from __future__ import annotations

import math
import re
from collections import Counter

import numpy as np


def word_ngrams(text, shortest, longest):
    words = re.findall(r"(?u)\b\w\w+\b", text.lower())
    return [
        " ".join(words[i : i + n]) for n in range(shortest, longest + 1) for i in range(len(words) - n + 1)
    ]


def bm25_rows(texts, ngrams, k1, b):
    """Names in order and dense BM25 rows, not normalised."""
    counters = [Counter(word_ngrams(text, *ngrams)) for text in texts]
    names = sorted(set().union(*counters))
    mean_length = sum(sum(counter.values()) for counter in counters) / len(texts)
    rows = np.zeros((len(texts), len(names)))
    for i, counter in enumerate(counters):
        length = sum(counter.values())
        for j, name in enumerate(names):
            df = sum(name in other for other in counters)
            idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
            t = counter[name]
            rows[i, j] = t * (k1 + 1) / (t + k1 * (1 - b + b * length / mean_length)) * idf if t else 0.0
    return names, rows
