"""Several labels per row: one table of the ways from rows to label sets, with paired tests.

    python benchmarks/table_sets.py FOLDER_OF_DATA [rcv1_subsets debtags_bookworm arxiv_2020 cellcycle_GO medline_mesh]
                                    [--train 8000] [--test 4000]

Lines: LinearSVC, one class against the rest, at zero, with one threshold for all classes, with a threshold for each;
with Platt's sigmoids and the set of the largest expected F1; and the structured methods, with a cost of misses and an
offset chosen on held-out rows or left alone. C is 1. Thresholds, sigmoids, costs and offsets are chosen on a fifth of
the training rows; the final fit is on all of them.

Labels are closed under ancestors before anything is scored: example-F1, micro-F1 (which then is the hierarchical F1)
and macro-F1 are over all nodes but the root; Jaccard is that of the most specific labels; "whole" is the share of rows
whose set is right. p is that of a paired permutation test of example-F1 against the first line, 10,000 draws.

Prints the tables; there is no bar.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from typing import Any

import numpy as np
from _data import find, narrow
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from table_multilabel import data_of, some

from taxolearn import HierarchicalSVM, MulticlassSVM, NormalizedHierarchicalSVM
from taxolearn.datasets import read_edges, read_jsonl, read_libsvm
from taxolearn.decoders import fit_sigmoids, sigmoid, tune_thresholds

SETS = ("rcv1_subsets", "debtags_bookworm", "arxiv_2020", "cellcycle_GO", "medline_mesh")
TRAIN, TEST = 8_000, 4_000  # rows at most
HOLDOUT = 0.2
DRAWS = 10_000


def data(folder: str, name: str) -> tuple[Any, Any, Any, Any, Any]:
    """Rows and labels to train and to test, and the taxonomy."""
    if name in ("rcv1_subsets", "debtags_bookworm"):
        return data_of(folder, name)
    if name == "cellcycle_GO":
        place = find(folder, "hmc_fun_go") / name
        parts = [read_libsvm(place / f"{part}.svm") for part in ("train", "test")]
        width = max(part.X.shape[1] for part in parts)
        dense = [np.zeros((part.X.shape[0], width)) for part in parts]
        for block, part in zip(dense, parts, strict=True):
            block[:, : part.X.shape[1]] = part.X.toarray()
        means = np.nanmean(dense[0], axis=0)
        filled = [np.where(np.isnan(block), means, block) for block in dense]
        scaler = StandardScaler().fit(filled[0])
        train, test = (scaler.transform(block) for block in filled)
        return train, parts[0].y, test, parts[1].y, read_edges(place / "hierarchy.edges")
    place = find(folder, name)
    parts = [read_jsonl(place / f"{part}.jsonl") for part in ("train", "test")]
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=3)
    train, test = vectorizer.fit_transform(parts[0].texts), vectorizer.transform(parts[1].texts)
    return narrow(train), parts[0].y, narrow(test), parts[1].y, read_edges(place / "hierarchy.edges")


def closed(y: Any, taxonomy: Any) -> Any:
    """Rows x nodes: labels and their ancestors, the root left out."""
    up = taxonomy.ancestor_matrix()
    rows = np.repeat(np.arange(len(y)), [len(row) for row in y])
    nodes = np.asarray(taxonomy.ids_of([name for row in y for name in row]))
    own = sparse.csr_array((np.ones(len(rows)), (rows, nodes)), shape=(len(y), taxonomy.n_nodes))
    found = sparse.csr_array(own @ sparse.csr_array(up))
    found.data[:] = 1.0
    found = found.tolil()
    found[:, 0] = 0.0
    return found.tocsr()


def ends(sets: Any, taxonomy: Any) -> Any:
    """The most specific nodes of closed sets."""
    counts = np.diff(taxonomy.parent_indptr)
    owner = np.repeat(np.arange(taxonomy.n_nodes), counts)
    shape = (taxonomy.n_nodes, taxonomy.n_nodes)
    up = sparse.csr_array((np.ones(len(owner)), (owner, taxonomy.parent_indices)), shape=shape)
    above = sparse.csr_array(sets @ up)
    above.data[:] = 1.0
    found = sparse.csr_array(sets - sets.multiply(above))
    found.eliminate_zeros()
    return found


def example_f1(true: Any, found: Any) -> Any:
    both = np.asarray(true.multiply(found).sum(axis=1)).ravel()
    sizes = np.asarray(true.sum(axis=1)).ravel() + np.asarray(found.sum(axis=1)).ravel()
    return np.divide(2 * both, sizes, out=np.ones(len(both)), where=sizes > 0)


def figures(true: Any, found: Any, taxonomy: Any) -> tuple[Any, list[float]]:
    """Example-F1 of every row; and the columns of the table."""
    each = example_f1(true, found)
    both = np.asarray(true.multiply(found).sum(axis=0)).ravel()
    sizes = np.asarray(true.sum(axis=0)).ravel() + np.asarray(found.sum(axis=0)).ravel()
    macro = np.divide(2 * both, sizes, out=np.zeros(len(both)), where=sizes > 0)
    seen = np.asarray(true.sum(axis=0)).ravel() > 0
    a, b = ends(true, taxonomy), ends(found, taxonomy)
    shared = np.asarray(a.multiply(b).sum(axis=1)).ravel()
    union = np.diff(a.indptr) + np.diff(b.indptr) - shared
    jaccard = np.divide(shared, union, out=np.ones(len(shared)), where=union > 0)
    whole = np.asarray(abs(true - found).sum(axis=1)).ravel() == 0
    parts = each.mean(), 2 * both.sum() / sizes.sum(), macro[seen].mean(), jaccard.mean(), whole.mean()
    return each, [100 * float(part) for part in parts]


def p_value(ours: Any, theirs: Any) -> float:
    """Of the difference in mean, two-sided: signs of the rows' differences change at random."""
    difference = ours - theirs
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(DRAWS, len(difference)))
    drawn = np.abs(signs @ difference)
    return float((1 + np.sum(drawn >= abs(difference.sum()) - 1e-12)) / (1 + DRAWS))


