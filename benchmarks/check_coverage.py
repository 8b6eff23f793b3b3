"""Does `predict(coverage=)` cover what it promises, and how deep does it answer? 100 random splits of real sets.

    python benchmarks/check_coverage.py FOLDER_OF_DATA [SET ...]

One fit per set; its test rows are split in halves, calibration and new rows, 100 times. At 90, 95 and 99%:

- mean coverage within two standard errors of the nominal or above, on average and for the labels of each level;
- mean depth at least that of the best threshold rule on the same rows: node probability on the predicted path, the
  smallest node of so much probability anywhere (set-valued prediction of bounded size with one node, Mortier et al.
  2025), or conformal sets of classes cut to their lowest common ancestor. All have the n + 1.

Shown beside them: the least sure step alone, without a choice among doubts, climbing by probability without the
n + 1 (Goren et al. 2024), answers of up to three nodes, coverage by chapter, the tree loss of `risk=`, and what happens
when calibration rows are held-out training rows, with which the test rows need not be exchangeable.
"""

from __future__ import annotations

import sys
import time
import warnings
from functools import partial
from typing import Any

import numpy as np
from _data import find, load, single
from sklearn.feature_extraction.text import TfidfVectorizer

from taxolearn import RecursiveLogistic
from taxolearn.datasets import read_edges, read_jsonl
from taxolearn.decoders import Asked, Coverage, Ladders, node_ladders, set_ladders
from taxolearn.decoders.calibrated_stops import groups_of, settle
from taxolearn.decoders.coverage import coverage_limit, first_misses, missed, rows_needed
from taxolearn.decoders.group_limits import group_limits

C_OF_SET = {"clef": 1.0, "trec_question": 30.0, "20news_bydate": 30.0, "lshtc1_dryrun": 30.0, "cve_cwe": 10.0}
LEVELS = (0.90, 0.95, 0.99)
N_SPLITS = 100
RISK = 0.2


def read(folder: str, name: str) -> tuple[Any, Any, Any, Any, Any]:
    """Rows, labels and taxonomy; of cve_cwe the first label of the few rows that have several."""
    if name != "cve_cwe":
        return load(folder, name)
    place = find(folder, name)
    parts = [read_jsonl(place / f"{part}.jsonl") for part in ("train", "test")]
    words = TfidfVectorizer(sublinear_tf=True, min_df=3)
    train, test = words.fit_transform(parts[0].texts), words.transform(parts[1].texts)
    return train, single(parts[0].y), test, single(parts[1].y), read_edges(place / "hierarchy.edges")


def of_rows(kept: Coverage, rows: Any) -> Coverage:
    """The calibration by some of the rows."""
    some = kept.labels[rows], kept.misses[:, rows], kept.doubt[rows], kept.losses[rows]
    return Coverage(*some, others=kept.others[:, rows])


class Rows:
    """Test rows with probabilities, the ladders of every rule over them, and what each rung covers."""

    def __init__(self, probabilities: Any, labels: Any, classes: Any, taxonomy: Any) -> None:
        self.p, self.labels, self.classes, self.taxonomy = probabilities, labels, classes, taxonomy
        self.predicted = probabilities.argmax(axis=1)
        self.n = len(labels)
        ours = node_ladders(probabilities, self.predicted, classes, taxonomy)
        wide = set_ladders(probabilities, self.predicted, classes, taxonomy, 3)
        self.kept = Coverage.of(probabilities, self.predicted, classes, labels, taxonomy, 3)
        self.rules = {
            "taxolearn": ours,
            "least sure step": ours,
            "node probability": self._by_probability(ours),
        }
        self.rules["smallest node"] = self._smallest_nodes()
        self.rules["ancestor of set"] = self._ancestors_of_sets()
        self.rules["up to 3 nodes"] = wide
        self.wrong = missed(ours, labels, taxonomy)
        self.misses = {name: first_misses(ladders, labels, taxonomy) for name, ladders in self.rules.items()}

    def _node_chances(self) -> Any:
        return self.p @ self.taxonomy.ancestor_matrix(self.classes)

    def _by_probability(self, ladders: Ladders) -> Ladders:
        chance = self._node_chances()[np.arange(self.n)[:, None], np.maximum(ladders.nodes[:, :, 0], 0)]
        return Ladders(
            ladders.nodes, np.where(np.isinf(ladders.doubt), ladders.doubt, np.maximum(0, 1 - chance))
        )

    def _smallest_nodes(self) -> Ladders:
        """From likely to unlikely nodes, those that have fewer classes below them than all before."""
        chance = self._node_chances()
        size = np.asarray(self.taxonomy.ancestor_matrix(self.classes).sum(axis=0)).ravel()
        depth = self.taxonomy.depth
        found: list[list[tuple[int, float]]] = []
        for row in chance:
            order = np.lexsort((-depth, size, -row))
            order = order[(size[order] > 0) & (order != 0)]
            records = size[order] < np.concatenate([[np.inf], np.minimum.accumulate(size[order])[:-1]])
            found.append([(0, -np.inf), *((int(k), max(0.0, 1 - float(row[k]))) for k in order[records])])
        return _padded(found)

    def _ancestors_of_sets(self) -> Ladders:
        """The lowest common ancestor of all classes at least as likely as the k-th, from many classes down to one."""
        order = np.argsort(-self.p, axis=1, kind="stable")
        above = self.taxonomy.ancestor_matrix(self.classes, dtype=bool).toarray()
        depth = self.taxonomy.depth
        found = []
        for row, likely in zip(self.p, order, strict=True):
            common, ladder = above[likely[0]].copy(), []
            for k in likely:
                common &= above[k]
                node = int(np.flatnonzero(common)[np.argmax(depth[common])])
                if node == 0:
                    break
                if not ladder or ladder[-1][0] != node:
                    ladder.append((node, 0.0))
                ladder[-1] = (node, 0.0)
                # a node stands as long as the next class, which it does not have, is less likely than the limit
                nxt = np.flatnonzero(~above[likely, node])
                ladder[-1] = (node, float(row[likely[nxt[0]]]) if len(nxt) else 0.0)
            found.append([(0, -np.inf), *ladder[::-1]])
        return _padded(found)


