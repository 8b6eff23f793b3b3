"""Some rows with the way to their answer: what decided at each node."""

from __future__ import annotations

from typing import Any

import numpy as np

from taxolearn.report.calibration import has_probabilities, node_probabilities
from taxolearn.report.held_out import HeldOut
from taxolearn.terminal import cut

_LONGEST_TEXT = 600  # characters of a text that are shown
_EXPLAINED = 20_000  # characters up to which a text is explained word by word
_WORDS = 6  # at each node
_LONGEST_WORD = 60
_INTERCEPT = "(intercept)"


def examples(held: HeldOut, first: list[int], count: int) -> dict[str, Any]:
    """Rows of the costliest confusions, then rows drawn by chance; at each node of the answer's path its lead over
    the runner-up, and the words that made it.

    >>> from taxolearn import OneVsRestSVM
    >>> from taxolearn.report.held_out import held_out
    >>> model = OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"])
    >>> found = examples(held_out(model, [[2.0], [-2.0]], ["b", "b"]), [1], 2)
    >>> [(entry["row"], entry["right"], entry["path"][0]["label"]) for entry in found["entries"]]
    [(1, False, 'a'), (0, True, 'b')]
    """
    drawn = np.random.default_rng(0).permutation(held.n_rows)[: 2 * count].tolist()
    rows = list(dict.fromkeys((*first[: (count + 1) // 2], *drawn)))[:count]
    chances = _chances(held, rows) if has_probabilities(held) else {}
    entries = [_example(held, row, chances.get(row)) for row in rows]
    return {"entries": entries, "shown": len(entries), "of": held.n_rows}


def _chances(held: HeldOut, rows: list[int]) -> dict[int, Any]:
    some = np.array(sorted(rows), dtype=np.intp)
    return {
        int(row): p
        for block, found in node_probabilities(held, some)
        for row, p in zip(block, found, strict=True)
    }


def _example(held: HeldOut, row: int, chances: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "row": row,
        "text": None if held.texts is None else cut(str(held.texts[row]), _LONGEST_TEXT),
        "true": held.places(held.true.of(row)),
        "answer": held.places(held.answered.of(row)),
        "true_paths": [held.places(held.path(node)) for node in held.true.of(row)],
        "right": bool(held.right[row]),
        "loss": float(held.losses[row]),
        "path": [],
    }
    answers = held.answered.of(row)
    if not answers:
        found["note"] = "No label was answered."
        return found
    path = held.path(answers[0])
    if held.texts is not None and len(held.texts[row]) > _EXPLAINED:
        found["note"] = f"Longer than {_EXPLAINED:,} characters: not explained word by word."
        steps: list[dict[str, Any]] = [{} for _ in path]
    else:
        steps = _steps(held, row, answers[0], path)
    for node, step in zip(path, steps, strict=True):
        found["path"].append(
            {
                **held.places([node])[0],
                "probability": None if chances is None else round(float(chances[node]), 4),
                **step,
            }
        )
    return found


def _steps(held: HeldOut, row: int, answer: int, path: list[int]) -> list[dict[str, Any]]:
    """Of each node of the path: the lead over the runner-up, and what made it."""
    label = held.taxonomy.nodes[answer]
    what = held.rows[[row]] if held.texts is None else held.texts[row]
    explanation = held.model.explain(what, k=_WORDS, runners_up=1, label=label)
    by_name = {node.name: node for node in reversed(explanation.nodes)}
    steps: list[dict[str, Any]] = []
    for node in path:
        one = by_name.get(held.taxonomy.nodes[node])
        if one is None or one.margin is None:
            steps.append({})
            continue
        terms = one.deciding if one.deciding_words is None else one.deciding_words
        strongest = sorted((term for term in terms if term[1]), key=lambda term: -abs(term[1]))
        rival = one.runner_up
        steps.append(
            {
                "lead": round(float(one.margin), 4),
                "over": None if rival is None else _label(held, rival),
                "words": [
                    [cut(name.removeprefix("word: "), _LONGEST_WORD), round(float(value), 3)]
                    for name, value in strongest[:_WORDS]
                ],
                "more_words": max(0, len(strongest) - _WORDS),
            }
        )
    return steps


def _label(held: HeldOut, name: Any) -> str:
    if held.has_taxonomy:
        return held.labels[held.taxonomy.id_of(name)]
    return cut(str(name), _LONGEST_WORD)
