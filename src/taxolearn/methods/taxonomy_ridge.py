"""RLS-Taxonomy of Mroueh, Poggio and Rosasco: least squares under any taxonomy matrix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from taxolearn.decoders import Decoder, best_or_thresholds
from taxolearn.errors import DataError, ModelError
from taxolearn.losses import Loss, Square
from taxolearn.methods.parameters import estimator, is_number, parameter, positive
from taxolearn.methods.probabilities import CalibratedProbabilities
from taxolearn.methods.row_kernels import RowKernels
from taxolearn.methods.several_labels import SeveralLabels
from taxolearn.methods.taxonomy_matrix import TaxonomyMatrix
from taxolearn.objective import Objective, Parts
from taxolearn.problem import Problem
from taxolearn.solvers import Limits, Solution, Start, Watch
from taxolearn.solvers.choice import decomposes
from taxolearn.solvers.kernel_ridge import decomposed
from taxolearn.solvers.ridge import Spectrum
from taxolearn.solvers.ridge_rows import Rotation, rotation_of, threads_of
from taxolearn.structure.names import show
from taxolearn.ties import Factor, Tie

Array = npt.NDArray[np.float64]

_GRID = np.logspace(
    -6.0, 2.0, 33
)  # of lambda, as multiples of the mean square of a row times the mean of diag(A)


def _lambda(name: str, value: Any) -> None:
    if value is None or (isinstance(value, str) and value == "loo"):
        return
    if not is_number(value):
        raise DataError(f"{name}={show(value)} is not allowed; give a positive number, 'loo', or None for C")
    positive(name, value)


def _lambdas(name: str, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__") or not len(list(value)):
        raise DataError(f"{name}={show(value)} is not allowed; give a list of positive numbers")
    for one in value:
        positive(name, one)


class LeaveOneOut(NamedTuple):
    """What leave-one-out says of each lambda: the mean squared error of a score, and the share of rows whose best class
    is wrong.

    >>> LeaveOneOut(np.array([0.1]), np.array([0.02]), np.array([0.25])).error.tolist()
    [0.25]
    """

    lambdas: Array
    square: Array
    error: Array


class _Chosen:
    """What a fit leaves besides."""

    _fitted: ClassVar[Mapping[str, str]] = {
        "best_lambda_": "float: The weight of the penalty that was used.",
        "leave_one_out_": "LeaveOneOut or None: Errors for each lambda tried, where one was chosen.",
    }
    leave_one_out_: LeaveOneOut | None
    best_lambda_: float
    _spectrum: Spectrum | None


@estimator
class RidgeMethod(RowKernels, CalibratedProbabilities, SeveralLabels, _Chosen):
    """Base of TaxonomyRidge and TaxonomyLearningRidge: the square loss, its weight lambda, its solvers.

    >>> from taxolearn import TaxonomyRidge
    >>> issubclass(TaxonomyRidge, RidgeMethod)
    True
    """

    _solvers: ClassVar[tuple[str, ...]] = ("decomposition", "gradients")
    _decoder = staticmethod(best_or_thresholds)

    lambda_: float | str | None = parameter(
        default=None,
        doc=(
            "Weight of the penalty against the mean loss, as in the paper: C = 1 / (2 lambda_ n), n being the summed "
            'weight of the rows. None: C decides. "loo": the one of `lambdas` with the least squared leave-one-out '
            "error, in closed form; needs at most 4,096 rows or features."
        ),
        check=_lambda,
    )
    lambdas: Any = parameter(
        default=None,
        doc='What lambda_="loo" chooses from; None: 33 values around the size of the rows.',
        check=_lambdas,
    )
    solver: str = parameter(
        default="auto",
        doc=(
            '"decomposition" of the rows or the features, whichever are fewer, once for every lambda; "gradients": '
            "conjugate gradients, for rows and features beyond 4,096. A kernel has the former only."
        ),
        choices=("auto", "decomposition", "gradients"),
    )
    thresholds: str = parameter(
        default="middle",
        doc=(
            "Several labels per row: predict scores above 1/2, the middle of the targets 0 and 1; above zero; or above "
            "thresholds tuned on held-out rows (SCutFBR.1)."
        ),
        choices=("middle", "zero", "tuned"),
    )

    cache_size: float = parameter(
        default=200.0,
        doc="With a kernel not known to be definite: MB that its whole matrix may take while it is checked.",
        check=positive,
    )

    def _objective(self, problem: Problem) -> Objective:
        objective = super()._objective(problem)
        assert isinstance(objective, Objective)
        if problem.products is not None and objective.tie.facts.precision:
            return replace(
                objective, tie=Factor(objective.tie.factor())
            )  # in the space of a kernel A is its factor
        return objective

    def _loss(self, problem: Problem, tie: Tie) -> Loss:
        return Square()

    def _untuned_decoder(self, problem: Problem) -> Decoder:
        if self.thresholds == "zero" or not problem.labels.multilabel:
            return self._decoder(problem)
        return self._decoder(problem, np.full(problem.n_classes, 0.5))

    def _settled(
        self, objective: Any, limits: Limits, start: Start | None
    ) -> tuple[Any, Limits, Start | None]:
        """The objective with the C that lambda_ says, or that leave-one-out chooses."""
        self._spectrum, self.leave_one_out_ = None, None
        problem = objective.problem
        total = float(problem.weight_by_labels.sum())
        if isinstance(self.lambda_, str):
            self._spectrum = self._decomposed(objective, limits)
            self.leave_one_out_ = leave_one_out(self._spectrum, rotation_of(objective.tie), self.lambdas)
            best = float(self.leave_one_out_.lambdas[np.argmin(self.leave_one_out_.square)])
        else:
            best = 0.5 / (float(self.C) * total) if self.lambda_ is None else float(self.lambda_)
        self.best_lambda_ = best
        if self.lambda_ is not None:
            objective = replace(objective, C=0.5 / (best * total))
        return objective, limits, start

    def _decomposed(self, objective: Objective, limits: Limits) -> Spectrum:
        if not decomposes(objective.problem):
            n, width = objective.problem.X.shape
            raise DataError(
                f"lambda_='loo' needs a decomposition, and X has {n} rows and {width} features; give a number, or "
                "choose among several with taxolearn.select"
            )
        with limits.run() as run, threads_of(run):
            return decomposed(objective.problem, objective.bias_feature)

    def _solve(
        self, objective: Objective | Parts, limits: Limits, start: Start | None, watch: Watch | None
    ) -> Solution:
        if self._spectrum is not None and (start is None or start.state is None):
            start = Start(None if start is None else start.dual, self._spectrum)
        return super()._solve(objective, limits, start, watch)

    def _learned_arrays(self) -> dict[str, npt.NDArray[Any]]:
        found = {"best_lambda": np.array([self.best_lambda_])}
        if self.leave_one_out_ is not None:
            found["leave_one_out"] = np.stack(self.leave_one_out_)
        return found

    def _take_learned(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        missing = {"best_lambda"} - set(arrays)
        if missing or arrays["best_lambda"].shape != (1,):
            raise ModelError("the array 'learned/best_lambda' should hold one number")
        self.best_lambda_, self.leave_one_out_ = float(arrays["best_lambda"][0]), None
        if "leave_one_out" in arrays:
            if arrays["leave_one_out"].ndim != 2 or len(arrays["leave_one_out"]) != 3:
                raise ModelError("the array 'learned/leave_one_out' should have three rows")
            self.leave_one_out_ = LeaveOneOut(*arrays["leave_one_out"])

    def _learn(self, objective: Objective | Parts, state: Any) -> None:
        self._spectrum = None  # as large as the rows: kept by a warm start only

    def fit_path(
        self,
        X: Any,
        y: Any,
        Cs: Sequence[float] | None = None,
        sample_weight: Any = None,
        *,
        lambdas: Sequence[float] | None = None,
    ) -> Iterator[Self]:
        """Fit for every C, or every lambda of the paper, in turn; yields the fitted model, C rising.

        The rows are decomposed once for all of them. It is one model, fitted again and again: take from each what you
        need before the next one.

        >>> from taxolearn import TaxonomyRidge
        >>> X, y = [[-1.0], [0.0], [1.0]], ["a", "b", "c"]
        >>> [model.lambda_ for model in TaxonomyRidge().fit_path(X, y, lambdas=[0.01, 1.0])]
        [1.0, 0.01]
        """
        if (Cs is None) == (lambdas is None):
            raise DataError("give Cs or lambdas, one of the two")
        if Cs is not None:
            yield from clone(self).set_params(lambda_=None)._path_of_C(X, y, Cs, sample_weight)
            return
        _lambdas("lambdas", lambdas)
        assert lambdas is not None
        model = clone(self).set_params(warm_start=True)
        for value in sorted(lambdas, reverse=True):
            yield model.set_params(lambda_=value).fit(X, y, sample_weight=sample_weight)

    def _path_of_C(self, X: Any, y: Any, Cs: Sequence[float], sample_weight: Any) -> Iterator[Self]:
        return super().fit_path(X, y, Cs, sample_weight)


@estimator
class TaxonomyRidge(RidgeMethod, TaxonomyMatrix):
    """Least squares under a taxonomy matrix A (RLS-Taxonomy; Mroueh, Poggio, Rosasco: Multi-category and Taxonomy
    Learning, (10) and Algorithm 1).

    With y_il = 1 for the classes of a row and 0 for all others, it minimises

        1/2 tr(W' A^+ W) + C sum_i c_i sum_l (y_il - w_l . x_i)^2,

    W having the row w_l for class l; the intercept is the weight of one more feature of value s, like the others.
    Divided by C and the summed weight n of the rows this is (10): the mean loss plus lambda tr(W' A^+ W) with
    C = 1 / (2 lambda n); Algorithm 1 as printed drops the n. c_i is the row's `sample_weight`, times the mean
    `class_weight` of its labels. A is given as `covariance` (or metric), as `code`, as `graph`, or by the taxonomy.
    The solution is exact: one decomposition of rows or features, one of A, and a division. With a `kernel`, w . x
    becomes w . phi(x), and the decomposition is that of its matrix, rows x rows.

    Fitted attributes besides the usual ones: `best_lambda_`, and with lambda_="loo" `leave_one_out_`.

    >>> from taxolearn import Taxonomy
    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
    >>> X, y = [[-1.0, 0.0], [-1.0, 1.0], [1.0, 0.0]], ["Lion", "Lynx", "Dog"]
    >>> model = TaxonomyRidge(tree).fit(X, y)
    >>> model.predict([[2.0, 0.0]]).tolist(), model.certificate_.holds(1e-9)
    (['Dog'], True)
    """


def leave_one_out(spectrum: Spectrum, rotation: Rotation, lambdas: Any = None) -> LeaveOneOut:
    """The leave-one-out errors of every lambda, each for the price of a product.

    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.ties import flat
    >>> problem = make_problem([[-1.0], [-2.0], [1.0], [2.0]], ["a", "a", "b", "b"])
    >>> leave_one_out(decomposed(problem, 1.0), rotation_of(flat(2)), [0.1]).error.tolist()
    [0.0]
    """
    rows = spectrum.rows
    weight = rows.roots**2
    total = float(weight.sum())
    if lambdas is None:
        size = float(spectrum.values.sum()) * float(np.mean(rotation.values)) / total
        grid = _GRID * (size if size > 0 else 1.0)
    else:
        grid = np.sort(np.array(list(lambdas), dtype=np.float64))
    seen = weight > 0
    Y = rows.targets.toarray()[seen] / rows.roots[seen, None]
    square, error = np.zeros(len(grid)), np.zeros(len(grid))
    for k, value in enumerate(grid):
        scores = spectrum.left_out(rotation, value * total)[seen]
        square[k] = weight[seen] @ np.mean((Y - scores) ** 2, axis=1) / total
        error[k] = weight[seen] @ (Y[np.arange(len(Y)), np.argmax(scores, axis=1)] == 0) / total
    return LeaveOneOut(grid, np.where(np.isfinite(square), square, np.inf), error)
