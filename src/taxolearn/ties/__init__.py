"""Ties: how the structure holds the vectors of classes together; one file each."""

from taxolearn.ties.base import Tie, TieFacts
from taxolearn.ties.factor import Factor, covariance_tie
from taxolearn.ties.feature_scales import FeaturePathSum
from taxolearn.ties.graph import GraphTie, graph_tie
from taxolearn.ties.orthogonal import OrthogonalTie, orthogonal_tie
from taxolearn.ties.path_sum import PathSum, flat, merge_nodes, on_used_nodes, path_sum, with_own_nodes
from taxolearn.ties.shared import SharedTie, shared_tie
from taxolearn.ties.transfer import transfer_tie

__all__ = [
    "Factor",
    "FeaturePathSum",
    "GraphTie",
    "OrthogonalTie",
    "PathSum",
    "SharedTie",
    "Tie",
    "TieFacts",
    "covariance_tie",
    "flat",
    "graph_tie",
    "merge_nodes",
    "on_used_nodes",
    "orthogonal_tie",
    "path_sum",
    "shared_tie",
    "transfer_tie",
    "with_own_nodes",
]
