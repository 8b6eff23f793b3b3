"""Several methods that answer together: the sum of their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from taxolearn.certificates import Certificate
from taxolearn.decoders import best_class, best_or_thresholds, fit_link
from taxolearn.errors import DataError, LabelError
from taxolearn.methods.held_out import Split, held_out_parts
from taxolearn.methods.inputs import check_rows, check_seed, check_targets
from taxolearn.methods.migrating import migrate
from taxolearn.methods.parameters import check_parameters, estimator, parameter, positive, positive_or_none
from taxolearn.methods.probabilities import AnswersByProbability
from taxolearn.problem import Problem, make_problem
from taxolearn.registry import METHODS
from taxolearn.solvers import Status
from taxolearn.structure.names import show
from taxolearn.vectors import ClassVectors, Vectors

Member = tuple[str, Mapping[str, Any]]
_HELD_OUT = 0.2  # share of the rows, for probabilities
_OF_ALL = ("taxonomy", "tol", "random_state", "n_jobs", "max_seconds", "probability", "decision")
# what a model knows about its labels
_ABOUT_LABELS = ("label_form_", "taxonomy_", "classes_", "_closed_labels", "_indicator", "data_")


@estimator
class Blend(AnswersByProbability):
    """Methods of one label per row that answer together: class l scores sum_m share_m (w_l^m . x + b_l^m).

    Each member minimises its own objective, as it would alone; the certificate is that of the sum of all objectives,
    whose gap is at most the largest of theirs. With shares that are the slopes of calibrated members (inverse
    temperatures) over their number, probabilities are the geometric mean of the members' (the logarithmic opinion
    pool: Genest, Zidek 1986, "Combining Probability Distributions"). Scores of linear members are linear, so that a
    blend is one vector per class.

    >>> X, y = [[-1.0], [1.0], [-2.0], [2.0]], ["a", "b", "a", "b"]
    >>> model = Blend(members=[("OneVsRestSVM", {"C": 4.0}), ("MulticlassSVM", {})], shares=[1.0, 0.5]).fit(X, y)
    >>> model.predict([[3.0]]).tolist(), model.certificate_.holds(1e-3)
    (['b'], True)
    """

    members: Sequence[Member] = parameter(
        default=(), doc="Name of the class and parameters of each method; all others are those of the blend."
    )
    shares: Sequence[float] = parameter(
        default=(), doc="What the scores of each member are multiplied by; positive."
    )
    tol: float = parameter(default=1e-3, doc="Certified relative gap of each member.", check=positive)
    random_state: Any = parameter(default=None, doc="Seed of the visiting order.")
    max_seconds: float | None = parameter(
        default=None, doc="Time limit of all fits together.", check=positive_or_none
    )

    # as methods have it
    class_weight: ClassVar[None] = None
    leaf_only: ClassVar[bool] = False
    warm_start: ClassVar[bool] = False
    _empty_classes: ClassVar[str] = "drop"
    migrate = migrate

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit all members, and add them up.

        >>> Blend(members=[("OneVsRestSVM", {})], shares=[1.0]).fit([[-1.0], [1.0]], ["a", "b"]).vectors_
        ClassVectors(dense float64, 2 classes, 1 features)
        """
        self._check_parameters()
        rows = check_rows(self, X, reset=True)
        problem = make_problem(
            rows, check_targets(self, y), self.taxonomy, sample_weight=sample_weight, checked=True, build=True
        )
        return self._fit_problem(problem, y)

    def _fit_problem(self, problem: Problem, y: Any, start: Any = None) -> Self:
        """Fit all members to a problem, from zero: a blend remembers no duals."""
        if problem.labels.multilabel:
            raise LabelError("a blend learns from one label per row; found lists of labels, or an indicator")
        seed = check_seed(self.random_state)
        fits, calibration = len(self.members), None
        parts: list[Split] = []
        if self._wants_probabilities():
            parts = held_out_parts(problem, _HELD_OUT, seed)
            fits *= 1 + len(parts)
        seconds = None if self.max_seconds is None else self.max_seconds / fits
        if parts:
            found = []
            for held, kept in parts:
                fitted = self._fit_members(problem.subset(kept), y, seed, seconds)
                vectors = added_up([one.vectors_ for one in fitted], self.shares)
                found.append(vectors.scores(problem.X[held]).astype(np.float64))
            held = np.concatenate([part[0] for part in parts])
            weight, targets = problem.row_weight[held], problem.targets[held]
            calibration = fit_link(np.concatenate(found), targets, weight, several=False)
        fitted = self._fit_members(problem, y, seed, seconds)
        if any(one.certificate_.status is Status.INTERRUPTED for one in fitted):
            raise KeyboardInterrupt  # half a blend is none
        self.answering_as(fitted[0]).calibration_ = calibration
        self.vectors_ = added_up([one.vectors_ for one in fitted], self.shares)
        self.certificate_ = joined_certificate([one.certificate_ for one in fitted], self.tol)
        self.n_iter_ = max(one.n_iter_ for one in fitted)
        self.history_ = [progress for one in fitted for progress in one.history_]
        return self

    def _fit_members(self, problem: Problem, y: Any, seed: int, seconds: float | None) -> list[Any]:
        """All members, fitted."""
        given = {"taxonomy": self.taxonomy, "tol": self.tol, "n_jobs": self.n_jobs, "random_state": seed}
        found: list[Any] = []
        for name, parameters in self.members:
            member = kind_of(name)(**{**given, "max_seconds": seconds, **parameters})
            found.append(member._fit_problem(problem, y))
        return found

    def answering_as(self, model: Any) -> Self:
        """Answer about the labels of a fitted model; only vectors are missing.

        >>> from taxolearn import OneVsRestSVM
        >>> Blend().answering_as(OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"])).classes_.tolist()
        ['a', 'b']
        """
        for name in (*_ABOUT_LABELS, "decoder_"):
            setattr(self, name, getattr(model, name))
        self.coverage_ = self.calibration_ = None
        return self

    def _with_products(self, problem: Problem) -> Problem:
        return problem

    def _check_parameters(self) -> None:
        check_parameters(self)
        if not self.members or len(self.members) != len(self.shares):
            raise DataError(
                f"a blend has members and as many shares, not {len(self.members)} and {len(self.shares)}"
            )
        for share in self.shares:
            positive("share", share)
        for member in self.members:
            model = _made(member)
            if not blends(model):
                raise DataError(
                    f"{member[0]} has a kernel, or does not answer by the best score of all; it blends with none"
                )
            model._check_parameters()

    def _judge(self) -> Any:
        """Features are compared by the first member."""
        name, parameters = self.members[0]
        return kind_of(name)(taxonomy=self.taxonomy, n_jobs=self.n_jobs, **parameters)._judge()