def expected_f1(p: Any) -> Any:
    """For each row the set of nodes of the largest expected F1, labels taken as independent: the most probable first,
    as many as suit, by 2 sum p / (k + sum p)."""
    order = np.argsort(-p, axis=1)
    ranked = np.take_along_axis(p, order, axis=1)
    value = 2 * np.cumsum(ranked, axis=1) / (np.arange(1, p.shape[1] + 1) + p.sum(axis=1)[:, None])
    k = value.argmax(axis=1)
    chosen = np.zeros(p.shape, dtype=bool)
    np.put_along_axis(chosen, order, np.arange(p.shape[1])[None, :] <= k[:, None], axis=1)
    return chosen


class Flat:
    """LinearSVC, one node against the rest, over the nodes that have rows."""

    def __init__(self, X: Any, sets: Any) -> None:
        self.nodes = np.flatnonzero(np.asarray(sets.sum(axis=0)).ravel())
        self.n_nodes = sets.shape[1]
        targets = sets[:, self.nodes].tocsc()
        self.models = []
        for k in range(len(self.nodes)):
            y = targets[:, [k]].toarray().ravel()
            self.models.append(1.0 if y.all() else LinearSVC(C=1.0, random_state=0, tol=1e-2).fit(X, y))

    def scores(self, X: Any) -> Any:
        return np.stack(
            [np.full(X.shape[0], m) if isinstance(m, float) else m.decision_function(X) for m in self.models],
            axis=1,
        )

    def sets(self, chosen: Any) -> Any:
        rows, columns = np.nonzero(chosen)
        shape = (len(chosen), self.n_nodes)
        return sparse.csr_array((np.ones(len(rows)), (rows, self.nodes[columns])), shape=shape)


