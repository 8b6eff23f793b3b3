"""Losses over label sets and feasible marginals, for certificates: written on their own, and used by nobody else."""

from __future__ import annotations

import numpy as np

from taxolearn.kernels._jit import kernel

_ULP = 2.0**-52  # twice the error of an operation
_TINY = 5e-324


@kernel
def tree_losses(theta, errors, indptr, indices, parent, must, has_children, out):
    """out[r] = (loss, at most, at least) of every row r of `theta`, which may be off by `errors` (one for all or each).

    The loss is max over sets z of sum_n theta_n z_n minus the sum of theta over the row's own nodes, the root left out.
    The value of a node's subtree grows with every theta below, so that thetas at their upper ends (lower ones at the
    row's own nodes, which are taken off) give an upper bound, each operation being rounded up; and likewise below.
    """
    n_nodes = theta.shape[1]
    own = np.zeros(n_nodes, dtype=np.bool_)
    positive = np.empty(n_nodes)
    best = np.empty(n_nodes)
    for r in range(theta.shape[0]):
        for k in range(indptr[r], indptr[r + 1]):
            own[indices[k]] = True
        for which in range(3):
            sign = (0.0, 1.0, -1.0)[which]
            for n in range(n_nodes):
                positive[n] = 0.0
                best[n] = -np.inf
            off = 0.0
            for n in range(n_nodes - 1, 0, -1):
                error = errors[r, 0] if errors.shape[1] == 1 else errors[r, n]
                value = theta[r, n] + (-sign if own[n] else sign) * error
                value += (-sign if own[n] else sign) * _ULP * (abs(theta[r, n]) + error)
                if own[n]:
                    off += value
                    off -= sign * (_ULP * abs(off) + _TINY)
                below = positive[n]
                if below <= 0.0 and must[n] and has_children[n]:
                    below = best[n]
                total = value + below
                total += sign * (_ULP * (abs(value) + abs(below)) + _TINY)
                p = parent[n]
                if total > 0.0:
                    positive[p] += total
                    positive[p] += sign * (_ULP * positive[p] + _TINY)
                if total > best[p]:
                    best[p] = total
            top = positive[0]
            if top <= 0.0 and must[0] and has_children[0]:
                top = best[0]
            loss = top - off
            out[r, which] = max(0.0, loss + sign * (_ULP * (abs(top) + abs(off)) + _TINY))
        for k in range(indptr[r], indptr[r + 1]):
            own[indices[k]] = False


