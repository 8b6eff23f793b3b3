"""Solvers: `solve_xxx(objective, limits, start, watch) -> Solution`; what each requires stands in its REQUIRES."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from taxolearn.solvers.base import Limits, Progress, Requires, Solution, Start, Status, Watch

if TYPE_CHECKING:
    from taxolearn.solvers.covariance_sweep import solve_covariance_sweep
    from taxolearn.solvers.dual_averaging import RegularizedDualAveraging, solve_dual_averaging
    from taxolearn.solvers.graph import solve_graph
    from taxolearn.solvers.interior import solve_interior
    from taxolearn.solvers.kernel_ridge import solve_kernel_ridge
    from taxolearn.solvers.level_sweep import solve_level_sweep
    from taxolearn.solvers.newton import solve_newton
    from taxolearn.solvers.one_vs_rest import solve_one_vs_rest
    from taxolearn.solvers.path_descent import solve_path_descent
    from taxolearn.solvers.pegasos import PegasosSGD, solve_pegasos
    from taxolearn.solvers.quasi_newton import solve_quasi_newton
    from taxolearn.solvers.ridge import solve_ridge
    from taxolearn.solvers.ridge_gradients import solve_ridge_gradients
    from taxolearn.solvers.sets import solve_sets
    from taxolearn.solvers.shared import solve_shared
    from taxolearn.solvers.siblings import solve_siblings
    from taxolearn.solvers.softmax_rows import solve_softmax_rows
    from taxolearn.solvers.structured import solve_structured
    from taxolearn.solvers.tree_sweeps import solve_tree_sweeps

# Where each solver lives. Loaded on first use: most fits need one.
_HOMES = {
    "PegasosSGD": "pegasos",
    "RegularizedDualAveraging": "dual_averaging",
    "solve_dual_averaging": "dual_averaging",
    "solve_covariance_sweep": "covariance_sweep",
    "solve_graph": "graph",
    "solve_interior": "interior",
    "solve_kernel_ridge": "kernel_ridge",
    "solve_level_sweep": "level_sweep",
    "solve_newton": "newton",
    "solve_one_vs_rest": "one_vs_rest",
    "solve_path_descent": "path_descent",
    "solve_pegasos": "pegasos",
    "solve_quasi_newton": "quasi_newton",
    "solve_relaxed_sets": "relaxed_sets",
    "solve_sets": "sets",
    "solve_ridge": "ridge",
    "solve_ridge_gradients": "ridge_gradients",
    "solve_shared": "shared",
    "solve_siblings": "siblings",
    "solve_softmax_rows": "softmax_rows",
    "solve_structured": "structured",
    "solve_tree_sweeps": "tree_sweeps",
}

__all__ = [
    "Limits",
    "PegasosSGD",
    "Progress",
    "RegularizedDualAveraging",
    "Requires",
    "Solution",
    "Start",
    "Status",
    "Watch",
    "solve_covariance_sweep",
    "solve_dual_averaging",
    "solve_graph",
    "solve_interior",
    "solve_kernel_ridge",
    "solve_level_sweep",
    "solve_newton",
    "solve_one_vs_rest",
    "solve_path_descent",
    "solve_pegasos",
    "solve_quasi_newton",
    "solve_ridge",
    "solve_ridge_gradients",
    "solve_sets",
    "solve_shared",
    "solve_siblings",
    "solve_softmax_rows",
    "solve_structured",
    "solve_tree_sweeps",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"taxolearn.solvers.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'taxolearn.solvers' has no attribute {name!r}")
