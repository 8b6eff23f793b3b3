"""Probabilities and what is decided by them: the model's own where the loss is a likelihood, calibrated elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.metaestimators import available_if

from taxolearn.decoders import Decoder, Link, Sigmoids, Temperature, probability_blocks
from taxolearn.errors import DataError
from taxolearn.losses import LOSSES
from taxolearn.methods.base import VectorClassifier
from taxolearn.methods.deciding import WORDS, check_decision, deciding, node_columns, rule_of
from taxolearn.methods.fitting import CertifiedClassifier
from taxolearn.methods.parameters import estimator, parameter
from taxolearn.structure.names import show

Floats = npt.NDArray[np.float64]


def _has_probabilities(estimator: Any) -> bool:
    if not estimator._wants_probabilities() and estimator._own_link() is None:
        raise AttributeError("predict_proba needs probability=True when the model is made and fitted")
    return True


def _decision(name: str, value: Any) -> None:
    if not isinstance(value, str) or value not in WORDS:
        raise DataError(
            f"{name}={show(value)} is not allowed; choose from {', '.join(map(repr, WORDS))}, or give a table of "
            "costs to `predict`"
        )


@estimator
class AnswersByProbability(VectorClassifier):
    """`predict_proba`, `node_proba` and decisions by expected cost.

    >>> from taxolearn import OneVsRestLogistic, OneVsRestSVM
    >>> issubclass(OneVsRestSVM, AnswersByProbability), issubclass(OneVsRestLogistic, AnswersByProbability)
    (True, True)
    """

    probability: bool = parameter(
        default=False,
        doc=(
            "Calibrate probabilities on held-out rows, so that `predict_proba` works: one temperature for all classes "
            "(with few rows from cross-validated scores), or with several labels per row one sigmoid per class "
            "(Platt). Methods whose loss is a likelihood have probabilities of their own without it."
        ),
    )
    decision: str = parameter(
        default="best",
        doc=(
            'Which class is answered: that of the "best" score, that of the least expected "tree_loss", or of the '
            'largest expected "hierarchical_f1"; with "accuracy_and_tree_loss" and "accuracy_and_f1" being right and '
            'being near count the same, with "mostly_" before them being right counts three times as much. With '
            'several labels per row "hierarchical_f1" is the label set of the largest expected F1, "label_f1" the same '
            'without ancestors that are no labels, and "probable" all labels more probable than not. The name of a '
            'metric that counts, as "example_f1", takes the one of these that serves it. Needs no other fit: it may be '
            "set on a fitted model that has probabilities, or given to `predict`."
        ),
        choices=WORDS,
        check=_decision,
    )

    def _wants_probabilities(self) -> bool:
        return bool(self.probability) or self.decision != "best"

    def _own_link(self) -> Link | None:
        """The probabilities that are part of the loss, if there are any."""
        return None

    def _link(self) -> Link:
        """How scores become probabilities."""
        link = self._own_link() if self.calibration_ is None else self.calibration_
        if link is None:
            raise DataError(
                "this model was fitted with probability=False; fit it again with probability=True"
            )
        return link

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, rows x classes.

        One label per row: they sum to one, and the most probable class is the one of the best score. They are those of
        the loss where it is a likelihood; with `probability=True` all scores are divided by one temperature (margins of
        one class against the rest go through one sigmoid), fitted on held-out rows. Several labels per row: each class
        on its own, by a sigmoid (Platt with smoothed targets; classes with fewer than 5 held-out rows share one).

        >>> from taxolearn import OneVsRestSVM
        >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]] * 5, ["a", "a", "b", "b"] * 5
        >>> OneVsRestSVM(probability=True, random_state=0).fit(X, y).predict_proba([[3.0]]).argmax()
        np.int64(1)
        """
        rows = self._rows(X)
        scores = self.decoder_.scores(self.vectors_, rows).astype(np.float64)
        return self._link().probabilities(scores)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of `predict_proba`.

        >>> from taxolearn import OneVsRestLogistic
        >>> OneVsRestLogistic().fit([[-1.0], [1.0]], ["a", "b"]).predict_log_proba([[0.5]]).shape
        (1, 2)
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def node_proba(self, X: Any, nodes: Any = None) -> Floats:
        """Probability that a label of the row lies at or below each node, rows x nodes.

        `nodes` are names, by default all nodes of the taxonomy in its order (the classes where there is none). One
        label per row: the sum over the classes at or below the node, each counted once in a DAG. Several: made of the
        probabilities of the classes so that no node is more probable than its parents. Rows are taken some at a time:
        ask for the nodes you need, and nothing has the size of rows x classes.

        >>> from taxolearn import OneVsRestLogistic, Taxonomy
        >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog", "Rock"])
        >>> model = OneVsRestLogistic(taxonomy=tree).fit([[-1.0], [0.0], [1.0]], ["Cat", "Dog", "Rock"])
        >>> p = model.node_proba([[0.0]], ["Animal", "Cat", "Dog"])
        >>> p.shape, bool(abs(p[0, 0] - p[0, 1] - p[0, 2]) < 1e-12)
        ((1, 3), True)
        """
        rows = self._rows(X)
        columns, sums = node_columns(self, nodes)
        found = np.empty((rows.shape[0], len(columns)))
        for some, p in probability_blocks(
            self.decoder_, self._link(), self.vectors_, rows, self._n_threads, sums.width
        ):
            found[some] = sums(p)[:, columns]
        return found

    def _probable(self, X: Any, ids: npt.NDArray[Any]) -> tuple[Floats, Floats]:
        """The probabilities of some classes of each row (rows x k), and what is left over for all others."""
        chances, rest = np.empty(ids.shape), np.empty(len(ids))
        for some, p in probability_blocks(self.decoder_, self._link(), self.vectors_, X, self._n_threads):
            chances[some] = np.take_along_axis(p, ids[some].astype(np.intp), axis=1)
            rest[some] = np.maximum(0.0, p.sum(axis=1) - chances[some].sum(axis=1))
        return chances, rest

    def _deciding(self, decision: Any, inner: bool = False) -> tuple[Decoder, npt.NDArray[Any]]:
        decision = check_decision(self.decision if decision is None else decision)
        decision = rule_of(decision, several=self.decoder_.several)
        if isinstance(decision, str) and decision == "best" and not inner:
            return self.decoder_, self.classes_
        return deciding(self, decision, inner)


