"""The drawing of a taxonomy, and that it says what it leaves out."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import taxonomies
from taxolearn.errors import TaxonomyError
from taxolearn.structure import Taxonomy


def test_tree():
    tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Tiger", "Animal/Dog/Wolf"])
    assert tree.to_text() == "\n".join(
        [
            "Animal",
            "├── Cat",
            "│   ├── Lion",
            "│   └── Tiger",
            "└── Dog",
            "    └── Wolf",
        ]
    )
    assert tree.to_text(max_depth=1) == "\n".join(
        ["Animal", "├── Cat ... 2 nodes below", "└── Dog ... 1 node below"]
    )
    assert tree.to_text(max_nodes=2) == "\n".join(["Animal", "├── Cat", "... and 4 more nodes"])


def test_long_lists_are_cut():
    tree = Taxonomy.from_edges([("top", i) for i in range(22)])
    lines = tree.to_text().splitlines()
    assert lines[10:] == ["├── 9", "└── ... and 12 more"]
    assert tree.to_text(max_children=0) == "top\n└── ... and 22 more"
    assert len(tree.to_text(max_children=22).splitlines()) == 23


def test_dag_draws_a_shared_part_once():
    dag = Taxonomy.from_edges(
        [("r", "a"), ("r", "b"), ("a", "x"), ("b", "x"), ("x", "y"), ("a", "z"), ("b", "z")]
    )
    assert dag.to_text() == "\n".join(
        [
            "r",
            "├── a",
            "│   ├── x",
            "│   │   └── y",
            "│   └── z",
            "└── b",
            "    ├── x (drawn above)",
            "    └── z",
        ]
    )


def test_names_that_would_break_a_line():
    tree = Taxonomy.from_edges([("top", "two\nlines"), ("top", ("a", 1)), ("top", "größe")])
    assert tree.to_text() == "top\n├── 'two\\nlines'\n├── ('a', 1)\n└── größe"


@settings(max_examples=100, deadline=None)
@given(taxonomies("int"), st.integers(0, 3), st.integers(1, 8), st.none() | st.integers(0, 3))
def test_everything_is_drawn_or_counted(taxonomy, max_children, max_nodes, max_depth):
    whole = taxonomy.to_text(max_children=99, max_nodes=9999)
    assert "..." not in whole
    assert {int(line.split("── ")[-1].split(" ")[0]) for line in whole.splitlines()} == set(taxonomy.nodes)
    cut = taxonomy.to_text(max_children=max_children, max_nodes=max_nodes, max_depth=max_depth)
    assert len(cut.splitlines()) <= len(whole.splitlines())
    assert (cut == whole) == ("..." not in cut)


@pytest.mark.parametrize(
    "options",
    [{"max_children": -1}, {"max_nodes": 0}, {"max_depth": -1}, {"max_nodes": "3"}, {"max_children": None}],
)
def test_options(options):
    with pytest.raises(TaxonomyError, match=f"{next(iter(options))} must be an integer of at least"):
        Taxonomy.from_paths(["a"]).to_text(**options)
