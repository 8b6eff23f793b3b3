"""Vectors of classes on a graph whose edges pull them together."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from taxolearn.certificates.columns import ClassColumns
from taxolearn.certificates.rounding import TINY, Array, Ball, gamma, norm_bounds, pairwise
from taxolearn.certificates.scores import Rows
from taxolearn.certificates.sums import Adjoint, sum_errors, vector_sums
from taxolearn.engines import Run
from taxolearn.objective import Objective
from taxolearn.solvers.base import Solution
from taxolearn.ties.graph import GraphTie

_BLOCK_BYTES = 32 * 2**20  # of vectors at a time


class GraphSide:
    """Penalty 1/2 (sum over edges e_ij ||w_i - w_j||^2 + ridge sum_i ||w_i||^2) and square tr(V' Q^-1 V).

    Q is the Laplacian plus the ridge, pinned nodes left out. Latent nodes get the vectors that make the penalty least.

    >>> from taxolearn import ClassGraph
    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.solvers import Status
    >>> from taxolearn.ties import graph_tie
    >>> from taxolearn.vectors import ClassVectors
    >>> tie = graph_tie(ClassGraph.from_edges([("a", "b", 3.0)]), ["a", "b"], ridge=1.0)
    >>> objective = Objective(make_problem([[0.0], [1.0]], ["a", "b"]), Hinge(), tie)
    >>> coef = np.array([[1.0], [2.0]])
    >>> solution = Solution(ClassVectors(coef, np.zeros(2)), sp.csr_array((2, 2)), Status.CONVERGED, 0)
    >>> GraphSide(objective, solution).penalty().value  # 1/2 (3 (1 - 2)^2 + 1^2 + 2^2)
    4.0
    """

    independent = False
    offset = 0.0
    slack = 0.0

    def __init__(self, objective: Objective, solution: Solution) -> None:
        self.tie: GraphTie = objective.tie
        vectors: Any = solution.vectors
        self.columns = ClassColumns(vectors.coef)
        self.tied = objective.bias_feature if objective.loss.facts.tied_bias else 0.0
        self.bias = (vectors.intercept / self.tied)[:, None] if self.tied else None
        self.edges = _Edges(self.tie)

    def penalty(self) -> Ball:
        """The least penalty of node vectors that agree with the classes' and are zero at pinned nodes."""
        found = self._penalty(self.columns.coef)
        if self.bias is None:
            return found
        more = self._penalty(self.bias)
        return found + Ball(more.value, more.error + gamma(4) * more.value)

    def _penalty(self, coef: Any) -> Ball:
        tie, edges = self.tie, self.edges
        known = tie.pinned.copy()
        known[tie.class_nodes] = True
        latent = np.flatnonzero(~known)
        at_pinned = coef[np.flatnonzero(tie.pinned[tie.class_nodes])]
        if at_pinned.nnz if sp.issparse(at_pinned) else np.any(at_pinned != 0):
            return Ball(np.inf)
        system = _System(edges, latent)
        total, above = Ball(0.0), 0.0
        width = max(1, _BLOCK_BYTES // (32 * (edges.n_nodes + edges.n_edges)))
        for first in range(0, coef.shape[1], width):
            block = coef[:, first : first + width]
            nodes = np.zeros((edges.n_nodes, block.shape[1]))
            nodes[tie.class_nodes] = block.toarray() if sp.issparse(block) else block
            if len(latent):
                nodes[latent] = system.solve(-edges.products(nodes)[0][latent])
            total = total + edges.square(nodes)
            if len(latent):  # the best latent vectors are those without a gradient
                gradient, error = edges.products(nodes)
                rest = np.abs(gradient[latent]) + error[latent]
                above += 0.5 * system.inverse_norm * float(np.sum(rest * rest))
        return Ball(0.5 * total.value, 0.5 * total.error + above)

    def square(self, adjoint: Adjoint, rows: Rows, run: Run) -> Ball:
        """tr(V' Q^-1 V): for any Z and R = V - Q Z it is tr(Z' Q Z) + 2 tr(Z' R) + tr(R' Q^-1 R)."""
        vectors, terms = vector_sums(adjoint.under(None), rows.X)
        vectors = vectors.toarray() if sp.issparse(vectors) else vectors
        found = self._square(np.asarray(vectors), sum_errors(None, adjoint, rows, terms))
        if not self.tied:
            return found
        sums = adjoint.sums * self.tied
        return found + self._square(sums.value[:, None], sums.error)

    def _square(self, vectors: Array, errors: Array) -> Ball:
        """The square of vectors of classes, whose norms are off by at most `errors`."""
        tie, edges = self.tie, self.edges
        free = np.flatnonzero(~tie.pinned[tie.class_nodes])
        at = tie.class_nodes[free]
        if not len(free):
            return Ball(0.0)
        if not np.isfinite(vectors).all():
            return Ball(np.nan, np.inf)
        system = _System(edges, tie.free)
        total, norms, residual = Ball(0.0), np.zeros(len(free)), 0.0
        width = max(1, _BLOCK_BYTES // (32 * (edges.n_nodes + edges.n_edges)))
        for first in range(0, vectors.shape[1], width):
            right = np.zeros((edges.n_nodes, len(vectors[0, first : first + width])))
            right[at] = vectors[free, first : first + width]
            nodes = np.zeros_like(right)
            nodes[tie.free] = system.solve(right[tie.free])
            products, error = edges.products(nodes)
            rest = np.where(tie.pinned[:, None], 0.0, right - products)
            error = np.where(tie.pinned[:, None], 0.0, error + gamma(2) * (np.abs(right) + np.abs(products)))
            both = nodes * rest
            rounding = gamma(pairwise(both.size)) * float(np.abs(both).sum())
            lost = float(np.sum(np.abs(nodes) * error)) + rounding
            total = total + edges.square(nodes) + Ball(2 * float(both.sum()), 2 * lost)
            residual += float(np.sum((np.abs(rest) + error) ** 2))
            norms += np.add.reduce(nodes[at] ** 2, axis=1)
        inverse = system.inverse_norm
        last = inverse * residual  # of tr(R' Q^-1 R), which lies between 0 and this
        longer = norm_bounds(norms, vectors.shape[1]) + inverse * np.sqrt(residual)
        moved = 2 * float(longer @ errors[free]) + inverse * float(np.sum(errors[free] ** 2))
        return Ball(total.value, total.error + last + moved) if np.any(vectors) else Ball(0.0)


class _Edges:
    """The edges one by one: the Laplacian's own products would lose what neighbours have in common."""

    def __init__(self, tie: GraphTie) -> None:
        graph = tie.graph
        self.ridge, self.n_nodes = tie.ridge, graph.n_nodes
        start = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
        once = start < graph.indices
        ends = start[once], graph.indices[once]
        self.weights, self.n_edges = graph.weights[once], int(once.sum())
        number = np.arange(self.n_edges)
        shape = (self.n_edges, self.n_nodes)
        tail, head = (
            sp.csr_array((np.full(self.n_edges, sign), (number, end)), shape=shape)
            for sign, end in zip((1.0, -1.0), ends, strict=True)
        )
        self.differences = sp.csr_array(tail + head)
        self.onto = sp.csr_array(self.differences.T)
        self.most = float(np.diff(graph.indptr).max(initial=0))  # edges at one node
        self.precision = sp.csr_array(graph.laplacian() + tie.ridge * sp.eye_array(graph.n_nodes))

    def products(self, nodes: Array) -> tuple[Array, Array]:
        """Q nodes, pinned ones included, and bounds on the errors."""
        pulls = self.weights[:, None] * (self.differences @ nodes)
        ridges = self.ridge * nodes
        sizes = abs(self.onto) @ np.abs(pulls) + np.abs(ridges)
        return self.onto @ pulls + ridges, gamma(self.most + 5.0) * sizes + (self.most + 1.0) * TINY

    def square(self, nodes: Array) -> Ball:
        """tr(nodes' Q nodes)."""
        differences = self.differences @ nodes
        pulled = float(np.sum(self.weights * np.add.reduce(differences * differences, axis=1)))
        held = self.ridge * float(np.sum(nodes * nodes))
        value = pulled + held
        terms = nodes.size + differences.size
        return Ball(value, gamma(2 * pairwise(terms) + 8) * value + terms * TINY * (value > 0))


class _System:
    """Q on some of the nodes: how to solve it, and a bound on the norm of its inverse."""

    def __init__(self, edges: _Edges, nodes: npt.NDArray[np.intp]) -> None:
        self.edges, self.nodes = edges, nodes
        self._factors = splu(sp.csc_array(edges.precision[nodes][:, nodes])) if len(nodes) else None

    def solve(self, right: Array) -> Array:
        """Nearly Q^-1 right."""
        assert self._factors is not None
        return np.asarray(self._factors.solve(np.ascontiguousarray(right)))

    @property
    def inverse_norm(self) -> float:
        """||Q^-1|| <= max z / min Q z for any z > 0 with Q z > 0, because no entry beside the diagonal is positive."""
        if not len(self.nodes):
            return 0.0
        z = np.zeros((self.edges.n_nodes, 1))
        z[self.nodes] = self.solve(np.ones((len(self.nodes), 1)))
        found, error = self.edges.products(z)
        least = float((found - error)[self.nodes].min())
        if least > 0 and float(z[self.nodes].min()) > 0:
            return 1.0001 * float(z.max()) / least
        return 1.0001 / self.edges.ridge if self.edges.ridge > 0 else np.inf
