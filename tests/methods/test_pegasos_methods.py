"""Pegasos as the solver of the structured methods: quick, honest about it, and a start for the dual solver."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import taxolearn
from taxolearn import HierarchicalSVM, MulticlassSVM, NormalizedHierarchicalSVM, Taxonomy
from taxolearn.errors import DataError, ModelError
from taxolearn.solvers import PegasosSGD, Status
from taxolearn.storage.classifiers import pack_classifier, unpack_classifier

METHODS = [MulticlassSVM, HierarchicalSVM, NormalizedHierarchicalSVM]
every_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)

TREE = Taxonomy.from_paths(["all/animal/cat", "all/animal/dog", "all/plant/rose", "all/plant/oak"])


def blobs(n: int = 80) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    number = np.arange(n) % 4
    return 3.0 * np.eye(4)[number] + rng.normal(size=(n, 4)), np.array(TREE.leaves)[number]


def fit(model: Any, X: Any, y: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y, **options)


@every_method
@pytest.mark.parametrize("solver", ["pegasos", PegasosSGD(), PegasosSGD(passes=30)], ids=["word", "5", "30"])
def test_the_certificate_brackets_the_optimum_and_claims_nothing(method: Any, solver: Any) -> None:
    X, y = blobs()
    best = method(TREE, tol=1e-6).fit(X, y).certificate_
    model = method(TREE, solver=solver, random_state=0)
    with pytest.warns(
        ConvergenceWarning, match="above tol=0.001; solver='auto' closes it, or accept the gap"
    ):
        model.fit(X, y, sample_weight=np.ones(80))
    found = model.certificate_
    assert found.status is Status.ITERATION_LIMIT
    assert 0.0 < found.dual <= best.primal
    assert found.primal >= best.dual
    assert 1e-3 < found.gap < 1.0
    assert model.n_iter_ == (30 if solver == PegasosSGD(30) else 5)
    last = model.history_[-1]
    assert (last.primal, last.dual) == pytest.approx((found.primal, found.dual), rel=1e-9)
    assert model.score(X, y) > 0.8


def test_the_certificate_decides_whether_the_gap_is_reached() -> None:
    X, y = blobs()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MulticlassSVM(solver=PegasosSGD(30), tol=0.9, random_state=0).fit(X, y)
    assert model.certificate_.holds(0.9)
    assert model.certificate_.status is Status.CONVERGED


@every_method
def test_the_dual_solver_goes_on_from_it(method: Any) -> None:
    X, y = blobs()
    cold = method(TREE, tol=1e-6, random_state=0).fit(X, y)
    model = fit(method(TREE, solver=PegasosSGD(30), tol=1e-6, warm_start=True, random_state=0), X, y)
    model.set_params(solver="dual").fit(X, y)
    assert model.certificate_.holds(1e-6)
    assert model.certificate_.status is Status.CONVERGED
    assert model.history_[0].gap < cold.history_[0].gap


def test_limits_and_paths_and_probabilities() -> None:
    X, y = blobs()
    few = fit(MulticlassSVM(TREE, solver="pegasos", max_iter=2, probability=True, random_state=0), X, y)
    assert few.n_iter_ == 2
    np.testing.assert_allclose(few.predict_proba(X).sum(axis=1), 1.0)
    endless = PegasosSGD(10**9)  # and a gap that it cannot reach, however quick the machine
    late = fit(MulticlassSVM(TREE, solver=endless, tol=1e-15, max_iter=10**9, max_seconds=0.2), X, y)
    assert late.certificate_.status is Status.TIME_LIMIT
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        Cs = [model.C for model in MulticlassSVM(TREE, solver="pegasos").fit_path(X, y, [1.0, 0.1])]
    assert Cs == [0.1, 1.0]


@pytest.mark.parametrize("solver", ["pegasos", PegasosSGD(7)], ids=["word", "object"])
def test_it_is_saved(solver: Any, tmp_path: Path) -> None:
    X, y = blobs()
    model = fit(HierarchicalSVM(TREE, solver=solver), X, y)
    assert clone(model).get_params() == model.get_params()
    model.save(tmp_path)
    loaded = taxolearn.load(tmp_path)
    assert loaded.get_params() == model.get_params()
    assert loaded.certificate_.status is Status.ITERATION_LIMIT
    assert np.array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize("wrong", [{"passes": 0}, {"passes": "all"}, None, 3])
def test_stored_options_are_checked(wrong: Any) -> None:
    X, y = blobs()
    header, arrays = pack_classifier(fit(MulticlassSVM(solver=PegasosSGD(2)), X, y))
    header["params"]["solver"] = {"pegasos": wrong}
    with pytest.raises((ModelError, DataError)):
        unpack_classifier(MulticlassSVM, header, arrays)


@every_method
@pytest.mark.parametrize("wrong", ["sgd", 3, None, PegasosSGD])
def test_other_solvers_are_refused(method: Any, wrong: Any) -> None:
    X, y = blobs()
    with pytest.raises(
        DataError,
        match=r"^solver=.* is not known; choose 'auto', 'dual', 'interior', 'pegasos' or 'averaging'$",
    ):
        method(TREE, solver=wrong).fit(X, y)
