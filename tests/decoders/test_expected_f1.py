"""The label set of the largest expected F1, against all label sets and all outcomes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from decoders.label_set_cases import must_settings, small_taxonomy
from reference.label_sets_twin import all_sets
from taxolearn.decoders import (
    LabelSpace,
    ProbableSets,
    Sets,
    calibrated_sets,
    decode_sets,
    expected_f1_sets,
    falling,
)
from taxolearn.errors import DataError, ModelError
from taxolearn.structure import Taxonomy
from taxolearn.testing import check_decoder
from taxolearn.vectors import ClassVectors

TREE = Taxonomy.from_paths(["all/cat/lion", "all/cat/lynx", "all/dog/wolf", "all/dog/fox", "all/moss"])
DAG = Taxonomy.from_edges([*TREE.edges, ("dog", "lynx")])


def slow_expected_f1(p: Any, chosen: Any) -> float:
    """Over all outcomes, one by one."""
    total = 0.0
    for outcome in itertools.product((0, 1), repeat=len(p)):
        chance = np.prod([q if there else 1 - q for q, there in zip(p, outcome, strict=True)])
        both = sum(a * b for a, b in zip(chosen, outcome, strict=True))
        total += chance * 2 * both / (sum(chosen) + sum(outcome))
    return float(total)


@pytest.mark.parametrize("dag", [False, True], ids=["trees", "dags"])
def test_it_is_the_best_of_all_label_sets_or_has_a_bound(dag):
    rng = np.random.default_rng(dag)
    proved = count = 0
    for _ in range(14):
        taxonomy = small_taxonomy(rng, dag)
        if taxonomy.n_nodes > 8:
            continue
        for name, must in must_settings(taxonomy, rng).items():
            space = LabelSpace.over(taxonomy, taxonomy.nodes, must)
            given = rng.random((1, taxonomy.n_nodes)) ** rng.choice([1, 3])
            given = np.round(given, int(rng.choice([1, 6])))
            p = falling(space, given)[0]
            found = expected_f1_sets(space, given)
            each = [slow_expected_f1(p[1:], z[1:].astype(int)) for z in all_sets(taxonomy, must)]
            mine = np.isin(np.arange(1, len(p)), found.of(0)).astype(int)
            assert found.values[0] == pytest.approx(slow_expected_f1(p[1:], mine), abs=1e-10)
            assert max(each) <= found.bounds[0] + 1e-10
            if found.proved[0]:
                assert found.values[0] == pytest.approx(max(each), abs=1e-10)
            assert found.proved[0] or name != "root"
            proved, count = proved + int(found.proved[0]), count + 1
    assert 0 < proved <= count


def test_probabilities_fall_along_paths_and_stay_where_they_did():
    space = LabelSpace.over(DAG, DAG.leaves)
    p = np.random.default_rng(0).random((20, space.n_nodes))
    q = falling(space, p)
    for node in range(1, space.n_nodes):
        for parent in space.parent_indices[space.parent_indptr[node] : space.parent_indptr[node + 1]]:
            assert np.all(q[:, node] <= q[:, parent])
    np.testing.assert_array_equal(falling(space, q), q)


def test_many_certain_nodes_and_none_at_all():
    space = LabelSpace.star(300)
    sets = expected_f1_sets(space, np.vstack([np.ones(301), np.zeros(301)]))
    assert sets.values == pytest.approx([1.0, 0.0], abs=1e-9)
    assert len(sets.of(0)) == 301
    assert len(sets.of(1)) == 2  # never none


def test_at_most_so_many_labels():
    space = LabelSpace.over(TREE, TREE.leaves)
    p = np.full((1, space.n_nodes), 0.9)
    assert len(expected_f1_sets(space, p).of(0)) == space.n_nodes
    few = expected_f1_sets(space, p, at_most=2)
    assert (
        np.diff(space.ends(sp.csr_array(np.isin(np.arange(space.n_nodes), few.of(0)) * 1)[None]).indptr) == 2
    )


@pytest.mark.parametrize("taxonomy", [TREE, DAG], ids=["tree", "dag"])
@pytest.mark.parametrize("at_most", [None, 1])
def test_the_decoders_keep_their_contract(taxonomy, at_most):
    space = LabelSpace.over(taxonomy, taxonomy.leaves)
    rng = np.random.default_rng(1)
    n_rows = 2 if at_most else 12  # at most so many labels of a DAG: an integer programme per row
    X = np.round(8 * rng.normal(size=(n_rows, 3))) / 8
    vectors = ClassVectors(np.round(8 * rng.normal(size=(space.n_nodes, 3))) / 8, np.zeros(space.n_nodes))
    slopes, biases = rng.uniform(0.5, 2.0, space.n_nodes), rng.normal(size=space.n_nodes)
    for decoder in (Sets(space, 0.25, at_most), ProbableSets(space, 0.0, at_most, slopes, biases)):
        check_decoder(decoder, vectors, X)
        counts = np.diff(decoder.decode(vectors, X).indptr)
        assert np.all(counts <= (at_most or space.n_classes))
        assert np.all(counts >= 1)
    p = decoder.probabilities(vectors, X)
    assert np.all((p >= 0) & (p <= 1))


def test_sigmoids_of_max_marginals_are_fitted_on_held_out_rows():
    space = LabelSpace.over(TREE, TREE.leaves)
    rng = np.random.default_rng(2)
    sums = rng.normal(size=(300, space.n_nodes)) * 2 - 1
    sets = decode_sets(space, sums + rng.normal(size=sums.shape))
    matrix = sp.csr_array((np.ones(len(sets.indices), np.int32), sets.indices, sets.indptr), shape=sums.shape)
    decoder = calibrated_sets(Sets(space), sums, space.classes_of(matrix))
    assert np.all(decoder.slopes[1:] > 0)


def test_what_is_no_probability_or_no_decoder_is_refused():
    space = LabelSpace.star(2)
    with pytest.raises(DataError, match="probabilities must lie between 0 and 1"):
        expected_f1_sets(space, [[1.0, 0.5, 1.5]])
    with pytest.raises(DataError, match="one column per node, 3"):
        expected_f1_sets(space, [[1.0, 0.5]])
    with pytest.raises(DataError, match="slopes must be 3 finite numbers"):
        ProbableSets(space)
    with pytest.raises(ModelError, match="at_most is not one number"):
        Sets.from_arrays(Sets(space).arrays() | {"at_most": np.zeros(0, np.int32)}, 2)
    with pytest.raises(ModelError, match="at_most=0 is not allowed"):
        Sets.from_arrays(Sets(space).arrays() | {"at_most": np.zeros(1, np.int32)}, 2)
