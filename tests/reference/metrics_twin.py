"""Slow, obvious twins of the metrics: Python sets and loops, straight from the definitions.

A hierarchy is `parents`, a dict from every node to the list of its parents; its keys stand in the order of
the node ids, so "larger id" is "later key". Label sets are Python sets, one a row.
"""

from __future__ import annotations

import math
from collections import Counter, deque


def mean(values, weights=None):
    values = list(values)
    weights = [1.0] * len(values) if weights is None else list(weights)
    return sum(v * w for v, w in zip(values, weights, strict=True)) / sum(weights)


# flat


def accuracy(true, pred, weights=None):
    return mean([float(t == p) for t, p in zip(true, pred, strict=True)], weights)


def jaccard(true, pred, weights=None):
    return mean([len(t & p) / len(t | p) if t | p else 1.0 for t, p in zip(true, pred, strict=True)], weights)


def micro_f1(true, pred, weights=None):
    weights = [1.0] * len(true) if weights is None else weights
    rows = list(zip(true, pred, weights, strict=True))
    total = sum(w * (len(t) + len(p)) for t, p, w in rows)
    return 2 * sum(w * len(t & p) for t, p, w in rows) / total if total else 1.0


def macro_f1(true, pred, weights=None, labels=None):
    weights = [1.0] * len(true) if weights is None else weights
    rows = [(t, p, w) for t, p, w in zip(true, pred, weights, strict=True) if w > 0]
    if labels is None:
        labels = set().union(*(t | p for t, p, _ in rows))
        if not labels:
            return 1.0
    scores = []
    for label in labels:
        both = sum(w for t, p, w in rows if label in t and label in p)
        total = sum(w for t, p, w in rows if label in t) + sum(w for t, p, w in rows if label in p)
        scores.append(2 * both / total if total else 0.0)
    return sum(scores) / len(scores)


# hierarchy


def root_of(parents):
    return next(node for node, above in parents.items() if not above)


def ancestors(parents, node):
    """The node and everything above it."""
    found, todo = {node}, [node]
    while todo:
        for parent in parents[todo.pop()]:
            if parent not in found:
                found.add(parent)
                todo.append(parent)
    return found


def steps_up(parents, node):
    """Edges of a shortest way up from the node to each of its ancestors."""
    steps, queue = {node: 0}, deque([node])
    while queue:
        here = queue.popleft()
        for parent in parents[here]:
            if parent not in steps:
                steps[parent] = steps[here] + 1
                queue.append(parent)
    return steps


def distance(parents, a, b):
    """Edges of a shortest path, directions ignored."""
    near = {node: set(above) for node, above in parents.items()}
    for node, above in parents.items():
        for parent in above:
            near[parent].add(node)
    steps, queue = {a: 0}, deque([a])
    while queue:
        here = queue.popleft()
        for there in near[here]:
            if there not in steps:
                steps[there] = steps[here] + 1
                queue.append(there)
    return steps[b]


def tree_loss(parents, true, pred, weights=None):
    losses = []
    for t, p in zip(true, pred, strict=True):
        t, p = t or {root_of(parents)}, p or {root_of(parents)}
        of_true = mean(min(distance(parents, a, b) for b in p) for a in t)
        of_pred = mean(min(distance(parents, a, b) for a in t) for b in p)
        losses.append((of_true + of_pred) / 2 / 2)
    return mean(losses, weights)


def closed(parents, labels):
    return set().union(*(ancestors(parents, label) for label in labels)) - {root_of(parents)}


def quotient(part, whole, other):
    if whole:
        return part / whole
    return 0.0 if other else 1.0


def hierarchical(parents, true, pred, average="micro", weights=None):
    """(precision, recall, F1)."""
    weights = [1.0] * len(true) if weights is None else weights
    rows = [(closed(parents, t), closed(parents, p)) for t, p in zip(true, pred, strict=True)]
    if average == "samples":
        precision = mean([quotient(len(t & p), len(p), len(t)) for t, p in rows], weights)
        recall = mean([quotient(len(t & p), len(t), len(p)) for t, p in rows], weights)
        f1 = mean([quotient(2 * len(t & p), len(t) + len(p), 0) for t, p in rows], weights)
        return precision, recall, f1
    both = sum(w * len(t & p) for (t, p), w in zip(rows, weights, strict=True))
    n_true = sum(w * len(t) for (t, _), w in zip(rows, weights, strict=True))
    n_pred = sum(w * len(p) for (_, p), w in zip(rows, weights, strict=True))
    precision, recall = quotient(both, n_pred, n_true), quotient(both, n_true, n_pred)
    return precision, recall, 2 * precision * recall / (precision + recall) if precision + recall else 0.0


