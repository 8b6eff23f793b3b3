"""Recursive regularization with the logistic loss over a graph of classes: HR-LR on graphs."""

from __future__ import annotations

from typing import Any

from taxolearn.methods.graph_recursive import GraphRecursive
from taxolearn.methods.probabilities import LogisticProbabilities
from taxolearn.structure import ClassGraph, Taxonomy


class GraphRecursiveLogistic(LogisticProbabilities, GraphRecursive):
    """Logistic regression whose class weights stay close to those of neighbours in a graph of classes (HR-LR on
    graphs; Gopal, Yang 2013).

    With y_il = 1 for the rows of class l and -1 for all others, it minimises

        1/2 (sum over edges (i, j) of e_ij ||w_i - w_j||^2 + ridge sum_n ||w_n||^2) + 1/2 sum_l (b_l -
        intercept_prior)^2
            + C sum over classes l and rows i of c_il log(1 + exp(-y_il (w_l . x_i + b_l s))),

    by block coordinate descent: nodes are coloured so that neighbours differ, and all nodes of one colour are
    solved at once on threads. The paper has no ridge; without it and without a pinned node, weights common to all
    classes would be free.

    Parameters
    ----------
    graph : ClassGraph or None
        Its nodes are the classes, and may be more: latent nodes without rows, through which others pull each other.
        None: no edges, flat over the classes seen.
    C : float
        Weight of the losses.
    loss : {"logistic", "softmax"}
        One class against the rest, or beyond the paper all classes compared, with one label a row: log sum_l
        exp(w_l . x_i + b_l s) less the score of the row's own class. Softmax is solved by Newton's method on the
        classes' covariance, which is dense: for up to 10,000 classes.
    ridge : float
        Pull of every vector towards zero; 0 only where each part of the graph has a pinned node.
    pinned : list of names, optional
        Nodes whose vector is zero. A tree given as a graph, with edges that weigh 1 / a_n, its root pinned and
        ridge=0, is the recursive method on that tree.
    taxonomy : Taxonomy or None
        For paths, metrics and storage only.
    tol, max_iter, fit_intercept, intercept_scaling, intercept_prior, class_weight, thresholds, holdout, warm_start
        As in `RecursiveSVM`; also n_jobs, random_state, verbose, max_seconds. `max_iter` counts rounds over all nodes.

    >>> graph = ClassGraph.from_edges([("Lion", "Lynx")], nodes=["Dog"])
    >>> X, y = [[-1.0, 0.0], [-1.0, 1.0], [1.0, 0.0]], ["Lion", "Lynx", "Dog"]
    >>> model = GraphRecursiveLogistic(graph, tol=1e-2).fit(X, y)
    >>> model.predict([[2.0, 0.0]]).tolist(), model.certificate_.holds(1e-2)
    (['Dog'], True)
    """

    _losses = ("logistic", "softmax")

    def __init__(
        self,
        graph: ClassGraph | None = None,
        C: float = 1.0,
        loss: str = "logistic",
        ridge: float = 1.0,
        pinned: Any = None,
        tol: float = 5e-2,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        intercept_prior: float | str = "auto",
        class_weight: Any = None,
        thresholds: str = "zero",
        holdout: float = 0.2,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        max_seconds: float | None = None,
        taxonomy: Taxonomy | None = None,
    ) -> None:
        self.graph = graph
        self.C = C
        self.loss = loss
        self.ridge = ridge
        self.pinned = pinned
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.intercept_prior = intercept_prior
        self.class_weight = class_weight
        self.thresholds = thresholds
        self.holdout = holdout
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.max_seconds = max_seconds
        self.taxonomy = taxonomy
