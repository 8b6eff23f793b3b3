"""`migrate`: a fitted model over a new version of its taxonomy."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from taxolearn.errors import DataError, EmptyClassWarning, LabelError, TaxonomyError
from taxolearn.methods.carrying import (
    Fate,
    Heirs,
    Joined,
    carried_dual,
    carried_vectors,
    heirs_of,
    join_classes,
    join_parts,
)
from taxolearn.methods.empty_classes import on_empty_classes
from taxolearn.methods.inputs import check_rows
from taxolearn.objective import Objective, Parts
from taxolearn.problem import Problem, encode_labels, make_problem
from taxolearn.problem.inputs import check_sample_weight
from taxolearn.solvers import Start
from taxolearn.structure import Taxonomy
from taxolearn.structure.names import show
from taxolearn.structure.versions import TaxonomyDiff, diff
from taxolearn.vectors import ClassVectors

_ROWS_SHOWN = 10  # undecided rows that the text names


@dataclass(frozen=True)
class Undecided:
    """A row that a person must look at: its old label, why, and which new labels are possible (none: any).

    `in_fit` says whether the migrated model has learned from it all the same, under its old label.

    >>> print(Undecided(3, "Cat", "was split", ("Lion", "Lynx"), False).sentence)
    Row 3: Cat was split; choose among Lion, Lynx.
    """

    row: int
    label: Hashable
    reason: str
    choices: tuple[Hashable, ...]
    in_fit: bool

    @property
    def sentence(self) -> str:
        """What is to be done, in words."""
        names = ", ".join(map(str, self.choices))
        what = f"choose among {names}" if names else "choose a label"
        return f"Row {self.row}: {self.label} {self.reason}; {what}."


@dataclass(frozen=True)
class Migration:
    """What `migrate` made: the new model, the labels of all rows, and the rows that need a person.

    - `model`: fitted and certified over the new taxonomy; the old model is as it was.
    - `y`: the label (or list of labels) of each row in the new taxonomy; None where a person must decide.
    - `undecided`: those rows, and rows whose label is still right but could be more precise.
    - `touched`: classes with other rows, or at another place, than before; `carried`: all others.
    - `changes`: the difference between the two taxonomies.
    - `started`: where the fit began, in words.

    >>> Migration(None, ["Cat"], (), (), ("Cat",), TaxonomyDiff((), {}), "from zero").to_dict()["carried"]
    ['Cat']
    """

    model: Any
    y: list[Any]
    undecided: tuple[Undecided, ...]
    touched: tuple[Hashable, ...]
    carried: tuple[Hashable, ...]
    changes: TaxonomyDiff
    started: str

    def to_text(self) -> str:
        """All of it in words.

        >>> print(Migration(None, ["Cat"], (), (), ("Cat",), TaxonomyDiff((), {}), "from zero").to_text())
        no change
        1 class carried over, 0 touched; the fit started from zero.
        No row needs a person.
        """
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield self.changes.to_text()
        carried = f"{len(self.carried):,} class{'es' * (len(self.carried) != 1)} carried over"
        yield f"{carried}, {len(self.touched):,} touched; the fit started {self.started}."
        if not self.undecided:
            yield "No row needs a person."
            return
        yield f"{len(self.undecided):,} {'row needs' if len(self.undecided) == 1 else 'rows need'} a person."
        for one in self.undecided[:_ROWS_SHOWN]:
            yield one.sentence
        if len(self.undecided) > _ROWS_SHOWN:
            yield f"... and {len(self.undecided) - _ROWS_SHOWN:,} more, see undecided."

    def to_dict(self) -> dict[str, Any]:
        """All but the model and the labels, for JSON.

        >>> Migration(None, [], (), (), (), TaxonomyDiff((), {}), "from zero").to_dict()["undecided"]
        []
        """
        return {
            "changes": self.changes.to_dict(),
            "touched": [str(name) for name in self.touched],
            "carried": [str(name) for name in self.carried],
            "started": self.started,
            "undecided": [
                {
                    "row": one.row,
                    "label": str(one.label),
                    "reason": one.reason,
                    "choices": [str(name) for name in one.choices],
                    "in_fit": one.in_fit,
                }
                for one in self.undecided
            ],
        }

    def __str__(self) -> str:
        return self.to_text()


def migrate(
    model: Any,
    X: Any,
    y: Any,
    taxonomy: Taxonomy,
    mapping: Mapping[Hashable, Any] | None = None,
    *,
    sample_weight: Any = None,
) -> Migration:
    """The model over a new version of its taxonomy, without starting over; the model itself stays as it is.

    Models keep no rows: give those of the fit again, with the labels they had. Labels of the new version are taken as
    they are, so that rows which a person has decided, and new rows, may be among them. `mapping` says what became of
    old names, as in `taxolearn.diff`: a new name, a list of names (a split), or None (removed). Names that are in both
    versions need no word. Nothing is guessed: rows of a class that is gone, or that was split, are left out of the fit
    and listed as undecided.

    Where classes share nothing (one-vs-rest) and the rows are those of the fit, untouched classes keep vector and
    certificate to the last digit and only the others are solved; undecided rows stay what they were to them, rows of
    others. Of TopDownSVM the same holds of inner nodes: those with the same rows below the same children stay as they
    are. Where a taxonomy ties classes together, a changed place moves the optimum of all: the fit starts from the
    duals that the old vectors imply (of structured losses, from those kept by `warm_start=True`; else from zero) and
    ends at the certified gap `tol` of the whole new problem.

    >>> from taxolearn import OneVsRestSVM
    >>> old = Taxonomy.from_paths(["All/Cat", "All/Dog", "All/Hound"])
    >>> new = Taxonomy.from_paths(["All/Pet/Cat", "All/Pet/Dog"])
    >>> X, y = [[-1.0], [0.0], [1.0], [1.2]], ["Cat", "Cat", "Dog", "Hound"]
    >>> migration = OneVsRestSVM(taxonomy=old).fit(X, y).migrate(X, y, new, {"Hound": "Dog"})
    >>> migration.y, migration.model.certificate_.holds(1e-4)
    (['Cat', 'Cat', 'Dog', 'Dog'], True)
    """
    check_is_fitted(model)
    if model.taxonomy_ is None:
        raise DataError("migrate needs a model with a taxonomy; fit it anew with the new one")
    if not isinstance(taxonomy, Taxonomy):
        raise TaxonomyError(
            f"migrate needs the new taxonomy, not {show(taxonomy)}; build one with from_edges"
        )
    rows = check_rows(model, X, reset=False)
    changes = diff(model.taxonomy_, taxonomy, mapping, guess=False)
    given, several = labels_by_name(y, model.taxonomy_)
    if len(given) != rows.shape[0]:
        raise DataError(f"X has {rows.shape[0]} rows and y has {len(given)}; give one label per row")
    labels, undecided = _relabelled(given, model.taxonomy_, taxonomy, changes)
    kept = np.array([number for number, label in enumerate(labels) if label is not None], dtype=np.intp)
    if not len(kept):
        raise LabelError("no row has a label in the new taxonomy; give a mapping from old names to new ones")
    weights = check_sample_weight(sample_weight, rows.shape[0])
    names = _as_given([labels[row] for row in kept], several)
    new = clone(model).set_params(taxonomy=taxonomy)
    new._check_parameters()
    check_rows(new, X, reset=True)  # the names of features, too
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyClassWarning)
        problem = _make(new, rows[kept], names, taxonomy, None if weights is None else weights[kept])
    heirs = heirs_of(tuple(model.classes_.tolist()), problem.classes, changes.fate)
    before = _old_problem(model, rows, given, several, weights)
    changed = _touched(model, problem, before, heirs, kept, changes.fate)
    touched, started = _refit(model, new, problem, before, heirs, kept, changed, names)
    return Migration(
        new,
        [None if label is None else (label if several else label[0]) for label in labels],
        tuple(undecided),
        tuple(name for name, new_one in zip(problem.classes, touched, strict=True) if new_one),
        tuple(name for name, new_one in zip(problem.classes, touched, strict=True) if not new_one),
        changes,
        started,
    )


def labels_by_name(y: Any, old: Taxonomy) -> tuple[list[list[Hashable]], bool]:
    """The labels of every row by name, and whether a row may have several.

    >>> labels_by_name(["Cat", "Lynx"], Taxonomy.from_paths(["All/Cat"]))
    ([['Cat'], ['Lynx']], False)
    """
    try:
        labels = encode_labels(y, old)
    except LabelError:
        labels = encode_labels(y)  # some are of the new taxonomy
    names = [[labels.names[k] for k in labels.indices[a:b]] for a, b in pairwise(labels.indptr)]
    return names, labels.multilabel


def _as_given(names: list[list[Hashable]], several: bool) -> Any:
    if several:
        return names
    found = np.empty(len(names), dtype=object)
    for number, row in enumerate(names):
        found[number] = row[0]
    return found


def _make(model: Any, rows: Any, y: Any, taxonomy: Taxonomy, weights: Any) -> Problem:
    problem = make_problem(
        rows,
        y,
        taxonomy,
        sample_weight=weights,
        class_weight=model.class_weight,
        empty_classes=on_empty_classes(model),
        checked=True,
        leaf_only=model.leaf_only,
    )
    made: Problem = model._with_products(problem)
    return made


def _relabelled(
    given: list[list[Hashable]], old: Taxonomy, new: Taxonomy, changes: TaxonomyDiff
) -> tuple[list[list[Hashable] | None], list[Undecided]]:
    """The labels of every row in the new taxonomy, None where a person must decide; and those rows."""
    refined = {
        change.old[0]: change.new for change in changes.of("split") if len(changes.fate[change.old[0]]) == 1
    }
    labels: list[list[Hashable] | None] = []
    undecided: list[Undecided] = []
    for row, names in enumerate(given):
        found: list[Hashable] | None = []
        for name in names:
            if name not in old and name not in new:
                raise LabelError(f"y, row {row}: unknown label {show(name)}; give old or new names")
            targets = changes.fate[name] if name in old else (name,)
            if len(targets) == 1:
                if found is not None and targets[0] not in found:
                    found.append(targets[0])
                if name in refined:
                    undecided.append(Undecided(row, name, "got children", refined[name], True))
            else:
                reason = "was split" if targets else "is gone"
                undecided.append(Undecided(row, name, reason, targets, False))
                found = None
                break
        labels.append(found)
    return labels, undecided


def _old_problem(
    model: Any, rows: Any, given: list[list[Hashable]], several: bool, weights: Any
) -> Problem | None:
    """The problem of the old fit; None where these are not its rows and labels."""
    if not all(name in model.taxonomy_ for names in given for name in names):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyClassWarning)
        problem = _make(model, rows, _as_given(given, several), model.taxonomy_, weights)
    return problem if problem.fingerprint() == model.data_["fingerprint"] else None


class Touched(NamedTuple):
    """Which classes have other rows or weights than before, and which stand at another place.

    >>> Touched(np.array([True, False]), np.array([False, False])).rows.tolist()
    [True, False]
    """

    rows: npt.NDArray[np.bool_]
    place: npt.NDArray[np.bool_]


def _touched(
    model: Any, problem: Problem, before: Problem | None, heirs: Heirs, kept: Any, fate: Fate
) -> Touched:
    everyone = np.ones(problem.n_classes, dtype=bool)
    if before is None:
        return Touched(everyone, everyone)
    rows, place = everyone.copy(), everyone.copy()
    origin, known = heirs.one_to_one, before.classes
    old_columns, new_columns = before.targets.tocsc(), problem.targets.tocsc()
    back = np.full(before.n_rows, -1)
    back[kept] = np.arange(len(kept))
    tree: Any = problem.taxonomy
    for number in np.flatnonzero(origin >= 0):
        old = origin[number]
        had = back[old_columns.indices[old_columns.indptr[old] : old_columns.indptr[old + 1]]]
        has = new_columns.indices[new_columns.indptr[number] : new_columns.indptr[number + 1]]
        weights = (before.positive_weight[old], before.negative_weight[old])
        rows[number] = (
            not np.array_equal(np.sort(had), np.sort(has))
            or not has.size
            or weights != (problem.positive_weight[number], problem.negative_weight[number])
        )
        above = {target for node in model.taxonomy_.ancestors(known[old]) for target in fate[node]}
        place[number] = above != set(tree.ancestors(problem.classes[number]))
    return Touched(rows, place)


def _refit(
    model: Any, new: Any, problem: Problem, before: Problem | None, heirs: Heirs, kept: Any, touched: Touched,
    names: Any,
) -> tuple[Any, str]:  # fmt: skip
    """Fit the new model; which classes were touched, and where it started."""
    if not hasattr(new, "_objective"):  # methods that answer together: none knows what its vectors were
        new._fit_problem(problem, names)
        return touched.rows | touched.place, "from zero"
    objective = new._objective(problem)
    if before is not None and _stand_alone(model, objective, before):
        joined = join_classes(new, problem, model, heirs.one_to_one, np.flatnonzero(touched.rows))
        _take_over(new, problem, joined, names, whole=len(kept) == before.n_rows)
        return touched.rows, "with the vectors of all others as they were"
    if before is not None and isinstance(objective, Parts) and _is_plain(model):
        found = join_parts(new, objective, model, model._objective(before))
        if found is not None:
            _take_over(new, problem, found[0], names, whole=len(kept) == before.n_rows)
            said = f"with the vectors of {found[1]} of {len(objective.parts)} inner nodes as they were"
            return touched.rows | touched.place, said
    scores = np.asarray(model.decoder_.scores(model.vectors_, problem.X), dtype=np.float64)
    kept_fit = getattr(model, "_kept", None) if before is not None and model.warm_start else None
    dual = carried_dual(objective, scores, heirs, kept_fit, kept)
    vectors = carried_vectors(objective, model.vectors_, heirs)
    nothing = dual is None and vectors is None
    new._fit_problem(problem, names, None if nothing else Start(dual, vectors))
    said = "from zero" if nothing else "from what the old vectors imply"
    return (
        touched.rows | touched.place,
        "from the duals of the old model" if kept_fit and dual is not None else said,
    )


def _take_over(new: Any, problem: Problem, joined: Joined, names: Any, *, whole: bool) -> None:
    """Make a fitted model of joined classes."""
    new._remember_labels(problem, names)
    # with rows left out no fit of the rows at hand has these vectors: a later migration must not take them for one
    mark = problem.fingerprint() if whole else "rows were left out"
    new.data_ = {**problem.counts(), "fingerprint": mark}
    new.decoder_, new.calibration_ = new._decoder(problem), None
    new.n_iter_, new.history_ = joined.n_iter, joined.history
    new.certificate_ = joined.certificate.decided(new.tol)
    new.vectors_ = joined.vectors
    if not new.certificate_.holds(new.tol):
        warnings.warn(new._complaint(problem), ConvergenceWarning, stacklevel=4)


def _is_plain(model: Any) -> bool:
    """Whether nothing was tuned or calibrated on held-out rows, and rows are vectors."""
    return (
        model.calibration_ is None
        and getattr(model, "thresholds", "zero") == "zero"
        and isinstance(model.vectors_, ClassVectors)
    )


def _stand_alone(model: Any, objective: Any, before: Problem) -> bool:
    """Whether each class is a problem of its own, with a certificate of its own."""
    return (
        isinstance(objective, Objective)
        and objective.loss.facts.kind == "margin"
        and not objective.tie.facts.shares
        and _is_plain(model)
        and len(model.certificate_.class_primal) == before.n_classes
        and min(before.n_classes, objective.problem.n_classes) > 2
    )
