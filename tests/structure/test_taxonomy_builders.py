"""What each builder accepts, and that each error names its culprit."""

from __future__ import annotations

import re

import networkx
import numpy as np
import pandas
import polars
import pyarrow
import pytest

from taxolearn.errors import TaxonomyError
from taxolearn.structure import Taxonomy

NAN = float("nan")
TABLES = {
    "pandas": pandas.DataFrame,
    "polars": polars.DataFrame,
    "pyarrow": pyarrow.table,
    "polars lazy": lambda columns: polars.DataFrame(columns).lazy(),
}


def fails(message: str):
    return pytest.raises(TaxonomyError, match=re.escape(message))


class TestEdges:
    def test_forms_of_a_pair(self):
        expected = Taxonomy.from_edges([("a", "b"), ("a", "c")])
        assert Taxonomy.from_edges([["a", "b"], ["a", "c"]]) == expected
        assert Taxonomy.from_edges(np.array([["a", "b"], ["a", "c"]])) == expected
        assert Taxonomy.from_edges(iter([np.array(["a", "b"]), ("a", "c")])) == expected

    def test_several_roots(self):
        edges = [("a", "b"), ("c", "d")]
        assert Taxonomy.from_edges(edges).edges == (("<root>", "a"), ("<root>", "c"), *edges)
        assert Taxonomy.from_edges(edges, root="top").root == "top"
        assert Taxonomy.from_edges(edges, root=0).root == 0

    def test_a_single_root_needs_no_other(self):
        assert Taxonomy.from_edges([("a", "b")], root="a").root == "a"
        assert Taxonomy.from_edges([("a", "b")], root="top").root == "a"

    def test_cycle_is_printed(self):
        with fails("cycle: 'a' -> 'b' -> 'a'"):
            Taxonomy.from_edges([("a", "b"), ("b", "a")])
        with fails("cycle: 'b' -> 'c' -> 'd' -> 'b'"):
            Taxonomy.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "b"), ("d", "e")])

    def test_a_long_cycle_is_cut(self):
        edges = [(i, i + 1) for i in range(999)]
        with fails("cycle: 0 -> 1 -> 2 -> 3 -> ... 993 more ... -> 997 -> 998 -> 999 -> 0; remove"):
            Taxonomy.from_edges([*edges, (999, 0)])

    @pytest.mark.parametrize(
        ("edges", "message"),
        [
            ([("a", "b"), ("x", "x")], "node 'x' is its own parent; remove the edge ('x', 'x')"),
            ([("a", "b"), ("b", "c"), ("a", "b")], "duplicate edge ('a', 'b')"),
            ([("a", "b"), ("b", "")], "edge 1: empty name ''"),
            ([("a", "b"), (None, "c")], "edge 1: empty name None"),
            ([("a", "b"), ("b", NAN)], "edge 1: empty name nan"),
            ([("a", "b"), ("b", pandas.NA)], "edge 1: empty name <NA>"),
            ([("a", "b"), ("b", np.datetime64("NaT"))], "edge 1: empty name"),
            ([("a", "b"), ("b", ["c"])], "edge 1: the name ['c'] is unhashable (list)"),
            ([("a", "b"), ("b", ("c", []))], "edge 1: the name ('c', []) is unhashable (tuple)"),
            ([("a", "b"), ("b", "c", "d")], "edge 1: expected a pair (parent, child), found ('b', 'c', 'd')"),
            ([("a", "b"), "bc"], "edge 1: expected a pair (parent, child), found 'bc'"),
            ([("a", "b"), {"b", "c"}], "edge 1: expected a pair (parent, child), found {"),
            ([("a", "b"), None], "edge 1: expected a pair (parent, child), found None"),
            ([], "no edges were given"),
            ("ab", "edges must be an iterable, not 'ab' (str)"),
            (None, "edges must be an iterable, not None (NoneType)"),
            (7, "edges must be an iterable, not 7 (int)"),
            (np.array(7), "edges must be an iterable"),
        ],
    )
    def test_errors_name_the_culprit(self, edges, message):
        with fails(message):
            Taxonomy.from_edges(edges)

    @pytest.mark.parametrize(
        ("edges", "root", "message"),
        [
            (
                [("a", "b"), ("c", "<root>")],
                None,
                "above 2 roots cannot be called '<root>': a node has that name",
            ),
            ([("a", "b"), ("c", "d")], "a", "2 nodes are unreachable from the root 'a', for example 'c'"),
            ([("a", "b"), ("b", "c")], "b", "1 node is unreachable from the root 'b', for example 'a'"),
            ([("a", "b"), ("c", "d")], "", "option root: empty name ''"),
            ([("a", "b"), ("c", "d")], [], "option root: the name [] is unhashable"),
        ],
    )
    def test_roots_that_cannot_be(self, edges, root, message):
        with fails(message):
            Taxonomy.from_edges(edges, root=root)


