"""The vectors that score rows: one per class, one per node, left as duals, or in the space of a kernel."""

from __future__ import annotations

from taxolearn.vectors.class_vectors import ClassVectors
from taxolearn.vectors.dual_vectors import DualVectors
from taxolearn.vectors.kernel_vectors import KernelVectors
from taxolearn.vectors.node_vectors import NodeVectors
from taxolearn.vectors.path_vectors import PathVectors
from taxolearn.vectors.scoring import Terms, Vectors
from taxolearn.vectors.widening import widened, with_unused_nodes

__all__ = [
    "ClassVectors",
    "DualVectors",
    "KernelVectors",
    "NodeVectors",
    "PathVectors",
    "Terms",
    "Vectors",
    "widened",
    "with_unused_nodes",
]
