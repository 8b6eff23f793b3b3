"""The tuned offset against a fine grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from label_set_cases import small_taxonomy

from taxolearn.decoders import LabelSpace, decode_sets, tune_offset


def quality(space: LabelSpace, potentials: Any, truth: Any, offset: float) -> float:
    shifted = potentials + offset
    shifted[:, 0] -= offset
    sets = decode_sets(space, shifted)
    found = []
    for row, true in enumerate(truth):
        mine, theirs = set(sets.of(row).tolist()) - {0}, set(np.flatnonzero(true).tolist()) - {0}
        found.append(2 * len(mine & theirs) / (len(mine) + len(theirs)))
    return float(np.mean(found))


@pytest.mark.parametrize("seed", range(8))
def test_the_offset_is_about_the_best(seed: int) -> None:
    rng = np.random.default_rng(seed)
    taxonomy = small_taxonomy(rng, dag=seed % 2 == 1, most=12)
    space = LabelSpace.over(taxonomy, taxonomy.leaves)
    targets = sp.csr_array((rng.random((60, len(taxonomy.leaves))) < 0.3).astype(float))
    targets = targets[np.diff(targets.indptr) > 0]
    truth = space.label_sets(targets).toarray()
    bias = float(rng.choice([-0.6, 0.0, 0.7]))
    potentials = np.where(truth, 0.5, -0.5) + rng.normal(0.0, 0.4, truth.shape) - bias
    offset = tune_offset(space, potentials, targets)
    reached = quality(space, potentials, truth, offset)
    assert reached >= quality(space, potentials, truth, 0.0)
    best = max(quality(space, potentials, truth, trial) for trial in np.linspace(-1.5, 1.5, 61))
    assert reached >= best - 0.03


def test_nothing_to_learn_from_means_no_offset() -> None:
    space = LabelSpace.star(2)
    assert tune_offset(space, np.zeros((0, 3)), sp.csr_array((0, 2))) == 0.0
    assert tune_offset(space, np.ones((2, 3)), sp.csr_array(np.ones((2, 2))), np.zeros(2)) == 0.0
