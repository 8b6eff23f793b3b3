"""Whatever is handed to an estimator: it works, or a taxolearn error says why not. Nothing else comes out."""

from __future__ import annotations

import warnings
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from taxolearn import OneVsRestSVM, Taxonomy
from taxolearn.errors import TaxolearnError

TREE = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog", "Plant/Rose"])
pytestmark = pytest.mark.filterwarnings("ignore")

HUGE = 10**400  # an int that no float can hold


class Odd:
    """An object that cannot be shown or hashed."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")

    __hash__ = None  # type: ignore[assignment]


class Ragged:
    """Looks like an array, is none."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise ValueError("inhomogeneous")


def damaged(part: str, place: int, value: int, kind: Any = sp.csr_array) -> Any:
    """A sparse matrix whose index arrays were written to after it was made."""
    matrix = kind(
        sp.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [4.0, 0.0, 0.0], [0.0, 0.0, 5.0]]))
    )
    getattr(matrix, part)[place] = value
    return matrix


def sound_rows() -> list[Any]:
    rows = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [4.0, 0.5, 0.0], [0.0, 0.0, 5.0]])
    return [
        rows,
        rows.tolist(),
        sp.csr_array(rows),
        sp.csr_matrix(rows),
        sp.csc_array(rows),
        sp.coo_array(rows),
        pd.DataFrame(rows, columns=["a", "b", "c"]),
        pd.DataFrame(rows),
        rows.astype(int),
        np.asfortranarray(rows),
        np.zeros((4, 3)),
        rows > 0,
        rows.astype(object),
        rows.astype(np.float16),
        np.ma.masked_less(rows, 1.0),
        rows * 1e120,
        rows * 1e-300,
    ]


def odd_rows() -> list[Any]:
    rows = sound_rows()[0]
    holes = rows.copy()
    holes[2, 1] = np.nan
    endless = sp.csr_array(rows)
    endless.data[1] = -np.inf
    return [
        None,
        rows * 1e300,
        0,
        "rows",
        b"rows",
        Odd(),
        Ragged(),
        [],
        [[]],
        [[], [], [], []],
        {},
        {"a": [1, 2, 3, 4]},
        {1, 2, 3},
        iter([[1.0], [2.0]]),
        holes,
        holes.astype(object),
        endless,
        rows[0],
        rows[:2],
        rows[:0],
        rows[:, :0],
        rows[:, :2],
        rows[None],
        rows.astype(complex),
        rows.astype(str),
        np.array([["a", "b", "c"]] * 4),
        np.array([[None, 1, 2]] * 4, dtype=object),
        np.array([[Odd(), 1, 2]] * 4, dtype=object),
        [[1, 2, 3], [1, 2], [1], []],
        [[1, 2, 3], "abc", None, 4],
        [["1", "2", "3"]] * 4,
        [[HUGE, 2, 3]] * 4,
        np.array([[HUGE, 2, 3]] * 4, dtype=object),
        [[date(2020, 1, 1), 2, 3]] * 4,
        np.array([["2020-01-01"] * 3] * 4, dtype="datetime64[D]"),
        np.zeros(4, dtype=[("a", float), ("b", int)]),
        np.array(3.0),
        pd.DataFrame({"a": list("wxyz"), "b": [1, 2, 3, 4]}),
        pd.DataFrame({"a": [1.0, None, 3.0, 4.0], "b": [1, 2, 3, 4]}),
        pd.DataFrame({"a": pd.array([1, None, 3, 4], dtype="Int64")}),
        pd.DataFrame(rows, columns=["a", "a", "b"]),
        pd.DataFrame(rows, columns=["a", 1, "b"]),
        pd.Series([1.0, 2.0, 3.0, 4.0]),
        sp.csr_array(rows.astype(complex)),
        sp.coo_array(rows[0]),
        sp.csr_array((0, 3)),
        sp.csr_array((4, 0)),
        sp.csr_array((4, 3)),
        sp.dia_array(rows[:3]),
        sp.lil_array(rows),
        sp.dok_array(rows),
        damaged("indices", 0, 9),
        damaged("indices", 1, -1),
        damaged("indices", 1, 2**30),
        damaged("indptr", 1, 4),
        damaged("indptr", 1, -3),
        damaged("indptr", 4, 2),
        damaged("indptr", 4, 90),
        damaged("indptr", 0, 2),
        damaged("indptr", 2, 2**30),
        damaged("indices", 0, 9, sp.csc_array),
        damaged("indices", 0, -7, sp.csc_matrix),
        damaged("indptr", 1, 2**30, sp.csc_array),
        damaged("col", 0, 9, sp.coo_array),
        damaged("row", 0, -1, sp.coo_matrix),
    ]