@estimator
class Probabilities(AnswersByProbability, CertifiedClassifier):
    """Methods that have probabilities, of their own or calibrated.

    >>> from taxolearn import OneVsRestLogistic, OneVsRestSVM
    >>> issubclass(OneVsRestSVM, Probabilities), issubclass(OneVsRestLogistic, Probabilities)
    (True, True)
    """


@estimator
class CalibratedProbabilities(Probabilities):
    """Methods whose loss says nothing of probabilities: `predict_proba` needs `probability=True`.

    >>> from taxolearn import OneVsRestSVM
    >>> issubclass(OneVsRestSVM, CalibratedProbabilities)
    True
    """


@estimator
class LikelihoodProbabilities(Probabilities):
    """Methods whose losses are likelihoods, logistic and softmax: they have probabilities without calibration.

    The sigmoid of each score; with one label per row scaled to sum to one (of two classes, the sigmoid of
    `decision_function`). With loss="softmax" the softmax of all scores.

    >>> from taxolearn import OneVsRestLogistic
    >>> model = OneVsRestLogistic().fit([[-1.0], [0.0], [1.0]], ["a", "b", "c"])
    >>> model.predict_proba([[0.5]]).sum().round(6)
    np.float64(1.0)
    """

    def _own_link(self) -> Link | None:
        if LOSSES[self.loss].facts.kind == "softmax":
            return Temperature(1.0)
        if not hasattr(self, "decoder_") or not self.decoder_.several:
            return Temperature(1.0, 0.0)
        return Sigmoids(np.ones(len(self.classes_)), np.zeros(len(self.classes_)))

    def _wants_probabilities(self) -> bool:
        return bool(self.probability)
