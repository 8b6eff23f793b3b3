"""Choice of method and parameters on held-out rows."""

from taxolearn.selection.blend import Blend
from taxolearn.selection.selection import LAMBDAS, paper_candidates, select, title
from taxolearn.selection.trials import Selection, Trial

__all__ = ["LAMBDAS", "Blend", "Selection", "Trial", "paper_candidates", "select", "title"]
