"""What static embeddings and the names of classes add to n-grams, with few rows per class and with all of them.

    python benchmarks/table_words.py FOLDER_OF_DATA [CELLS.jsonl] [--sets trec,news,amazon,icd] [--rows 1,3,10,all]
        [--seeds 5] [--methods flat,tree] [--most-seconds 600] [--only-table]

Each cell (set, method, rows per class, seed, features) is learned once and kept in CELLS.jsonl, so that runs can be cut
short and go on; table_words.jsonl beside this file has those of the published table, and another file name begins
anew. Printed are mean accuracies over the seeds; for "auto" a paired test against n-grams and against the
best single column: a t-test over the seeds, with all rows McNemar's over the test rows. With "zero" rows: names alone,
accuracy at every level, beside chance (a random leaf). Exits with 1 when "auto" is significantly below the best single
column, or is not significantly above n-grams on three sets at 3 rows per class, or as long as cells are missing.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _data import find, single
from scipy import stats

from taxolearn import NormalizedHierarchicalSVM, OneVsRestSVM, Taxonomy, TextClassifier
from taxolearn.datasets import load_icd10cm, read_edges, read_jsonl
from taxolearn.text import TextFeatures

COLUMNS = ("ngrams", "embeddings", "both", "both+names", "auto")
METHODS = {"flat": OneVsRestSVM, "tree": NormalizedHierarchicalSVM}
# The tree method is solved less exactly than by default (1e-3) where there are more than a thousand classes: on
# ICD-10-CM with 1 row per class 14 CPU s instead of 45, and 58.2 right answers of 100 with either.
TREE_TOL = {"amazon": 1e-2, "icd": 1e-2}
NGRAMS = {"sublinear_tf": True}
LEVEL_OF_SIGNIFICANCE = 0.05
SETS, SEEDS = ("trec", "news", "amazon", "icd"), 5
MOST_TEST_ROWS = 3_000  # drawn with a fixed seed where there are more

# What the abbreviations of the question types mean, after Li and Roth, Learning Question Classifiers (2002).
TREC_NAMES = {
    "ABBR": "abbreviation", "abb": "abbreviation", "exp": "expression abbreviated", "DESC": "description",
    "def": "definition of something", "desc": "description of something", "manner": "manner of an action",
    "reason": "reasons", "ENTY": "entity", "animal": "animals", "body": "organs of body", "color": "colors",
    "cremat": "inventions, books and other creative pieces", "currency": "currency names",
    "dismed": "diseases and medicine", "event": "events", "food": "food", "instru": "musical instrument",
    "lang": "languages", "letter": "letters like a-z", "other": "other", "plant": "plants", "product": "products",
    "religion": "religions", "sport": "sports", "substance": "elements and substances",
    "symbol": "symbols and signs", "techmeth": "techniques and methods", "termeq": "equivalent terms",
    "veh": "vehicles", "word": "words with a special property", "HUM": "human beings", "gr": "a group or organization",
    "ind": "an individual person", "title": "title of a person", "LOC": "location", "city": "cities",
    "country": "countries", "mount": "mountains", "state": "states", "NUM": "numeric value",
    "code": "postcodes or other codes", "count": "number of something", "date": "dates",
    "dist": "distance, linear measures", "money": "prices", "ord": "ranks", "perc": "percentage, fractions",
    "period": "the lasting time of something", "speed": "speed", "temp": "temperature",
    "volsize": "size, area and volume", "weight": "weight",
}  # fmt: skip


class Texts(NamedTuple):
    name: str
    train: list[str]
    y: np.ndarray[Any, Any]
    test: list[str]
    y_test: np.ndarray[Any, Any]
    taxonomy: Taxonomy
    label_texts: Any


def load(folder: str, name: str) -> Texts:
    """The rows of one set, and no more test rows than are needed."""
    data = read(folder, name)
    kept = np.random.RandomState(0).permutation(len(data.test))[:MOST_TEST_ROWS]
    kept.sort()
    print(f"{name}: {len(data.train):,} rows, {len(kept):,} of {len(data.test):,} test rows", flush=True)
    return data._replace(test=[data.test[row] for row in kept], y_test=data.y_test[kept])


def read(folder: str, name: str) -> Texts:
    """One label per row; of amazon the rows that have a single one, and the part of its tree that these name."""
    if name == "icd":
        data = load_icd10cm()
        tree = data.taxonomy
        return Texts(
            name,
            data.train.texts,
            np.array(data.train.y),
            data.test.texts,
            np.array(data.test.y),
            tree,
            data.titles,
        )
    place = find(
        folder, {"trec": "trec_question", "news": "20news_bydate", "amazon": "amazon_hftcnn_sample"}[name]
    )
    files = ("train", "valid") if name == "amazon" else ("train", "test")
    train, test = (read_jsonl(place / f"{part}.jsonl") for part in files)
    tree = read_edges(place / "hierarchy.edges")
    given: Any = "names"
    if name == "trec":
        given = {node: TREC_NAMES[node.rpartition(":")[2]] for node in tree.nodes if node != "root"}
    if name == "amazon":
        rows = [[(t, y[0]) for t, y in zip(p.texts, p.y, strict=True) if len(y) == 1] for p in (train, test)]
        labels = {label for part in rows for _, label in part}
        used = {node for label in labels for node in tree.path(label)}
        tree = Taxonomy.from_edges([edge for edge in tree.edges if set(edge) <= used])
        pairs = [([t for t, _ in part], np.array([y for _, y in part])) for part in rows]
        return Texts(name, *pairs[0], *pairs[1], tree, given)
    return Texts(name, list(train.texts), single(train.y), list(test.texts), single(test.y), tree, given)


def sample(y: np.ndarray[Any, Any], rows: int | None, seed: int) -> list[int]:
    """At most so many rows of each class."""
    seen: Counter[str] = Counter()
    chosen = []
    for row in np.random.RandomState(seed).permutation(len(y)).tolist():
        if rows is None or seen[y[row]] < rows:
            seen[y[row]] += 1
            chosen.append(row)
    return sorted(chosen)


def classifier(column: str, method: str, data: Texts, seed: int) -> TextClassifier:
    estimator = METHODS[method](data.taxonomy, random_state=seed)
    if method == "tree" and data.name in TREE_TOL:
        estimator.set_params(tol=TREE_TOL[data.name])
    if column == "auto":
        return TextClassifier(estimator, "auto", random_state=seed, label_texts=data.label_texts)
    features = {
        "ngrams": TextFeatures(**NGRAMS),
        "embeddings": TextFeatures(analyzer=None, embedder="words"),
        "both": TextFeatures(**NGRAMS, embedder="words"),
        "both+names": TextFeatures(**NGRAMS, embedder="words"),
    }[column]
    names = {"label_texts": data.label_texts, "label_weight": 1.0} if column == "both+names" else {}
    return TextClassifier(estimator, features, random_state=seed, **names)


def learn(data: Texts, column: str, method: str, rows: int | None, seed: int) -> dict[str, Any]:
    chosen = sample(data.y, rows, seed)
    started = time.process_time()
    model = classifier(column, method, data, seed)
    model.fit([data.train[row] for row in chosen], data.y[chosen])
    seconds = time.process_time() - started
    right = np.asarray(model.predict(data.test)) == data.y_test
    packed = np.packbits(right).tobytes().hex()
    return {
        "accuracy": float(right.mean()),
        "right": packed,
        "seconds": seconds,
        "features": str(model.features_),
    }


def by_names(data: Texts, method: str) -> list[tuple[int, float, float]]:
    """Level, accuracy there by names alone, and that of a random leaf."""
    tree = data.taxonomy
    model = TextClassifier(
        METHODS[method](tree), TextFeatures(**NGRAMS, embedder="words"), label_texts=data.label_texts
    ).fit([], [])
    answers = model.predict(data.test)
    leaves = list(tree.leaves)
    paths = {name: tree.named_path(name) for name in {*leaves, *answers, *data.y_test}}
    found = []
    first = 1 if all(path[0] == tree.nodes[0] for path in paths.values()) else 0
    for level in range(first, max(map(len, paths.values()))):
        true = [paths[name][: level + 1] for name in data.y_test]
        deep = [k for k, path in enumerate(true) if len(path) > level]
        right = np.mean([paths[answers[k]][: level + 1] == true[k] for k in deep])
        share = Counter(paths[leaf][: level + 1] for leaf in leaves)
        chance = np.mean([share[true[k]] / len(leaves) for k in deep])
        found.append((level - first + 1, float(right), float(chance)))
    return found


def p_value(cells: list[tuple[dict[str, Any], dict[str, Any]]]) -> tuple[float, float]:
    """Mean lead of the first over the second of each pair, and how likely it is by chance."""
    leads = np.array([a["accuracy"] - b["accuracy"] for a, b in cells])
    if len(cells) > 1:
        p = float(
            stats.ttest_rel([a["accuracy"] for a, _ in cells], [b["accuracy"] for _, b in cells]).pvalue
        )
        return float(leads.mean()), 1.0 if np.isnan(p) else p
    first, second = (np.unpackbits(np.frombuffer(bytes.fromhex(c["right"]), np.uint8)) for c in cells[0])
    won, lost = int(np.sum(first > second)), int(np.sum(first < second))
    return float(leads[0]), float(stats.binomtest(won, won + lost).pvalue) if won + lost else 1.0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder")
    parser.add_argument("cells", nargs="?", type=Path, default=Path(__file__).with_suffix(".jsonl"))
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--rows", default="zero,1,3,10,all")
    parser.add_argument("--methods", default="flat,tree")
    parser.add_argument("--columns", default=",".join(COLUMNS))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--only-table", action="store_true", help="learn nothing more")
    parser.add_argument(
        "--most-seconds", type=float, default=np.inf, help="begin no cell after so many CPU seconds"
    )
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = asked.cells.read_text().splitlines() if asked.cells.exists() else []
    done = {tuple(entry["key"]): entry for entry in map(json.loads, lines)}

    def keep(key: tuple[Any, ...], entry: dict[str, Any]) -> None:
        done[key] = entry | {"key": list(key)}
        told = f"{100 * entry['accuracy']:.2f}, {entry['seconds']:.1f} CPU s" if "accuracy" in entry else ""
        print(*key, told, flush=True)
        with asked.cells.open("a") as file:
            file.write(json.dumps(done[key]) + "\n")

    for rows in asked.rows.split(","):
        for name in asked.sets.split(","):
            if asked.only_table:
                continue
            if time.process_time() > asked.most_seconds:
                break
            data = load(asked.folder, name)
            for method in asked.methods.split(","):
                if rows == "zero":
                    if (name, method, rows) not in done:
                        keep((name, method, rows), {"levels": by_names(data, method)})
                    continue
                for seed in range(1 if rows == "all" else asked.seeds):
                    for column in asked.columns.split(","):
                        key = (name, method, rows, seed, column)
                        if key not in done and time.process_time() < asked.most_seconds:
                            keep(key, learn(data, column, method, None if rows == "all" else int(rows), seed))
    return report(done)


def report(done: dict[tuple[Any, ...], dict[str, Any]]) -> int:
    below, above = [], set()
    print(f"| set | method | rows per class | {' | '.join(COLUMNS)} | auto - ngrams (p) | auto - best (p) |")
    print("|---" * (len(COLUMNS) + 5) + "|")
    for name, method, rows in dict.fromkeys(key[:3] for key in done if key[2] != "zero"):
        seeds = sorted({key[3] for key in done if key[:3] == (name, method, rows)})
        whole = [s for s in seeds if all((name, method, rows, s, column) in done for column in COLUMNS)]
        if not whole:
            continue
        cells = {c: [done[name, method, rows, s, c] for s in whole] for c in COLUMNS}
        means = {c: float(np.mean([cell["accuracy"] for cell in found])) for c, found in cells.items()}
        best = max(COLUMNS[:-1], key=means.__getitem__)
        tests = {c: p_value(list(zip(cells["auto"], cells[c], strict=True))) for c in ("ngrams", best)}
        if tests[best][0] < 0 and tests[best][1] < LEVEL_OF_SIGNIFICANCE:
            below.append(f"{name} {method} {rows}")
        if rows == "3" and tests["ngrams"][0] > 0 and tests["ngrams"][1] < LEVEL_OF_SIGNIFICANCE:
            above.add((method, name))
        told = " | ".join(f"{100 * means[c]:.1f}" for c in COLUMNS)
        leads = " | ".join(f"{100 * lead:+.1f} ({p:.3f})" for lead, p in (tests["ngrams"], tests[best]))
        print(f"| {name} | {method} | {rows} ({len(whole)} seeds) | {told} | {leads} |")
    zero = [key for key in done if key[2] == "zero"]
    if zero:
        print("\n| no rows: names alone | method | level: accuracy (chance) |\n|---|---|---|")
        for key in zero:
            levels = ", ".join(f"{n}: {100 * a:.1f} ({100 * c:.1f})" for n, a, c in done[key]["levels"])
            print(f"| {key[0]} | {key[1]} | {levels} |")
    wanted = [
        (n, m, r, 1 if r == "all" else SEEDS) for n in SETS for m in METHODS for r in ("1", "3", "10", "all")
    ]
    short = [
        f"{n} {m} {r}"
        for n, m, r, seeds in wanted
        if any((n, m, r, seed, column) not in done for seed in range(seeds) for column in COLUMNS)
    ]
    short += [f"{n} {m} zero" for n in SETS for m in METHODS if (n, m, "zero") not in done]
    most = max((sum(m == method for m, _ in above) for method in METHODS), default=0)
    print(f"\nauto significantly below the best single column: {', '.join(below) or 'nowhere'}")
    print(f"auto significantly above n-grams at 3 rows per class: {most} sets")
    n_wanted = len(wanted) + len(SETS) * len(METHODS)
    print(f"cells not measured with all seeds: {len(short)} of {n_wanted}: {', '.join(short) or 'none'}")
    return int(bool(below) or bool(short) or most < 3)


if __name__ == "__main__":
    sys.exit(main())
