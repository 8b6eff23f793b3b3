"""Block coordinate descent on node vectors whose neighbours pull on them: one colour of nodes after the other.

The vectors of nodes i have penalty 1/2 sum_ij Q_ij w_i . w_j with a sparse precision Q (a graph Laplacian plus
something on its diagonal). With its neighbours fixed a node has penalty 1/2 k ||w - m||^2, k = Q_ii, m = -sum_j
Q_ij w_j / k: without losses w = m, with the losses of a class w = m + v / k, v = sum_i d_i y_i x_i, which dual
coordinate descent finds. Nodes of one colour have no edge between them, so any split of a colour into tasks gives
the same answer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from taxolearn.engines import ThreadEngine
from taxolearn.solvers.rounds import Rounds
from taxolearn.solvers.tied_classes import TiedClasses

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.intp]

_VISIT_EPOCHS = 15  # of one class before its neighbours move: enough for a Newton step on its free duals
_TASK_NODES = 16


class NodeTask(NamedTuple):
    """Some nodes of one colour: everything a worker needs besides the rows, as plain arrays of its own.

    `means` are the vectors the neighbours ask for (nodes x features), `curvatures` the k of each node (infinite
    for a node held at zero), and `classes` the classes at each node, whose duals, dual vectors, biases, working
    rows and goals follow in the order of their concatenation.
    """

    nodes: Ids
    means: Array
    curvatures: Array
    classes: list[Ids]
    duals: Array
    vectors: Array
    biases: Array
    working: npt.NDArray[np.uint8]
    goals: Array
    seed: int


class NodeResult(NamedTuple):
    """The new vectors of a task's nodes, and the new duals, dual vectors and biases of their classes."""

    weights: Array
    duals: Array
    vectors: Array
    biases: Array


def solve_nodes(task: NodeTask, tied: TiedClasses, stop: npt.NDArray[np.int32]) -> NodeResult:
    """Minimise over the nodes of a task; reads its arguments and writes nothing but its result."""
    weights, duals, vectors = task.means.copy(), task.duals.copy(), task.vectors.copy()
    biases = task.biases.copy()
    _, _, counted, row_cost, positive, negative = tied.labels
    sign, cost = np.empty(tied.problem.n_rows), np.empty(tied.problem.n_rows)
    at = 0
    for k, classes in enumerate(task.classes):
        variance = 1.0 / task.curvatures[k]
        own = slice(at, at + len(classes))
        weights[k] += variance * vectors[own].sum(axis=0)
        for number in classes:
            if counted[number]:
                tied.kernels.set_class(
                    tied.own_rows(number), True, row_cost, positive[number], negative[number], sign, cost
                )
                before = weights[k].copy()
                tied.kernels.descend_class(
                    tied.loss,
                    tied.rows,
                    tied.squares,
                    sign,
                    cost,
                    variance,
                    tied.bias_feature,
                    task.working[at],
                    task.goals[at],
                    _VISIT_EPOCHS,
                    tied.kernels.start_state(task.seed, number),
                    stop,
                    weights[k],
                    biases[at : at + 1],
                    duals[at],
                )
                if variance > 0:
                    vectors[at] += (weights[k] - before) / variance
            at += 1
    return NodeResult(weights, duals, vectors, biases)


