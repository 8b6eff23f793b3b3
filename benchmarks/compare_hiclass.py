"""HiClass's own examples, each call beside its counterpart here, run side by side on the same data.

    python benchmarks/compare_hiclass.py HICLASS_PYTHON

HICLASS_PYTHON is the interpreter of an environment with hiclass and pandas. Data and calls on its side are those of its
quick start and gallery; random forests have a seed. Prints what each side answers; exits with 1 when a counterpart
answers another path than HiClass's example does, or another value of a metric. What the installed HiClass does not
offer is said and not compared.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.pipeline import Pipeline

from taxolearn import (
    HierarchicalSVM,
    NormalizedHierarchicalSVM,
    OneVsRestSVM,
    RecursiveLogistic,
    Taxonomy,
    TopDownSVM,
    load,
)
from taxolearn.metrics import hierarchical_f1, hierarchical_precision, hierarchical_recall

X = [[1], [2], [3], [4]]
Y = [
    ["Animal", "Mammal", "Sheep"],
    ["Animal", "Mammal", "Cow"],
    ["Animal", "Reptile", "Snake"],
    ["Animal", "Reptile", "Lizard"],
]
TEXTS = ["Struggling to repay loan", "Unable to get annual report"]
TEXT_Y = [["Loan", "Student loan"], ["Credit reporting", "Reports"]]
RAGGED_X = [[1], [2], [3], [4], [5]]
RAGGED_Y = [
    ["Bird"],
    ["Reptile", "Snake"],
    ["Reptile", "Lizard"],
    ["Mammal", "Cat"],
    ["Mammal", "Wolf", "Dog"],
]
SEVERAL_X = [[1, 2], [3, 4], [5, 6]]
SEVERAL_Y = [
    [["Mammal", "Human"], ["Fish"]],
    [["Mammal", "Human"], ["Mammal", "Bovine"]],
    [["Mammal", "Human"]],
]
# truth and answers for the metrics, without the root that all share: HiClass counts it as right, here it counts nothing
SCORED = [[path[1:] for path in Y], [Y[0][1:], Y[0][1:], Y[3][1:], ["Mammal", "Cow"]]]

# Run by HiClass's interpreter: reads the data above, prints the answers of its calls.
THEIRS = """
import json, pickle, sys, tempfile, warnings
warnings.simplefilter("ignore")
import numpy as np, pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from hiclass import FlatClassifier, LocalClassifierPerLevel, LocalClassifierPerNode, LocalClassifierPerParentNode
from hiclass.metrics import f1, precision, recall
d = json.load(sys.stdin)
def plain(answers):
    return [[str(name) for name in row if str(name)] for row in np.asarray(answers, dtype=object).tolist()]
def forest():
    return RandomForestClassifier(random_state=0)
out = {}
node = LocalClassifierPerNode(local_classifier=forest()).fit(d["X"], d["Y"])
out["per node"] = plain(node.predict(d["X"][::-1]))
parent = LocalClassifierPerParentNode(local_classifier=forest(), n_jobs=2).fit(d["X"], d["Y"])
out["per parent node, n_jobs"] = plain(parent.predict(d["X"][::-1]))
level = LocalClassifierPerLevel(local_classifier=forest()).fit(d["X"], d["Y"])
out["per level"] = plain(level.predict(d["X"][::-1]))
flat = FlatClassifier(local_classifier=forest()).fit(d["X"], d["Y"])
out["flat"] = plain(flat.predict(d["X"][::-1]))
pipe = Pipeline([("count", CountVectorizer()), ("tfidf", TfidfTransformer()),
                 ("lcppn", LocalClassifierPerParentNode(local_classifier=LogisticRegression()))])
