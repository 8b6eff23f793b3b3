"""Several labels per row: one table of the ways from rows to label sets, with paired tests.

    python benchmarks/table_label_sets.py FOLDER_OF_DATA
        [rcv1_subsets debtags_bookworm arxiv_2020 cellcycle_GO medline_mesh]
        [--train ROWS] [--test ROWS] [--iterations 15] [--lines flat structured] [--keep FOLDER]

Flat lines: LinearSVC, one node against the rest (labels with all their ancestors), at zero; with one threshold for all
nodes; with a threshold for each; with Platt's sigmoids and the label set of the largest expected F1. Structured lines:
the methods of this library, C = 1, with a cost of misses and an offset chosen on held-out rows or left alone, and with
the largest expected F1 from their max-marginals. Thresholds, sigmoids, costs and offsets come from a fifth of the
training rows; the final fit is on all of them. All rows are used, but 10,000 drawn at random to train on arxiv_2020
and 8,000 on medline_mesh, where 3,000 are tested. Rows have length one, those of cellcycle_GO after standardising.

Predicted labels are closed under ancestors before anything is scored: example-F1, micro-F1 (which then is the
hierarchical F1) and macro-F1 (of nodes that test rows have) are over all nodes but the root; Jaccard is that of the
most specific labels; "whole" is the share of rows whose set is right. The two p are those of paired permutation tests
of example-F1, 10,000 draws: against the first line, and against one-vs-rest with expected F1.

`--lines` names the lines to measure, also single ones by their titles; with `--keep` the F1 of every row is stored
there, and lines that are measured later are paired with it. Prints the tables; there is no bar.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _data import find, narrow
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.svm import LinearSVC
from table_multilabel import data_of, some

from taxolearn import HierarchicalSVM, MulticlassSVM, NormalizedHierarchicalSVM, OneVsRestSVM
from taxolearn.datasets import read_edges, read_jsonl, read_libsvm
from taxolearn.decoders import (
    LabelSpace,
    expected_f1_sets,
    falling,
    fit_sigmoids,
    sigmoid,
    tune_thresholds,
)
from taxolearn.problem import make_problem

SETS = ("rcv1_subsets", "debtags_bookworm", "arxiv_2020", "cellcycle_GO", "medline_mesh")
TRAIN_OF = {"arxiv_2020": 10_000, "medline_mesh": 8_000}  # rows at most
TEST_OF = {"medline_mesh": 3_000}
HOLDOUT = 0.2
MANY_NODES = 5_000  # from which on LinearSVC would take hours; `OneVsRestSVM` has the same objective
DRAWS = 10_000
PLAIN, PROBABLE = "LinearSVC at zero", "one-vs-rest, Platt, expected F1"


def data(folder: str, name: str) -> tuple[Any, Any, Any, Any, Any]:
    """Rows and labels to train and to test, and the taxonomy."""
    if name in ("rcv1_subsets", "debtags_bookworm"):
        return data_of(folder, name)
    if name == "cellcycle_GO":
        place = find(folder, "hmc_fun_go").parent / name  # the archive has no folder of its own
        parts = [read_libsvm(place / f"{part}.svm", allow_nan=True) for part in ("train", "test")]
        width = max(part.X.shape[1] for part in parts)
        dense = [np.zeros((part.X.shape[0], width)) for part in parts]
        for block, part in zip(dense, parts, strict=True):
            block[:, : part.X.shape[1]] = part.X.toarray()
        means = np.nanmean(dense[0], axis=0)
        filled = [np.where(np.isnan(block), means, block) for block in dense]
        scaler = StandardScaler().fit(filled[0])
        train, test = (normalize(scaler.transform(block)) for block in filled)
        return train, parts[0].y, test, parts[1].y, read_edges(place / "hierarchy.edges")
    place = find(folder, name)
    parts = [read_jsonl(place / f"{part}.jsonl") for part in ("train", "test")]
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=3)
    train, test = vectorizer.fit_transform(parts[0].texts), vectorizer.transform(parts[1].texts)
    return narrow(train), parts[0].y, narrow(test), parts[1].y, read_edges(place / "hierarchy.edges")


def closed(y: Any, taxonomy: Any) -> Any:
    """Rows x nodes: labels and their ancestors, the root left out."""
    rows = np.repeat(np.arange(len(y)), [len(row) for row in y])
    nodes = np.asarray(taxonomy.ids_of([name for row in y for name in row]), dtype=np.int64)
    return closed_again(
        sparse.csr_array((np.ones(len(rows)), (rows, nodes)), shape=(len(y), taxonomy.n_nodes)), taxonomy
    )


def closed_again(found: Any, taxonomy: Any) -> Any:
    """Nodes with all their ancestors, the root left out."""
    up = sparse.csr_array(taxonomy.ancestor_matrix(dtype=np.float64))
    whole = sparse.csr_array(sparse.csr_array(found) @ up)
    keep = np.ones(taxonomy.n_nodes)
    keep[0] = 0.0
    whole = sparse.csr_array(whole @ sparse.diags_array(keep))
    whole.eliminate_zeros()
    whole.data[:] = 1.0
    return whole


def ends(sets: Any, taxonomy: Any) -> Any:
    """The most specific nodes of closed sets."""
    owner = np.repeat(np.arange(taxonomy.n_nodes), np.diff(taxonomy.parent_indptr))
    shape = (taxonomy.n_nodes, taxonomy.n_nodes)
    up = sparse.csr_array((np.ones(len(owner)), (owner, taxonomy.parent_indices)), shape=shape)
    above = sparse.csr_array(sets @ up)
    above.data[:] = 1.0
    found = sparse.csr_array(sets - sets.multiply(above))
    found.eliminate_zeros()
    return found


def example_f1(true: Any, found: Any) -> Any:
    both = np.asarray(true.multiply(found).sum(axis=1)).ravel()
    sizes = np.diff(true.indptr) + np.diff(sparse.csr_array(found).indptr)
    return np.divide(2 * both, sizes, out=np.ones(len(both)), where=sizes > 0)


def figures(true: Any, found: Any, taxonomy: Any) -> tuple[Any, list[float]]:
    """Example-F1 of every row; and the columns of the table."""
    each = example_f1(true, found)
    both = np.asarray(true.multiply(found).sum(axis=0)).ravel()
    there = np.asarray(true.sum(axis=0)).ravel()
    sizes = there + np.asarray(found.sum(axis=0)).ravel()
    macro = np.divide(2 * both, sizes, out=np.zeros(len(both)), where=sizes > 0)[there > 0].mean()
    a, b = ends(true, taxonomy), ends(found, taxonomy)
    shared = np.asarray(a.multiply(b).sum(axis=1)).ravel()
    union = np.diff(a.indptr) + np.diff(b.indptr) - shared
    jaccard = np.divide(shared, union, out=np.ones(len(shared)), where=union > 0)
    whole = np.asarray(abs(true - found).sum(axis=1)).ravel() == 0
    parts = each.mean(), 2 * both.sum() / sizes.sum(), macro, jaccard.mean(), whole.mean()
    return each, [100 * float(part) for part in parts]


def p_value(ours: Any, theirs: Any) -> float:
    """Of the difference in mean, two-sided: signs of the rows' differences change at random."""
    difference = ours - theirs
    rng, as_large = np.random.default_rng(0), 0
    for _ in range(100):
        signs = rng.integers(0, 2, size=(DRAWS // 100, len(difference)), dtype=np.int8)
        drawn = np.abs((2.0 * signs - 1.0) @ difference)
        as_large += int(np.sum(drawn >= abs(difference.sum()) - 1e-12))
    return (1 + as_large) / (1 + DRAWS)


class Flat:
    """LinearSVC, one node against the rest, over the nodes that have rows; of many nodes by `OneVsRestSVM`."""

    def __init__(self, X: Any, sets: Any) -> None:
        self.nodes = np.flatnonzero(np.asarray(sets.sum(axis=0)).ravel())
        self.n_nodes = sets.shape[1]
        targets = sets[:, self.nodes].tocsc()
        if len(self.nodes) > MANY_NODES:
            rows = sparse.csr_array(targets)
            y = [rows.indices[a:b].tolist() for a, b in itertools.pairwise(rows.indptr)]
            fitted = OneVsRestSVM(C=1.0, tol=1e-2, random_state=0).fit(X, y)
            order = np.argsort(fitted.classes_)
            coef = fitted.coef_.toarray() if sparse.issparse(fitted.coef_) else fitted.coef_
            self.coef = np.asarray(coef, dtype=np.float32)[order]
            self.intercept = np.asarray(fitted.intercept_)[order]
            return
        weights, intercepts = [], []
        for k in range(len(self.nodes)):
            y = targets[:, [k]].toarray().ravel()
            if y.all():
                weights.append(np.zeros(X.shape[1], dtype=np.float32))
                intercepts.append(1.0)
                continue
            model = LinearSVC(C=1.0, random_state=0, tol=1e-2).fit(X, y)
            weights.append(model.coef_[0].astype(np.float32))
            intercepts.append(float(model.intercept_[0]))
        self.coef, self.intercept = np.array(weights), np.array(intercepts)

    def scores(self, X: Any) -> Any:
        return np.asarray(X @ self.coef.T + self.intercept)

    def sets(self, chosen: Any) -> Any:
        rows, columns = np.nonzero(chosen)
        shape = (len(chosen), self.n_nodes)
        return sparse.csr_array((np.ones(len(rows)), (rows, self.nodes[columns])), shape=shape)


def flat_lines(X: Any, y: Any, sets: Any, X_test: Any, taxonomy: Any) -> Iterator[tuple[str, Any]]:
    """Title and predicted nodes of every flat line."""
    held = np.random.default_rng(0).random(X.shape[0]) < HOLDOUT
    trial, final = Flat(X[~held], sets[~held]), Flat(X, sets)
    place = np.searchsorted(final.nodes, trial.nodes)
    trial_scores, scores = trial.scores(X[held]), final.scores(X_test)
    truth = sets[held][:, trial.nodes].toarray() > 0
    yield PLAIN, final.sets(scores > 0)
    true = trial.sets(truth)
    cuts = np.linspace(-1.0, 0.5, 31)
    best = max(cuts, key=lambda cut: example_f1(true, trial.sets(trial_scores > cut)).mean())
    yield f"one threshold ({best:.2f})", final.sets(scores > best)
    thresholds = np.full(scores.shape[1], best)
    thresholds[place] = tune_thresholds(trial_scores, truth)
    yield "a threshold per class", final.sets(scores > thresholds)
    slopes, offsets = fit_sigmoids(trial_scores, truth, np.ones(len(truth)))
    a, b = np.full(scores.shape[1], np.median(slopes)), np.full(scores.shape[1], np.median(offsets))
    a[place], b[place] = slopes, offsets
    space = LabelSpace.of(make_problem(X, y, taxonomy, empty_classes="drop"))
    units = np.arange(space.n_nodes) if space.unit_nodes is None else space.unit_nodes
    probable = np.zeros((len(scores), space.n_nodes))
    probable[:, np.searchsorted(units, final.nodes)] = sigmoid(a * scores + b)
    found = expected_f1_sets(space, falling(space, probable))
    ones = np.ones(len(found.indices))
    shape = (len(scores), taxonomy.n_nodes)
    yield PROBABLE, sparse.csr_array((ones, units[found.indices], found.indptr), shape=shape)


def structured_lines(taxonomy: Any, iterations: int) -> list[tuple[str, Any]]:
    alone = {"miss_cost": 1.0, "offset": 0.0}
    common = {"random_state": 0, "tol": 1e-2, "max_iter": iterations}
    return [
        ("flat sets, chosen", MulticlassSVM(taxonomy, **common)),
        ("HSVM, misses 1, no offset", HierarchicalSVM(taxonomy, **alone, **common)),
        ("HSVM, leaf cost, chosen", HierarchicalSVM(taxonomy, set_cost="leaves", **common)),
        ("HSVM, chosen", HierarchicalSVM(taxonomy, **common)),
        ("HSVM, expected F1", HierarchicalSVM(taxonomy, answer="expected_f1", **common)),
        ("NHSVM, chosen", NormalizedHierarchicalSVM(taxonomy, **common)),
        ("NHSVM, C = 10, chosen", NormalizedHierarchicalSVM(taxonomy, C=10.0, **common)),
        ("NHSVM, expected F1", NormalizedHierarchicalSVM(taxonomy, answer="expected_f1", **common)),
    ]


def measure(folder: str, name: str, arguments: Any) -> None:
    X, y, X_test, y_test, taxonomy = data(folder, name)
    X, y = some(X, y, arguments.train or TRAIN_OF.get(name, len(y)))
    X_test, y_test = some(X_test, y_test, arguments.test or TEST_OF.get(name, len(y_test)))
    sets, true = closed(y, taxonomy), closed(y_test, taxonomy)
    print(
        f"\n{name}: {len(y)} rows, {len(y_test)} to test, {taxonomy.n_nodes} nodes, "
        f"{'tree' if taxonomy.is_tree else 'DAG'}, {sets.sum() / len(y):.1f} nodes a row\n"
        f"{'':32} {'ex. F1':>6} {'micro':>6} {'macro':>6} {'Jacc.':>6} {'whole':>6} {'gap':>8} "
        f"{'p first':>7} {'p ovr':>7} {'CPU s':>6}",
        flush=True,
    )
    known: dict[str, Any] = {}
    place = None if arguments.keep is None else Path(arguments.keep) / f"{name}_{len(y)}_{len(y_test)}"
    if place is not None:
        place.mkdir(parents=True, exist_ok=True)
        for peer in (PLAIN, PROBABLE):
            if (place / f"{peer}.npy").is_file():
                known[peer] = np.load(place / f"{peer}.npy")

    def line(title: str, found: Any, gap: str, seconds: float) -> None:
        each, columns = figures(true, found, taxonomy)
        known[title] = each
        if place is not None:
            np.save(place / f"{title}.npy", each)
        numbers = " ".join(f"{value:6.1f}" for value in columns)
        tests = " ".join(
            f"{p_value(each, known[peer]):7.4f}" if peer in known and peer != title else f"{'-':>7}"
            for peer in (PLAIN, PROBABLE)
        )
        print(f"{title:32} {numbers} {gap:>8} {tests} {seconds:6.0f}", flush=True)

    began = time.process_time()
    if "flat" in arguments.lines:
        for title, found in flat_lines(X, y, sets, X_test, taxonomy):
            line(title, closed_again(found, taxonomy), "-", time.process_time() - began)
            began = time.process_time()
    for title, model in structured_lines(taxonomy, arguments.iterations):
        if "structured" not in arguments.lines and title not in arguments.lines:
            continue
        began = time.process_time()
        predicted = model.fit(X, y).predict(X_test)
        found = closed([list(row) for row in predicted], taxonomy)
        told = f"{title} ({model.miss_cost_:g}, {model.decoder_.offset:.2f})" if "chosen" in title else title
        line(told, found, f"{model.certificate_.gap:.1e}", time.process_time() - began)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder")
    parser.add_argument("sets", nargs="*", help="all by default")
    parser.add_argument("--train", type=int, help="rows at most")
    parser.add_argument("--test", type=int, help="rows at most")
    parser.add_argument("--iterations", type=int, default=15)
    parser.add_argument("--keep", help="folder for the F1 of every row")
    parser.add_argument("--lines", nargs="+", default=["flat", "structured"], help="also single titles")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # fits cut short say so; their gaps are printed
    for name in arguments.sets or SETS:
        measure(arguments.folder, name, arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
