"""Recursive regularization with hinge losses: HR-SVM on trees and DAGs."""

from __future__ import annotations

from taxolearn.methods.parameters import estimator, parameter
from taxolearn.methods.probabilities import CalibratedProbabilities
from taxolearn.methods.recursive import Recursive


@estimator
class RecursiveSVM(CalibratedProbabilities, Recursive):
    """SVM whose class vectors stay close to those of the parent in the taxonomy (HR-SVM; Gopal, Yang 2013).

    With y_il = 1 for the rows of class l and -1 for all others, it minimises

        sum_n 1/2 ||w_n - w_parent(n)||^2 / a_n + 1/2 sum_l (b_l - intercept_prior)^2
            + C sum over classes l and rows i of c_il loss(y_il (w_l . x_i + b_l s)),

    loss(m) = max(0, 1 - m) or its square; a_n = 1 is the paper's objective. In terms of u_n = w_n - w_parent, class
    l has the sum of u_n along its path, and in this form the method takes DAGs too: the sum goes over all
    ancestors. b_l s is the intercept, s being `intercept_scaling`; c_il is the row's `sample_weight` times the
    `class_weight` of l for the rows of l. A class without rows has no losses and gets its parent's vector. With
    classes right below a pinned root this is one-vs-rest.

    >>> from taxolearn import Taxonomy
    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
    >>> X, y = [[-1.0, 0.0], [-1.0, 1.0], [1.0, 0.0]], ["Lion", "Lynx", "Dog"]
    >>> model = RecursiveSVM(tree, tol=1e-2).fit(X, y)
    >>> model.predict([[2.0, 0.0]]).tolist(), model.certificate_.holds(1e-2)
    (['Dog'], True)
    """

    loss: str = parameter(
        default="squared_hinge",
        doc="max(0, 1 - m)^2 or max(0, 1 - m). The squared hinge is several times faster at scale.",
        choices=("squared_hinge", "hinge"),
    )
