"""Level columns, tuples and path strings: one taxonomy, one name for each node, the same answers."""

from __future__ import annotations

import tempfile
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import taxolearn
from taxolearn import NormalizedHierarchicalSVM, OneVsRestSVM, RecursiveSVM, Taxonomy, metrics
from taxolearn.errors import LabelError
from taxolearn.problem import align_labels, encode_labels
from taxolearn.problem.label_paths import find_label, find_node, node_called, separator_of, taxonomy_of_paths

PATHS = [
    ("Books", "History", "Asia"),
    ("Books", "Art"),
    ("Music", "History"),
    ("Music",),
    ("Books", "History"),
]
NAMES = ["Books/History/Asia", "Books/Art", "Music/History", "Music", "Books/History"]
ROWS = 8  # of each path


def _rows() -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(0)
    return np.repeat(np.eye(len(PATHS)), ROWS, axis=0) + 0.05 * rng.normal(
        size=(ROWS * len(PATHS), len(PATHS))
    )


def _forms() -> dict[str, Any]:
    paths = [path for path in PATHS for _ in range(ROWS)]
    padded = [[*path, *[None] * (3 - len(path))] for path in paths]
    objects = np.empty(len(paths), dtype=object)
    objects[:] = paths
    return {
        "pandas": pd.DataFrame(padded, columns=["a", "b", "c"]),
        "polars": pl.DataFrame(padded, schema=["a", "b", "c"], orient="row"),
        "objects": np.array(padded, dtype=object),
        "text": np.array([[cell or "" for cell in row] for row in padded]),
        "tuples": paths,
        "series of tuples": pd.Series(paths),
        "array of tuples": objects,
        "strings": ["/".join(path) for path in paths],
        "text array": np.array(["/".join(path) for path in paths]),
    }


@pytest.mark.parametrize("form", list(_forms()))
def test_y_alone_is_enough(form: str) -> None:
    X, y = _rows(), _forms()[form]
    model = NormalizedHierarchicalSVM(C=10.0, random_state=0).fit(X, y)
    assert model.taxonomy is None
    assert set(model.taxonomy_.nodes) == {"<root>", "Books", *NAMES}
    expected = [name for name in NAMES for _ in range(ROWS)]
    assert model.predict(X).tolist() == expected
    assert model.predict_path(X)[::ROWS] == PATHS
    assert model.score(X, y) == model.score(X, expected) == 1.0
    assert model.explain(X[0]).path == PATHS[0]
    assert model.explain(X[0]).label == NAMES[0]
    assert model.explain(X[0], label=PATHS[1]).label == NAMES[1]
    for taxonomy in (None, model.taxonomy_):
        assert metrics.accuracy(y, model.predict(X), taxonomy) == 1.0
    given = NormalizedHierarchicalSVM(model.taxonomy_, C=10.0, random_state=0).fit(X, y)
    assert given.decision_function(X).tolist() == model.decision_function(X).tolist()
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        loaded = taxolearn.load(folder)
    assert (loaded.taxonomy, loaded.taxonomy_) == (None, model.taxonomy_)
    assert loaded.predict(X).tolist() == expected
    assert clone(loaded).fit(X, ["a", "b"] * 20).taxonomy_ is None


def test_names_do_not_depend_on_other_rows() -> None:
    few = encode_labels(PATHS[:2], build=True)
    assert [few.names[i] for i in few.indices] == NAMES[:2]


def test_a_taxonomy_with_repeated_names_takes_its_own_paths() -> None:
    tree = Taxonomy.from_paths([list(path) for path in PATHS], repeated="path")
    assert "Asia" in tree  # under Books/History, the name of which is repeated
    for y in (
        PATHS,
        ["/".join(path) for path in PATHS],
        pd.DataFrame([[*p, *[None] * (3 - len(p))] for p in PATHS]),
    ):
        found = encode_labels(y, tree)
        assert [tree.shown_path(found.names[i]) for i in found.indices] == PATHS
    assert tree.shown_path("Asia") == PATHS[0]


def test_several_labels_may_be_paths() -> None:
    for y in (
        [["Books/Art", "Music"], ["Books/History"]],
        [[("Books", "Art"), ("Music",)], [("Books", "History")]],
    ):
        labels = encode_labels(y, build=True)
        assert labels.multilabel
        assert labels.taxonomy is not None
        assert set(labels.taxonomy.nodes) == {"<root>", "Books", "Music", "Books/Art", "Books/History"}
    model = RecursiveSVM().fit(np.eye(3), [["b/x", "a"], ["b/y"], ["b/x"]])
    assert model.taxonomy_.children("b") == ("b/x", "b/y")


def test_numbers_as_levels() -> None:
    y = pd.DataFrame({"section": [47, 47, 48], "group": [11, None, 12]})
    labels = encode_labels(y, build=True)
    assert [labels.names[i] for i in labels.indices] == ["47/11", "47", "48/12"]


