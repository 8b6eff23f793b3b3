"""Which rows are held out: by what they hold, equal rows together."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from taxolearn.errors import DataError
from taxolearn.methods.held_out import held_out_parts, hold_out, row_marks
from taxolearn.problem import make_problem

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(60, 5)), 1) * (RNG.random((60, 5)) < 0.6)
Y = RNG.choice(list("abc"), size=60)


def test_dense_and_sparse_rows_have_the_same_marks() -> None:
    marks = row_marks(X, 1)
    assert marks.tolist() == row_marks(sp.csr_array(X), 1).tolist()
    assert marks.tolist() == row_marks(np.where(X == 0, -0.0, X), 1).tolist()  # zero and minus zero
    assert marks.tolist() != row_marks(X, 2).tolist()
    assert len(np.unique(marks)) == len(np.unique(X, axis=0))


def test_order_and_repetition_do_not_matter() -> None:
    weight = RNG.integers(0, 3, size=60)
    weighted = make_problem(X, Y, sample_weight=weight)
    rows = RNG.permutation(np.repeat(np.arange(60), weight))
    repeated = make_problem(X[rows], Y[rows])
    for split in (
        lambda problem: [hold_out(problem, 0.3, 7)],
        lambda problem: held_out_parts(problem, 0.3, 7),
    ):
        ours, theirs = split(weighted), split(repeated)
        assert len(ours) == len(theirs)
        for (held, _), (held_again, _) in zip(ours, theirs, strict=True):
            assert {*held[weight[held] > 0].tolist()} == {*rows[held_again].tolist()}


def test_every_class_keeps_a_row_and_every_other_row_has_a_turn() -> None:
    problem = make_problem(np.arange(7.0)[:, None], ["a", "a", "a", "b", "b", "b", "c"])
    parts = held_out_parts(problem, 0.2, 0)
    assert sorted(np.concatenate([held for held, _ in parts]).tolist()) == [0, 1, 2, 3, 4, 5]
    for held, kept in parts:
        assert {problem.labels.names[k] for k in problem.targets[kept].indices} == {"a", "b", "c"}
        assert sorted([*held, *kept]) == list(range(7))


def test_one_row_given_several_times_is_held_out_all_the_same() -> None:
    problem = make_problem([[0.0], [0.0], [1.0], [1.0]], ["a", "a", "b", "b"])
    assert len(hold_out(problem, 0.5, 0)[0]) == 2
    with pytest.raises(DataError, match="every class has a single row"):
        hold_out(make_problem([[0.0], [1.0]], ["a", "b"]), 0.5, 0)
