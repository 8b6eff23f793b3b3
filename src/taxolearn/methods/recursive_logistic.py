"""Recursive regularization with logistic losses: HR-LR on trees and DAGs, and its softmax form."""

from __future__ import annotations

from taxolearn.methods.parameters import estimator, parameter, positive
from taxolearn.methods.probabilities import LikelihoodProbabilities
from taxolearn.methods.recursive import Recursive


@estimator
class RecursiveLogistic(LikelihoodProbabilities, Recursive):
    """Logistic regression whose class vectors stay close to those of the parent in the taxonomy (HR-LR; Gopal,
    Yang 2013), one class against the rest or all classes together.

    With y_il = 1 for the rows of class l and -1 for all others, it minimises

        sum_n 1/2 ||w_n - w_parent(n)||^2 / a_n + 1/2 sum_l (b_l - intercept_prior)^2 + C losses,

    the losses being sum over classes l and rows i of c_il log(1 + exp(-y_il (w_l . x_i + b_l s))), as in the paper,
    or, beyond it, with loss="softmax", sum over rows of c_i (log sum_l exp(w_l . x_i + b_l s) - (w_{y_i} . x_i +
    b_{y_i} s)): one label per row, and probabilities that sum to one by themselves. DAGs, intercepts and scales are
    as in `RecursiveSVM`. With softmax a class without rows takes part, and is pushed away from the rows of others;
    otherwise it has no losses.

    >>> import numpy as np
    >>> from taxolearn import Taxonomy
    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
    >>> X, y = [[-1.0, 0.0], [-1.0, 1.0], [1.0, 0.0]], ["Lion", "Lynx", "Dog"]
    >>> model = RecursiveLogistic(tree, loss="softmax", tol=1e-3).fit(X, y)
    >>> model.predict([[2.0, 0.0]]).tolist(), model.predict_proba([[2.0, 0.0]]).sum().round(6)
    (['Dog'], np.float64(1.0))
    """

    tol: float = parameter(
        default=1e-4,
        doc="Certified relative gap to reach; few rows a class need a small one, very large sets are done with 5e-2.",
        check=positive,
    )
    loss: str = parameter(
        default="logistic",
        doc="One class against the rest, or all classes together.",
        choices=("logistic", "softmax"),
    )
