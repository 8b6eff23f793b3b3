"""One-vs-rest solves that begin with duals: checkpoints, warm starts, and what becomes of classes not reached."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification

from taxolearn import OneVsRestLogistic, OneVsRestSVM
from taxolearn.certificates import certify
from taxolearn.errors import DataError
from taxolearn.losses import Hinge, Logistic, SquaredHinge
from taxolearn.methods.checkpoint import Checkpoint
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, Solution, Start, one_vs_rest
from taxolearn.solvers.begun import in_bounds
from taxolearn.solvers.one_vs_rest import solve_one_vs_rest
from taxolearn.storage import read_model
from taxolearn.ties import flat

LOSSES = [Hinge(), SquaredHinge(), Logistic()]
X, Y = make_classification(700, 12, n_informative=8, n_classes=24, n_clusters_per_class=1, random_state=0)
LAYOUTS = {"dense": X, "sparse": sp.csr_array(np.where(X > 0.3, X, 0.0))}


def posed(loss: Any, layout: str, C: float = 1.0) -> Objective:
    problem = make_problem(LAYOUTS[layout], Y)
    return Objective(problem, loss, flat(problem.n_classes), C=C)


def solved(objective: Objective, tol: float = 1e-4, start: Start | None = None, **limits: Any) -> Solution:
    return solve_one_vs_rest(objective, Limits(tol, max_iter=10**6, **limits), start)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.facts.name)
def test_from_its_own_dual_a_solve_ends_sooner(loss: Any, layout: str) -> None:
    objective = posed(loss, layout)
    first = solved(objective)
    again = solved(objective, start=Start(first.dual, first.vectors))
    assert certify(objective, again).holds(1e-4)
    assert again.n_iter == 0 < first.n_iter
    from_dual = solved(objective, start=Start(first.dual))
    assert certify(objective, from_dual).holds(1e-4)
    if layout == "sparse" or not loss.facts.smooth:  # ascents on the duals, for which these are all
        assert from_dual.n_iter == 0
        np.testing.assert_array_equal(from_dual.dual.toarray(), first.dual.toarray())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.facts.name)
def test_from_any_dual_it_finds_the_optimum(loss: Any, layout: str) -> None:
    """Also from duals that are negative or above their bounds."""
    objective = posed(loss, layout)
    rng = np.random.default_rng(0)
    wild = sp.csr_array(rng.normal(size=(24, 700)) * (rng.random((24, 700)) < 0.2))
    found, cold = solved(objective, start=Start(wild)), solved(objective)
    assert certify(objective, found).holds(1e-4)
    assert certify(objective, found).primal == pytest.approx(certify(objective, cold).primal, rel=2e-4)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.facts.name)
def test_classes_that_are_not_reached_stay_where_they_began(loss: Any, layout: str) -> None:
    objective = posed(loss, layout)
    first = solved(objective, 1e-3)
    proof = certify(objective, first)
    stopped = solved(objective, 1e-15, Start(first.dual, first.vectors), max_seconds=1e-9)
    assert certify(objective, stopped).gap <= proof.gap + 1e-9
    assert certify(objective, stopped).dual >= proof.dual * (1.0 - 1e-12)


def test_both_of_two_classes_go_on() -> None:
    problem = make_problem(X, Y % 2)
    objective = Objective(problem, Hinge(), flat(2))
    first = solved(objective)
    again = solved(objective, start=Start(first.dual))
    assert again.n_iter == 0
    np.testing.assert_array_equal(again.vectors.coef[0], -again.vectors.coef[1])


def test_duals_are_brought_into_their_bounds_class_by_class() -> None:
    problem = make_problem(
        [[0.0], [1.0], [2.0]], ["a", "b", "c"], class_weight={"a": 2.0, "b": 0.5, "c": 1.0}
    )
    objective = Objective(problem, Hinge(), flat(3), C=3.0)
    high = in_bounds(objective, sp.csr_array(np.full((3, 3), 100.0))).toarray()
    np.testing.assert_allclose(np.diagonal(high), [6.0, 1.5, 3.0])
    np.testing.assert_allclose(high[1, [0, 2]], 3.0)
    assert in_bounds(objective, sp.csr_array([[-1.0, 0, 0]] * 3)).toarray().max() == 0.0


def test_a_dual_of_another_shape_is_refused() -> None:
    with pytest.raises(DataError, match="start has shape"):
        solved(posed(Hinge(), "dense"), start=Start(sp.csr_array((3, 3))))


@pytest.mark.parametrize(
    "estimator", [OneVsRestSVM, OneVsRestLogistic], ids=lambda estimator: estimator.__name__
)
def test_a_fit_that_ended_in_a_crash_goes_on_from_its_checkpoint(
    estimator: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also from a second crash, before all classes of the first checkpoint were looked at again."""

    def crash_after(blocks: int) -> None:
        left = [blocks]

        def solve(*arguments: Any) -> Any:
            if not left[0]:
                raise RuntimeError("the power went")
            left[0] -= 1
            return whole(*arguments)

        monkeypatch.setattr(one_vs_rest, "solve_classes", solve)

    whole, rows = one_vs_rest.solve_classes, LAYOUTS["sparse"]
    model = estimator(checkpoint=tmp_path / "duals", checkpoint_seconds=1e-9, random_state=0, n_jobs=1, C=3.0)
    monkeypatch.setattr(one_vs_rest, "_BLOCK_CLASSES", 4)
    known = []
    for blocks in (3, 1):
        crash_after(blocks)
        with pytest.raises(RuntimeError, match="the power went"):
            model.fit(rows, Y)
        indptr = read_model(tmp_path / "duals")[1]["indptr"]
        known.append((np.diff(indptr) > 0).sum())
    assert known == [12, 12]
    monkeypatch.setattr(one_vs_rest, "solve_classes", whole)
    model.fit(rows, Y)
    assert model.certificate_.holds(model.tol)
    assert model.fit(rows, Y).n_iter_ == 0  # the end is written, too


def test_a_checkpoint_is_written_when_it_is_due_and_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The classes that are solved have small gaps from the first block on: that is no end."""
    written: list[int] = []
    monkeypatch.setattr(Checkpoint, "write", lambda self, dual: written.append(dual.nnz))
    monkeypatch.setattr(one_vs_rest, "_BLOCK_CLASSES", 4)
    model = OneVsRestSVM(checkpoint=tmp_path / "duals", checkpoint_seconds=3600.0, n_jobs=1)
    model.fit(LAYOUTS["sparse"], Y)
    assert len(written) == 1


def test_side_by_side_a_warm_fit_begins_with_the_vectors_of_the_last() -> None:
    """Duals grow with C, vectors do not: from theirs it would take longer than from zero."""
    cold = OneVsRestLogistic(C=4.0).fit(X, Y)
    warm = OneVsRestLogistic(C=1.0, warm_start=True).fit(X, Y).set_params(C=4.0).fit(X, Y)
    assert warm.n_iter_ < cold.n_iter_
    assert warm.certificate_.holds(warm.tol)
