"""Where intercepts are tied to: a number, or what suits the loss."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from taxolearn.problem import Problem


class _Tie(Protocol):
    @property
    def shares(self) -> bool: ...


def bias_prior(value: Any, loss: str, problem: Problem, tie: _Tie, bias_feature: float) -> float:
    """b_0 of the penalty 1/2 (b_l - b_0)^2, the intercept being `bias_feature` times b_l.

    With b_0 = 0 an intercept that says no to most rows is paid for by duals of those rows, about one a class; where
    classes share vectors these duals add up there, and push what is shared away from the very rows under it. "auto"
    is then the intercept of a class that knows nothing and says no: -1 for hinge losses, where all margins are met,
    minus the logarithm of the number of rows for the logistic loss. Without shared vectors it is 0: plain one-vs-rest.

    >>> from taxolearn.problem import make_problem
    >>> from taxolearn.regularizers import flat
    >>> bias_prior("auto", "hinge", make_problem([[0.0], [1.0]], ["a", "b"]), flat(2), 1.0)
    0.0
    """
    if not isinstance(value, str):
        return float(value)
    if loss == "softmax" or bias_feature == 0.0 or not tie.shares:
        return 0.0
    return (-1.0 if loss != "logistic" else -float(np.log(problem.n_rows))) / bias_feature
