"""The vectors that score rows: one per class, one per node, or left as duals."""

from __future__ import annotations

from taxolearn.vectors.class_vectors import ClassVectors
from taxolearn.vectors.dual_vectors import DualVectors
from taxolearn.vectors.node_vectors import NodeVectors
from taxolearn.vectors.path_vectors import PathVectors
from taxolearn.vectors.scoring import Vectors

__all__ = ["ClassVectors", "DualVectors", "NodeVectors", "PathVectors", "Vectors"]
