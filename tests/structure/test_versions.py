"""`diff`: every kind of change, said, named and guessed; JSON, text and table; refusals."""

from __future__ import annotations

import json

import numpy as np
import pytest

import taxolearn
from taxolearn import Taxonomy
from taxolearn.errors import LabelError, TaxonomyError
from taxolearn.structure.versions import KINDS, diff

OLD = Taxonomy.from_paths(
    [
        "r/cat/lion",
        "r/cat/lynx",
        "r/cat/wolf",
        "r/dog/hound",
        "r/dog/poodle",
        "r/bird/emu",
        "r/bird/kiwi",
        "r/fish",
    ]
)


def test_nothing_changed() -> None:
    found = taxolearn.diff(OLD, OLD)
    assert found.changes == ()
    assert found.to_text() == "no change"
    assert found.fate["lion"] == ("lion",)


def test_the_order_of_children_is_no_change() -> None:
    again = Taxonomy.from_edges(list(reversed(OLD.edges)))
    assert diff(OLD, again).changes == ()


def test_every_kind_by_a_mapping() -> None:
    new = Taxonomy.from_paths(
        [
            "r/felidae/lion",
            "r/felidae/lynx",
            "r/dog/wolf",
            "r/dog/hound",
            "r/bird/ratite",
            "r/fish/shark",
            "r/fish/ray",
        ]
    )
    mapping = {"cat": "felidae", "emu": "ratite", "kiwi": "ratite", "fish": ["shark", "ray"], "poodle": None}
    found = diff(OLD, new, mapping)
    said = {kind: [(change.old, change.new) for change in found.of(kind)] for kind in KINDS}
    assert said == {
        "added": [((), ("fish",))],
        "removed": [(("poodle",), ())],
        "renamed": [(("cat",), ("felidae",))],
        "merged": [(("emu", "kiwi"), ("ratite",))],
        "split": [(("fish",), ("shark", "ray"))],
        "moved": [(("wolf",), ("wolf",))],
    }
    assert not any(change.guessed for change in found.changes)
    (move,) = found.of("moved")
    assert (move.old_parents, move.new_parents) == (("cat",), ("dog",))
    assert json.loads(json.dumps(found.to_dict()))["merged"][0]["old"] == ["emu", "kiwi"]
    columns, cells = found.table()
    assert len(cells) == len(found.changes)
    assert all(len(row) == len(columns) for row in cells)


def test_guesses_by_place_say_so() -> None:
    new = Taxonomy.from_paths(
        [
            "r/felidae/lion",
            "r/felidae/lynx",
            "r/felidae/wolf",
            "r/dog/hounds",
            "r/dog/poodle",
            "r/bird",
            "r/fish/shark",
        ]
    )
    found = diff(OLD, new)
    assert [(change.kind, change.old, change.new, change.guessed) for change in found.changes] == [
        ("renamed", ("cat",), ("felidae",), True),
        ("renamed", ("hound",), ("hounds",), True),
        ("merged", ("bird", "emu", "kiwi"), ("bird",), True),
        ("split", ("fish",), ("shark",), False),
    ]
    assert "(a guess)" in found.to_text()
    plain = diff(OLD, new, guess=False)
    assert plain.of("renamed") == ()
    assert plain.fate["cat"] == ()


def test_an_inner_node_split_among_new_ones_and_two_merged_into_a_new_one() -> None:
    old = Taxonomy.from_paths(["r/a/1", "r/a/2", "r/a/3", "r/a/4", "r/b/5", "r/b/6", "r/c/7", "r/c/8"])
    new = Taxonomy.from_paths(
        ["r/a1/1", "r/a1/2", "r/a2/3", "r/a2/4", "r/bc/5", "r/bc/6", "r/bc/7", "r/bc/8"]
    )
    found = diff(old, new)
    assert [(change.old, change.new) for change in found.of("split")] == [(("a",), ("a1", "a2"))]
    assert [(change.old, change.new) for change in found.of("merged")] == [(("b", "c"), ("bc",))]
    assert found.of("moved") == ()
    assert found.of("added") == ()


def test_roots_are_one_node_whatever_they_are_called() -> None:
    found = diff(Taxonomy.from_paths(["r/a", "r/b"]), Taxonomy.from_paths(["all/a", "all/b"]))
    assert [(change.kind, change.old) for change in found.changes] == [("renamed", ("r",))]


def test_a_dag_that_lost_and_won_a_parent() -> None:
    old = Taxonomy.from_edges([("r", "a"), ("r", "b"), ("a", "x"), ("b", "x"), ("b", "y"), ("a", "z")])
    new = Taxonomy.from_edges([("r", "a"), ("r", "b"), ("a", "x"), ("b", "y"), ("a", "y"), ("a", "z")])
    found = diff(old, new)
    assert [(change.new, change.old_parents, change.new_parents) for change in found.of("moved")] == [
        (("x",), ("a", "b"), ("a",)),
        (("y",), ("b",), ("a", "b")),
    ]


@pytest.mark.parametrize("seed", range(20))
def test_changes_account_for_every_node(seed: int) -> None:
    """Whatever changed: a new node is added, or comes from an old one, or is part of a split; and moves are true."""
    rng = np.random.default_rng(seed)

    def tree() -> Taxonomy:
        names = rng.permutation(20)[:14].tolist()
        return Taxonomy.from_edges(
            [("r", names[0])] + [(names[rng.integers(k)], names[k]) for k in range(1, 14)]
        )

    old, new = tree(), tree()
    for guess in (False, True):
        found = diff(old, new, guess=guess)
        came = {name for targets in found.fate.values() for name in targets}
        parts = {name for change in found.of("split") for name in change.new}
        assert {change.new[0] for change in found.of("added")} == set(new.nodes) - came - parts
        assert {change.old[0] for change in found.of("removed")} == {
            n for n, f in found.fate.items() if not f
        }
        for change in found.of("moved"):
            assert change.new_parents == new.parents(change.new[0])
            assert change.old_parents == old.parents(change.old[0])


def test_refusals_in_one_sentence() -> None:
    with pytest.raises(TaxonomyError, match="diff compares two taxonomies, not None"):
        diff(OLD, None)  # type: ignore[arg-type]
    with pytest.raises(LabelError, match="'tiger' is no node of the old taxonomy"):
        diff(OLD, OLD, {"tiger": "lion"})
    with pytest.raises(LabelError, match="'lion' goes to 'tiger', which is no node of the new taxonomy"):
        diff(OLD, OLD, {"lion": "tiger"})
