"""Why a row got its class."""

from taxolearn.explain.explain import ExplainedRow, explain, explain_row, one_row
from taxolearn.explain.explanation import Explanation, NodeExplanation, Stop

__all__ = ["ExplainedRow", "Explanation", "NodeExplanation", "Stop", "explain", "explain_row", "one_row"]
