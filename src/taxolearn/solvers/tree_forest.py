"""A path-sum tie as the arrays that the tree kernels walk along: the tree itself, or a DAG unfolded into one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from taxolearn.ties import PathSum, merge_nodes

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Forest:
    """The nodes of the tie in depth-first order, with all that does not matter taken out.

    Nodes without a scale or without a class under them are gone; nodes with the same classes under them, as in a
    chain, are one node with the sum of their scales (their vectors are multiples of each other). `member` says which
    node of the forest stands for each node of the tie, -1 if none. Nodes below n are n+1 .. end[n]-1; `classes` lists
    the problem's classes along that order; those in the tree below n are first[n] .. last[n]-1, those that sit at n
    first[n] .. own[n]-1. `reach` sums the scales from the top down to each node. `tops` are the nodes without a parent.

    The way from a top down to a class visits the nodes of its path, those with more classes first. In a tree that is
    the tree. In a DAG some nodes stand at several places, and classes elsewhere may be under them too: those under n
    are the ones from spans[s, 0] to spans[s, 1]-1 for s = span_first[n] .. span_last[n]-1; the spans of one tree stand
    together. Tops whose trees have classes in common hang at a node of scale 0. `unfolding` is how many classes are
    under the places of the walk for each one under the nodes, which is what a sweep costs: 1 on a tree.
    """

    end: Ints
    first: Ints
    own: Ints
    last: Ints
    scale: npt.NDArray[np.float64]
    reach: npt.NDArray[np.float64]
    span_first: Ints
    span_last: Ints
    spans: Ints
    tops: Ints
    classes: Ints
    member: Ints
    unfolding: float

    def arrays(self) -> Any:
        """The same as the kernels take it."""
        from taxolearn.kernels.tree_descent import TreeArrays

        return TreeArrays(
            self.end,
            self.first,
            self.own,
            self.last,
            self.scale,
            self.reach,
            self.span_first,
            self.span_last,
            self.spans,
        )


def make_forest(tie: PathSum, counted: npt.NDArray[np.bool_]) -> Forest:
    """The forest over the classes that have losses (`counted`).

    >>> from taxolearn import Taxonomy
    >>> from taxolearn.ties import path_sum
    >>> tree = Taxonomy.from_paths(["all/cat/lion", "all/cat/puma", "all/dog/wolf"])
    >>> tie = path_sum(tree, tree.leaf_ids, np.array([0.0, 1.0, 1.0, 1.0, 1.0, 1.0]))
    >>> forest = make_forest(tie, np.ones(3, dtype=bool))
    >>> forest.tops.tolist(), forest.scale.tolist()
    ([0, 3], [1.0, 1.0, 1.0, 2.0])
    """
    groups = _Groups(tie, counted)
    walk = _Walk(groups)
    place = np.empty(tie.n_classes, dtype=np.int64)
    place[walk.classes] = np.arange(len(walk.classes))
    group = np.array(walk.group, dtype=np.int64)
    first_place = np.full(len(groups.scale), -1, dtype=np.int64)
    first_place[group[::-1]] = np.arange(len(group))[::-1]  # of several places the first
    order = np.argsort(first_place)  # the spans of a tree stand together
    ends, spans = _spans([groups.classes[k] for k in order], place)
    from_span, to_span = np.empty_like(order), np.empty_like(order)
    from_span[order], to_span[order] = ends[:-1], ends[1:]
    member = np.full(tie.n_nodes, -1, dtype=np.int64)
    used = groups.of_node >= 0
    sizes = np.array([len(classes) for classes in groups.classes])
    member[used] = first_place[groups.of_node[used]]
    return Forest(
        end=np.array(walk.end, dtype=np.int64),
        first=np.array(walk.first, dtype=np.int64),
        own=np.array(walk.own, dtype=np.int64),
        last=np.array(walk.last, dtype=np.int64),
        scale=groups.scale[group],
        reach=np.array(walk.reach),
        span_first=from_span[group],
        span_last=to_span[group],
        spans=spans,
        tops=np.array(walk.tops, dtype=np.int64),
        classes=np.array(walk.classes, dtype=np.int64),
        member=member,
        unfolding=float(sizes[group].sum() / max(1, sizes.sum())),
    )


class _Groups:
    """Nodes of the tie with the same classes under them; the last group is empty, of scale 0, and is no node's."""

    def __init__(self, tie: PathSum, counted: npt.NDArray[np.bool_]) -> None:
        names = np.flatnonzero(counted)
        merged, self.of_node = merge_nodes(PathSum(tie.paths[names], tie.scale))
        under = merged.paths.tocsc()
        self.names, self.tree = names, tie.facts.tree
        self.scale = np.append(merged.scale, 0.0)
        parts = np.split(names[under.indices], under.indptr[1:-1]) if merged.n_nodes else []
        self.classes: list[Ints] = [*parts, np.empty(0, dtype=np.int64)]
        # a stable order, so that of equally many classes the lower node comes first
        self.order = np.argsort(-np.diff(under.indptr), kind="stable")
        self.paths = sp.csr_array(under[:, self.order])  # counted classes x groups in that order
        self.paths.sort_indices()

    def path(self, k: int) -> list[int]:
        """The groups on the path of the k-th of the counted classes, those with more classes first."""
        start, stop = self.paths.indptr[k], self.paths.indptr[k + 1]
        path: list[int] = self.order[self.paths.indices[start:stop]].tolist()
        return path

    def component(self) -> Ints:
        """A number for every group but the last: the same for those with classes in common, be it through others."""
        n_classes, n_groups = self.paths.shape
        classes = np.repeat(np.arange(n_classes), np.diff(self.paths.indptr))
        groups = n_classes + self.order[self.paths.indices]
        entries = (np.ones(len(classes), dtype=np.int8), (classes, groups))
        graph = sp.coo_array(entries, shape=(n_classes + n_groups, n_classes + n_groups)).tocsr()
        _, label = sp.csgraph.connected_components(graph, directed=False)
        return np.asarray(label[n_classes:], dtype=np.int64)


