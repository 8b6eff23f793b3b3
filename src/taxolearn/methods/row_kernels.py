"""Methods whose dual needs no more of the rows than products of two: with a kernel they learn in its space."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from taxolearn.engines import worker_count
from taxolearn.errors import DataError
from taxolearn.gram import row_kernel, row_products
from taxolearn.methods.fitting import CertifiedClassifier
from taxolearn.methods.parameters import estimator, parameter, positive
from taxolearn.problem import Problem

_NOT_NEGATIVE = ("chi2", "additive_chi2")


@estimator
class RowKernels(CertifiedClassifier):
    """Methods with a kernel: w . x of their objective becomes w . phi(x), with phi(x) . phi(z) = k(x, z), and the bias
    is the weight of one more feature as ever: k(x, z) + s^2. Vectors are sums of the training rows (representer
    theorem), of which the model keeps those that count.

    >>> from taxolearn import MulticlassSVM
    >>> X, y = [[-1.0], [0.0], [1.0]], ["out", "in", "out"]
    >>> model = MulticlassSVM(kernel="rbf", C=10.0).fit(X, y)
    >>> model.predict([[0.1], [2.0]]).tolist(), model.certificate_.holds(1e-3)
    (['in', 'out'], True)
    """

    kernel: Any = parameter(
        default=None,
        doc=(
            "None: rows are vectors. Else only their products count: one of scikit-learn's `pairwise_kernels` by "
            'name ("linear", "poly", "rbf", "laplacian", "cosine", "sigmoid", "chi2", "additive_chi2"), a callable '
            "that takes two matrices of rows and returns the matrix of their products, or "
            '"precomputed": X is the square matrix of products of all rows, and in `predict` new rows x training '
            "rows. A matrix that is not positive semi-definite is an error: it has no optimum to certify. "
            '"linear" learns what None learns, by products of rows, which pays where rows are few and long.'
        ),
    )
    kernel_params: dict[str, Any] | None = parameter(
        default=None,
        doc=(
            "Parameters of the kernel: `gamma`, `degree`, `coef0` as in scikit-learn's `pairwise_kernels`; gamma may "
            'be "scale" or "auto" as in `sklearn.svm.SVC`. A callable gets them as keywords.'
        ),
    )
    cache_size: float = parameter(
        default=200.0, doc="Rows of the kernel's matrix to keep while fitting, in MB.", check=positive
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        if isinstance(self.kernel, str) and self.kernel in _NOT_NEGATIVE:
            tags.input_tags.positive_only = True
            tags.input_tags.sparse = False
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.kernel is None:
            if self.kernel_params:
                raise DataError("kernel_params are of a kernel, and kernel=None has none; give a kernel")
            return
        row_kernel(self.kernel, self.kernel_params)
        if self.checkpoint is not None and not isinstance(self.kernel, str):
            raise DataError(
                "checkpoint needs a kernel by name: nobody can tell whether a callable is the same one tomorrow"
            )

    def _with_products(self, problem: Problem) -> Problem:
        if self.kernel is None:
            return problem
        kernel = row_kernel(self.kernel, self.kernel_params)
        room = int(float(self.cache_size) * 2**20)
        return replace(problem, products=row_products(kernel, problem.X, room, worker_count(self.n_jobs)))
