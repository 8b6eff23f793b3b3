"""Checks that a new loss, tie, solver, decoder or method must pass; the suite runs them over all of the registry."""

from taxolearn.testing.decoders import check_decoder
from taxolearn.testing.losses import check_loss
from taxolearn.testing.methods import check_method
from taxolearn.testing.solvers import check_solver
from taxolearn.testing.ties import check_tie

__all__ = ["check_decoder", "check_loss", "check_method", "check_solver", "check_tie"]