out["pipeline"] = plain(pipe.fit(d["TEXTS"], d["TEXT_Y"]).predict(d["TEXTS"][::-1]))
padded = [row + [""] * (3 - len(row)) for row in d["RAGGED_Y"]]  # lists of unequal length fail with current numpy
ragged = LocalClassifierPerParentNode(local_classifier=LogisticRegression()).fit(d["RAGGED_X"], padded)
out["different number of levels"] = plain(ragged.predict(d["RAGGED_X"][::-1]))
labels = np.empty(len(d["SEVERAL_Y"]), dtype=object)
labels[:] = d["SEVERAL_Y"]
try:
    from hiclass.MultiLabelLocalClassifierPerNode import MultiLabelLocalClassifierPerNode
    several = MultiLabelLocalClassifierPerNode(local_classifier=DecisionTreeClassifier(random_state=0))
    several.fit(d["SEVERAL_X"], labels)
    out["several labels"] = [
        sorted([str(name) for name in path if str(name)] for path in row if any(map(str, path)))
        for row in several.predict(d["SEVERAL_X"]).tolist()
    ]
except ImportError:
    out["several labels"] = "not in this release"
frame = LocalClassifierPerNode(local_classifier=forest()).fit(pd.DataFrame(d["X"]), pd.DataFrame(d["Y"]))
out["pandas"] = plain(frame.predict(pd.DataFrame(d["X"][::-1])))
again = pickle.loads(pickle.dumps(node))
out["persistence"] = plain(again.predict(d["X"][::-1]))
with tempfile.TemporaryDirectory() as folder:
    kept = LocalClassifierPerNode(local_classifier=forest(), tmp_dir=folder).fit(d["X"], d["Y"])
    out["checkpoints"] = plain(kept.predict(d["X"][::-1]))
truth, said = (np.array(part) for part in d["SCORED"])
out["metrics"] = [precision(truth, said), recall(truth, said), f1(truth, said)]
try:
    chance = LocalClassifierPerNode(local_classifier=forest(), calibration_method="isotonic")
    chance.fit(d["X"] * 4, d["Y"] * 4)
    chance.calibrate(d["X"], d["Y"])
    found = chance.predict_proba(d["X"])
    last = np.asarray(found[-1] if isinstance(found, list) else found)
    out["probabilities"] = [round(float(total), 6) for total in last.sum(axis=1)]
except Exception as error:
    out["probabilities"] = f"{type(error).__name__}: {error}"
