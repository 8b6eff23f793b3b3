"""How the structured solver goes on and ends: starts, limits, threads, precision."""

from __future__ import annotations

import signal
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from reference.structured_twin import (
    Twin,
    cost_matrix,
    margins_and_scalings,
    pegasos,
    row_costs,
    with_constant,
)
from taxolearn import Taxonomy
from taxolearn.certificates import certify
from taxolearn.engines import Run, ThreadEngine
from taxolearn.engines import engine as chosen_engine
from taxolearn.errors import DataError, LabelError
from taxolearn.losses import Hinge, structured_hinge
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import (
    Limits,
    PegasosSGD,
    Start,
    Status,
    row_ascent,
    solve_pegasos,
    solve_structured,
    structured,
)
from taxolearn.ties import flat, path_sum, shared_tie

TREE = Taxonomy.from_paths([f"r/{a}/{a}{b}" for a in "abcd" for b in range(5)])


class Case:
    def __init__(
        self,
        n=300,
        width=50,
        layout="sparse",
        C=1.0,
        cost="hamming",
        rescaling="margin",
        scale=1.0,
        sample_weight=None,
    ):
        rng = np.random.default_rng(0)
        label = np.arange(n) % 20
        X = rng.normal(size=(20, width))[label] + 2.0 * rng.normal(size=(n, width))
        X *= rng.random(X.shape) < 0.7
        y = [TREE.leaves[k] for k in label]
        rows = sp.csr_array(X) if layout == "sparse" else X
        self.problem = make_problem(rows, y, TREE, sample_weight=sample_weight)
        self.tie = path_sum(TREE, self.problem.class_nodes, np.full(TREE.n_nodes, scale))
        self.loss = structured_hinge(self.problem, self.tie, cost, rescaling)
        self.objective = Objective(self.problem, self.loss, self.tie, C)
        delta = cost_matrix(cost, TREE, self.problem.class_nodes, self.tie.scale)
        costs, paths = row_costs(y, C, sample_weight, None), self.tie.paths.toarray()
        D, S = margins_and_scalings(delta, rescaling)
        self.twin = Twin(with_constant(X, 1.0), label, costs, paths, self.tie.scale, D, S)

    def solve(self, C=None, start=None, watch=None, **limits):
        objective = self.objective if C is None else replace(self.objective, C=C)
        return solve_structured(objective, Limits(**{"tol": 1e-3, **limits}), Start(start), watch)

    def pegasos(self, passes, watch=None, **limits):
        return PegasosSGD(passes).solve(self.objective, Limits(**{"max_iter": passes, **limits}), watch=watch)

    def certify(self, solution, C=None):
        return certify(self.objective if C is None else replace(self.objective, C=C), solution)


@pytest.fixture(scope="module")
def case():
    return Case()


@pytest.fixture(scope="module")
def fine(case):
    solution = case.solve(tol=1e-6)
    assert solution.status is Status.CONVERGED
    return solution


def test_the_gap_asked_for_is_certified_and_the_history_tells(case):
    seen = []
    solution = case.solve(tol=1e-3, watch=lambda progress, _: seen.append(progress))
    certificate = case.certify(solution)
    assert certificate.holds(1e-3)
    assert solution.status is Status.CONVERGED
    assert seen == solution.history
    assert (seen[-1].primal, seen[-1].dual) == pytest.approx((certificate.primal, certificate.dual), rel=1e-9)
    assert [p.seconds for p in seen] == sorted(p.seconds for p in seen)
    assert seen[-1].done == solution.n_iter


