"""The label structure: Taxonomy (rooted tree or DAG) and ClassGraph (undirected, weighted)."""

from __future__ import annotations

from taxolearn.structure.class_graph import ClassGraph
from taxolearn.structure.taxonomy import Taxonomy
from taxolearn.structure.terms import Term

__all__ = ["ClassGraph", "Taxonomy", "Term"]
