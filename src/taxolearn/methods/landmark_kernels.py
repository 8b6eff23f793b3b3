"""Kernels for every method: rows are described by their products with a few of them, the landmarks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from taxolearn.engines import worker_count
from taxolearn.errors import DataError
from taxolearn.gram import Landmarks, landmarks_of, row_kernel
from taxolearn.methods.base import VectorClassifier
from taxolearn.methods.parameters import estimator, parameter, whole_or_none
from taxolearn.problem import Problem
from taxolearn.vectors import KernelVectors, Vectors, widened

_NOT_NEGATIVE = ("chi2", "additive_chi2")


class LearnedRows(NamedTuple):
    """What a fit learns from: the rows as they were given, or other features of them.

    `mark` tells features apart that come from the same rows, `given` turns vectors over these features into vectors
    that score rows as they were given.

    >>> from taxolearn.problem import make_problem
    >>> LearnedRows(make_problem([[0.0], [1.0]], ["a", "b"])).mark
    ''
    """

    problem: Problem
    mark: str = ""
    given: Callable[[Any], Vectors] = lambda vectors: vectors


@estimator
class LandmarkKernels(VectorClassifier):
    """Methods that learn weights of features: with a kernel, of features by landmarks.

    >>> from taxolearn import OneVsRestSVM
    >>> X, y = [[-1.0], [0.0], [1.0]], ["out", "in", "out"]
    >>> model = OneVsRestSVM(kernel="rbf", landmarks=3, C=10.0).fit(X, y)
    >>> model.predict([[0.1], [2.0]]).tolist(), model.certificate_.holds(1e-3)
    (['in', 'out'], True)
    """

    kernel: Any = parameter(
        default=None,
        doc=(
            "None: rows are vectors. Else w . x becomes w . phi(x), with phi(x) . phi(z) = k(x, z), one of "
            'scikit-learn\'s `pairwise_kernels` by name ("linear", "poly", "rbf", "laplacian", "cosine", "sigmoid", '
            '"chi2", "additive_chi2"), a callable that takes two matrices of rows and returns the matrix of their '
            'products, or "precomputed": X is the square matrix of products of all rows, and in `predict` new rows x '
            "training rows. Needs `landmarks`."
        ),
    )
    kernel_params: dict[str, Any] | None = parameter(
        default=None,
        doc=(
            "Parameters of the kernel: `gamma`, `degree`, `coef0` as in scikit-learn's `pairwise_kernels`; gamma may "
            'be "scale" or "auto" as in `sklearn.svm.SVC`. A callable gets them as keywords.'
        ),
    )
    landmarks: int | None = parameter(
        default=None,
        doc=(
            "With a kernel: how many training rows are drawn (by `random_state`; None draws the same each time) to "
            "describe all rows by their products with these. phi(x) is what the drawn rows span (the Nystroem "
            "method), and the certificate is of that. More come closer to the kernel; 1,000 are often enough."
        ),
        check=whole_or_none,
    )

    # whether a kernel needs no landmarks
    _takes_all_products: ClassVar[bool] = False
    _leaves_out_empty_columns: ClassVar[bool] = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        if isinstance(self.kernel, str) and self.kernel in _NOT_NEGATIVE:
            tags.input_tags.positive_only = True
            tags.input_tags.sparse = False
        return tags

    def _check_kernel(self) -> None:
        if self.kernel is None:
            for name in ("kernel_params", "landmarks"):
                if getattr(self, name):
                    raise DataError(f"{name} are of a kernel, and kernel=None has none; give a kernel")
            return
        row_kernel(self.kernel, self.kernel_params)
        if self.landmarks is None and not self._takes_all_products:
            raise DataError(
                f"{type(self).__name__} learns weights of features, which a kernel has by its landmarks alone; give "
                "landmarks=1000, for example"
            )

    def _learned_rows(self, problem: Problem, seed: int) -> LearnedRows:
        """What is learned from: features by landmarks, or the columns that sparse rows have, where many others are
        empty; vectors are zero at these, and nothing is spent on them."""
        if self.landmarks is not None:
            return self._described(problem, seed)
        if problem.products is not None or not self._leaves_out_empty_columns:
            return LearnedRows(problem)
        few, used = problem.compacted()
        if used is None:
            return LearnedRows(problem)
        return LearnedRows(few, given=lambda vectors: widened(vectors, used, problem.n_features))

    @property
    def _by_products(self) -> bool:
        """Whether the solver learns from products of rows instead of features."""
        return self.kernel is not None and self.landmarks is None

    def _described(self, problem: Problem, seed: int) -> LearnedRows:
        """The rows by their products with landmarks."""
        threads = worker_count(self.n_jobs)
        rng = np.random.default_rng(0 if self.random_state is None else seed)
        numbers = np.sort(rng.permutation(problem.n_rows)[: self.landmarks])
        marks = landmarks_of(row_kernel(self.kernel, self.kernel_params), problem.X, numbers, threads)
        return LearnedRows(
            problem.with_features(marks.features(problem.X, threads)),
            repr(marks.key()),
            lambda vectors: _by_landmarks(vectors, marks, problem),
        )


def _by_landmarks(vectors: Vectors, marks: Landmarks, problem: Problem) -> KernelVectors:
    """Vectors over the features of landmarks as sums of the landmarks themselves."""
    targets, numbers = problem.targets, marks.numbers
    has = np.diff(targets.indptr)[numbers] > 0
    labels = np.full(len(numbers), -1, dtype=np.int32)
    labels[has] = targets.indices[targets.indptr[numbers[has]]]
    return KernelVectors(
        marks.kernel,
        marks.rows,
        sparse.csr_array(marks.coefficients(vectors.coef)),
        sparse.csr_array(sparse.eye_array(vectors.n_classes)),
        vectors.intercept,
        numbers.astype(np.int64),
        labels,
        problem.n_features,
    )