class _Walk:
    """Depth-first order over the paths of all classes, put together as long as they begin alike."""

    def __init__(self, groups: _Groups) -> None:
        self.scale, self.nothing = groups.scale, len(groups.scale) - 1
        self.group: list[int] = []
        self.reach: list[float] = []
        self.end: list[int] = []
        self.first: list[int] = []
        self.own: list[int] = []
        self.last: list[int] = []
        self.tops: list[int] = []
        self.classes: list[int] = []
        # places are numbered as they are found; 0 stands above all
        self.children: list[dict[int, int]] = [{}]
        self.at_place: list[list[int]] = [[]]
        for k, number in enumerate(groups.names.tolist()):
            self._insert(number, groups.path(k))
        for tops in self._tied(groups):
            self.tops.append(len(self.end))
            if len(tops) == 1:
                self._descend(*tops[0], 0.0)
            else:
                opened = self._enter(self.nothing, 0.0, [])
                for group, place in tops:
                    self._descend(group, place, 0.0)
                self._leave(opened)
        for lone in self.at_place[0]:  # no vector at all, only a bias
            self.tops.append(self._enter(self.nothing, 0.0, [lone]))

    def _insert(self, number: int, path: list[int]) -> None:
        place = 0
        for group in path:
            below = self.children[place]
            if group not in below:
                below[group] = len(self.children)
                self.children.append({})
                self.at_place.append([])
            place = below[group]
        self.at_place[place].append(number)

    def _tied(self, groups: _Groups) -> list[list[tuple[int, int]]]:
        """The tops (group, place) by which of them have classes in common, directly or through others."""
        if groups.tree:
            return [[top] for top in sorted(self.children[0].items())]
        component = groups.component()
        found: dict[int, list[tuple[int, int]]] = {}
        for group, place in sorted(self.children[0].items()):
            found.setdefault(int(component[group]), []).append((group, place))
        return list(found.values())

    def _descend(self, group: int, place: int, above: float) -> None:
        """Enter a place and all below it; an explicit stack, as taxonomies may be deep."""
        # (group, place, reach of the parent) to enter, or (-1, number, 0) to close
        stack = [(group, place, above)]
        while stack:
            group, place, above = stack.pop()
            if group < 0:
                self._leave(place)
                continue
            number = self._enter(group, above, self.at_place[place])
            stack.append((-1, number, 0.0))
            below = sorted(self.children[place].items(), reverse=True)
            stack.extend((lower, where, self.reach[number]) for lower, where in below)

    def _enter(self, group: int, above: float, mine: list[int]) -> int:
        self.group.append(group)
        self.reach.append(above + float(self.scale[group]))
        self.first.append(len(self.classes))
        self.classes.extend(mine)
        self.own.append(len(self.classes))
        self.last.append(len(self.classes))
        self.end.append(len(self.group))
        return len(self.group) - 1

    def _leave(self, number: int) -> None:
        self.end[number], self.last[number] = len(self.group), len(self.classes)


def _spans(classes: list[Ints], place: Ints) -> tuple[Ints, Ints]:
    """For each set of classes the runs of neighbours among their places, one after the other, and where each begins."""
    ends: list[int] = [0]
    spans: list[tuple[int, int]] = []
    for some in classes:
        places = np.sort(place[some])
        cuts = np.flatnonzero(np.diff(places) > 1)
        starts, stops = (
            places[np.append(0, cuts + 1)[: len(places)]],
            places[np.append(cuts, -1)[: len(places)]],
        )
        spans.extend(zip(starts.tolist(), (stops + 1).tolist(), strict=True))
        ends.append(len(spans))
    return np.array(ends, dtype=np.int64), np.array(spans, dtype=np.int64).reshape(-1, 2)
