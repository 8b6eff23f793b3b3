"""Label spaces of problems, and their best sets: brute force, the integer programme, limits, threads, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from label_set_cases import check_sets, must_settings, small_taxonomy, tied_potentials

from reference.label_sets_twin import all_sets, best_values
from taxolearn import Taxonomy
from taxolearn.decoders import LabelSpace, SetProgramme, decode_sets, label_sets
from taxolearn.errors import DataError, LabelError
from taxolearn.problem import make_problem

TREE = Taxonomy.from_paths(["cat/lion", "cat/lynx", "dog"])  # <root> 0, cat 1, lion 2, lynx 3, dog 4
DAG = Taxonomy.from_edges([*TREE.edges, ("dog", "lynx")])
ROWS = 8


pytestmark = pytest.mark.filterwarnings("ignore::taxolearn.errors.EmptyClassWarning")


def problem_of(y: Any, taxonomy: Taxonomy | None = TREE, **others: Any) -> Any:
    return make_problem(np.arange(len(y))[:, None].astype(float), y, taxonomy, **others)


def space_over(taxonomy: Taxonomy, must: Any) -> LabelSpace:
    return LabelSpace.over(taxonomy, taxonomy.nodes, must)


def test_a_child_is_needed_where_no_row_stops() -> None:
    stops = problem_of([["cat"], ["lion", "dog"], ["lynx"]])
    assert LabelSpace.of(stops).must.tolist() == [True, False, False, False, False]
    ends = problem_of([["lion"], ["lion", "dog"], ["lynx"]])
    assert LabelSpace.of(ends).must.tolist() == [True, True, False, False, False]
    assert LabelSpace.of(ends, "root").must.tolist() == [True, False, False, False, False]
    assert LabelSpace.of(ends, "all").must.tolist() == [True, True, False, False, False]
    unweighted = problem_of([["cat"], ["lion"], ["lynx"]], sample_weight=[0.0, 1.0, 1.0])
    assert LabelSpace.of(unweighted).must[1]


@pytest.mark.parametrize(
    ("y", "must", "message"),
    [
        (
            [["lion"], ["cat"]],
            "all",
            "row 1 stops at 'cat', where must='all' asks for a label below; use must='auto'",
        ),
        (
            [["lion"], ["<root>"]],
            "auto",
            "row 1 stops at '<root>', where at the root, a label needs a node below",
        ),
    ],
)
def test_rows_that_stop_too_early_are_refused(y: Any, must: Any, message: str) -> None:
    with pytest.raises(LabelError) as caught:
        LabelSpace.of(problem_of(y), must)
    assert message in str(caught.value)


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(DataError, match="must='leaves' is not allowed; give 'auto', 'all' or 'root'"):
        LabelSpace.of(problem_of([["lion"], ["dog"]]), "leaves")  # type: ignore[arg-type]


def test_rows_tell_whether_labels_are_closed() -> None:
    assert LabelSpace.of(problem_of([["cat", "lion"], ["dog"]])).closed
    assert not LabelSpace.of(problem_of([["cat", "lion"], ["lynx"]])).closed
    assert not LabelSpace.of(problem_of([["cat"], ["dog"]])).closed
    assert not LabelSpace.of(problem_of([["a", "b"], ["c"]], None)).closed


def test_nodes_without_classes_are_left_out() -> None:
    space = LabelSpace.of(problem_of([["lynx"], ["dog"]]))
    assert space.unit_nodes is not None
    assert (space.unit_nodes.tolist(), space.n_units, space.class_nodes.tolist()) == ([0, 1, 3, 4], 5, [2, 3])
    whole = LabelSpace.of(problem_of([["lynx"], ["dog"]], empty_classes="keep"))
    assert (whole.unit_nodes, whole.n_nodes) == (None, 5)


def test_label_sets_have_all_ancestors() -> None:
    space = LabelSpace.over(DAG, ["lion", "lynx", "dog"])
    sets = space.label_sets(sp.csr_array(np.array([[0, 1.0, 0], [1.0, 0, 1.0], [0, 0, 0]])))
    names = [[DAG.nodes[n] for n in row.nonzero()[0]] for row in sets.toarray()]
    assert [set(row) for row in names] == [
        {"<root>", "cat", "dog", "lynx"},
        {"<root>", "cat", "lion", "dog"},
        set(),
    ]
    ends = space.ends(sets).toarray()
    assert [{DAG.nodes[n] for n in row.nonzero()[0]} for row in ends] == [{"lynx"}, {"lion", "dog"}, set()]


@pytest.mark.parametrize("dag", [False, True])
@pytest.mark.parametrize("at_most", [None, 1, 2])
def test_the_best_sets_by_brute_force(dag: bool, at_most: int | None) -> None:
    for seed in range(12 if at_most is None or not dag else 3):
        rng = np.random.default_rng(seed)
        taxonomy = small_taxonomy(rng, dag, most=10)
        potentials = tied_potentials(rng, ROWS, taxonomy.n_nodes)
        for must in must_settings(taxonomy, rng).values():
            found = decode_sets(space_over(taxonomy, must), potentials, at_most=at_most)
            best = best_values(all_sets(taxonomy, must, at_most), potentials)
            assert found.proved.all()
            check_sets(taxonomy, must, potentials, (found.values, found.indptr, found.indices), best)


def test_the_programme_agrees_and_its_relaxation_is_a_bound() -> None:
    fractional = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        dag = small_taxonomy(rng, dag=True, most=12)
        potentials = tied_potentials(rng, 3, dag.n_nodes)
        for must in must_settings(dag, rng).values():
            programme = SetProgramme(space_over(dag, must))
            best = best_values(all_sets(dag, must), potentials)
            for row, expected in zip(potentials, best, strict=True):
                value, bound, ids = programme.solve(row)
                assert ids is not None
                assert value == bound == pytest.approx(expected, abs=1e-6)
                relaxed, z = programme.relaxed(row)
                assert relaxed >= expected - 1e-6
                fractional += bool(np.any((z > 1e-6) & (z < 1 - 1e-6)))
                if not must[1:].any() and expected > row[0]:  # closures, some better than the root alone
                    assert relaxed == pytest.approx(expected, abs=1e-6)
    assert fractional > 0  # why there is an integer programme


def hard_space() -> tuple[LabelSpace, Any]:
    """Every leaf below three of twenty nodes: covers, which bounds alone do not prove."""
    rng = np.random.default_rng(0)
    edges = {(0, child) for child in range(1, 21)}
    edges |= {
        (int(p), child) for child in range(21, 61) for p in rng.choice(np.arange(1, 21), 3, replace=False)
    }
    dag = Taxonomy.from_edges(sorted(edges))
    potentials = np.where(dag.is_leaf, rng.uniform(-1.2, -0.8, (20, 61)), rng.uniform(0.3, 0.6, (20, 61)))
    return space_over(dag, ~dag.is_leaf), potentials


def test_what_the_search_leaves_open_goes_to_the_programme(monkeypatch: pytest.MonkeyPatch) -> None:
    space, potentials = hard_space()
    exact = decode_sets(space, potentials)
    monkeypatch.setattr(label_sets, "_SEARCH_STEPS", 0)
    quick = decode_sets(space, potentials, exact=False)
    assert not quick.proved.all()
    assert np.all(quick.values <= exact.values + 1e-9)
    assert np.all(quick.bounds >= exact.values - 1e-9)
    finished = decode_sets(space, potentials)
    assert finished.proved.all()
    np.testing.assert_allclose(finished.values, exact.values, atol=1e-6)


def test_a_row_that_is_not_proved_in_time_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    space, potentials = hard_space()
    monkeypatch.setattr(label_sets, "_SEARCH_STEPS", 0)
    monkeypatch.setattr(SetProgramme, "solve", lambda *_: (0.0, 1.0, np.array([0, 1], dtype=np.int32)))
    with pytest.raises(
        DataError, match=r"not proved within 2 seconds; raise max_seconds, or take .* exact=False"
    ):
        decode_sets(space, potentials, max_seconds=2)


@pytest.mark.parametrize(
    "space",
    [LabelSpace.star(4), LabelSpace.over(DAG, DAG.nodes), LabelSpace.over(DAG, DAG.nodes, np.zeros(5))],
)
def test_threads_change_nothing(space: LabelSpace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_sets, "_ROWS_PER_TASK", 3)
    potentials = np.random.default_rng(0).normal(size=(20, 5))
    one, two = decode_sets(space, potentials), decode_sets(space, potentials, n_threads=2)
    for mine, theirs in zip(one, two, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert decode_sets(space, potentials[:0], n_threads=2).indptr.tolist() == [0]


@pytest.mark.parametrize(
    ("potentials", "others", "message"),
    [
        (np.zeros((2, 4)), {}, "potentials have shape (2, 4); give one column per node, 5"),
        (np.full((2, 5), np.nan), {}, "potentials hold NaN or inf; give finite numbers"),
        (
            np.zeros((2, 5)),
            {"at_most": 0},
            "at_most=0 is not allowed; give a whole number from 1 on, or None",
        ),
        (np.zeros((2, 5)), {"at_most": True}, "at_most=True is not allowed"),
    ],
)
def test_bad_input_is_refused(potentials: Any, others: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        decode_sets(LabelSpace.star(4), potentials, **others)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (([0, 0], [], [True], [0]), "needs a root and a node below it"),
        (([0, 0, 1], [0], [True], [0]), "one flag per node"),
        (([0, 0, 0], [], [True, True], [0]), "every node but the first must have a parent"),
        (([0, 0, 1], [1], [True, True], [0]), "smaller numbers"),
        (([0, 0, 1, 3], [0, 1, 0], [True] * 3, [0]), "different, and in order"),
        (([0, 0, 1, 2, 3], [0, 0, 1], [True] * 4, [0]), "depth-first order"),
        (([0, 0, 1], [0], [True] * 2, [0, 0]), "a node of its own"),
        (([0, 0, 1], [0], [True] * 2, [2]), "from 0 to 1"),
        (([0, 0, 1], [0], [True] * 2, [1.5]), "class_nodes must be a flat array of int32"),
    ],
)
def test_arrays_that_are_no_label_space(arrays: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        LabelSpace(*(np.array(part, dtype=None if part else np.int32) for part in arrays))
    assert message in str(caught.value)
