"""Node weights from the structure alone: from HSVM's uniform ones over the normalised ones of NHSVM to flat."""

from __future__ import annotations

import math
from numbers import Real
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from taxolearn.errors import DataError
from taxolearn.scales.conic_scales import least_power
from taxolearn.scales.normalized import least_power_on_forest, max_min_on_dag, max_min_on_forest
from taxolearn.scales.weighted_nodes import WeightedNodes, check_classes, weighted_nodes
from taxolearn.structure import Taxonomy

Rule = Literal["uniform", "leaf", "rho", "maxmin"]
Root = Literal["free", "pinned"]
Duplicates = Literal["keep", "merge"]
FloatArray = npt.NDArray[np.float64]


def node_weights(
    taxonomy: Taxonomy,
    rule: Rule = "rho",
    *,
    rho: float = 2.0,
    directional: bool = False,
    T: float | None = None,
    root: Root | None = None,
    duplicates: Duplicates = "keep",
    class_nodes: npt.ArrayLike | None = None,
) -> FloatArray:
    """The weight a_n >= 0 of every node, the variance of its vector in the tie w_l = sum of u_n over l's path.

    Equations are those of Choi, Sasaki and Srebro, "Normalized Hierarchical SVM". A path is a class with all its
    ancestors; (4) asks for sum one along every path, so that deep and shallow classes pay the same.

    Parameters
    ----------
    taxonomy : Taxonomy
        A tree or a DAG.
    rule : {"rho", "maxmin", "uniform", "leaf"}
        - "rho": (6), the least sum of a_n^rho with (4). On a tree in closed form, on a DAG by cone programme.
        - "maxmin": (7), the largest least weight with (4). (7) has many solutions; this is the lexicographic one,
          which then has the largest second least weight, and so on. Its directional constraint, no parent above its
          child, holds by itself. On a tree in closed form, on a DAG by progressive filling.
        - "uniform": one everywhere, as in HSVM and recursive regularization; (4) does not hold.
        - "leaf": one at the classes and zero above them: the flat model.
    rho : float
        More than 1; for rule "rho". As rho goes to 1 the weight goes to the nodes with most classes: on a tree
        the root takes all of it, which is why the paper's Theorem 1 says less than it seems (see `duplicates`).
    directional : bool
        For rule "rho": add the constraint of (7) that no parent weighs more than its child. On a tree the solution
        is that of "maxmin", for every rho.
    T : float, optional
        For rule "rho": relax (4) to (8), 1 <= sum along a path <= T; the paper has T = 1.5 for DAGs, where (4) may
        leave little room above classes with many ancestors. On a tree (8) changes nothing unless `directional`.
    root : {"free", "pinned"}, optional
        Whether the root has a weight; "pinned" makes it zero. By default it is pinned with T and free without:
        under (8) it would take nearly all of the weight, being on every path, and leave the others none.
    duplicates : {"keep", "merge"}
        "merge" gives nodes that have the same classes below them one weight between them, in even shares, which for
        (6) is the same as weighting the cost of a node by its number of duplicates to the power rho - 1. Then the
        class covariance does not depend on duplicates, for every rule and rho: what Theorem 1 is meant to say.
    class_nodes : array of int, optional
        Ids of the nodes that are classes, by default the leaves. Nodes without a class at or below them get zero.
        Where classes lie on one path, (4) and (8) hold for the lowest, and the path of an upper one sums to less:
        were it to sum to one as well, all weights between the two would be zero and their scores the same.

    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
    >>> node_weights(tree).round(3)
    array([0.625, 0.25 , 0.125, 0.125, 0.375])
    >>> node_weights(tree, "maxmin").round(3)
    array([0.333, 0.333, 0.333, 0.333, 0.667])
    >>> node_weights(tree, "leaf")
    array([0., 0., 1., 1., 1.])
    """
    _check(rule, rho, directional, T, root, duplicates)
    classes = check_classes(taxonomy, class_nodes)
    pinned = root == "pinned" or (root is None and T is not None)
    if rule == "uniform" and duplicates == "keep":
        weights = np.ones(taxonomy.n_nodes)
        weights[0] -= pinned
        return weights
    nodes = weighted_nodes(taxonomy, classes, root_has_weight=not pinned, merge=duplicates == "merge")
    if rule == "uniform":
        return nodes.spread(np.ones(nodes.n_variables))
    if rule == "leaf":
        at_classes = np.zeros(nodes.n_variables)
        of_class = nodes.variable[classes]
        at_classes[of_class[of_class >= 0]] = 1.0
        return nodes.spread(at_classes)
    if rule == "maxmin":
        return nodes.spread(_max_min(nodes))
    return nodes.spread(_least_power(nodes, rho, directional, T))


def _max_min(nodes: WeightedNodes) -> FloatArray:
    return max_min_on_dag(nodes.paths) if nodes.parent is None else max_min_on_forest(nodes.parent)


def _least_power(nodes: WeightedNodes, rho: float, directional: bool, T: float | None) -> FloatArray:
    if nodes.parent is not None and not directional:
        # With every weight positive so is every multiplier of (4): the upper bound of (8) does not act.
        return least_power_on_forest(nodes.parent, rho)
    if nodes.parent is not None and T is None:
        return max_min_on_forest(nodes.parent)
    return least_power(
        nodes.path_matrix(),
        nodes.ends,
        (nodes.parents, nodes.children),
        rho=float(rho),
        largest_sum=1.0 if T is None else float(T),
        directional=directional,
    )


def _check(
    rule: str, rho: float, directional: bool, T: float | None, root: str | None, duplicates: str
) -> None:
    choices = {"rule": (rule, get_args(Rule)), "duplicates": (duplicates, get_args(Duplicates))}
    if root is not None:
        choices["root"] = (root, get_args(Root))
    for name, (value, known) in choices.items():
        if value not in known:
            raise DataError(
                f"{name}={value!r} is not known here; choose one of {', '.join(map(repr, known))}"
            )
    if not (_is_number(rho) and rho > 1):
        raise DataError(f"rho={rho!r} is out of range; give a finite number above 1, or use rule='maxmin'")
    if T is not None and not (_is_number(T) and T >= 1):
        raise DataError(f"T={T!r} is out of range; give a finite number from 1 on, or None for sums of one")
    if not isinstance(directional, bool | np.bool_):
        raise DataError(f"directional={directional!r} is not allowed; give True or False")
    if rule != "rho" and (directional or T is not None):
        extra = "directional=True" if directional else f"T={T:g}"
        raise DataError(f"{extra} belongs to rule='rho' and has no part in rule={rule!r}; leave it out")


def _is_number(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)
