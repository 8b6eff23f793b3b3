"""The structured hinge over the relaxed label sets of a DAG: (19) of Choi, Sasaki and Srebro."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.losses.base import LossFacts
from taxolearn.losses.sets import SetHinge
from taxolearn.problem.node_sets import set_constraints


@dataclass(frozen=True, eq=False)
class RelaxedSetHinge(SetHinge):
    """As `SetHinge`, the maximum being over z in [0, 1], one per node, that fulfil what sets fulfil: z_child <=
    z_parent, z_n <= the sum of its children where one must be chosen, 1 at the root, 1 at least over possible ends.

    All label sets are such z, and all z lie in the hull of the sets that are closed under ancestors: the objective lies
    between that of the label sets, (18), and that of `SetHinge`, which leaves `must` out on a DAG.

    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.losses import set_hinge
    >>> from taxolearn.structure import Taxonomy
    >>> dag = Taxonomy.from_edges([("r", "a"), ("r", "b"), ("a", "x"), ("b", "x")])
    >>> problem = make_problem([[0.0], [1.0]], [["x"], ["x"]], dag)
    >>> loss = set_hinge(problem, kind=RelaxedSetHinge)
    >>> loss.facts.kind, loss.must.tolist(), loss.constraints[0].shape
    ('relaxed_sets', [True, True, True, False], (8, 4))
    """

    @property
    def facts(self) -> LossFacts:
        """What callers branch on.

        >>> from taxolearn.losses import star_hinge
        >>> star_hinge(2).facts.kind
        'sets'
        """
        return LossFacts("relaxed_set_hinge", "relaxed_sets", tied_bias=True, n_units=self.n_nodes)

    @property
    def keeps_must(self) -> bool:
        """Always.

        >>> from taxolearn.losses import star_hinge
        >>> star_hinge(2).keeps_must
        True
        """
        return True

    @cached_property
    def downward(self) -> Any:
        """Nodes x nodes: the children of each node.

        >>> from taxolearn.losses import star_hinge
        >>> star_hinge(2).has_children.tolist()
        [True, False, False]
        """
        return sp.csr_array(self.upward.T)

    @cached_property
    def constraints(self) -> tuple[Any, npt.NDArray[np.float64]]:
        """A and b of A z <= b.

        >>> from taxolearn.losses import star_hinge
        >>> star_hinge(2).n_nodes
        3
        """
        return set_constraints(self.upward, self.must)
