"""Block coordinate descent on node vectors whose neighbours draw them near: one colour of nodes after the other.

The vectors of nodes i have penalty 1/2 sum_ij Q_ij w_i . w_j with a sparse precision Q (a graph Laplacian plus
something on its diagonal). With its neighbours fixed a node has penalty 1/2 k ||w - m||^2, k = Q_ii, m = -sum_j
Q_ij w_j / k: without losses w = m, with the losses of a class w = m + v / k, v = sum_i d_i y_i x_i, which dual
coordinate descent finds. Nodes of one colour have no edge between them, so any split of a colour into tasks gives
the same answer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from taxolearn.engines import Clock, Run, running
from taxolearn.objective import Objective
from taxolearn.solvers.base import Limits, Rounds, Start, Watch
from taxolearn.solvers.tied_classes import TiedClasses, TiedRows

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.intp]

_VISIT_EPOCHS = 15  # of one class before its neighbours move: enough for a Newton step on its free duals
_VISIT_GOAL = 0.1  # gap that a visit leaves to a class, as a share of the one it found
_TOLERATED_GOAL = 0.1  # or as a share of the tolerated gap
_TASK_NODES = 16
_ROUNDS_TO_REFRESH = 16  # adding up changes leaves rounding errors in the dual vectors


class Block(NamedTuple):
    """Some nodes of one colour, their rows of the precision, and the classes at each; what all their tasks share.

    Classes held at zero are a block without nodes.
    """

    nodes: Ids
    precision: sp.csr_array
    curvatures: Array
    classes: list[Ids]
    every: Ids


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


def solve_nodes(shared: TiedRows, task: NodeTask, clock: Clock) -> NodeResult:
    """Minimise over the nodes of a task; writes nothing but its result."""
    from taxolearn.kernels import path_descent

    weights, duals, vectors = task.means.copy(), task.duals.copy(), task.vectors.copy()
    biases = task.biases.copy()
    sign, cost = np.empty(len(shared.row_cost)), np.empty(len(shared.row_cost))
    at = 0
    for k, classes in enumerate(task.classes):
        variance = 1.0 / task.curvatures[k]
        own = slice(at, at + len(classes))
        weights[k] += variance * vectors[own].sum(axis=0)
        for number in classes:
            if shared.counted[number]:
                path_descent.set_class(
                    shared.own_rows(number),
                    True,
                    shared.row_cost,
                    shared.positive_weight[number],
                    shared.negative_weight[number],
                    sign,
                    cost,
                )
                before = weights[k].copy()
                path_descent.descend_class(
                    shared.loss,
                    shared.rows,
                    shared.squares,
                    sign,
                    cost,
                    variance,
                    shared.bias_feature,
                    task.working[at],
                    task.goals[at],
                    _VISIT_EPOCHS,
                    path_descent.start_state(task.seed, number),
                    clock.stop,
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
        objective: Objective,
        precision: sp.csr_array,
        place: Ids,
        colours: list[Ids],
        start: Start,
        weights: Array | None = None,
    ) -> None:
        self.tied, self.place, self.colours = TiedClasses(objective), place, colours
        self.precision = precision
        self.curvatures = precision.diagonal()
        self.factors: Any = splu(sp.csc_array(precision)) if precision.shape[0] else None
        free = np.flatnonzero(place >= 0)
        self.seats = sp.csr_array(  # classes x nodes, a one where the class is
            (np.ones(len(free)), (free, place[free])), shape=(len(place), precision.shape[0])
        )
        self.seated = sp.csc_array(self.seats)
        self.duals = self.tied.first_duals(start.dual)
        self.refresh()
        self.weights = self._solved(self.node_vectors())
        if weights is not None and weights.shape == self.weights.shape:
            self.weights = np.array(weights, dtype=np.float64)

    def refresh(self) -> None:
        """Dual vectors and biases from the duals."""
        self.vectors, betas = self.tied.class_vectors(self.duals)
        self.biases = self.tied.bias_prior + betas

    def node_vectors(self) -> Array:
        """The dual vectors added up at their nodes."""
        return np.asarray(self.seats.T @ self.vectors)

    def _solved(self, right: Array) -> Array:
        """The inverse of the precision times a matrix: of the added dual vectors, the weights that belong to them."""
        return np.ascontiguousarray(self.factors.solve(right)) if self.factors is not None else right

    def class_weights(self) -> Array:
        """The vectors of the classes; zero for those held there."""
        return np.ascontiguousarray(self.seats @ self.weights)

    def solve(self, limits: Limits, watch: Watch | None) -> Rounds:
        """Rounds over all colours until the gap is at most tol of the objective."""
        colours = [
            [self._block(colour[at : at + _TASK_NODES]) for at in range(0, len(colour), _TASK_NODES)]
            for colour in self.colours
        ]
        held = np.flatnonzero(self.place < 0)
        if len(held):  # only biases move there, and they depend on nothing else
            nothing = (
                np.zeros(0, dtype=np.intp),
                sp.csr_array((0, self.precision.shape[0])),
                np.array([np.inf]),
            )
            colours.append([Block(*nothing, [held], held)])
        with limits.run() as run, running(run.engine, to_the_end=True) as pricing:
            rounds = Rounds(limits, run, watch, lambda: sp.csr_array(self.duals))
            while rounds.another(*self.price(pricing)):
                found = rounds.history[-1]
                seed = limits.seed + 7919 * found.done
                tolerated = _TOLERATED_GOAL * limits.tol * found.primal / self.tied.n_counted
                goals = np.maximum(_VISIT_GOAL * self.tied.gaps, tolerated)
                for blocks in colours:
                    self._solve_all(run, [self._task(block, goals, seed) for block in blocks])
                if rounds.done % _ROUNDS_TO_REFRESH == 0:
                    self.refresh()
        return rounds

    def _solve_all(self, run: Run, tasks: list[NodeTask]) -> None:
        looks = _VISIT_EPOCHS * sum(len(task.biases) for task in tasks)
        run.map(solve_nodes, self.tied.rows, tasks, self._collect, light=self.tied.is_light(looks))

    def _block(self, nodes: Ids) -> Block:
        seated = [
            self.seated.indices[self.seated.indptr[node] : self.seated.indptr[node + 1]] for node in nodes
        ]
        classes = [np.asarray(numbers, dtype=np.intp) for numbers in seated]
        own = self.curvatures[nodes]
        return Block(nodes, sp.csr_array(self.precision[nodes]), own, classes, np.concatenate(classes))

    def _task(self, block: Block, goals: Array, seed: int) -> NodeTask:
        nodes, rows, curvatures, classes, every = block
        means = np.zeros((len(curvatures), self.weights.shape[1]))
        if len(nodes):
            means = self.weights[nodes] - (rows @ self.weights) / curvatures[:, None]
        parts = (self.duals[every], self.vectors[every], self.biases[every])
        return NodeTask(
            nodes, means, curvatures, classes, *parts, self.tied.working[every], goals[every], seed
        )

    def _collect(self, task: NodeTask, result: NodeResult) -> None:
        every = np.concatenate(task.classes)
        if len(task.nodes):
            self.weights[task.nodes] = result.weights
        self.duals[every], self.vectors[every] = result.duals, result.vectors
        self.biases[every] = result.biases

    def price(self, run: Run) -> tuple[float, float]:
        """The objective and its gap, over all rows and classes."""
        tied = self.tied
        tied.price(run, self.seats, self.weights, self.biases, self.duals)
        betas = self.biases - tied.bias_prior
        losses = float(tied.losses.sum())
        penalty = 0.5 * float(np.vdot(self.weights, self.precision @ self.weights) + betas @ betas)
        # the summed gaps are losses + conjugates + d m, and d m sums to v . w + beta b
        right = self.node_vectors()
        conjugates = (
            float(tied.gaps.sum()) - losses - float(np.vdot(right, self.weights) + betas @ self.biases)
        )
        square = float(np.vdot(right, self._solved(right)) + betas @ betas)
        dual = -0.5 * square - tied.bias_prior * float(betas.sum()) - conjugates
        return penalty + losses, penalty + losses - dual