def flat_lines(X: Any, sets: Any, X_test: Any, seed: int = 0) -> Any:
    """Title and closed sets of every flat line, unclosed: what was predicted, node by node."""
    held = np.random.default_rng(seed).random(X.shape[0]) < HOLDOUT
    trial = Flat(X[~held], sets[~held])
    final = Flat(X, sets)
    place = np.searchsorted(final.nodes, trial.nodes)
    trial_scores, scores = trial.scores(X[held]), final.scores(X_test)
    truth = sets[held][:, trial.nodes].toarray() > 0
    yield "LinearSVC at zero", final.sets(scores > 0)
    cuts = np.linspace(-1.0, 0.5, 31)
    true = trial.sets(truth)
    best = max(cuts, key=lambda cut: example_f1(true, trial.sets(trial_scores > cut)).mean())
    yield f"one threshold ({best:.2f})", final.sets(scores > best)
    thresholds = np.full(scores.shape[1], best)
    thresholds[place] = tune_thresholds(trial_scores, truth)
    yield "a threshold per class", final.sets(scores > thresholds)
    slopes, offsets = fit_sigmoids(trial_scores, truth, np.ones(len(truth)))
    a, b = np.full(scores.shape[1], np.median(slopes)), np.full(scores.shape[1], np.median(offsets))
    a[place], b[place] = slopes, offsets
    yield "Platt, expected F1", final.sets(expected_f1(sigmoid(a * scores + b)))


def structured_lines(taxonomy: Any, tol: float) -> list[tuple[str, Any]]:
    alone = {"miss_cost": 1.0, "offset": 0.0}
    common = {"random_state": 0, "tol": tol, "max_iter": 30}
    return [
        ("flat sets", MulticlassSVM(taxonomy, **alone, **common)),
        ("HSVM", HierarchicalSVM(taxonomy, **alone, **common)),
        ("HSVM, leaf cost", HierarchicalSVM(taxonomy, set_cost="leaves", **alone, **common)),
        ("HSVM, misses 2.5", HierarchicalSVM(taxonomy, miss_cost=2.5, offset=0.0, **common)),
        ("HSVM, cost and offset chosen", HierarchicalSVM(taxonomy, **common)),
        ("NHSVM, cost and offset chosen", NormalizedHierarchicalSVM(taxonomy, **common)),
    ]


def measure(folder: str, name: str, train: int, test: int) -> None:
    X, y, X_test, y_test, taxonomy = data(folder, name)
    (X, y), (X_test, y_test) = some(X, y, train), some(X_test, y_test, test)
    sets, true = closed(y, taxonomy), closed(y_test, taxonomy)
    print(
        f"\n{name}: {len(y)} rows, {len(y_test)} to test, {taxonomy.n_nodes} nodes, "
        f"{'tree' if taxonomy.is_tree else 'DAG'}, {sets.sum() / len(y):.1f} nodes a row\n"
        f"{'':30} {'ex. F1':>6} {'micro':>6} {'macro':>6} {'Jacc.':>6} {'whole':>6} {'gap':>8} {'p':>7} {'CPU s':>6}",
        flush=True,
    )
    first = None

    def line(title: str, found: Any, gap: str, seconds: float) -> None:
        nonlocal first
        each, columns = figures(true, found, taxonomy)
        first = each if first is None else first
        numbers = " ".join(f"{value:6.1f}" for value in columns)
        print(f"{title:30} {numbers} {gap:>8} {p_value(each, first):7.4f} {seconds:6.0f}", flush=True)

    began = time.process_time()
    for title, found in flat_lines(X, sets, X_test):
        line(title, closed_again(found, taxonomy), "-", time.process_time() - began)
        began = time.process_time()
    for title, model in structured_lines(taxonomy, 1e-2):
        began = time.process_time()
        predicted = model.fit(X, y).predict(X_test)
        found = closed([list(row) for row in predicted], taxonomy)
        line(title, found, f"{model.certificate_.gap:.1e}", time.process_time() - began)


def closed_again(found: Any, taxonomy: Any) -> Any:
    """Predicted nodes with all their ancestors."""
    whole = sparse.csr_array(found @ sparse.csr_array(taxonomy.ancestor_matrix()))
    whole.data[:] = 1.0
    whole = whole.tolil()
    whole[:, 0] = 0.0
    return whole.tocsr()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder")
    parser.add_argument("sets", nargs="*", help="all by default")
    parser.add_argument("--train", type=int, default=TRAIN)
    parser.add_argument("--test", type=int, default=TEST)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # fits cut short say so; their gaps are printed
    for name in arguments.sets or SETS:
        measure(arguments.folder, name, arguments.train, arguments.test)
    return 0


if __name__ == "__main__":
    sys.exit(main())
