"""What the methods of recursive regularization over a graph share: their tie, solver and certificate."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from taxolearn.certificates import Certificate, certify_graph
from taxolearn.errors import DataError
from taxolearn.losses import MarginLoss, margin_loss
from taxolearn.methods.certified import CertifiedClassifier
from taxolearn.methods.inputs import check_number
from taxolearn.methods.intercept_prior import bias_prior
from taxolearn.methods.progress import pass_reporter
from taxolearn.problem import Problem
from taxolearn.regularizers.graph_laplacian import GraphTie, graph_tie
from taxolearn.solvers import Solution, solve_graph
from taxolearn.structure import ClassGraph
from taxolearn.structure.names import show


class GraphRecursive(CertifiedClassifier):
    """Base of GraphRecursiveSVM and GraphRecursiveLogistic.

    >>> from taxolearn import GraphRecursiveSVM
    >>> issubclass(GraphRecursiveSVM, GraphRecursive)
    True
    """

    _losses: tuple[str, ...]

    graph: ClassGraph | None
    loss: str
    ridge: float
    pinned: Any
    intercept_prior: float | str
    warm_start: bool
    _dual: tuple[str, float, sp.csr_array]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_choice("loss", self._losses)
        if self.graph is not None and not isinstance(self.graph, ClassGraph):
            raise DataError(
                f"graph must be a taxolearn.ClassGraph or None, not {show(self.graph)}; build one with from_edges"
            )
        check_number("intercept_prior", self.intercept_prior, "auto")
        check_number("ridge", self.ridge)
        if isinstance(self.pinned, str) or not (self.pinned is None or hasattr(self.pinned, "__iter__")):
            raise DataError(f"pinned={show(self.pinned)} is not allowed; give a list of names")

    def _margin_loss(self) -> MarginLoss:
        return margin_loss(self.loss, self._losses)

    def _tie(self, problem: Problem) -> GraphTie:
        graph = ClassGraph.from_edges([], nodes=problem.classes) if self.graph is None else self.graph
        pinned = () if self.pinned is None else tuple(self.pinned)
        return graph_tie(graph, problem.classes, ridge=float(self.ridge), pinned=pinned)

    def _bias_prior(self, problem: Problem, tie: GraphTie) -> float:
        return bias_prior(self.intercept_prior, self.loss, problem, tie, self._bias_feature)

    def _solve(self, problem: Problem, seed: int, verbose: int, start: Any = None) -> Solution:
        tie = self._tie(problem)
        return solve_graph(
            problem,
            self._margin_loss(),
            tie,
            float(self.C),
            bias_feature=self._bias_feature,
            bias_prior=self._bias_prior(problem, tie),
            tol=float(self.tol),
            max_iter=self._epochs,
            n_jobs=self.n_jobs,
            max_seconds=self.max_seconds,
            seed=seed,
            start=start,
            on_pass=pass_reporter(bool(verbose), float(self.tol)),
        )

    def _certify(self, problem: Problem, solution: Solution) -> Certificate:
        tie = self._tie(problem)
        prior = self._bias_prior(problem, tie)
        return certify_graph(problem, solution, self._margin_loss(), tie, self.C, self._bias_feature, prior)

    def _start(self, problem: Problem) -> sp.csr_array | None:
        """The last dual, where `warm_start` asks for it and rows and labels are the same; C may have changed."""
        kept = getattr(self, "_dual", None)
        if not self.warm_start or kept is None:
            return None
        mark, C, dual = kept
        return dual * (self.C / C) if mark == problem.fingerprint() else None

    def _keep(self, problem: Problem, solution: Solution) -> None:
        if self.warm_start:
            self._dual = (self.data_["fingerprint"], float(self.C), solution.dual)
