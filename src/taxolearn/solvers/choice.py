"""Which solver: the one asked for, if it can, or the one that suits the facts of loss, tie and rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from taxolearn.errors import DataError
from taxolearn.objective import Objective
from taxolearn.problem import Problem
from taxolearn.solvers.base import Limits, Requires, Solution
from taxolearn.solvers.side_by_side import suits_side_by_side

_MOST_DUALS = 2**28  # kept dense: 2 GB
_SMALL = 2**27  # rows x features x classes of a pass that takes a fraction of a second
_THIN = 0.01  # share of a row's features that are not zero, as in texts: few rows matter to a class
_MOST_UNFOLDING = 8.0  # times as long that the walk over a DAG may be
# features whose unevenness (see `taxolearn.problem.scale`) is above are beyond ascent on the duals: from 20 on a
# structured hinge was left at gaps of 0.3 and more after 1,000 passes, and other losses from 200 on
_UNEVEN = {"structured": 16.0, "siblings": 16.0, "margin": 100.0, "softmax": 100.0}
_FAIRLY_EVEN = 64.0  # up to here an ascent with Newton steps at its end mostly takes a third of the time
_MOST_WORK = 2**29  # multiplications of a step by dense linear algebra; 30 such steps take about 3 seconds
# of these losses ascent on the duals may take hundreds of passes; up to this work a step of an interior point takes a
# few milliseconds, and a dozen of them are enough
_SLOW_ASCENT, _TINY_WORK = ("structured", "siblings"), 2**21
MOST_DECOMPOSED = 4096  # rows or features, whichever are fewer: a decomposition takes about 20 seconds
_MOST_PRICED = 2**22  # rows x classes, and classes, for which a dozen arrays are kept,
_MOST_COVARIANCE = 2**10  # and whose covariance is inverted in a fraction of a second
_MOST_CURVATURE = 2**24  # numbers in the second derivatives of all rows: 128 MB
_LBFGS_PRECISION = 1e-5  # tolerances below it are better reached by Newton's method on dense rows too,
_FEW_PRODUCTS = 2**14  # and any where rows x features x classes are fewer: it takes fewer steps
_HIGH_PRECISION = 1e-4  # tolerances below it are better reached by Newton's method than by dual ascent
_SWEEPS_PRECISION = (
    1e-2  # tolerances below it are better reached with kept vectors than by sweeps over a whole tree
)


class Solver(NamedTuple):
    """A solver by its name: `solve(objective, limits, start, watch)`, and what it requires of an objective.

    >>> SOLVERS["newton"].requires.smooth
    True
    """

    name: str
    solve: Callable[..., Solution]
    requires: Requires


# where each solver lives: a module, and its function
_HOMES = {
    "one_vs_rest": ("one_vs_rest", "solve_one_vs_rest"),
    "tree": ("tree_sweeps", "solve_tree_sweeps"),
    "descent": ("path_descent", "solve_path_descent"),
    "newton": ("newton", "solve_newton"),
    "lbfgs": ("quasi_newton", "solve_quasi_newton"),
    "levels": ("level_sweep", "solve_level_sweep"),
    "graph": ("graph", "solve_graph"),
    "blocks": ("covariance_sweep", "solve_covariance_sweep"),
    "softmax_rows": ("softmax_rows", "solve_softmax_rows"),
    "rows_then_newton": ("rows_then_newton", "solve_rows_then_newton"),
    "dual": ("structured", "solve_structured"),
    "kernel_rows": ("kernel_rows", "solve_kernel_rows"),
    "kernel_siblings": ("kernel_siblings", "solve_kernel_siblings"),
    "pegasos": ("pegasos", "solve_pegasos"),
    "sets": ("sets", "solve_sets"),
    "relaxed_sets": ("relaxed_sets", "solve_relaxed_sets"),
    "shared": ("shared", "solve_shared"),
    "siblings": ("siblings", "solve_siblings"),
    "averaging": ("dual_averaging", "solve_dual_averaging"),
    "interior": ("interior", "solve_interior"),
    "proximal": ("proximal", "solve_proximal"),
    "ascent_first": ("ascent_first", "solve_ascent_first"),
    "interior_signs": ("interior_signs", "solve_interior_signs"),
    "decomposition": ("ridge", "solve_ridge"),
    "gradients": ("ridge_gradients", "solve_ridge_gradients"),
    "kernel_ridge": ("kernel_ridge", "solve_kernel_ridge"),
}


# what a name stands for where the loss is of this kind
_BY_KIND = {
    ("descent", "softmax"): "softmax_rows",
    ("dual", "siblings"): "siblings",
    ("dual", "sets"): "sets",
    ("dual", "relaxed_sets"): "relaxed_sets",
}


# where an ascent may take too long, and another solver may follow
_IN_TURN = {"softmax": "rows_then_newton"}

# what a solver is called where the penalty has absolute products
_BY_SIGNS = {"interior": "interior_signs"}

# what a solver is called where rows are known by a kernel
_BY_KERNEL = {"dual": "kernel_rows", "siblings": "kernel_siblings", "decomposition": "kernel_ridge"}


class _Solvers(Mapping[str, Solver]):
    """Solvers by name; a module is loaded when its solver is asked for."""

    def __getitem__(self, name: str) -> Solver:
        module, function = _HOMES[name]
        home = import_module(f"taxolearn.solvers.{module}")
        return Solver(name, getattr(home, function), home.REQUIRES)

    def __iter__(self) -> Iterator[str]:
        return iter(_HOMES)

    def __len__(self) -> int:
        return len(_HOMES)


SOLVERS: Mapping[str, Solver] = _Solvers()


def choose_solver(
    objective: Objective,
    limits: Limits,
    asked: str = "auto",
    *,
    among: Sequence[str],
    checkpoint: bool = False,
    begun: bool = False,
) -> Solver:
    """The solver asked for, or with "auto" the one `among` these names that suits best.

    "descent" stands for "softmax_rows" where the loss is softmax, "dual" for "siblings" where it compares siblings,
    "sets" where it is over sets, and all of them for those that take a kernel where rows are known by one. With a
    `checkpoint` the solver must be able to go on from duals; with duals that were `begun` it should. An objective that
    lacks what the solver asked for requires, or all of them, is an error.

    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> objective = Objective(make_problem([[0.0], [1.0]], ["a", "b"]), Hinge(), flat(2))
    >>> choose_solver(objective, Limits(), among=("newton", "descent")).name
    'descent'
    >>> choose_solver(objective, Limits(), "graph", among=("graph", "descent"))
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: solver='graph' needs a graph of classes; use solver='auto'
    """
    if asked != "auto":
        if asked not in among:
            raise DataError(
                f"solver={asked!r} is not one of {', '.join(map(repr, among))}; use solver='auto'"
            )
        solver, lacking = _named(asked, objective, checkpoint)
        if lacking is not None:
            raise DataError(f"{lacking}; use solver='auto'")
        return solver
    first_lacking = ""
    for name in _by_preference(objective, limits, among, checkpoint, begun):
        solver, lacking = _named(name, objective, checkpoint)
        if lacking is None:
            return solver
        first_lacking = first_lacking or lacking
    raise DataError(f"no solver can do this: {first_lacking}")


def _by_preference(
    objective: Objective, limits: Limits, among: Sequence[str], checkpoint: bool, begun: bool
) -> Iterator[str]:
    """The names, what suits first; one-vs-rest where a method puts it first."""
    may_be_interior = "interior" in among and not checkpoint
    if among[0] == "one_vs_rest" and suits_side_by_side(objective):
        yield among[0]  # whose Newton steps cope with features of any size
    if may_be_interior and suits_interior(objective, begun):
        yield "ascent_first" if _ascent_may_end(objective) else "interior"
    elif may_be_interior and _suits_proximal(objective):
        yield "ascent_first"
    among = [name for name in among if name != "interior"]  # elsewhere only where no other can
    if among[0] == "one_vs_rest":
        yield among[0]
    suited = _suited(objective, limits, checkpoint) if len(among) > 1 else among[0]
    if suited == "newton" and "blocks" in among and not objective.loss.facts.smooth:
        suited = "blocks"
    if suited == "descent" and "newton" in among and not checkpoint:
        yield _IN_TURN.get(objective.loss.facts.kind, suited)
    if suited in among:
        yield suited
    yield from (name for name in among if name != suited)
    if may_be_interior:
        yield "interior"  # slow, and still better than nothing


def _named(name: str, objective: Objective, checkpoint: bool) -> tuple[Solver, str | None]:
    """The solver that a name stands for, and in words what it lacks."""
    stands_for = _BY_KIND.get((name, objective.loss.facts.kind), name)
    if objective.tie.facts.absolute:
        stands_for = _BY_SIGNS.get(stands_for, stands_for)
    if objective.problem.products is not None:
        stands_for = _BY_KERNEL.get(stands_for, stands_for)
    solver = SOLVERS[stands_for]
    missing = solver.requires.missing(objective)
    if missing is not None:
        return solver, f"solver={name!r} needs {missing}"
    if checkpoint and not solver.requires.starts:
        return solver, f"checkpoint needs a solver that goes on from duals, not solver={name!r}"
    return solver, None


def _suited(objective: Objective, limits: Limits, checkpoint: bool) -> str:
    """The name of what suits, whether or not it can be had."""
    loss, tie = objective.loss.facts, objective.tie.facts
    if tie.learned:
        return "shared"
    if loss.kind in ("structured", "siblings", "sets", "relaxed_sets"):
        return "dual"
    if loss.kind == "square":
        if objective.problem.products is not None:
            return "decomposition"
        return "decomposition" if decomposes(objective.problem) and not checkpoint else "gradients"
    if tie.precision:
        return "graph" if loss.kind == "margin" else _smooth(objective, limits)
    if not tie.paths:
        return _smooth(objective, limits)
    if loss.sparse_dual and (checkpoint or _sweeps(objective, limits)):
        return "tree"
    newton = _is_small(objective.problem) if loss.sparse_dual else not _ascends(objective, limits)
    return _smooth(objective, limits) if newton and loss.smooth and not checkpoint else "descent"


def _smooth(objective: Objective, limits: Limits) -> str:
    """Quasi-Newton steps on dense rows down to the gap from which on Newton's method is faster, and it elsewhere."""
    problem = objective.problem
    if sp.issparse(problem.X) or problem.X.size * problem.n_classes < _FEW_PRODUCTS:
        return "newton"
    return "lbfgs" if limits.tol >= _LBFGS_PRECISION else "newton"


