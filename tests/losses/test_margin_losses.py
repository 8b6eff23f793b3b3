"""Margin losses: values and conjugates from their definitions, the scalar twins, and the coordinate step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from reference.one_vs_rest_twin import best_coordinate, conjugate_at, loss_at, loss_slope
from taxolearn.errors import DataError
from taxolearn.losses import MARGIN_LOSSES, margin_loss
from taxolearn.losses.for_kernels import for_kernels

every_loss = pytest.mark.parametrize("loss", MARGIN_LOSSES.values(), ids=MARGIN_LOSSES)

margins = st.floats(-50.0, 50.0)
weights = st.floats(1e-3, 1e3)
shares = st.floats(0.0, 1.0)  # of the largest dual


def top(loss, weight):
    """A largest dual to try: the bound, or a few times the weight where there is none."""
    upper = type(loss).kernel_upper(loss, weight)
    return min(upper, 10.0 * weight)


@every_loss
def test_names_and_facts(loss):
    assert margin_loss(loss.facts.name) is loss
    assert loss.facts.smooth is (loss.facts.name != "hinge")
    assert loss.facts.sparse_dual is (loss.facts.name != "logistic")
    # sparse_dual says: a large margin needs a dual of exactly zero
    assert (loss_slope(loss.facts.name, 60.0) == 0.0) is loss.facts.sparse_dual


@pytest.mark.parametrize("name", ["", "Hinge", "l2"])
def test_an_unknown_loss_is_named(name):
    with pytest.raises(DataError, match="choose one of 'hinge', 'squared_hinge', 'logistic'"):
        margin_loss(name)
    with pytest.raises(DataError, match=r"choose one of 'logistic'$"):
        margin_loss("hinge", ("logistic",))


@every_loss
@settings(deadline=None)
@given(margin=st.floats(-1e4, 1e4))
def test_value_is_the_definition(loss, margin):
    expected = loss_at(loss.facts.name, margin)
    assert loss.value(margin) == pytest.approx(expected, rel=1e-14, abs=1e-300)
    assert type(loss).kernel_value(loss, margin) == pytest.approx(expected, rel=1e-14, abs=1e-300)


@every_loss
def test_value_is_vectorised_and_double(loss):
    grid = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)
    values = loss.value(grid)
    assert values.dtype == np.float64
    assert values.shape == (3, 4)
    np.testing.assert_allclose(
        values.ravel(), [loss_at(loss.facts.name, float(m)) for m in grid.ravel()], rtol=1e-14
    )
    assert np.all(np.diff(loss.value(np.linspace(-5, 5, 101))) <= 0)  # never rises with the margin


@every_loss
@settings(deadline=None)
@given(share=shares, weight=weights)
def test_conjugate_is_the_definition(loss, share, weight):
    dual = share * top(loss, weight)
    expected = conjugate_at(loss.facts.name, dual, weight)
    assert loss.conjugate(dual, weight) == pytest.approx(expected, rel=1e-9, abs=1e-12 * weight)
    assert type(loss).kernel_conjugate(loss, dual, weight) == pytest.approx(
        expected, rel=1e-9, abs=1e-12 * weight
    )


@every_loss
@settings(deadline=None, max_examples=50)
@given(share=st.floats(0.05, 0.95), weight=weights)
def test_conjugate_is_the_supremum_over_margins(loss, share, weight):
    dual = share * top(loss, weight)
    best = minimize_scalar(
        lambda m: dual * m + weight * loss_at(loss.facts.name, m),
        bounds=(-60.0, 60.0),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert loss.conjugate(dual, weight) == pytest.approx(-best.fun, rel=1e-6, abs=1e-6 * weight)


@every_loss
@settings(deadline=None)
@given(margin=margins, share=shares, weight=weights)
def test_fenchel_young_inequality(loss, margin, share, weight):
    dual = share * top(loss, weight)
    slack = weight * loss.value(margin) + loss.conjugate(dual, weight) + dual * margin
    assert slack >= -1e-12 * weight * (1.0 + abs(margin)) ** 2


@every_loss
@settings(deadline=None)
@given(margin=margins, weight=weights)
def test_fenchel_young_equality_at_the_slope(loss, margin, weight):
    dual = -weight * loss_slope(loss.facts.name, margin)
    slack = weight * loss.value(margin) + loss.conjugate(dual, weight) + dual * margin
    assert abs(slack) <= 1e-11 * weight * (1.0 + abs(margin)) ** 2


@every_loss
def test_conjugate_is_infinite_outside_its_domain(loss):
    assert loss.conjugate(-1e-12, 1.0) == np.inf
    assert loss.conjugate(0.0, 0.0) == 0.0
    assert loss.conjugate(1e-12, 0.0) == np.inf
    above = loss.conjugate(1.0 + 1e-12, 1.0)
    assert np.isfinite(above) if loss.facts.name == "squared_hinge" else above == np.inf
    assert np.isfinite(loss.conjugate(1.0, 1.0))


@every_loss
def test_conjugate_broadcasts_without_warnings(loss):
    duals = np.array([[0.0, 0.5, 1.0], [-1.0, 0.25, 3.0]])
    costs = np.array([0.0, 1.0, 2.0])
    with np.errstate(all="raise"):
        values = loss.conjugate(duals, costs)
    expected = [
        [conjugate_at(loss.facts.name, d, c) for d, c in zip(row, costs, strict=True)] for row in duals
    ]
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-15)


@every_loss
@settings(deadline=None)
@given(share=st.floats(0.01, 0.99), weight=weights)
def test_slope_and_curvature_by_finite_differences(loss, share, weight):
    kind = type(loss)
    dual = share * top(loss, weight)
    step = 1e-5 * min(dual, top(loss, weight) - dual)

    def conjugate(d):
        return conjugate_at(loss.facts.name, d, weight)

    slope = (conjugate(dual + step) - conjugate(dual - step)) / (2 * step)
    assert kind.kernel_derivative(loss, dual, weight) == pytest.approx(slope, rel=1e-4, abs=1e-4)
    curvature = (
        kind.kernel_derivative(loss, dual + step, weight) - kind.kernel_derivative(loss, dual - step, weight)
    ) / (2 * step)
    assert kind.kernel_curvature(loss, dual, weight) == pytest.approx(curvature, rel=1e-4, abs=1e-9)


@every_loss
def test_slopes_at_the_ends_point_inside(loss):
    kind = type(loss)
    assert kind.kernel_derivative(loss, 0.0, 2.0) <= -1.0
    assert (
        kind.kernel_derivative(loss, 0.0, 2.0) < kind.kernel_derivative(loss, 2.0, 2.0)
        or loss.facts.name == "hinge"
    )
    assert kind.kernel_upper(loss, 2.0) == (math.inf if loss.facts.name == "squared_hinge" else 2.0)


@every_loss
@settings(deadline=None, max_examples=150)
@given(share=shares, margin=margins, square=st.floats(1e-3, 1e4), weight=weights)
def test_step_is_the_exact_coordinate_minimiser(loss, share, margin, square, weight):
    dual = share * top(loss, weight)
    fresh = type(loss).kernel_step(loss, dual, margin, square, weight)
    assert 0.0 <= fresh <= type(loss).kernel_upper(loss, weight)
    expected = best_coordinate(loss.facts.name, dual, margin, square, weight)
    assert fresh == pytest.approx(expected, rel=1e-7, abs=1e-8 * weight)


@every_loss
@settings(deadline=None)
@given(share=shares, margin=margins, square=st.floats(1e-3, 1e4), weight=weights, other=shares)
def test_no_other_dual_is_better_than_the_step(loss, share, margin, square, weight, other):
    dual = share * top(loss, weight)

    def objective(d):
        return margin * (d - dual) + 0.5 * square * (d - dual) ** 2 + conjugate_at(loss.facts.name, d, weight)

    fresh = type(loss).kernel_step(loss, dual, margin, square, weight)
    rival = other * top(loss, weight)
    scale = abs(objective(dual)) + abs(margin) * weight + square * weight**2
    assert objective(fresh) <= objective(rival) + 1e-12 * scale
    again = type(loss).kernel_step(loss, fresh, margin + square * (fresh - dual), square, weight)
    assert again == pytest.approx(fresh, rel=1e-7, abs=1e-8 * weight)


@every_loss
@pytest.mark.parametrize("dual", [0.0, 0.5, 2.0])
def test_step_on_a_row_of_zeros(loss, dual):
    # no constant feature and no values: the margin is 0 and the dual term stands alone
    weight = 2.0
    expected = {"hinge": weight, "squared_hinge": 2 * weight, "logistic": weight / 2}[loss.facts.name]
    assert type(loss).kernel_step(loss, dual, 0.0, 0.0, weight) == pytest.approx(expected, rel=1e-9)


@every_loss
@settings(deadline=None)
@given(
    margin=st.floats(-1e6, 1e6),
    square=st.sampled_from([1e-300, 1e-6, 1.0, 1e12]),
    weight=st.sampled_from([1e-300, 1e-9, 1.0, 1e9]),
    share=st.sampled_from([0.0, 5e-324, 1e-310, 1e-9, 0.5, 1.0 - 1e-16, 1.0]),
)
def test_extreme_arguments_stay_inside_the_bounds(loss, margin, square, weight, share):
    kind = type(loss)
    dual = share * weight
    fresh = kind.kernel_step(loss, dual, margin, square, weight)
    assert 0.0 <= fresh <= kind.kernel_upper(loss, weight)
    assert math.isfinite(kind.kernel_conjugate(loss, dual, weight))
    assert math.isfinite(kind.kernel_value(loss, margin))
    assume(0.0 < dual < kind.kernel_upper(loss, weight))
    assert kind.kernel_curvature(loss, dual, weight) >= 0.0
    assert not math.isnan(kind.kernel_derivative(loss, dual, weight))


@every_loss
def test_kernels_take_every_published_loss_as_one_type(loss):
    mine, kind = for_kernels(loss._replace(margin=0.7)), type(loss)
    same = loss._replace(margin=0.7)
    assert type(mine) is type(for_kernels(margin_loss("hinge")))
    for weight in (0.5, 2.0):
        assert mine.kernel_upper(mine, weight) == kind.kernel_upper(same, weight)
        for dual in (0.0, 0.1, 0.4):
            for name in ("kernel_conjugate", "kernel_derivative", "kernel_curvature"):
                assert getattr(mine, name)(mine, dual, weight) == getattr(kind, name)(same, dual, weight)
            for margin in (-2.0, 0.6, 3.0):
                assert mine.kernel_value(mine, margin) == kind.kernel_value(same, margin)
                step = kind.kernel_step(same, dual, margin, 1.5, weight)
                assert mine.kernel_step(mine, dual, margin, 1.5, weight) == step


def test_a_loss_of_somebody_else_stays_its_own_type():
    other = object()
    assert for_kernels(other) is other