def _made(member: Any) -> Any:
    """A member as an estimator; what is none, perhaps from a damaged file, is told."""
    try:
        name, parameters = member
        return kind_of(name)(**parameters)
    except DataError:
        raise
    except (TypeError, ValueError):
        raise DataError(
            f"a member of a blend is the name of a method and its parameters, not {show(member)}"
        ) from None


def kind_of(name: str) -> Any:
    """The class of a method by its name.

    >>> kind_of("OneVsRestSVM").__name__
    'OneVsRestSVM'
    """
    for method in METHODS:
        if method.class_name == name:
            return method.kind
    raise DataError(f"no method is called {show(name)}; `taxolearn.registry.METHODS` lists all of them")


def blends(model: Any) -> bool:
    """Whether scores of a method can be added to those of another: one linear score per class, and the best is taken.

    >>> from taxolearn import OneVsRestSVM, TopDownSVM
    >>> blends(OneVsRestSVM()), blends(TopDownSVM()), blends(OneVsRestSVM(kernel="rbf", landmarks=9))
    (True, False, False)
    """
    return type(model)._decoder in (best_class, best_or_thresholds) and model.kernel is None


def member_of(model: Any) -> Member:
    """A method, not fitted, as the member of a blend.

    >>> from taxolearn import OneVsRestSVM
    >>> member_of(OneVsRestSVM(C=4.0, tol=1e-2))
    ('OneVsRestSVM', {'C': 4.0})
    """
    defaults = type(model)().get_params(deep=False)
    given = model.get_params(deep=False).items()
    return type(model).__name__, {
        name: value for name, value in given if name not in _OF_ALL and value != defaults[name]
    }


def added_up(vectors: Sequence[Vectors], shares: Sequence[float]) -> ClassVectors:
    """One vector per class: the sum of the members', each times its share.

    >>> one = ClassVectors(np.array([[1.0], [2.0]]), np.ones(2))
    >>> added_up([one, one], [1.0, 0.5]).coef.tolist()
    [[1.5], [3.0]]
    """
    coef: Any = None
    for one, share in zip(vectors, shares, strict=True):
        more = one.coef * share
        coef = more if coef is None else coef + more
    intercept = sum(one.intercept * share for one, share in zip(vectors, shares, strict=True))
    return ClassVectors(
        sparse.csr_array(coef) if sparse.issparse(coef) else np.ascontiguousarray(coef), np.asarray(intercept)
    )


def joined_certificate(certificates: Sequence[Certificate], tol: float) -> Certificate:
    """That of the sum of the objectives: bounds add up.

    >>> one = Certificate(np.array([2.0]), np.array([1.0]), Status.TIME_LIMIT)
    >>> joined_certificate([one, one], 0.5)
    Certificate(primal=4, dual=2, gap=5.0e-01, converged)
    """
    statuses = [one.status for one in certificates]
    open_ones = [status for status in statuses if status is not Status.CONVERGED]
    return Certificate(
        np.concatenate([one.class_primal for one in certificates]),
        np.concatenate([one.class_dual for one in certificates]),
        open_ones[0] if open_ones else Status.CONVERGED,
        sum(one.primal_error for one in certificates),
        sum(one.dual_error for one in certificates),
    ).decided(tol)