# LCA metrics


def meetings(parents, a, b):
    """(distance, LCAs): the common ancestors through which the way from a up and down to b is shortest."""
    up_a, up_b = steps_up(parents, a), steps_up(parents, b)
    length = {node: up_a[node] + up_b[node] for node in up_a.keys() & up_b.keys()}
    least = min(length.values())
    return least, {node for node, steps in length.items() if steps == least}


def path_up(parents, node, top):
    """A shortest path; of several, step to the parent that comes first."""
    order = list(parents)
    path = [node]
    while path[-1] != top:
        left = steps_up(parents, path[-1])[top] - 1
        nearer = [q for q in parents[path[-1]] if steps_up(parents, q).get(top) == left]
        path.append(min(nearer, key=order.index))
    return path


def lca_graphs(parents, true, pred):
    """The node sets G_t and G_p of one row."""
    order = list(parents).index
    sides = []
    for labels in (true, pred):
        labels = labels or {root_of(parents)}
        sides.append({a for a in labels if not any(a in ancestors(parents, b) for b in labels - {a})})
    linked = {}  # (side, label) -> its LCAs
    through = {}  # (LCA, other side) -> labels of that side through which it was found
    for side in (0, 1):
        for label in sides[side]:
            met = {other: meetings(parents, label, other) for other in sides[1 - side]}
            least = min(steps for steps, _ in met.values())
            linked[side, label] = set()
            for other, (steps, nodes) in met.items():
                if steps == least:
                    linked[side, label] |= nodes
                    for node in nodes:
                        through.setdefault((node, 1 - side), set()).add(other)
    count = Counter(node for nodes in linked.values() for node in nodes)

    def rank(node):
        return (-count[node], -order(node))

    kept = {min(nodes, key=rank) for nodes in linked.values()}
    for node in sorted(kept, key=rank):
        if all(nodes & (kept - {node}) for nodes in linked.values() if node in nodes):
            kept.remove(node)
    graphs = (set(sides[0]), set(sides[1]))
    for node in kept:
        for side in (0, 1):
            ends = {label for (s, label), nodes in linked.items() if s == side and node in nodes}
            if not ends:
                ends = {min(through[node, side], key=order)}
            for label in ends:
                graphs[side].update(path_up(parents, label, node))
    return graphs


def lca(parents, true, pred, weights=None):
    """(precision, recall, F1)."""
    graphs = [lca_graphs(parents, t, p) for t, p in zip(true, pred, strict=True)]
    precision = [len(t & p) / len(p) for t, p in graphs]
    recall = [len(t & p) / len(t) for t, p in graphs]
    f1 = [2 * p * r / (p + r) for p, r in zip(precision, recall, strict=True)]
    return mean(precision, weights), mean(recall, weights), mean(f1, weights)


# ranking: `ranked` holds lists of labels, best first


def ranked_by(scores, columns):
    """Best first; equal scores keep the order of the columns. Scores that are None are not ranked."""
    rows = []
    for row in scores:
        pairs = [(-score, i) for i, score in enumerate(row) if score is not None]
        rows.append([columns[i] for _, i in sorted(pairs)])
    return rows


def precision_at_k(true, ranked, k, weights=None):
    return mean([len(t & set(r[:k])) / k for t, r in zip(true, ranked, strict=True)], weights)


def ndcg_at_k(true, ranked, k, weights=None):
    values = []
    for t, r in zip(true, ranked, strict=True):
        gain = sum(1 / math.log2(i + 2) for i, label in enumerate(r[:k]) if label in t)
        ideal = sum(1 / math.log2(i + 2) for i in range(min(k, len(t))))
        values.append(gain / ideal if ideal else 0.0)
    return mean(values, weights)


def propensities(true, labels, a=0.55, b=1.5):
    c = (math.log(len(true)) - 1) * (b + 1) ** a
    return {label: 1 / (1 + c * (sum(label in t for t in true) + b) ** -a) for label in labels}


def psp_at_k(true, ranked, p, k, weights=None):
    weights = [1.0] * len(true) if weights is None else weights
    won = best = 0.0
    for t, r, w in zip(true, ranked, weights, strict=True):
        won += w * sum(1 / p[label] for label in r[:k] if label in t)
        best += w * sum(sorted((1 / p[label] for label in t), reverse=True)[:k])
    return won / best if best else 0.0
