"""One-vs-rest classification by dual coordinate descent, blocks of classes on threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.engines import Outcome, ThreadEngine
from taxolearn.losses import MarginLoss
from taxolearn.models import LinearWeights
from taxolearn.problem import Problem
from taxolearn.solvers.solution import Progress, Solution, Status, status_of

_BLOCK_CLASSES = 16  # one read of X prices this many classes
_BLOCK_BYTES = 128 * 2**20  # of duals and scores that a block may take
_DENSE_BYTES = 2**30  # weights larger than this are kept sparse

Block = npt.NDArray[np.int64]


def solve_one_vs_rest(
    problem: Problem,
    loss: MarginLoss,
    C: float,
    *,
    bias_feature: float = 1.0,
    tol: float = 1e-4,
    max_iter: int = 1000,
    n_jobs: int | None = None,
    max_seconds: float | None = None,
    seed: int = 0,
    on_block: Callable[[int, int, Progress], None] | None = None,
) -> Solution:
    """Minimise, for every class, 1/2 ||w||^2 + sum_i c_i loss(y_i w . x_i), the bias being the weight of a
    constant feature.

    Needs a loss of the margin with a dual step; each class stops at a relative gap of `tol` or after `max_iter`
    epochs. With two classes of one label a row only one problem is solved: the other is its mirror image.
    `on_block(done, total, progress)` is called after each block of classes.

    >>> from taxolearn.losses import Hinge
    >>> from taxolearn.problem import make_problem
    >>> problem = make_problem([[-1.0], [1.0]], ["a", "b"])
    >>> solve_one_vs_rest(problem, Hinge(), C=10.0, bias_feature=0.0).weights.coef.round(3).tolist()
    [[-1.0], [1.0]]
    """
    import threadpoolctl

    # the solver's own threads are the parallelism; BLAS threads inside them would only fight for the cores
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        run = _Run(problem, loss, C, bias_feature, tol, max_iter, seed)
        return run.solve(ThreadEngine(n_jobs, max_seconds), on_block)


class _Run:
    """One solve: the arrays that all blocks read, and where their answers are collected."""

    def __init__(
        self,
        problem: Problem,
        loss: MarginLoss,
        C: float,
        bias_feature: float,
        tol: float,
        max_iter: int,
        seed: int,
    ) -> None:
        from taxolearn.kernels import dual_descent
        from taxolearn.kernels.rows import DenseRows, SparseRows

        self.kernels = dual_descent
        self.problem, self.loss, self.tol, self.max_iter, self.seed = problem, loss, tol, max_iter, seed
        self.bias_feature = float(bias_feature)
        X = problem.X
        if sp.issparse(X):
            # unsigned columns: compiled code then needs no test for negative indices, a sixth of a sweep's time
            columns = X.indices.view(f"u{X.indices.dtype.itemsize}")
            self.rows: Any = SparseRows(X.indptr, columns, X.data)
        else:
            self.rows = DenseRows(X)
        self.squares = dual_descent.row_squares(self.rows, self.bias_feature)
        positives = problem.targets.tocsc()
        self.positive_indptr = positives.indptr.astype(np.int64)
        self.positive_rows = positives.indices.astype(np.int64)
        self.costs = C * problem.row_weight
        self.mirrored = problem.n_classes == 2 and not problem.labels.multilabel
        self.solved = np.array([1]) if self.mirrored else np.arange(problem.n_classes)
        self.sparse = len(self.solved) * problem.n_features * 8 > _DENSE_BYTES
        # dense weights are written in place by the blocks; sparse ones are put together at the end
        shape = (0 if self.sparse else problem.n_classes, problem.n_features)
        self.coef = np.zeros(shape)
        self.biases = np.zeros(problem.n_classes)
        self.parts: dict[int, tuple[Any, sp.csr_array]] = {}
        self.report = np.zeros((problem.n_classes, dual_descent.REPORT_WIDTH))

    def blocks(self, n_workers: int) -> list[Block]:
        """Classes in groups: large enough to share reads of X, small enough for memory and for all workers."""
        fit = _BLOCK_BYTES // (17 * max(1, self.problem.n_rows))
        # classes differ much in work: several blocks a worker even that out
        share = len(self.solved) if n_workers == 1 else max(4, -(-len(self.solved) // (6 * n_workers)))
        width = max(1, min(_BLOCK_CLASSES, fit, share))
        return [self.solved[start : start + width] for start in range(0, len(self.solved), width)]

    def solve(self, engine: ThreadEngine, on_block: Callable[[int, int, Progress], None] | None) -> Solution:
        blocks = self.blocks(engine.n_workers)
        history: list[Progress] = []

        def solve_block(block: Block) -> tuple[Any, ...]:
            width, problem = len(block), self.problem
            own = slice(int(block[0]), int(block[-1]) + 1)
            weights = np.zeros((width, problem.n_features)) if self.sparse else self.coef[own]
            duals = np.zeros((width, problem.n_rows))
            report = np.zeros((width, self.kernels.REPORT_WIDTH))
            self.kernels.solve_block(
                self.loss,
                self.loss.sparse_dual,
                self.rows,
                self.squares,
                self.positive_indptr,
                self.positive_rows,
                block,
                self.costs,
                problem.positive_weight,
                problem.negative_weight,
                self.bias_feature,
                self.tol,
                self.max_iter,
                self.seed,
                engine.stop,
                weights,
                self.biases[own],
                duals,
                report,
            )
            return sp.csr_array(weights) if self.sparse else None, sp.csr_array(duals), report

        def collect(block: Block, result: tuple[Any, ...]) -> None:
            self.parts[int(block[0])] = result[:2]
            self.report[block] = result[2]
            primal = self.report[:, self.kernels.REPORT_PRIMAL].sum()
            dual = self.report[:, self.kernels.REPORT_DUAL].sum()
            done = sum(duals.shape[0] for _, duals in self.parts.values())
            history.append(Progress(engine.seconds, done, primal, dual))
            if on_block is not None:
                on_block(len(self.parts), len(blocks), history[-1])

        outcome = engine.run(solve_block, blocks, collect)
        weights, dual = self._assemble(blocks)
        iterations = int(self.report[:, self.kernels.REPORT_EPOCHS].max())
        return Solution(weights, dual, self._status(outcome), iterations, history)

    def _status(self, outcome: Outcome) -> Status:
        return status_of(bool(np.all(self.report[self.solved, self.kernels.REPORT_CONVERGED] > 0)), outcome)

    def _assemble(self, blocks: list[Block]) -> tuple[LinearWeights, sp.csr_array]:
        """Weights and dual of all classes; blocks that were never started count as zero."""
        problem = self.problem
        coefs: list[sp.csr_array] = []
        duals: list[sp.csr_array] = []
        for block in blocks:
            nothing = (
                sp.csr_array((len(block), problem.n_features)),
                sp.csr_array((len(block), problem.n_rows)),
            )
            coef, dual = self.parts.pop(int(block[0]), nothing)
            coefs.append(coef)
            duals.append(dual)
        dual = sp.vstack(duals, format="csr")
        whole: Any = sp.vstack(coefs, format="csr") if self.sparse else self.coef
        intercept = self.biases * self.bias_feature
        if self.mirrored:
            intercept[0] = -intercept[1]
            dual = sp.vstack([dual, dual], format="csr")
            if self.sparse:
                whole = sp.vstack([-whole, whole], format="csr")
            else:
                whole[0] = -whole[1]
        return LinearWeights(whole, intercept), sp.csr_array(dual)