def test_the_same_seed_gives_the_same_weights(case):
    first, second, other = (case.solve(seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.vectors.nodes, second.vectors.nodes)
    assert not np.array_equal(first.vectors.nodes, other.vectors.nodes)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_reach_the_same_optimum(case, fine, n_jobs, monkeypatch):
    monkeypatch.setattr(row_ascent, "_THREAD_ENTRIES", 0)
    with ThreadEngine(n_jobs) as engine:
        solution = case.solve(tol=1e-5, engine=engine)
    certificate = case.certify(solution)
    assert certificate.holds(1e-5)
    assert certificate.primal == pytest.approx(case.certify(fine).primal, rel=2e-5)


def test_passes_over_slots_save_passes_over_all(case, monkeypatch):
    shrunk = case.solve(tol=1e-6)
    for name in ("_SLOT_PASSES", "_LIGHT_SLOT_PASSES"):
        monkeypatch.setattr(structured, name, 0)
    plain = case.solve(tol=1e-6)
    assert shrunk.n_iter < plain.n_iter
    assert case.certify(plain).primal == pytest.approx(case.certify(shrunk).primal, rel=2e-6)


def test_a_start_saves_passes(case, fine):
    again = case.solve(tol=1e-6, start=fine.dual)
    assert again.n_iter <= 2 < fine.n_iter
    assert case.certify(again).holds(1e-6)
    # a dual for another C, scaled
    scaled = case.solve(C=1.3, tol=1e-4, start=fine.dual * 1.3)
    cold = case.solve(C=1.3, tol=1e-4)
    assert case.certify(scaled, C=1.3).holds(1e-4)
    assert scaled.n_iter < cold.n_iter


def test_a_start_that_is_not_feasible_is_made_so(case):
    rng = np.random.default_rng(0)
    start = rng.normal(size=(case.problem.n_classes, case.problem.n_rows))
    solution = case.solve(tol=1e-4, start=sp.csr_array(start))
    assert case.certify(solution).holds(1e-4)
    stopped = case.solve(max_iter=0, start=sp.csr_array(start))
    assert np.isfinite(case.certify(stopped).dual)


def test_a_start_of_another_problem_is_refused(case):
    start = sp.csr_array((case.problem.n_rows, case.problem.n_classes))
    with pytest.raises(
        DataError, match=r"^start has shape \(300, 20\), but the duals, classes x rows, have \(20, 300\)$"
    ):
        case.solve(start=start)


def test_who_watches_sees_the_duals_as_they_stand(case):
    seen = []
    solution = case.solve(tol=1e-3, watch=lambda progress, dual: seen.append((progress, dual())))
    assert (seen[-1][1] != solution.dual).nnz == 0
    again = case.solve(max_iter=0, start=seen[1][1])
    assert again.history[-1].dual >= seen[0][0].dual


def test_an_engine_that_shares_no_memory_is_not_asked(case, fine, monkeypatch):
    def nowhere(*_):
        raise AssertionError("no task may go there")

    with chosen_engine("serial") as elsewhere:
        monkeypatch.setattr(elsewhere, "map", nowhere)
        solution = case.solve(tol=1e-6)
    np.testing.assert_array_equal(solution.vectors.nodes, fine.vectors.nodes)


def test_what_it_requires(case):
    learned = shared_tie(TREE, case.problem.class_nodes, np.full(TREE.n_nodes, 0.3))
    for solve, name in ((solve_structured, "structured"), (solve_pegasos, "pegasos")):
        with pytest.raises(DataError, match=f"^solver='{name}' needs scales that are given, not learned$"):
            solve(replace(case.objective, tie=learned))
        with pytest.raises(
            DataError, match=f"^solver='{name}' needs a loss of the kind structured, not 'hinge'$"
        ):
            solve(replace(case.objective, loss=Hinge()))


def test_single_precision_where_weights_are_large(case, monkeypatch):
    monkeypatch.setattr(structured, "_SINGLE_BYTES", 0)
    solution = case.solve(tol=1e-5)
    assert solution.vectors.dtype == np.float32
    certificate = case.certify(solution)
    assert certificate.gap <= 1e-5 * (1 + 1e-3)
    last = solution.history[-1]
    assert (last.primal, last.dual) == pytest.approx((certificate.primal, certificate.dual), rel=1e-9)
    assert case.solve(tol=1e-6).vectors.dtype == np.float64  # single precision may not reach it


@pytest.mark.parametrize(
    ("options", "status"),
    [({"max_iter": 1}, Status.ITERATION_LIMIT), ({"max_iter": 10**9, "max_seconds": 0.3}, Status.TIME_LIMIT)],
)
def test_limits_leave_usable_weights_and_an_honest_history(case, options, status):
    case.solve(max_iter=1)  # compiled before the clock runs
    solution = case.solve(tol=-1.0, **options)
    assert solution.status is status
    certificate = case.certify(solution)
    assert 0.0 < certificate.gap < 1.0
    last = solution.history[-1]
    assert (last.primal, last.dual) == pytest.approx((certificate.primal, certificate.dual), rel=1e-8)


def test_ctrl_c_ends_it(case):
    calls = []

    def interrupt(progress, _):
        calls.append(progress)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)

    solution = case.solve(tol=-1.0, max_iter=10**9, watch=interrupt)
    assert solution.status is Status.INTERRUPTED
    certificate = case.certify(solution)
    assert 0.0 < certificate.gap < 1.0
    last = solution.history[-1]
    assert (last.primal, last.dual) == pytest.approx((certificate.primal, certificate.dual), rel=1e-8)


