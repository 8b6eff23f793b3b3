"""What `compare_versions.py` times, through public names only, so that it runs on any version of the library.

A work takes its data and gives back the function to time; what it does before that (compiling, fitting a model that
is then asked) is not timed. The function returns a fitted model, whose certified gap is told, or numbers that have to
be the same in every version.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris

import taxolearn
from taxolearn import metrics
from taxolearn.datasets import random_taxonomy, read_edges, read_libsvm

SMALL_FITS, SMALL_SECONDS = (
    10,
    1.5,
)  # fits of which the quickest counts, fewer where these seconds have passed
MOST_TIMES, LEAST_SECONDS = 10, 1.5  # the same for the other works


class Data(NamedTuple):
    """Training rows, their labels, test rows, test labels; texts instead of rows for the text works."""

    folder: Path
    X: Any
    y: Any
    X_test: Any
    y_test: Any
    taxonomy: Any


def store(folder: Path, X: Any, y: Any, X_test: Any, y_test: Any, edges: Path) -> None:
    """Put rows where every version can read them without reading the original again."""
    folder.mkdir(parents=True)
    for name, rows in (("train", X), ("test", X_test)):
        if sparse.issparse(rows):
            sparse.save_npz(folder / f"{name}.npz", sparse.csr_matrix(rows), compressed=False)
        else:
            np.save(folder / f"{name}.npy", rows)
    np.savez(folder / "labels.npz", y=pack(y), y_test=pack(y_test))
    (folder / "hierarchy.edges").write_bytes(edges.read_bytes())


def pack(y: Any) -> Any:
    """Labels as one string a row; several are separated by spaces."""
    return np.array([" ".join(row) if isinstance(row, list | tuple) else str(row) for row in y])


def unpack(y: Any) -> Any:
    return [row.split() for row in y.tolist()] if any(" " in row for row in y[:1000]) else y


def read(folder: Path) -> Data:
    """What `store` wrote."""
    rows = [
        sparse.load_npz(folder / f"{name}.npz")
        if (folder / f"{name}.npz").exists()
        else np.load(folder / f"{name}.npy")
        for name in ("train", "test")
    ]
    with np.load(folder / "labels.npz") as labels:
        y, y_test = unpack(labels["y"]), unpack(labels["y_test"])
    return Data(folder, rows[0], y, rows[1], y_test, read_edges(folder / "hierarchy.edges"))


def small_fits() -> dict[str, tuple[float, float, float, list[float]]]:
    """CPU seconds of one fit, its gap and its tol, for every method at its defaults, on 150 rows of iris."""
    X, y = load_iris(return_X_y=True)
    y = np.array(["setosa", "versicolor", "virginica"])[y]
    edges = [("iris", "setosa"), ("iris", "other"), ("other", "versicolor"), ("other", "virginica")]
    taxonomy = taxolearn.Taxonomy.from_edges(edges)
    graph = taxolearn.ClassGraph.from_edges([("versicolor", "virginica", 2.0), ("setosa", "versicolor")])
    found = {}
    for name in (
        "OneVsRestSVM",
        "OneVsRestLogistic",
        "RecursiveSVM",
        "RecursiveLogistic",
        "GraphRecursiveSVM",
        "GraphRecursiveLogistic",
        "MulticlassSVM",
        "HierarchicalSVM",
        "NormalizedHierarchicalSVM",
        "SharedSVM",
    ):
        for n_jobs in (1, 2):
            given = graph if name.startswith("Graph") else taxonomy
            model = getattr(taxolearn, name)(given, n_jobs=n_jobs, random_state=0)
            model.fit(X, y)  # compiles
            seconds, _ = quickest(partial(model.fit, X, y), SMALL_FITS, SMALL_SECONDS)
            found[f"iris {name}, n_jobs={n_jobs}"] = seconds, model.certificate_.gap, model.tol, []
    return found


def fit(name: str, rows: int | None = None, **options: Any) -> Callable[[Data], Callable[[], Any]]:
    """A fit of that method with its certificate; a fit of two passes comes before it and compiles."""

    def work(data: Data) -> Callable[[], Any]:
        X, y = data.X[:rows], data.y[:rows]
        given = taxolearn.ClassGraph.from_taxonomy(data.taxonomy) if "Graph" in name else data.taxonomy
        model = getattr(taxolearn, name)(given, random_state=0, **options)
        clone(model).set_params(max_iter=2).fit(X, y)
        return partial(model.fit, X, y)

    return work


def ask(name: str, *calls: tuple[str, dict[str, Any]], **options: Any) -> Callable[[Data], Callable[[], Any]]:
    """Questions to a fitted model about all training rows."""

    def work(data: Data) -> Callable[[], Any]:
        model = getattr(taxolearn, name)(data.taxonomy, tol=5e-2, random_state=0, **options).fit(
            data.X, data.y
        )

        def run() -> list[float]:
            answers = [getattr(model, call)(data.X, **arguments) for call, arguments in calls]
            return [digest(found[0] if isinstance(found, tuple) else found, data.y) for found in answers]

        run()
        return run

    return work


def digest(answers: Any, y: Any) -> float:
    """One number to compare two versions by: the share of rows that are right, or the mean of the best probability."""
    if getattr(answers, "dtype", None) == np.float64:
        return float(answers.max(axis=1).mean())

    def is_right(answer: Any, label: Any) -> bool:
        labels = set(label) if isinstance(label, list) else {label}
        if isinstance(answer, list):  # several names, or their paths
            return {found[-1] if isinstance(found, tuple) else found for found in answer} == labels
        if isinstance(answer, tuple):  # a path
            return answer[-1] in labels
        return (answer[0] if isinstance(answer, np.ndarray) else answer) in labels

    return float(np.mean([is_right(*pair) for pair in zip(answers, y, strict=True)]))


def score(data: Data) -> Callable[[], Any]:
    """Every metric of sets of labels, on 200,000 drawn pairs."""
    rng = np.random.default_rng(0)
    true = rng.choice(np.array(data.taxonomy.leaves), 200_000)
    found = np.where(rng.random(len(true)) < 0.5, true, rng.permutation(true))
    names = sorted(name for name in metrics.__all__ if not name.endswith("_k") and name != "propensities")

    def run() -> list[float]:
        return [float(getattr(metrics, name)(true, found, data.taxonomy)) for name in names]

    run()
    return run


def weigh(data: Data) -> Callable[[], Any]:
    """Node weights by (7) and by (8) on a DAG of 20,000 nodes."""
    dag = random_taxonomy(20_000, 15_000, 8, dag=True, random_state=0)
    rules = ({"rule": "maxmin"}, {"rule": "rho"}, {"rule": "rho", "T": 1.5, "directional": True})
    return lambda: [round(float(np.sum(taxolearn.node_weights(dag, **rule))), 3) for rule in rules]


def classify(data: Data) -> Callable[[], Any]:
    """Texts: choice of the features, fit, answers."""
    model = taxolearn.TextClassifier(
        taxolearn.RecursiveSVM(data.taxonomy, tol=5e-2, random_state=0), random_state=0
    )
    clone(model).fit(data.X[:300].tolist(), data.y[:300])

    def run() -> list[float]:
        return [digest(model.fit(data.X.tolist(), data.y).predict(data.X_test.tolist()), data.y_test)]

    return run


def keep(data: Data) -> Callable[[], Any]:
    """Save and load, five times, with one answer of what was loaded."""
    model = taxolearn.RecursiveSVM(data.taxonomy, tol=5e-2, random_state=0).fit(data.X, data.y)

    def run() -> list[float]:
        with tempfile.TemporaryDirectory() as name:
            for turn in range(5):
                model.save(f"{name}/{turn}")
                answer = taxolearn.load(f"{name}/{turn}").predict(data.X_test[:10])
        return [digest(answer, data.y_test[:10])]

    run()
    return run


def parse(data: Data) -> Callable[[], Any]:
    """Reading libsvm rows."""
    path = data.folder / "rows.svm"
    if not path.exists():
        from sklearn.datasets import dump_svmlight_file

        dump_svmlight_file(data.X, np.arange(data.X.shape[0]), str(path), zero_based=False)
    read_libsvm(path)

    def run() -> list[float]:
        return [float(read_libsvm(path).X.sum())]

    return run


def command(*arguments: str) -> Callable[[Data], Callable[[], Any]]:
    """The command line, in processes of its own: a fit from a file of texts, or its answers."""

    def work(data: Data) -> Callable[[], Any]:
        table, model = data.folder / "rows.tsv", Path(tempfile.mkdtemp(dir=data.folder)) / "model"
        if not table.exists():
            lines = [f"{x}\t{y}" for x, y in zip(data.X.tolist(), data.y.tolist(), strict=True)]
            table.write_text("\n".join(["text\tlabel", *lines]) + "\n", encoding="utf-8")
        start = [sys.executable, "-m", "taxolearn.cli"]
        fitting = ["fit", str(table), "--features", "word", "-o", str(model), "--tol", "1e-2"]
        quiet = {"check": True, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        if arguments:
            subprocess.run([*start, *fitting], **quiet)

        def run() -> list[float]:
            if not arguments:
                subprocess.run([*start, *fitting], **quiet)
                return []
            asked = [*start, "predict", str(model), str(table), *arguments]
            return [float(len(subprocess.run(asked, **quiet).stdout.splitlines()))]

        return run

    return work


FORMS: tuple[tuple[str, dict[str, Any]], ...] = ("predict", {}), ("predict_path", {}), ("top_k", {"k": 5})
BEAMS: tuple[tuple[str, dict[str, Any]], ...] = ("predict", {"beam": 10}), ("top_k", {"k": 5, "beam": 10})
# name -> (data set, work)
WORKS: dict[str, tuple[str, Callable[[Data], Callable[[], Any]]]] = {
    "one-vs-rest, 20news": ("20news_bydate", fit("OneVsRestSVM")),
    "one-vs-rest, lshtc": ("lshtc1_dryrun", fit("OneVsRestSVM")),
    "one-vs-rest hinge, lshtc, 2 jobs": (
        "lshtc1_dryrun",
        fit("OneVsRestSVM", loss="hinge", tol=1e-2, n_jobs=2),
    ),
    "one-vs-rest, several labels, rcv1": ("rcv1_subsets", fit("OneVsRestSVM", tol=1e-3)),
    "one-vs-rest logistic, 20news": ("20news_bydate", fit("OneVsRestLogistic", tol=1e-3)),
    "recursive, lshtc": ("lshtc1_dryrun", fit("RecursiveSVM", tol=1e-2)),
    "recursive, lshtc, 2 jobs": ("lshtc1_dryrun", fit("RecursiveSVM", tol=1e-2, n_jobs=2)),
    "recursive hinge, lshtc": ("lshtc1_dryrun", fit("RecursiveSVM", loss="hinge")),
    "recursive, several labels, rcv1": ("rcv1_subsets", fit("RecursiveSVM")),
    "recursive, DAG, wordnet": ("wordnet_nouns", fit("RecursiveSVM")),
    "recursive by Newton, clef": ("clef", fit("RecursiveSVM", tol=1e-3)),
    "recursive logistic, clef": ("clef", fit("RecursiveLogistic")),
    "recursive logistic, 20news": ("20news_bydate", fit("RecursiveLogistic")),
    "recursive softmax, clef": ("clef", fit("RecursiveLogistic", loss="softmax")),
    "graph, clef": ("clef", fit("GraphRecursiveSVM")),
    "graph logistic, 20news": ("20news_bydate", fit("GraphRecursiveLogistic")),
    "flat multi-class, 20news": ("20news_bydate", fit("MulticlassSVM")),
    "HSVM, lshtc": ("lshtc1_dryrun", fit("HierarchicalSVM", tol=1e-2)),
    "HSVM, clef": ("clef", fit("HierarchicalSVM", rows=4000, C=0.01)),
    "NHSVM, lshtc": ("lshtc1_dryrun", fit("NormalizedHierarchicalSVM", tol=1e-2)),
    "NHSVM, lshtc, 2 jobs": ("lshtc1_dryrun", fit("NormalizedHierarchicalSVM", tol=1e-2, n_jobs=2)),
    "NHSVM, clef": ("clef", fit("NormalizedHierarchicalSVM", rows=4000, C=0.1)),
    "shared, clef": ("clef", fit("SharedSVM", rows=2000, C=0.01, tol=1e-2)),
    "answers, lshtc": ("lshtc1_dryrun", ask("RecursiveSVM", *FORMS)),
    "answers, NHSVM, lshtc": ("lshtc1_dryrun", ask("NormalizedHierarchicalSVM", *FORMS)),
    "answers with beam, NHSVM, lshtc": ("lshtc1_dryrun", ask("NormalizedHierarchicalSVM", *BEAMS)),
    "answers, several labels, rcv1": ("rcv1_subsets", ask("RecursiveSVM", *FORMS)),
    "probabilities, clef": ("clef", ask("RecursiveSVM", ("predict_proba", {}), probability=True)),
    "texts, trec": ("trec_question", classify),
    "save and load, lshtc": ("lshtc1_dryrun", keep),
    "read libsvm, rcv1": ("rcv1_subsets", parse),
    "metrics, lshtc": ("lshtc1_dryrun", score),
    "node weights, DAG": ("clef", weigh),
    "command line fit, trec": ("trec_question", command()),
    "command line predict, trec": ("trec_question", command("--top-k", "3")),
}


def timed(name: str, folder: str) -> tuple[float, float | None, float | None, list[float]]:
    """CPU seconds of a work (with those of its own processes), the certified gap, the tol, and what was answered."""
    data_name, work = WORKS[name]
    run = work(read(Path(folder) / data_name))
    seconds, found = quickest(run, MOST_TIMES, LEAST_SECONDS)
    if hasattr(found, "certificate_"):
        return seconds, found.certificate_.gap, found.tol, []
    return seconds, None, None, found


def quickest(run: Callable[[], Any], most_times: int, enough: float) -> tuple[float, Any]:
    """The least CPU seconds of some runs, fewer where `enough` seconds have passed, and what the last one gave.

    Other processes on the machine make CPU time longer, never shorter.
    """
    least, spent, done = float("inf"), 0.0, 0
    while done < most_times and spent < enough:
        began = cpu_seconds()
        found = run()
        seconds = cpu_seconds() - began
        least, spent, done = min(least, seconds), spent + seconds, done + 1
    return least, found


def cpu_seconds() -> float:
    """Of this process and of the ended ones that it started."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
