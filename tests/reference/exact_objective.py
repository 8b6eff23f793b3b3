"""Both objectives in exact arithmetic, from the definition: rationals, and sixty digits where there are logarithms.

Every float is a rational number. Nothing here looks at taxolearn, and nothing is fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, setcontext
from fractions import Fraction
from typing import Any

Number = Fraction
Matrix = list[list[Fraction]]

DIGITS = Context(prec=60, Emax=10**6, Emin=-(10**6), traps=[])
TIED_BIAS = ("structured", "square")  # losses whose biases are tied like vectors
HALF = Fraction(1, 2)
SLACK = Fraction(1, 2**40)  # a dual above its bound by this share at most is lowered to it
INFINITE = None  # objectives that are not finite


def exact(values: Any) -> Any:
    """Floats, or nested sequences of them, as rationals."""
    return [exact(value) for value in values] if hasattr(values, "__len__") else Fraction(float(values))


def _decimal(value: Fraction) -> Decimal:
    return DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


def _rational(value: Decimal) -> Fraction:
    return Fraction(value) if value else Fraction(0)


def _log1p_exp(x: Fraction) -> Fraction:
    """log(1 + exp(x))."""
    if x > 300:
        return x
    if x < -40:  # the series, to seventy digits
        power = _rational(DIGITS.exp(_decimal(max(x, Fraction(-2000)))))
        return power - power**2 / 2 + power**3 / 3 - power**4 / 4
    return _rational(DIGITS.ln(DIGITS.add(1, DIGITS.exp(_decimal(x)))))


def _x_log_x(x: Fraction) -> Fraction:
    if x == 0:
        return Fraction(0)
    value = _decimal(x)
    return _rational(DIGITS.multiply(value, DIGITS.ln(value)))


def dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def squared(a: Sequence[Fraction]) -> Fraction:
    return dot(a, a)


def solved(matrix: Matrix, right: Matrix) -> Matrix | None:
    """One solution of matrix @ x = right by elimination, None where there is none."""
    rows = [list(row) + list(more) for row, more in zip(matrix, right, strict=True)]
    n, place, pivots = len(matrix[0]), 0, []
    for column in range(n):
        best = next((i for i in range(place, len(rows)) if rows[i][column] != 0), None)
        if best is None:
            continue
        rows[place], rows[best] = rows[best], rows[place]
        pivot = rows[place][column]
        rows[place] = [value / pivot for value in rows[place]]
        for i in range(len(rows)):
            if i != place and rows[i][column] != 0:
                factor = rows[i][column]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[place], strict=True)]
        pivots.append(column)
        place += 1
    if any(value != 0 for row in rows[place:] for value in row[n:]):
        return None
    found = [[Fraction(0)] * len(right[0]) for _ in range(n)]
    for i, column in enumerate(pivots):
        found[column] = rows[i][n:]
    return found


@dataclass
class Covariance:
    """Classes of covariance A: the penalty is 1/2 tr(W' A^+ W), the square tr(V' A V)."""

    matrix: Matrix

    def penalty(self, W: Matrix) -> Fraction | None:
        prices = solved(self.matrix, W)
        return INFINITE if prices is None else HALF * sum(dot(p, w) for p, w in zip(prices, W, strict=True))

    def square(self, V: Matrix) -> Fraction:
        total = Fraction(0)
        for a, v in zip(self.matrix, V, strict=True):
            total += sum((share * dot(v, other) for share, other in zip(a, V, strict=True)), Fraction(0))
        return total


def of_paths(paths: Sequence[Sequence[int]], scale: Sequence[float]) -> Covariance:
    """The covariance of paths, each given as the nodes on it."""
    a = exact(scale)
    return Covariance([[sum((a[n] for n in set(p) & set(q)), Fraction(0)) for q in paths] for p in paths])


def of_factor(L: Any) -> Covariance:
    """A = L L'."""
    rows = exact(L)
    return Covariance([[dot(a, b) for b in rows] for a in rows])


