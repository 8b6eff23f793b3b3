"""Stopping early, by count, clock or keyboard: the weights so far stay, and the certificate tells how good they are."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from taxolearn import OneVsRestLogistic, OneVsRestSVM
from taxolearn.errors import DataError
from taxolearn.methods import fitting
from taxolearn.solvers import Status


def noise(n: int = 300, d: int = 30, classes: int = 5) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), rng.integers(0, classes, size=n)


def test_too_few_epochs_warn_with_the_gap() -> None:
    X, y = noise()
    model = OneVsRestSVM(C=100.0, max_iter=1)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    gap = model.certificate_.gap
    assert gap > 1e-4
    assert model.certificate_.status is Status.ITERATION_LIMIT
    assert f"certified relative gap of {gap:.2e}, above tol=0.0001" in str(caught[0].message)
    assert "stopped by iteration limit" in str(caught[0].message)
    assert caught[0].filename == __file__  # the warning points at the user's line
    assert model.predict(X).shape == (300,)
    best = OneVsRestSVM(C=100.0, tol=1e-6).fit(X, y).certificate_
    assert model.certificate_.dual <= best.primal * (1 + 1e-12)
    assert model.certificate_.primal >= best.dual


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_tol_is_the_certified_gap(tol: float) -> None:
    X, y = noise()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (OneVsRestSVM(tol=tol), OneVsRestLogistic(tol=tol)):
            certificate = model.fit(X, y).certificate_
            assert 0 <= certificate.gap <= tol
            assert certificate.holds(tol)
            assert certificate.status is Status.CONVERGED


def test_the_clock_stops_a_fit() -> None:
    X, y = noise(4000, 60, 8)
    model = OneVsRestSVM(C=1e4, loss="hinge", tol=1e-12, max_iter=10**8, max_seconds=0.3)
    with pytest.warns(ConvergenceWarning, match="stopped by time limit at a certified relative gap of"):
        model.fit(X, y)
    assert model.certificate_.status is Status.TIME_LIMIT
    assert model.predict(X[:3]).shape == (3,)
    assert np.isfinite(model.certificate_.gap)


def test_a_verbose_fit_shows_one_line_a_block(capfd: pytest.CaptureFixture[str]) -> None:
    X, y = noise(classes=40)
    OneVsRestSVM(verbose=1, loss="hinge").fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 3  # blocks of 16 classes
    for number, line in enumerate(lines, start=1):
        done = min(16 * number, 40)
        found = re.fullmatch(
            rf"taxolearn: {done} of 40 classes, about \d+ s left, gap [-\d.e+]+, [\d.]+ s", line
        )
        assert found, line
    assert "about 0 s left" in lines[-1]
    OneVsRestSVM().fit(X, y)
    assert capfd.readouterr() == ("", "")


INTERRUPTED = textwrap.dedent(
    """
    import sys, warnings
    import numpy as np
    from taxolearn import OneVsRestSVM

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 40)), rng.integers(0, 4, size=1500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        OneVsRestSVM(loss="hinge", max_iter=1).fit(X[:20], y[:20])  # compile first
    print("ready", flush=True)
    # without an end of its own, but for a guard
    model = OneVsRestSVM(C=1e6, loss="hinge", tol=1e-300, max_iter=10**9, max_seconds=120.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert any("stopped by interrupted" in str(entry.message) for entry in caught), [str(e.message) for e in caught]
    print(model.certificate_.status.value, model.coef_.any(), model.predict(X[:2]).shape, flush=True)
    """
)


@pytest.mark.skipif(os.name != "posix", reason="on Windows no process can press Ctrl-C for another one alone")
def test_ctrl_c_keeps_the_weights_so_far() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            try:
                process.wait(timeout=1.5)  # let the fit begin
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=100)
        finally:
            process.kill()
    assert process.returncode == 0, err
    assert out.split() == ["interrupted", "True", "(2,)"]


def test_a_failed_fit_leaves_no_mixture_of_two_models() -> None:
    X, y = noise()
    model = OneVsRestSVM(probability=True, random_state=0).fit(X, y)
    with pytest.raises(DataError, match="no row can be held out: every class has a single row"):
        model.fit(X[:3], ["a", "b", "c"])
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_the_certificate_gets_its_part_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noise()
    given: list[float | None] = []
    limits = fitting.CertifiedClassifier._limits

    def watched(self: Any, *arguments: Any) -> Any:
        found = limits(self, *arguments)
        given.append(found.max_seconds)
        return found

    monkeypatch.setattr(fitting.CertifiedClassifier, "_limits", watched)
    monkeypatch.setattr(fitting, "expected_seconds", lambda *_: 4.0)
    OneVsRestSVM(max_seconds=60.0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match=r"certificate alone takes about 4 s, and max_seconds is 3"):
        OneVsRestSVM(max_seconds=3.0).fit(X, y)
    OneVsRestSVM().fit(X, y)
    assert given == [56.0, pytest.approx(0.6), None]
