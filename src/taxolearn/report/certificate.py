"""The certificate of a fit in plain words, and what was tried before it."""

from __future__ import annotations

import math
from typing import Any

from taxolearn.report.held_out import HeldOut
from taxolearn.terminal import cut

_TRIALS = 100  # that a report keeps
_LONGEST_TITLE = 120


def certificate(held: HeldOut) -> dict[str, Any]:
    """How far the learning problem is solved, as numbers and as sentences.

    >>> from taxolearn import OneVsRestSVM
    >>> from taxolearn.report.held_out import held_out
    >>> model = OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"])
    >>> certificate(held_out(model, [[2.0]], ["b"]))["sentences"][0]
    'The learning problem was solved: its goal is proven to be within 0.01% of the best possible value.'
    """
    found = held.estimator.certificate_
    tol = float(getattr(held.estimator, "tol", math.nan))
    reached = found.holds(tol) if math.isfinite(tol) else None
    gap = found.gap if math.isfinite(found.gap) else None
    if gap is None:
        first = "Nothing is proven about how well the learning problem was solved: a bound is missing."
    elif reached:
        first = (
            "The learning problem was solved: its goal is proven to be within "
            f"{_percent(max(gap, tol))} of the best possible value."
        )
    else:
        first = (
            f"The learning stopped early ({found.status.value}): its goal may be up to {_percent(gap)} above the best "
            f"possible value, and {_percent(tol)} was asked for."
        )
    advice = "Fit again with more seconds or passes." if gap is None or not reached else None
    return {
        "status": found.status.value,
        "primal": _finite(found.primal),
        "dual": _finite(found.dual),
        "gap": gap,
        "tol": _finite(tol),
        "reached": reached,
        "sentences": [
            first,
            "The bounds were recomputed after the fit from the definition of the problem. They speak of the fit, "
            "not of new rows: those are what the scores are for.",
        ],
        "advice": advice,
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%"


def trials(held: HeldOut) -> dict[str, Any]:
    """What was tried before this model was chosen: methods, and features of texts.

    >>> from taxolearn import OneVsRestSVM
    >>> from taxolearn.report.held_out import held_out
    >>> trials(held_out(OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"]), [[2.0]], ["b"]))["absent"]
    'Nothing else was tried: the method and its features were given.'
    """
    found: dict[str, Any] = {}
    selection = getattr(held.estimator, "trials_", None)
    if selection is not None and selection.trials:
        order = list(enumerate(selection.trials))
        order.sort(key=lambda pair: pair[0] != selection.chosen)
        found["methods"] = {
            "metric": selection.metric,
            "held_out": selection.n_held_out,
            "entries": [
                _trial(trial, k == selection.chosen, selection.metric) for k, trial in order[:_TRIALS]
            ],
            "shown": min(_TRIALS, len(order)),
            "of": len(order),
        }
    tried = getattr(held.model, "tried_", [])
    if tried:
        usable = [entry["score"] for entry in tried if entry["problem"] is None]
        best = max(usable, default=None)
        found["features"] = {
            "entries": [
                {
                    "settings": cut(
                        ", ".join(f"{k}={v}" for k, v in entry["settings"].items()) or "words", _LONGEST_TITLE
                    ),
                    "features": entry["n_features"],
                    "score": entry["score"] if entry["problem"] is None else None,
                    "problem": entry["problem"],
                    "chosen": bool(entry.get("chosen", entry["problem"] is None and entry["score"] == best)),
                }
                for entry in tried[:_TRIALS]
            ],
            "shown": min(_TRIALS, len(tried)),
            "of": len(tried),
        }
    return found or {"absent": "Nothing else was tried: the method and its features were given."}


def _trial(trial: Any, chosen: bool, metric: str) -> dict[str, Any]:
    score = getattr(trial, metric, trial.score)
    return {
        "method": cut(trial.title, _LONGEST_TITLE),
        "C": trial.C,
        "decision": trial.decision,
        "score": _finite(score),
        "tree_loss": _finite(trial.tree_loss),
        "gap": _finite(trial.gap),
        "certified": bool(trial.certified),
        "seconds": _finite(trial.seconds),
        "rows": trial.rows,
        "chosen": chosen,
    }
