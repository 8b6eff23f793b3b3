"""Ties: how the structure holds the weights of classes together; one file each."""

from taxolearn.regularizers.node_weights import node_weights
from taxolearn.regularizers.path_sum import PathSum, flat, merge_nodes, path_sum, with_own_nodes
from taxolearn.regularizers.shared_bound import largest_penalty
from taxolearn.regularizers.shared_weights import shared_weights

__all__ = [
    "PathSum",
    "flat",
    "largest_penalty",
    "merge_nodes",
    "node_weights",
    "path_sum",
    "shared_weights",
    "with_own_nodes",
]
