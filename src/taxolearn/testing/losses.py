"""What every loss must satisfy."""

from __future__ import annotations

from typing import Any

import numpy as np

from taxolearn.losses.base import LossFacts

_ROUNDING = 1e-9
_MARGINS = np.linspace(-4.0, 6.0, 201)
_WEIGHTS = (1e-3, 0.7, 30.0)


def check_loss(loss: Any) -> None:
    """Assert that a loss keeps its contract; see docs/adding.md.

    For a loss of the margin: convex, non-increasing, the conjugate is the one of the value (Fenchel and Young, with
    equality at the derivative), the scalar kernels agree with the vectorised definition, and the coordinate step is
    the minimiser. For losses of all scores of a row: convex in them, zero at no cost, never below, and with their own
    conjugate.

    >>> from taxolearn.losses import Hinge
    >>> check_loss(Hinge())
    """
    facts = loss.facts
    assert isinstance(facts, LossFacts), "facts must be a LossFacts"
    assert loss.key() == loss.key(), "key must be the same at every call"
    assert np.isfinite(loss.low_intercept(10.0)), "low_intercept must be a number"
    checks = {
        "margin": _check_margin,
        "softmax": _check_softmax,
        "square": _check_square,
        "structured": _check_structured,
        "siblings": _check_siblings,
        "sets": _check_sets,
        "relaxed_sets": _check_sets,
    }
    checks[facts.kind](loss)


def _check_margin(loss: Any) -> None:
    value = loss.value(_MARGINS)
    assert np.all(value >= 0), "a loss must not be negative"
    assert np.all(np.diff(value) <= _ROUNDING), "a loss of the margin must not increase"
    assert np.all(np.diff(value, 2) >= -_ROUNDING), "a loss must be convex"
    kind = type(loss)
    for weight in _WEIGHTS:
        upper = float(kind.kernel_upper(loss, weight))
        duals = np.linspace(0.0, min(upper, 10.0 * weight), 101)
        conjugate = loss.conjugate(duals, weight)
        slack = weight * value[:, None] + conjugate[None, :] + _MARGINS[:, None] * duals[None, :]
        assert slack.min() >= -_ROUNDING * weight, (
            "Fenchel-Young fails: weight loss(m) + conjugate(d) + d m < 0"
        )
        inner = (slack.min(axis=0) < 0.2 * weight) | (np.argmin(slack, axis=0) % (len(_MARGINS) - 1) == 0)
        assert inner.all(), "the conjugate is larger than that of the value"
        assert np.isinf(loss.conjugate(-1e-3 * weight, weight)), "a negative dual must be infeasible"
        if np.isfinite(upper):
            assert np.isinf(loss.conjugate(1.01 * upper, weight)), (
                "a dual above kernel_upper must be infeasible"
            )
        for margin, v in zip(_MARGINS[::20], value[::20], strict=True):
            assert abs(kind.kernel_value(loss, margin) - v) <= _ROUNDING, "kernel_value is not value"
        for dual, v in zip(duals[1:-1:20], conjugate[1:-1:20], strict=True):
            assert abs(kind.kernel_conjugate(loss, dual, weight) - v) <= _ROUNDING * (1 + abs(v)), (
                "kernel_conjugate is not conjugate"
            )
        if hasattr(loss, "conjugate_slopes"):
            some = duals[1:-1:20]
            slopes = loss.conjugate_slopes(some, np.full_like(some, weight))
            for kernel, slope in zip((kind.kernel_derivative, kind.kernel_curvature), slopes, strict=True):
                expected = [kernel(loss, dual, weight) for dual in some]
                np.testing.assert_allclose(slope, expected, rtol=1e-9, err_msg="conjugate_slopes are others")
        _check_step(loss, weight, duals)
    if loss.facts.smooth:
        curvature = np.abs(np.diff(value, 2)).max() / (_MARGINS[1] - _MARGINS[0])
        assert curvature < 0.2, "a smooth loss must have no kink"
    if hasattr(loss, "value_and_slope"):
        found, slope = loss.value_and_slope(np.asarray(_MARGINS))
        np.testing.assert_allclose(found, value, atol=1e-12, err_msg="value_and_slope is not value")
        between = -np.diff(value) / np.diff(_MARGINS)
        assert np.all(between <= slope[:-1] + _ROUNDING), "value_and_slope has another slope than value"
        assert np.all(between >= slope[1:] - _ROUNDING), "value_and_slope has another slope than value"
        second = -np.diff(slope) / np.diff(_MARGINS)
        curved = loss.second_slope(0.5 * (np.asarray(_MARGINS)[1:] + np.asarray(_MARGINS)[:-1]))
        assert np.mean(np.abs(second - curved) > 1e-2) <= 0.02, "second_slope is not the slope of the slope"
    if loss.facts.sparse_dual:
        assert loss.value(100.0) == 0.0, "a loss with a sparse dual must be zero at large margins"


