"""HBLR: logistic regression tied to the parent in the taxonomy, with variances learned from the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from taxolearn.engines import Run
from taxolearn.methods.held_out import hold_out
from taxolearn.methods.parameters import check_choice, estimator, parameter, positive, whole
from taxolearn.methods.probabilities import LikelihoodProbabilities
from taxolearn.methods.warm_start import mark_of
from taxolearn.objective import Objective, Parts
from taxolearn.problem import Problem
from taxolearn.solvers import Limits, Solution, Start, Watch
from taxolearn.solvers.solve import solve
from taxolearn.solvers.variances import LearnedVariances, VarianceRules, learn_variances
from taxolearn.ties import FeaturePathSum, PathSum, flat, path_sum, with_own_nodes

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.intp]

_FACTOR_STEP = 10.0**0.5  # between two factors that held-out rows choose from
_MOST_FACTOR = 1e4  # they go up to it, and down to one over it


def _positive_or_holdout(name: str, value: Any) -> None:
    if isinstance(value, str):
        check_choice(name, value, ("holdout",))
    else:
        positive(name, value)


class _KeptVariances(NamedTuple):
    """What a first stage leaves to the next fit: what it depends on, what it found, and the scales of the second."""

    mark: str
    learned: LearnedVariances
    scale: Array


class _Learned:
    """What a fit leaves besides."""

    _fitted: ClassVar[Mapping[str, str]] = {
        "node_weights_": "array: The learned variances a_n, one per node; without a taxonomy one per class.",
        "bound_history_": "list of float: The lower bound on the evidence after each turn.",
    }
    node_weights_: Array
    bound_history_: list[float]
    _kept_variances: _KeptVariances


@estimator
class BayesianRecursiveLogistic(LikelihoodProbabilities, _Learned):
    """Softmax regression whose class vectors stay close to those of the parent in the taxonomy, how close being learned
    (HBLR; Gopal, Yang, Bai, Niculescu-Mizil 2012): nothing needs to be tuned.

    The model: w_n ~ N(w_parent(n), I / alpha_n) for every node n, alpha_n ~ Gamma(gamma_shape, gamma_rate), and a row
    has class l with probability proportional to exp(w_l . x + b_l s). In a first stage the variances a_n = 1 /
    E[alpha_n] are found by turns with the vectors, so that a lower bound on the evidence rises (`bound_history_`). They
    are `node_weights_`. The problem is not convex in both: what is reached is a stationary point at best. In a second
    stage the vectors minimise, for these variances, the convex

        sum_n 1/2 ||w_n - w_parent(n)||^2 / a_n + 1/2 sum_l b_l^2
            + C sum_i c_i (log sum_l exp(w_l . x_i + b_l s) - (w_{y_i} . x_i + b_{y_i} s)),

    and that is what the certificate proves. It is `RecursiveLogistic` with `loss="softmax"` and learned scales. The
    root's vector would move all scores alike, and is zero. A class at an inner node has a vector of its own below it.

    With `warm_start`, a fit of the same problem keeps the variances whose bound is higher; once they have settled, they
    are not learned again.

    It is for dense features. On sparse text the evidence prefers variances that are too small (see
    docs/learned-variances.md): take `factor="holdout"` there, or `RecursiveLogistic`.

    >>> from taxolearn import Taxonomy
    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
    >>> X, y = [[-1.0, 0.0], [-1.0, 1.0], [1.0, 0.0]] * 4, ["Lion", "Lynx", "Dog"] * 4
    >>> model = BayesianRecursiveLogistic(tree).fit(X, y)
    >>> model.predict([[2.0, 0.0]]).tolist(), model.certificate_.holds(1e-3)
    (['Dog'], True)
    >>> bool((np.diff(model.bound_history_) > 0).all())
    True
    """

    _solvers: ClassVar[tuple[str, ...]] = ("descent", "newton", "interior")
    _leaves_out_empty_columns = False  # variances are of all features

    C: float = parameter(
        default=1.0,
        doc="Power of the likelihood; 1 is the model itself, and no other value should be needed.",
        check=positive,
        kw_only=False,
    )
    loss: str = parameter(default="softmax", doc="All classes together.", choices=("softmax",))
    variances: str = parameter(
        default="node",
        doc=(
            'What has a variance of its own. "node": every node (M3 of the paper). "siblings": the children of '
            'a node have one in common (M2). "features": they have one per feature in common (M1). '
            '"node_features": every node has one per feature.'
        ),
        choices=("node", "siblings", "features", "node_features"),
    )
    inference: str = parameter(
        default="variational",
        doc=(
            '"variational": means and variances of the vectors both maximise the bound. "map", the shortcut: '
            "the most likely vectors, and variances from the curvature there; quicker, and with a lower bound."
        ),
        choices=("variational", "map"),
    )
    gamma_shape: float = parameter(
        default=1e-2, doc="Shape a of the Gamma prior of the precisions alpha_n.", check=positive
    )
    gamma_rate: float = parameter(
        default=1e-2, doc="Rate b of the Gamma prior of the precisions alpha_n.", check=positive
    )
    first_variance: float = parameter(default=1.0, doc="Where all variances start.", check=positive)
    rounds: int = parameter(default=30, doc="Most rounds of the first stage.", check=whole)
    bound_tol: float = parameter(
        default=1e-2,
        doc=(
            "The first stage ends when a round raises the bound by less than this per row, in nats. Later rounds "
            "raise it still, and held-out likelihood falls a little."
        ),
        check=positive,
    )
    factor: float | str = parameter(
        default=1.0,
        doc=(
            'What all learned variances are multiplied with before the second stage. "holdout": chosen by '
            "likelihood on held-out rows, for sparse text; the final fit is on all rows."
        ),
        check=_positive_or_holdout,
    )
    solver: str = parameter(
        default="auto",
        doc=(
            '"descent" ascends the dual row by row; "newton"; "interior" is for small dense problems on '
            'features of very different scale. "auto" takes what suits rows and gap.'
        ),
        choices=("auto", "descent", "newton", "interior"),
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags

    def _tie(self, problem: Problem) -> PathSum | FeaturePathSum:
        taxonomy = problem.taxonomy
        if taxonomy is None:
            tie = flat(problem.n_classes)
        else:
            tie = path_sum(taxonomy, problem.class_nodes, np.ones(taxonomy.n_nodes))
            inner = np.flatnonzero(~taxonomy.is_leaf[problem.class_nodes])
            tie = with_own_nodes(tie, inner, np.ones(len(inner)))
        users = np.bincount(tie.paths.indices, minlength=tie.n_nodes)
        counts = (users > 0) & (
            users < problem.n_classes
        )  # what is above all classes moves their scores alike
        scale = np.where(counts, float(self.first_variance), 0.0)
        if self.variances in ("node", "siblings"):
            return PathSum(tie.paths, scale)
        return FeaturePathSum(tie.paths, np.tile(scale[:, None], problem.n_features))

    def _groups(self, problem: Problem, tie: PathSum | FeaturePathSum) -> Ids:
        """Which variance each node has, -1: none."""
        learned = np.flatnonzero(tie.scale.reshape(tie.n_nodes, -1)[:, 0] > 0)
        groups = np.full(tie.n_nodes, -1, dtype=np.intp)
        if self.variances in ("node", "node_features"):
            groups[learned] = np.arange(len(learned))
            return groups
        parents = [_parents(problem, tie, int(node)) for node in learned]
        number = {above: place for place, above in enumerate(dict.fromkeys(parents))}
        groups[learned] = [number[above] for above in parents]
        return groups

    def _settled(
        self, objective: Objective | Parts, limits: Limits, start: Start | None
    ) -> tuple[Objective | Parts, Limits, Start | None]:
        """The objective with learned variances, what is left of the limits, and the vectors so far."""
        assert isinstance(objective, Objective)
        mark = self._mark(objective)
        kept = getattr(self, "_kept_variances", None) if self.warm_start else None
        kept = None if kept is None or kept.mark != mark else kept
        with limits.run() as run:
            inner = replace(limits, engine=run.engine)
            found, self._learning_passes = kept, 0
            if kept is None or not kept.learned.settled:
                found = _KeptVariances(mark, *self._learn_variances(objective, inner, start, run))
                self._learning_passes = found.learned.passes
                # of two first stages of the same problem the higher bound stays, also where the second was stopped
                if kept is not None and kept.learned.bound >= found.learned.bound:
                    found = kept
                else:
                    start = found.learned.start
            assert found is not None
            objective = replace(objective, tie=replace(objective.tie, scale=found.scale))
            left = run.clock.left
        if self.warm_start:
            self._kept_variances = found
        self.bound_history_ = found.learned.bounds
        n_nodes = len(found.scale) if self.taxonomy_ is None else self.taxonomy_.n_nodes
        self.node_weights_ = found.scale[:n_nodes]
        return objective, replace(limits, max_seconds=None if left is None else max(left, 1e-9)), start

    def _learn_variances(
        self, objective: Objective, limits: Limits, start: Start | None, run: Run
    ) -> tuple[LearnedVariances, Array]:
        """The first stage: what was learned, and the scales of the second."""
        rules = VarianceRules(
            self._groups(objective.problem, objective.tie),
            float(self.gamma_shape),
            float(self.gamma_rate),
            cast(Any, self.inference),
            int(self.rounds),
            float(self.bound_tol),
        )
        learned = learn_variances(objective, rules, limits, start, asked=self.solver, among=self._solvers)
        if self.factor == 1.0:
            return learned, learned.scale
        tied = replace(objective, tie=replace(objective.tie, scale=learned.scale))
        return learned, self._with_factor(
            tied, replace(limits, max_seconds=run.clock.left), learned
        ).tie.scale

    def _mark(self, objective: Objective) -> str:
        """A hash of all that the variances depend on, limits left out."""
        chosen = (
            self.variances, self.inference, self.gamma_shape, self.gamma_rate, self.rounds, self.bound_tol,
            self.factor, self.holdout,
        )  # fmt: skip
        return mark_of(objective, f"{objective.problem.fingerprint()} {chosen!r}")

    def _with_factor(self, objective: Objective, limits: Limits, learned: LearnedVariances) -> Objective:
        """The objective with all variances times the factor given, or the one that held-out rows like best."""

        def times(factor: float) -> Objective:
            return replace(objective, tie=replace(objective.tie, scale=factor * learned.scale))

        if self.factor != "holdout":
            return times(float(self.factor))
        held, kept = hold_out(objective.problem, self.holdout, limits.seed)
        X, own = objective.problem.X[held], objective.problem.one_label[0][held]
        weight = objective.problem.one_label[1][held]

        with limits.run() as run:

            def loss(factor: float) -> float:
                inner = replace(limits, engine=run.engine, max_seconds=run.clock.left)
                part = times(factor).restricted(kept)
                found = solve(part, inner, asked=self.solver, among=self._solvers)
                return float(weight @ objective.loss.value(found.vectors.scores(X), own))

            best, least = 1.0, loss(1.0)
            for way in (_FACTOR_STEP, 1.0 / _FACTOR_STEP):
                first = best
                while 1.0 / _MOST_FACTOR < best * way < _MOST_FACTOR and not run.over():
                    tried = loss(best * way)
                    if tried >= least or run.over():
                        break
                    best, least = best * way, tried
                if best != first:
                    break
        return times(best)

    def _solve(
        self, objective: Objective | Parts, limits: Limits, start: Start | None, watch: Watch | None
    ) -> Solution:
        solution = super()._solve(objective, limits, start, watch)
        return replace(solution, n_iter=solution.n_iter + self._learning_passes)


def _parents(problem: Problem, tie: PathSum | FeaturePathSum, node: int) -> tuple[int, ...]:
    """The nodes above a node in the taxonomy; without one, none."""
    taxonomy = problem.taxonomy
    if taxonomy is None:
        return ()
    if node >= taxonomy.n_nodes:  # of one class alone, below its node
        (own,) = tie.paths[:, [node]].nonzero()[0]
        return (int(problem.class_nodes[own]),)
    first, last = taxonomy.parent_indptr[node], taxonomy.parent_indptr[node + 1]
    return tuple(sorted(taxonomy.parent_indices[first:last].tolist()))
