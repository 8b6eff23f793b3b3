"""HiClass or omikuji on one cell, in the peers' own interpreter: python _starter_peers.py NAME IN.npz OUT.npz."""

from __future__ import annotations

import sys
import time

import numpy as np
from scipy import sparse


def hiclass(X, levels, X_test):  # type: ignore[no-untyped-def]
    from hiclass import LocalClassifierPerParentNode
    from sklearn.linear_model import LogisticRegression

    model = LocalClassifierPerParentNode(local_classifier=LogisticRegression(C=10.0, max_iter=300))
    found = model.fit(X, levels).predict(X_test)
    return np.array([[name for name in row if name][-1] for row in np.asarray(found, dtype=str)])


def omikuji(X, levels, X_test):  # type: ignore[no-untyped-def]
    import tempfile

    import omikuji

    names = np.array([[name for name in row if name][-1] for row in levels])
    classes, numbers = np.unique(names, return_inverse=True)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(f"{X.shape[0]} {X.shape[1]} {len(classes)}\n")
        for row, number in enumerate(numbers):
            a, b = X.indptr[row], X.indptr[row + 1]
            pairs = zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True)
            told = " ".join(f"{j}:{v:.6g}" for j, v in pairs) or "0:0"  # a row without words is not read
            file.write(f"{number} {told}\n")
        file.flush()
        model = omikuji.Model.train_on_data(file.name)
    found = []
    for row in range(X_test.shape[0]):
        a, b = X_test.indptr[row], X_test.indptr[row + 1]
        pairs = list(zip(X_test.indices[a:b].tolist(), X_test.data[a:b].tolist(), strict=True))
        best = model.predict(pairs, top_k=1)
        found.append(classes[best[0][0]] if best else classes[0])
    return np.array(found)


if __name__ == "__main__":
    name, source, target = sys.argv[1:]
    stored = np.load(source)
    parts = []
    for prefix in ("train", "test"):
        shape = tuple(stored[f"{prefix}_shape"])
        parts.append(
            sparse.csr_matrix(
                tuple(stored[f"{prefix}_{part}"] for part in ("data", "indices", "indptr")), shape=shape
            )
        )
    began = time.process_time()
    answers = {"hiclass": hiclass, "omikuji": omikuji}[name](parts[0], stored["levels"], parts[1])
    np.savez(target, answers=answers, seconds=time.process_time() - began)
