"""Figures that papers and our own pages print, and a way to run them again: each is a row of `figures.csv`."""

from __future__ import annotations

from taxolearn.reproduce.figures import Figure, figures, of_table
from taxolearn.reproduce.outcomes import Outcome, judge
from taxolearn.reproduce.running import find_scripts, rerun

__all__ = ["Figure", "Outcome", "figures", "find_scripts", "judge", "of_table", "rerun"]
