"""Solvers: what each one needs is in its docstring; all return a Solution."""

from taxolearn.solvers.one_vs_rest import solve_one_vs_rest
from taxolearn.solvers.solution import Progress, Solution, Status

__all__ = ["Progress", "Solution", "Status", "solve_one_vs_rest"]
