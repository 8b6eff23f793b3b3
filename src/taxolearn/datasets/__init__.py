"""Readers and writers of the file formats of the field, and generators of data of known shape.

Reading and writing: `read_libsvm`, `read_lshtc`, `read_xmc`, `read_arff`, `read_level_table`, `read_jsonl`
return a `Dataset`, and the matching writers take one; `read_edges` and `read_rcv1_topics` return a taxonomy.
Files may be compressed (gz, xz, bz2, zst).

Generating: `make_synthetic_balanced`, `make_synthetic_unbalanced`, `make_text_like` with the published
`SHAPES`, `random_taxonomy`.

Shipped: `load_icd10cm`, short medical texts under the categories of ICD-10-CM.
"""

from __future__ import annotations

from taxolearn.datasets.arff import read_arff, write_arff
from taxolearn.datasets.dataset import Dataset
from taxolearn.datasets.edges import read_edges, read_graph, write_edges, write_graph
from taxolearn.datasets.icd10cm import Icd10cm, load_icd10cm
from taxolearn.datasets.jsonl import read_jsonl, write_jsonl
from taxolearn.datasets.level_table import read_level_table, write_level_table
from taxolearn.datasets.libsvm import read_libsvm, write_libsvm
from taxolearn.datasets.lshtc import read_lshtc, write_lshtc
from taxolearn.datasets.random_taxonomy import random_taxonomy
from taxolearn.datasets.rcv1 import Topics, read_rcv1_topics, write_rcv1_topics
from taxolearn.datasets.shapes import SHAPES, Shape
from taxolearn.datasets.synthetic import make_synthetic_balanced, make_synthetic_unbalanced
from taxolearn.datasets.text_like import make_text_like
from taxolearn.datasets.xmc import read_xmc, write_xmc

__all__ = [
    "SHAPES",
    "Dataset",
    "Icd10cm",
    "Shape",
    "Topics",
    "load_icd10cm",
    "make_synthetic_balanced",
    "make_synthetic_unbalanced",
    "make_text_like",
    "random_taxonomy",
    "read_arff",
    "read_edges",
    "read_graph",
    "read_jsonl",
    "read_level_table",
    "read_libsvm",
    "read_lshtc",
    "read_rcv1_topics",
    "read_xmc",
    "write_arff",
    "write_edges",
    "write_graph",
    "write_jsonl",
    "write_level_table",
    "write_libsvm",
    "write_lshtc",
    "write_rcv1_topics",
    "write_xmc",
]
