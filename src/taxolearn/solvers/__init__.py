"""Solvers: what each one needs is in its docstring; all return a Solution."""

from taxolearn.solvers.graph import solve_graph
from taxolearn.solvers.level_sweep import solve_level_sweep
from taxolearn.solvers.one_vs_rest import solve_one_vs_rest
from taxolearn.solvers.path_descent import solve_path_descent
from taxolearn.solvers.pegasos import PegasosSGD, solve_pegasos
from taxolearn.solvers.shared import solve_shared
from taxolearn.solvers.smooth import solve_smooth
from taxolearn.solvers.softmax_rows import solve_softmax_rows
from taxolearn.solvers.solution import Progress, Solution, Status
from taxolearn.solvers.structured import solve_structured
from taxolearn.solvers.tree_sweeps import solve_tree_sweeps

__all__ = [
    "PegasosSGD",
    "Progress",
    "Solution",
    "Status",
    "solve_graph",
    "solve_level_sweep",
    "solve_one_vs_rest",
    "solve_path_descent",
    "solve_pegasos",
    "solve_shared",
    "solve_smooth",
    "solve_softmax_rows",
    "solve_structured",
    "solve_tree_sweeps",
]
