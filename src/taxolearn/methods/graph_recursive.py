"""What the methods of recursive regularization over a graph share: their tie, solver and certificate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from taxolearn.certificates import Certificate, certify_graph, certify_softmax
from taxolearn.errors import DataError
from taxolearn.losses import Softmax
from taxolearn.methods.inputs import check_number
from taxolearn.methods.progress import pass_reporter
from taxolearn.methods.tied import TiedClassifier
from taxolearn.methods.warm_start import if_of_tie
from taxolearn.models import LinearWeights
from taxolearn.problem import Problem
from taxolearn.regularizers.graph_laplacian import GraphTie, graph_tie
from taxolearn.solvers import Solution, solve_graph, solve_smooth
from taxolearn.structure import ClassGraph
from taxolearn.structure.names import show


class GraphRecursive(TiedClassifier):
    """Base of GraphRecursiveSVM and GraphRecursiveLogistic.

    >>> from taxolearn import GraphRecursiveSVM
    >>> issubclass(GraphRecursiveSVM, GraphRecursive)
    True
    """

    graph: ClassGraph | None
    ridge: float
    pinned: Any

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.graph is not None and not isinstance(self.graph, ClassGraph):
            raise DataError(
                f"graph must be a taxolearn.ClassGraph or None, not {show(self.graph)}; build one with from_edges"
            )
        check_number("ridge", self.ridge)
        if isinstance(self.pinned, str) or not (self.pinned is None or hasattr(self.pinned, "__iter__")):
            raise DataError(f"pinned={show(self.pinned)} is not allowed; give a list of names")

    def _tie(self, problem: Problem) -> GraphTie:
        graph = ClassGraph.from_edges([], nodes=problem.classes) if self.graph is None else self.graph
        pinned = () if self.pinned is None else tuple(self.pinned)
        return graph_tie(graph, problem.classes, ridge=float(self.ridge), pinned=pinned)

    def _tie_arrays(self, tie: GraphTie) -> tuple[Any, ...]:
        precision = tie.precision()
        return tie.class_nodes, tie.pinned, precision.indptr, precision.indices, precision.data

    def _solve(self, problem: Problem, seed: int, verbose: int, start: Any = None) -> Solution:
        tie = self._tie(problem)
        loss = self._loss()
        settings = self._settings(problem, tie, pass_reporter(bool(verbose), float(self.tol)))
        if isinstance(loss, Softmax):
            factor = tie.factor()
            first = if_of_tie(getattr(start, "state", None), factor)
            solution = solve_smooth(problem, loss, factor, float(self.C), start=first, **settings)
            weights = LinearWeights(np.asarray(solution.weights.coef), solution.weights.intercept)
            return replace(solution, weights=weights, details={"state": solution.weights})
        settings |= {"n_jobs": self.n_jobs, "seed": seed}
        if start is not None:
            settings |= {"start": start.dual, "start_nodes": start.state}
        return solve_graph(problem, loss, tie, float(self.C), **settings)

    def _certify(self, problem: Problem, solution: Solution) -> Certificate:
        loss, tie = self._loss(), self._tie(problem)
        prior = self._bias_prior(problem, tie)
        if isinstance(loss, Softmax):
            return certify_softmax(problem, solution, tie, self.C, self._bias_feature, prior)
        return certify_graph(problem, solution, loss, tie, self.C, self._bias_feature, prior)
