"""Top-down classifier: an independent linear model at each inner node."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from taxolearn.decoders import top_down_decoder
from taxolearn.errors import DataError
from taxolearn.losses import LOSSES, structured_hinge
from taxolearn.methods.parameters import estimator, parameter
from taxolearn.methods.structured import StructuredMethod
from taxolearn.objective import Objective, Parts
from taxolearn.problem import Problem
from taxolearn.ties import flat


@estimator
class TopDownSVM(StructuredMethod):
    """Multi-class SVM at each inner node of a tree, and recursive prediction (Dumais, Chen 2000; HIERMULT of Zhou,
    Xiao, Wu).

    At each inner node p with children ch(p), over the rows i below p, a(i) being the child that row i is below, it
    minimises

        1/2 sum over c in ch(p) of (||w_c||^2 + b_c^2)
            + C sum_i c_i max(0, max over c != a(i) of 1 - s_{a(i)}(x_i) + s_c(x_i)),   s_c(x) = w_c . x + b_c s,

    nodes knowing nothing of each other. With `loss="squared_hinge"` or "logistic" the children of a node are told apart
    one against the rest instead, sum over c of 1/2 (||w_c||^2 + b_c^2) + C sum_i c_i loss(+-s_c(x_i)), as
    scikit-learn's linear models at each node do. A row goes from the root to the child of the best score until it
    reaches a class. A class at an inner node is one more child of it: to stop there. Leaves without rows cannot be
    predicted; nodes with one child have nothing to decide. DAGs are refused: the way to a class must be one. The
    certificate has a part per inner node, or per child where these are told apart one against the rest.

    >>> from taxolearn import Taxonomy
    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
    >>> X, y = [[-1.0, 0.0], [-1.0, 1.0], [1.0, 0.0]], ["Lion", "Lynx", "Dog"]
    >>> model = TopDownSVM(tree).fit(X, y)
    >>> model.predict_path([[-2.0, 1.0]]), model.certificate_.holds(1e-3)
    ([('Animal', 'Cat', 'Lynx')], True)
    """

    _decoder = staticmethod(top_down_decoder)
    _solvers = ("one_vs_rest", "dual", "pegasos", "interior", "averaging")
    _empty_classes: ClassVar[Literal["drop", "keep"]] = "drop"

    loss: str = parameter(
        default="multiclass",
        doc="All children of a node compared with each other, or each of them with the rest.",
        choices=("multiclass", "squared_hinge", "logistic"),
    )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self._by_products and self.loss != "multiclass":
            raise DataError(f"loss={self.loss!r} takes no kernel; use loss='multiclass', or kernel=None")

    def _objective(self, problem: Problem) -> Parts:
        self._check_labels(problem)
        decoder = top_down_decoder(problem)
        parts, rows, units, features = [], [], [], []
        for choice in decoder.choices():
            group = np.full(problem.n_classes, -1)
            group[choice.classes] = choice.option
            n_options = choice.units.stop - choice.units.start
            below, own = problem.regrouped(group, n_options)
            below, seen = below.compacted()
            tie = flat(n_options)
            loss = structured_hinge(below, tie) if self.loss == "multiclass" else LOSSES[self.loss]
            parts.append(Objective(below, loss, tie, self.C, self._bias_feature))
            rows.append(own)
            features.append(seen)
            units.append(np.arange(choice.units.start, choice.units.stop))
        whole = tuple(parts), tuple(rows), tuple(units)
        return Parts(problem, *whole, decoder.n_units, tuple(features))
