"""Normalized Hierarchical SVM of Choi, Sasaki and Srebro."""

from __future__ import annotations

from typing import Any

from taxolearn.errors import DataError
from taxolearn.losses import StructuredHinge, structured_hinge
from taxolearn.methods.empty_classes import EmptyClasses
from taxolearn.methods.inner_labels import OwnLeaves
from taxolearn.methods.label_sets import SetMethod
from taxolearn.methods.own_nodes import rule_with_own_nodes
from taxolearn.methods.parameters import check_choice, estimator, parameter
from taxolearn.methods.structured import Array, given_scales
from taxolearn.problem import Problem
from taxolearn.scales import node_weights
from taxolearn.structure.names import show
from taxolearn.ties import PathSum, Tie, path_sum, with_own_nodes


def _rule_or_scales(name: str, value: Any) -> None:
    if isinstance(value, str):
        check_choice(name, value, ("maxmin", "rho", "uniform", "leaf"))


def _ten_or_thirteen(name: str, value: Any) -> None:
    if isinstance(value, bool) or value not in (10, 13):
        raise DataError(f"{name}={show(value)} is not known; choose 10 or 13")


@estimator
class NormalizedHierarchicalSVM(EmptyClasses, OwnLeaves, SetMethod):
    """Hierarchical SVM whose node scales and margins are normalised, so that deep classes do not come cheaper
    than shallow ones (NHSVM; Choi, Sasaki, Srebro, sections 5 and 5.1).

    With scales a_n that sum to one along every path (4), u_n = sqrt(a_n) W_n of the paper, and w_l the sum of u_n
    over the path of class l, it minimises objective (10), written as (11),

        1/2 sum_n ||u_n||^2 / a_n + C sum_i c_i max(0, max over l != y_i of D(l, y_i) - (w_{y_i} - w_l) . x_i),

    D(l, y) = sqrt(sum of a_n over the nodes n on one of the two paths only) being the cost (9); or objective (13),
    which divides inside the max by that cost: max(0, 1 - (w_{y_i} - w_l) . x_i / D(l, y_i)). C = 1 / (2 lambda) of
    the paper; x carries the constant feature `intercept_scaling`. Leaves may have no rows. Labels may be inner nodes; a
    class at an inner node then has a leaf of its own below it (`inner_labels`), with a scale a_n, a vector u_n and a
    part in D as any other leaf, so that (4) holds for its path, too.

    Several labels per row: with Y_i the labels of row i and all their ancestors, and sets Y of nodes that are closed
    under ancestors, the losses become

        C sum_i c_i max over sets Y of Delta(Y, Y_i) + sum_{n in Y} u_n . x_i - sum_{n in Y_i} u_n . x_i

    (section 7.1 of Choi, Sasaki, Srebro; Delta by `set_cost` and `miss_cost`, on DAGs an upper bound of theirs).

    >>> from taxolearn import Taxonomy
    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
    >>> X, y = [[-1.0, 0.0], [-1.0, 1.0], [1.0, 0.0]], ["Lion", "Lynx", "Dog"]
    >>> model = NormalizedHierarchicalSVM(tree).fit(X, y)
    >>> model.predict([[2.0, 0.0]]).tolist(), model.certificate_.holds(1e-3)
    (['Dog'], True)
    >>> model.node_weights_.round(2).tolist()
    [0.33, 0.33, 0.33, 0.33, 0.67]
    """

    weights: Any = parameter(
        default="maxmin",
        doc=(
            'The scales a_n: the rule of `taxolearn.node_weights`, "maxmin" (7), "rho" (6), or the ends of '
            'the scale, "uniform" as in HSVM and "leaf", flat; or an array of one number per node.'
        ),
        check=_rule_or_scales,
    )
    rho: float = parameter(default=2.0, doc='The power of the rule "rho".')
    directional: bool = parameter(
        default=False, doc='Of the rule "rho": whether no parent may weigh more than its child.'
    )
    T: float | None = parameter(default=None, doc='Of the rule "rho": the relaxed sum (8) for DAGs.')
    objective: int = parameter(default=10, doc="The equation of the paper, 10 or 13.", check=_ten_or_thirteen)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        by_rho = isinstance(self.weights, str) and self.weights == "rho"
        for name, default in (("rho", 2.0), ("directional", False), ("T", None)):
            value = getattr(self, name)
            if not by_rho and value != default:
                raise DataError(
                    f"{name}={show(value)} belongs to weights='rho' and has no part in weights={show(self.weights)}; "
                    "leave it out"
                )

    def _tie(self, problem: Problem) -> PathSum:
        inner = self._inner_classes(problem)
        if not len(inner):
            return super()._tie(problem)
        assert problem.taxonomy is not None
        if isinstance(self.weights, str):
            self.node_weights_, own = rule_with_own_nodes(
                problem.taxonomy, problem.class_nodes, inner, self.weights, **self._by_power()
            )
        else:  # what is left of the largest sum along a path
            self.node_weights_ = given_scales("weights", self.weights)
            sums = (
                path_sum(problem.taxonomy, problem.class_nodes, self.node_weights_).paths @ self.node_weights_
            )
            own = sums.max() - sums[inner]
        tie = path_sum(problem.taxonomy, problem.class_nodes, self.node_weights_)
        return with_own_nodes(tie, inner, own)

    def _by_power(self) -> dict[str, Any]:
        if self.weights != "rho":
            return {}
        return {"rho": self.rho, "directional": self.directional, "T": self.T}

    def _scales(self, problem: Problem) -> Array:
        assert problem.taxonomy is not None
        if not isinstance(self.weights, str):
            return given_scales("weights", self.weights)
        rule: Any = self.weights
        return node_weights(problem.taxonomy, rule, class_nodes=problem.class_nodes, **self._by_power())

    def _loss(self, problem: Problem, tie: Tie) -> StructuredHinge:
        return structured_hinge(problem, tie, "normalized", "margin" if self.objective == 10 else "unit")
