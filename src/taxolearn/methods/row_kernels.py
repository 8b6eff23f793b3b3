"""Methods whose dual needs no more of the rows than products of two: with a kernel they learn in its space."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from taxolearn.engines import worker_count
from taxolearn.gram import row_kernel, row_products
from taxolearn.methods.fitting import CertifiedClassifier
from taxolearn.methods.parameters import estimator, parameter, positive, whole_or_none
from taxolearn.problem import Problem


@estimator
class RowKernels(CertifiedClassifier):
    """Methods with a kernel: w . x of their objective becomes w . phi(x), with phi(x) . phi(z) = k(x, z), and the bias
    is the weight of one more feature as ever: k(x, z) + s^2. Vectors are sums of the training rows (representer
    theorem), of which the model keeps those that count; or, with `landmarks`, sums of these.

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
    landmarks: int | None = parameter(
        default=None,
        doc=(
            "With a kernel: None learns from the products of all rows, whose number grows with the square of theirs. "
            "A number: so many training rows are drawn (by `random_state`; None draws the same each time), and all "
            "rows described by their products with these (the Nystroem method); the certificate is of that."
        ),
        check=whole_or_none,
    )
    cache_size: float = parameter(
        default=200.0, doc="Rows of the kernel's matrix to keep while fitting, in MB.", check=positive
    )

    _takes_all_products: ClassVar[bool] = True

    def _with_products(self, problem: Problem) -> Problem:
        if not self._by_products:
            return problem
        kernel = row_kernel(self.kernel, self.kernel_params)
        room = int(float(self.cache_size) * 2**20)
        return replace(problem, products=row_products(kernel, problem.X, room, worker_count(self.n_jobs)))
