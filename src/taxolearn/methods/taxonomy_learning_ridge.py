"""Taxonomy learning of Mroueh, Poggio and Rosasco: the taxonomy matrix is found together with the classifier."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from taxolearn.engines import blas_threads
from taxolearn.errors import ModelError
from taxolearn.methods.parameters import estimator, number_or, parameter, positive, positive_or_none, whole
from taxolearn.methods.taxonomy_ridge import RidgeMethod
from taxolearn.objective import Objective
from taxolearn.problem import Problem
from taxolearn.solvers import Limits, Start
from taxolearn.solvers.choice import decomposes
from taxolearn.solvers.kernel_ridge import decomposed
from taxolearn.solvers.ridge_rows import half_ridge, threads_of
from taxolearn.solvers.structure_learning import (
    ByGradients,
    Classifier,
    FromCovariance,
    InEigenbasis,
    Learned,
    covariance_of_means,
    learn_structure,
)
from taxolearn.solvers.structure_steps import GraphicalLasso, Prior, SparseGraph, SpectralBall
from taxolearn.structure import ClassGraph, Taxonomy
from taxolearn.ties import PathSum, Tie, covariance_tie, flat

Array = npt.NDArray[np.float64]

_MOST_TURNS = 100
_MANY_CLASSES = 500  # whose matrices are worth more than one thread
_LEAST_EDGE = 1e-6  # weight of an edge worth drawing, as a share of the largest


def _not_negative(name: str, value: Any) -> None:
    number_or()(name, value)
    if value < 0:
        positive(name, value)


def _whole_or_none(name: str, value: Any) -> None:
    if value is not None:
        whole(name, value)


class _LearnedStructure:
    """What a fit leaves besides."""

    _fitted: ClassVar[Mapping[str, str]] = {
        "covariance_, precision_": "arrays: The learned taxonomy matrix A and its inverse, classes x classes.",
        "graph_": "ClassGraph: Its graph: who pulls whom, and how much.",
        "joint_history_": "list of float: The joint objective after each turn.",
        "stationarity_": "float: How far the learned matrix is from a stationary point.",
    }
    graph_: ClassGraph
    covariance_: Array
    precision_: Array
    joint_history_: list[float]
    stationarity_: float


@estimator
class TaxonomyLearningRidge(RidgeMethod, _LearnedStructure):
    """Least squares that learns the taxonomy matrix A while it learns to classify (Mroueh, Poggio, Rosasco:
    Multi-category and Taxonomy Learning, (4), (5), (8) and (11)).

    With Theta the inverse of A, and all else as in `TaxonomyRidge`, it minimises over W and Theta

        1/2 (tr(W' Theta W) + scale * Omega(Theta)) + C sum_i c_i sum_l (y_il - w_l . x_i)^2,

    by turns: W for fixed Theta, exactly, and Theta for fixed W. With `learned_from="vectors"` that is all, as in the
    paper. But vectors say who is alike only under a large lambda, where each is near the sum of the rows of its class;
    under a small one the vectors of like classes point apart, because they tell these classes from each other, and the
    graph is the true one turned round. So by default Theta is learned in the limit of a large lambda, where the losses
    are -tr(W' M) and M has the means of the classes around their own mean, without the noise of their rows; and W once
    more under `lambda_`. Omega is one of

    - "graphical_lasso": -log det Theta + nu ||Theta||_1, (8) and (11);
    - "sparse_graph": the same with Theta = Laplacian of W + gamma, W >= 0, and nu ||W||_1. (5) itself has no log
      determinant, and is least without any edge; this is the prior of Lake and Tenenbaum that the paper says it equals;
    - "spectral": zero where ||A||_p is at most that of the identity, else infinite: the trace norm with p = 1.

    The objective is convex in W and in Theta, but not in both together, unlike the paper says of (8): turns never
    raise it (`joint_history_`) and end at a stationary point (`stationarity_`: what Theta could still gain, per class
    and in units of scale / 2). `certificate_` is that of W given the final Theta, which is convex.

    Fitted attributes besides the usual ones: `graph_`, a `ClassGraph` of classes that resemble each other (to draw,
    to compare with a taxonomy, to make a tree of); `covariance_` (A), `precision_` (Theta), `best_lambda_`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.array(["Lion", "Lynx", "Oak", "Fir"] * 10)
    >>> centres = np.array([[3.0, 0.0, 1.0], [3.0, 0.0, -1.0], [-3.0, 1.0, 0.0], [-3.0, -1.0, 0.0]])
    >>> X = np.tile(centres, (10, 1)) + rng.normal(size=(40, 3))
    >>> model = TaxonomyLearningRidge(lambda_=0.1).fit(X, y)
    >>> sorted(sorted(edge[:2]) for edge in model.graph_.edges)
    [['Fir', 'Oak'], ['Lion', 'Lynx']]
    """

    _empty_classes: ClassVar[Literal["drop", "keep"]] = "drop"

    taxonomy: Taxonomy | None = parameter(
        default=None, doc="For paths, metrics and storage only: the structure is learned.", kw_only=False
    )
    structure: str = parameter(
        default="sparse_graph",
        doc="Which matrices, see above.",
        choices=("sparse_graph", "graphical_lasso", "spectral"),
    )
    nu: float = parameter(
        default=0.1,
        doc="Weight of the norm that makes Theta sparse; with `scale` None about a correlation.",
        check=_not_negative,
    )
    p: float = parameter(default=1.0, doc="Of the norm of the spectral ball; 1 is the trace.", check=positive)
    gamma: float = parameter(
        default=1.0, doc="Of the sparse graph: what Theta is without edges.", check=positive
    )
    scale: float | None = parameter(
        default=None,
        doc=(
            "Weight of Omega; 1 is the paper. None: the mean square of a class vector learned without structure, so "
            "that the identity is about what classes that share nothing have."
        ),
        check=positive_or_none,
    )
    learned_from: str = parameter(
        default="means",
        doc=(
            'What Theta is learned from. "means" of the classes: whatever lambda_ is. "vectors", as in the paper: give '
            "a large lambda_ then."
        ),
        choices=("means", "vectors"),
    )
    max_turns: int | None = parameter(
        default=None,
        doc=(
            "Most turns of W and Theta. None: 100 for a sparse graph, whose gamma bounds A, and with learned_from="
            '"vectors"; else one, since further ones let A concentrate on few directions (spectral), or grow without '
            "end (graphical lasso)."
        ),
        check=_whole_or_none,
    )
    stationary: float = parameter(
        default=1e-3, doc="What Theta may have left to gain, see `stationarity_`.", check=positive
    )

    def _tie(self, problem: Problem) -> PathSum:
        return flat(problem.n_classes)  # where the turns begin, and what leave-one-out chooses lambda by

    def _prior(self, n_classes: int) -> Prior:
        if self.structure == "graphical_lasso":
            return GraphicalLasso(float(self.nu))
        if self.structure == "sparse_graph":
            return SparseGraph(float(self.nu), float(self.gamma))
        return SpectralBall(float(self.p), float(n_classes) ** (1.0 / float(self.p)))

    def _settled(
        self, objective: Any, limits: Limits, start: Start | None
    ) -> tuple[Any, Limits, Start | None]:
        objective, limits, start = super()._settled(objective, limits, start)
        learned = self._learned(objective, limits)
        self.joint_history_, self.stationarity_ = learned.history, learned.stationarity
        self._take_structure(learned.covariance, learned.precision, list(objective.problem.classes))
        if learned.stationarity > self.stationary and not self._one_turn:
            warnings.warn(
                f"{type(self).__name__} stopped after {learned.n_turns} turns, and its matrix has "
                f"{learned.stationarity:.1e} left to gain, above stationary={self.stationary:g}; raise max_turns, nu "
                "or lambda_",
                ConvergenceWarning,
                stacklevel=4,
            )
        tie: Tie = covariance_tie(learned.covariance)
        return replace(objective, tie=tie), limits, start

    @property
    def _one_turn(self) -> bool:
        means = self.learned_from == "means"
        return self.max_turns is None and means and self.structure != "sparse_graph"

    @property
    def _turns(self) -> int:
        if self.max_turns is not None:
            return int(self.max_turns)
        return 1 if self._one_turn else _MOST_TURNS

    def _learned(self, objective: Objective, limits: Limits) -> Learned:
        n = objective.problem.n_classes
        with limits.run() as run:
            with threads_of(run):
                classifier = self._classifier(objective, replace(limits, engine=run.engine))
            few = run.engine.n_workers if n > _MANY_CLASSES else 1
            with blas_threads(few):
                return learn_structure(
                    classifier,
                    self._prior(n),
                    np.eye(n) / (self.gamma if self.structure == "sparse_graph" else 1.0),
                    None if self.scale is None else float(self.scale),
                    run,
                    tol=float(self.stationary),
                    max_turns=self._turns,
                )

    def _classifier(self, objective: Objective, limits: Limits) -> Classifier:
        problem = objective.problem
        if self.learned_from == "means":
            return FromCovariance(covariance_of_means(problem))
        if problem.products is None and (self.solver == "gradients" or not decomposes(problem)):
            return ByGradients(objective, limits)
        if self._spectrum is None:
            self._spectrum = decomposed(problem, objective.bias_feature)
        return InEigenbasis(self._spectrum, half_ridge(objective))

    def _take_structure(self, covariance: Array, precision: Array, classes: list[Any]) -> None:
        self.covariance_, self.precision_ = covariance, precision
        pulls = -precision
        if (
            self.structure == "spectral"
        ):  # A may be nearly singular: what is alike, not what is tied given the rest
            roots = np.sqrt(np.diag(covariance))
            pulls = covariance / np.multiply.outer(roots, roots)
        left, right = np.triu_indices(len(classes), 1)
        weights = pulls[left, right]
        drawn = weights > _LEAST_EDGE * max(float(np.max(weights, initial=0.0)), 1e-300)
        self.graph_ = ClassGraph.from_edges(
            [
                (classes[i], classes[j], float(w))
                for i, j, w in zip(left[drawn], right[drawn], weights[drawn], strict=True)
            ],
            nodes=classes,
        )

    def _learned_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {
            **super()._learned_arrays(),
            "covariance": self.covariance_,
            "precision": self.precision_,
            "joint_history": np.array(self.joint_history_),
            "stationarity": np.array([self.stationarity_]),
        }

    def _take_learned(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        super()._take_learned(arrays)
        shape = (len(self.classes_), len(self.classes_))
        for name in ("covariance", "precision", "joint_history", "stationarity"):
            if name not in arrays:
                raise ModelError(f"the array 'learned/{name}' is missing")
        for name in ("covariance", "precision"):
            if arrays[name].shape != shape:
                raise ModelError(f"the array 'learned/{name}' should hold {shape[0]} x {shape[0]} numbers")
        if arrays["stationarity"].shape != (1,):
            raise ModelError("the array 'learned/stationarity' should hold one number")
        self.joint_history_ = arrays["joint_history"].ravel().tolist()
        self.stationarity_ = float(arrays["stationarity"][0])
        self._take_structure(arrays["covariance"], arrays["precision"], self.classes_.tolist())