def of_graph(
    n_nodes: int,
    edges: Sequence[tuple[int, int, float]],
    ridge: float,
    pinned: Sequence[int],
    class_nodes: Sequence[int],
) -> Covariance:
    """The classes' block of the inverse of Laplacian plus ridge on the nodes that are not pinned."""
    free = [n for n in range(n_nodes) if n not in pinned]
    Q = {(i, j): Fraction(0) for i in free for j in free}
    for i in free:
        Q[i, i] += Fraction(ridge)
    for i, j, weight in edges:
        for a, b in ((i, j), (j, i)):
            if a in free:
                Q[a, a] += Fraction(weight)
                if b in free:
                    Q[a, b] -= Fraction(weight)
    unit = [[Fraction(int(i == c)) for c in class_nodes] for i in free]
    inverse = solved([[Q[i, j] for j in free] for i in free], unit)
    assert inverse is not None
    nothing = [Fraction(0)] * len(class_nodes)
    return Covariance([inverse[free.index(c)] if c in free else list(nothing) for c in class_nodes])


def node_penalty(vectors: Matrix, scale: Sequence[float]) -> Fraction | None:
    """1/2 sum_n ||u_n||^2 / a_n, one vector per node."""
    total = Fraction(0)
    for u, a in zip(vectors, exact(scale), strict=True):
        if a == 0 and squared(u) > 0:
            return INFINITE
        total += HALF * squared(u) / a if a else Fraction(0)
    return total


def largest(paths: Sequence[Sequence[int]], squares: Sequence[Fraction]) -> Fraction:
    """max over a >= 0 with sum along every path at most one of sum_n a_n squares_n, by the simplex method."""
    n, m = len(squares), len(paths)
    rows = [
        [Fraction(int(k in path)) for k in range(n)]
        + [Fraction(int(i == j)) for j in range(m)]
        + [Fraction(1)]
        for i, path in enumerate(paths)
    ]
    gains = list(squares) + [Fraction(0)] * (m + 1)
    basis = list(range(n, n + m))
    while True:
        enters = next((k for k in range(n + m) if gains[k] > 0), None)  # Bland's rule: no circles
        if enters is None:
            return -gains[-1]
        leaves = min(
            (i for i in range(m) if rows[i][enters] > 0),
            key=lambda i: (rows[i][-1] / rows[i][enters], basis[i]),
        )
        rows[leaves] = [value / rows[leaves][enters] for value in rows[leaves]]
        for i in range(m):
            if i != leaves and rows[i][enters]:
                factor = rows[i][enters]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[leaves], strict=True)]
        factor = gains[enters]
        gains = [a - factor * b for a, b in zip(gains, rows[leaves], strict=True)]
        basis[leaves] = enters


