"""`taxolearn methods`: every method with its paper."""

from __future__ import annotations

from taxolearn.cli.console import out_json
from taxolearn.cli.options import Json
from taxolearn.registry import METHODS, STARTER


def methods(as_json: Json = False) -> None:
    """List every method with its paper; the names are those of `fit --method`."""
    if as_json:
        out_json([method._asdict() for method in (STARTER, *METHODS)], indent=2)
        return
    for method in (STARTER, *METHODS):
        print(f"{method.name}: {method.title} (taxolearn.{method.class_name})")
        if method is not STARTER:
            print(f"    losses: {', '.join(method.losses) or 'structured hinge'}")
        print(f"    {method.paper}")
