"""The label structure: Taxonomy (rooted tree or DAG) and ClassGraph (undirected, weighted)."""

from __future__ import annotations

from taxolearn.structure.class_graph import ClassGraph
from taxolearn.structure.taxonomy import Taxonomy

__all__ = ["ClassGraph", "Taxonomy"]
