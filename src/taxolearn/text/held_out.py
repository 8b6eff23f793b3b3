"""How right the estimator itself is about texts that are held out, where there are enough to hold some out."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone

from taxolearn.errors import TaxolearnError
from taxolearn.methods.base import VectorClassifier
from taxolearn.text.features import TextFeatures
from taxolearn.text.judged_rows import JudgedRows
from taxolearn.text.parts import Parts

_SHARE = 0.25


class HeldOut:
    """The judge of candidates where there are many rows: the estimator, solved less exactly.

    >>> from taxolearn import OneVsRestSVM
    >>> from taxolearn.text.judged_rows import judged_rows
    >>> rows = judged_rows(["left femur", "burnt skin"] * 9, ["bone", "skin"] * 9, None, None)
    >>> judge = HeldOut(OneVsRestSVM(), rows, n_texts=18, random=np.random.RandomState(0))
    >>> judge.right(TextFeatures(), 0.0).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """

    def __init__(self, estimator: VectorClassifier, rows: JudgedRows, n_texts: int, random: Any) -> None:
        self._estimator = estimator._judge()
        if rows.taxonomy is not None and "taxonomy" in self._estimator.get_params(deep=False):
            self._estimator.set_params(taxonomy=rows.taxonomy)
        keys = np.zeros(len(rows.texts)) if rows.several else rows.targets.indices
        train, held = split(keys, random)
        self._rows = rows
        known, self._asked = rows.some(train), rows.some(held)
        self._known = known._replace(told=rows.told, told_targets=rows.told_targets)
        self.parts = Parts(known.texts + rows.told, self._asked.texts, n_texts)
        self.n_judged = len(held)

    def right(self, features: TextFeatures, label_weight: float) -> npt.NDArray[np.float64]:
        """How right each held-out row is: 0 or 1, or with several labels the overlap of the sets."""
        rows, asked = self.parts.rows(features)
        targets = self._known.targets
        weights = np.ones(rows.shape[0])
        if label_weight > 0:
            targets = sparse.vstack([targets, self._known.told_targets], format="csr")
            weights[len(self._known.texts) :] = label_weight
        n = targets.shape[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # classes are missing in a part of the rows: no news to the user
            try:
                model = clone(self._estimator).fit(rows[:n], self._labels(targets), sample_weight=weights[:n])
            except TaxolearnError:  # the fit on all rows says so if it cannot either
                return np.zeros(self.n_judged)
            answers = model.predict(asked)
        true = self._labels(self._asked.targets)
        if not self._rows.several:
            return np.asarray(answers == true, dtype=np.float64)
        pairs = [(set(answer), set(label)) for answer, label in zip(answers, true, strict=True)]
        return np.array([len(a & b) / max(len(a | b), 1) for a, b in pairs])

    def _labels(self, targets: sparse.csr_array) -> Any:
        names = [self._rows.names[k] for k in targets.indices.tolist()]
        if self._rows.several:
            return [names[a:b] for a, b in pairwise(targets.indptr.tolist())]
        found = np.empty(len(names), dtype=object)
        found[:] = names
        return found


def split(keys: npt.NDArray[Any], random: Any) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows to learn from and rows held out: of each class a share, and never its last row.

    >>> train, held = split(np.array([0, 0, 0, 0, 1]), np.random.RandomState(0))
    >>> len(train), len(held), 4 in train
    (4, 1, True)
    """
    order = random.permutation(len(keys))
    order = order[np.argsort(keys[order], kind="stable")]
    sizes = np.unique(keys, return_counts=True)[1]
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    place = np.arange(len(keys)) - first
    n_held = np.minimum(np.ceil(_SHARE * sizes), sizes - 1)
    held = place < np.repeat(n_held, sizes)
    return np.sort(order[~held]), np.sort(order[held])
