"""The mean of the duals of some passes: less restless than the last of them."""

from __future__ import annotations

import scipy.sparse as sp

_PASSES = 10  # of which a mean is taken
_SHARE = 0.45  # of the gap seen in passing that is guessed to be left at the mean, until one was looked at


class MeanDual:
    """Duals of passes, added up, ten at a time, and when a look at their mean may pay.

    Duals are feasible, and so is their mean; its vectors are the mean of theirs. Near the end the dual objective is
    close to its optimum while rows are still pushed about: each pass undoes for some what it did for others, and the
    losses are those of all rows that were pushed last. Of the mean they are smaller.

    >>> mean = MeanDual()
    >>> for value in range(10):
    ...     mean.add(sp.csr_array([[float(value)]]))
    >>> mean.full, mean.take().toarray().tolist(), mean.full
    (True, [[4.5]], False)
    """

    def __init__(self) -> None:
        self._sum: sp.csr_array | None = None
        self._count = 0
        self._share = _SHARE

    def add(self, dual: sp.csr_array) -> None:
        """Tell the dual after a pass.

        >>> mean = MeanDual()
        >>> mean.add(sp.csr_array([[1.0]]))
        >>> mean.full
        False
        """
        self._sum = dual if self._sum is None else self._sum + dual
        self._count += 1

    @property
    def full(self) -> bool:
        """Whether there are enough of them.

        >>> MeanDual().full
        False
        """
        return self._count >= _PASSES

    def take(self) -> sp.csr_array:
        """The mean; what comes next begins anew.

        >>> mean = MeanDual()
        >>> mean.add(sp.csr_array([[1.0]]))
        >>> mean.take().toarray()
        array([[1.]])
        """
        assert self._sum is not None
        found = sp.csr_array(self._sum / self._count)
        self._sum, self._count = None, 0
        return found

    def promises(self, gap: float, tol: float) -> bool:
        """Whether the mean may be within the gap asked for, `gap` being that seen in passing.

        >>> MeanDual().promises(2e-3, 1e-3), MeanDual().promises(3e-3, 1e-3)
        (True, False)
        """
        return gap * self._share <= tol

    def learn(self, gap: float, found: float) -> None:
        """Tell the gap of a mean that was looked at.

        >>> mean = MeanDual()
        >>> mean.learn(1.5e-3, 1.2e-3)
        >>> mean.promises(1.5e-3, 1e-3), mean.promises(1.2e-3, 1e-3)
        (False, True)
        """
        self._share = min(1.0, found / gap) if gap > 0.0 else 1.0
