"""How far down a ladder of nested answers one may go: split conformal prediction and conformal risk control."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np
import numpy.typing as npt

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
    allowed = allowed_misses(len(misses), coverage)
    return float(np.partition(misses, allowed - 1)[allowed - 1]) if allowed else -np.inf


def allowed_misses(n_rows: int, coverage: float) -> int:
    """How many of so many calibration rows and a new one may be missed.

    >>> allowed_misses(99, 0.9), allowed_misses(8, 0.9)
    (10, 0)
    """
    return floor((n_rows + 1) * (1 - Fraction(repr(float(coverage)))))


def rows_needed(coverage: float) -> int:
    """The least number of calibration rows with which anything but the root can be answered.

    >>> rows_needed(0.9), rows_needed(0.95), rows_needed(0.99)
    (9, 19, 99)
    """
    return -floor(-1 / (1 - Fraction(repr(float(coverage))))) - 1


def rows_needed_for_risk(risk: float, bound: float) -> int:
    """The same for an expected loss of `risk`, the losses being `bound` at most.

    >>> rows_needed_for_risk(0.5, 3.0)
    5
    """
    return max(0, ceil(Fraction(bound) / Fraction(repr(float(risk)))) - 1)


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
