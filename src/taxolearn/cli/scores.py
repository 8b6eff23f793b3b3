"""The metrics of a set of predictions, first as a plain dict, then as a table."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from taxolearn.metrics.levels import LevelScores
    from taxolearn.structure import Taxonomy

_TITLES = {
    "rows": "rows",
    "accuracy": "accuracy",
    "micro_f1": "micro F1",
    "macro_f1": "macro F1",
    "hierarchical_precision": "hierarchical precision",
    "hierarchical_recall": "hierarchical recall",
    "hierarchical_f1": "hierarchical F1",
    "tree_loss": "tree loss",
    "lca_f1": "LCA F1",
}


def score_table(y_true: Sequence[Any], y_pred: Sequence[Any], taxonomy: Taxonomy | None) -> dict[str, float]:
    """All metrics that apply: the hierarchical ones need a taxonomy.

    >>> score_table(["a", "b"], ["a", "a"], None)["accuracy"]
    0.5
    """
    from taxolearn import metrics

    found: dict[str, float] = {"rows": len(y_true)}
    flat: list[Callable[..., float]] = [metrics.accuracy, metrics.micro_f1, metrics.macro_f1]
    for metric in flat:
        found[metric.__name__] = metric(y_true, y_pred, taxonomy)
    if taxonomy is not None:
        hierarchical: list[Callable[..., float]] = [
            metrics.hierarchical_precision,
            metrics.hierarchical_recall,
            metrics.hierarchical_f1,
            metrics.tree_loss,
            metrics.lca_f1,
        ]
        for metric in hierarchical:
            found[metric.__name__] = metric(y_true, y_pred, taxonomy)
    return found


def score_rows(scores: dict[str, float]) -> list[list[str]]:
    """The metrics as rows of a printed table.

    >>> score_rows({"rows": 1200, "accuracy": 0.5})
    [['rows', '1,200'], ['accuracy', '0.5000']]
    """
    return [
        [_TITLES[name], f"{value:,}" if name == "rows" else f"{value:.4f}"] for name, value in scores.items()
    ]


def level_rows(levels: Sequence[LevelScores]) -> list[list[str]]:
    """Scores by level as rows of a printed table.

    >>> from taxolearn.metrics.levels import LevelScores
    >>> level_rows([LevelScores(1, 1200, 0.5, 0.5, 0.25)])
    [['1', '1,200', '0.5000', '0.5000', '0.2500']]
    """
    return [
        [str(level), f"{rows:,}", *(f"{score:.4f}" for score in scores)] for level, rows, *scores in levels
    ]


def candidate_rows(tried: Sequence[dict[str, Any]]) -> list[list[str]]:
    """The candidates of --features auto as rows of a printed table; the chosen one has a star.

    >>> candidate_rows([{"settings": {"analyzer": "char"}, "score": 0.5, "n_features": 10, "problem": None}])
    [['analyzer=char *', '10', '0.5000']]
    """
    usable = [entry["score"] for entry in tried if entry["problem"] is None]
    best = usable.index(max(usable)) if usable else -1
    found, place = [], 0
    for entry in tried:
        title = ", ".join(f"{name}={value}" for name, value in entry["settings"].items()) or "words"
        if entry["problem"] is not None:
            found.append([title, f"{entry['n_features']:,}", entry["problem"]])
            continue
        chosen = " *" if entry.get("chosen", place == best) else ""
        place += 1
        found.append([title + chosen, f"{entry['n_features']:,}", f"{entry['score']:.4f}"])
    return found


def chapter_of(taxonomy: Taxonomy) -> Callable[[Hashable], Hashable]:
    """The function from a node to its chapter: the node below the root on its path (the root is its own).

    >>> from taxolearn import Taxonomy
    >>> chapter_of(Taxonomy.from_edges([("Pet", "Cat"), ("Cat", "Lion")]))("Lion")
    'Cat'
    """
    known: dict[Hashable, Hashable] = {}

    def find(name: Hashable) -> Hashable:
        if name not in known:
            path = taxonomy.path(name)
            known[name] = path[min(1, len(path) - 1)]
        return known[name]

    return find


def by_chapter(
    y_true: Sequence[Any], y_pred: Sequence[Any], taxonomy: Taxonomy
) -> list[tuple[Hashable, int, float, float]]:
    """(chapter, rows, accuracy, hierarchical F1) of the rows of each chapter, weakest first.

    A row with several labels counts in the chapter of each.

    >>> from taxolearn import Taxonomy
    >>> tree = Taxonomy.from_edges([("Pet", "Cat"), ("Cat", "Lion"), ("Pet", "Dog")])
    >>> by_chapter(["Lion", "Dog"], ["Lion", "Lion"], tree)
    [('Dog', 1, 0.0, 0.0), ('Cat', 1, 1.0, 1.0)]
    """
    from taxolearn import metrics

    chapter = chapter_of(taxonomy)
    members: dict[Hashable, list[int]] = {}
    for row, labels in enumerate(y_true):
        for name in {chapter(label) for label in (labels if isinstance(labels, list) else [labels])}:
            members.setdefault(name, []).append(row)
    found = []
    for name, rows in members.items():
        true, pred = [y_true[row] for row in rows], [y_pred[row] for row in rows]
        accuracy = metrics.accuracy(true, pred, taxonomy)
        found.append((name, len(rows), accuracy, metrics.hierarchical_f1(true, pred, taxonomy)))
    return sorted(found, key=lambda entry: (entry[3], str(entry[0])))
