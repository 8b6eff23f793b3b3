"""Products of rows through a kernel function: what a dual needs of the rows, and no more."""

from __future__ import annotations

from taxolearn.gram.gram import Gram
from taxolearn.gram.landmarks import Landmarks, landmarks_of
from taxolearn.gram.row_kernel import RowKernel, row_kernel
from taxolearn.gram.row_products import RowProducts, row_products

__all__ = ["Gram", "Landmarks", "RowKernel", "RowProducts", "landmarks_of", "row_kernel", "row_products"]
