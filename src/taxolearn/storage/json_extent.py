"""How much a JSON text would take when it is parsed, known before it is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_MARKS_AT_A_TIME = 2**20  # brackets looked at together
_QUOTE = ord('"')
_OTHERS = bytes(set(range(256)) - set(b'"[]{}'))


class Extent(NamedTuple):
    """The number of lists and objects in a JSON text, and how deep they are nested.

    >>> Extent(2, 1).containers
    2
    """

    containers: int
    depth: int


def json_extent(raw: bytes) -> Extent:
    r"""Count brackets outside strings; the text need not be JSON.

    >>> json_extent(b'{"a [": [[], "\\"["]}')
    Extent(containers=3, depth=3)
    """
    plain = raw.replace(b"\\\\", b"").replace(b'\\"', b"")  # now every quote begins or ends a string
    marks = np.frombuffer(plain.translate(None, _OTHERS), dtype=np.uint8)
    containers = depth = deepest = 0
    in_string = False
    for first in range(0, len(marks), _MARKS_AT_A_TIME):
        piece = marks[first : first + _MARKS_AT_A_TIME]
        inside = np.logical_xor.accumulate(piece == _QUOTE) ^ in_string
        in_string = bool(inside[-1])
        brackets = piece[~inside & (piece != _QUOTE)]
        if len(brackets):
            steps = np.where((brackets == ord("[")) | (brackets == ord("{")), 1, -1)
            containers += int(np.count_nonzero(steps > 0))
            depths = depth + np.cumsum(steps)
            depth, deepest = int(depths[-1]), max(deepest, int(depths.max()))
    return Extent(containers, deepest)
