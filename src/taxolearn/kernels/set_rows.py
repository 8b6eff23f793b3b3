"""The exact step of one row on its node marginals, over the sets of a tree.

    max over mu of  sum_n theta_n (mu_n - m_n) - 1/2 sum_n h_n (mu_n - m_n)^2

with mu in the convex hull of the sets: mu of the root is 1, 0 <= mu_child <= mu_parent, and where a node must have a
child the children add up to their parent at least. With g = theta + h m it is sum_n g_n mu_n - 1/2 h_n mu_n^2.

Let phi_n(t) be the slope of the best value of n's subtree at mu_n = t: decreasing and piecewise linear. Then
phi_n(t) = g_n - h_n t + psi_n(t), and with m*_c the zero of phi_c in [0, 1] and T their sum over the children c

    t <= T:          psi_n(t) = sum_c max(phi_c(t), 0)              and mu_c = min(t, m*_c),
    t > T, must:     psi_n(t) = s where sum_c phi_c^-1(s) = t       and mu_c = phi_c^-1(s),
    t > T otherwise: psi_n(t) = 0                                   and mu_c = m*_c.

A bottom-up pass over numbers (phi_n(0), and a lower bound on phi_n(1)) finds the few nodes that can be positive; only
these get functions, kept as knots (t, psi). A top-down pass reads off mu.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from taxolearn.kernels._jit import kernel
from taxolearn.kernels.sorting import rising


class Tree(NamedTuple):
    """Nodes from the top down, the root first: children of n are `children[indptr[n]:indptr[n + 1]]`."""

    indptr: Any
    children: Any
    parent: Any
    must: Any


class Room(NamedTuple):
    """What a step works with, an entry a node: slopes at 0 and 1 with what children add to them, and the queue."""

    top: Any
    top_sum: Any
    top_best: Any
    low: Any
    low_sum: Any
    low_best: Any
    queue: Any  # relevant nodes, parents before children, children of one node side by side
    first: Any  # where in the queue the children of an entry begin
    size: Any  # and how many they are
    knot: Any  # where its knots begin
    knots: Any  # and how many they are
    zero: Any  # m*
    total: Any  # T of its children
    mu: Any


@kernel
def new_room(n):
    """Room for trees of up to n nodes."""
    return Room(
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.empty(n),
        np.empty(n),
        np.empty(n),
    )


@kernel
def _added(must, positive, best):
    """What the children add to a node's value: all that are positive, or where one must be, the best."""
    if positive > 0.0 or not must:
        return positive
    return best


@kernel
def best_value(tree, size, theta, room):
    """max over sets of sum_n theta_n, the root left out."""
    for n in range(size):
        room.top_sum[n] = 0.0
        room.top_best[n] = -np.inf
    for n in range(size - 1, 0, -1):
        value = theta[n] + _leaf_or(tree, n, room.top_sum[n], room.top_best[n])
        p = tree.parent[n]
        if value > 0.0:
            room.top_sum[p] += value
        if value > room.top_best[p]:
            room.top_best[p] = value
    return _leaf_or(tree, np.int64(0), room.top_sum[0], room.top_best[0])


@kernel
def _leaf_or(tree, n, positive, best):
    return _added(tree.must[n] and tree.indptr[n + 1] > tree.indptr[n], positive, best)


@kernel
def _relevant(tree, size, g, h, room):
    """Fill the queue with the nodes that can be positive at the optimum; how many they are."""
    for n in range(size):
        room.top_sum[n] = 0.0
        room.top_best[n] = -np.inf
        room.low_sum[n] = 0.0
        room.low_best[n] = -np.inf
    for n in range(size - 1, 0, -1):
        top = g[n] + _leaf_or(tree, n, room.top_sum[n], room.top_best[n])
        low = g[n] - h[n] + _leaf_or(tree, n, room.low_sum[n], room.low_best[n])
        room.top[n] = top
        room.low[n] = low
        p = tree.parent[n]
        if top > 0.0:
            room.top_sum[p] += top
        if top > room.top_best[p]:
            room.top_best[p] = top
        if low > 0.0:
            room.low_sum[p] += low
        if low > room.low_best[p]:
            room.low_best[p] = low
    room.queue[0] = 0
    found = 1
    at = 0
    while at < found:
        n = room.queue[at]
        room.first[at] = found
        bar = min(0.0, room.low_best[n]) if tree.must[n] else 0.0
        best = -1
        for e in range(tree.indptr[n], tree.indptr[n + 1]):
            c = tree.children[e]
            if room.top[c] > bar:
                room.queue[found] = c
                found += 1
            if best < 0 or room.top[c] > room.top[best]:
                best = c
        if found == room.first[at] and tree.must[n] and best >= 0:  # bounds met: one child takes all
            room.queue[found] = best
            found += 1
        room.size[at] = found - room.first[at]
        at += 1
    return found