def test_several_labels_in_a_row_are_refused():
    problem = make_problem([[0.0], [1.0]], [["a", "b"], ["b"]])
    with pytest.raises(LabelError, match="row 0 has 2 labels"):
        solve_structured(Objective(problem, structured_hinge(problem, flat(2)), flat(2)))


def test_pegasos_comes_near_and_never_says_it_has_arrived(case, fine):
    best = case.certify(fine)
    found = []
    for passes in (2, 30, 1000):
        seen = []
        solution = case.pegasos(passes, watch=lambda progress, _, seen=seen: seen.append(progress))
        certificate = case.certify(solution)
        assert solution.status is Status.ITERATION_LIMIT
        assert solution.n_iter == passes
        assert 0.0 < certificate.dual <= best.primal
        assert certificate.primal >= best.dual
        assert seen == solution.history
        assert (seen[0].primal, seen[0].dual) == pytest.approx(
            (certificate.primal, certificate.dual), rel=1e-9
        )
        found.append(certificate.gap)
    assert found[2] < found[1] < found[0]
    assert found[2] < 0.2


def test_pegasos_is_a_start(case, fine):
    pegasos = case.pegasos(5)
    # the solver begins with the very bound that Pegasos was certified by
    begun = case.certify(case.solve(max_iter=0, start=pegasos.dual))
    assert begun.dual == pytest.approx(case.certify(pegasos).dual, rel=1e-9)
    started = case.solve(tol=1e-6, start=pegasos.dual)
    assert case.certify(started).holds(1e-6)
    assert started.history[0].gap < fine.history[0].gap


PEGASOS_CASES = {
    "margin": {},
    "slack": {"cost": "tree", "rescaling": "slack"},
    "(13)": {"cost": "normalized", "rescaling": "unit", "scale": 0.3},
    "rows that count differently": {"sample_weight": np.arange(60) // 20 * 0.5},
}


@pytest.mark.parametrize("name", PEGASOS_CASES)
def test_pegasos_is_its_definition(name):
    case = Case(n=60, width=8, C=0.7, **PEGASOS_CASES[name])
    rng = np.random.default_rng(3)
    weighted = np.flatnonzero(case.twin.c > 0)
    orders = [rng.permutation(weighted) for _ in range(3)]
    last, moved = pegasos(case.twin, orders)
    solution = case.pegasos(3, seed=3)
    found = np.vstack([solution.vectors.nodes, solution.details["node_bias"]]).T
    np.testing.assert_allclose(found, last, atol=1e-9)
    alpha, dual = case.twin.c[:, None] * moved / 3, solution.dual.toarray().T
    factor = dual.sum() / alpha.sum()
    np.testing.assert_allclose(dual, factor * alpha, atol=1e-12)
    certificate = case.certify(solution)
    assert certificate.primal == pytest.approx(case.twin.primal(last), rel=1e-10)
    assert certificate.dual == pytest.approx(case.twin.dual(dual), rel=1e-10)
    assert certificate.dual >= max(case.twin.dual(f * alpha) for f in np.linspace(0.0, 1.0, 51)) - 1e-9
    assert solution.history[-1].dual == pytest.approx(certificate.dual, rel=1e-9)
    assert solution.details["linear"] == pytest.approx((dual * case.twin.D[:, case.twin.y].T).sum())


def test_pegasos_stopped_inside_a_pass_keeps_usable_weights(case, monkeypatch):
    case.pegasos(1)  # compiled before the clock runs
    late = case.pegasos(10**9, max_seconds=0.3)
    assert late.status is Status.TIME_LIMIT
    assert 1 < late.n_iter < 10**9
    assert 0.0 < case.certify(late).gap < 1.0

    over = Run.over
    calls = []

    def interrupted(run):
        calls.append(run)
        if len(calls) == 5:  # at the end of the second pass: each is looked at before it and inside its task
            signal.raise_signal(signal.SIGINT)
        return over(run)

    monkeypatch.setattr(Run, "over", interrupted)
    stopped = case.pegasos(10**9)
    assert stopped.status is Status.INTERRUPTED
    assert stopped.n_iter == 2
    assert case.certify(stopped).gap == pytest.approx(case.certify(case.pegasos(2)).gap)


@pytest.mark.parametrize("wrong", [0, 1.5, True, "all"])
def test_pegasos_options_are_checked(wrong):
    with pytest.raises(
        DataError, match=f"^passes={wrong!r} is not allowed; give a whole number, at least 1$"
    ):
        PegasosSGD(wrong)