print(json.dumps(out))
"""


def last(paths: list[list[str]]) -> list[str]:
    """A node is called by the last name of its path."""
    return [path[-1] for path in paths]


def listed(paths: Any) -> list[list[str]]:
    """Paths as lists of names."""
    return [list(map(str, path)) for path in paths]


def ours() -> dict[str, tuple[str, Callable[[], Any]]]:
    """Example -> (our call, in words; what answers)."""
    tree = Taxonomy.from_paths(Y)

    def normalized(**options: Any) -> NormalizedHierarchicalSVM:
        return NormalizedHierarchicalSVM(tree, C=100.0, random_state=0, **options)

    def answers(model: Any) -> list[list[str]]:
        return listed(model.predict_path(X[::-1]))

    def pipeline() -> list[list[str]]:
        model = RecursiveLogistic(Taxonomy.from_paths(TEXT_Y), loss="softmax", C=100.0)
        pipe = Pipeline([("count", CountVectorizer()), ("tfidf", TfidfTransformer()), ("model", model)])
        found = pipe.fit(TEXTS, last(TEXT_Y)).predict(TEXTS[::-1])
        return listed(model.taxonomy.shown_path(name) for name in found)

    def ragged() -> list[list[str]]:
        model = TopDownSVM(Taxonomy.from_paths(RAGGED_Y), C=100.0).fit(RAGGED_X, last(RAGGED_Y))
        return listed(model.taxonomy.shown_path(name) for name in model.predict(RAGGED_X[::-1]))

    def several() -> list[list[list[str]]]:
        taxonomy = Taxonomy.from_paths([path for row in SEVERAL_Y for path in row])
        model = HierarchicalSVM(taxonomy, C=100.0, miss_cost=1.0, offset=0.0)
        model.fit(np.array(SEVERAL_X, dtype=float), [last(row) for row in SEVERAL_Y])
        return [sorted(listed(taxonomy.shown_path(name) for name in row)) for row in model.predict(SEVERAL_X)]

    def pandas_frames() -> list[list[str]]:
        import pandas

        return answers(normalized().fit(pandas.DataFrame(X), pandas.DataFrame(Y)))

    def persistence() -> list[list[str]]:
        with tempfile.TemporaryDirectory() as folder:
            normalized().fit(X, np.array(Y)).save(folder)
            return answers(load(folder))

    def checkpoints() -> list[list[str]]:
        with tempfile.TemporaryDirectory() as folder:
            return answers(normalized(checkpoint=folder).fit(X, np.array(Y)))

    def metrics() -> list[float]:
        truth, said = (last(part) for part in SCORED)
        return [
            metric(truth, said, Taxonomy.from_paths(SCORED[0]))
            for metric in (hierarchical_precision, hierarchical_recall, hierarchical_f1)
        ]

    def probabilities() -> list[float]:
        model = RecursiveLogistic(tree, loss="softmax").fit(X * 4, np.array(Y * 4))
        return [round(float(total), 6) for total in model.predict_proba(X).sum(axis=1)]

    quick = "NormalizedHierarchicalSVM(tree).fit(X, Y).predict_path(X)"
    return {
        "per node": (quick, lambda: answers(normalized().fit(X, np.array(Y)))),
        "per parent node, n_jobs": (
            "TopDownSVM(tree, n_jobs=2).fit(X, Y)",
            lambda: answers(TopDownSVM(tree, C=100.0, n_jobs=2).fit(X, np.array(Y))),
        ),
        "per level": (quick, lambda: answers(normalized().fit(X, np.array(Y)))),
        "flat": (
            "OneVsRestSVM(tree).fit(X, Y); here with a column of squares",
            lambda: answers_of_flat(tree),
        ),
        "pipeline": ("Pipeline([..., RecursiveLogistic(tree)]).fit(texts, Y)", pipeline),
        "different number of levels": ("TopDownSVM(tree).fit(X, names)", ragged),
        "several labels": ("HierarchicalSVM(tree).fit(X, [[name, name], ...])", several),
        "pandas": ("fit(DataFrame, DataFrame)", pandas_frames),
        "persistence": ("model.save(folder); load(folder)", persistence),
        "checkpoints": ("NormalizedHierarchicalSVM(tree, checkpoint=folder)", checkpoints),
        "metrics": ("hierarchical_precision, _recall, _f1(truth, said, tree)", metrics),
        "probabilities": ("RecursiveLogistic(tree).fit(X, Y).predict_proba(X)", probabilities),
    }


def answers_of_flat(tree: Taxonomy) -> list[list[str]]:
    """One class against the rest cannot tell a middle class on a line from both sides; a column of squares helps."""
    wide = np.array([[x, x * x] for [x] in X], dtype=float)
    model = OneVsRestSVM(tree, C=1e4, max_iter=20_000).fit(wide, np.array(Y))
    return listed(model.predict_path(wide[::-1]))


def main() -> int:
    """Print both sides; 1 when they differ."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    data = {
        name: globals()[name]
        for name in ("X", "Y", "TEXTS", "TEXT_Y", "RAGGED_X", "RAGGED_Y", "SEVERAL_X", "SEVERAL_Y", "SCORED")
    }
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "theirs.py")
        script.write_text(THEIRS)
        done = subprocess.run(
            [sys.argv[1], str(script)],
            input=json.dumps(data),
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PYTHONPATH": ""},
        )
    if done.returncode:
        sys.exit(f"HiClass's side failed: {done.stderr[-2000:]}")
    theirs = json.loads(done.stdout.splitlines()[-1])
    compared = different = 0
    for example, (call, answer) in ours().items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = answer()
        expected = theirs[example]
        if isinstance(expected, str):
            verdict = "not compared"
        else:
            compared += 1
            same = np.allclose(found, expected) if example == "metrics" else found == expected
            different += not same
            verdict = "same" if same else "DIFFERENT"
        print(f"{example}: {call}\n  HiClass   {expected}\n  taxolearn {found}\n  {verdict}")
    print(f"{compared} of {len(theirs)} examples compared, {different} answered differently")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
