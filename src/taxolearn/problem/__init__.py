"""From what users hand in to one checked Problem."""

from taxolearn.problem.aligned import align_labels
from taxolearn.problem.inputs import Matrix, check_matrix
from taxolearn.problem.labels import Labels, encode_labels
from taxolearn.problem.problem import Problem, make_problem

__all__ = ["Labels", "Matrix", "Problem", "align_labels", "check_matrix", "encode_labels", "make_problem"]