@dataclass
class Exact:
    """A problem and a loss; `has` holds the classes of each row. Structured hinges have `margins` and `scalings`, by
    label and other class."""

    X: Matrix
    has: list[set[int]]
    row_weight: list[Fraction]
    positive: list[Fraction]
    negative: list[Fraction]
    loss: str
    C: Fraction
    bias_feature: Fraction
    bias_prior: Fraction
    margins: Matrix | None = None
    scalings: Matrix | None = None

    def __post_init__(self) -> None:
        setcontext(DIGITS)
        self.classes = range(len(self.positive))
        self.margin_kind = self.loss in ("hinge", "squared_hinge", "logistic")
        self.counted = [
            any(w > 0 and k in has for w, has in zip(self.row_weight, self.has, strict=True))
            for k in self.classes
        ]

    def cost(self, i: int, k: int) -> Fraction:
        return self.C * self.row_weight[i] * (self.positive[k] if k in self.has[i] else self.negative[k])

    def row_cost(self, i: int) -> Fraction:
        """The weight of a row for all classes alike: the mean over its labels."""
        return sum((self.cost(i, k) for k in self.has[i]), Fraction(0)) / len(self.has[i])

    def label(self, i: int) -> int:
        return min(self.has[i])

    def losses(self, W: Matrix, intercept: list[Fraction]) -> Fraction:
        """The sum of all losses at class vectors W."""
        total = Fraction(0)
        for i, x in enumerate(self.X):
            s = [dot(w, x) + b for w, b in zip(W, intercept, strict=True)]
            if self.margin_kind:
                for k in self.classes:
                    if self.counted[k]:
                        total += self.cost(i, k) * self._margin_loss(s[k] if k in self.has[i] else -s[k])
                continue
            if self.loss == "square":
                total += self.row_cost(i) * sum((int(k in self.has[i]) - s[k]) ** 2 for k in self.classes)
                continue
            y = self.label(i)
            total += self.cost(i, y) * (
                self._softmax(s, y) if self.loss == "softmax" else self._structured(s, y)
            )
        return total

    def _margin_loss(self, m: Fraction) -> Fraction:
        if self.loss == "logistic":
            return _log1p_exp(-m)
        violation = max(Fraction(0), 1 - m)
        return violation if self.loss == "hinge" else violation * violation

    def _softmax(self, s: list[Fraction], y: int) -> Fraction:
        top = max(s)
        terms = [DIGITS.exp(_decimal(max(value - top, Fraction(-2000)))) for value in s]
        total = Decimal(0)
        for term in terms:
            total = DIGITS.add(total, term)
        return _rational(DIGITS.ln(total)) + top - s[y]

    def _structured(self, s: list[Fraction], y: int) -> Fraction:
        assert self.margins is not None
        assert self.scalings is not None
        violations = [
            self.margins[y][k] - self.scalings[y][k] * (s[y] - s[k]) for k in self.classes if k != y
        ]
        return max(Fraction(0), *violations)

    def bias_penalty(self, intercept: list[Fraction]) -> Fraction:
        """1/2 sum_l (b_l - b_0)^2 over the classes with losses."""
        if not self.bias_feature or self.loss in TIED_BIAS:
            return Fraction(0)
        return HALF * sum(
            (b / self.bias_feature - self.bias_prior) ** 2
            for k, b in enumerate(intercept)
            if self.counted[k] or not self.margin_kind
        )

    def adjoint(self, dual: Matrix) -> tuple[Matrix, Fraction] | None:
        """M, classes x rows, and the conjugates of the losses; None outside the bounds. `dual` is classes x rows."""
        M = [[Fraction(0)] * len(self.X) for _ in self.classes]
        total = Fraction(0)
        for i in range(len(self.X)):
            column = [dual[k][i] for k in self.classes]
            if self.loss != "square" and any(value < 0 for value in column):
                return INFINITE
            if self.loss == "square":
                found = self._square_column(i, column, M)
            elif self.margin_kind:
                found = self._margin_column(i, column, M)
            elif self.loss == "softmax":
                found = self._softmax_column(i, column, M)
            else:
                found = self._structured_column(i, column, M)
            if found is None:
                return INFINITE
            total += found
        return M, total

    def _margin_column(self, i: int, column: list[Fraction], M: Matrix) -> Fraction | None:
        total = Fraction(0)
        for k, d in enumerate(column):
            if d == 0:
                continue
            c = self.cost(i, k)
            if not self.counted[k] or c == 0 or (self.loss != "squared_hinge" and d > c * (1 + SLACK)):
                return INFINITE
            d = d if self.loss == "squared_hinge" else min(d, c)
            M[k][i] = d if k in self.has[i] else -d
            if self.loss == "squared_hinge":
                total += d * d / (4 * c) - d
            else:
                total += -d if self.loss == "hinge" else c * (_x_log_x(d / c) + _x_log_x(1 - d / c))
        return total

    def _softmax_column(self, i: int, column: list[Fraction], M: Matrix) -> Fraction | None:
        y, size = self.label(i), sum(column)
        c = self.cost(i, y)
        if c == 0:
            return Fraction(0)
        if size == 0:
            return INFINITE
        for k, p in enumerate(column):
            M[k][i] = c * (int(k == y) - p / size)
        return c * sum((_x_log_x(p / size) for p in column), Fraction(0))

    def _square_column(self, i: int, column: list[Fraction], M: Matrix) -> Fraction | None:
        total, c = Fraction(0), self.row_cost(i)
        for k, m in enumerate(column):
            if m == 0:
                continue
            if c == 0:
                return INFINITE
            M[k][i] = m
            total += m * m / (4 * c) - m * int(k in self.has[i])
        return total

    def _structured_column(self, i: int, column: list[Fraction], M: Matrix) -> Fraction | None:
        assert self.margins is not None
        assert self.scalings is not None
        y, size = self.label(i), sum(column)
        c = self.cost(i, y)
        if size > c * (1 + Fraction(1, 10**9)):
            return INFINITE
        total = Fraction(0)
        for k, alpha in enumerate(column):
            alpha = alpha * c / size if size > c else alpha
            total -= alpha * self.margins[y][k]
            M[y][i] += alpha * self.scalings[y][k]
            M[k][i] -= alpha * self.scalings[y][k]
        return total

    def sums(self, M: Matrix) -> tuple[Matrix, list[Fraction]]:
        """V = M X and beta = s M 1."""
        columns = list(zip(*self.X, strict=True))
        V = [[dot(row, column) for column in columns] for row in M]
        return V, [self.bias_feature * sum(row, Fraction(0)) for row in M]
