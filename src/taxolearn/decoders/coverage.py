"""How far down a ladder of nested answers one may go: split conformal prediction and conformal risk control."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.decoders.ladders import Floats, Ids, Ladders
from taxolearn.structure import Taxonomy


def missed(ladders: Ladders, labels: Ids, taxonomy: Taxonomy) -> npt.NDArray[np.bool_]:
    """Whether the answer at each rung misses the true label (a node id per row): it lies neither at nor below it.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> ladder = Ladders(np.array([[[0], [1]]], np.int32), np.array([[-np.inf, 0.5]]))
    >>> missed(ladder, np.array([2], np.int32), tree).tolist()
    [[False, True]]
    """
    above = taxonomy.ancestor_matrix(labels, dtype=bool)
    hit = np.zeros(ladders.nodes.shape, dtype=bool)
    rows = np.broadcast_to(np.arange(len(labels))[:, None, None], hit.shape)
    there = ladders.nodes >= 0
    hit[there] = np.asarray(above[rows[there], ladders.nodes[there]]).ravel().astype(bool)
    return np.asarray(there.any(axis=2) & ~hit.any(axis=2))


def first_misses(ladders: Ladders, labels: Ids, taxonomy: Taxonomy) -> Floats:
    """The least doubt at which the answer misses the true label; inf where the last rung has it.

    An answer whose doubt is below that covers the label, any other one does not.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> ladder = Ladders(np.array([[[0], [1]]] * 2, np.int32), np.array([[-np.inf, 0.5]] * 2))
    >>> first_misses(ladder, np.array([1, 2], np.int32), tree).tolist()
    [inf, 0.5]
    """
    return np.asarray(np.where(missed(ladders, labels, taxonomy), ladders.doubt, np.inf).min(axis=1))


def tree_losses(ladders: Ladders, labels: Ids, taxonomy: Taxonomy) -> Floats:
    """What the answer at each rung costs: half the edges between it and the true label, nothing where it covers it.

    Of several nodes the nearest counts. On a DAG, where a climb may lead away from the label, a rung costs as much as
    the dearest one above it, so that costs rise along the rungs.

    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
    >>> ladder = Ladders(np.array([[[0], [1], [2]]], np.int32), np.array([[-np.inf, 0.1, 0.5]]))
    >>> tree_losses(ladder, np.array([4], np.int32), tree).tolist()
    [[0.0, 1.0, 1.5]]
    """
    wrong = missed(ladders, labels, taxonomy)
    rows, rungs = np.nonzero(wrong)
    nodes = ladders.nodes[rows, rungs]
    far = taxonomy.distance(np.maximum(nodes, 0), labels[rows][:, None]).astype(np.float64)
    losses = np.zeros(wrong.shape)
    losses[rows, rungs] = np.where(nodes >= 0, far, np.inf).min(axis=1, initial=np.inf) / 2
    return np.asarray(np.maximum.accumulate(losses, axis=1))


def largest_loss(taxonomy: Taxonomy) -> float:
    """A bound on the tree loss of any answer: half of twice the deepest way.

    >>> largest_loss(Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Dog"]))
    2.0
    """
    return float(taxonomy.max_depth)


def coverage_limit(misses: Floats, coverage: float) -> float:
    """The doubt below which answers cover the label of a new row with probability `coverage` or more.

    Of n calibration rows, floor((n + 1) (1 - coverage)) - 1 at most may be missed: the limit is the first miss of the
    next one. For rows exchangeable with these, P(miss) <= 1 - coverage: split conformal prediction (Papadopoulos et
    al. 2002; Lei et al. 2018). -inf, which leaves the root, where there are too few rows; see `rows_needed`.

    >>> coverage_limit(np.array([0.1, 0.3, 0.2, np.inf]), 0.6), coverage_limit(np.array([0.1]), 0.6)
    (0.2, -inf)
    """
    allowed = floor((len(misses) + 1) * (1 - Fraction(repr(float(coverage)))))
    return float(np.partition(misses, allowed - 1)[allowed - 1]) if allowed else -np.inf


def rows_needed(coverage: float) -> int:
    """The least number of calibration rows with which anything but the root can be answered.

    >>> rows_needed(0.9), rows_needed(0.95), rows_needed(0.99)
    (9, 19, 99)
    """
    return -floor(-1 / (1 - Fraction(repr(float(coverage))))) - 1


def risk_limit(doubt: Floats, losses: Floats, risk: float, bound: float) -> float:
    """The doubt below which answers have an expected loss of `risk` at most, the losses being `bound` at most.

    Conformal risk control (Angelopoulos et al. 2024): the largest limit for which (sum of losses + bound) / (n + 1) is
    `risk` at most. Both arrays are calibration rows x rungs, and rise along the rungs from a loss of zero.

    >>> doubt, losses = np.array([[-np.inf, 0.1], [-np.inf, 0.4], [-np.inf, 0.2]]), np.array([[0.0, 1.0]] * 3)
    >>> risk_limit(doubt, losses, 0.5, 1.0), risk_limit(doubt, losses, 0.2, 1.0)
    (0.2, -inf)
    """
    steps = np.diff(losses, axis=1)
    at, by = doubt[:, 1:][steps > 0], steps[steps > 0]
    order = np.argsort(at, kind="stable")
    budget = risk * (len(losses) + 1) - bound
    if budget < 0:
        return -np.inf
    # in units of an edge's half the sums are exact
    over = np.flatnonzero(np.cumsum(by[order]) > budget * (1 + 1e-12))
    return float(at[order][over[0]]) if len(over) else np.inf


def group_limits(
    misses: Floats, groups: npt.NDArray[np.integer], n_groups: int, coverage: float
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """A limit for each group of labels, of calibration rows of these groups (-1: of none), and which ones share theirs.

    A group stands alone if it has `rows_needed` rows and the new one at least. The others are taken together, and where
    even these are too few, with the smallest group that could stand alone: what is promised, is promised for all of
    them together. Who is with whom depends on how many rows each group has with the new row among them, whichever group
    it may belong to, and on nothing else. So all rows are treated alike, as exchangeability asks (Vovk's Mondrian
    taxonomies may depend on the bag of all rows, not on their order).

    >>> misses, groups = np.array([0.5, 0.4, 0.3, 0.2, 0.1, 0.6, 0.7]), np.array([0, 0, 0, 1, 1, 1, 1])
    >>> group_limits(misses, groups, 2, 0.5)
    (array([0.4, 0.2]), array([False, False]))
    """
    needed = rows_needed(coverage)
    counts = np.bincount(groups[groups >= 0], minlength=n_groups)
    # of a new row in another group, those with as many rows as are needed besides it do not stand alone
    pooled = (groups >= 0) & (counts <= needed)[groups]
    n_pooled = int(pooled.sum())
    large = np.flatnonzero(counts > needed)
    mine = pooled
    if n_pooled < needed and len(large):
        mine = pooled | (groups == large[np.argmin(counts[large])])
    limits = np.full(n_groups, coverage_limit(misses[mine], coverage))
    shared = counts < needed
    for group in np.flatnonzero(~shared):
        mine = groups == group
        others = n_pooled - (counts[group] if counts[group] <= needed else 0)
        larger = [(counts[other], other) for other in large if other != group]
        if 0 < others <= needed and (counts[group] + 1, group) <= min(larger, default=(np.inf, 0)):
            mine = mine | pooled
            shared[group] = True
        limits[group] = coverage_limit(misses[mine], coverage)
    return limits, shared


def edge_limits(
    limits: Floats, groups: npt.NDArray[np.integer], class_nodes: Ids, taxonomy: Taxonomy
) -> Floats:
    """For each edge (in the order of `parent_indices`) the doubt below which one may go down it.

    A step may be taken where its doubt is below the limit of every group that has a class below the parent, and not
    below the child. `groups` has the group of each class.

    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Lynx", "Animal/Dog"])
    >>> edge_limits(np.array([0.3, 0.2, 0.1]), np.arange(3), tree.leaf_ids, tree).tolist()
    [0.1, 0.2, 0.3, 0.2]
    """
    shape = (len(class_nodes), len(limits))
    member = sp.csr_array((np.ones(shape[0]), (np.arange(shape[0]), groups)), shape=shape)
    below = sp.csr_array(
        taxonomy.ancestor_matrix(class_nodes).T @ member
    )  # nodes x groups: classes of each group
    child = np.repeat(np.arange(taxonomy.n_nodes), np.diff(taxonomy.parent_indptr))
    dropped = sp.csr_array(below[taxonomy.parent_indices] - below[child])
    dropped.eliminate_zeros()
    found = np.full(len(child), np.inf)
    some = np.flatnonzero(np.diff(dropped.indptr))
    if len(some):
        found[some] = np.minimum.reduceat(limits[dropped.indices], dropped.indptr[some])
    return found


def limits_along(ladders: Ladders, limits: Floats, taxonomy: Taxonomy) -> Floats:
    """The limits of the edges that lead to each rung, rows x rungs of one node each; -inf past the last one.

    >>> tree = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog"])
    >>> ladders = Ladders(np.array([[[0], [1]], [[0], [2]]], np.int32), np.array([[-np.inf, 0.3]] * 2))
    >>> limits_along(ladders, np.array([0.5, 0.2]), tree).tolist()
    [[inf, 0.5], [inf, 0.2]]
    """
    path = ladders.nodes[:, :, 0].astype(np.int64)
    n_nodes = taxonomy.n_nodes
    child = np.repeat(np.arange(n_nodes), np.diff(taxonomy.parent_indptr))
    keys = taxonomy.parent_indices.astype(np.int64) * n_nodes + child
    order = np.argsort(keys)
    place = np.searchsorted(keys[order], path[:, :-1] * n_nodes + path[:, 1:])
    found = np.full(path.shape, np.inf)
    if len(keys):
        found[:, 1:] = limits[order][np.minimum(place, len(keys) - 1)]
    return np.where(path >= 0, found, -np.inf)


def softmax_slope(scores: Floats, labels: npt.NDArray[np.integer]) -> float:
    """The slope b for which the softmax of b times the scores has the least log-loss on rows with these true classes.

    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=(2000, 3))
    >>> labels = np.argmax(2.0 * scores + rng.gumbel(size=(2000, 3)), axis=1)
    >>> bool(abs(softmax_slope(scores, labels) - 2.0) < 0.2)
    True
    """
    spread = float(np.ptp(scores, axis=1).mean()) if scores.size else 0.0
    if spread == 0.0:
        return 1.0
    from scipy.optimize import minimize_scalar
    from scipy.special import logsumexp

    rows = np.arange(len(labels))

    def log_loss(exponent: float) -> float:
        logits = np.exp(exponent) / spread * scores
        return float(np.mean(logsumexp(logits, axis=1) - logits[rows, labels]))

    # rows that are all right have no best slope: a difference of e^5 mean spreads is certainty
    best = minimize_scalar(log_loss, bounds=(-3.0, 5.0), method="bounded")
    return float(np.exp(best.x) / spread)
