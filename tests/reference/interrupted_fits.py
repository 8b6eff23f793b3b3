"""Fits that are interrupted at a random moment, and what they must leave behind."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from inspect import signature
from typing import Any

import numpy as np

from taxolearn import ClassGraph, Taxonomy
from taxolearn.registry import Method

TREE = Taxonomy.from_paths([f"all/{a}/{a}{b}" for a in "pqr" for b in "12"])
CLASSES = [TREE.name_of(node) for node in TREE.leaf_ids]


def data(seed: int) -> tuple[Any, Any]:
    """Rows on which no method is done at once."""
    rng = np.random.default_rng(seed)
    y = np.array(CLASSES * 40)
    return rng.normal(size=(len(y), 10)), y


def estimator(method: Method, **given: Any) -> Any:
    if method.class_name.startswith("Graph"):
        return method.kind(ClassGraph.from_edges([("p1", "p2"), ("p2", "q1")], nodes=CLASSES), **given)
    return method.kind(TREE, **given)


def press_while_fitting(method: Method, seed: int, longest: float = 0.25) -> str:
    """Press Ctrl-C within so many seconds of a fit; the status it ends with. Whatever is wrong is an AssertionError."""
    X, y = data(seed)
    # half of the fits by ascent, which takes long at this gap, where "auto" would take interior points for few rows
    ascends = (
        seed % 2 == 0 and "dual" in method.kind._solvers and "solver" in signature(method.kind).parameters
    )
    given: dict[str, Any] = {"solver": "dual"} if ascends else {}
    model = estimator(
        method, C=100.0, tol=1e-12, max_iter=10**6, max_seconds=20.0, warm_start=True, random_state=0, **given
    )
    delay = float(np.random.default_rng(1000 + seed).uniform(0.0, longest))
    pressed = threading.Timer(delay, lambda: os.kill(os.getpid(), signal.SIGINT))
    began, done = time.monotonic(), False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            pressed.start()
            model.fit(X, y)
            done = True
            while pressed.is_alive():  # the fit was quicker: the press must not hit what comes next
                time.sleep(0.01)
        except KeyboardInterrupt:
            assert done or not hasattr(model, "vectors_"), "KeyboardInterrupt out of a fit that had learned"
    assert time.monotonic() - began < 15.0, "the fit went on after Ctrl-C"
    if not hasattr(model, "vectors_"):  # pressed before the fit began to learn
        return "interrupted"
    certificate = model.certificate_
    status: str = certificate.status.value
    assert np.isfinite(certificate.upper), "no finite certificate"
    assert certificate.upper >= certificate.lower, "a false certificate"
    assert model.predict(X[:3]).shape == (3,)
    solved = model._kept.mark
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_params(tol=0.5, max_seconds=60.0).fit(X, y)
    if model._kept.mark == solved:  # what learns its objective first may have got to another one
        assert model.certificate_.upper <= certificate.upper, "going on made it worse"
    return status
