"""Sorts of kernels, against numpy's."""

from __future__ import annotations

import numpy as np
import pytest

from taxolearn.kernels.sorting import rising, sort_span


@pytest.mark.parametrize("size", [0, 1, 2, 3, 5, 14, 15, 41, 300])
def test_rising_numbers_are_those_of_a_stable_sort(size):
    rng = np.random.default_rng(size)
    for values in (
        rng.normal(size=size),
        rng.integers(0, 4, size=size).astype(float),
        np.arange(size)[::-1] / 2,
    ):
        more = np.concatenate([values, [-np.inf, 0.0]])  # what comes after is no part
        np.testing.assert_array_equal(rising(more, size), np.argsort(values, kind="stable"))


@pytest.mark.parametrize("size", [0, 1, 2, 3, 5, 14, 15, 41, 300])
def test_a_span_is_sorted_and_nothing_else_moves(size):
    rng = np.random.default_rng(size)
    values = rng.integers(-size, size + 1, size=size + 7).astype(np.int32)
    expected = values.copy()
    expected[4 : 4 + size].sort()
    sort_span(values, 4, 4 + size)
    np.testing.assert_array_equal(values, expected)
