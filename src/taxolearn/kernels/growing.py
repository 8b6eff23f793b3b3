"""Arrays that grow while a kernel fills them: plain loops, which compile in a tenth of the time of slices."""

from __future__ import annotations

import numpy as np

from taxolearn.kernels._jit import kernel


@kernel
def longer(array, used, more):
    """A longer copy of an int32 array of which `used` entries count: room for these, `more`, and as much again."""
    made = np.empty(2 * (used + more), np.int32)
    for k in range(used):
        made[k] = array[k]
    return made
