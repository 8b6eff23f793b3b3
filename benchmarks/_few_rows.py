"""One-label cells for `table_starter.py`: a set, and how many rows per class are learned from."""

from __future__ import annotations

from typing import Any

import numpy as np
from _data import find, load, narrow
from sklearn.feature_extraction.text import TfidfVectorizer

from taxolearn.datasets import load_icd10cm, read_edges, read_jsonl

SETS = (
    "trec_question",
    "clef",
    "20news_bydate",
    "lshtc1_dryrun",
    "amazon_hftcnn_sample",
    "cve_cwe",
    "icd10cm",
)
ROWS_PER_CLASS = (3, 10, 0)  # 0: all rows


def cell(folder: str, name: str, most: int) -> tuple[Any, Any, Any, Any, Any]:
    """X_train, y_train, X_test, y_test, taxonomy, with at most so many training rows per class (0: all).

    Rows with several labels are left out, and test rows whose label no training row has.
    """
    if name == "icd10cm":
        data = load_icd10cm()
        parts = (data.train.texts, data.train.y), (data.test.texts, data.test.y)
        taxonomy = data.taxonomy
    elif name in ("amazon_hftcnn_sample", "cve_cwe"):
        place = find(folder, name)
        taxonomy = read_edges(place / "hierarchy.edges")
        other = "valid" if name == "amazon_hftcnn_sample" else "test"
        parts = tuple(_one_label(read_jsonl(place / f"{part}.jsonl")) for part in ("train", other))
    else:
        return _known(*_few(load(folder, name), most))
    (texts, y), (test_texts, test_y) = parts
    vectorizer = TfidfVectorizer(sublinear_tf=True, dtype=np.float64)
    X = narrow(vectorizer.fit_transform(texts))
    return _known(
        *_few((X, np.array(y), narrow(vectorizer.transform(test_texts)), np.array(test_y), taxonomy), most)
    )


def _one_label(data: Any) -> tuple[list[str], list[Any]]:
    sets = [row if isinstance(row, list | tuple) else [row] for row in data.y]
    kept = [number for number, row in enumerate(sets) if len(row) == 1]
    return [data.texts[number] for number in kept], [sets[number][0] for number in kept]


def _few(data: tuple[Any, ...], most: int) -> tuple[Any, ...]:
    X, y, *rest = data
    if not most:
        return data
    seen: dict[Any, int] = {}
    kept = []
    for row in np.random.default_rng(0).permutation(len(y)):
        seen[y[row]] = seen.get(y[row], 0) + 1
        if seen[y[row]] <= most:
            kept.append(row)
    kept.sort()
    return (X[kept], y[kept], *rest)


def _known(X: Any, y: Any, X_test: Any, y_test: Any, taxonomy: Any) -> tuple[Any, ...]:
    known = np.isin(y_test, np.unique(y))
    return X, y, X_test[known], y_test[known], taxonomy
