"""Ctrl-C at any moment of any fit: what was learned stays, it is certified, and nothing is lost."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from test_contract import EVERY_METHOD

from reference.interrupted_fits import press_while_fitting
from taxolearn.registry import Method


@pytest.fixture
def real_ctrl_c() -> Iterator[None]:
    """Python's own SIGINT handler, whatever the runner has installed."""
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, old)


@EVERY_METHOD
@pytest.mark.usefixtures("real_ctrl_c")
def test_ctrl_c_at_random_moments(method: Method) -> None:
    outcomes = [press_while_fitting(method, seed) for seed in range(3)]
    # a fit that ends before the press may be as near to a gap of 1e-12 as its certificate can tell
    assert set(outcomes) <= {"interrupted", "converged", "rounding errors"}