class TestParents:
    def test_forms_of_a_value(self):
        values = {
            "top": None,
            "a": "top",
            "b": ["top"],
            "c": ["a", "b"],
            "d": {"c"},
            "e": np.array(["a", "c"]),
        }
        taxonomy = Taxonomy.from_parents(values)
        assert taxonomy.parents("e") == ("a", "c")
        assert taxonomy.parents("c") == ("a", "b")
        assert Taxonomy.from_parents({"top": []}).nodes == ("top",)

    def test_a_tuple_is_one_name(self):
        assert Taxonomy.from_parents({("x", 1): None, "a": ("x", 1)}).parents("a") == (("x", 1),)

    def test_several_roots(self):
        assert Taxonomy.from_parents({"a": None, "b": []}, root="top").edges == (("top", "a"), ("top", "b"))

    @pytest.mark.parametrize(
        ("parents", "message"),
        [
            ({"Animal": None, "Cat": "Animl"}, "node 'Cat': unknown parent 'Animl'"),
            ({"Animal": None, "Cat": "Animl"}, "did you mean 'Animal'?"),
            ({"a": None, "b": ["a", "x"]}, "node 'b': unknown parent 'x'"),
            ({"a": None, "b": ("a", "a")}, "several parents as a list"),
            ({"a": None, "b": ["a", "a"]}, "duplicate edge ('a', 'b')"),
            ({"a": "a"}, "node 'a' is its own parent"),
            ({"a": "b", "b": "a"}, "cycle: 'a' -> 'b' -> 'a'"),
            ({"a": None, "": "a"}, "entry 1: empty name ''"),
            ({"a": None, "b": ""}, "entry 1: empty name ''"),
            ({"a": None, "b": [None]}, "entry 1: empty name None"),
            ({"a": None, "b": {"a": 1}}, "entry 1: the name {'a': 1} is unhashable (dict)"),
            ({}, "the taxonomy is empty"),
            ([("a", "b")], "parents must be a mapping child -> parent"),
            (None, "parents must be a mapping"),
        ],
    )
    def test_errors_name_the_culprit(self, parents, message):
        with fails(message):
            Taxonomy.from_parents(parents)


