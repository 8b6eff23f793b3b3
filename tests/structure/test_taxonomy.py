"""Ids, arrays, names and looking around, next to the set-based twin."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from reference.structure_twin import GraphTwin
from strategies import dag_edges, taxonomies, tree_edges
from taxolearn.errors import LabelError, TaxonomyError
from taxolearn.structure import Taxonomy

ARRAYS = (
    "parent_indptr",
    "parent_indices",
    "child_indptr",
    "child_indices",
    "depth",
    "height",
    "is_leaf",
    "leaf_ids",
)
ANIMALS = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Tiger", "Animal/Dog"])
DIAMOND = Taxonomy.from_edges([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("a", "d")])


@settings(max_examples=80, deadline=None)
@given(taxonomies())
def test_ids_are_a_topological_order_of_sorted_csr_arrays(taxonomy):
    assert taxonomy.parent_indptr[1] == 0
    for node in range(taxonomy.n_nodes):
        parents = taxonomy.parent_indices[taxonomy.parent_indptr[node] : taxonomy.parent_indptr[node + 1]]
        children = taxonomy.child_indices[taxonomy.child_indptr[node] : taxonomy.child_indptr[node + 1]]
        assert (parents < node).all()
        assert (np.diff(parents) > 0).all()
        assert (np.diff(children) > 0).all()
        assert (node > 0) == (len(parents) > 0)
        for child in children:
            row = taxonomy.parent_indices[taxonomy.parent_indptr[child] : taxonomy.parent_indptr[child + 1]]
            assert node in row
    for name in ARRAYS:
        array = getattr(taxonomy, name)
        assert array.dtype == (bool if name == "is_leaf" else np.int32)
        assert not array.flags.writeable


@settings(max_examples=80, deadline=None)
@given(taxonomies())
def test_numbering_again_changes_nothing(taxonomy):
    assert Taxonomy.from_edges(taxonomy.edges) == taxonomy


@settings(max_examples=80, deadline=None)
@given(tree_edges())
def test_subtrees_of_a_tree_are_ranges(edges):
    tree, twin = Taxonomy.from_edges(edges), GraphTwin(edges)
    assert tree.is_tree
    assert tree.parent[0] == -1
    assert not tree.parent.flags.writeable
    assert not tree.subtree_end.flags.writeable
    for node, name in enumerate(tree.nodes):
        assert set(tree.nodes[node : tree.subtree_end[node]]) == twin.descendants(name) | {name}
        if node:
            assert twin.parents(name) == {tree.nodes[tree.parent[node]]}


@settings(max_examples=80, deadline=None)
@given(dag_edges())
def test_looking_around_equals_the_twin(edges):
    taxonomy, twin = Taxonomy.from_edges(edges), GraphTwin(edges)
    assert set(taxonomy.edges) == twin.edges
    assert len(taxonomy.edges) == taxonomy.n_edges
    assert set(taxonomy.leaves) == twin.leaves()
    assert taxonomy.is_tree == all(len(twin.parents(name)) < 2 for name in twin.nodes)
    assert taxonomy.max_depth == max(map(twin.depth, twin.nodes))
    for node, name in enumerate(taxonomy.nodes):
        assert taxonomy.id_of(name) == node
        assert taxonomy.name_of(node) == name
        assert taxonomy.depth[node] == twin.depth(name)
        assert taxonomy.height[node] == twin.height(name)
        for method in ("parents", "children", "siblings", "ancestors", "descendants", "leaves_under"):
            answer = getattr(taxonomy, method)(name)
            assert len(set(answer)) == len(answer)
            assert set(answer) == getattr(twin, method)(name), method
            assert taxonomy.ids_of(answer).tolist() == sorted(taxonomy.ids_of(answer)), method
        assert set(taxonomy.ancestors(name, include_self=True)) == twin.ancestors(name) | {name}
        assert set(taxonomy.descendants(name, include_self=True)) == twin.descendants(name) | {name}


@settings(max_examples=80, deadline=None)
@given(dag_edges())
def test_path_is_a_shortest_one(edges):
    taxonomy, twin = Taxonomy.from_edges(edges), GraphTwin(edges)
    for name in taxonomy.nodes:
        path = taxonomy.path(name)
        assert path[0] == taxonomy.root
        assert path[-1] == name
        assert set(pairwise(path)) <= twin.edges
        assert len(path) - 1 == twin.shortest_path_length(name)


def test_path_ties_go_to_the_first_parent():
    diamond = Taxonomy.from_edges([("a", "b"), ("a", "c"), ("c", "d"), ("b", "d")])
    assert diamond.path("d") == ("a", "b", "d")


@settings(max_examples=80, deadline=None)
@given(dag_edges())
def test_sub_keeps_a_node_and_all_below(edges):
    taxonomy, twin = Taxonomy.from_edges(edges), GraphTwin(edges)
    for name in taxonomy.nodes:
        inside = twin.descendants(name) | {name}
        sub = taxonomy.sub(name)
        assert sub.root == name
        assert set(sub.nodes) == inside
        assert set(sub.edges) == {(p, c) for p, c in twin.edges if p in inside}


def test_children_keep_the_order_of_their_edges():
    tree = Taxonomy.from_edges([("z", "b"), ("root", "y"), ("root", "z"), ("z", "a"), ("root", "x")])
    assert tree.nodes == ("root", "y", "z", "b", "a", "x")


def test_facts_and_repr():
    assert repr(ANIMALS) == "Taxonomy(tree, 5 nodes, 3 leaves, depth 2)"
    assert repr(DIAMOND) == "Taxonomy(DAG, 4 nodes, 1 leaf, depth 2)"
    assert repr(Taxonomy.from_paths(["one"])) == "Taxonomy(tree, 1 node, 1 leaf, depth 0)"
    assert (ANIMALS.n_nodes, ANIMALS.n_leaves, ANIMALS.n_edges, ANIMALS.root) == (5, 3, 4, "Animal")
    assert ANIMALS.leaves == ("Lion", "Tiger", "Dog")
    assert len(ANIMALS) == 5
    assert ANIMALS.nbytes == sum(getattr(ANIMALS, name).nbytes for name in (*ARRAYS, "subtree_end")) + 4
    assert DIAMOND.nbytes == sum(getattr(DIAMOND, name).nbytes for name in ARRAYS)


def test_one_node():
    one = Taxonomy.from_parents({"only": None})
    assert one.is_tree
    assert one.leaves == ("only",)
    assert one.path("only") == ("only",)
    assert one.parents("only") == one.children("only") == one.siblings("only") == ()
    assert one.parent.tolist() == [-1]
    assert one.merge_duplicates()[0] == one == one.transitive_reduction() == one.sub("only")


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(LabelError, match=r"unknown name 'tigr'; did you mean 'Tiger'\?"):
        ANIMALS.id_of("tigr")
    with pytest.raises(LabelError, match=r"position 1: unknown name 'Lyon'; did you mean 'Lion'\?"):
        ANIMALS.ids_of(["Cat", "Lyon"])
    with pytest.raises(LabelError, match="did you mean 3"):
        Taxonomy.from_edges([(1, 3)]).id_of("3")


@pytest.mark.parametrize(
    "name", [None, "", float("nan"), [], {}, np.zeros(2), b"Cat", pytest.param(10**5000, id="huge")]
)
def test_no_name_breaks_the_lookup(name):
    assert name not in ANIMALS
    for ask in (ANIMALS.id_of, ANIMALS.parents, ANIMALS.path, ANIMALS.sub, lambda n: ANIMALS.ids_of([n])):
        with pytest.raises(LabelError):
            ask(name)


@pytest.mark.parametrize("names", [None, 3, "Cat", b"Cat", np.array([["Cat"]]), np.array("Cat")])
def test_ids_of_wants_a_sequence(names):
    with pytest.raises(LabelError, match="names must be"):
        ANIMALS.ids_of(names)


def test_ids_of_takes_any_iterable():
    for names in (["Dog", "Cat"], ("Dog", "Cat"), np.array(["Dog", "Cat"]), iter(["Dog", "Cat"])):
        ids = ANIMALS.ids_of(names)
        assert ids.dtype == np.int32
        assert ids.tolist() == [4, 1]
    assert ANIMALS.ids_of([]).dtype == np.int32


@pytest.mark.parametrize("node", [-1, 5, "Cat", 1.0, None])
def test_name_of_an_unknown_id(node):
    with pytest.raises(LabelError, match="node id"):
        ANIMALS.name_of(node)


def test_a_dag_has_no_parent_array():
    with pytest.raises(TaxonomyError, match="parent is for trees"):
        _ = DIAMOND.parent
    with pytest.raises(TaxonomyError, match="subtree_end is for trees"):
        _ = DIAMOND.subtree_end


def test_frozen():
    with pytest.raises(AttributeError, match="frozen"):
        ANIMALS.depth = None
    with pytest.raises(AttributeError, match="frozen"):
        del ANIMALS.depth
    with pytest.raises(ValueError, match="read-only"):
        ANIMALS.depth[0] = 1
    with pytest.raises(TaxonomyError, match="from_edges"):
        Taxonomy()


@settings(max_examples=50, deadline=None)
@given(taxonomies())
def test_copies_and_pickles(taxonomy):
    assert copy.copy(taxonomy) is taxonomy
    assert copy.deepcopy(taxonomy) is taxonomy
    taxonomy.id_of(taxonomy.root)
    again = pickle.loads(pickle.dumps(taxonomy))
    assert again == taxonomy
    assert hash(again) == hash(taxonomy)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(again, name), getattr(taxonomy, name))
        assert not getattr(again, name).flags.writeable


def test_equality():
    same = Taxonomy.from_edges(ANIMALS.edges)
    assert same == ANIMALS
    assert hash(same) == hash(ANIMALS)
    assert Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Tiger", "Animal/Cow"]) != ANIMALS
    assert Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Tiger", "Animal/Dog"]) != ANIMALS
    assert ANIMALS != "Animal"


def test_numpy_names_become_python_names():
    tree = Taxonomy.from_edges([(np.str_("a"), np.int64(1)), (np.str_("a"), ("x", np.int32(2)))])
    assert [type(name) for name in tree.nodes] == [str, int, tuple]
    assert type(tree.nodes[2][1]) is int


def test_deep_chain():
    """Nothing recurses, nothing is quadratic."""
    n_nodes = 50_000
    chain = Taxonomy.from_edges([(i, i + 1) for i in range(n_nodes - 1)])
    assert chain.nodes == tuple(range(n_nodes))
    assert chain.max_depth == n_nodes - 1
    assert len(chain.path(n_nodes - 1)) == n_nodes
    assert len(chain.descendants(0)) == n_nodes - 1
    assert chain.sub(10).n_nodes == n_nodes - 10
    assert chain.merge_duplicates()[0].n_nodes == 1
    assert chain.to_text(max_nodes=3).endswith("... and 49997 more nodes")
    with pytest.raises(TaxonomyError, match="cycle: 0 -> 1"):
        Taxonomy.from_edges([*chain.edges, (n_nodes - 1, 0)])


def test_structure_loads_neither_scikit_learn_nor_numba():
    names = ["sklearn", "numba", "networkx", "pandas", "narwhals"]
    code = f"import sys, taxolearn.structure; print([name for name in {names} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
