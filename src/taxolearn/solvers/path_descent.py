"""Dual coordinate descent for one-vs-rest losses over path sums on any tree or DAG, with dense node vectors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import ThreadEngine
from taxolearn.losses import MarginLoss
from taxolearn.models import NodeWeights
from taxolearn.problem import Problem
from taxolearn.regularizers import PathSum
from taxolearn.solvers.rounds import OnPass, Rounds, run_rounds
from taxolearn.solvers.solution import Solution
from taxolearn.solvers.tied_classes import TiedClasses

Group = npt.NDArray[np.int64]

_VISIT_EPOCHS = 15  # of one class before the next: enough for a Newton step on its free duals at the end


def solve_path_descent(
    problem: Problem,
    loss: MarginLoss,
    tie: PathSum,
    C: float,
    *,
    bias_feature: float = 1.0,
    bias_prior: float = 0.0,
    tol: float = 1e-4,
    max_iter: int = 1000,
    n_jobs: int | None = None,
    max_seconds: float | None = None,
    seed: int = 0,
    start: sp.csr_array | None = None,
    on_pass: OnPass | None = None,
) -> Solution:
    """Minimise 1/2 sum_n ||u_n||^2 / a_n + 1/2 sum_l (b_l - b_0)^2 + sum_il c_il loss(y_il (w_l . x_i + s b_l)).

    HR-SVM and HR-LR (Gopal, Yang 2013) for any path sum: trees, DAGs, labels at inner nodes, root pinned or free.
    Classes are visited in turn; a visit descends on the duals of its working rows and carries the change to the
    nodes of its path. Classes that share no node are solved on different threads. All node vectors are dense and
    so are the duals: for small and middle sizes.

    Needs a loss of the margin with a dual step. Stops at a relative gap of `tol`, or when every class was visited
    `max_iter` times. `start` are duals, classes x rows.
    `on_pass(progress, dual)` is called after each pass, from a worker thread.

    >>> from taxolearn import Taxonomy
    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.regularizers import path_sum
    >>> tree = Taxonomy.from_paths(["all/cat/lion", "all/cat/puma", "all/dog"])
    >>> problem = make_problem([[0.0], [1.0], [5.0]], ["lion", "puma", "dog"], tree)
    >>> tie = path_sum(tree, problem.class_nodes, np.array([0.0, 1.0, 1.0, 1.0, 1.0]))
    >>> solve_path_descent(problem, Hinge(), tie, C=1.0).status
    <Status.CONVERGED: 'converged'>
    """
    run = _Run(problem, loss, tie, C, bias_feature, bias_prior, start)
    limits = (tol, max_iter, max_seconds, on_pass)
    rounds = run_rounds(
        lambda rounds: run.solve(rounds, n_jobs, seed), *limits, lambda: sp.csr_array(run.duals)
    )
    return run.solution(rounds)


class _Run:
    """Node vectors (nodes x features), biases and duals of one solve."""

    def __init__(
        self,
        problem: Problem,
        loss: MarginLoss,
        tie: PathSum,
        C: float,
        bias_feature: float,
        bias_prior: float,
        start: sp.csr_array | None,
    ) -> None:
        self.tie, self.bias_prior = tie, float(bias_prior)
        self.tied = TiedClasses(problem, loss, C, bias_feature)
        self.path_indptr = tie.paths.indptr.astype(np.int64)
        self.path_nodes = tie.paths.indices.astype(np.int64)
        self.duals = self.tied.first_duals(start)
        self.rebuild()
        self.epochs = 0

    def rebuild(self) -> None:
        """Node vectors and biases from the duals: u_n = a_n sum of v_l over the classes under n."""
        vectors, betas = self.tied.class_vectors(self.duals)
        self.nodes = np.ascontiguousarray((self.tie.paths * self.tie.scale[None, :]).T @ vectors)
        self.biases = self.bias_prior + betas

    def groups(self) -> list[Group]:
        """Classes that share a node with a vector, directly or through others."""
        shared = (self.tie.paths * (self.tie.scale > 0)[None, :]) @ self.tie.paths.T
        count, group = sp.csgraph.connected_components(shared, directed=False)
        order = np.argsort(group, kind="stable").astype(np.int64)
        return np.split(order, np.cumsum(np.bincount(group, minlength=count))[:-1])

    def solve(self, rounds: Rounds, n_jobs: int | None, seed: int) -> None:
        """Rounds of visits and prices until the gap is small enough."""
        workers = ThreadEngine(n_jobs)
        groups, tied = self.groups(), self.tied
        open_classes = max(1, int(tied.counted.sum()))
        warm = bool(np.any(self.duals))
        while rounds.go_on(*self.price(workers)):
            goals = np.maximum(0.1 * tied.gaps, 0.3 * rounds.tol * rounds.history[-1].primal / open_classes)
            # a first visit from zero sees neighbours that will move: it need not be exact
            epochs = _VISIT_EPOCHS if rounds.done or warm else 2

            def visit(group: Group, goals: npt.NDArray[np.float64] = goals, epochs: int = epochs) -> int:
                return int(
                    tied.kernels.sweep_paths(
                        tied.loss,
                        tied.rows,
                        tied.squares,
                        *tied.labels,
                        self.path_indptr,
                        self.path_nodes,
                        self.tie.scale,
                        tied.bias_feature,
                        group,
                        tied.working,
                        goals,
                        epochs,
                        seed + 7919 * rounds.done,
                        rounds.engine.stop,
                        self.nodes,
                        self.biases,
                        self.duals,
                    )
                )

            workers.run(visit, groups, self._count)
            rounds.done += 1
        self.rebuild()  # adding up changes has left rounding errors in the vectors

    def _count(self, group: Group, epochs: int) -> None:
        self.epochs += epochs

    def price(self, workers: ThreadEngine) -> tuple[float, float]:
        """Objective of the node vectors and its gap to the dual, over all rows and classes."""

        def price_block(block: Group) -> None:
            self.tied.price(block, self.tie.paths[block] @ self.nodes, self.biases, self.duals)

        workers.run(price_block, self.tied.blocks(), lambda block, result: None)
        live = self.tie.scale > 0
        squares = np.einsum("ij,ij->i", self.nodes[live], self.nodes[live])
        offsets = self.biases - self.bias_prior
        penalty = 0.5 * float(np.sum(squares / self.tie.scale[live]) + offsets @ offsets)
        return penalty + float(self.tied.losses.sum()), float(self.tied.gaps.sum())

    def solution(self, rounds: Rounds) -> Solution:
        """The answer, with the reason for stopping."""
        weights = NodeWeights(
            np.ascontiguousarray(self.nodes.T), self.tie.paths, self.tied.bias_feature * self.biases
        )
        details = {"epochs": self.epochs}
        return Solution(
            weights, sp.csr_array(self.duals), rounds.status, rounds.done, rounds.history, details
        )
