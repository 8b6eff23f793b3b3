"""What `explain` returns: the decision at each node of a path as numbers, and these as text."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from taxolearn.terminal import printable

INTERCEPT = "(intercept)"

Contributions = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class NodeExplanation:
    """One node of the path: how well it scores, how far ahead of its siblings, and what made it so.

    Attributes
    ----------
    name : the node
    score : float
        The best score of a class under the node (or of the node itself), that of `best`; where a model decides node
        by node, the score of the node's own vector.
    best : the best class under the node
    contributions : tuple of (feature, value)
        Largest first; with "(intercept)" they add up to `score`. Zeros are left out.
    margin : float or None
        How far the node is ahead of `runner_up` by what is compared there: scores, each less its threshold if the
        model has thresholds; of label sets, how far the best one with the node is ahead of the best one without. None
        where nothing was compared.
    runner_up, rival : a node and a class, or None
        The sibling that comes next, and the best class under it; a label may be dropped without another in its place.
    deciding : tuple of (feature, value)
        What makes up the margin, largest first; they add up to `margin`.
    words, deciding_words : tuple of (word, value), or None
        For a text: the same sums, split among its words in the order of the text.

    >>> NodeExplanation("Cat", 1.5, "Cat", (("fur", 1.0), ("(intercept)", 0.5))).margin is None
    True
    """

    name: Hashable
    score: float
    best: Hashable
    contributions: Contributions
    margin: float | None = None
    runner_up: Hashable = None
    rival: Hashable = None
    deciding: Contributions = ()
    words: Contributions | None = None
    deciding_words: Contributions | None = None


@dataclass(frozen=True)
class Stop:
    """Where an answer stops that has to keep a promise, and why not further down.

    Attributes
    ----------
    answer, path, depth
        The node that is answered, the names from the top down to it, and its level.
    asked : str
        What was promised, as "coverage 0.95".
    further : the next node on the way to the best class; None where that class is the answer
    doubt, limit : float
        Doubt in the step to `further`, and what it had to stay below.
    unlike : bool
        Whether the row scores lower than all calibration rows, and is answered by the root for that.

    >>> print(Stop("Cat", ("Animal", "Cat"), "coverage 0.95", 1.0, "Lion", 0.4, 0.3).to_text())
    answer at coverage 0.95: Cat, level 1; the step to Lion has a doubt of 0.4, and below 0.3 is needed
    """

    answer: Hashable
    path: tuple[Hashable, ...]
    asked: str
    depth: float
    further: Hashable = None
    doubt: float = 0.0
    limit: float = 0.0
    unlike: bool = False

    def to_dict(self) -> dict[str, Any]:
        """For JSON; infinite limits, where all or nothing is allowed, are None.

        >>> Stop("Cat", ("Cat",), "risk 0.1", 1.0).to_dict()["answer"]
        'Cat'
        """
        numbers = {
            name: value if math.isfinite(value) else None
            for name, value in (("doubt", self.doubt), ("limit", self.limit))
        }
        return {**vars(self), "path": list(self.path), **numbers}

    def to_text(self) -> str:
        """One line for people.

        >>> Stop("Cat", ("Cat",), "risk 0.1", 1.0).to_text()
        'answer at risk 0.1: Cat, level 1, the best class'
        """
        said = f"answer at {self.asked}: {printable(str(self.answer))}, level {self.depth:g}"
        if self.further is None:
            return f"{said}, the best class"
        if self.unlike:
            return f"{said}, the root: the row scores lower than all calibration rows"
        if self.limit == -math.inf:
            return f"{said}, the root: there are too few calibration rows"
        step = f"the step to {printable(str(self.further))} has a doubt of {self.doubt:.3g}"
        return f"{said}; {step}, and below {self.limit:.3g} is needed"


@dataclass(frozen=True)
class Explanation:
    """Why a row got its class; printed, it is readable.

    Attributes
    ----------
    label, path, score
        The class, the names from the top down to it as people read them, and its score.
    runners_up : tuple of (class, score)
        The classes that come next in the ranking, best first.
    contributions, words
        As in `NodeExplanation`, of `label`.
    nodes : tuple of NodeExplanation
        One for each node of the path; where a model decides node by node, one more if it stopped above other classes.
    titles : dict
        Node name -> human title, where the model knows titles.
    shown : int
        How many features or words `to_text` shows at each node.
    stop : Stop or None
        Where the answer stops, when coverage or risk was asked for.

    >>> from taxolearn import OneVsRestSVM
    >>> explanation = OneVsRestSVM().fit([[-1.0, 0.0], [1.0, 0.5]], ["a", "b"]).explain([2.0, 0.0])
    >>> explanation.label, explanation.path, len(explanation.runners_up)
    ('b', ('b',), 1)
    """

    label: Hashable
    path: tuple[Hashable, ...]
    score: float
    runners_up: tuple[tuple[Hashable, float], ...]
    contributions: Contributions
    nodes: tuple[NodeExplanation, ...]
    words: Contributions | None = None
    titles: Mapping[Hashable, str] = field(default_factory=dict)
    shown: int = 6
    stop: Stop | None = None

    def __str__(self) -> str:
        return self.to_text()

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists and numbers, for JSON.

        >>> node = NodeExplanation("Cat", 1.5, "Cat", (("(intercept)", 1.5),))
        >>> explanation = Explanation("Cat", ("Cat",), 1.5, (("Dog", 1.0),), node.contributions, (node,))
        >>> explanation.to_dict()["runners_up"], explanation.to_dict()["nodes"][0]["contributions"]
        ([{'name': 'Dog', 'score': 1.0}], [{'feature': '(intercept)', 'value': 1.5}])
        """
        found: dict[str, Any] = {
            "label": self.label,
            "path": list(self.path),
            "score": self.score,
            "runners_up": [{"name": name, "score": score} for name, score in self.runners_up],
            "contributions": _pairs("feature", self.contributions),
            "nodes": [],
        }
        for node in self.nodes:
            entry: dict[str, Any] = {
                "name": node.name,
                "score": node.score,
                "best": node.best,
                "margin": node.margin,
                "runner_up": node.runner_up,
                "rival": node.rival,
                "contributions": _pairs("feature", node.contributions),
                "deciding": _pairs("feature", node.deciding),
            }
            if node.words is not None and node.deciding_words is not None:
                entry["words"] = _pairs("word", node.words)
                entry["deciding_words"] = _pairs("word", node.deciding_words)
            found["nodes"].append(entry)
        if self.words is not None:
            found["words"] = _pairs("word", self.words)
        if self.stop is not None:
            found["stop"] = self.stop.to_dict()
        if self.titles:
            found["titles"] = {str(name): title for name, title in self.titles.items()}
        return found

    def to_text(self) -> str:
        """Lines for people: the score as a sum, then at each node what put it ahead of its runner-up.

        >>> fur, whiskers = (("fur", 1.0), ("(intercept)", 0.5)), (("whiskers", 0.25),)
        >>> node = NodeExplanation("Cat", 1.5, "Cat", fur, 0.25, "Dog", "Dog", whiskers)
        >>> print(Explanation("Cat", ("Cat",), 1.5, (("Dog", 1.25),), fur, (node,), titles={"Dog": "a dog"}))
        Cat: score 1.500 = fur +1.000, (intercept) +0.500
        └─ Cat: ahead of Dog (a dog) by 0.250: whiskers +0.250
        runners-up: Dog (a dog) 1.250
        """
        reasons = self._sum(self.contributions, self.words)
        lines = [f"{self._named(self.label)}: score {self.score:.3f} = {reasons}"]
        for depth, node in enumerate(self.nodes):
            word = self.path[min(depth, len(self.path) - 1)]
            lines.append(f"{'   ' * depth}└─ {self._named(node.name, word)}{self._decision(node)}")
        if self.runners_up:
            others = ", ".join(f"{self._named(name)} {score:.3f}" for name, score in self.runners_up)
            lines.append(f"runners-up: {others}")
        if self.stop is not None:
            lines.append(self.stop.to_text())
        return "\n".join(lines)

    def _decision(self, node: NodeExplanation) -> str:
        if node.margin is None:
            return ""
        reasons = self._sum(node.deciding, node.deciding_words)
        if node.rival is None:
            answer = "kept" if node.margin >= 0 else "left out"
            return f": score {node.score:.3f}, {answer} by {abs(node.margin):.3f}: {reasons}"
        rival = self._named(node.runner_up)
        if node.rival != node.runner_up:
            rival += f", with {self._named(node.rival)},"
        lead = "ahead of" if node.margin >= 0 else "behind"
        return f": {lead} {rival} by {abs(node.margin):.3f}: {reasons}"

    def _sum(self, features: Contributions, words: Contributions | None) -> str:
        terms = list(features)
        if words is not None:
            terms = sorted((term for term in words if term[1]), key=lambda term: -abs(term[1]))
        shown = [
            f"{printable(name.removeprefix('word: '))} {value:+.3f}" for name, value in terms[: self.shown]
        ]
        rest = terms[self.shown :]
        if rest:
            shown.append(f"{len(rest)} more {sum(value for _, value in rest):+.3f}")
        return ", ".join(shown)

    def _named(self, name: Hashable, shown: Hashable = None) -> str:
        title, shown = self.titles.get(name), name if shown is None else shown
        return printable(str(shown) if title is None or title == name else f"{shown} ({title})")


def _pairs(key: str, contributions: Sequence[tuple[str, float]]) -> list[dict[str, Any]]:
    return [{key: name, "value": value} for name, value in contributions]
