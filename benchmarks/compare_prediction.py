"""The 5 best of 1,000, 10,000 and 50,000 leaves beside omikuji, napkinXC and scikit-learn: rows a second on one thread.

    python benchmarks/compare_prediction.py PEERS_PYTHON [LEAVES ...]

PEERS_PYTHON is the interpreter of an environment with omikuji, napkinxc and scikit-learn; what it lacks is said and
left out. Rows are generated tf-idf rows under a random taxonomy (20,000 features). omikuji (3 trees) and napkinXC (a
probabilistic label tree), both at their defaults, learn their own trees from the same rows. Ours are node vectors over
the taxonomy, made of duals that are 1 at the rows of a class and -0.1 at 20 rows drawn for it, so that vectors have the
sizes and the overlaps of fitted ones; scikit-learn's LinearSVC gets the very same weights, one dense vector per class,
where they fit into 4 GB.

Each runs in a process of its own, its model in memory; CPU seconds, all threads counted. Memory is what the process has
grown by, model included, when all rows are answered. "Same" is the share of the 5 best that the exact search of the
same model finds: for omikuji a beam of a thousand stands for that, napkinXC's search is exact, scikit-learn scores all
classes and is compared with ours. Exits with 1 when our exact search is slower than scikit-learn's or answers
otherwise, or a beam of 20 is slower than omikuji or napkinXC at any size.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

SIZES, N_FEATURES, ROWS, K = (1_000, 10_000, 50_000), 20_000, 1_000, 5
DRAWN, MOST_BYTES, WIDE_BEAM = 20, 4 * 2**30, 1_000
PEERS = ("omikuji", "omikuji, its library alone", "napkinxc", "scikit-learn")


def make(folder: Path, n_leaves: int) -> None:
    """Rows, labels and weights of one size."""
    from taxolearn.datasets import make_text_like
    from taxolearn.storage import pack_vectors, write_model
    from taxolearn.ties import path_sum
    from taxolearn.vectors import DualVectors

    rng = np.random.default_rng(0)
    n_rows, n_nodes = max(3 * n_leaves, 6_000) // 2 + ROWS, int(1.4 * n_leaves)
    data = make_text_like(n_rows, N_FEATURES, n_leaves, n_nodes, depth=6, mean_length=100.0, random_state=rng)
    number = {name: place for place, name in enumerate(data.taxonomy.leaves)}
    own = np.array([number[name] for name in data.y])
    X, asked, own = data.X[:-ROWS], data.X[-ROWS:], own[:-ROWS]
    classes = np.concatenate((own, np.repeat(np.arange(n_leaves), DRAWN)))
    rows = np.concatenate((np.arange(len(own)), rng.integers(0, len(own), n_leaves * DRAWN)))
    values = np.concatenate((np.ones(len(own)), np.full(n_leaves * DRAWN, -0.1)))
    dual = sparse.csr_array((values, (classes, rows)), shape=(n_leaves, len(own)))
    scale = np.ones(data.taxonomy.n_nodes)
    scale[0] = 0.0
    paths = path_sum(data.taxonomy, data.taxonomy.leaf_ids, scale).paths
    vectors = DualVectors(X, dual, paths, scale, rng.normal(-1.0, 0.1, n_leaves))
    header, arrays = pack_vectors(vectors)
    write_model(folder / "model", {"weights": header}, arrays)
    sparse.save_npz(folder / "X.npz", sparse.csr_matrix(X))
    sparse.save_npz(folder / "asked.npz", sparse.csr_matrix(asked))
    np.save(folder / "own.npy", own)
    if n_leaves * N_FEATURES * 8 <= MOST_BYTES:
        nodes = vectors.as_nodes()
        np.save(folder / "coef.npy", np.asarray((nodes.paths @ nodes.nodes).toarray(), dtype=np.float64))
        np.save(folder / "intercept.npy", nodes.intercept)


Answer = Callable[[Any], Any]


def ours(folder: Path, beam: int | None) -> tuple[Answer, Answer | None]:
    from taxolearn.storage import read_model, unpack_vectors

    header, arrays = read_model(folder / "model", verify=False)
    weights = unpack_vectors(header["weights"], arrays)

    def answer(X: Any) -> Any:
        return weights.top_k(sparse.csr_array(X), K, beam=beam)[0]

    return answer, (lambda X: weights.top_k(sparse.csr_array(X), K)[0]) if beam else None


def by_omikuji(folder: Path, alone: bool) -> tuple[Answer, Answer | None]:
    import omikuji

    X, own = sparse.load_npz(folder / "X.npz"), np.load(folder / "own.npy")
    lines = [f"{X.shape[0]} {X.shape[1]} {own.max() + 1}"]
    for i in range(X.shape[0]):
        entries = range(X.indptr[i], X.indptr[i + 1])
        lines.append(f"{own[i]} " + " ".join(f"{X.indices[k]}:{X.data[k]:.6g}" for k in entries))
    (folder / "rows.txt").write_text("\n".join(lines) + "\n")
    model = omikuji.Model.train_on_data(str(folder / "rows.txt"), n_threads=1)
    model.init_prediction_thread_pool(1)

    def search(X: Any, beam: int) -> Any:
        found = np.full((X.shape[0], K), -1)
        for i in range(X.shape[0]):
            part = slice(X.indptr[i], X.indptr[i + 1])
            pairs = list(zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True))
            best = model.predict(pairs, beam_size=beam, top_k=K)
            found[i, : len(best)] = [label for label, _ in best]
        return found

    def library_alone(X: Any) -> Any:
        """The call into its library, without its conversion of rows in Python, which is not counted."""
        from omikuji._libomikuji import ffi, lib

        X = sparse.csr_matrix(X, dtype=np.float32, copy=True)
        X.sort_indices()
        columns, labels, scores = X.indices.astype(np.uint32), ffi.new("uint32_t[]", K), ffi.new("float[]", K)
        found = np.full((X.shape[0], K), -1)
        for i in range(X.shape[0]):
            first, last = X.indptr[i], X.indptr[i + 1]
            n = lib.omikuji_predict(
                model._model_ptr,
                10,
                int(last - first),
                ffi.cast("uint32_t *", columns[first:last].ctypes.data),
                ffi.cast("float *", X.data[first:last].ctypes.data),
                K,
                labels,
                scores,
                model._thread_pool.ptr,
            )
            found[i, :n] = [labels[k] for k in range(n)]
        return found

    return library_alone if alone else (lambda X: search(X, 10)), lambda X: search(X, WIDE_BEAM)


def by_napkinxc(folder: Path) -> tuple[Answer, Answer | None]:
    from napkinxc.models import PLT

    X, own = sparse.load_npz(folder / "X.npz"), np.load(folder / "own.npy")
    model = PLT(str(folder / "plt"), threads=1, seed=0, verbose=0)
    model.fit(X, [[int(label)] for label in own])
    model.load()

    def answer(X: Any) -> Any:
        found = np.full((X.shape[0], K), -1)
        for i, best in enumerate(model.predict(X, top_k=K)):
            found[i, : len(best)] = [one[0] if isinstance(one, tuple) else one for one in best]
        return found

    return answer, None


def by_sklearn(folder: Path) -> tuple[Answer, Answer | None]:
    from sklearn.svm import LinearSVC

    if not (folder / "coef.npy").exists():
        raise MemoryError(f"a dense vector per class takes more than {MOST_BYTES / 2**30:.0f} GB")
    model = LinearSVC()
    model.coef_, model.intercept_ = np.load(folder / "coef.npy"), np.load(folder / "intercept.npy")
    model.classes_, model.n_features_in_ = np.arange(len(model.coef_)), model.coef_.shape[1]

    def answer(X: Any) -> Any:
        found = np.empty((X.shape[0], K), dtype=np.int64)
        step = max(1, 2**23 // len(model.coef_))
        for first in range(0, X.shape[0], step):
            scores = model.decision_function(X[first : first + step])
            best = np.argpartition(-scores, K, axis=1)[:, :K]
            order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1)
            found[first : first + step] = np.take_along_axis(best, order, axis=1)
        return found

    return answer, None


WAYS: dict[str, Callable[[Path], tuple[Answer, Answer | None]]] = {
    "taxolearn, exact": lambda folder: ours(folder, None),
    "taxolearn, beam 20": lambda folder: ours(folder, 20),
    "omikuji": lambda folder: by_omikuji(folder, False),
    "omikuji, its library alone": lambda folder: by_omikuji(folder, True),
    "napkinxc": by_napkinxc,
    "scikit-learn": by_sklearn,
}


def memory() -> float:
    """Megabytes that the process holds, pages of mapped files included."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def run(way: str, folder: Path) -> dict[str, Any]:
    asked = sparse.load_npz(folder / "asked.npz")
    asked.sort_indices()
    before = memory()
    began = time.process_time()
    answer, exact = WAYS[way](folder)
    ready = time.process_time() - began
    answer(asked[:2])  # compilation, and whatever is made once
    times = []
    for _ in range(3):
        began = time.process_time()
        found = answer(asked)
        times.append(time.process_time() - began)
    grown = memory() - before
    same = None
    if exact is not None:
        truth = exact(asked)
        same = float((found[:, :, None] == truth[:, None, :]).any(axis=1).mean())
    return {
        "rows": asked.shape[0] / min(times),
        "MB": grown,
        "ready": ready,
        "same": same,
        "found": found.tolist(),
    }


