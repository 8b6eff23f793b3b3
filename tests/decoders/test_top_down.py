"""Recursive prediction against its slow twin: answers, rankings and scores, on trees and DAGs, with ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from decoder_cases import eighths, node_vectors, random_taxonomy, some_classes
from scipy import sparse

from reference.decoders_twin import choices, ranking, under
from taxolearn import Taxonomy
from taxolearn.decoders import TopDown, top_down, top_down_search
from taxolearn.errors import DataError, ModelError
from taxolearn.testing import check_decoder
from taxolearn.vectors import ClassVectors

FEATURES = 4
TREE = Taxonomy.from_paths(["animal/cat/lion", "animal/cat/lynx", "animal/dog", "rock/granite"])


class Case:
    """Random vectors for all options of a random taxonomy."""

    def __init__(self, seed: int, dag: bool, dtype: Any = np.float64) -> None:
        rng = np.random.default_rng(seed)
        self.taxonomy = random_taxonomy(rng, dag)
        class_nodes = some_classes(rng, self.taxonomy)
        self.classes = [self.taxonomy.nodes[node] for node in class_nodes]
        self.decoder = TopDown.over(self.taxonomy, class_nodes)
        self.units = choices(self.taxonomy, self.classes)
        self.coef, self.intercept = eighths(rng, (len(self.units), FEATURES)), eighths(rng, len(self.units))
        self.X = np.vstack((eighths(rng, (12, FEATURES)), np.zeros((2, FEATURES)))).astype(dtype)
        self.vectors = ClassVectors(self.coef.astype(dtype), self.intercept)

    def rankings(self) -> list[list[tuple[int, float]]]:
        found = []
        for scores in (self.X @ self.coef.T + self.intercept).tolist():
            of_units = dict(zip(self.units, scores, strict=True))
            ranked = ranking(self.taxonomy, self.classes, of_units)
            found.append([(self.classes.index(name), score) for name, score in ranked])
        return found


@pytest.mark.parametrize("dag", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_answers_and_rankings_are_those_of_the_twin(seed: int, dag: bool) -> None:
    case = Case(seed, dag, (np.float32, np.float64)[seed % 2])
    decoder, vectors = case.decoder, case.vectors
    if seed % 3 == 0:
        vectors = ClassVectors(sparse.csr_array(vectors.coef), vectors.intercept)
    assert (decoder.n_units, decoder.n_classes) == (len(case.units), len(case.classes))
    check_decoder(decoder, vectors, case.X)
    answers = decoder.decode(vectors, case.X)
    ids, scores = decoder.top_k(vectors, case.X, decoder.n_classes)
    table = decoder.scores(vectors, case.X)
    assert scores.dtype == table.dtype == answers.scores.dtype == vectors.dtype
    for row, expected in enumerate(case.rankings()):
        assert answers.ids[row] == expected[0][0]
        assert ids[row].tolist() == [number for number, _ in expected]
        np.testing.assert_allclose(scores[row], [score for _, score in expected], atol=1e-30)
        np.testing.assert_allclose(table[row, ids[row]], scores[row], atol=1e-30)
    assert np.all(np.count_nonzero(table == 0, axis=1) == 1)


@pytest.mark.parametrize("seed", range(10))
def test_few_rows_at_a_time_and_few_classes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(100 + seed, dag=seed % 2 == 0)
    monkeypatch.setattr(top_down, "_ROWS_TOGETHER", 5)
    monkeypatch.setattr(top_down_search, "MOST_OPEN", 3)
    expected = case.rankings()
    for k in range(1, case.decoder.n_classes + 1):
        ids, scores = case.decoder.top_k(case.vectors, case.X, k)
        assert ids.tolist() == [[number for number, _ in row[:k]] for row in expected]
        np.testing.assert_allclose(scores, [[score for _, score in row[:k]] for row in expected], atol=1e-30)


@pytest.mark.parametrize("beam", [1, 2, 3])
@pytest.mark.parametrize("seed", range(10))
def test_a_narrow_beam_begins_with_the_answer_and_tells_true_scores(seed: int, beam: int) -> None:
    case = Case(200 + seed, dag=False)
    k = min(4, case.decoder.n_classes)
    answers = case.decoder.decode(case.vectors, case.X, beam=beam)
    assert answers.ids.tolist() == [row[0][0] for row in case.rankings()]
    ids, scores = case.decoder.top_k(case.vectors, case.X, k, beam=beam)
    assert ids[:, 0].tolist() == answers.ids.tolist()
    assert all(len(set(row)) == k for row in ids.tolist())
    table = case.decoder.scores(case.vectors, case.X)
    np.testing.assert_allclose(scores, np.take_along_axis(table, ids, axis=1), atol=1e-30)


def test_a_beam_of_one_looks_below_the_best_node_only() -> None:
    decoder = TopDown.over(TREE, TREE.ids_of(["lion", "lynx", "dog", "granite"]))
    # units: animal, rock; cat, dog; lion, lynx
    vectors = ClassVectors(np.eye(6), np.zeros(6))
    row = np.array([[1.0, 0.5, 9.0, 0.0, 9.0, 0.0]])
    assert decoder.top_k(vectors, row, 2)[0].tolist() == [[0, 3]]
    assert decoder.top_k(vectors, row, 2, beam=1)[0].tolist() == [[0, 1]]
    assert decoder.top_k(vectors, row, 4, beam=1)[0].tolist() == [[0, 3, 1, 2]]


@pytest.mark.parametrize("seed", range(10))
def test_rows_pass_only_where_they_must(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(300 + seed, dag=False)
    asked: list[tuple[int, int]] = []
    score = ClassVectors.unit_scores

    def counted(self: Any, X: Any, units: slice) -> Any:
        asked.append((X.shape[0], units.stop - units.start))
        return score(self, X, units)

    monkeypatch.setattr(ClassVectors, "unit_scores", counted)
    case.decoder.decode(case.vectors, case.X)
    depth = case.taxonomy.max_depth + 1
    widest = int(np.diff(case.decoder.indptr).max())
    assert sum(rows * units for rows, units in asked) <= len(case.X) * depth * widest
    assert len(asked) <= len(case.decoder.indptr) - 1


@pytest.mark.parametrize("dag", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_choices_tell_what_to_fit(seed: int, dag: bool) -> None:
    case = Case(400 + seed, dag)
    found = list(case.decoder.choices())
    assert [unit for choice in found for unit in range(choice.units.start, choice.units.stop)] == list(
        range(len(case.units))
    )
    for choice in found:
        pairs = case.units[choice.units]
        below = {case.classes[c] for c in choice.classes}
        assert below == set(case.classes) & set(under(case.taxonomy, pairs[0][0]))
        for number, option in zip(choice.classes.tolist(), choice.option.tolist(), strict=True):
            name = case.classes[number]
            holds = [
                o == ("stop", name) or (o in case.taxonomy.nodes and name in under(case.taxonomy, o))
                for _, o in pairs
            ]
            assert option == holds.index(True)


def test_a_class_may_sit_at_an_inner_node() -> None:
    decoder = TopDown.over(TREE, TREE.ids_of(["cat", "lion", "granite"]))
    # at the root cat or granite (animal has nothing but cat); at cat: stop, or lion
    vectors, X = ClassVectors(np.eye(4), np.zeros(4)), np.array([[2.0, 1.0, 5.0, 3.0], [2.0, 1.0, 3.0, 3.5]])
    assert decoder.decode(vectors, X).ids.tolist() == [0, 1]
    np.testing.assert_array_equal(decoder.scores(vectors, X), [[0.0, -2.0, -1.0], [-0.5, 0.0, -1.0]])


def test_one_class_needs_no_vectors() -> None:
    for chosen in (["lion"], [TREE.nodes[0]]):
        decoder = TopDown.over(TREE, TREE.ids_of(chosen))
        vectors = ClassVectors(np.zeros((0, 2)), np.zeros(0))
        assert decoder.n_units == 0
        assert list(decoder.choices()) == []
        check_decoder(decoder, vectors, np.ones((3, 2)))
        assert decoder.row_facts(vectors, np.ones((1, 2))).parts(0) == ((), ())


def test_scores_that_are_not_numbers_or_infinite() -> None:
    decoder = TopDown.over(TREE, TREE.ids_of(["lion", "lynx", "dog", "granite"]))
    vectors = ClassVectors(np.diag([1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), np.zeros(6))
    X = np.array([[np.inf, 0, -np.inf, -np.inf, 1, 2], [np.nan] * 6], dtype=np.float64)
    with np.errstate(invalid="ignore"):
        ids, scores = decoder.top_k(vectors, X, 4)
        table = decoder.scores(vectors, X)
        assert ids[:, 0].tolist() == decoder.decode(vectors, X).ids.tolist()
    assert not np.isnan(scores).any()
    assert not np.isnan(table).any()
    assert np.argmax(table, axis=1).tolist() == ids[:, 0].tolist()


def test_identical_vectors_are_a_tie_in_any_company() -> None:
    rng = np.random.default_rng(0)
    decoder = TopDown(*(np.array(part) for part in ([0, 5], [-1] * 5, [3, 1, 4, 0, 2])))
    coef = np.repeat(rng.normal(size=(1, 333)), 5, axis=0)
    X = rng.normal(size=(40, 333))
    check_decoder(decoder, ClassVectors(coef, np.zeros(5)), X)
    assert decoder.decode(ClassVectors(coef, np.zeros(5)), X).ids.tolist() == [3] * 40


def test_vectors_at_nodes_serve_as_units() -> None:
    vectors, X = node_vectors(0)
    n = vectors.n_classes
    decoder = TopDown([0, 2, n + 1], [1, *[-1] * n], [-1, *range(n)])
    vectors = ClassVectors(np.vstack((vectors.coef.toarray(), vectors.coef.toarray()[:1])), np.zeros(n + 1))
    check_decoder(decoder, vectors, X)


GOOD = TopDown([0, 2, 4], [1, -1, -1, -1], [-1, 0, 1, 2]).arrays()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"indptr": None}, "the array 'indptr' is missing"),
        ({"children": np.array([1.0, -1, -1, -1])}, "'children' is missing or of another type"),
        ({"classes": np.array([[-1, 0, 1, 2]], dtype=np.int32)}, "'classes' is missing or of another type"),
        ({"indptr": np.array([], dtype=np.int32)}, "indptr must rise from 0"),
        ({"indptr": np.array([0, 4, 4], dtype=np.int32)}, "one option per node at least"),
        ({"indptr": np.array([0, 2, 5], dtype=np.int32)}, "indptr must rise from 0 to the number of options"),
        ({"indptr": np.array([1, 2, 4], dtype=np.int32)}, "indptr must rise from 0"),
        ({"children": np.array([1, -1, -1], dtype=np.int32)}, "the latter two of the same size"),
        ({"children": np.array([0, -1, -1, -1], dtype=np.int32)}, "option 0 leads to node 0"),
        ({"children": np.array([2, -1, -1, -1], dtype=np.int32)}, "all of the 2 nodes but the first"),
        ({"children": np.array([-2, -1, -1, -1], dtype=np.int32)}, "to a node or to a class"),
        ({"children": np.array([-1, -1, -1, -1], dtype=np.int32)}, "to a node or to a class"),
        ({"children": np.array([1, 1, -1, -1], dtype=np.int32)}, "the same option twice"),
        ({"classes": np.array([-1, 0, 1, 3], dtype=np.int32)}, "all classes from 0 to 3"),
        ({"classes": np.array([-1, 0, 1, 1], dtype=np.int32)}, "the same option twice"),
        ({"classes": np.array([-1, 0, 1, 0], dtype=np.int32)}, "there are 2 classes, not 3"),
    ],
)
def test_stored_decisions_are_checked(change: dict[str, Any], sentence: str) -> None:
    arrays = {name: array for name, array in {**GOOD, **change}.items() if array is not None}
    with pytest.raises(ModelError, match=f"stored decoder: .*{sentence}"):
        TopDown.from_arrays(arrays, 3)


def test_bad_questions() -> None:
    decoder, vectors = TopDown.from_arrays(GOOD, 3), ClassVectors(np.eye(4), np.zeros(4))
    for k in (0, 4, True, 1.0):
        with pytest.raises(DataError, match="k must be between 1 and the number of classes, 3"):
            decoder.top_k(vectors, np.eye(4), k)
    for beam in (0, 1.5, True):
        with pytest.raises(DataError, match="beam must be a whole number"):
            decoder.top_k(vectors, np.eye(4), 1, beam=beam)
        with pytest.raises(DataError, match="beam must be a whole number"):
            decoder.decode(vectors, np.eye(4), beam=beam)
    with pytest.raises(DataError, match="the decoder needs 4 vectors, but there are 3"):
        decoder.decode(ClassVectors(np.eye(3), np.zeros(3)), np.eye(3))
    with pytest.raises(DataError, match="every class must have a node of its own"):
        TopDown.over(TREE, [1, 1])
    with pytest.raises(DataError, match="there must be one at least"):
        TopDown.over(TREE, [])


@pytest.mark.parametrize("seed", range(10))
def test_classes_that_are_passed(seed: int) -> None:
    """Walks that end at leaves only: every decoder question, and the answer by hand."""
    rng = np.random.default_rng(seed)
    taxonomy = random_taxonomy(rng, dag=False)
    classes = some_classes(rng, taxonomy)
    decoder = TopDown.passing(taxonomy, classes)
    vectors = ClassVectors(eighths(rng, (decoder.n_units, 5)), eighths(rng, decoder.n_units))
    X = eighths(rng, (20, 5))
    check_decoder(decoder, vectors, X)
    wanted = {a for c in classes for a in taxonomy.ancestors(taxonomy.name_of(c), include_self=True)}
    ends = {
        int(k) for k, c in enumerate(classes) if not wanted & set(taxonomy.descendants(taxonomy.name_of(c)))
    }
    assert set(decoder.decode(vectors, X).ids.tolist()) <= ends


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_rows_that_walk_by_themselves_come_to_the_same_class(dtype: Any, n_threads: int) -> None:
    rng = np.random.default_rng(0)
    taxonomy = random_taxonomy(rng, dag=False, max_nodes=60)
    decoder = TopDown.over(taxonomy, taxonomy.leaf_ids)
    coef = rng.normal(size=(decoder.n_units, 30)).astype(dtype)
    coef[::7] = coef[0]  # ties
    coef[3, 2] = np.nan
    vectors = ClassVectors(coef, rng.normal(size=decoder.n_units))
    X = sparse.random_array((300, 30), density=0.3, format="csr", rng=rng)
    few = [decoder.decode(vectors, X[[i]]).ids[0] for i in range(300)]
    assert vectors.walked(X, (decoder.indptr, decoder.children, decoder.unit_start)) is not None
    assert decoder.decode(vectors, X, n_threads=n_threads).ids.tolist() == few
