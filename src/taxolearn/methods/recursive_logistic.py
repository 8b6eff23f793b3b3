"""Recursive regularization with logistic losses: HR-LR on trees and DAGs, and its softmax form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from taxolearn.methods.probabilities import LogisticProbabilities
from taxolearn.methods.recursive import Recursive
from taxolearn.structure import Taxonomy


class RecursiveLogistic(LogisticProbabilities, Recursive):
    """Logistic regression whose class weights stay close to those of the parent in the taxonomy (HR-LR; Gopal,
    Yang 2013), one class against the rest or all classes together.

    With y_il = 1 for the rows of class l and -1 for all others, it minimises

        sum_n 1/2 ||w_n - w_parent(n)||^2 / a_n + 1/2 sum_l (b_l - intercept_prior)^2 + C losses,

    the losses being sum over classes l and rows i of c_il log(1 + exp(-y_il (w_l . x_i + b_l s))), as in the paper,
    or, beyond it, with loss="softmax", sum over rows of c_i (log sum_l exp(w_l . x_i + b_l s) - (w_{y_i} . x_i +
    b_{y_i} s)): one label a row, and probabilities that sum to one by themselves. DAGs, intercepts and weights are
    as in `RecursiveSVM`. With softmax a class without rows takes part, and is pushed away from the rows of others;
    otherwise it has no losses.

    Parameters
    ----------
    taxonomy : Taxonomy or None
        Tree or DAG whose nodes the labels are (inner ones too). None: flat over the classes seen.
    C : float
        Weight of the losses.
    loss : {"logistic", "softmax"}
        One class against the rest, or all classes together.
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
        says no: minus the logarithm of the number of rows (0 for softmax).
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
        As in `OneVsRestSVM`; also max_seconds. `max_iter` counts passes over all classes.

    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
    >>> X, y = [[-1.0, 0.0], [-1.0, 1.0], [1.0, 0.0]], ["Lion", "Lynx", "Dog"]
    >>> model = RecursiveLogistic(tree, loss="softmax", tol=1e-3).fit(X, y)
    >>> model.predict([[2.0, 0.0]]).tolist(), model.predict_proba([[2.0, 0.0]]).sum().round(6)
    (['Dog'], np.float64(1.0))
    """

    _losses = ("logistic", "softmax")

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        C: float = 1.0,
        loss: str = "logistic",
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
        self.holdout = holdout
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.max_seconds = max_seconds
