"""The label sets that are learned over and those that are answered are the same sets."""

from __future__ import annotations

import numpy as np
import pytest

from taxolearn import Taxonomy
from taxolearn.decoders import LabelSpace
from taxolearn.losses import set_hinge
from taxolearn.problem import make_problem

TREE = Taxonomy.from_paths(["a/x/1", "a/x/2", "a/y", "b/z", "c"])


def problem_of(seed: int, taxonomy: Taxonomy | None):
    """Rows with one to three labels, some of them at inner nodes; every leaf has a row."""
    rng = np.random.default_rng(seed)
    inner = ["a", "x"] if taxonomy is not None and seed % 2 else []
    names = [*TREE.leaves, *inner]
    y = [[leaf] for leaf in TREE.leaves]
    y += [sorted({str(rng.choice(names)) for _ in range(rng.integers(1, 4))}) for _ in range(12)]
    return make_problem(rng.normal(size=(len(y), 2)), y, taxonomy, empty_classes="keep")


@pytest.mark.parametrize("must", ["auto", "root"])
@pytest.mark.parametrize("taxonomy", [None, TREE], ids=["flat", "tree"])
@pytest.mark.parametrize("seed", range(6))
def test_loss_and_decoder_ask_for_the_same_children(seed: int, taxonomy: Taxonomy | None, must: str) -> None:
    problem = problem_of(seed, taxonomy)
    loss, space = set_hinge(problem, must=must), LabelSpace.of(problem, must)
    assert len(space.must) == loss.n_nodes
    has_children = loss.has_children
    assert (space.must & has_children).tolist() == (loss.must & has_children).tolist()
    assert space.class_nodes.tolist() == loss.class_nodes.tolist()
