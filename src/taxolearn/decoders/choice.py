"""The decoder of a problem: what methods name, and what a stored model asks for by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from taxolearn.decoders.base import Decoder
from taxolearn.decoders.best import Best
from taxolearn.decoders.decisions import passing_decisions
from taxolearn.decoders.label_space import LabelSpace
from taxolearn.decoders.probable_sets import ProbableSets
from taxolearn.decoders.sets import Sets
from taxolearn.decoders.thresholds import Thresholds
from taxolearn.decoders.top_down import TopDown
from taxolearn.errors import ModelError, TaxonomyError
from taxolearn.problem import Problem
from taxolearn.problem.node_sets import Must
from taxolearn.structure import Taxonomy

# By the name that a stored model has.
DECODERS: dict[str, type[Decoder]] = {
    kind.name: kind for kind in (Best, Thresholds, TopDown, Sets, ProbableSets)
}


def best_class(problem: Problem, thresholds: npt.NDArray[np.float64] | None = None) -> Best:
    """The class of the best score, for methods of one label per row.

    >>> from taxolearn.problem import make_problem
    >>> best_class(make_problem([[0.0], [1.0]], ["a", "b"])).n_classes
    2
    """
    return Best(problem.n_classes)


def best_or_thresholds(
    problem: Problem, thresholds: npt.NDArray[np.float64] | None = None
) -> Best | Thresholds:
    """The class of the best score, or with several labels per row all classes above their thresholds (zero unless
    given).

    >>> from taxolearn.problem import make_problem
    >>> best_or_thresholds(make_problem([[0.0], [1.0]], [["a"], ["a", "b"]])).thresholds.tolist()
    [0.0, 0.0]
    """
    if not problem.labels.multilabel:
        return Best(problem.n_classes)
    return Thresholds(np.zeros(problem.n_classes) if thresholds is None else thresholds)


def top_down_decoder(problem: Problem, thresholds: npt.NDArray[np.float64] | None = None) -> TopDown:
    """From the root down, at each node to the child of the best score; without a taxonomy all classes are siblings.

    >>> from taxolearn.problem import make_problem
    >>> top_down_decoder(make_problem([[0.0], [1.0]], ["a", "b"])).n_units
    2
    """
    if problem.taxonomy is None:
        n = problem.n_classes
        return TopDown(*(np.array(part, dtype=np.int32) for part in ([0, n], [-1] * n, range(n))))
    _check_tree(problem.taxonomy)
    return TopDown.over(problem.taxonomy, problem.class_nodes)


def passing_decoder(problem: Problem, thresholds: npt.NDArray[np.float64] | None = None) -> TopDown:
    """From the root down to a leaf, at each node to the child of the best score; classes at inner nodes are passed.

    >>> from taxolearn.problem import make_problem
    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> problem = make_problem([[0.0], [1.0], [2.0]], ["Animal", "Cat", "Dog"], tree)
    >>> passing_decoder(problem).n_units, top_down_decoder(problem).n_units
    (2, 3)
    """
    if problem.taxonomy is None:
        return top_down_decoder(problem)
    _check_tree(problem.taxonomy)
    return TopDown.passing(problem.taxonomy, problem.class_nodes)


def unit_nodes(problem: Problem) -> npt.NDArray[np.int32]:
    """The taxonomy's node of every unit of `passing_decoder`; the classes themselves without a taxonomy.

    >>> from taxolearn.problem import make_problem
    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> unit_nodes(make_problem([[0.0], [1.0]], ["Cat", "Dog"], tree)).tolist()  # Animal has no sibling
    [1, 2]
    """
    if problem.taxonomy is None:
        return np.arange(problem.n_classes, dtype=np.int32)
    indptr, _, _, nodes = passing_decisions(problem.taxonomy, problem.class_nodes)
    sizes = np.diff(indptr)
    return nodes[np.repeat(sizes > 1, sizes)]


def set_decoder(
    problem: Problem,
    thresholds: npt.NDArray[np.float64] | None = None,
    must: Must = "auto",
    offset: float = 0.0,
) -> Sets:
    """The label set of the best sum of node scores; `must` says which nodes need a chosen child, see `LabelSpace.of`.

    There are no thresholds, but one offset for all nodes.

    >>> from taxolearn.problem import make_problem
    >>> set_decoder(make_problem([[0.0], [1.0]], [["a"], ["a", "b"]])).n_units  # a root, a, b
    3
    """
    return Sets(LabelSpace.of(problem, must), offset)


def _check_tree(taxonomy: Taxonomy) -> None:
    if not taxonomy.is_tree:
        raise TaxonomyError(
            "top-down methods need one way from the root to each class, and this taxonomy is a DAG; use RecursiveSVM "
            "or NormalizedHierarchicalSVM"
        )


def decoder_of(name: Any, arrays: Mapping[str, npt.NDArray[Any]], n_classes: int, n_units: int) -> Decoder:
    """The decoder that a stored model names, made of its arrays; it must suit so many vectors.

    >>> decoder_of("best", {}, 3, 3)
    Best(n_classes=3)
    >>> decoder_of("best", {}, 3, 4)
    Traceback (most recent call last):
    ...
    taxolearn.errors.ModelError: 3 classes do not fit 4 vectors
    """
    if not isinstance(name, str) or name not in DECODERS:
        raise ModelError(f"the decoder {str(name)[:40]!r} is not known to this version of taxolearn")
    decoder = DECODERS[name].from_arrays(arrays, n_classes)
    if getattr(decoder, "n_units", n_classes) != n_units:
        raise ModelError(f"{n_classes} classes do not fit {n_units} vectors")
    return decoder
