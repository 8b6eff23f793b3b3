"""Several labels per row for the structured methods: fits, answers, what is chosen on held-out rows, warm starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import taxolearn
from taxolearn import HierarchicalSVM, MulticlassSVM, NormalizedHierarchicalSVM, Taxonomy
from taxolearn.decoders import ProbableSets
from taxolearn.errors import DataError, LabelError
from taxolearn.solvers import PegasosSGD
from taxolearn.testing import check_decoder

TREE = Taxonomy.from_paths(["all/cat/lion", "all/cat/lynx", "all/dog/wolf", "all/dog/fox", "all/moss"])
DAG = Taxonomy.from_edges([*TREE.edges, ("dog", "lynx")])
METHODS = (MulticlassSVM, HierarchicalSVM, NormalizedHierarchicalSVM)
every_method = pytest.mark.parametrize("method", METHODS)


def rows(n: int = 60, seed: int = 0) -> tuple[Any, list[list[str]]]:
    rng = np.random.default_rng(seed)
    leaves = ["lion", "lynx", "wolf", "fox", "moss"]
    centres = dict(zip(leaves, 2.0 * rng.normal(size=(5, 6)), strict=True))
    y = [sorted(set(rng.choice(leaves, size=rng.integers(1, 3)).tolist())) for _ in range(n)]
    X = np.array([sum(centres[name] for name in row) for row in y]) + 0.5 * rng.normal(size=(n, 6))
    return np.round(X, 3), y


@every_method
@pytest.mark.parametrize("taxonomy", [TREE, DAG, None], ids=["tree", "dag", "none"])
def test_it_learns_sets_and_certifies_them(method, taxonomy, tmp_path):
    X, y = rows()
    model = method(taxonomy, miss_cost=1.0, offset=0.0).fit(X, y)
    assert model.certificate_.holds(model.tol)
    assert model.score(X, y) > 0.7
    assert all(row for row in model.predict(X))
    model.save(tmp_path / "model")
    assert taxolearn.load(tmp_path / "model").predict(X) == model.predict(X)


def test_labels_with_their_ancestors_are_answered_with_them():
    X, y = rows()
    closed = [
        sorted(set().union(*(TREE.ancestors(name, include_self=True) for name in row)) - {"all"}) for row in y
    ]
    plain = HierarchicalSVM(TREE, miss_cost=1.0, offset=0.0, tol=1e-6).fit(X, y)
    whole = HierarchicalSVM(TREE, miss_cost=1.0, offset=0.0, tol=1e-6, must="all").fit(X, closed)
    np.testing.assert_allclose(plain.certificate_.primal, whole.certificate_.primal, rtol=1e-5)
    for small, large in zip(plain.predict(X), whole.predict(X), strict=True):
        expected = set().union(*(TREE.ancestors(name, include_self=True) for name in small)) - {"all"}
        assert set(large) == expected


def test_one_label_in_every_row_is_learned_as_before():
    X, y = rows()
    one = [[row[0]] for row in y]
    model = NormalizedHierarchicalSVM(TREE, random_state=0).fit(X, one)
    names = NormalizedHierarchicalSVM(TREE, random_state=0).fit(X, [row[0] for row in one])
    assert model.certificate_.primal == names.certificate_.primal
    assert not model.decoder_.several


def test_misses_that_cost_more_make_larger_sets():
    X, y = rows(150)
    sizes = [
        np.mean(
            [
                len(row)
                for row in HierarchicalSVM(TREE, C=0.01, miss_cost=cost, offset=0.0).fit(X, y).predict(X)
            ]
        )
        for cost in (0.2, 1.0, 5.0)
    ]
    assert sizes[0] < sizes[1] < sizes[2]


def test_costs_and_offsets_are_chosen_on_held_out_rows(monkeypatch):
    X, y = rows(300)
    model = HierarchicalSVM(TREE, C=0.01, random_state=0, tol=1e-2).fit(X, y)
    assert model.miss_cost_ in (1.0, 2.5)
    given = HierarchicalSVM(
        TREE, C=0.01, random_state=0, tol=1e-2, miss_cost=model.miss_cost_, offset=model.decoder_.offset
    ).fit(X, y)
    assert given.predict(X) == model.predict(X)
    few = HierarchicalSVM(TREE, random_state=0).fit(X[:40], y[:40])
    assert (few.miss_cost_, few.decoder_.offset) == (1.0, 0.0)


@pytest.mark.parametrize("at_most", [None, 1])
def test_sets_of_the_largest_expected_f1_are_answered_alike_everywhere(at_most, tmp_path):
    X, y = rows(300)
    model = HierarchicalSVM(TREE, C=0.1, random_state=0, tol=1e-2, answer="expected_f1", at_most=at_most)
    model.fit(X, y)
    assert isinstance(model.decoder_, ProbableSets)
    assert np.all(np.diff(model.decode(X).indptr) <= (at_most or 5))
    check_decoder(model.decoder_, model.vectors_, X[:8])
    model.save(tmp_path / "model")
    loaded = taxolearn.load(tmp_path / "model")
    assert loaded.predict(X) == model.predict(X)
    assert (loaded.miss_cost_, loaded.decoder_.at_most) == (model.miss_cost_, at_most)
    first = model.top_k(X[:5], 1)[0][:, 0].tolist()
    assert [model.explain(x).label for x in X[:5]] == first
    few = HierarchicalSVM(TREE, random_state=0, answer="expected_f1").fit(X[:40], y[:40])
    assert not isinstance(few.decoder_, ProbableSets)  # too few rows to tell probabilities


def test_at_most_so_many_labels_are_predicted(tmp_path):
    X, y = rows()
    free = HierarchicalSVM(TREE, miss_cost=1.0, offset=0.0).fit(X, y)
    one = HierarchicalSVM(TREE, miss_cost=1.0, offset=0.0, at_most=1).fit(X, y)
    assert max(map(len, free.predict(X))) > 1
    assert {len(row) for row in one.predict(X)} == {1}
    one.save(tmp_path / "model")
    assert taxolearn.load(tmp_path / "model").predict(X) == one.predict(X)
    with pytest.raises(DataError, match="at_most=0 is not allowed; give a whole number from 1 on, or None"):
        HierarchicalSVM(TREE, at_most=0).fit(X, y)


def test_the_cost_of_misses_of_an_earlier_fit_is_forgotten():
    X, y = rows()
    model = HierarchicalSVM(TREE, miss_cost=2.0, offset=0.0).fit(X, y)
    assert model.miss_cost_ == 2.0
    assert not hasattr(model.fit(X, [row[0] for row in y]), "miss_cost_")


def test_probabilities_of_sets():
    X, y = rows(200)
    model = HierarchicalSVM(TREE, probability=True, random_state=0, miss_cost=1.0).fit(X, y)
    p = model.predict_proba(X)
    truth = np.array([[name in row for name in model.classes_] for row in y])
    assert p.shape == truth.shape
    assert np.mean((p > 0.5) == truth) > 0.9


@pytest.mark.parametrize("taxonomy", [TREE, DAG], ids=["tree", "dag"])
def test_a_path_goes_on_from_the_last_fit_and_a_checkpoint_from_the_folder(taxonomy, tmp_path):
    X, y = rows()
    model = HierarchicalSVM(taxonomy, miss_cost=1.0, offset=0.0, tol=1e-4)
    primal = [one.certificate_.primal for one in model.fit_path(X, y, [0.1, 1.0])]
    fresh = [
        HierarchicalSVM(taxonomy, C=C, miss_cost=1.0, offset=0.0, tol=1e-4).fit(X, y).certificate_.primal
        for C in (0.1, 1.0)
    ]
    np.testing.assert_allclose(primal, fresh, rtol=2e-4)
    first = HierarchicalSVM(
        taxonomy, miss_cost=1.0, offset=0.0, tol=1e-4, checkpoint=tmp_path / "duals", checkpoint_seconds=1e-9
    ).fit(X, y)
    again = HierarchicalSVM(taxonomy, miss_cost=1.0, offset=0.0, tol=1e-4, checkpoint=tmp_path / "duals").fit(
        X, y
    )
    assert again.n_iter_ < first.n_iter_


@every_method
def test_what_is_not_for_sets_is_refused(method):
    X, y = rows()
    with pytest.raises(DataError, match="learns from one label per row; with several use solver='auto'"):
        method(TREE, solver="pegasos").fit(X, y)
    with pytest.raises(DataError, match="learns from one label per row; with several use solver='auto'"):
        method(TREE, solver=PegasosSGD()).fit(X, y)
    with pytest.raises(DataError, match="miss_cost=-1 is not allowed; give a positive number or 'auto'"):
        method(TREE, miss_cost=-1).fit(X, y)
    with pytest.raises(DataError, match="must='leaves' is not"):
        method(TREE, must="leaves").fit(X, y)


def test_a_row_that_ends_where_a_child_is_needed_is_refused():
    X, y = rows()
    with pytest.raises(LabelError, match="row 0: its labels end at 'cat', which must have a chosen child"):
        HierarchicalSVM(TREE, must="all").fit(X, [["cat"], *y[1:]])