@kernel
def closure_losses(theta, errors, indptr, indices, up, parents, out):
    """The same over all ancestor-closed sets of a DAG.

    What a node hands to a parent, any amount from zero on, may be taken off its theta and added to the parent's: the
    sum of the positive ones then bounds every set's value. Whatever this finds is a bound; the closed set of nodes that
    keep something gives a value from below. Nodes hand up what their ancestors lack, bottom-up and by searches.
    """
    n_nodes = theta.shape[1]
    own = np.zeros(n_nodes, dtype=np.bool_)
    rest = np.empty(n_nodes)
    handed = np.zeros(parents.shape[0])
    owner = np.empty(parents.shape[0], dtype=np.int64)
    for n in range(n_nodes):
        for e in range(up[n], up[n + 1]):
            owner[e] = n
    first = np.zeros(n_nodes + 2, dtype=np.int64)
    for e in range(parents.shape[0]):
        first[parents[e] + 2] += 1
    for n in range(n_nodes):
        first[n + 2] += first[n + 1]
    order = np.empty(parents.shape[0], dtype=np.int64)
    for e in range(parents.shape[0]):
        order[first[parents[e] + 1]] = e
        first[parents[e] + 1] += 1
    queue = np.empty(n_nodes, dtype=np.int64)
    way = np.empty(n_nodes, dtype=np.int64)
    seen = np.zeros(n_nodes, dtype=np.int64)
    number = 0
    for r in range(theta.shape[0]):
        for k in range(indptr[r], indptr[r + 1]):
            own[indices[k]] = True
        for n in range(n_nodes):
            rest[n] = theta[r, n]
        handed[:] = 0.0
        closed = number + 1
        number += 1
        for n in range(n_nodes - 1, 0, -1):
            while rest[n] > 0.0 and seen[n] != closed:
                # breadth first: a node that lacks something
                number += 1
                seen[n] = number
                queue[0] = n
                found = 1
                at = 0
                goal = -1
                while at < found:
                    v = queue[at]
                    at += 1
                    if rest[v] < 0.0:
                        goal = v
                        break
                    for e in range(up[v], up[v + 1]):
                        w = parents[e]
                        if w > 0 and seen[w] < number and seen[w] != closed:
                            seen[w] = number
                            way[w] = 2 * e
                            queue[found] = w
                            found += 1
                    for k in range(first[v], first[v + 1]):
                        e = order[k]
                        w = owner[e]
                        if handed[e] > 0.0 and seen[w] < number and seen[w] != closed:
                            seen[w] = number
                            way[w] = 2 * e + 1
                            queue[found] = w
                            found += 1
                if goal < 0:
                    for k in range(found):
                        seen[queue[k]] = closed
                    break
                amount = min(rest[n], -rest[goal])
                v = goal
                while v != n:
                    e = way[v] // 2
                    if way[v] % 2 == 0:
                        v = owner[e]
                    else:
                        amount = min(amount, handed[e])
                        v = parents[e]
                v = goal
                while v != n:
                    e = way[v] // 2
                    if way[v] % 2 == 0:
                        handed[e] += amount
                        v = owner[e]
                    else:
                        handed[e] = max(0.0, handed[e] - amount)
                        v = parents[e]
                rest[n] -= amount
                rest[goal] += amount
                if amount <= 0.0:
                    break
        high, low, value, size, slack = 0.0, 0.0, 0.0, 0.0, 0.0
        for n in range(1, n_nodes):
            error = errors[r, 0] if errors.shape[1] == 1 else errors[r, n]
            # bound: theta + what came from below - what went up, from the definition
            balance = theta[r, n]
            moved = abs(balance)
            for e in range(up[n], up[n + 1]):
                balance -= handed[e]
                moved += handed[e]
            for k in range(first[n], first[n + 1]):
                balance += handed[order[k]]
                moved += handed[order[k]]
            rounding = (up[n + 1] - up[n] + first[n + 1] - first[n] + 2) * _ULP * moved
            if own[n]:
                high += max(0.0, balance - error + rounding) - (theta[r, n] - error)
                slack += error + abs(theta[r, n]) + abs(balance)
            else:
                high += max(0.0, balance + error + rounding)
                slack += max(0.0, balance) + error
            if (seen[n] == closed) != own[n]:
                sign = -1.0 if own[n] else 1.0
                value += sign * theta[r, n]
                low += sign * theta[r, n] - error
                size += abs(theta[r, n]) + error
        # a set must have all parents: what rounding left out of the search may not count as a value
        for n in range(1, n_nodes):
            if seen[n] == closed:
                for e in range(up[n], up[n + 1]):
                    if parents[e] > 0 and seen[parents[e]] != closed:
                        value, low, size = 0.0, 0.0, 0.0
        out[r, 0] = max(0.0, value)
        out[r, 1] = max(0.0, high + n_nodes * _ULP * slack + n_nodes * _TINY)
        out[r, 2] = max(0.0, low - n_nodes * _ULP * size - n_nodes * _TINY)
        for k in range(indptr[r], indptr[r + 1]):
            own[indices[k]] = False


@kernel
def feasible_marginals(indptr, indices, mu, up, parents, first, children, must, moved):
    """Change marginals, rows x nodes, as little as it takes to have them exactly in the hull of the sets.

    Root 1, 0 <= child <= every parent, and where `must`, children that add up to their parent at least. Rows must have
    entries in rising order, the root's first, and no entries but these are positive. moved[r] is the largest change of
    row r; infinite where it cannot be done.
    """
    n_nodes = up.shape[0] - 1
    place = np.full(n_nodes, -1, dtype=np.int64)
    for r in range(moved.shape[0]):
        start, end = indptr[r], indptr[r + 1]
        moved[r] = 0.0
        for k in range(start, end):
            place[indices[k]] = k
        for k in range(start, end):
            n = indices[k]
            value = mu[k]
            if n == 0:
                value = 1.0
            else:
                value = max(value, 0.0)
                for e in range(up[n], up[n + 1]):
                    at = place[parents[e]]
                    value = min(value, mu[at] if at >= 0 else 0.0)
            moved[r] = max(moved[r], abs(value - mu[k]))
            mu[k] = value
            if not must[n] or value <= 0.0:
                continue
            total = 0.0
            exact = True
            largest = -1
            count = 0
            for e in range(first[n], first[n + 1]):
                at = place[children[e]]
                if at >= 0:
                    more = min(max(mu[at], 0.0), value)
                    added = total + more
                    exact = exact and added - total == more and added - more == total
                    total = added
                    count += 1
                    if largest < 0 or mu[at] > mu[largest]:
                        largest = at
            if (exact and total >= value) or total * (1.0 - (count + 2) * _ULP) >= value:
                continue
            if largest < 0:
                moved[r] = np.inf
                break
            raised = min(value, max(mu[largest], 0.0) + (value - total) + (count + 4) * _ULP * value)
            moved[r] = max(moved[r], abs(raised - mu[largest]))
            mu[largest] = raised
        if end <= start or indices[start] != 0:
            moved[r] = np.inf
        for k in range(start, end):
            place[indices[k]] = -1
