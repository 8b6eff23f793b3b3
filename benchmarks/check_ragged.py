"""A catalogue whose labels stand at all depths (amazon_hftcnn_sample, first label, three levels).

The normalized SVM must answer inner nodes about as often as they are right (within 3 points), be
no less accurate than flat ones, and make smaller mistakes. Usage: python benchmarks/check_ragged.py FOLDER
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
from _data import find
from sklearn.feature_extraction.text import TfidfVectorizer

from taxolearn import MulticlassSVM, NormalizedHierarchicalSVM, OneVsRestSVM, TaxonomyClassifier, metrics
from taxolearn.datasets import read_jsonl

LEVELS = 3
ALLOWED = 0.03  # between the shares of inner answers and of inner labels


def load(folder: str) -> tuple[Any, Any, Any, Any]:
    """Rows and labels, of the training part and of the labels known from it in the other part."""
    place = find(folder, "amazon_hftcnn_sample")
    parts = [read_jsonl(place / f"{part}.jsonl") for part in ("train", "valid")]
    rows = [
        [
            (text, "/".join(str(labels[0]).split("@")[:LEVELS]))
            for text, labels in zip(p.texts, p.y, strict=True)
        ]
        for p in ([_with_labels(part) for part in parts])
    ]
    known = {label for _, label in rows[0]}
    train, test = rows[0], [row for row in rows[1] if row[1] in known]
    vectorizer = TfidfVectorizer(sublinear_tf=True)
    X = vectorizer.fit_transform([text for text, _ in train])
    Z = vectorizer.transform([text for text, _ in test])
    return X, np.array([label for _, label in train]), Z, np.array([label for _, label in test])


def _with_labels(part: Any) -> Any:
    kept = [i for i, labels in enumerate(part.y) if labels]
    part.texts[:], part.y[:] = [part.texts[i] for i in kept], [part.y[i] for i in kept]
    return part


def main(folder: str) -> int:
    warnings.simplefilter("ignore")
    X, y, Z, truth = load(folder)
    methods: dict[str, Any] = {
        "flat, MulticlassSVM": MulticlassSVM(random_state=0),
        "flat, OneVsRestSVM": OneVsRestSVM(random_state=0),
        "TaxonomyClassifier": TaxonomyClassifier(random_state=0),
        "NHSVM": NormalizedHierarchicalSVM(random_state=0),
        "NHSVM, inner_labels='shared'": NormalizedHierarchicalSVM(inner_labels="shared", random_state=0),
        "NHSVM, leaf_only=True": NormalizedHierarchicalSVM(leaf_only=True, random_state=0),
    }
    found: dict[str, tuple[float, float, float]] = {}
    print(f"{X.shape[0]:,} rows to learn from, {Z.shape[0]:,} to answer, {len(set(y)):,} classes")
    for name, method in methods.items():
        began = time.process_time()
        model = method.fit(X, y)
        taxonomy, answers = model.taxonomy_, model.predict(Z)
        inner = ~taxonomy.is_leaf
        share = float(inner[taxonomy.ids_of(answers)].mean())
        found[name] = share, float(np.mean(answers == truth)), metrics.tree_loss(truth, answers, taxonomy)
        share, accuracy, loss = found[name]
        seconds = time.process_time() - began
        print(
            f"{name:30} inner {share:.3f}  accuracy {accuracy:.4f}  tree loss {loss:.4f}  "
            f"gap {model.certificate_.gap:.1e}  {seconds:.0f} s",
            flush=True,
        )
    true_share = float(inner[taxonomy.ids_of(truth)].mean())
    flat = [found[name] for name in methods if name.startswith("flat")]
    share, accuracy, loss = found["NHSVM"]
    good = (
        abs(share - true_share) <= ALLOWED
        and accuracy >= max(one[1] for one in flat)
        and loss < min(one[2] for one in flat)
    )
    print(
        f"true share of inner labels {true_share:.3f}; NHSVM answers {share:.3f}: {'good' if good else 'short'}"
    )
    return 0 if good else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python benchmarks/check_ragged.py FOLDER")
    sys.exit(main(sys.argv[1]))