def sound_labels() -> list[Any]:
    indicator = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    over_nodes = np.eye(TREE.n_nodes, dtype=int)[[2, 3, 5, 2]]
    return [
        ["Cat", "Dog", "Rose", "Cat"],
        np.array(["Cat", "Dog", "Rose", "Cat"]),
        np.array(["Cat", "Dog", "Rose", "Cat"], dtype=object),
        pd.Series(["Cat", "Dog", "Rose", "Plant"]),
        pd.Series(["Cat", "Dog", "Dog", "Cat"], dtype="category"),
        [["Cat"], ["Dog", "Rose"], ["Cat"], ["Plant"]],
        [{"Cat"}, {"Dog", "Rose"}, {"Cat"}, {"Plant"}],
        (("Cat",), ("Dog",), ("Cat",), ("Rose",)),
        [0, 1, 2, 0],
        [True, False, True, False],
        np.array([0.0, 1.0, 2.0, 0.0]),
        np.array([[0], [1], [2], [0]]),
        indicator,
        indicator.tolist(),
        indicator.astype(bool),
        sp.csr_array(indicator),
        over_nodes,
        sp.csr_matrix(over_nodes),
        pd.DataFrame(
            {"kingdom": ["Animal", "Animal", "Plant", "Plant"], "species": ["Cat", "Dog", "Rose", None]}
        ),
        np.array([["Animal", "Cat"], ["Animal", "Dog"], ["Plant", "Rose"], ["Plant", ""]], dtype=object),
        [(1, "a"), (2, "b"), (1, "a"), (2, "b")],
    ]


def odd_labels() -> list[Any]:
    return [
        None,
        0,
        "Cat",
        b"Cat",
        Odd(),
        Ragged(),
        {},
        {"Cat": 1},
        [],
        [[]] * 4,
        [["Cat"], [], ["Dog"], ["Cat"]],
        ["Cat"] * 4,
        ["Cat", "Dog"],
        ["Cta", "Dog", "Rose", "Cat"],
        ["Cat", None, "Dog", "Rose"],
        ["Cat", "", "Dog", "Rose"],
        ["Cat", float("nan"), "Dog", "Rose"],
        [None] * 4,
        ["Cat", ["Dog"], "Rose", "Cat"],
        ["Cat", 1, 2.5, ("x", None)],
        [["Cat", ["Dog"]], ["Rose"], ["Cat"], ["Dog"]],
        [["Cat", None], ["Rose"], ["Cat"], ["Dog"]],
        [[{}], ["Rose"], ["Cat"], ["Dog"]],
        [{}, {}, {}, {}],
        [Odd()] * 4,
        [(Odd(),)] * 4,
        [([1],)] * 4,
        [np.array([["Cat"]])] * 4,
        [np.array("Cat")] * 4,
        [0.5, 1.5, 2.5, 3.5],
        np.array([0.5, 1.5, 2.5, 3.5]),
        np.array([0.0, np.nan, 1.0, 0.0]),
        np.array([0.0, np.inf, 1.0, 0.0]),
        np.array([1j, 2, 3, 4]),
        np.array("Cat"),
        np.zeros((4, 2, 2)),
        np.zeros(4, dtype=[("a", int)]),
        np.array([[2, 0], [0, 1], [1, 1], [0, 0]]),
        np.array([[0.5, 0], [0, 1], [1, 1], [0, 0]]),
        np.array([[np.nan, 0], [0, 1], [1, 1], [0, 0]]),
        np.array([[0], [1], [0], [1]]) * np.nan,
        np.zeros((4, 2), dtype=int),
        np.zeros((4, 0), dtype=int),
        np.zeros((4, 1), dtype=int),
        np.ones((4, 6), dtype=int),
        [[0, 1], [1], [0, 0], [1, 1]],
        [HUGE, 1, HUGE, 1],
        [date(2020, 1, 1), date(2020, 1, 2)] * 2,
        np.array(["2020-01-01", "NaT"] * 2, dtype="datetime64[D]"),
        sp.csr_array(np.eye(4) * 2),
        sp.csr_array(np.eye(4) * np.nan),
        sp.csr_array(np.eye(4).astype(complex)),
        sp.coo_array(np.array([1, 0, 1, 1])),
        sp.csr_array((4, 0)),
        damaged("indices", 0, 9),
        damaged("indptr", 1, -3),
        damaged("indptr", 4, 90),
        damaged("indices", 0, 9, sp.csc_array),
        damaged("col", 0, 90, sp.coo_array),
        pd.DataFrame({"a": [None] * 4, "b": ["Cat"] * 4}),
        pd.DataFrame({"a": ["Animal"] * 4, "b": ["Rose", "Cat", "Cat", "Cat"]}),
        pd.DataFrame({"a": [1, 0, 1, 0], "b": [0, 1, 0, 1]}),
        pd.DataFrame([["a", "b"]] * 4, columns=["x", "x"]),
        pd.DataFrame(index=range(4)),
        pd.Series([["Cat"], ["Dog"], None, ["Rose"]]),
        pd.Series([1, None, 2, 1], dtype="Int64"),
        np.array([["Animal", "Cat"], ["", "Dog"], ["Plant", "Rose"], ["Plant", ""]]),
        np.array([[Odd(), "Cat"]] * 4, dtype=object),
        np.array([[["x"], "Cat"]] * 4, dtype=object),
        iter(["Cat", "Dog", "Rose", "Cat"]),
        range(4),
    ]


