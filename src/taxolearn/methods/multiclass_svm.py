"""Multi-class support vector machine of Crammer and Singer: the flat end of the structured methods."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from taxolearn.losses import StructuredHinge, structured_hinge
from taxolearn.methods.label_sets import SetMethod
from taxolearn.methods.parameters import estimator, parameter
from taxolearn.problem import Problem
from taxolearn.structure import Taxonomy
from taxolearn.ties import PathSum, Tie, flat


@estimator
class MulticlassSVM(SetMethod):
    """Multi-class SVM over the classes seen, which know nothing of each other (Crammer, Singer 2001, eq. 6;
    "FlatSVM" of Choi, Sasaki, Srebro).

    It minimises, with s_l(x) = w_l . x + b_l s and x carrying the constant feature s = `intercept_scaling`,

        1/2 sum_l (||w_l||^2 + b_l^2) + C sum_i c_i max(0, max over l != y_i of 1 - s_{y_i}(x_i) + s_l(x_i)),

    c_i being the row's `sample_weight` times the `class_weight` of its class; C is 1 / (2 lambda) of the paper. Unlike
    one-vs-rest, classes are compared with each other, as `predict` does. Every fit ends with a certificate.

    Several labels per row: with Y_i the labels of row i, and Y any set of classes but the empty one, the losses become

        C sum_i c_i max over sets Y of Delta(Y, Y_i) + sum_{l in Y} s_l(x_i) - sum_{l in Y_i} s_l(x_i),

    Delta being the summed costs of classes in one of the two sets only (`miss_cost` for those of Y_i).

    >>> model = MulticlassSVM().fit([[-1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], ["a", "b", "c"])
    >>> model.predict([[2.0, 0.0]]).tolist(), model.certificate_.holds(1e-3)
    (['c'], True)
    """

    _empty_classes: ClassVar[Literal["drop", "keep"]] = "drop"

    taxonomy: Taxonomy | None = parameter(
        default=None,
        doc="Labels must be its nodes; used for paths, metrics and storage, not for learning.",
        kw_only=False,
    )

    @property
    def _is_flat(self) -> bool:
        return True

    def _tie(self, problem: Problem) -> PathSum:
        self.node_weights_ = np.ones(problem.n_classes)
        return flat(problem.n_classes)

    def _loss(self, problem: Problem, tie: Tie) -> StructuredHinge:
        return structured_hinge(problem, tie, "zero_one")