@pytest.mark.parametrize(
    ("names", "sep"),
    [
        (["a/b", "a/c"], "/"),
        (["a/b", "a"], "/"),
        (["a > b", "a > c/d"], " > "),
        (["and/or", "if"], None),
        (["TV/Video", "HiFi/Audio"], None),  # no name above is shared: nothing to learn from
        (["a//b", "a/c"], None),
        ([1, 2], None),
        (["a", "b"], None),
    ],
)
def test_what_shows_a_hierarchy(names: list[Any], sep: str | None) -> None:
    assert separator_of(names) == sep


def test_a_stray_slash_learns_flat() -> None:
    model = OneVsRestSVM().fit(np.eye(3), ["and/or", "if", "N/A"])
    assert model.taxonomy_ is None
    assert model.predict_path(np.eye(3)) == [("and/or",), ("if",), ("N/A",)]


def test_what_cannot_be_understood_is_told() -> None:
    tree = Taxonomy.from_paths(["Books/Art", "Music/Pop"])
    with pytest.raises(
        LabelError, match=r"y, row 0: unknown label 'Books/Atr'.*2 other labels are unknown, too"
    ):
        encode_labels(["Books/Atr", "x", "y"], tree)
    with pytest.raises(
        LabelError, match=r"no path 'Art/Pop'; 'Pop' stands at 'Music/Pop'; for several labels"
    ):
        encode_labels([("Art", "Pop"), ("Music", "Pop")], tree)
    with pytest.raises(LabelError, match=r"two nodes would be called 'a/b', as names have '/' in them"):
        encode_labels(np.array([["a/b", ""], ["a", "b"]]), build=True)


def test_lists_that_look_like_paths_are_told() -> None:
    with pytest.warns(UserWarning, match="give tuples, or numpy.array"):
        OneVsRestSVM().fit(np.eye(2), [["Animal", "Cat"], ["Animal", "Dog"]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OneVsRestSVM().fit(np.eye(2), [["a", "b"], ["b", "c"]])


def test_unseen_paths_are_wrong_answers_not_errors() -> None:
    X, y = np.repeat(np.eye(3), 2, axis=0), np.array(["a/x", "a/x", "a/y", "a/y", "b/x", "b/x"])
    model = OneVsRestSVM().fit(X, y)
    assert model.score(X[:2], [("a", "x"), ("a", "new")]) == 0.5
    assert cross_val_score(OneVsRestSVM(), X, y, cv=2).tolist() == [1.0, 1.0]
    assert cross_val_score(OneVsRestSVM(), X, y, cv=2, scoring="accuracy").tolist() == [1.0, 1.0]
    true, found = align_labels([("a", "x")], ["a/x"])
    assert true.indices.tolist() == found.indices.tolist()


def test_looking_up() -> None:
    tree = taxonomy_of_paths(PATHS)
    assert find_node(("Music", "History"), tree) == "Music/History"
    assert find_node(("Films", "History"), tree) is None
    assert find_label("History", tree) is None
    assert node_called("Asia", tree) == "Books/History/Asia"
    with pytest.raises(LabelError, match="did you mean 'Books/History' or 'Music/History'"):
        node_called("History", tree)
    assert tree.to_text().splitlines()[3].endswith("└── History")
    dag = Taxonomy.from_edges([("r", "a"), ("r", "b"), ("a", "c"), ("b", "c")])
    assert find_node(("b", "c"), dag) == find_node(("a", "c"), dag) == "c"


@pytest.mark.parametrize(
    "y",
    [
        ["/Books/History", "/Books/Art", "/Music/History"],
        ["Books/History/", "Books/Art/", "Music/History/"],
        pd.DataFrame([["Books", "History", " "], ["Books", "Art", ""], ["Music", "History", None]]),
        pd.DataFrame([["Books", "History"], ["Books", "Art"], ["Music", "History"]], columns=["l", "l"]),
    ],
    ids=["leading", "trailing", "blank cells", "columns of one name"],
)
def test_the_same_labels_however_written(y: Any) -> None:
    model = NormalizedHierarchicalSVM(C=10.0).fit(np.eye(3), y)
    assert model.predict(np.eye(3)).tolist() == ["Books/History", "Books/Art", "Music/History"]
    for other in (
        y,
        ["Books > History", "Books > Art", "Music > History"],
        ["Books / History", "Books/Art", "x"],
    ):
        assert model.score(np.eye(3), other) == (1.0 if "x" not in list(other) else pytest.approx(2 / 3))


@pytest.mark.parametrize("mark", [">", "|", "::", "//", "\\"])
def test_other_marks_are_told(mark: str) -> None:
    y = [mark.join(path) for path in (("B", "H"), ("B", "A"), ("M", "H"))]
    with pytest.warns(UserWarning, match="are taken for plain names, but look like paths; give tuples"):
        assert NormalizedHierarchicalSVM().fit(np.eye(3), y).taxonomy_ is None
