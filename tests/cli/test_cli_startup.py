"""What a process of the command line imports, and when."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from taxolearn.cli.deferred import defer


def _python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_help_imports_nothing_heavy() -> None:
    heavy = "{'numpy', 'scipy', 'sklearn', 'numba', 'pandas', 'pyarrow'}"
    out = _python(
        f"import sys; from taxolearn.cli.app import run; run(['--help']); print({heavy} & set(sys.modules))"
    )
    assert out.splitlines()[-1] == "set()"


def test_predict_needs_neither_the_compiler_nor_scipy_stats(text_model: str) -> None:
    code = (
        "import sys; from taxolearn.cli.app import prepare_process, run; prepare_process();"
        f"code = run(['predict', {text_model!r}, '-s', 'meow']);"
        "print(code, [name for name in ('numba', 'scipy.stats._stats_py') if name in sys.modules])"
    )
    # pandas, which scikit-learn imports where it is installed, may bring scipy.stats along
    assert _python("import sys; sys.modules['pandas'] = None;" + code).splitlines()[-1] == "0 []"


def test_scipy_stats_works_deferred() -> None:
    use = "import scipy.stats.qmc; print(scipy.stats.norm.cdf(0.0))"
    assert _python(f"from taxolearn.cli.deferred import defer; defer('scipy.stats'); {use}") == "0.5\n"


@pytest.mark.parametrize(
    "use",
    [
        "import made_up.stats; print(made_up.stats.half)",
        "from made_up.stats import half; print(half)",
        "from made_up import stats; print(stats.half)",
        "import made_up.stats.inner; print(made_up.stats.half)",
        "import made_up.stats as one; one.half; import made_up.stats as two; print(two.half)",
    ],
)
def test_a_deferred_module_works_when_it_is_used(
    use: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a package made as scipy is, which takes no time to import: modules are attributes once asked for."""
    folder = tmp_path / "made_up" / "stats"
    folder.mkdir(parents=True)
    (tmp_path / "made_up" / "__init__.py").write_text(
        "import importlib\ndef __getattr__(name): return importlib.import_module(f'made_up.{name}')\n"
    )
    (folder / "__init__.py").write_text("from made_up.stats.numbers import half\nprint('imported')\n")
    (folder / "numbers.py").write_text("half = 0.5\n")
    (folder / "inner.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    try:
        defer("made_up.stats")
        assert not capsys.readouterr().out
        exec(use, {})
        assert capsys.readouterr().out == "imported\n0.5\n"
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "made_up"]:
            del sys.modules[name]
