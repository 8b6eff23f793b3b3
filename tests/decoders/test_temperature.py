"""One temperature against scikit-learn's, and links between scores and probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.calibration import _TemperatureScaling

from taxolearn.decoders import Sigmoids, Temperature, fit_temperature, link_of
from taxolearn.errors import DataError


def sample(n: int, slope: float, seed: int, n_classes: int = 4) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, n_classes))
    p = Temperature(slope).probabilities(scores)
    return scores, (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1)


@pytest.mark.parametrize("slope", [0.5, 3.0])
def test_as_scikit_learn_scales(slope: float) -> None:
    scores, labels = sample(20_000, slope, 0)
    theirs = float(_TemperatureScaling().fit(scores, labels).beta_)
    assert fit_temperature(scores, labels).slope == pytest.approx(theirs, rel=2e-3)  # they smooth no targets


def test_the_best_score_is_the_most_probable() -> None:
    scores, labels = sample(100, 1.0, 1)
    for link in (fit_temperature(scores, labels), fit_temperature(-scores, labels), Temperature(1.0, 0.0)):
        p = link.probabilities(scores)
        assert (p.argmax(axis=1) == scores.argmax(axis=1)).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_rows_that_are_all_right_do_not_make_it_certain() -> None:
    scores = np.eye(3)[np.arange(30) % 3]
    link = fit_temperature(scores, np.arange(30) % 3)
    # of 30 right answers Platt's target is 31 / 32
    assert link.probabilities(scores).max() == pytest.approx(31 / 32, abs=0.02)


@pytest.mark.parametrize("n", [8, 800])
def test_few_rows_leave_a_doubt_however_large_scores_are(n: int) -> None:
    """Held-out scores of .01, all right; the last model, learned from more rows, has scores of 1."""
    labels = np.arange(n) % 4
    link = fit_temperature(0.01 * np.eye(4)[labels], labels)
    p = link.probabilities(np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.5, 0.0]]))
    np.testing.assert_allclose(p.max(axis=1), 1.0 - 0.75 / (n + 2), atol=1e-6)
    assert p.argmax(axis=1).tolist() == [0, 1]
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_scores_of_any_size(size: float) -> None:
    scores, labels = sample(500, 2.0, 2)
    assert fit_temperature(size * scores, labels).slope * size == pytest.approx(
        fit_temperature(scores, labels).slope, rel=1e-6
    )


def test_a_row_of_weight_two_counts_as_two_rows() -> None:
    scores, labels = sample(60, 2.0, 3)
    weight = np.random.default_rng(3).integers(1, 3, size=60)
    weighted = fit_temperature(scores, labels, weight.astype(float))
    repeated = fit_temperature(np.repeat(scores, weight, axis=0), np.repeat(labels, weight))
    assert weighted.slope == pytest.approx(repeated.slope, rel=1e-9)
    assert weighted.doubt == pytest.approx(repeated.doubt, rel=1e-12)


def test_infinite_scores_and_single_classes() -> None:
    p = Temperature(1.0).probabilities(np.array([[np.inf, 0.0, -np.inf], [-np.inf, 0.0, 1.0]]))
    assert p[0].tolist() == [1.0, 0.0, 0.0]
    assert p[1, 0] == 0.0
    assert fit_temperature(np.zeros((3, 1)), np.zeros(3, int)).probabilities(np.zeros((1, 1))).tolist() == [
        [1.0]
    ]


def test_stored_links() -> None:
    for link in (Temperature(2.0), Temperature(1.0, 0.5), Temperature(2.0, doubt=0.125)):
        assert link_of(link.arrays(), 3, False) == link
    sigmoids = link_of(Sigmoids(np.ones(2), np.zeros(2)).arrays(), 2, False)
    assert isinstance(sigmoids, Sigmoids)
    assert sigmoids.one  # as older versions answered with one label per row
    assert link_of({}, 3, False) is None


@pytest.mark.parametrize(
    ("arrays", "several"),
    [
        ({"temperature": np.array([0.0])}, False),
        ({"temperature": np.array([np.nan])}, False),
        ({"temperature": np.ones(3)}, False),
        ({"temperature": np.ones(1), "doubt": np.ones(1)}, False),
        ({"temperature": np.ones(1), "doubt": np.zeros(2)}, False),
        ({"temperature": np.ones(1)}, True),
        ({"slopes": np.ones(2)}, False),
        ({"slopes": np.ones(2), "offsets": np.array([np.inf, 0.0])}, False),
    ],
    ids=str,
)
def test_what_is_no_link_is_refused(arrays: Any, several: bool) -> None:
    with pytest.raises(DataError):
        link_of(arrays, 2, several)
