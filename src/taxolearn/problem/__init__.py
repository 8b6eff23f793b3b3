"""From what users hand in to one checked Problem."""

from taxolearn.problem.labels import Labels, align_labels, encode_labels

__all__ = ["Labels", "align_labels", "encode_labels"]
