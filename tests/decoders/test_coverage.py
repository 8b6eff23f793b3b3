"""Stopping when unsure: the twin agrees, and what is promised holds exactly for exchangeable rows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reference import coverage_twin as twin
from strategies import taxonomies
from taxolearn.decoders import Asked, Coverage, node_ladders, set_ladders
from taxolearn.decoders import deepest as deepest_module
from taxolearn.decoders.calibrated_stops import groups_of, settle
from taxolearn.decoders.coverage import coverage_limit, first_misses, largest_loss, tree_losses
from taxolearn.decoders.group_limits import GroupLimits, limits_along
from taxolearn.structure import Taxonomy

QUICK = settings(max_examples=40, deadline=None)
NO_OTHERS = np.zeros((0, 0, 0))
GROUPS = st.sampled_from(["level", "chapter", "class"])
LEVELS = st.sampled_from([0.3, 0.5, 0.6, 0.75, 0.8, 0.9])


@st.composite
def cases(draw: st.DrawFn, max_rows: int = 12) -> tuple[Any, ...]:
    """A taxonomy, classes at some of its nodes, rows with probabilities (ties are frequent) and true labels."""
    taxonomy = draw(taxonomies("int", min_nodes=3, max_nodes=9))
    nodes = np.arange(taxonomy.n_nodes)
    classes = np.array(sorted(draw(st.sets(st.sampled_from(nodes[1:].tolist()), min_size=2))), dtype=np.int32)
    n = draw(st.integers(2, max_rows))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    counts = rng.integers(0, draw(st.sampled_from([2, 4, 1000])), (n, len(classes))) + 1.0
    p = counts / counts.sum(axis=1, keepdims=True)
    labels = np.where(rng.random(n) < 0.7, classes[p.argmax(axis=1)], rng.integers(0, taxonomy.n_nodes, n))
    return taxonomy, classes, p, p.argmax(axis=1), labels.astype(np.int32)


def answers(
    kept: Coverage, asked: Asked, p: Any, predicted: Any, classes: Any, taxonomy: Taxonomy
) -> tuple[Any, Any]:
    """The answered nodes of rows, and the ladders that they are of."""
    ladders = asked.ladders(p, predicted, classes, taxonomy)
    ladders, limits = settle(ladders, kept.limits(asked, classes, taxonomy), p, classes, taxonomy)
    return ladders.answers(ladders.cut(limits)), ladders


def without(every: Coverage, row: int) -> Coverage:
    """The calibration by all rows but one."""
    rest = np.arange(every.n_rows) != row
    rows = every.labels[rest], every.misses[:, rest], every.doubt[rest], every.losses[rest]
    return Coverage(*rows, others=every.others[:, rest])


def is_covered(nodes: Any, label: int, taxonomy: Taxonomy) -> bool:
    return bool(set(nodes.tolist()) & twin.above(taxonomy, int(label)))


@pytest.mark.filterwarnings("ignore:.*calibration rows")
@QUICK
@given(cases(), LEVELS)
def test_the_twin_agrees(case: tuple[Any, ...], coverage: float) -> None:
    taxonomy, classes, p, predicted, labels = case
    ladders = node_ladders(p, predicted, classes, taxonomy)
    paths = [twin.path(p[i], predicted[i], classes, taxonomy) for i in range(len(p))]
    for i, path in enumerate(paths):
        assert ladders.nodes[i, :, 0][ladders.nodes[i, :, 0] >= 0].tolist() == [node for node, _ in path]
        np.testing.assert_allclose(ladders.doubt[i, : len(path)], [doubt for _, doubt in path], atol=1e-6)
        paths[i] = [(node, doubt) for (node, _), doubt in zip(path, ladders.doubt[i].tolist(), strict=False)]
    misses = [twin.first_miss(path, int(label), taxonomy) for path, label in zip(paths, labels, strict=True)]
    assert first_misses(ladders, labels, taxonomy).tolist() == misses
    losses = tree_losses(ladders, labels, taxonomy)
    for path, label, row in zip(paths, labels.tolist(), losses.tolist(), strict=True):
        worst = np.maximum.accumulate([twin.tree_loss(node, label, taxonomy) for node, _ in path])
        assert row[: len(path)] == worst.tolist()
    kept = replace(Coverage.of(p[1:], predicted[1:], classes, labels[1:], taxonomy, 1), others=NO_OTHERS)
    found, _ = answers(kept, Asked(coverage), p[:1], predicted[:1], classes, taxonomy)
    assert found[0, 0] == twin.answer(paths[0], twin.limit(misses[1:], coverage))


@pytest.mark.filterwarnings("ignore:.*calibration rows")
@QUICK
@given(cases(), LEVELS, GROUPS)
def test_the_twin_agrees_on_groups(case: tuple[Any, ...], coverage: float, by: Any) -> None:
    taxonomy, classes, p, predicted, labels = case
    labels = np.where(np.isin(labels, classes), labels, classes[0]).astype(np.int32)
    kept = Coverage.of(p[1:], predicted[1:], classes, labels[1:], taxonomy, 1)
    found, ladders = answers(kept, Asked(coverage, by=by), p[:1], predicted[:1], classes, taxonomy)
    path = list(zip(ladders.nodes[0, :, 0].tolist(), ladders.doubt[0].tolist(), strict=True))
    told = twin.grouped_answer(
        [one for one in path if one[0] >= 0],
        kept.misses[0].tolist(),
        groups_of(labels[1:], by, taxonomy).tolist(),
        groups_of(classes, by, taxonomy).tolist(),
        classes,
        coverage,
        taxonomy,
    )
    assert found[0, 0] == told


@pytest.mark.filterwarnings("ignore:.*calibration rows")
@QUICK
@given(cases(), LEVELS, st.integers(1, 3), st.sampled_from([0.0, 0.25]))
def test_coverage_holds_exactly_for_exchangeable_rows(
    case: tuple[Any, ...], coverage: float, max_nodes: int, margin: float
) -> None:
    """Each of n + 1 rows in turn is the new one, all others calibrate: ceil((n + 1) coverage) of them are covered."""
    with mock.patch.multiple(deepest_module, _MARGIN=margin, _ENOUGH=0):
        _check_coverage(case, coverage, max_nodes)


def _check_coverage(case: tuple[Any, ...], coverage: float, max_nodes: int) -> None:
    taxonomy, classes, p, predicted, labels = case
    every = Coverage.of(p, predicted, classes, labels, taxonomy, max_nodes)
    hits = 0
    for i in range(len(p)):
        kept = without(every, i)
        asked = Asked(coverage, max_nodes=max_nodes)
        found, _ = answers(kept, asked, p[[i]], predicted[[i]], classes, taxonomy)
        hits += is_covered(found[0], labels[i], taxonomy)
    assert hits >= ceil(round(len(p) * coverage, 9))


@QUICK
@given(st.integers(2, 15), LEVELS, st.integers(0, 2**20), st.sampled_from([0.0, 0.05, 0.25]))
def test_what_may_be_chosen_has_what_all_rows_choose(
    n: int, coverage: float, seed: int, margin: float
) -> None:
    """Whichever of n + 1 rows is the new one: the doubt that all of them choose is among those of the others."""
    rng = np.random.default_rng(seed)
    length, rungs = rng.integers(1, 4, n + 1), np.arange(4)
    there = rungs <= length[:, None]
    doubts = [np.sort(rng.integers(0, 6, (n + 1, 4)) / 5.0, axis=1) for _ in range(3)]
    for doubt in doubts:
        doubt[:, 0], doubt[~there] = -np.inf, np.inf
    wrong = (rungs > rng.integers(0, 5, n + 1)[:, None]) & there
    allowed = int((n + 1) * (1 - Fraction(str(coverage))))
    assume(allowed > 0)
    depths = []
    for doubt in doubts:
        limit = sorted(np.where(wrong, doubt, np.inf).min(axis=1))[allowed - 1]
        depths.append(np.mean([max(k for k in rungs if k == 0 or row[k] < limit) for row in doubt]))
    best = int(np.argmax(depths[1:])) + 1
    with mock.patch.multiple(deepest_module, _MARGIN=margin, _ENOUGH=0):
        least = margin / max(1.0, (n + 1) * (1 - coverage)) ** 0.5
        chosen = best if depths[best] - depths[0] > least else 0
        for i in range(n + 1):
            rest = np.arange(n + 1) != i
            found = deepest_module.deepest([doubt[rest] for doubt in doubts], wrong[rest], coverage, 3)
            assert chosen in found.numbers


@pytest.mark.filterwarnings("ignore:.*calibration rows")
@QUICK
@given(cases(), LEVELS, GROUPS, st.integers(1, 3))
def test_coverage_of_every_group_holds_exactly(
    case: tuple[Any, ...], coverage: float, by: Any, max_nodes: int
) -> None:
    """By groups that stand alone, and by those that are taken together."""
    taxonomy, classes, p, predicted, labels = case
    labels = np.where(np.isin(labels, classes), labels, classes[0]).astype(np.int32)
    groups = groups_of(labels, by, taxonomy)
    together = twin.blocks(groups.tolist(), 1 / (1 - Fraction(str(coverage))))
    every = Coverage.of(p, predicted, classes, labels, taxonomy, max_nodes)
    asked = Asked(coverage, by=by, max_nodes=max_nodes)
    hits: dict[Any, list[bool]] = {}
    for i in range(len(p)):
        found, _ = answers(without(every, i), asked, p[[i]], predicted[[i]], classes, taxonomy)
        hits.setdefault(min(together[groups[i]]), []).append(is_covered(found[0], labels[i], taxonomy))
    for covered in hits.values():
        assert sum(covered) >= ceil(round(len(covered) * coverage, 9))


@pytest.mark.filterwarnings("ignore:.*calibration rows")
@QUICK
@given(cases(), st.sampled_from([0.3, 0.5, 1.0, 2.0]), GROUPS)
def test_risk_of_every_group_holds_exactly(case: tuple[Any, ...], risk: float, by: Any) -> None:
    """The mean tree loss over the labels of each group, or of those that are taken together."""
    taxonomy, classes, p, predicted, labels = case
    labels = np.where(np.isin(labels, classes), labels, classes[0]).astype(np.int32)
    groups = groups_of(labels, by, taxonomy)
    together = twin.blocks(groups.tolist(), Fraction(largest_loss(taxonomy)) / Fraction(str(risk)))
    every = Coverage.of(p, predicted, classes, labels, taxonomy, 1)
    found: dict[Any, list[float]] = {}
    for i in range(len(p)):
        told, _ = answers(
            without(every, i), Asked(risk=risk, by=by), p[[i]], predicted[[i]], classes, taxonomy
        )
        loss = twin.tree_loss(int(told[0, 0]), int(labels[i]), taxonomy)
        found.setdefault(min(together[groups[i]]), []).append(loss)
    for losses in found.values():
        assert np.mean(losses) <= risk + 1e-9


@QUICK
@given(cases(), GROUPS, st.integers(0, 2**20))
def test_limits_of_sets_are_those_of_edges_where_sets_have_one_node(
    case: tuple[Any, ...], by: Any, seed: int
) -> None:
    taxonomy, classes, p, predicted, _ = case
    keys, groups = np.unique(groups_of(classes, by, taxonomy), return_inverse=True)
    limits = GroupLimits(np.random.default_rng(seed).random(len(keys)), groups, classes)
    ladders = node_ladders(p, predicted, classes, taxonomy)
    by_edges = limits_along(ladders, limits.of_edges(taxonomy), taxonomy)
    np.testing.assert_array_equal(limits.of_rungs(ladders, taxonomy), by_edges)
    of_risk = limits_along(ladders, limits.of_edges_for_risk(taxonomy), taxonomy)
    for row, told in zip(ladders.nodes[:, :, 0].tolist(), of_risk.tolist(), strict=True):
        for node, found in zip(row[1:], told[1:], strict=True):
            outside = [c for c, at in enumerate(classes) if node not in twin.above(taxonomy, int(at))]
            lowest = min((limits.limits[groups[c]] for c in outside), default=np.inf)
            assert found == (lowest if node >= 0 else -np.inf)


@pytest.mark.filterwarnings("ignore:.*calibration rows")
@QUICK
@given(cases(), st.sampled_from([0.1, 0.3, 0.5, 1.0, 2.0]))
def test_risk_holds_exactly_for_exchangeable_rows(case: tuple[Any, ...], risk: float) -> None:
    taxonomy, classes, p, predicted, labels = case
    every = Coverage.of(p, predicted, classes, labels, taxonomy, 1)
    total = 0.0
    for i in range(len(p)):
        kept = without(every, i)
        found, _ = answers(kept, Asked(risk=risk), p[[i]], predicted[[i]], classes, taxonomy)
        total += twin.tree_loss(int(found[0, 0]), int(labels[i]), taxonomy)
    assert total / len(p) <= risk + 1e-9


@pytest.mark.filterwarnings("ignore:.*calibration rows")
@QUICK
@given(cases(max_rows=6), st.integers(2, 3))
def test_sets_are_nested_and_small(case: tuple[Any, ...], max_nodes: int) -> None:
    taxonomy, classes, p, predicted, _ = case
    ladders = set_ladders(p, predicted, classes, taxonomy, max_nodes)
    for row, doubts, best, chances in zip(ladders.nodes, ladders.doubt, predicted, p, strict=True):
        rungs = [[int(node) for node in rung if node >= 0] for rung in row]
        rungs = [rung for rung in rungs if rung]
        assert rungs[0] == [0]
        assert rungs[-1] == [classes[best]]
        below = [
            {c for c, at in enumerate(classes) if twin.above(taxonomy, int(at)) & set(rung)} for rung in rungs
        ]
        for k in range(1, len(rungs)):
            assert len(rungs[k]) <= max_nodes
            assert below[k] <= below[k - 1]
            assert abs(doubts[k] - (1 - sum(chances[c] for c in below[k]))) < 1e-6
            # no node of an answer lies below another one of it
            assert all(twin.above(taxonomy, node) & set(rungs[k]) == {node} for node in rungs[k])


def test_another_doubt_is_chosen_where_many_rows_say_so() -> None:
    """Of a thousand rows all are right at their class; the first doubt does not know that, the second does."""
    missed = np.zeros((1000, 2), dtype=bool)
    missed[:60, 1] = True
    doubts = [np.array([[-np.inf, 0.5]] * 1000), np.column_stack([np.full(1000, -np.inf), missed[:, 1]])]
    assert deepest_module.deepest(doubts, missed, 0.95, 1).numbers == (1,)
    assert deepest_module.deepest([doubt[1:] for doubt in doubts], missed[1:], 0.95, 1).numbers == (0,)
    near = [doubts[1], doubts[1] + np.where(np.arange(1000)[:, None] < 3, 0.1, 0.0)]
    assert deepest_module.deepest(near, missed, 0.95, 1).numbers == (0,)


def test_large_losses_and_few_rows() -> None:
    tree = Taxonomy.from_paths(["A/B/C", "A/D"])
    assert largest_loss(tree) == 2.0
    assert coverage_limit(np.full(18, 0.5), 0.95) == -np.inf
    assert coverage_limit(np.full(19, 0.5), 0.95) == 0.5
    # 0.9 is no float: 10 rows and one more are 9.9 of 11, that is 10 rows to cover
    assert coverage_limit(np.arange(10.0), 0.9) == 0.0
    kept = Coverage(np.zeros(3, np.int32), np.zeros((1, 3)), np.zeros((3, 1)), np.zeros((3, 1)))
    with pytest.warns(UserWarning, match="needs 19 calibration rows at least, and there are 3"):
        assert kept.limit(Asked(0.95), tree) == -np.inf


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "either coverage= or risk="),
        ({"coverage": 0.9, "risk": 1.0}, "either coverage= or risk="),
        ({"coverage": 1.0}, "coverage=1.0 is not allowed"),
        ({"coverage": "high"}, "coverage='high' is not allowed"),
        ({"risk": 0.0}, "risk=0.0 is not allowed"),
        ({"coverage": 0.9, "by": "row"}, "by='row' is not known"),
        ({"coverage": 0.9, "max_nodes": 0}, "max_nodes=0 is not allowed"),
        ({"risk": 0.5, "max_nodes": 2}, "risk= goes with"),
    ],
)
def test_what_cannot_be_asked(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Asked(**asked)


def test_risk_counts_the_largest_loss_that_a_new_row_may_have() -> None:
    """Four rows, each left out by turns, two edges wrong below the same doubt: were the bound on the loss half as
    large, two of the four would be wrong, a mean loss of 1 where 0.75 is asked for."""
    taxonomy = Taxonomy.from_paths(["all/a/b", "all/c/d"])
    bound = largest_loss(taxonomy)
    assert bound == 2.0
    doubt = np.column_stack([np.full(4, -np.inf), [0.1, 0.2, 0.3, 0.4]])
    losses = np.column_stack([np.zeros(4), np.full(4, bound)])
    total = 0.0
    for i in range(4):
        rest = np.delete(np.arange(4), i)
        kept = Coverage(np.zeros(3, np.int32), np.zeros((1, 3)), doubt[rest], losses[rest])
        total += bound * (doubt[i, 1] < kept.limit(Asked(risk=0.75), taxonomy))
    assert total / 4 <= 0.75