def _padded(found: list[list[tuple[int, float]]]) -> Ladders:
    rungs = max(map(len, found))
    nodes, doubt = np.full((len(found), rungs, 1), -1, dtype=np.int32), np.full((len(found), rungs), np.inf)
    for i, ladder in enumerate(found):
        nodes[i, : len(ladder), 0] = [node for node, _ in ladder]
        doubt[i, : len(ladder)] = [d for _, d in ladder]
    return Ladders(nodes, doubt)


def depths(nodes: Any, taxonomy: Any) -> Any:
    """The level of each answer, of several nodes their mean."""
    there = nodes >= 0
    return np.where(there, taxonomy.depth[np.maximum(nodes, 0)], 0).sum(axis=1) / there.sum(axis=1)


def told(shares: list[float], nominal: float) -> tuple[str, bool]:
    """Mean and standard error over splits, and whether the mean is not below the nominal by more than two of them."""
    mean, error = float(np.mean(shares)), float(np.std(shares, ddof=1) / np.sqrt(len(shares)))
    return f"{mean:.4f} ({error:.4f})", mean >= nominal - 2 * error


def check(rows: Rows, nominal: float, splits: list[Any]) -> list[str]:
    """Print the lines of one set at one coverage; what falls short."""
    short = []
    depth = {}
    for name, ladders in rows.rules.items():
        covered, deep, ends = [], [], []
        last = (ladders.nodes[:, :, 0] >= 0).sum(axis=1) - 1
        for old, new in splits:
            if name == "taxolearn":
                chosen = of_rows(rows.kept, old).limits(Asked(nominal), rows.classes, rows.taxonomy)
                part, limits = chosen.settled(
                    Ladders(ladders.nodes[new], ladders.doubt[new]), rows.kept.others[:, new]
                )
                rungs = part.cut(limits)
                covered.append(float(np.mean(~rows.wrong[new, rungs])))
            else:
                limit = coverage_limit(rows.misses[name][old], nominal)
                rungs = Ladders(ladders.nodes[new], ladders.doubt[new]).cut(limit)
                covered.append(float(np.mean(rows.misses[name][new] >= limit)))
            deep.append(float(depths(ladders.nodes[new, rungs], rows.taxonomy).mean()))
            ends.append(float(np.mean(rungs == last[new])))
        said, valid = told(covered, nominal)
        if name != "up to 3 nodes":
            depth[name] = float(np.mean(deep))
        if not valid:
            short.append(f"{name} covers {said} at {nominal}")
        print(f"  {name:22s} {said}  depth {np.mean(deep):.3f}  at the class {np.mean(ends):.3f}")
    for name in ("node probability", "smallest node", "ancestor of set"):
        more = depth["taxolearn"] - depth[name]
        if more < 0:
            short.append(f"at {nominal} {name} is deeper by {-more:.4f}")
    plain = [np.sort(rows.misses["node probability"][old]) for old, _ in splits]
    limits = [row[int(len(row) * (1 - nominal) + 1e-9)] for row in plain]
    climbed = [
        float(np.mean(rows.misses["node probability"][new] >= limit))
        for (_, new), limit in zip(splits, limits, strict=True)
    ]
    print(f"  {'climbing without n + 1':22s} {told(climbed, nominal)[0]}")
    return (
        short + check_groups(rows, nominal, splits, "level") + check_groups(rows, nominal, splits, "chapter")
    )


def _limit_by(misses: Any, nominal: float, rows: Any) -> float:
    return coverage_limit(misses[rows], nominal)


