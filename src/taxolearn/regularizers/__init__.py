"""Ties: how the structure holds the weights of classes together; one file each."""

from taxolearn.regularizers.path_sum import PathSum, flat, path_sum

__all__ = ["PathSum", "flat", "path_sum"]
