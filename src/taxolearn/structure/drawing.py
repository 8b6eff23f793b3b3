"""A taxonomy drawn with box characters; `to_text` becomes a method of Taxonomy."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from taxolearn.errors import TaxonomyError
from taxolearn.structure.names import show

if TYPE_CHECKING:
    from taxolearn.structure.taxonomy import Taxonomy


def to_text(
    taxonomy: Taxonomy, *, max_children: int = 10, max_nodes: int = 60, max_depth: int | None = None
) -> str:
    """The taxonomy as text, one node a line; what is left out is counted on the spot.

    Names that are whole paths are drawn by their last part. In a DAG a node with several parents is drawn below each,
    its own children only the first time.

    >>> from taxolearn.structure import Taxonomy
    >>> tree = Taxonomy.from_paths(["Animal/Cat/Lion", "Animal/Cat/Tiger", "Animal/Dog", "Animal/Emu"])
    >>> print(tree.to_text(max_children=2, max_depth=1))
    Animal
    ├── Cat ... 2 nodes below
    ├── Dog
    └── ... and 1 more
    """
    for option, value in (("max_children", max_children), ("max_nodes", max_nodes), ("max_depth", max_depth)):
        least = 1 if option == "max_nodes" else 0
        if (value is None and option != "max_depth") or (value is not None and not _at_least(value, least)):
            raise TaxonomyError(f"{option} must be an integer of at least {least}, not {show(value)}")
    lines: list[str] = []
    drawn: set[int] = set()
    # (node, or minus the number of children left out; text before it; text before its children; level)
    stack: list[tuple[int, str, str, int]] = [(0, "", "", 0)]
    while stack:
        node, before, indent, level = stack.pop()
        if node < 0:
            lines.append(f"{before}... and {-node} more")
            continue
        if len(lines) >= max_nodes:
            lines.append(f"... and {taxonomy.n_nodes - len(drawn)} more nodes")
            break
        kids = taxonomy.child_indices[taxonomy.child_indptr[node] : taxonomy.child_indptr[node + 1]].tolist()
        label = _label(taxonomy.shown_path(taxonomy.nodes[node])[-1])
        if kids and node in drawn:
            label, kids = f"{label} (drawn above)", []
        elif kids and max_depth is not None and level >= max_depth:
            n_below = len(taxonomy.descendants(taxonomy.nodes[node]))
            label, kids = f"{label} ... {n_below} node{'s' * (n_below > 1)} below", []
        drawn.add(node)
        lines.append(before + label)
        left_out = len(kids) - max_children
        rows = kids if left_out <= 0 else [*kids[:max_children], -left_out]
        branches = [("├── ", "│   ")] * (len(rows) - 1) + [("└── ", "    ")]
        for row, (branch, below) in reversed(list(zip(rows, branches, strict=False))):
            stack.append((row, indent + branch, indent + below, level + 1))
    return "\n".join(lines)


def _at_least(value: object, least: int) -> bool:
    return isinstance(value, int | np.integer) and bool(value >= least)


def _label(name: Hashable) -> str:
    """A string as it is, unless it would break the drawing; anything else by its repr."""
    return name if isinstance(name, str) and name.isprintable() else show(name)
