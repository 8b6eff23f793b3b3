"""What a selection tried: every trial, as a table and as a picture."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taxolearn.errors import DataError
from taxolearn.files import cannot_write, check_output, replacing
from taxolearn.structure.names import show

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEVERAL = ("micro_f1", "macro_f1", "example_f1")  # what several labels per row may be chosen by
METRICS = ("accuracy", "tree_loss", *SEVERAL)
_PICTURES = (".png", ".svg", ".pdf")
# Okabe and Ito's colours, which people with colour blindness can tell apart; yellow, faint on white, left out
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = "osD^vPX"
_TICKS = 12  # labels that fit side by side


@dataclass(frozen=True)
class Trial:
    """One candidate at one lambda: its scores on the held-out rows, the gap of its fit, whether that gap is within the
    `tol` asked for, and the seconds it took. The F1 are of several labels per row. `score` is by another metric, where
    one was asked for, and `decision` how the answers were decided. `rows` is the
    number of held-out rows, where trials differ in that.

    >>> Trial(0, "MulticlassSVM()", 0.01, 0.8, 0.25, 1e-3, True, 0.1).C
    50.0
    """

    candidate: int
    title: str
    lambda_: float
    accuracy: float
    tree_loss: float
    gap: float
    certified: bool
    seconds: float
    micro_f1: float = math.nan
    macro_f1: float = math.nan
    example_f1: float = math.nan
    decision: str = "best"
    score: float = math.nan
    rows: int = 0

    @property
    def C(self) -> float:
        """The estimator's parameter: 1 / (2 lambda).

        >>> Trial(0, "MulticlassSVM()", 0.5, 0.8, 0.25, 1e-3, True, 0.1).C
        1.0
        """
        return 1.0 / (2.0 * self.lambda_)


def best_trial(trials: list[Trial], metric: str) -> int:
    """The number of the best trial; of equally good ones that of the largest lambda, then the first.

    >>> one, two = (Trial(0, "MulticlassSVM()", lambda_, 0.8, 0.25, 1e-3, True, 0.1) for lambda_ in (0.1, 1.0))
    >>> best_trial([one, two], "accuracy")
    1
    """
    sign = -1.0 if metric == "tree_loss" else 1.0
    return max(range(len(trials)), key=lambda k: (sign * getattr(trials[k], metric), trials[k].lambda_))


@dataclass(frozen=True)
class Selection:
    """What `select` tried on `n_held_out` rows, the number of the chosen trial, and the model it led to.

    `model` is fitted on all rows, unless `select` was told otherwise.

    >>> trial = Trial(0, "MulticlassSVM()", 0.01, 0.8, 0.25, 1e-3, True, 0.1)
    >>> Selection([trial], 0, None, 20).best.title
    'MulticlassSVM()'
    """

    trials: list[Trial]
    chosen: int
    model: Any
    n_held_out: int
    metric: str = "accuracy"

    @property
    def best(self) -> Trial:
        """The trial with the best score; of equal ones the one with the largest lambda.

        >>> Selection([Trial(0, "MulticlassSVM()", 0.01, 0.8, 0.25, 1e-3, True, 0.1)], 0, None, 20).best.accuracy
        0.8
        """
        return self.trials[self.chosen]

    def _value(self, trial: Trial) -> float:
        """What decides."""
        value: float = getattr(trial, self.metric, trial.score)
        return value

    def to_text(self) -> str:
        """The trials as a table, the chosen one marked; a star at the gap: it is above the `tol` of that fit.

        A fit whose answers were decided in several ways has one line, with the best of them.

        >>> trial = Trial(0, "MulticlassSVM()", 0.01, 0.8, 0.25, 1e-3, True, 0.1)
        >>> print(Selection([trial], 0, None, 20).to_text())
        candidate        lambda   accuracy  tree loss  gap       seconds
        MulticlassSVM()  1e-02    0.8000    0.250      1.0e-03   0.1      <- chosen
        """
        width = max(9, *(len(trial.title) for trial in self.trials))
        several = not math.isnan(self.trials[0].micro_f1)
        of_sets = "micro F1  macro F1  example F1  " if several else ""
        other = "" if self.metric in METRICS else f"{self.metric.replace('_', ' ')}  "
        decided = any(trial.decision != "best" for trial in self.trials)
        room = max(8, *(len(trial.decision) for trial in self.trials))
        decision = f"{'decision':{room}}  " if decided else ""
        counted = len({trial.rows for trial in self.trials}) > 1
        decision += "rows     " if counted else ""
        lines = [
            f"{'candidate':{width}}  {decision}lambda   accuracy  tree loss  {of_sets}{other}gap       seconds"
        ]
        shown = self._of_each_fit()
        for number in shown:
            trial = self.trials[number]
            loss = "-" if math.isnan(trial.tree_loss) else f"{trial.tree_loss:.3f}"
            gap = f"{trial.gap:.1e}{'' if trial.certified else '*'}"
            mark = "  <- chosen" if number == self.chosen else ""
            sets = (
                f"{trial.micro_f1:<8.4f}  {trial.macro_f1:<8.4f}  {trial.example_f1:<10.4f}  "
                if several
                else ""
            )
            sets += f"{trial.score:<{len(other) - 2}.4f}  " if other else ""
            decision = f"{trial.decision:{room}}  " if decided else ""
            decision += f"{trial.rows:<7}  " if counted else ""
            lines.append(
                f"{trial.title:{width}}  {decision}{_power(trial.lambda_):7}  {trial.accuracy:<8.4f}  {loss:9}  {sets}"
                f"{gap:8}  {trial.seconds:<7.1f}{mark}".rstrip()
            )
        if len(shown) < len(self.trials):
            lines.append(
                f"{len(shown)} fits, each with the best of its decisions; {len(self.trials)} trials in all"
            )
        return "\n".join(lines)

    def _of_each_fit(self) -> list[int]:
        """For each fit the number of its chosen or best trial: decisions share the fit."""
        fits: dict[tuple[Any, ...], list[int]] = {}
        for number, trial in enumerate(self.trials):
            fits.setdefault((trial.candidate, trial.lambda_, trial.seconds, trial.rows), []).append(number)
        sign = -1.0 if self.metric == "tree_loss" else 1.0
        return [
            max(numbers, key=lambda k: (k == self.chosen, sign * self._value(self.trials[k])))
            for numbers in fits.values()
        ]

    def plot(self, file: str | Path) -> None:
        """Draw the score of every candidate over lambda into a picture file; needs matplotlib (the extra "plot").

        >>> trial = Trial(0, "MulticlassSVM()", 0.01, 0.8, 0.25, 1e-3, True, 0.1)
        >>> Selection([trial], 0, None, 20).plot("picture.nothing")
        Traceback (most recent call last):
        ...
        taxolearn.errors.DataError: cannot draw 'picture.nothing'; give a name that ends with .png, .svg or .pdf
        """
        check_picture(file)
        picture = io.BytesIO()
        self._figure().savefig(picture, format=Path(file).suffix.lower()[1:], dpi=150)
        try:
            with replacing(file) as stream:
                stream.write(picture.getbuffer())
        except OSError as error:
            raise cannot_write(file, error) from error

    def _figure(self) -> Figure:
        from matplotlib.figure import Figure

        candidates = sorted({(trial.candidate, trial.decision) for trial in self.trials})
        figure = Figure(figsize=(8.0, 4.6 + 0.22 * len(candidates)), layout="constrained")
        axes = figure.add_subplot()
        for place, candidate in enumerate(candidates):
            mine = sorted(
                (t for t in self.trials if (t.candidate, t.decision) == candidate), key=lambda t: t.lambda_
            )
            # where curves lie on each other the lower ones show as larger marks and through gaps
            style: dict[str, Any] = {
                "color": _COLOURS[place % len(_COLOURS)],
                "marker": _MARKERS[place % len(_MARKERS)],
                "markersize": max(5.0, 9.0 - place),
            }
            scores = [self._value(trial) for trial in mine]
            lambdas = [trial.lambda_ for trial in mine]
            line = ("-", "--", ":")[place % 3]
            label = mine[0].title if mine[0].decision == "best" else f"{mine[0].title}, by {mine[0].decision}"
            axes.plot(lambdas, scores, linestyle=line, label=label, **style)
            for trial, score in zip(mine, scores, strict=True):
                if not trial.certified:
                    axes.plot([trial.lambda_], [score], mfc="white", **style)
        best, value = self.best, self._value(self.best)
        axes.plot([best.lambda_], [value], "o", mfc="none", mec="black", mew=1.5, ms=15, label="chosen")
        if not all(trial.certified for trial in self.trials):
            axes.plot(
                [], [], "o", mfc="white", mec="black", label="hollow: the gap of the fit is above its tol"
            )
        name, better = self.metric.replace("_", " "), "lower" if self.metric == "tree_loss" else "higher"
        axes.set_title(f"{best.title}\nat lambda {_power(best.lambda_)}: {name} {value:.4f}", fontsize=11)
        axes.set_xscale("log")
        values = sorted({trial.lambda_ for trial in self.trials})
        if len(values) <= _TICKS:
            axes.set_xticks(values, [_power(value) for value in values])
            axes.minorticks_off()
        axes.set_xlabel("lambda = 1 / (2 C)")
        axes.set_ylabel(f"{name} on {self.n_held_out:,} held-out rows\n({better} is better)")
        axes.grid(alpha=0.3)
        figure.legend(loc="outside lower center", fontsize="small", frameon=False)
        return figure


def check_picture(file: str | Path) -> None:
    """Whether a picture can be drawn into this file: by its name, its folder, and whether matplotlib is there.

    >>> check_picture("picture.txt")
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: cannot draw 'picture.txt'; give a name that ends with .png, .svg or .pdf
    """
    path = Path(file)
    if path.suffix.lower() not in _PICTURES:
        raise DataError(f"cannot draw {show(str(file))}; give a name that ends with .png, .svg or .pdf")
    if not path.absolute().parent.is_dir():
        raise DataError(f"cannot draw {show(str(file))}; its folder does not exist")
    check_output(file)
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise DataError("a plot needs matplotlib; install taxolearn with the extra 'plot'") from None


def _power(value: float) -> str:
    """A lambda: powers of ten short, others as they are.

    >>> _power(1e-8), _power(0.025)
    ('1e-08', '0.025')
    """
    return f"{value:.0e}" if math.isclose(float(f"{value:.0e}"), value) else f"{value:.3g}"