def check_groups(rows: Rows, nominal: float, splits: list[Any], by: Any) -> list[str]:
    """Coverage of the labels of each group that is large enough, and of the others together."""
    groups = groups_of(rows.labels, by, rows.taxonomy)
    known = np.isin(rows.labels, rows.classes)
    keys = np.unique(groups_of(rows.classes, by, rows.taxonomy))
    numbers, n_groups = np.where(known, np.searchsorted(keys, groups), -1), len(keys)
    ladders, asked, misses = rows.rules["taxolearn"], Asked(nominal, by=by), rows.kept.misses[0]
    shares: dict[Any, list[float]] = {}
    deep = []
    for old, new in splits:
        part = Ladders(ladders.nodes[new], ladders.doubt[new])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            limits = of_rows(rows.kept, old).limits(asked, rows.classes, rows.taxonomy)
        rungs = part.cut(settle(part, limits, rows.p[new], rows.classes, rows.taxonomy)[1])
        hit = ~rows.wrong[new, rungs]
        deep.append(float(depths(part.answers(rungs), rows.taxonomy).mean()))
        part_of = partial(_limit_by, misses[old], nominal)
        shared = group_limits(part_of, numbers[old], n_groups, rows_needed(nominal))[1]
        alone = ~shared[numbers[new]]
        for group in np.unique(groups[new][known[new] & alone]):
            mine = known[new] & (groups[new] == group)
            shares.setdefault(int(group), []).append(float(hit[mine].mean()))
        rest = known[new] & ~alone
        if rest.any():
            shares.setdefault("together", []).append(float(hit[rest].mean()))
    lines = {group: told(found, nominal) for group, found in shares.items() if len(found) == len(splits)}
    lowest = min((text for text, _ in lines.values()), default="none")
    print(f"  by {by:19s} {len(lines)} groups, lowest {lowest}  depth {np.mean(deep):.3f}")
    return [
        f"by {by}, group {group}: {text} at {nominal}" for group, (text, fine) in lines.items() if not fine
    ]


def risks(rows: Rows, splits: list[Any]) -> list[str]:
    """The tree loss of answers under `risk=`, and their depth."""
    ladders = rows.rules["taxolearn"]
    found, deep = [], []
    for old, new in splits:
        limit = of_rows(rows.kept, old).limit(Asked(risk=RISK), rows.taxonomy)
        rungs = Ladders(ladders.nodes[new], ladders.doubt[new]).cut(limit)
        found.append(float(rows.kept.losses[new, rungs].mean()))
        deep.append(float(depths(ladders.nodes[new, rungs], rows.taxonomy).mean()))
    said, fine = told([-value for value in found], -RISK)
    print(f"  risk={RISK}: tree loss {said[1:]}  depth {np.mean(deep):.3f}")
    return [] if fine else [f"risk={RISK} has a tree loss of {said[1:]}"]


def main() -> None:
    """Check every set."""
    folder, names = sys.argv[1], sys.argv[2:] or list(C_OF_SET)
    short: list[str] = []
    for name in names:
        X, y, X_test, y_test, taxonomy = read(folder, name)
        start = time.process_time()
        model = RecursiveLogistic(taxonomy, loss="softmax", C=C_OF_SET[name], tol=1e-2, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            p = model.fit(X, y).predict_proba(X_test)
        labels = np.asarray(taxonomy.ids_of(y_test.tolist()), dtype=np.int32)
        rows = Rows(p, labels, np.asarray(taxonomy.ids_of(model.classes_.tolist()), dtype=np.int32), taxonomy)
        rng = np.random.default_rng(0)
        orders = [rng.permutation(rows.n) for _ in range(N_SPLITS)]
        splits = [(order[: rows.n // 2], order[rows.n // 2 :]) for order in orders]
        accuracy = np.mean(rows.classes[rows.predicted] == labels)
        print(f"{name}: {rows.n:,} rows, accuracy {accuracy:.3f}, depth of classes predicted "
              f"{taxonomy.depth[rows.classes[rows.predicted]].mean():.3f}")  # fmt: skip
        for nominal in LEVELS:
            print(f" coverage {nominal}: mean over {N_SPLITS} splits (standard error)")
            short += [f"{name}: {what}" for what in check(rows, nominal, splits)]
        short += [f"{name}: {what}" for what in risks(rows, splits)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            held = model.set_params(coverage_holdout=0.2).fit(X, y)
            nodes = np.asarray(taxonomy.ids_of(held.predict(X_test, coverage=0.9).tolist()))
        above = taxonomy.ancestor_matrix(labels, dtype=bool)
        share = np.mean(np.asarray(above[np.arange(rows.n), nodes]).ravel())
        print(f"  calibrated on held-out training rows at 0.9: test rows covered {share:.4f}")
        print(f"  {time.process_time() - start:.0f} CPU s", flush=True)
    for line in short:
        print("SHORT", line)
    print(f"coverage: {len(names)} sets, {len(short)} checks short")
    sys.exit(bool(short))


if __name__ == "__main__":
    main()