@kernel
def _slope(g, h, t, psi):
    return g - h * t + psi


@kernel
def _inverse(ts, psis, start, count, g, h, s):
    """The t in [0, 1] with phi(t) = s, of a function by its knots; 0 or 1 where s is out of reach."""
    t0 = ts[start]
    f0 = _slope(g, h, t0, psis[start])
    if f0 <= s:
        return 0.0
    for k in range(start + 1, start + count):
        t1 = ts[k]
        f1 = _slope(g, h, t1, psis[k])
        if f1 <= s:
            if f0 - f1 <= 0.0:
                return t1
            return min(max(t0 + (t1 - t0) * ((f0 - s) / (f0 - f1)), t0), t1)
        t0 = t1
        f0 = f1
    return 1.0


@kernel
def _enough(ts, psis, need):
    """Knots with room for so many."""
    if need <= ts.shape[0]:
        return ts, psis
    size = max(need, 2 * ts.shape[0])
    more = np.empty(size)
    values = np.empty(size)
    for k in range(ts.shape[0]):  # slices compile for a second
        more[k] = ts[k]
        values[k] = psis[k]
    return more, values


@kernel
def _put(ts, psis, start, count, t, psi):
    """One more knot, unless it is the last one again."""
    if count > 0 and t <= ts[start + count - 1]:
        psis[start + count - 1] = psi
        return count
    ts[start + count] = t
    psis[start + count] = psi
    return count + 1


@kernel
def _build(tree, at, g, h, room, ts, psis, start):
    """Knots of psi of the queue's entry `at`, whose children have theirs; returns the arrays and how many they are."""
    n = room.queue[at]
    first, last = room.first[at], room.first[at] + room.size[at]
    events = 2
    for q in range(first, last):
        events += room.knots[q] + 1
    ts, psis = _enough(ts, psis, start + 2 * events + 4)
    total = 0.0
    highest = -np.inf
    for q in range(first, last):
        c = room.queue[q]
        room.zero[q] = _inverse(ts, psis, room.knot[q], room.knots[q], g[c], h[c], 0.0)
        total += room.zero[q]
        highest = max(highest, _slope(g[c], h[c], 0.0, psis[room.knot[q]]))
    room.total[at] = total
    count = np.int64(0)
    place = np.empty(events)
    bend = np.empty(events)
    if total > 0.0:
        # vertically: sum_c max(phi_c(t), 0), by the bends of its slope
        m = 0
        value = 0.0
        slope = 0.0
        for q in range(first, last):
            if room.zero[q] <= 0.0:
                continue
            c = room.queue[q]
            k0 = room.knot[q]
            value += _slope(g[c], h[c], 0.0, psis[k0])
            before = 0.0
            for k in range(k0, k0 + room.knots[q] - 1):
                if ts[k] >= room.zero[q]:
                    break
                now = (psis[k + 1] - psis[k]) / (ts[k + 1] - ts[k]) - h[c]
                if k == k0:
                    slope += now
                else:
                    place[m] = ts[k]
                    bend[m] = now - before
                    m += 1
                before = now
            place[m] = room.zero[q]
            bend[m] = -before
            if room.zero[q] >= 1.0:
                place[m] = 2.0  # beyond
            m += 1
        count = _put(ts, psis, start, count, 0.0, value)
        t = 0.0
        order = rising(place, m)
        top = min(total, 1.0)
        for e in range(m):
            b = order[e]
            if place[b] >= 1.0:
                break
            value += slope * (place[b] - t)
            t = place[b]
            slope += bend[b]
            count = _put(ts, psis, start, count, t, max(value, 0.0))
        if m > 0 and place[order[m - 1]] > 1.0:  # some child is positive up to 1
            value += slope * (1.0 - t)
            count = _put(ts, psis, start, count, 1.0, max(value, 0.0))
        else:
            psis[start + count - 1] = 0.0
            count = _put(ts, psis, start, count, top, 0.0)
    if total >= 1.0:
        return ts, psis, count
    if not tree.must[n] or last == first:
        if count == 0:
            count = _put(ts, psis, start, count, 0.0, 0.0)
        count = _put(ts, psis, start, count, 1.0, 0.0)
        return ts, psis, count
    # horizontally: s with sum_c phi_c^-1(s) = t, from s down
    s = 0.0 if total > 0.0 else highest
    t = total
    count = _put(ts, psis, start, count, t, s)
    m = 0
    speed = 0.0  # d t / d(-s)
    for q in range(first, last):
        c = room.queue[q]
        before = 0.0
        for k in range(room.knot[q], room.knot[q] + room.knots[q] - 1):
            f0 = _slope(g[c], h[c], ts[k], psis[k])
            f1 = _slope(g[c], h[c], ts[k + 1], psis[k + 1])
            if f1 >= s or f0 <= f1:
                continue
            now = (ts[k + 1] - ts[k]) / (f0 - f1)
            if f0 >= s:
                speed += now
            else:
                place[m] = -f0
                bend[m] = now - before
                m += 1
            before = now
    order = rising(place, m)
    e = 0
    while True:
        goal = -place[order[e]] if e < m else -np.inf
        if speed > 0.0 and t + speed * (s - goal) >= 1.0:
            s -= (1.0 - t) / speed
            break
        if e >= m:
            break
        t += speed * (s - goal)
        s = goal
        speed += bend[order[e]]
        count = _put(ts, psis, start, count, t, s)
        e += 1
    count = _put(ts, psis, start, count, 1.0, s)
    return ts, psis, count


