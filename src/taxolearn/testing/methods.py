"""What every method must satisfy: one contract for all of its answers."""

from __future__ import annotations

import contextlib
import io
import json
import re
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from taxolearn.cli.app import run
from taxolearn.problem.label_paths import find_node
from taxolearn.registry import method_of
from taxolearn.storage.loading import load
from taxolearn.storage.writing import is_own

_EXPLAINED = 8  # rows, from all over X, that are explained: explanations are slow
_EXPLAINED_AGAIN = 4  # rows that a loaded model explains: its weights are those of the saved one
_DECIDED = 8  # rows that are answered and explained under every decision


def check_method(estimator: Any, X: Any, y: Any) -> None:
    """Assert that an estimator keeps the contract of all answers on dense rows X; see docs/adding.md.

    predict, top_k's first, explain's label, predict_path, the command line, and a model that was saved and loaded all
    agree, on dense rows and sparse ones; with several labels per row the predicted set is a prefix of the ranking.
    Where the model has probabilities, the most probable class is the predicted one, nodes are not more probable than
    their parents, and all answers agree under every decision, too.
    The fit carries a certificate that holds where it says converged, and parameters are scikit-learn's.

    >>> from taxolearn import OneVsRestSVM
    >>> check_method(OneVsRestSVM(), [[-1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], ["a", "b", "c"])
    """
    X = np.asarray(X, dtype=np.float64)
    assert is_own(type(estimator)), f"{type(estimator).__name__} is not in the registry"
    _check_parameters(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(estimator).fit(X, y)
        sparse = clone(estimator).fit(sp.csr_array(X), y)
    _check_attributes(model)
    certificate = model.certificate_
    assert certificate.holds(model.tol) == (certificate.status.value == "converged"), (
        "converged must mean certified"
    )
    ranking = _check_answers(model, X, _EXPLAINED)
    wide = sp.csr_array(X)
    assert _same(_sets(model, wide), _sets(model, X), model, X), (
        "sparse rows get other answers than dense ones"
    )
    same = np.mean([a == b for a, b in zip(_names(sparse.predict(X)), _names(model.predict(X)), strict=True)])
    assert same >= 0.8, "a model of sparse rows answers unlike one of dense rows"
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        loaded = load(folder)
        assert _names(loaded.predict(X)) == _names(model.predict(X)), "load(save) answers otherwise"
        assert _same(_check_answers(loaded, X, _EXPLAINED_AGAIN), ranking, model, X), (
            "load(save) ranks otherwise"
        )
        assert loaded.certificate_.gap == certificate.gap, "load(save) has another certificate"
        predicted, best = (_answers_of_command(folder, X, k) for k in (None, 2))
        assert _same(predicted, _sets(model, X), model, X), "the command line answers otherwise"
        assert _same(best, [row[:2] for row in ranking], model, X), "the command line ranks otherwise"
        if model.calibration_ is not None or model._own_link() is not None:
            _check_probabilities(model, X)
            _check_decisions(model, loaded, folder, X[:_DECIDED])


def _same(found: list[list[Any]], expected: list[list[Any]], model: Any, X: Any) -> bool:
    """Whether rankings agree; classes whose scores are equal but for rounding may change places."""
    names, scores = model.top_k(X, len(model.classes_))
    margins = scores - _shift(model, names)
    for i, (one, other) in enumerate(zip(found, expected, strict=True)):
        of = dict(zip(map(str, names[i].tolist()), margins[i].tolist(), strict=True))
        if len(one) != len(other):
            return False
        near = 1e-9 * (1.0 + max(map(abs, of.values())))
        if any(abs(of[str(a)] - of[str(b)]) > near for a, b in zip(one, other, strict=True)):
            return False
    return True


def _check_parameters(estimator: Any) -> None:
    again = clone(estimator)
    assert again.get_params(deep=False).keys() == estimator.get_params(deep=False).keys()
    text = type(estimator).__doc__ or ""
    for name in estimator.get_params(deep=False):
        assert f"\n{name} : " in text, f"help() does not explain the parameter {name}"
    assert method_of(type(estimator).__name__) is not None


def _check_attributes(model: Any) -> None:
    """What a fit leaves behind is explained."""
    _, _, text = (type(model).__doc__ or "").partition("\nAttributes\n----------\n")
    told = {name for line in re.findall(r"^(\w.*?) : ", text, re.MULTILINE) for name in line.split(", ")}
    parameters = model.get_params(deep=False)
    for name in vars(model):
        if name.endswith("_") and not name.startswith("_") and name not in parameters:
            assert name in told, f"help() does not explain the attribute {name}"


def _check_answers(model: Any, X: Any, n_explained: int) -> list[list[Any]]:
    """Assert that all answers agree, explanations of at most so many rows, too; the full ranking of each row."""
    n_classes = len(model.classes_)
    names, scores = model.top_k(X, n_classes)
    assert np.all(np.diff(scores - _shift(model, names), axis=1) <= 1e-6), "top_k is not ranked"
    ranking: list[list[Any]] = [row.tolist() for row in names]
    predicted = _sets(model, X)
    for i, row in enumerate(predicted):
        found = [str(name) for name in ranking[i][: len(row)]]
        assert row == found, f"row {i}: predict says {row}, top_k begins with {found}"
    some = slice(None, None, max(1, -(-len(X) // n_explained)))
    explained = [[model.explain(row).label] for row in X[some]]
    best = [row[:1] for row in ranking[some]]
    assert _same(explained, best, model, X[some]), f"explain explains {explained}, top_k begins with {best}"
    paths = model.predict_path(X)
    for i, path in enumerate(paths):
        ends = [_end(model, one) for one in (path if model.decoder_.several else [path])]
        assert sorted(map(str, ends)) == sorted(predicted[i]), (
            f"row {i}: predict_path ends elsewhere than predict"
        )
    by_scores = model._deciding(None)[0] is model.decoder_
    if not model.decoder_.several and n_classes > 2 and by_scores:
        by_score = model.classes_[np.argmax(model.decision_function(X), axis=1)]
        assert by_score.tolist() == [row[0] for row in ranking], "decision_function has another best class"
    return ranking


def _check_probabilities(model: Any, X: Any) -> None:
    """Assert that probabilities rank as scores do, and fall along the taxonomy."""
    p = model.predict_proba(X)
    assert p.shape == (len(X), len(model.classes_))
    assert ((p >= 0) & (p <= 1)).all(), "a probability is below 0 or above 1"
    if not model.decoder_.several:
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-9)
        names, _, chances, rest = model.top_k(X, 1, probability=True)
        np.testing.assert_allclose(chances[:, 0], p.max(axis=1), rtol=1e-6)
        np.testing.assert_allclose(chances[:, 0] + rest, 1.0, rtol=1e-6)
        assert names[:, 0].tolist() == model.classes_[model.decode(X, decision="best").ids].tolist()
    nodes = model.node_proba(X)
    if model.taxonomy_ is not None:
        child = np.repeat(np.arange(nodes.shape[1]), np.diff(model.taxonomy_.parent_indptr))
        rise = nodes[:, child] - nodes[:, model.taxonomy_.parent_indices]
        assert rise.max(initial=0.0) <= 1e-9, "a node is more probable than its parent"
        some = [model.taxonomy_.nodes[-1], model.taxonomy_.nodes[0]]
        np.testing.assert_allclose(model.node_proba(X, some), nodes[:, [-1, 0]], atol=1e-12)


def _check_decisions(model: Any, loaded: Any, folder: str, X: Any) -> None:
    """Assert that all answers agree under every decision; parameter and argument mean the same."""
    several = model.decoder_.several
    for decision in ("hierarchical_f1", "probable") if several else ("tree_loss", "hierarchical_f1"):
        asked = clone(model).set_params(decision=decision)
        vars(asked).update({name: value for name, value in vars(model).items() if name != "decision"})
        predicted = _names(model.predict(X, decision=decision))
        assert _names(asked.predict(X)) == predicted, "the parameter decision answers unlike the argument"
        assert _names(loaded.predict(X, decision=decision)) == predicted, "load(save) decides otherwise"
        answers = model.decode(X, decision=decision)
        ranking = model.top_k(X, len(model.classes_), decision=decision)[0]
        paths = model.predict_path(X, decision=decision)
        for i, (a, b) in enumerate(zip(answers.indptr[:-1], answers.indptr[1:], strict=True)):
            found = model.classes_[answers.ids[a:b]].tolist()
            assert found == ranking[i, : b - a].tolist(), f"row {i}: decode says {found}, top_k otherwise"
            ends = [_end(model, path) for path in (paths[i] if several else [paths[i]])]
            assert sorted(map(str, ends)) == sorted(map(str, found)), f"row {i}: the path ends elsewhere"
            label = model.explain(X[i], decision=decision).label
            assert label == ranking[i, 0], (
                f"row {i}: explain explains {label}, top_k begins with {ranking[i, 0]}"
            )
    lines = _answers_of_command(folder, X, None, "--decision", decision)
    assert [sorted(row) for row in lines] == [sorted(row) for row in _as_names(model, answers)], (
        "the command line decides otherwise"
    )


def _as_names(model: Any, answers: Any) -> list[list[str]]:
    names = [str(name) for name in model.classes_[answers.ids].tolist()]
    return [names[a:b] for a, b in zip(answers.indptr[:-1], answers.indptr[1:], strict=True)]


def _end(model: Any, path: Any) -> Any:
    return path[-1] if model.taxonomy_ is None else find_node(path, model.taxonomy_)


def _shift(model: Any, names: Any) -> Any:
    """What scores are compared with: thresholds, where the model has them."""
    threshold = dict(zip(model.classes_.tolist(), model.thresholds_.tolist(), strict=True))
    return np.array([[threshold[name] for name in row] for row in names.tolist()])


def _sets(model: Any, X: Any) -> list[list[str]]:
    """The predicted classes of each row by name, best first."""
    found = _as_names(model, model.decode(X))
    plain = _names(model.predict(X))
    assert [sorted(row) for row in found] == [sorted(row) for row in plain], "decode answers unlike predict"
    return found


def _names(predicted: Any) -> list[list[str]]:
    """What predict returned, as a list of names per row; an indicator as the numbers of its columns."""
    if sp.issparse(predicted) or (isinstance(predicted, np.ndarray) and predicted.ndim == 2):
        dense = predicted.toarray() if sp.issparse(predicted) else predicted
        return [[str(k) for k in np.flatnonzero(row)] for row in dense]
    return [[str(one) for one in row] if isinstance(row, list) else [str(row)] for row in predicted]


def _answers_of_command(folder: str, X: Any, top_k: int | None, *options: str) -> list[list[str]]:
    """What `taxolearn predict` answers for the same rows."""
    rows = Path(folder).parent / f"{Path(folder).name}.svm"
    lines = (" ".join(f"{j + 1}:{float(v)!r}" for j, v in enumerate(row) if v) for row in X)
    rows.write_text("".join(f"0 {line}\n" for line in lines))
    arguments = ["predict", folder, str(rows), "--format", "libsvm", "--to", "jsonl", *options]
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            code = run([*arguments, *(() if top_k is None else ("--top-k", str(top_k)))])
    finally:
        rows.unlink()
    assert code == 0, f"taxolearn predict ended with {code}"
    found: list[list[str]] = [[] for _ in range(len(X))]
    for line in out.getvalue().splitlines():
        answer = json.loads(line)
        found[answer["row"] - 1] += [str(one["label"]) for one in answer.get("answers", [answer])]
    return found
