"""The learned structure that a given one is compared with: a sparse graph of the classes, from held-out rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.auditing.folds import Array
from taxolearn.engines import blas_threads, running
from taxolearn.solvers.structure_learning import FromCovariance, learn_structure
from taxolearn.solvers.structure_steps import SparseGraph
from taxolearn.structure import ClassGraph

_MOST_CLASSES = 300  # a graph of so many takes a quarter of a minute, and time grows as their cube
_PRIOR = SparseGraph(nu=0.1, gamma=1.0)  # as of TaxonomyLearningRidge
_STATIONARY = 1e-3  # what the graph may have left to gain
_MOST_TURNS = 3  # further ones draw classes together that are near by chance
_LEAST_TIE = 1e-6  # as a share of the largest


def learned_ties(
    scores: Array, targets: sp.csr_array, judged: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64] | None:
    """Classes x classes: the weights of the graph that `TaxonomyLearningRidge` learns under a large lambda; zero for
    classes that are not judged. None beyond 300 classes.

    The mean score of the held-out rows of one class for another is the covariance of their means, if `scores` are those
    of `ClassMeans`; and for the class itself its variance without the noise of its rows, which are not those of the
    mean.

    >>> scores = np.array([[1.0, 0.9, -1.0], [0.9, 1.0, -1.0], [-1.0, -1.0, 2.0]])
    >>> ties = learned_ties(scores, sp.csr_array(np.eye(3)), np.ones(3, dtype=bool))
    >>> ties.round(1).tolist()
    [[0.0, 4.4, 0.0], [4.4, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    own = np.flatnonzero(judged)
    if not 2 <= len(own) <= _MOST_CLASSES:
        return None
    some = sp.csr_array(targets[:, own] > 0, dtype=np.float64)
    known = ~np.isnan(scores[:, own])
    counts = np.asarray(some.T @ known.astype(np.float64))
    means = np.asarray(some.T @ np.where(known, scores[:, own], 0.0)) / np.maximum(counts, 1.0)
    values, vectors = np.linalg.eigh(0.5 * (means + means.T))
    covariance = (vectors * np.maximum(values, 0.0)) @ vectors.T  # noise may make small ones negative
    with running() as run, blas_threads(1):
        learned = learn_structure(
            FromCovariance(covariance),
            _PRIOR,
            np.eye(len(own)) / _PRIOR.gamma,
            None,
            run,
            tol=_STATIONARY,
            max_turns=_MOST_TURNS,
        )
    ties = np.zeros((len(judged), len(judged)))
    ties[np.ix_(own, own)] = np.maximum(-learned.precision, 0.0)
    np.fill_diagonal(ties, 0.0)
    return ties


def graph_of(ties: Array, classes: Sequence[Hashable]) -> ClassGraph:
    """The learned ties as a graph of the classes.

    >>> graph_of(np.array([[0.0, 2.0], [2.0, 0.0]]), ["Lion", "Lynx"]).edges
    (('Lion', 'Lynx', 2.0),)
    """
    left, right = np.triu_indices(len(classes), 1)
    weights = ties[left, right]
    drawn = weights > _LEAST_TIE * max(float(weights.max(initial=0.0)), 1e-300)
    edges = zip(left[drawn], right[drawn], weights[drawn], strict=True)
    return ClassGraph.from_edges([(classes[i], classes[j], float(w)) for i, j, w in edges], nodes=classes)