@kernel
def tree_step(tree, size, g, h, room, ts, psis):
    """The optimum: `room.mu` at the entries of `room.queue`, zero elsewhere.

    Returns how many these are, and the arrays of knots. `size` is the number of nodes, g and h have an
    entry for each; those of the root are not looked at.
    """
    found = _relevant(tree, size, g, h, room)
    start = np.int64(0)
    for at in range(found - 1, -1, -1):
        room.knot[at] = start
        if room.size[at] == 0:
            ts, psis = _enough(ts, psis, start + 2)
            ts[start], psis[start] = 0.0, 0.0
            ts[start + 1], psis[start + 1] = 1.0, 0.0
            room.knots[at] = 2
            room.total[at] = 0.0
        else:
            ts, psis, room.knots[at] = _build(tree, at, g, h, room, ts, psis, start)
        start += room.knots[at]
    room.mu[0] = 1.0
    for at in range(found):
        n = room.queue[at]
        t = room.mu[at]
        first, last = room.first[at], room.first[at] + room.size[at]
        if t <= room.total[at] or not tree.must[n]:
            for q in range(first, last):
                room.mu[q] = min(t, room.zero[q])
            continue
        s = _value(ts, psis, room.knot[at], room.knots[at], t)
        added = 0.0
        for q in range(first, last):
            c = room.queue[q]
            room.mu[q] = min(t, _inverse(ts, psis, room.knot[q], room.knots[q], g[c], h[c], s))
            added += room.mu[q]
        if added < t:
            _raise(room, first, last, added, t)
    return found, ts, psis


@kernel
def _value(ts, psis, start, count, t):
    """psi(t) between its knots."""
    for k in range(start + 1, start + count):
        if ts[k] >= t:
            width = ts[k] - ts[k - 1]
            if width <= 0.0:
                return psis[k]
            return psis[k - 1] + (psis[k] - psis[k - 1]) * ((t - ts[k - 1]) / width)
    return psis[start + count - 1]


@kernel
def _raise(room, first, last, added, t):
    """Children that rounding left short of their parent: the largest takes what is missing."""
    largest = first
    for q in range(first + 1, last):
        if room.mu[q] > room.mu[largest]:
            largest = q
    if last > first:
        room.mu[largest] = min(t, room.mu[largest] + (t - added) * (1.0 + 1e-15) + 1e-16 * t)