class TestPaths:
    def test_strings_and_sequences(self):
        expected = Taxonomy.from_edges([("a", "b"), ("b", "c"), ("a", "d")])
        assert Taxonomy.from_paths(["a/b/c", "a/d"]) == expected
        assert Taxonomy.from_paths([["a", "b", "c"], ("a", "d"), "a/b"]) == expected
        assert Taxonomy.from_paths([np.array(["a", "b", "c"]), "a/d"]) == expected
        assert Taxonomy.from_paths(["a.b.c", "a.d"], sep=".") == expected
        assert Taxonomy.from_paths(np.array([["a", "b"], ["a", "c"]])).leaves == ("b", "c")

    def test_a_sequence_is_not_split(self):
        assert Taxonomy.from_paths([["a/b", "c"]]).nodes == ("a/b", "c")

    def test_several_tops(self):
        assert Taxonomy.from_paths(["a/x", "b"], root="all").edges == (("all", "a"), ("all", "b"), ("a", "x"))

    def test_repeated_error_names_both_paths_and_the_options(self):
        with fails(
            "'Other' stands in two places, 'Cats/Other' and 'Dogs/Other'; pass repeated='merge'"
        ) as caught:
            Taxonomy.from_paths(["Cats/Other", "Dogs/Other"])
        assert "repeated='path'" in str(caught.value)
        with fails("'a' stands in two places, 'a' and 'a/b/a'"):
            Taxonomy.from_paths(["a/b/a"])

    def test_repeated_merge(self):
        merged = Taxonomy.from_paths(["a/x/deep", "b/x/deep", "b/x/low"], repeated="merge")
        assert merged.parents("x") == ("a", "b")
        assert merged.children("x") == ("deep", "low")
        with fails("cycle: 'a' -> 'b' -> 'a'"):
            Taxonomy.from_paths(["a/b/a"], repeated="merge")

    def test_repeated_path(self):
        tree = Taxonomy.from_paths(["a/x/y", "b/x/z", "x"], repeated="path")
        assert tree.is_tree
        assert set(tree.nodes) == {"<root>", "a", "b", "a/x", "b/x", "y", "z", "x"}
        assert Taxonomy.from_paths(["a|x", "b|x"], sep="|", repeated="path").leaves == ("a|x", "b|x")
        assert Taxonomy.from_paths([(1,), ("a", 1)], repeated="path").leaves == (1, "a/1")
        with fails("two nodes would be called 'a/x'"):
            Taxonomy.from_paths([["a", "x"], ["b", "x"], ["a/x"]], repeated="path")

    @pytest.mark.parametrize(
        ("paths", "message"),
        [
            (["a/b", "a//c"], "path 1: empty name ''; every node needs a name (path 'a//c')"),
            (["/a"], "path 0: empty name ''"),
            ([""], "path 0: empty name ''"),
            ([["a", None]], "path 0: empty name None"),
            ([["a", NAN]], "path 0: empty name nan"),
            ([["a", []]], "path 0: the name [] is unhashable (list)"),
            (["a", []], "path 1 is empty"),
            (["a", 3], "path 1: expected a string or a sequence of names, found 3 (int)"),
            (["a", None], "path 1: expected a string or a sequence of names, found None"),
            (["a", {"b"}], "path 1: expected a string or a sequence of names, found {'b'} (set)"),
            ([], "no paths were given"),
            ("a/b", "paths must be an iterable, not 'a/b' (str)"),
            (None, "paths must be an iterable"),
        ],
    )
    def test_errors_name_the_culprit(self, paths, message):
        with fails(message):
            Taxonomy.from_paths(paths)

    @pytest.mark.parametrize("sep", ["", None, 3])
    def test_sep(self, sep):
        with fails("sep must be a non-empty string"):
            Taxonomy.from_paths(["a"], sep=sep)

    @pytest.mark.parametrize("repeated", ["never", None, []])
    def test_repeated(self, repeated):
        with fails('repeated must be "error", "merge" or "path"'):
            Taxonomy.from_paths(["a"], repeated=repeated)