def measured(python: str, way: str, folder: Path) -> dict[str, Any] | str:
    """What a process of its own found, or why there is nothing."""
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "RAYON_NUM_THREADS": "1",
    }
    if way in PEERS:
        environment["PYTHONPATH"] = ""
    command = [python if way in PEERS else sys.executable, __file__, "--run", way, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        return (
            done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"ended with {done.returncode}"
        )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(python: str, sizes: list[int]) -> int:
    short = []
    for n_leaves in sizes:
        with tempfile.TemporaryDirectory() as name:
            make(Path(name), n_leaves)
            found = {way: measured(python, way, Path(name)) for way in WAYS}
        ours = found["taxolearn, exact"]
        print(f"{n_leaves} leaves, {ROWS} rows, the {K} best")
        for way, one in found.items():
            if isinstance(one, str):
                print(f"  {way:27} not measured: {one}")
                continue
            if way == "scikit-learn" and not isinstance(ours, str):
                hits = np.array(one["found"])[:, :, None] == np.array(ours["found"])[:, None, :]
                one["same"] = float(hits.any(axis=1).mean())
            same = "exact" if one["same"] is None else f"same {one['same']:.4f}"
            print(
                f"  {way:27} {one['rows']:9.0f} rows/s, {one['MB']:6.0f} MB, {same}, ready after "
                f"{one['ready']:.1f} CPU s",
                flush=True,
            )
        short += shortfalls(n_leaves, found)
    print(f"{len(short)} shortfalls{': ' if short else ''}{'; '.join(short)}")
    return int(bool(short))


def shortfalls(n_leaves: int, found: dict[str, Any]) -> list[str]:
    """Where ours is behind."""
    measured = {way: one for way, one in found.items() if not isinstance(one, str)}
    said = []
    for way, mine in (
        ("scikit-learn", "taxolearn, exact"),
        ("omikuji, its library alone", "taxolearn, beam 20"),
        ("napkinxc", "taxolearn, beam 20"),
    ):
        if way in measured and (mine not in measured or measured[mine]["rows"] < measured[way]["rows"]):
            said.append(f"{n_leaves} leaves: slower than {way}")
    if "scikit-learn" in measured and measured["scikit-learn"]["same"] < 0.999:
        said.append(f"{n_leaves} leaves: other answers than scikit-learn")
    return said


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        print(json.dumps(run(sys.argv[2], Path(sys.argv[3]))))
        sys.exit(0)
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], [int(one) for one in sys.argv[2:]] or list(SIZES)))
