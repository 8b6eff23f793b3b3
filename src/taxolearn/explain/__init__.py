"""Why a row got its class."""

from taxolearn.explain.explain import ExplainedRow, explain, explain_row, one_row
from taxolearn.explain.explanation import Explanation, NodeExplanation

__all__ = ["ExplainedRow", "Explanation", "NodeExplanation", "explain", "explain_row", "one_row"]
