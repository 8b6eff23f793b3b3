"""What the methods of recursive regularization share: the tie over a taxonomy, and its solvers."""

from __future__ import annotations

from typing import ClassVar

from taxolearn.decoders import best_or_thresholds
from taxolearn.methods.empty_classes import EmptyClasses
from taxolearn.methods.growing import GrowsClasses
from taxolearn.methods.parameters import estimator, parameter, positive
from taxolearn.methods.path_scales import PathScales
from taxolearn.methods.several_labels import TiedIntercepts
from taxolearn.problem import Problem
from taxolearn.ties import PathSum


@estimator
class Recursive(EmptyClasses, GrowsClasses, PathScales, TiedIntercepts):
    """Base of RecursiveSVM and RecursiveLogistic.

    >>> from taxolearn import RecursiveSVM
    >>> issubclass(RecursiveSVM, Recursive)
    True
    """

    _solvers: ClassVar[tuple[str, ...]] = ("tree", "descent", "newton", "lbfgs", "levels", "interior")
    _decoder = staticmethod(best_or_thresholds)

    tol: float = parameter(
        default=1e-3,
        doc="Certified relative gap to reach; on very large label sets 5e-2 gives nearly the same predictions sooner.",
        check=positive,
    )
    solver: str = parameter(
        default="auto",
        doc=(
            '"tree" (hinge losses, on DAGs too) keeps only non-zero duals and scales to tens of thousands of '
            'classes; "descent" (any loss) ascends the dual and keeps all vectors; "newton" (smooth losses) '
            'reaches small gaps, "lbfgs" is quicker to moderate ones on dense rows; '
            '"levels" is the paper\'s own alternation; "interior" is for small dense problems on features '
            'of very different scale. "auto" takes what suits rows, loss and gap.'
        ),
        choices=("auto", "tree", "descent", "newton", "lbfgs", "levels", "interior"),
    )

    def _tie(self, problem: Problem) -> PathSum:
        return self._path_tie(problem)
