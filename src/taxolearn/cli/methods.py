"""`taxolearn methods`: every method with its paper."""

from __future__ import annotations

import json

from taxolearn.cli.method_list import METHODS
from taxolearn.cli.options import Json


def methods(as_json: Json = False) -> None:
    """List every method with its paper; the names are those of `fit --method`."""
    if as_json:
        print(json.dumps([method._asdict() for method in METHODS], ensure_ascii=False, indent=2))
        return
    for method in METHODS:
        print(f"{method.name}: {method.title} (taxolearn.{method.class_name})")
        print(f"    losses: {', '.join(method.losses) or 'structured hinge'}")
        print(f"    {method.paper}")
