"""The colours of the taxonomy are told apart by people who see colours otherwise; their order is one of lightness."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest

from taxolearn.report.html import asset

# Machado, Oliveira, Fernandes 2009, severity 1: linear RGB as seen without one kind of cones
SEEN = {
    "all cones": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
    "no colours": [[0.2126, 0.7152, 0.0722]] * 3,
}
TO_XYZ = [
    [0.4124564, 0.3575761, 0.1804375],
    [0.2126729, 0.7151522, 0.0721750],
    [0.0193339, 0.1191920, 0.9503041],
]
WHITE = np.array([0.95047, 1.0, 1.08883])
STEPS = 7


def scale() -> list[np.ndarray]:
    """Linear RGB of the steps of hierarchical F1, from low to high."""
    found = dict(re.findall(r"\[data-f1=\"?(\d)\"?\]\{background:#([0-9a-f]{6})", asset("report.css")))
    codes = [np.array([int(found[str(k)][j : j + 2], 16) / 255 for j in (0, 2, 4)]) for k in range(STEPS)]
    return [np.where(code <= 0.04045, code / 12.92, ((code + 0.055) / 1.055) ** 2.4) for code in codes]


def lab(linear: np.ndarray) -> np.ndarray:
    ratio = np.asarray(TO_XYZ) @ np.clip(linear, 0, 1) / WHITE
    f = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("kind", [kind for kind in SEEN if kind != "no colours"])
def test_steps_are_told_apart(kind: str) -> None:
    colours = [lab(np.asarray(SEEN[kind]) @ step) for step in scale()]
    least = min(np.linalg.norm(a - b) for a, b in combinations(colours, 2))
    assert least > 10  # 2.3 is what can just be seen


def test_each_half_is_ordered_without_colours() -> None:
    """In print without colours low and high ends are both dark; the numbers in the cells tell which."""
    light = [lab(np.asarray(SEEN["no colours"]) @ step)[0] for step in scale()]
    assert light[:4] == sorted(light[:4])
    assert light[4:] == sorted(light[4:], reverse=True)