class TestNetworkx:
    def test_nodes_without_edges_are_roots(self):
        graph = networkx.DiGraph([("a", "b")])
        graph.add_node("c")
        assert Taxonomy.from_networkx(graph).children("<root>") == ("a", "c")
        assert Taxonomy.from_networkx(networkx.empty_graph(1, networkx.DiGraph)).nodes == (0,)

    @pytest.mark.parametrize(
        ("graph", "message"),
        [
            (networkx.Graph([("a", "b")]), "expected a networkx DiGraph"),
            (networkx.DiGraph(), "the taxonomy is empty"),
            (networkx.DiGraph([("a", "b"), ("b", "a")]), "cycle: 'a' -> 'b' -> 'a'"),
            (networkx.DiGraph([("a", "a")]), "node 'a' is its own parent"),
            (networkx.DiGraph([("a", "")]), "node 1: empty name ''"),
            (networkx.MultiDiGraph([("a", "b"), ("a", "b")]), "duplicate edge ('a', 'b')"),
            ([("a", "b")], "expected a networkx DiGraph, found [('a', 'b')] (list)"),
            (None, "expected a networkx DiGraph, found None"),
        ],
    )
    def test_errors_name_the_culprit(self, graph, message):
        with fails(message):
            Taxonomy.from_networkx(graph)


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
class TestTables:
    def test_parent_and_child(self, table):
        columns = {"child": ["b", "c"], "parent": ["a", "b"], "note": ["x", None]}
        expected = Taxonomy.from_paths(["a/b/c"])
        assert Taxonomy.from_table(table(columns)) == expected
        renamed = table({"up": columns["parent"], "down": columns["child"]})
        assert Taxonomy.from_table(renamed, parent="up", child="down") == expected

    def test_levels(self, table):
        columns = {"one": ["a", "a", "a", "d"], "two": ["b", "b", "c", ""], "three": ["x", "y", None, None]}
        expected = Taxonomy.from_paths(["a/b/x", "a/b/y", "a/c", "d"])
        assert Taxonomy.from_table(table(columns)) == expected
        assert Taxonomy.from_table(table(columns), levels=["one", "two"]).leaves == ("b", "c", "d")

    def test_levels_may_be_called_parent_and_child(self, table):
        columns = {"parent": ["a", "a"], "child": ["b", None]}
        assert Taxonomy.from_table(table(columns), levels=["parent", "child"]).leaves == ("b",)

    def test_repeated_names(self, table):
        columns = {"one": ["a", "b"], "two": ["x", "x"]}
        with fails("'x' stands in two places, 'a/x' and 'b/x'"):
            Taxonomy.from_table(table(columns))
        assert not Taxonomy.from_table(table(columns), repeated="merge").is_tree
        assert Taxonomy.from_table(table(columns), repeated="path", sep=">").leaves == ("a>x", "b>x")

    @pytest.mark.parametrize(
        ("columns", "options", "message"),
        [
            ({"parent": ["a", None], "child": ["b", "c"]}, {}, "edge 1: empty name"),
            ({"parent": ["a", "b"], "child": ["b", "a"]}, {}, "cycle: 'a' -> 'b' -> 'a'"),
            ({"parent": ["a", "a"], "child": ["b", "b"]}, {}, "duplicate edge ('a', 'b')"),
            ({"parent": ["a"], "kid": ["b"]}, {"parent": "parent"}, "has no column 'child'"),
            ({"one": ["a"]}, {"levels": ["One"]}, "has no column 'One'; did you mean 'one'?"),
            ({"one": ["a"]}, {"levels": "one"}, "levels must be a list of column names"),
            ({"one": ["a"]}, {"levels": []}, "levels must be a list of column names"),
            ({"one": ["a"]}, {"levels": ["one"], "parent": "one"}, "not both"),
            (
                {"one": ["a", "a"], "two": ["b", ""], "three": ["c", "d"]},
                {},
                "row 1: level 'two' is an empty name above 'd'",
            ),
            ({"one": ["a", ""], "two": ["b", None]}, {}, "row 1: every level is empty"),
            ({"one": ["a"]}, {"sep": ""}, "sep must be"),
            ({"one": ["a"]}, {"repeated": "no"}, "repeated must be"),
        ],
    )
    def test_errors_name_the_culprit(self, table, columns, options, message):
        with fails(message):
            Taxonomy.from_table(table(columns), **options)

    def test_no_rows(self, table):
        rows = table({"parent": ["a"], "child": ["b"]})
        with fails("the table has no rows"):
            Taxonomy.from_table(rows.slice(0, 0) if hasattr(rows, "slice") else rows[:0])


