"""The texts that candidates are compared on: all of them, those of some classes, or some of all."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from taxolearn.problem import encode_labels
from taxolearn.structure import Taxonomy
from taxolearn.text.label_texts import LabelRows, with_label_rows
from taxolearn.text.reading import check_one_label_each

_MANY_CLASSES = 200


class JudgedRows(NamedTuple):
    """Texts and texts about classes, with which classes each has (CSR), and the names of classes.

    >>> rows = judged_rows(["left femur", "burnt skin"], ["bone", "skin"], None, None)
    >>> rows.targets.toarray().tolist(), rows.names, rows.several
    ([[1.0, 0.0], [0.0, 1.0]], ('bone', 'skin'), False)
    """

    texts: list[str]
    targets: sparse.csr_array
    told: list[str]
    told_targets: sparse.csr_array
    names: tuple[Hashable, ...]
    several: bool
    taxonomy: Taxonomy | None

    @property
    def size(self) -> int:
        """How many rows there are to learn from, label texts included."""
        return len(self.texts) + len(self.told)

    def some(self, rows: npt.NDArray[np.intp]) -> JudgedRows:
        """These texts, and the texts about their classes.

        >>> rows = judged_rows(["left femur", "skin"], ["b", "s"], LabelRows(["bone", "skin"], ["b", "s"]), None)
        >>> rows.some(np.array([0])).told
        ['bone']
        """
        rows = np.sort(rows)
        targets = self.targets[rows]
        has_rows = np.zeros(len(self.names))
        has_rows[targets.indices] = 1
        about = np.flatnonzero(self.told_targets @ has_rows)
        return self._replace(
            texts=[self.texts[row] for row in rows],
            targets=targets,
            told=[self.told[row] for row in about],
            told_targets=self.told_targets[about],
        )

    def of_some_classes(self, most: int, random: Any) -> JudgedRows | None:
        """All rows of as many classes as fit, so that classes have as many rows as ever; None where classes are few.

        >>> y = [f"{k % 500}" for k in range(3000)]
        >>> part = judged_rows(["text"] * 3000, y, None, None).of_some_classes(1300, np.random.RandomState(0))
        >>> len(part.texts), len(set(part.targets.indices.tolist()))
        (1296, 216)
        """
        used = np.unique(self.targets.indices)
        if self.several or len(used) < _MANY_CLASSES:
            return None
        cost = np.bincount(self.targets.indices, minlength=len(self.names))
        cost += np.bincount(self.told_targets.indices, minlength=len(self.names))
        order = random.permutation(used)
        order = order[cost[order] <= most // 10]  # one class shall not stand for all
        chosen = order[: int(np.searchsorted(np.cumsum(cost[order]), most, side="right"))]
        kept = np.zeros(len(self.names))
        kept[chosen] = 1
        rows = np.flatnonzero(self.targets @ kept)
        return self.some(rows) if len(rows) else None


def judged_rows(texts: list[str], y: Any, about: LabelRows | None, taxonomy: Taxonomy | None) -> JudgedRows:
    """Texts with labels of any form, and the texts about classes that have rows.

    >>> judged_rows(["cat", "oak"], [("Animal", "Cat"), ("Plant", "Oak")], None, None).names
    ('<root>', 'Animal', 'Animal/Cat', 'Plant', 'Plant/Oak')
    """
    labels = y if about is None else with_label_rows(y, about.labels)
    encoded = encode_labels(labels, taxonomy, allow_empty=True, build=True)
    matrix = encoded.matrix()
    told = [] if about is None else about.texts
    check_one_label_each(matrix.shape[0] - len(told), len(texts))
    n = len(texts)
    whole = JudgedRows(
        texts, matrix[:n], told, matrix[n:], encoded.names, encoded.multilabel, encoded.taxonomy
    )
    return whole.some(np.arange(n))