def weights() -> list[Any]:
    return [
        None,
        None,
        1.0,
        [1, 2, 3, 4],
        np.array([1.0, 0.0, 0.5, 2.0]),
        [1, 2],
        [1, -1, 1, 1],
        [0, 0, 0, 0],
        [1, np.nan, 1, 1],
        [1, np.inf, 1, 1],
        [HUGE, 1, 1, 1],
        [1e308, 1e308, 1e308, 1e308],
        ["a", "b", "c", "d"],
        "weights",
        [[1], [2], [3], [4]],
        [1, [2], 3, 4],
        Odd(),
        {},
        np.array([1j] * 4),
        pd.Series([1.0, 2.0, 3.0, 4.0], index=[9, 8, 7, 6]),
        sp.csr_array(np.ones((1, 4))),
    ]


PARAMETERS: dict[str, list[Any]] = {
    "taxonomy": [None, TREE, TREE, "tree", {}, Odd()],
    "C": [1.0, 10, np.float64(0.1), 0, -1.0, np.nan, np.inf, "1", None, True, [1.0], HUGE, Odd(), 1e300],
    "loss": ["squared_hinge", "hing", None, 3, ["hinge"], np.array(["hinge", "x"]), Odd()],
    "tol": [1e-2, 0, -1, None, "x", np.nan],
    "max_iter": [20, 1, 0, -5, 2.5, 0.3, "x", None, np.inf, HUGE],
    "fit_intercept": [True, False, "yes", None, Odd()],
    "intercept_scaling": [1.0, 0, -1.0, None, "x", HUGE],
    "class_weight": [
        None,
        "balanced",
        {"Cat": 2.0},
        {0: 1.0},
        {"Cat": -1},
        {"Cat": "x"},
        {"Cat": HUGE},
        {"Cat": None},
        {"Ct": 1},
        {1: [1]},
        "unbalanced",
        [1, 2],
        3,
        Odd(),
    ],
    "thresholds": ["zero", "tuned", "other", None, 0, ["zero"], np.array(["zero", "x"]), Odd()],
    "probability": [False, True, "yes", None],
    "holdout": [0.5, 0, 1, 2.0, -1.0, "x", None, np.nan, 0.9999, 1e-9],
    "n_jobs": [None, 1, 2, 0, "x", 1.5, HUGE, True],
    "random_state": [None, 0, "x", -1, 1.5, HUGE, np.random.RandomState(0), np.random.default_rng(0), Odd()],
    "verbose": [0, None],
    "max_seconds": [None, 5.0, 0, -1, "x", np.nan, HUGE],
}


