"""Dual coordinate descent for one-vs-rest losses over path sums on any tree or DAG, with dense node vectors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import Clock, Run, running
from taxolearn.objective import Objective
from taxolearn.solvers.base import Limits, Requires, Rounds, Solution, Start, Watch, check_requirements
from taxolearn.solvers.tied_classes import LIGHT_WORK, TiedClasses, TiedRows
from taxolearn.vectors import NodeVectors

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

REQUIRES = Requires(("margin",), paths=True)
LIMITS = Limits()
_VISIT_EPOCHS = 15  # of one class before the next: enough for a Newton step on its free duals at the end
_FIRST_EPOCHS = 2  # of a first visit from zero: it sees neighbours that will move, and need not be exact
_VISIT_GOAL = 0.1  # gap that a visit leaves to a class, as a share of the one it found
_TOLERATED_GOAL = 0.3  # or as a share of the tolerated gap


class Group(NamedTuple):
    """Classes that share no node with those of other groups, and the nodes of their paths, numbered from zero."""

    classes: Ids
    nodes: Ids
    path_indptr: Ids
    path_nodes: Ids
    scale: Array


class VisitTask(NamedTuple):
    """A group of classes: its node vectors, and biases, duals, working rows and goals of its classes."""

    group: Group
    nodes: Array
    biases: Array
    duals: Array
    working: npt.NDArray[np.uint8]
    goals: Array
    epochs: int
    seed: int


class VisitResult(NamedTuple):
    """The new node vectors, biases and duals of a group, and how many epochs they took."""

    nodes: Array
    biases: Array
    duals: Array
    epochs: int


def visit_group(shared: TiedRows, task: VisitTask, clock: Clock) -> VisitResult:
    """Descend on the classes of a group, one after the other; writes nothing but its result."""
    from taxolearn.kernels import path_descent

    group = task.group
    nodes, biases, duals = task.nodes.copy(), task.biases.copy(), task.duals.copy()
    epochs = path_descent.sweep_paths(
        shared.loss,
        shared.rows,
        shared.squares,
        *shared.labels(group.classes),
        group.path_indptr,
        group.path_nodes,
        group.scale,
        shared.bias_feature,
        np.arange(len(group.classes)),
        task.working,
        task.goals,
        task.epochs,
        task.seed,
        clock.stop,
        nodes,
        biases,
        duals,
    )
    return VisitResult(nodes, biases, duals, int(epochs))


def solve_path_descent(
    objective: Objective, limits: Limits = LIMITS, start: Start | None = None, watch: Watch | None = None
) -> Solution:
    """HR-SVM and HR-LR (Gopal, Yang 2013) for any path sum: trees, DAGs, labels at inner nodes, root pinned or free.

    Classes are visited in turn; a visit descends on the duals of its working rows and carries the change to the
    nodes of its path. Classes that share no node are solved on different workers. All node vectors are dense and
    so are the duals: for small and middle sizes. Stops when every class was visited `limits.max_iter` times.

    >>> from taxolearn import Taxonomy
    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import path_sum
    >>> tree = Taxonomy.from_paths(["all/cat/lion", "all/cat/puma", "all/dog"])
    >>> problem = make_problem([[0.0], [1.0], [5.0]], ["lion", "puma", "dog"], tree)
    >>> tie = path_sum(tree, problem.class_nodes, np.array([0.0, 1.0, 1.0, 1.0, 1.0]))
    >>> solve_path_descent(Objective(problem, Hinge(), tie)).status
    <Status.CONVERGED: 'converged'>
    """
    check_requirements("descent", REQUIRES, objective)
    descent = _PathDescent(objective, start or Start())
    with limits.run() as run, running(run.engine, to_the_end=True) as pricing:
        rounds = Rounds(limits, run, watch, lambda: sp.csr_array(descent.duals))
        while rounds.another(*descent.price(pricing)):
            descent.visit(run, limits, rounds)
    descent.rebuild()  # adding up changes has left rounding errors in the vectors
    return descent.solution(rounds)


class _PathDescent:
    """Node vectors (nodes x features), biases and duals of one solve."""

    def __init__(self, objective: Objective, start: Start) -> None:
        self.tie, self.tied = objective.tie, TiedClasses(objective)
        self.duals = self.tied.first_duals(start.dual)
        self.begins_at_zero = not np.any(self.duals)
        self.rebuild()
        self.groups = self._groups()
        self.epochs = 0

    def rebuild(self) -> None:
        """Node vectors and biases from the duals: u_n = a_n sum of v_l over the classes under n."""
        vectors, betas = self.tied.class_vectors(self.duals)
        self.nodes = np.ascontiguousarray((self.tie.paths * self.tie.scale[None, :]).T @ vectors)
        self.biases = self.tied.bias_prior + betas

    def _groups(self) -> list[Group]:
        """Classes that share a node with a vector, directly or through others; small groups are put together."""
        width = max(1, LIGHT_WORK // (_VISIT_EPOCHS * self.tied.class_work))
        paths = self.tie.paths
        if width >= self.tie.n_classes:
            whole = (np.arange(self.tie.n_classes), np.arange(self.tie.n_nodes))
            return [
                Group(*whole, paths.indptr.astype(np.int64), paths.indices.astype(np.int64), self.tie.scale)
            ]
        paths = sp.csr_array(paths * (self.tie.scale > 0)[None, :])
        paths.eliminate_zeros()
        count, component = sp.csgraph.connected_components(paths @ paths.T, directed=False)
        before = np.cumsum(np.bincount(component, minlength=count)) - 1
        together = (before // width)[component]
        order = np.argsort(together, kind="stable").astype(np.int64)
        sizes = np.unique(together, return_counts=True)[1]
        paths = paths[order]
        ends = paths.indptr.astype(np.int64)
        groups, at = [], 0
        for size in sizes.tolist():
            indptr = ends[at : at + size + 1]
            nodes, numbers = np.unique(paths.indices[indptr[0] : indptr[-1]], return_inverse=True)
            local = (indptr - indptr[0], numbers.astype(np.int64), self.tie.scale[nodes])
            groups.append(Group(order[at : at + size], nodes.astype(np.int64), *local))
            at += size
        return groups

    def visit(self, run: Run, limits: Limits, rounds: Rounds) -> None:
        """Visit all classes once."""
        tied, found = self.tied, rounds.history[-1]
        goals = np.maximum(
            _VISIT_GOAL * tied.gaps, _TOLERATED_GOAL * limits.tol * found.primal / tied.n_counted
        )
        epochs = _FIRST_EPOCHS if self.begins_at_zero and found.done == 0 else _VISIT_EPOCHS
        tasks = []
        for group in self.groups:
            classes = _span(group.classes)
            parts = (self.biases[classes], self.duals[classes], tied.working[classes], goals[classes])
            seed = limits.seed + 7919 * found.done + int(group.classes[0])
            tasks.append(VisitTask(group, self.nodes[_span(group.nodes)], *parts, epochs, seed))
        light = tied.is_light(epochs * len(self.biases))
        run.map(visit_group, tied.rows, tasks, self._collect, light=light)

    def _collect(self, task: VisitTask, result: VisitResult) -> None:
        classes = _span(task.group.classes)
        self.nodes[_span(task.group.nodes)] = result.nodes
        self.biases[classes], self.duals[classes] = result.biases, result.duals
        self.epochs += result.epochs

    def price(self, run: Run) -> tuple[float, float]:
        """Objective of the node vectors and its gap to the dual, over all rows and classes."""
        tied, scaled = self.tied, self.tie.scale > 0
        tied.price(run, self.tie.paths, self.nodes, self.biases, self.duals)
        squares = np.einsum("ij,ij->i", self.nodes[scaled], self.nodes[scaled])
        offsets = self.biases - tied.bias_prior
        penalty = 0.5 * float(np.sum(squares / self.tie.scale[scaled]) + offsets @ offsets)
        return penalty + float(tied.losses.sum()), float(tied.gaps.sum())

    def solution(self, rounds: Rounds) -> Solution:
        """The answer, with the reason for stopping."""
        vectors = NodeVectors(
            np.ascontiguousarray(self.nodes.T), self.tie.paths, self.tied.rows.bias_feature * self.biases
        )
        dual, details = sp.csr_array(self.duals), {"epochs": self.epochs}
        return Solution(vectors, dual, rounds.status, rounds.done, rounds.history, details)


def _span(ids: Ids) -> Ids | slice:
    """Increasing ids as a slice, which copies nothing, where none is left out."""
    if len(ids) and ids[-1] - ids[0] == len(ids) - 1:
        return slice(int(ids[0]), int(ids[-1]) + 1)
    return ids
