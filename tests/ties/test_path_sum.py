"""Path sums: what they refuse, and the tree they remember."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from taxolearn import ClassGraph, Taxonomy
from taxolearn.errors import DataError
from taxolearn.ties import PathSum, flat, graph_tie, path_sum


def test_a_matrix_of_other_numbers_is_no_path() -> None:
    lower = graph_tie(ClassGraph.from_edges([("a", "b")]), ["a", "b"], ridge=0.5).factor()
    for matrix in (lower, sp.csr_array(2.0 * np.eye(2)), sp.csr_array(np.array([[1.0, -1.0]]))):
        with pytest.raises(DataError, match="paths must be a matrix of ones"):
            PathSum(matrix, np.ones(matrix.shape[1]))


def test_parents_and_seats() -> None:
    tree = Taxonomy.from_paths(["all/cat/lion", "all/cat/lynx", "all/dog"])
    tie = path_sum(tree, tree.ids_of(["lion", "lynx", "cat", "dog"]), np.ones(tree.n_nodes))
    assert tie.parents is not None
    for node in range(1, tree.n_nodes):
        assert tie.parents[node] == tree.parent[node]
    assert tie.seats.tolist() == tree.ids_of(["lion", "lynx", "cat", "dog"]).tolist()
    dag = Taxonomy.from_edges([*tree.edges, ("dog", "lynx")])
    both = path_sum(dag, dag.ids_of(["lion", "lynx", "dog"]), np.ones(dag.n_nodes))
    assert both.parents is None
    assert (both.facts.tree, tie.facts.tree, flat(3).facts.tree) == (False, True, True)