def _sweeps(objective: Objective, limits: Limits) -> bool:
    """Whether classes are better off without kept vectors and duals, or have no room for them.

    Subtrees of their own are, but for small dense problems: there most rows matter, and Newton's method copes with
    features of very different sizes. Classes that all hang together are where rows are sparse, no high precision is
    asked for and a DAG is not much longer as a tree.
    """
    problem, tie = objective.problem, objective.tie
    X, sparse = problem.X, sp.issparse(problem.X)
    if max(X.shape) * problem.n_classes > _MOST_DUALS:
        return bool(sparse or tie.facts.tree)
    if tie.facts.tree and _falls_apart(tie):
        return not _is_small(problem)
    if not sparse or limits.tol < _SWEEPS_PRECISION or X.nnz > _THIN * X.shape[0] * X.shape[1]:
        return False
    from taxolearn.solvers.tree_forest import make_forest

    return make_forest(tie, np.ones(tie.n_classes, dtype=bool)).unfolding <= _MOST_UNFOLDING


def _falls_apart(tie: Any) -> bool:
    """Whether the tree of a path sum has several tops, or one without a vector."""
    used = np.bincount(tie.paths.indices, minlength=tie.n_nodes) > 0
    tops = np.flatnonzero(used & (tie.parents < 0))
    return not tie.facts.shares or len(tops) != 1 or bool(tie.scale[tops[0]] == 0)