class TestOtherTables:
    @pytest.mark.parametrize(
        "table", [None, 3, "a", [("a", "b")], np.zeros((2, 2)), {"a": ["b"]}, pandas.Series(["a"])]
    )
    def test_not_a_table(self, table):
        with fails("expected a pandas, polars or pyarrow table"):
            Taxonomy.from_table(table)

    def test_duplicated_columns(self):
        with fails("the table cannot be read"):
            Taxonomy.from_table(pandas.DataFrame([["a", "b"]], columns=["x", "x"]))

    def test_column_names_that_are_no_strings(self):
        assert Taxonomy.from_table(pandas.DataFrame([["a", "b"], ["a", None]])).leaves == ("b",)

    def test_missing_values_of_pandas(self):
        table = pandas.DataFrame({"one": ["a", "b"], "two": pandas.array([1, None], dtype="Int64")})
        assert Taxonomy.from_table(table).leaves == (1, "b")
        table = pandas.DataFrame({"one": ["a", "a"], "two": pandas.Categorical(["x", None])})
        assert Taxonomy.from_table(table).leaves == ("x",)

    def test_cells_that_are_lists(self):
        with fails("row 0: the name ['x'] is unhashable (list)"):
            Taxonomy.from_table(polars.DataFrame({"one": [["x"]]}))


class TestArrays:
    def test_the_callers_arrays_stay_writeable(self):
        indptr, indices = np.array([0, 0, 1]), np.array([0])
        tree = Taxonomy.from_arrays(indptr, indices, ["a", "b"])
        indices[0] = 9
        assert tree.parent.tolist() == [-1, 0]
        assert Taxonomy.from_arrays([0, 0], [], ["a"]).nodes == ("a",)

    @pytest.mark.parametrize(
        ("indptr", "indices", "names", "message"),
        [
            ([0, 0, 1], [1], "ab", "names must be an iterable"),
            ([0, 0, 1], [1], ["a", "b"], "node 1 has the parent 1; a parent's id must be in 0..0"),
            ([0, 0, 1], [-1], ["a", "b"], "parent_indices holds a number outside"),
            ([0, 0, 1], [2**40], ["a", "b"], "parent_indices holds a number outside"),
            ([0, 0, 1], [0], ["a", "a"], "name 1: 'a' is already the name of node 0"),
            ([0, 0, 1], [0], ["a", ""], "name 1: empty name ''"),
            ([0, 0, 1], [0], ["a", []], "name 1: the name [] is unhashable"),
            ([0, 0, 1], [0], ["a"], "parent_indptr must hold 2 numbers for 1 names, not 3"),
            ([0, 0, 2], [0], ["a", "b"], "parent_indptr must rise from 0 to the 1 entries"),
            ([0, 1, 0, 1], [0], ["a", "b", "c"], "parent_indptr must rise"),
            ([0, 1, 1], [0], ["a", "b"], "node 0 must be the root"),
            ([0, 0, 1, 1], [0], ["a", "b", "c"], "node 2, 'c', has no parent: it is unreachable"),
            ([0, 0, 1, 3], [0, 1, 0], ["a", "b", "c"], "the parents of node 2 must be rising"),
            (
                [0, 0, 1, 3],
                [0, 0, 0],
                ["a", "b", "c"],
                "the parents of node 2 must be rising, each given once",
            ),
            ([0, 0, 1, 2, 3], [0, 0, 1], ["a", "b", "c", "d"], "node 3 breaks the depth-first order"),
            ([0, 0, 1.5], [0], ["a", "b"], "parent_indptr must be a one-dimensional array of integers"),
            ([0, 0, 1], [[0]], ["a", "b"], "parent_indices must be a one-dimensional array of integers"),
            ([0, [0]], [0], ["a", "b"], "parent_indptr must be a one-dimensional array of integers"),
            (None, None, ["a", "b"], "parent_indptr must be a one-dimensional array of integers"),
            ([0], [], [], "the taxonomy is empty"),
        ],
    )
    def test_errors_name_the_culprit(self, indptr, indices, names, message):
        with fails(message):
            Taxonomy.from_arrays(indptr, indices, names)


def test_networkx_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "networkx", None)
    with fails("networkx is not installed"):
        Taxonomy.from_networkx(networkx.DiGraph([("a", "b")]))
