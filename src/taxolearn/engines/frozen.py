"""Arrays that nobody may write to."""

from __future__ import annotations

from typing import Any

import numpy as np


def frozen(value: Any) -> Any:
    """The same, arrays being views for reading only; looks into tuples, and copies nothing.

    What is shared has to look alike on all engines: other processes get it for reading only, and for compiled code
    that is another type, which would be compiled once more.

    >>> array = np.zeros(2)
    >>> view, number = frozen((array, 3))
    >>> view.flags.writeable, array.flags.writeable, number
    (False, True, 3)
    """
    if isinstance(value, np.ndarray):
        view = np.asarray(value).view()
        view.flags.writeable = False
        return view
    if not isinstance(value, tuple):
        return value
    parts = [frozen(part) for part in value]
    return type(value)._make(parts) if hasattr(value, "_make") else tuple(parts)
