"""Real data for the benchmarks: a folder of unpacked sets, or of the .tar.xz archives themselves."""

from __future__ import annotations

import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer

from taxolearn.datasets import read_edges, read_jsonl, read_libsvm


def find(folder: str, name: str) -> Path:
    """The unpacked set `name` below `folder`; exits with a sentence when it is not there."""
    base = Path(folder)
    if (base / name).is_dir():
        return base / name
    archive = base / f"{name}.tar.xz"
    if archive.is_file():
        scratch = Path(tempfile.mkdtemp(prefix="taxolearn-data-"))
        with tarfile.open(archive) as packed:
            packed.extractall(scratch, filter="data")
        return scratch / name
    sys.exit(
        f"{folder} has neither a folder {name} nor {name}.tar.xz; give the folder that holds the data sets"
    )


def load(folder: str, name: str) -> tuple[Any, Any, Any, Any, Any]:
    """X_train, y_train, X_test, y_test, taxonomy of clef, trec_question, 20news_bydate, rcv1_subsets or
    lshtc1_dryrun (task 2).
    """
    place = find(folder, name)
    taxonomy = read_edges(place / "hierarchy.edges")
    if name in ("trec_question", "20news_bydate"):
        parts = [read_jsonl(place / f"{part}.jsonl") for part in ("train", "test")]
        # pairs of words help questions of ten words; in whole letters they would only take memory
        longest = 2 if name == "trec_question" else 1
        vectorizer = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, longest))
        train, test = vectorizer.fit_transform(parts[0].texts), vectorizer.transform(parts[1].texts)
        return train, single(parts[0].y), test, single(parts[1].y), taxonomy
    files = {
        "clef": ("train.svm", "test.svm"),
        "rcv1_subsets": ("pool_train.svm", "pool_test.svm"),
        "lshtc1_dryrun": ("task2_train.svm", "task2_test.svm"),
    }[name]
    parts = [read_libsvm(place / file) for file in files]
    width = max(part.X.shape[1] for part in parts)
    train, test = (
        sparse.csr_matrix((p.X.data, p.X.indices, p.X.indptr), shape=(p.X.shape[0], width)) for p in parts
    )
    if name == "clef":
        return train.toarray(), single(parts[0].y), test.toarray(), single(parts[1].y), taxonomy
    if name == "rcv1_subsets":
        return narrow(train), parts[0].y, narrow(test), parts[1].y, taxonomy
    # raw counts over a million features, most of them never seen in training
    seen = np.unique(train.indices)
    train, test = train.tocsc()[:, seen].tocsr(), test.tocsc()[:, seen].tocsr()
    weighting = TfidfTransformer(sublinear_tf=True).fit(train)
    return (
        narrow(weighting.transform(train)),
        single(parts[0].y),
        narrow(weighting.transform(test)),
        single(parts[1].y),
        taxonomy,
    )


def narrow(matrix: Any) -> Any:
    """32-bit indices, which LinearSVC insists on."""
    matrix = sparse.csr_matrix(matrix)
    matrix.indices = matrix.indices.astype(np.int32)
    matrix.indptr = matrix.indptr.astype(np.int32)
    return matrix


def single(y: Any) -> np.ndarray[Any, Any]:
    """One label per row as an array of names."""
    return np.array([row[0] if isinstance(row, list | tuple) else row for row in y])
