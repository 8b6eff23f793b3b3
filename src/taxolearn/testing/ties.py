"""What every tie must satisfy."""

from __future__ import annotations

from typing import Any

import numpy as np

from taxolearn.ties.base import TieFacts

_CLOSE = 1e-8


def check_tie(tie: Any, *, seed: int = 0) -> None:
    """Assert that a tie keeps its contract; see docs/adding.md.

    Its covariance is L L'; the square is that of the covariance; the penalty is the conjugate of half the square,
    reached at W = A V; and its facts are true.

    >>> from taxolearn.ties import flat
    >>> check_tie(flat(3))
    """
    n = tie.n_classes
    assert isinstance(tie.facts, TieFacts), "facts must be a TieFacts"
    factor = np.asarray(tie.factor().toarray())
    assert factor.shape[0] == n, "the factor has a row per class"
    rng = np.random.default_rng(seed)
    pulls = rng.normal(size=(n, 3))
    again = [np.asarray(array) for array in tie.arrays()]
    assert all(np.array_equal(a, b) for a, b in zip(again, tie.arrays(), strict=True)), (
        "arrays must not change"
    )
    if tie.facts.learned:
        _check_learned(tie, pulls)
        return
    if tie.facts.absolute:
        _check_absolute(tie, pulls, rng)
        return
    covariance = tie.covariance
    np.testing.assert_allclose(covariance, factor @ factor.T, atol=_CLOSE, err_msg="covariance is not L L'")
    square = float(np.vdot(pulls, covariance @ pulls))
    _close(tie.square(pulls), square, "square(V) is not tr(V' A V)")
    best = covariance @ pulls
    _close(tie.penalty(best), 0.5 * square, "penalty(A V) is not half of square(V)")
    _check_young(tie, pulls, factor, rng)
    apart = covariance - np.diag(np.diag(covariance))
    if not tie.facts.shares:
        assert not np.abs(apart).max(initial=0.0) > _CLOSE, (
            "classes share something, and facts.shares says no"
        )
    if tie.facts.paths:
        assert np.all(tie.paths.data == 1.0), "paths must be ones"
        assert tie.facts.tree == (tie.parents is not None), "facts.tree must say whether there are parents"


def _check_young(tie: Any, pulls: Any, factor: Any, rng: np.random.Generator) -> None:
    """penalty(W) + square(V) / 2 >= <V, W> for all W of the tie."""
    half = 0.5 * tie.square(pulls)
    for _ in range(10):
        vectors = factor @ rng.normal(size=(factor.shape[1], 3))
        assert tie.penalty(vectors) + half >= float(np.vdot(pulls, vectors)) - _CLOSE, (
            "penalty(W) + square(V) / 2 < <V, W>: they are no conjugates"
        )


def _check_learned(tie: Any, pulls: Any) -> None:
    """Where scales are learned, penalty and square are those of the best scales: Young's inequality still holds."""
    factor = np.asarray(tie.factor().toarray())
    _check_young(tie, pulls, factor, np.random.default_rng(1))
    fixed = float(np.vdot(factor.T @ pulls, factor.T @ pulls))
    assert tie.square(pulls) >= fixed * (1 - 1e-9), (
        "the square of the best scales is below that of given ones"
    )


def _check_absolute(tie: Any, pulls: Any, rng: np.random.Generator) -> None:
    """The penalty is the largest of quadratic forms, so its square is the least of theirs; Young's inequality holds."""
    factor = np.asarray(tie.factor().toarray())
    _check_young(tie, pulls, factor, rng)
    fixed = float(np.vdot(factor.T @ pulls, factor.T @ pulls))
    assert tie.square(pulls) <= fixed * (1 + 1e-9), "the square of the best form is above that of a given one"
    vectors = rng.normal(size=pulls.shape)
    assert tie.penalty(vectors) >= 0.5 * float(
        np.sum(np.linalg.solve(factor @ factor.T, vectors) * vectors)
    ) * (1 - 1e-9), "the penalty is below a form that it is the largest of"


def _close(found: float, expected: float, told: str) -> None:
    assert abs(found - expected) <= _CLOSE * (1.0 + abs(expected)), f"{told}: {found:g} and {expected:g}"