class BlockSweep:
    """Vectors of nodes and duals of classes, swept colour by colour until the gap is small.

    `place` is the node of every class in the precision matrix, -1 for a class held at zero. `weights` are vectors to
    begin with instead of those that belong to the duals: after few passes the two are far apart.
    """

    def __init__(
        self,
        tied: TiedClasses,
        precision: sp.csr_array,
        place: Ids,
        colours: list[Ids],
        bias_prior: float,
        start: sp.csr_array | None,
        weights: Array | None = None,
    ) -> None:
        self.tied, self.place, self.colours, self.bias_prior = tied, place, colours, float(bias_prior)
        self.precision = precision
        self.curvatures = precision.diagonal()
        self.factors = splu(sp.csc_array(precision)) if precision.shape[0] else None
        self.duals = tied.first_duals(start)
        self.refresh()
        self.weights = self.consistent()
        if weights is not None and weights.shape == self.weights.shape:
            self.weights = weights.copy()

    def refresh(self) -> None:
        """Dual vectors and biases from the duals."""
        self.vectors, betas = self.tied.class_vectors(self.duals)
        self.biases = self.bias_prior + betas

    def node_vectors(self) -> Array:
        """The dual vectors added up at their nodes."""
        out = np.zeros((self.precision.shape[0], self.tied.problem.n_features))
        free = self.place >= 0
        np.add.at(out, self.place[free], self.vectors[free])
        return out

    def consistent(self) -> Array:
        """The node vectors that belong to the duals: precision^-1 times the dual vectors."""
        return self._solved(self.node_vectors())

    def _solved(self, right: Array) -> Array:
        return np.ascontiguousarray(self.factors.solve(right)) if self.factors is not None else right

    def class_weights(self) -> Array:
        """The vectors of the classes; zero for those held there."""
        held = np.zeros((1, self.weights.shape[1]))
        return np.vstack([self.weights, held])[self.place]

    def solve(self, rounds: Rounds, n_jobs: int | None, seed: int) -> None:
        """Rounds over all colours until the gap is at most tol of the objective."""
        workers = ThreadEngine(n_jobs)
        open_classes = max(1, int(self.tied.counted.sum()))
        held = np.flatnonzero(self.place < 0)
        while True:
            primal, dual = self.price(workers)
            if not rounds.go_on(primal, primal - dual):
                break
            goals = np.maximum(0.1 * self.tied.gaps, 0.1 * rounds.tol * primal / open_classes)

            def solve_task(task: NodeTask) -> NodeResult:
                return solve_nodes(task, self.tied, rounds.engine.stop)

            for colour in self.colours:
                parts = [colour[at : at + _TASK_NODES] for at in range(0, len(colour), _TASK_NODES)]
                tasks = [self._task(nodes, goals, seed + 7919 * rounds.done) for nodes in parts]
                workers.run(solve_task, tasks, self._collect)
            if len(held):  # only biases move there, and they depend on nothing else
                workers.run(solve_task, [self._held_task(held, goals, seed)], self._collect)
            rounds.done += 1
            if rounds.done % 16 == 0:
                self.refresh()  # adding up changes leaves rounding errors in the dual vectors

    def _task(self, nodes: Ids, goals: Array, seed: int) -> NodeTask:
        rows = sp.csr_array(self.precision[nodes])
        own = self.weights[nodes] * self.curvatures[nodes][:, None]
        means = (own - rows @ self.weights) / self.curvatures[nodes][:, None]
        classes = [self._classes_at(node) for node in nodes]
        return self._with_classes(nodes, means, self.curvatures[nodes], classes, goals, seed)

    def _held_task(self, held: Ids, goals: Array, seed: int) -> NodeTask:
        means = np.zeros((1, self.tied.problem.n_features))
        return self._with_classes(np.zeros(0, dtype=np.intp), means, np.array([np.inf]), [held], goals, seed)

    def _with_classes(
        self, nodes: Ids, means: Array, curvatures: Array, classes: list[Ids], goals: Array, seed: int
    ) -> NodeTask:
        every = np.concatenate(classes)
        parts = (self.duals[every], self.vectors[every], self.biases[every])
        return NodeTask(
            nodes, means, curvatures, classes, *parts, self.tied.working[every], goals[every], seed
        )

    def _classes_at(self, node: int) -> Ids:
        return np.flatnonzero(self.place == node)

    def _collect(self, task: NodeTask, result: NodeResult) -> None:
        every = np.concatenate(task.classes)
        if len(task.nodes):
            self.weights[task.nodes] = result.weights
        self.duals[every], self.vectors[every] = result.duals, result.vectors
        self.biases[every] = result.biases

    def price(self, workers: ThreadEngine) -> tuple[float, float]:
        """Both objectives, over all rows and classes."""
        weights = self.class_weights()

        def price_block(block: npt.NDArray[np.int64]) -> None:
            self.tied.price(block, weights[block], self.biases, self.duals)

        workers.run(price_block, self.tied.blocks(), lambda block, result: None)
        betas = self.biases - self.bias_prior
        losses = float(self.tied.losses.sum())
        pull = 0.5 * float(np.vdot(self.weights, self.precision @ self.weights) + betas @ betas)
        # the summed gaps are losses + conjugates + d m, and d m sums to v . w + beta b
        crossed = float(np.einsum("ij,ij->", self.vectors, weights) + betas @ self.biases)
        conjugates = float(self.tied.gaps.sum()) - losses - crossed
        right = self.node_vectors()
        square = float(np.vdot(right, self._solved(right)) + betas @ betas)
        dual = -0.5 * square - self.bias_prior * float(betas.sum()) - conjugates
        return pull + losses, dual