def attempt(action: Any) -> Any:
    """What the action gives, or None after an error that the user was told about in taxolearn's words."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return action()
    except TaxolearnError as error:
        message = str(error)
        # scikit-learn's checks want feature names one a line
        assert "\n" not in message.strip() or message.startswith("The feature names should match"), message
        assert len(message) > 10
        return None
    except NotFittedError:
        return None


ROWS, ODD_ROWS = sound_rows(), odd_rows()
LABELS, ODD_LABELS = sound_labels(), odd_labels()
WEIGHTS = weights()


def pick(draw: st.DrawFn, sound: list[Any], odd: list[Any]) -> Any:
    """Mostly sound values: an input with one culprit gets further than one that is wrong all over.

    Numbers are drawn, not values: printing a damaged sparse matrix crashes SciPy itself.
    """
    pool = odd if draw(st.integers(0, 3)) == 0 else sound
    value = pool[draw(st.integers(0, len(pool) - 1))]
    return iter(["Cat", "Dog", "Rose", "Cat"]) if hasattr(value, "__next__") else value


def pick_parameters(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from(sorted(PARAMETERS)), max_size=3, unique=True))
    chosen = {name: PARAMETERS[name][draw(st.integers(0, len(PARAMETERS[name]) - 1))] for name in names}
    return {"max_iter": 5, **chosen}


def fit_and_use(model: Any, draw: st.DrawFn) -> bool:
    """Fit on whatever is drawn and use the model if there is one; whether there is."""
    X, y = pick(draw, ROWS, ODD_ROWS), pick(draw, LABELS, ODD_LABELS)
    weight = WEIGHTS[draw(st.integers(0, len(WEIGHTS) - 1))]
    fitted = attempt(lambda: model.fit(X, y, sample_weight=weight))
    other = pick(draw, ROWS, ODD_ROWS)
    found = attempt(lambda: model.predict(other))
    if fitted is None:
        return False
    if found is not None:
        n_rows = found.shape[0] if hasattr(found, "shape") else len(found)
        assert n_rows == attempt(lambda: model.decision_function(other)).shape[0]
        assert n_rows == len(attempt(lambda: model.predict_path(other)))
        k = draw(st.sampled_from([1, 2, 0, -1, 99, None, "x", 1.5]))
        attempt(lambda: model.top_k(other, k))
    attempt(lambda: model.score(other, y, sample_weight=weight))
    return True


@settings(max_examples=600, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_fit_works_or_says_why_not(data: st.DataObject) -> None:
    fit_and_use(OneVsRestSVM(**pick_parameters(data.draw)), data.draw)


@pytest.mark.parametrize("number", range(len(ODD_ROWS)))
def test_each_odd_matrix_alone(number: int) -> None:
    model = OneVsRestSVM(max_iter=5)
    attempt(lambda: model.fit(ODD_ROWS[number], LABELS[0]))
    model = OneVsRestSVM(max_iter=5).fit(ROWS[0], LABELS[0])
    attempt(lambda: model.predict(ODD_ROWS[number]))


@pytest.mark.parametrize("taxonomy", [None, TREE], ids=["flat", "tree"])
@pytest.mark.parametrize("number", range(len(ODD_LABELS)))
def test_each_odd_label_list_alone(number: int, taxonomy: Taxonomy | None) -> None:
    model = OneVsRestSVM(taxonomy, max_iter=5)
    if attempt(lambda: model.fit(ROWS[0], pick_label(number))) is not None:
        assert attempt(lambda: model.predict(ROWS[0])) is not None
    model = OneVsRestSVM(taxonomy, max_iter=5).fit(ROWS[0], LABELS[0])
    attempt(lambda: model.score(ROWS[0], pick_label(number)))


def pick_label(number: int) -> Any:
    value = ODD_LABELS[number]
    return iter(["Cat", "Dog", "Rose", "Cat"]) if hasattr(value, "__next__") else value


@pytest.mark.parametrize(
    ("name", "number"), [(name, i) for name, values in PARAMETERS.items() for i in range(len(values))]
)
def test_each_parameter_alone(name: str, number: int) -> None:
    value = PARAMETERS[name][number]
    for y in (LABELS[0], LABELS[5]):
        attempt(lambda y=y: OneVsRestSVM(**{"max_iter": 5, name: value}).fit(ROWS[0], y))


def test_sound_inputs_are_fitted() -> None:
    """The mixtures above would prove nothing if every one of them was refused."""
    fitted = [attempt(lambda X=X: OneVsRestSVM(max_iter=5).fit(X, LABELS[0])) for X in ROWS]
    assert all(model is not None for model in fitted)
    fitted = [attempt(lambda y=y: OneVsRestSVM(max_iter=5).fit(ROWS[0], y)) for y in LABELS]
    assert all(model is not None for model in fitted)