def _check_step(loss: Any, weight: float, duals: Any) -> None:
    """kernel_step(d, m, q, c) minimises m (t - d) + q (t - d)^2 / 2 + conjugate(t) over t."""
    grid = np.linspace(0.0, float(duals[-1]), 2001)
    for dual in duals[:: len(duals) // 4]:
        for margin in (-1.5, 0.3, 2.0):
            for curvature in (0.1, 2.0):
                found = float(type(loss).kernel_step(loss, dual, margin, curvature, weight))

                def objective(
                    t: Any, dual: float = dual, margin: float = margin, q: float = curvature
                ) -> Any:
                    return margin * (t - dual) + 0.5 * q * (t - dual) ** 2 + loss.conjugate(t, weight)

                best = float(np.min(objective(grid)))
                assert float(objective(np.array(found))) <= best + 1e-6 * (1 + abs(best)), (
                    f"kernel_step({dual:g}, {margin:g}, {curvature:g}, {weight:g}) = {found:g} is not the minimiser"
                )


def _check_softmax(loss: Any) -> None:
    rng = np.random.default_rng(0)
    scores, own = 3.0 * rng.normal(size=(40, 5)), rng.integers(0, 5, size=40)
    value = loss.value(scores, own)
    assert np.all(value >= 0), "a loss must not be negative"
    other = scores + rng.normal(size=scores.shape)
    middle = loss.value(0.5 * (scores + other), own)
    assert np.all(middle <= 0.5 * (value + loss.value(other, own)) + _ROUNDING), "a loss must be convex"
    p = loss.probabilities(scores)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    gradient = p.copy()
    gradient[np.arange(40), own] -= 1.0
    gaps = value + loss.conjugate(p, 1.0) - np.sum(gradient * scores, axis=1)
    np.testing.assert_allclose(
        gaps, 0.0, atol=1e-9, err_msg="Fenchel-Young is no equality at the probabilities"
    )


def _check_sets(loss: Any) -> None:
    n = loss.n_nodes
    assert loss.facts.n_units == n, "a loss over sets scores every node"
    assert np.all(np.repeat(np.arange(n), np.diff(loss.parent_indptr)) > loss.parent_indices), (
        "parents must have smaller numbers than their children"
    )
    assert loss.must.shape == loss.miss.shape == loss.false_alarm.shape == (n,), (
        "costs and flags are per node"
    )
    assert np.all(loss.miss >= 0), "a miss must not cost less than nothing"
    assert np.all(loss.false_alarm >= 0), "a false alarm must not cost less than nothing"
    assert loss.miss[0] == loss.false_alarm[0] == 0, "the root is in every set and costs nothing"


def _check_square(loss: Any) -> None:
    rng = np.random.default_rng(0)
    targets = (rng.random((40, 5)) < 0.3).astype(np.float64)
    scores, other, weight = rng.normal(size=(40, 5)), rng.normal(size=(40, 5)), 0.7
    value = loss.value(scores, targets)
    assert np.all(value >= 0), "a loss must not be negative"
    assert not loss.value(targets, targets).any(), "the targets themselves must cost nothing"
    middle = loss.value(0.5 * (scores + other), targets)
    assert np.all(middle <= 0.5 * (value + loss.value(other, targets)) + _ROUNDING), "a loss must be convex"
    step = 1e-6 * np.eye(5)[:, None, :]
    slopes = [loss.value(scores + h, targets) - loss.value(scores - h, targets) for h in step]
    linked = -weight * np.stack(slopes, axis=1) / 2e-6
    for dual, least in ((linked, -1e-6), (other, -_ROUNDING)):
        gaps = weight * value + loss.conjugate(dual, targets, weight) + np.sum(dual * scores, axis=1)
        assert np.all(gaps >= least), "Fenchel-Young fails: weight loss(s) + conjugate(m) + m s < 0"
        if dual is linked:
            assert np.all(gaps <= 1e-6), "the conjugate is larger than that of the value"


def _check_structured(loss: Any) -> None:
    every = np.arange(loss.n_classes)
    costs = loss.costs(every)
    assert np.all(costs >= 0), "a cost must not be negative"
    np.testing.assert_allclose(costs, costs.T, atol=1e-12, err_msg="a cost must be symmetric")
    assert not np.diag(costs).any(), "the right answer must cost nothing"
    margins, scalings = loss.margins_and_scalings(every)
    assert not np.diag(margins).any(), "the right answer must have no margin"
    assert not np.diag(scalings).any(), "the right answer must have no scaling"
    assert np.all(scalings >= 0), "a scaling must not be negative"


def _check_siblings(loss: Any) -> None:
    rng = np.random.default_rng(0)
    n_units = loss.facts.n_units
    classes = np.repeat(np.arange(loss.n_classes), 5)
    scores, other = 2.0 * rng.normal(size=(2, len(classes), n_units))
    value = loss.value(scores, classes)
    assert np.all(value >= 0), "a loss must not be negative"
    middle = loss.value(0.5 * (scores + other), classes)
    assert np.all(middle <= 0.5 * (value + loss.value(other, classes)) + _ROUNDING), "a loss must be convex"
    for number in range(loss.n_classes):
        units, own = loss.rivals(number)
        found = loss.own_units(np.full(n_units, number), np.arange(n_units))
        expected = np.full(n_units, -1)
        expected[units] = own
        assert np.array_equal(found, expected), "own_units and rivals must say the same"
        clear = np.zeros((1, n_units))
        clear[0, own] = 1.0
        assert loss.value(clear, np.array([number]))[0] == 0.0, "a margin of one must cost nothing"
