"""What the methods of recursive regularization over a graph share: their tie and its solvers."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from taxolearn.decoders import best_or_thresholds
from taxolearn.errors import DataError
from taxolearn.methods.parameters import estimator, number_or, parameter, positive
from taxolearn.methods.several_labels import TiedIntercepts
from taxolearn.problem import Problem
from taxolearn.structure import ClassGraph, Taxonomy
from taxolearn.structure.names import show
from taxolearn.ties import GraphTie, graph_tie


def graph_or_none(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, ClassGraph):
        raise DataError(
            f"{name} must be a taxolearn.ClassGraph or None, not {show(value)}; build one with from_edges"
        )


def _names_or_none(name: str, value: Any) -> None:
    if isinstance(value, str) or not (value is None or hasattr(value, "__iter__")):
        raise DataError(f"{name}={show(value)} is not allowed; give a list of names")


@estimator
class GraphRecursive(TiedIntercepts):
    """Base of GraphRecursiveSVM and GraphRecursiveLogistic.

    >>> from taxolearn import GraphRecursiveSVM
    >>> issubclass(GraphRecursiveSVM, GraphRecursive)
    True
    """

    _solvers: ClassVar[tuple[str, ...]] = ("graph", "newton", "lbfgs", "interior")
    _decoder = staticmethod(best_or_thresholds)
    _empty_classes: ClassVar[Literal["drop", "keep"]] = "drop"

    graph: ClassGraph | None = parameter(
        default=None,
        doc=(
            "Its nodes are the classes, and may be more: latent nodes without rows, through which others pull"
            " each other. None: no edges, flat over the classes seen."
        ),
        check=graph_or_none,
        kw_only=False,
    )
    C: float = parameter(default=1.0, doc="Weight of the losses against the penalty.", check=positive)
    taxonomy: Taxonomy | None = parameter(default=None, doc="For paths, metrics and storage only.")
    ridge: float = parameter(
        default=1.0,
        doc="Pull of every vector towards zero; 0 only where each part of the graph has a pinned node.",
        check=number_or(),
    )
    pinned: Any = parameter(
        default=None,
        doc=(
            "List of names of nodes whose vector is zero. A tree given as a graph, with edges that weigh 1 / "
            "a_n, its root pinned and ridge=0, is the recursive method on that tree."
        ),
        check=_names_or_none,
    )
    tol: float = parameter(
        default=1e-3,
        doc="Certified relative gap to reach; on very large label sets 5e-2 gives nearly the same predictions sooner.",
        check=positive,
    )

    def _tie(self, problem: Problem) -> GraphTie:
        graph = ClassGraph.from_edges([], nodes=problem.classes) if self.graph is None else self.graph
        pinned = () if self.pinned is None else tuple(self.pinned)
        return graph_tie(graph, problem.classes, ridge=float(self.ridge), pinned=pinned)
