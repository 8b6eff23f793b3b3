"""The tie with learned scales against the norm it stands for, its conjugate and any scales that are given."""

from __future__ import annotations

import numpy as np
import pytest

from reference import node_weights_twin as structures
from taxolearn.norms import structured_shared_norm
from taxolearn.scales import node_weights
from taxolearn.ties import path_sum, shared_tie


@pytest.fixture(params=[(seed, dag) for seed in range(4) for dag in (False, True)], ids=str)
def case(request):
    seed, dag = request.param
    taxonomy = structures.random_structure(seed, dag=dag)
    nodes = taxonomy.leaf_ids
    scale = node_weights(taxonomy, "maxmin", class_nodes=nodes)
    rng = np.random.default_rng(seed)
    width = 1 + 2 * seed  # fewer features than classes, and more
    return shared_tie(taxonomy, nodes, scale), rng.normal(size=(len(nodes), width)), rng


def test_the_penalty_is_half_the_square_of_the_norm(case):
    tie, vectors, _ = case
    norm = structured_shared_norm(vectors, tie.taxonomy, class_nodes=tie.class_nodes)
    assert tie.penalty(vectors) == pytest.approx(0.5 * norm**2, rel=1e-6)
    assert tie.penalty(3.0 * vectors) == pytest.approx(9.0 * tie.penalty(vectors), rel=1e-7)
    assert tie.penalty(0.0 * vectors) == 0.0


def test_no_scales_have_a_smaller_penalty_or_a_larger_square(case):
    tie, vectors, rng = case
    for _ in range(5):
        scale = rng.random(tie.n_nodes)
        scale /= (tie.paths @ scale).max()
        given = path_sum(tie.taxonomy, tie.class_nodes, scale)
        assert tie.penalty(vectors) <= given.penalty(vectors) * (1 + 1e-7)
        assert tie.square(vectors) >= given.square(vectors) * (1 - 1e-9)


def test_penalty_and_square_are_conjugate(case):
    """1/2 square(V) is the largest <V, W> - penalty(W): reached at W = A V for the scales of the largest square."""
    tie, other, rng = case
    vectors = rng.normal(size=other.shape)
    for W in (vectors, 0.1 * vectors, rng.normal(size=other.shape)):
        assert np.vdot(other, W) <= tie.penalty(W) + 0.5 * tie.square(other) + 1e-9
    from taxolearn.scales import largest_penalty

    sums = tie.paths.T @ other
    _, scale = largest_penalty(tie.taxonomy, tie.paths, (sums**2).sum(axis=1))
    best = path_sum(tie.taxonomy, tie.class_nodes, scale).covariance @ other
    assert np.vdot(other, best) - tie.penalty(best) == pytest.approx(0.5 * tie.square(other), rel=1e-6)


def test_facts_and_arrays(case):
    tie, *_ = case
    given = path_sum(tie.taxonomy, tie.class_nodes, tie.scale)
    assert tie.facts == given.facts._replace(learned=True, shares=tie.facts.shares)
    other = shared_tie(tie.taxonomy, tie.class_nodes, 0.5 * tie.scale)
    for mine, its in zip(tie.arrays(), other.arrays(), strict=True):
        np.testing.assert_array_equal(mine, its)
