"""What a report says first: three sentences, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

_NAMED = 4  # labels that a piece of advice names
_TOP_PAIRS = 10
_PAIRS_ADVISED = 3
_CONFUSED_OFTEN = 3  # rows in which two labels are taken for each other
_FAR_OFF = 0.1  # mean distance of probability and truth from which on a level is called wrong


def summary(report: dict[str, Any]) -> dict[str, Any]:
    """Three sentences (how good, where it fails, what to do first) and a list of advice, the most urgent first.

    >>> from taxolearn import OneVsRestSVM
    >>> model = OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"])
    >>> print(model.report([[2.0], [3.0]], ["b", "b"]).data["summary"]["sentences"][0])
    Of 2 held-out rows 100.0% (34.2% to 100.0%) got exactly the right label.
    """
    advice = list(_advice(report))
    first = f"What to do first: {advice[0]}" if advice else "Nothing stands out that would need to be done."
    return {"sentences": [_how_good(report), _where_it_fails(report), first], "advice": advice}


def percent(share: float) -> str:
    """A share as people read it.

    >>> percent(0.8835)
    '88.3%'
    """
    return f"{100 * share:.1f}%"


def number(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun.

    >>> number(1, "row"), number(1200, "row"), number(2, "class", "classes")
    ('1 row', '1,200 rows', '2 classes')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _how_good(report: dict[str, Any]) -> str:
    scores, model = report["scores"], report["model"]
    accuracy = scores["accuracy"]
    what = "got exactly the right set of labels" if model["several_labels"] else "got exactly the right label"
    said = (
        f"Of {number(scores['rows'], 'held-out row')} {percent(accuracy['value'])} "
        f"({percent(accuracy['low'])} to {percent(accuracy['high'])}) {what}"
    )
    if model["structure"] == "none":
        return f"{said}."
    levels = report["levels"]["entries"]
    if len(levels) > 1:
        said += f"; at level {levels[0]['level']} {percent(levels[0]['accuracy']['value'])} are right"
    return f"{said}, and hierarchical F1 is {scores['hierarchical_f1']['value']:.3f}."


def _where_it_fails(report: dict[str, Any]) -> str:
    pairs = report["confusions"]["entries"]
    if not pairs:
        return "It made no mistake on these rows."
    said = []
    branches = [entry for entry in report["branches"].get("entries", []) if entry["rows"]]
    if len(branches) > 1:
        weakest = branches[0]
        said.append(
            f"It is weakest in {_quoted(weakest)} (hierarchical F1 {weakest['hierarchical_f1']['value']:.3f}, "
            f"{number(weakest['rows'], 'row')})"
        )
    top = pairs[:_TOP_PAIRS]
    share = percent(sum(pair["share"] for pair in top))
    which = "The costliest confusion makes" if len(top) == 1 else f"The {len(top)} costliest confusions make"
    first = top[0]
    said.append(
        f"{which} up {share} of the cost of all mistakes, first {_quoted(first['true'])} answered as "
        f"{_quoted(first['answer'])} ({number(first['rows'], 'row')})"
    )
    return "; ".join((said[0], said[1][0].lower() + said[1][1:]) if len(said) > 1 else said) + "."


def _advice(report: dict[str, Any]) -> Iterator[str]:
    if report["made"]["rows_of_the_fit"]:
        yield (
            "these are the rows that the model learned from, so that all scores are too good; give rows that it has "
            "not seen."
        )
    if report["certificate"]["advice"]:
        gap = report["certificate"]["gap"]
        how_far = "" if gap is None else f", up to {percent(gap)} above the best possible value"
        yield f"the fit stopped early{how_far}; fit again with more seconds or passes."
    blank = report["scores"]["blank"]
    if blank:
        what = "word" if report["words"].get("kind") == "word" else "feature"
        yield (
            f"{number(blank, 'row')} {'has' if blank == 1 else 'have'} no {what} that the model knows, and "
            f"{'is' if blank == 1 else 'are'} answered blindly: add examples with such {what}s, or let people answer."
        )
    emptiest = report["classes"]["emptiest"]
    few = emptiest.get("few", 0)
    if few:
        have = "has" if few == 1 else "have"
        named = _named(emptiest["entries"], few)
        yield (
            f"{number(few, 'class', 'classes')} {have} fewer than {emptiest['below']} rows to learn from ({named}): "
            "add examples, or merge them with others."
        )
    for one, other, rows in _taken_for_each_other(report)[:_PAIRS_ADVISED]:
        yield (
            f"{_quoted(one)} and {_quoted(other)} are taken for each other in {number(rows, 'row')}: add examples that "
            "tell them apart, sharpen their definitions, or merge them."
        )
    unseen = report["classes"]["weakest"]["unseen"]
    if unseen:
        have = "has" if unseen == 1 else "have"
        yield (
            f"{number(unseen, 'class', 'classes')} {have} no held-out row, so that nothing is known about how well "
            f"{'it is' if unseen == 1 else 'they are'} answered: hold more rows out."
        )
    for entry in report["calibration"].get("entries", []):
        if entry["error"] > _FAR_OFF:
            off = "too high" if entry["probability"] > entry["right"] else "too low"
            yield (
                f"probabilities at level {entry['level']} are {off} (by {percent(entry['error'])} on average): "
                "calibrate on held-out rows with probability=True before acting on them."
            )
            break


def _taken_for_each_other(report: dict[str, Any]) -> list[tuple[Any, Any, int]]:
    """Pairs of labels that are confused both ways, and in how many rows."""
    pairs = {
        (entry["true"]["node"], entry["answer"]["node"]): entry for entry in report["confusions"]["entries"]
    }
    found = []
    for (a, b), entry in pairs.items():
        back = pairs.get((b, a))
        if back is not None and a < b and entry["rows"] + back["rows"] >= _CONFUSED_OFTEN:
            found.append((entry["true"], entry["answer"], entry["rows"] + back["rows"]))
    return sorted(found, key=lambda pair: -pair[2])


def _quoted(place: dict[str, Any]) -> str:
    return f"“{place['label']}”"


def _named(entries: Sequence[dict[str, Any]], count: int) -> str:
    some = entries[: min(_NAMED, count)]
    more = count - len(some)
    return ", ".join(map(_quoted, some)) + (f" and {more:,} more" if more else "")
