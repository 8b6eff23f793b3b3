"""The decoder of label sets: its contract, answers and scores against all sets, storage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from decoder_cases import eighths
from label_set_cases import must_settings, small_taxonomy
from sklearn.exceptions import ConvergenceWarning

from reference.label_sets_twin import all_sets, max_marginals
from taxolearn import Taxonomy
from taxolearn.decoders import LabelSpace, Sets, decoder_of, label_sets, set_decoder
from taxolearn.errors import DataError, ModelError
from taxolearn.problem import make_problem
from taxolearn.testing import check_decoder
from taxolearn.vectors import ClassVectors

FEATURES = 4
TREE = Taxonomy.from_paths(["animal/cat/lion", "animal/cat/lynx", "animal/dog", "rock/granite"])


class Case:
    """Random vectors for the nodes of a random taxonomy; classes at some of its nodes."""

    def __init__(self, seed: int, dag: bool, must: str = "some") -> None:
        rng = np.random.default_rng(seed)
        self.taxonomy = small_taxonomy(rng, dag, most=10)
        n = self.taxonomy.n_nodes
        self.must = must_settings(self.taxonomy, rng)[must]
        classes = np.union1d(self.taxonomy.leaf_ids, np.flatnonzero(rng.random(n) < 0.4))
        self.classes = [self.taxonomy.nodes[i] for i in classes]
        space = LabelSpace.over(self.taxonomy, self.classes, self.must, closed=bool(seed % 2))
        self.decoder = Sets(space, offset=0.125 * (seed % 3))
        self.coef, self.intercept = eighths(rng, (n, FEATURES)), eighths(rng, n) - 0.5
        self.X = np.vstack((eighths(rng, (8, FEATURES)), np.zeros((1, FEATURES))))
        self.vectors = ClassVectors(self.coef.astype((np.float32, np.float64)[seed % 2]), self.intercept)
        self.potentials = self.X @ self.coef.T + self.intercept
        self.potentials[:, 1:] += self.decoder.offset


@pytest.mark.parametrize("must", ["root", "all", "some"])
@pytest.mark.parametrize("dag", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_contract(seed: int, dag: bool, must: str) -> None:
    case = Case(seed, dag, must)
    check_decoder(case.decoder, case.vectors, case.X)


@pytest.mark.parametrize("dag", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_answers_and_scores_are_those_of_all_sets(seed: int, dag: bool) -> None:
    case = Case(seed, dag)
    sets = all_sets(case.taxonomy, case.must)
    totals = case.potentials @ sets.T
    nodes = case.taxonomy.ids_of(case.classes)
    answers = case.decoder.decode(case.vectors, case.X)
    table = case.decoder.scores(case.vectors, case.X)
    exact = max_marginals(sets, case.potentials)[:, nodes]
    best = totals.max(axis=1)
    always = np.isinf(exact)
    exact[always] = np.broadcast_to(best[:, None], exact.shape)[always]
    if not dag:
        np.testing.assert_allclose(table, exact, atol=1e-6)
    for row in range(len(case.X)):
        found = set(answers.ids[answers.indptr[row] : answers.indptr[row + 1]].tolist())
        wanted = [answered(case, chosen) for chosen in sets[totals[row] == best[row]]]
        assert found in wanted
        if len(wanted) == 1 and dag:
            inside = case.decoder.space.closed
            others = np.array([k for k in range(len(nodes)) if k not in found], dtype=int)
            assert np.all(table[row][sorted(found)] >= exact[row][sorted(found)] - 1e-6)
            if inside and not always[row].any():
                assert np.all(table[row][others] <= exact[row][others] + 1e-6)


def answered(case: Case, chosen: Any) -> set[int]:
    """The classes of a set of nodes: all, or those with no other one below."""
    names = [name for name in case.classes if chosen[case.taxonomy.id_of(name)]]
    if not case.decoder.space.closed:
        names = [a for a in names if not any(a != b and a in case.taxonomy.ancestors(b) for b in names)]
    return {case.classes.index(name) for name in names}


def test_the_offset_makes_sets_larger() -> None:
    space = LabelSpace.over(TREE, ["lion", "lynx", "dog", "granite"])
    vectors = ClassVectors(np.eye(8), np.zeros(8))
    # <root>, animal, cat, lion, lynx, dog, rock, granite
    X = np.array([[0.0, 0.0, 0.25, 0.25, -0.25, -0.25, 0.0, -0.25]])
    sizes = [len(Sets(space, offset).decode(vectors, X).ids) for offset in (-1.0, 0.0, 0.5)]
    assert sizes == [1, 1, 4]


def test_a_problem_makes_its_decoder() -> None:
    closed = make_problem(
        np.eye(3), [["animal", "cat"], ["rock"], ["animal", "dog"]], TREE, empty_classes="keep"
    )
    decoder = set_decoder(closed)
    assert decoder.space.closed
    assert decoder.space.must.tolist() == [True, True, False, False, False, False, False, False]
    vectors = ClassVectors(np.eye(8), np.zeros(8))
    X = np.array([[0.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0, -1.0]])
    names = [closed.classes[k] for k in decoder.decode(vectors, X).ids]
    assert names == ["animal", "cat"]
    flat = set_decoder(make_problem(np.eye(2), [["a"], ["a", "b"]]))
    assert (flat.n_units, flat.n_classes) == (3, 2)


def test_units_of_nodes_without_classes_are_not_looked_at() -> None:
    space = LabelSpace.over(TREE, ["lion", "granite"])
    decoder = Sets(space)
    vectors = ClassVectors(np.eye(8), np.zeros(8))
    X = np.array([[0.0, 0.0, 0.0, -1.0, 9.0, 9.0, 0.0, -2.0]])
    assert decoder.n_units == 8
    assert decoder.decode(vectors, X).ids.tolist() == [0]
    check_decoder(decoder, vectors, X)


def test_scores_that_are_no_numbers_come_last() -> None:
    decoder = Sets(LabelSpace.star(3))
    coef = np.array([[0.0], [np.inf], [1.0], [-np.inf]])
    vectors = ClassVectors(coef.astype(np.float32), np.zeros(4))
    with np.errstate(invalid="ignore"):
        ids, scores = decoder.top_k(vectors, np.array([[1.0], [0.0]], dtype=np.float32), 3)
    assert ids[0].tolist() == [0, 1, 2]
    assert np.isfinite(scores).all()


def test_one_score_that_is_no_number_leaves_the_others_as_they_are() -> None:
    dag = Taxonomy.from_edges([*TREE.edges, ("rock", "lion")])
    decoder = Sets(LabelSpace.over(dag, ["lion", "lynx", "dog", "granite"]))
    intercept = np.zeros(dag.n_nodes)
    intercept[dag.ids_of(["animal", "cat", "lion", "lynx", "dog"])] = [0.5, -0.25, np.nan, 0.125, 0.0625]
    vectors = ClassVectors(np.zeros((dag.n_nodes, 1)), intercept)
    assert decoder.decode(vectors, np.zeros((1, 1))).ids.tolist() == [2]
    intercept[dag.id_of("lynx")] = 0.375
    vectors = ClassVectors(np.zeros((dag.n_nodes, 1)), intercept)
    assert decoder.decode(vectors, np.zeros((1, 1))).ids.tolist() == [1, 2]


def test_a_beam_is_refused() -> None:
    decoder, vectors = Sets(LabelSpace.star(2)), ClassVectors(np.eye(3), np.zeros(3))
    for ask in (decoder.decode, lambda v, X, beam: decoder.top_k(v, X, 1, beam=beam)):
        with pytest.raises(DataError, match="leave beam out"):
            ask(vectors, np.eye(3), beam=2)  # type: ignore[operator]
    with pytest.raises(DataError, match="k must be between 1 and the number of classes, 2, not 3"):
        decoder.top_k(vectors, np.eye(3), 3)
    with pytest.raises(DataError, match="the decoder needs 3 vectors, but there are 2"):
        decoder.decode(ClassVectors(np.eye(2), np.zeros(2)), np.eye(2))
    with pytest.raises(DataError, match="the offset must be a finite number, not nan"):
        Sets(LabelSpace.star(2), np.nan)


def test_rows_that_are_not_proved_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    edges = {(0, child) for child in range(1, 21)}
    edges |= {
        (int(p), child) for child in range(21, 61) for p in rng.choice(np.arange(1, 21), 3, replace=False)
    }
    dag = Taxonomy.from_edges(sorted(edges))
    potentials = np.where(dag.is_leaf, rng.uniform(-1.2, -0.8, (9, 61)), rng.uniform(0.3, 0.6, (9, 61)))
    decoder = Sets(LabelSpace.over(dag, dag.leaves))
    monkeypatch.setattr(label_sets, "_SEARCH_STEPS", 0)
    with pytest.warns(
        ConvergenceWarning, match=r"the label sets of \d of 9 rows are not proved to be the best"
    ):
        decoder.decode(ClassVectors(np.eye(61), np.zeros(61)), potentials)


@pytest.mark.parametrize("taxonomy", [TREE, Taxonomy.from_edges([*TREE.edges, ("rock", "lion")])])
def test_a_stored_decoder_is_checked(taxonomy: Taxonomy) -> None:
    decoder = Sets(LabelSpace.over(taxonomy, ["lion", "lynx", "granite"]), 0.5)  # dog is no class
    arrays = decoder.arrays()
    again = decoder_of("sets", arrays, 3, 8)
    assert isinstance(again, Sets)
    for name, array in again.arrays().items():
        np.testing.assert_array_equal(array, arrays[name])
    with pytest.raises(ModelError, match="there are 3 classes, not 4"):
        decoder_of("sets", arrays, 4, 8)
    with pytest.raises(ModelError, match="3 classes do not fit 9 vectors"):
        decoder_of("sets", arrays, 3, 9)
    for name, array in arrays.items():
        if name != "unit_nodes":
            with pytest.raises(ModelError):
                Sets.from_arrays({key: value for key, value in arrays.items() if key != name}, 3)
        with pytest.raises(ModelError):
            Sets.from_arrays({**arrays, name: array.astype(np.float32)}, 3)
        with pytest.raises(ModelError):
            Sets.from_arrays({**arrays, name: array[:0]}, 3)
        with pytest.raises(ModelError):
            Sets.from_arrays({**arrays, name: np.concatenate((array, array[-1:]))}, 3)


@pytest.mark.parametrize("seed", range(200))
def test_forged_arrays_are_refused_or_answer(seed: int) -> None:
    """One number replaced by another: a ModelError, or a decoder that works."""
    rng = np.random.default_rng(seed)
    case = Case(seed, dag=seed % 2 == 0)
    arrays = {name: array.copy() for name, array in case.decoder.arrays().items()}
    name = str(rng.choice(sorted(arrays)))
    junk = [np.nan, np.inf, 2.0] if name == "offset" else [-1, 0, 1, 2, 9, 1000, 2**31 - 1, -(2**31)]
    arrays[name][rng.integers(len(arrays[name]))] = rng.choice(junk)
    try:
        decoder = decoder_of("sets", arrays, case.decoder.n_classes, case.decoder.n_units)
    except ModelError:
        return
    ids, scores = decoder.top_k(case.vectors, case.X, decoder.n_classes)
    assert np.isfinite(scores).all()
    assert ids.shape == (len(case.X), decoder.n_classes)