def suits_interior(objective: Objective, begun: bool = True) -> bool:
    """Whether dense rows have columns too different for other solvers, and are few enough for dense linear algebra; or
    are so few that a dozen steps of it take less than the passes of an ascent, unless that was `begun`.

    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> X = np.array([[0.0, 1.0], [1.0, 2.0]])
    >>> [suits_interior(Objective(make_problem(X * [1.0, s], ["a", "b"]), Hinge(), flat(2))) for s in (1.0, 1e6)]
    [False, True]
    """
    problem, kind = objective.problem, objective.loss.facts.kind
    if sp.issparse(problem.X) or problem.products is not None or kind not in _UNEVEN:
        return False
    n, classes, width = problem.n_rows, objective.n_units, problem.n_features + 1
    apart = kind == "margin" and not objective.tie.facts.shares
    size, blocks = (width, classes) if apart else (width * classes, 1)
    work = blocks * (0.5 * n * float(size) ** 2 + float(size) ** 3 / 3)
    if kind in _SLOW_ASCENT and work <= _TINY_WORK and not begun:
        return True
    few = work <= _MOST_WORK and n * classes * (1 if apart else classes) <= _MOST_CURVATURE
    return few and problem.scales.unevenness(objective.bias_feature or np.inf) > _UNEVEN[kind]


def _ascent_may_end(objective: Objective) -> bool:
    """Whether an ascent on the duals of a structured hinge is worth trying before interior points."""
    uneven = objective.problem.scales.unevenness(objective.bias_feature or np.inf)
    return objective.loss.facts.kind == "structured" and objective.tie.facts.paths and uneven <= _FAIRLY_EVEN


def _suits_proximal(objective: Objective) -> bool:
    """Whether rows of a structured hinge are dense, and neither so few nor so many that steps on all of them at once
    are no help to an ascent."""
    problem, tie = objective.problem, objective.tie.facts
    if sp.issparse(problem.X) or problem.products is not None or objective.loss.facts.kind != "structured":
        return False
    small = problem.n_rows * problem.n_classes <= _MOST_PRICED and problem.n_classes <= _MOST_COVARIANCE
    return small and tie.paths and not tie.learned and problem.X.size * problem.n_classes > _TINY_WORK


def decomposes(problem: Problem) -> bool:
    """Whether the rows, or the features, are few enough for a decomposition of them.

    >>> from taxolearn.problem import make_problem
    >>> decomposes(make_problem([[0.0], [1.0]], ["a", "b"]))
    True
    """
    fewest = problem.n_rows if problem.products is not None else min(problem.n_rows, problem.n_features + 1)
    return fewest <= MOST_DECOMPOSED


def _is_small(problem: Problem) -> bool:
    """Dense rows, and a pass over all of them and all classes takes a fraction of a second."""
    return not sp.issparse(problem.X) and problem.X.size * problem.n_classes <= _SMALL


def _ascends(objective: Objective, limits: Limits) -> bool:
    """Whether ascent on the duals beats Newton's method: sparse rows, no high precision, and room for it."""
    problem, margin = objective.problem, objective.loss.facts.kind == "margin"
    longest = problem.n_rows if margin else max(problem.n_rows, problem.n_features)
    few = longest * problem.n_classes <= _MOST_DUALS
    return sp.issparse(problem.X) and few and limits.tol >= _HIGH_PRECISION
