"""What the methods of recursive regularization share: their tie, the choice of a solver, warm starts, new classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, cast, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from taxolearn.certificates import Certificate, certify_path_sum, certify_softmax
from taxolearn.errors import DataError
from taxolearn.losses import Softmax
from taxolearn.methods.checkpoint import Checkpoint
from taxolearn.methods.empty_classes import with_borrowed_intercepts
from taxolearn.methods.growing import grown_dual, grown_problem
from taxolearn.methods.inputs import check_positive, check_rows
from taxolearn.methods.progress import pass_reporter
from taxolearn.methods.tied import TiedClassifier
from taxolearn.methods.warm_start import Start, if_of_tie
from taxolearn.problem import Problem
from taxolearn.regularizers import PathSum, flat, node_weights, path_sum, with_own_nodes
from taxolearn.regularizers.node_weights import Rule
from taxolearn.solvers import (
    Progress,
    Solution,
    solve_level_sweep,
    solve_path_descent,
    solve_smooth,
    solve_softmax_rows,
    solve_tree_sweeps,
)
from taxolearn.solvers.rounds import OnPass
from taxolearn.solvers.tree_forest import make_forest
from taxolearn.structure import Taxonomy

SOLVERS = ("auto", "tree", "descent", "newton", "levels")
_DUALS = 2**28  # of a smooth loss, none of them zero: 2 GB
_SMALL = 2**27  # rows x features x classes
_THIN = 0.01  # of a row's features are not zero, as in texts: few rows matter to a class
_UNFOLDING = 8.0  # times as long that the walk over a DAG may be


class Recursive(TiedClassifier):
    """Base of RecursiveSVM and RecursiveLogistic.

    >>> from taxolearn import RecursiveSVM
    >>> issubclass(RecursiveSVM, Recursive)
    True
    """

    _empty_classes: ClassVar[Literal["drop", "keep"]] = "keep"
    weights: Any
    root: str
    inner_labels: str
    solver: str
    node_weights_: npt.NDArray[np.float64]
    _own_weights: npt.NDArray[np.float64]
    checkpoint: str | Path | None
    checkpoint_seconds: float

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_choice("root", ("pinned", "free"))
        self._check_choice("inner_labels", ("own", "shared"))
        self._check_choice("solver", SOLVERS)
        if isinstance(self.weights, str):
            self._check_choice("weights", get_args(Rule))
        elif isinstance(self.weights, dict):
            raise DataError(
                "weights is a dict; give a number for inner nodes, one a node in an array, or a rule"
            )
        elif np.ndim(self.weights) == 0:
            check_positive(weights=self.weights)
        if not isinstance(self.checkpoint, str | PathLike | None):
            raise DataError(f"checkpoint={self.checkpoint!r} is not allowed; give a folder")
        check_positive(checkpoint_seconds=self.checkpoint_seconds)

    def _prepare(self, problem: Problem) -> None:
        self.node_weights_, self._own_weights = self._scales(problem)

    def _inner_classes(self, problem: Problem) -> npt.NDArray[np.intp]:
        """The classes at inner nodes that have a vector of their own."""
        if problem.taxonomy is None or self.inner_labels == "shared":
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero(~problem.taxonomy.is_leaf[problem.class_nodes])

    def _scales(self, problem: Problem) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """a_n of the nodes of the taxonomy, and of the own nodes of classes at inner ones."""
        taxonomy, inner = problem.taxonomy, self._inner_classes(problem)
        own = np.ones(len(inner))
        if taxonomy is None:
            return np.ones(problem.n_classes), own
        if isinstance(self.weights, str):
            return self._rule(taxonomy, problem, inner)
        if np.ndim(self.weights):
            scales = np.array(self.weights, dtype=np.float64)
        else:
            scales = np.full(taxonomy.n_nodes, float(self.weights))
            scales[taxonomy.leaf_ids] = 1.0
        if self.root == "pinned" and len(scales):
            scales[0] = 0.0
        return scales, own

    def _rule(
        self, taxonomy: Taxonomy, problem: Problem, inner: npt.NDArray[np.intp]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """The rule `weights` over the taxonomy in which own nodes are leaves below the nodes of their classes."""
        names = [taxonomy.name_of(node) for node in range(taxonomy.n_nodes)]
        labels = [names[node] for node in problem.class_nodes]
        given, stem = set(names), "own node of"
        while any((stem, labels[k]) in given for k in inner):
            stem += "'"
        leaves = {int(k): (stem, labels[k]) for k in inner}
        whole = taxonomy
        if leaves:
            whole = Taxonomy.from_edges([*taxonomy.edges, *((labels[k], leaf) for k, leaf in leaves.items())])
        nodes = whole.ids_of([leaves.get(k, label) for k, label in enumerate(labels)])
        root, rule = cast(Any, self.root), cast(Any, self.weights)
        found = node_weights(whole, rule, root=root, class_nodes=nodes)
        return found[whole.ids_of(names)], found[nodes[inner]]

    def _tie(self, problem: Problem) -> PathSum:
        if problem.taxonomy is None:
            return flat(problem.n_classes)
        tie = path_sum(problem.taxonomy, problem.class_nodes, self.node_weights_)
        return with_own_nodes(tie, self._inner_classes(problem), self._own_weights)

    def _solver(self, problem: Problem, tie: PathSum) -> Any:
        """The solver asked for, or the one that suits the loss, the structure and the rows."""
        smooth = self.loss in ("logistic", "softmax")
        tree = problem.taxonomy is None or problem.taxonomy.is_tree
        chosen = self.solver
        if chosen == "auto":
            sweeps = not smooth and (self.checkpoint is not None or self._sweeps(problem, tie, tree))
            newton = not self._descends(problem) if smooth else self._is_small(problem)
            newton = newton and self.loss != "hinge" and self.checkpoint is None
            chosen = "tree" if sweeps else "newton" if newton else "descent"
        if self.checkpoint is not None and chosen in ("newton", "levels"):
            raise DataError(
                f"checkpoint needs a solver that goes on from duals, not solver={chosen!r}; use solver='auto'"
            )
        impossible = {
            "tree": smooth,
            "newton": self.loss == "hinge",
            "levels": not tree or self.loss == "softmax",
        }
        if impossible.get(chosen):
            raise DataError(
                f"solver={chosen!r} cannot solve loss={self.loss!r} with root={self.root!r} on this taxonomy; "
                "use solver='auto'"
            )
        return {
            "tree": solve_tree_sweeps,
            "descent": solve_softmax_rows if self.loss == "softmax" else solve_path_descent,
            "newton": solve_smooth,
            "levels": solve_level_sweep,
        }[chosen]

    def _sweeps(self, problem: Problem, tie: PathSum, tree: bool) -> bool:
        """Whether classes are better off without kept vectors and duals, or have no room for them.

        Subtrees of their own are, but for small dense problems: there most rows matter, and Newton's method copes with
        features of very different sizes. Classes that all hang together are where rows are sparse, no high precision
        is asked for and a DAG is not much longer as a tree.
        """
        X, sparse = problem.X, sp.issparse(problem.X)
        if max(X.shape) * problem.n_classes > _DUALS:
            return sparse or tree
        if tree and (problem.taxonomy is None or tie.scale[0] == 0.0):
            return not self._is_small(problem)
        if not sparse:
            return False
        if self.tol < 1e-2 or X.nnz > _THIN * X.shape[0] * X.shape[1]:
            return False
        return make_forest(tie, np.ones(tie.n_classes, dtype=bool)).unfolding <= _UNFOLDING

    def _is_small(self, problem: Problem) -> bool:
        """Dense rows, and a pass over all of them and all classes takes a fraction of a second."""
        return not sp.issparse(problem.X) and problem.X.size * problem.n_classes <= _SMALL

    def _descends(self, problem: Problem) -> bool:
        """Whether ascent on the duals beats Newton's method: sparse rows, no high precision, and room for it."""
        longest = problem.n_rows if self.loss == "logistic" else max(problem.n_rows, problem.n_features)
        return sp.issparse(problem.X) and longest * problem.n_classes <= _DUALS and self.tol >= 1e-4

    def _solve(self, problem: Problem, seed: int, verbose: int, start: Any = None) -> Solution:
        tie = self._tie(problem)
        solve = self._solver(problem, tie)
        report = pass_reporter(bool(verbose), float(self.tol))
        settings = self._settings(problem, tie, report)
        weights, dual = if_of_tie(getattr(start, "state", None), tie), getattr(start, "dual", None)
        trial = problem.n_rows != self.data_["rows"]  # some rows are held out
        if self.checkpoint is not None and not trial:
            folder = Checkpoint(self.checkpoint, self._mark(problem, tie), float(self.checkpoint_seconds))
            last = folder.read()
            dual = dual if last is None else last
            settings["on_pass"] = self._writer(folder, report)
        if solve is solve_smooth:
            settings["start"] = dual if weights is None else weights
        else:
            settings |= {"n_jobs": self.n_jobs, "seed": seed, "start": dual}
        if solve is solve_level_sweep:
            settings["start_weights"] = weights
        solution: Solution = solve(problem, self._loss(), tie, float(self.C), **settings)
        if self.fit_intercept and self.loss != "softmax":
            return replace(solution, weights=with_borrowed_intercepts(problem, tie, solution.weights))
        return solution

    def _writer(self, folder: Checkpoint, report: Any) -> OnPass:
        """Whom a solver tells of its duals after a pass."""

        def on_pass(progress: Progress, dual: Callable[[], sp.csr_array]) -> None:
            if report is not None:
                report(progress)
            if folder.due() or progress.gap <= self.tol:
                folder.write(dual())

        return on_pass

    def _tie_arrays(self, tie: PathSum) -> tuple[Any, ...]:
        return tie.scale, tie.paths.indptr, tie.paths.indices

    def _certify(self, problem: Problem, solution: Solution) -> Certificate:
        loss, tie = self._loss(), self._tie(problem)
        prior = self._bias_prior(problem, tie)
        if isinstance(loss, Softmax):
            return certify_softmax(problem, solution, tie, self.C, self._bias_feature, prior)
        return certify_path_sum(
            problem, solution, loss, tie, self.C, self._bias_feature, prior, self._n_threads
        )

    def add_classes(self, taxonomy: Taxonomy, X_new: Any, y_new: Any, sample_weight: Any = None) -> Self:
        """Learn classes that were added to the taxonomy, from new rows and all the old ones, without starting over.

        `taxonomy` must hold all classes learned so far; classes may have moved, and old leaves may have got
        children. The fit starts from the duals of the last one and ends with the certificate of the whole problem,
        at `tol`. Needs `warm_start=True`, with which the rows of the last fit are kept (not copied, and not saved); one
        new row at least; labels by name; a one-vs-rest loss. An array of `weights` must be set for the new taxonomy
        first. If it fails, the model is as it was.

        >>> from taxolearn import RecursiveSVM
        >>> old = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
        >>> model = RecursiveSVM(old, warm_start=True).fit([[-1.0], [1.0]], ["Cat", "Dog"])
        >>> new = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog", "Animal/Emu"])
        >>> model.add_classes(new, [[9.0]], ["Emu"]).classes_.tolist()
        ['Cat', 'Dog', 'Emu']
        """
        check_is_fitted(self)
        kept = getattr(self, "_kept", None)
        if kept is None or not self.warm_start or self.taxonomy is None or self.loss == "softmax":
            raise DataError(
                "add_classes needs a one-vs-rest loss, a taxonomy, and a fit with warm_start=True, which keeps its rows"
            )
        self._check_parameters()
        rows = check_rows(self, X_new, reset=False)
        problem, y = grown_problem(
            kept.problem, taxonomy, rows, y_new, sample_weight, self.class_weight, self._empty_classes
        )
        dual = grown_dual(kept.problem, problem, kept.dual * (self.C / kept.C))
        before = dict(self.__dict__)
        self.taxonomy = taxonomy
        try:
            return self._fit_problem(problem, y, Start(dual, None))
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)  # the old classes are as they were
            raise
