"""Scales a_n of the nodes of a taxonomy: by rule, normalised, or learned."""

from taxolearn.scales.rules import node_weights
from taxolearn.scales.shared_bound import largest_penalty
from taxolearn.scales.shared_scales import shared_scales

__all__ = ["largest_penalty", "node_weights", "shared_scales"]
