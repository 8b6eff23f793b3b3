"""Data sets as files that every entrant reads: the same features, the same rows, the same labels."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from taxolearn import Taxonomy
from taxolearn.datasets import make_text_like, read_edges, read_jsonl

sys.path.insert(0, str(Path(__file__).parents[1]))
from _data import find, load

GENERATED = {f"generated_{size}": size for size in (1_000, 10_000, 50_000)}
N_FEATURES, ROWS_PER_LEAF, TEST_ROWS = 20_000, 3, 2_000
TEXTS = ("debtags_bookworm", "arxiv_2020", "cve_cwe", "wordnet_nouns")
MOST_TEXT_FEATURES = 100_000
# smallest first; a set that the folder does not have is said and left out
SETS = (
    "clef",
    "trec_question",
    "20news_bydate",
    "lshtc1_dryrun",
    "rcv1_subsets",
    "generated_1000",
    "debtags_bookworm",
    "arxiv_2020",
    "cve_cwe",
    "wordnet_nouns",
    "generated_10000",
    "generated_50000",
)


class Loaded(NamedTuple):
    """Rows and labels of both parts, and the taxonomy."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any
    taxonomy: Taxonomy


def loaded(folder: str, name: str) -> Loaded:
    """One set; texts become tf-idf of words, fitted on the training rows."""
    if name in GENERATED:
        return _generated(GENERATED[name])
    if name not in TEXTS:
        return Loaded(*load(folder, name))
    place = find(folder, name)
    train, test = (read_jsonl(place / f"{part}.jsonl") for part in ("train", "test"))
    vectorizer = TfidfVectorizer(sublinear_tf=True, max_features=MOST_TEXT_FEATURES)
    X, X_test = vectorizer.fit_transform(train.texts), vectorizer.transform(test.texts)
    return Loaded(X, train.y, X_test, test.y, read_edges(place / "hierarchy.edges"))


def _generated(n_leaves: int) -> Loaded:
    n_rows = ROWS_PER_LEAF * n_leaves + TEST_ROWS
    data = make_text_like(
        n_rows, N_FEATURES, n_leaves, int(1.4 * n_leaves), depth=6, mean_length=100.0, random_state=0
    )
    n = n_rows - TEST_ROWS
    return Loaded(data.X[:n], data.y[:n], data.X[n:], data.y[n:], data.taxonomy)


def prepare(folder: str, name: str, target: Path) -> dict[str, Any]:
    """Write the set as `problem.read` has it, and return its facts; the truth of the test rows stays apart."""
    done = target / "facts.json"
    if not done.is_file():
        data = loaded(folder, name)
        y, y_test = ([_names_of(row) for row in part] for part in (data.y, data.y_test))
        several = max(map(len, y)) > 1
        seen = sorted({label for row in y for label in row})
        names = seen + sorted(set(data.taxonomy.nodes) - set(seen))
        number = {label: place for place, label in enumerate(names)}
        target.mkdir(parents=True, exist_ok=True)
        sparse.save_npz(target / "train.npz", sparse.csr_matrix(data.X))
        sparse.save_npz(target / "test.npz", sparse.csr_matrix(data.X_test))
        sparse.save_npz(target / "labels.npz", _marks(y, number, len(seen)))
        sparse.save_npz(target / "truth.npz", _marks(y_test, number, len(names)))
        facts = {
            "name": name,
            "several": several,
            "dense": not sparse.issparse(data.X),
            "tree": data.taxonomy.is_tree,
            "rows": len(y),
            "test_rows": len(y_test),
            "features": data.X.shape[1],
            "classes": len(seen),
            "nodes": data.taxonomy.n_nodes,
            "names": names,
            "edges": [list(edge) for edge in data.taxonomy.edges],
        }
        done.write_text(json.dumps(facts), encoding="utf-8")
    facts = json.loads(done.read_text(encoding="utf-8"))
    assert isinstance(facts, dict)
    return facts


def _names_of(row: Any) -> list[str]:
    return list(row) if isinstance(row, list | tuple) else [str(row)]


def _marks(rows: list[list[str]], number: dict[str, int], width: int) -> Any:
    columns = np.array([number[label] for row in rows for label in row])
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    found = sparse.csr_matrix((np.ones(len(columns)), columns, indptr), shape=(len(rows), width))
    found.sort_indices()
    return found
