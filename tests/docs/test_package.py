"""What is built is what users need: the wheel, the sdist, and a typed public surface."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import taxolearn

ROOT = Path(__file__).parents[2]
USER_SCRIPT = """
from taxolearn import NormalizedHierarchicalSVM, Taxonomy, TextClassifier, load
from taxolearn.metrics import accuracy, tree_loss

tree: Taxonomy = Taxonomy.from_paths(["Animal/Cat", "Animal/Dog", "Plant/Oak"])
model = NormalizedHierarchicalSVM(tree, C=10.0).fit([[0.0], [1.0], [2.0]], ["Cat", "Dog", "Oak"])
gap: float = model.certificate_.gap
loss: float = tree_loss(["Cat"], model.predict([[0.0]]), tree) + accuracy(["Cat"], ["Dog"])
texts: TextClassifier = TextClassifier(model)
again = load("folder")
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wheel and sdist, as `python -m build` makes them, without an environment of its own."""
    pytest.importorskip("hatchling", reason="building needs hatchling: pip install hatchling")
    target = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(target)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return target


def test_the_wheel_has_all_files_of_the_package_and_nothing_else(built):
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
        facts = packed.read(f"taxolearn-{taxolearn.__version__}.dist-info/METADATA").decode()
    files = [file for file in (ROOT / "src" / "taxolearn").rglob("*") if file.is_file()]
    kept = [file for file in files if "__pycache__" not in file.parts]
    expected = {file.relative_to(ROOT / "src").as_posix() for file in kept}
    package = {name for name in names if not name.startswith(f"taxolearn-{taxolearn.__version__}.dist-info/")}
    assert expected == package
    assert {"taxolearn/py.typed", "taxolearn/reproduce/figures.csv"} <= package
    assert "Requires-Python: >=3.11" in facts


def test_the_sdist_has_what_a_developer_needs(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        names = {name.split("/", 1)[1] for name in packed.getnames() if "/" in name}
    needed = {
        "pyproject.toml",
        "Makefile",
        "conftest.py",
        "README.md",
        "CHANGELOG.md",
        "LICENSE",
        "CITATION.cff",
    }
    assert needed <= names
    assert {"docs/conf.py", "benchmarks/_data.py", "benchmarks/peers/run.py", "tests/strategies.py"} <= names
    assert not [name for name in names if name.startswith((".venv", "docs/_build", ".peers"))]


def test_the_wheel_runs_from_a_folder_of_its_own(built, tmp_path):
    """Without the checkout: the command line starts, and says where scripts would be."""
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "site")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r}); "
        "import taxolearn; assert 'site' in taxolearn.__file__, taxolearn.__file__; "
        "from taxolearn.cli.app import run; print(run(['--version']), run(['reproduce', 'synthetic']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["taxolearn", taxolearn.__version__, "0", "2"]
    assert "they come with the source of taxolearn, not with the wheel" in done.stderr


def test_the_version_is_said_once_and_cited():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == taxolearn.__version__
    assert f"\nversion: {taxolearn.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## {taxolearn.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_a_users_script_is_typed(tmp_path):
    """`mypy --strict` finds nothing to complain about, and does complain about a wrong use.

    With the settings and the cache of `make types`, which runs before: what both read is analysed once.
    """
    script = tmp_path / "script.py"
    script.write_text(USER_SCRIPT + "nodes: str = tree.n_nodes\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        "--config-file",
        str(ROOT / "pyproject.toml"),
        "--cache-dir",
        str(ROOT / ".mypy_cache"),
    ]
    done = subprocess.run([*command, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert len(lines) == 1, done.stdout + done.stderr
    assert "expression has type" in lines[0]
