"""What a process of the command line imports, and when."""

from __future__ import annotations

import subprocess
import sys

import pytest


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


@pytest.mark.parametrize(
    "use",
    [
        "import scipy.stats; print(scipy.stats.norm.cdf(0.0))",
        "from scipy.stats import norm; print(norm.cdf(0.0))",
        "from scipy import stats; print(stats.norm.cdf(0.0))",
        "import scipy.stats.qmc; print(scipy.stats.norm.cdf(0.0))",
        "import scipy.stats as one; one.norm; import scipy.stats as two; print(two.norm.cdf(0.0))",
    ],
)
def test_a_deferred_module_works_when_it_is_used(use: str) -> None:
    assert _python(f"from taxolearn.cli.deferred import defer; defer('scipy.stats'); {use}") == "0.5\n"
