"""Recursive regularization with hinge losses: HR-SVM on trees and DAGs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from taxolearn.methods.calibrated import CalibratedProbabilities
from taxolearn.methods.recursive import Recursive
from taxolearn.structure import Taxonomy


class RecursiveSVM(CalibratedProbabilities, Recursive):
    """SVM whose class weights stay close to those of the parent in the taxonomy (HR-SVM; Gopal, Yang 2013).

    With y_il = 1 for the rows of class l and -1 for all others, it minimises

        sum_n 1/2 ||w_n - w_parent(n)||^2 / a_n + 1/2 sum_l (b_l - intercept_prior)^2
            + C sum over classes l and rows i of c_il loss(y_il (w_l . x_i + b_l s)),

    loss(m) = max(0, 1 - m) or its square; a_n = 1 is the paper's objective. In terms of u_n = w_n - w_parent, class
    l has the sum of u_n along its path, and in this form the method takes DAGs too: the sum goes over all
    ancestors. b_l s is the intercept, s being `intercept_scaling`; c_il is the row's `sample_weight` times the
    `class_weight` of l for the rows of l. A class without rows has no losses and gets its parent's vector. With
    classes right below a pinned root this is one-vs-rest.

    Parameters
    ----------
    taxonomy : Taxonomy or None
        Tree or DAG whose nodes the labels are (inner ones too). None: flat over the classes seen.
    C : float
        Weight of the losses.
    loss : {"squared_hinge", "hinge"}
        The squared hinge is several times faster at scale.
    weights : float, array of one number a node, or {"maxmin", "rho", "uniform", "leaf"}
        The variances a_n. A number is that of all inner nodes, leaves having 1; 1.0 is the paper. Small numbers
        trust the taxonomy less, and "leaf" not at all: that is one-vs-rest. The words are rules of
        `taxolearn.node_weights`.
    root : {"pinned", "free"}
        "pinned": the root's vector is zero, so that classes under different children of the root share nothing, and
        each child's subtree is a problem of its own. "free": the root has a vector, tied to zero like that of any
        other node to its parent's, with its own a_n.
    inner_labels : {"own", "shared"}
        What a class at an inner node has. "own": a vector of its own besides those of its path, as if it were a leaf
        below that node, with the a_n of a leaf. "shared": only those of its path, the last of which all classes below
        inherit; that costs several points of accuracy where many labels are inner nodes.
    intercept_prior : float or "auto"
        Where intercepts are tied to: 1/2 (b_l - intercept_prior)^2. With 0 it is paid for in duals of other classes'
        rows that an intercept says no to them, and where classes share nodes these push the shared vectors away. "auto"
        is 0 where no node is shared, as in `OneVsRestSVM`, and else the intercept of a class that knows nothing and
        says no: -1. That predicts better on deep trees and is two to three times cheaper.
    tol : float
        Certified relative gap to reach; 5e-2 is enough for predictions at scale, 1e-2 is precise.
    solver : {"auto", "tree", "descent", "newton", "levels"}
        "tree" (hinge losses, on DAGs too) keeps only non-zero duals and scales to tens of thousands of
        classes; "descent" (any loss) ascends the dual and keeps all vectors; "newton" (smooth losses); "levels" is
        the paper's own alternation. "auto" takes what suits rows, loss and gap.
    warm_start : bool
        Start from the last fit when rows and labels are the same (C may differ), and keep what `add_classes` needs.
        Of two fits of the same problem the better weights and the better bound stay, also when the second is stopped.
    checkpoint : folder, optional
        The duals are written there after the first pass that ends `checkpoint_seconds` after the last time, and a
        later fit of the same problem goes on from them, also when the first was killed. Solvers "tree" and "descent".
    max_iter, fit_intercept, intercept_scaling, class_weight, thresholds, holdout, n_jobs, random_state, verbose
        As in `OneVsRestSVM`; also probability, max_seconds. `max_iter` counts passes over all classes.

    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
    >>> X, y = [[-1.0, 0.0], [-1.0, 1.0], [1.0, 0.0]], ["Lion", "Lynx", "Dog"]
    >>> model = RecursiveSVM(tree, tol=1e-2).fit(X, y)
    >>> model.predict([[2.0, 0.0]]).tolist(), model.certificate_.holds(1e-2)
    (['Dog'], True)
    """

    _losses = ("squared_hinge", "hinge")

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        C: float = 1.0,
        loss: str = "squared_hinge",
        weights: Any = 1.0,
        root: str = "pinned",
        inner_labels: str = "own",
        tol: float = 5e-2,
        max_iter: int = 1000,
        solver: str = "auto",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        intercept_prior: float | str = "auto",
        class_weight: Any = None,
        thresholds: str = "zero",
        probability: bool = False,
        holdout: float = 0.2,
        warm_start: bool = False,
        checkpoint: str | Path | None = None,
        checkpoint_seconds: float = 120.0,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        max_seconds: float | None = None,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.loss = loss
        self.weights = weights
        self.root = root
        self.inner_labels = inner_labels
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.intercept_prior = intercept_prior
        self.class_weight = class_weight
        self.thresholds = thresholds
        self.probability = probability
        self.holdout = holdout
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.max_seconds = max_seconds
