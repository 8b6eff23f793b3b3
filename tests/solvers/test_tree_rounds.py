"""Rounds of a solve: what its shards report adds up to the certificate, which shares no code with them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from taxolearn import RecursiveSVM
from taxolearn.certificates import certify
from taxolearn.datasets import make_text_like
from taxolearn.engines import engine, running
from taxolearn.losses import MARGIN_LOSSES, SquaredHinge
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, one_vs_rest, tree_sweeps, tree_tasks
from taxolearn.solvers.base import Rounds
from taxolearn.ties import flat, path_sum


@pytest.mark.parametrize(
    ("shape", "workers", "tol", "form", "right_to"),
    [
        ("balanced", 1, 1e-3, sp.csr_array, 1e-9),
        ("balanced", 3, 1e-3, sp.csr_array, 1e-9),
        ("balanced", 3, 1e-3, sp.csr_array.toarray, 1e-9),
        ("wiki_d5", 3, 1e-3, sp.csr_array, 1e-9),
        ("balanced", 1, 1e-3, sp.csr_array, 1e-5),
        ("balanced", 1, 1e-3, sp.csr_array.toarray, 1e-5),
    ],
    ids=["one worker", "three workers", "dense", "DAG", "many products", "many dense products"],
)
def test_after_each_round_the_bounds_of_the_shards_sum_to_the_certificate(
    shape, workers, tol, form, right_to, monkeypatch
):
    """Exactly, whatever the gap; where there are so many products that pricing is in single precision, nearly."""
    if right_to > 1e-9:
        monkeypatch.setattr(tree_tasks, "_MANY_PRODUCTS", 0)
        monkeypatch.setattr(tree_tasks, "_CACHED_BYTES", 0)
    monkeypatch.setattr(tree_sweeps, "_LIGHT_STEPS", 0)  # no task is done in passing
    monkeypatch.setattr(tree_sweeps, "_SPAN_CLASSES", 16)  # several spans of classes
    depth = {"depth": 3} if shape == "balanced" else {"shape": shape}
    data = make_text_like(400, 800, 40, 60, mean_length=30.0, random_state=0, **depth)
    problem = make_problem(form(data.X), data.y, data.taxonomy)
    scale = np.ones(data.taxonomy.n_nodes)
    scale[0] = 0.0
    objective = Objective(
        problem, SquaredHinge(), path_sum(data.taxonomy, problem.class_nodes, scale), bias_prior=-1.0
    )
    limits = Limits(tol)
    closed, sizes = 0, []
    with engine("threads", n_jobs=workers) as threads, running() as run:
        hand_out = threads.map

        def counting(function, shared, tasks, *rest):
            sizes.append(len(tasks))
            return hand_out(function, shared, tasks, *rest)

        threads.map = counting
        trees = tree_sweeps._Trees(objective, limits, None, run)
        assert trees.shared.single == (right_to > 1e-9)
        rounds = Rounds(limits, run, None, trees.dual, done=1)
        for _ in range(6):
            assert trees.another_pass(run)
            primal, dual = trees.bounds()
            assert rounds.another(float(primal.sum()), float((primal - dual).sum()))
            found = certify(objective, trees.solution(rounds))
            assert primal.sum() == pytest.approx(found.primal, rel=right_to)
            assert dual.sum() == pytest.approx(found.dual, rel=right_to)
            trees.open = primal - dual > 0.05 * primal  # closed ones stay in the sums
            closed += int((~trees.open).sum())
            if not trees.open.any():
                break
    n_trees = len(trees.open)
    assert n_trees == (6 if shape == "balanced" else 1)
    assert sizes[0] >= min(5, n_trees)  # sweeps; with one worker two small trees are one task
    assert sizes[1] == 3  # spans of classes
    assert closed > n_trees or n_trees == 1  # some were closed for more than a round


@pytest.mark.parametrize(
    "options", [{}, {"loss": "hinge"}, {"tol": 5e-2}], ids=["default", "hinge", "wide gap"]
)
@pytest.mark.parametrize("form", [sp.csr_array, sp.csr_array.toarray], ids=["sparse", "dense"])
def test_the_last_round_of_a_fit_of_ordinary_size_is_its_certificate(options, form):
    data = make_text_like(300, 500, 20, 30, depth=3, mean_length=30.0, random_state=0)
    model = RecursiveSVM(data.taxonomy, random_state=0, **options).fit(form(data.X), data.y)
    last, proved = model.history_[-1], model.certificate_
    assert proved.holds(model.tol)
    assert last.primal == pytest.approx(proved.primal, rel=1e-9)
    assert last.dual == pytest.approx(proved.dual, rel=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("shape", ["balanced", "wiki_d5"])
def test_fits_that_are_priced_in_single_precision_reach_their_gap(loss, shape, monkeypatch):
    monkeypatch.setattr(tree_tasks, "_MANY_PRODUCTS", 0)
    monkeypatch.setattr(tree_tasks, "_CACHED_BYTES", 0)
    depth = {"depth": 3} if shape == "balanced" else {"shape": shape}
    data = make_text_like(300, 500, 20, 30, mean_length=30.0, random_state=0, **depth)
    model = RecursiveSVM(data.taxonomy, loss=loss, random_state=0).fit(data.X, data.y)
    assert model.certificate_.holds(model.tol)
    assert model.history_[-1].primal == pytest.approx(model.certificate_.primal, rel=1e-5)


def test_pricing_is_exact_but_for_many_products_that_wait_for_memory():
    def single(n_features, n_classes, tol, entries=2**16):
        rows = sp.csr_array((np.ones(entries), (np.arange(entries) % 64, np.arange(entries) % n_features)))
        return tree_tasks.prices_in_single(rows, n_classes, tol)

    assert single(2**16, 2**12, 1e-3)
    assert not single(2**16, 2**12, 9e-4)  # its rounding would be seen
    assert not single(2**16, 2**11, 1e-3)  # few products
    assert not single(2**11, 2**12, 1e-3)  # vectors of a block stay in cache
    dense = np.ones((2**6, 2**10))
    assert tree_tasks.prices_in_single(dense, 2**12, 1e-3)
    assert not tree_tasks.prices_in_single(dense, 2**11, 1e-3)
    assert not tree_tasks.prices_in_single(dense, 2**12, 9e-4)


@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("form", [sp.csr_array, np.asarray], ids=["sparse", "dense"])
def test_after_each_block_of_one_vs_rest_the_bounds_sum_to_the_certificate(name, form, monkeypatch):
    monkeypatch.setattr(one_vs_rest, "_BLOCK_CLASSES", 5)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 6)), np.arange(90) % 12
    objective = Objective(make_problem(form(X), y), MARGIN_LOSSES[name], flat(12), 0.1)
    seen = []
    with engine("threads", n_jobs=3):
        solution = one_vs_rest.solve_one_vs_rest(
            objective, Limits(1e-3), watch=lambda progress, dual: seen.append((progress, dual()))
        )
    assert [progress.done for progress, _ in seen][-1] == 12
    assert len(seen) > 1
    found = certify(objective, solution)
    for progress, dual in seen:
        done = np.diff(dual.indptr) > 0
        assert done.sum() == progress.done
        assert progress.primal == pytest.approx(found.class_primal[done].sum(), rel=1e-9)
        assert progress.dual == pytest.approx(found.class_dual[done].sum(), rel=1e-9)
