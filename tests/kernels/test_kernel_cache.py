"""Compiled kernels are kept in a folder that belongs to exactly these sources."""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from pathlib import Path
from typing import Any

import numba
import pytest

from taxolearn.kernels import _jit, _kept


@pytest.fixture(autouse=True)
def unsettled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each test decides anew; afterwards the folder is that of the session again."""
    monkeypatch.setattr(_jit, "_cache_folder", _jit._cache_folder.__wrapped__)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("TAXOLEARN_CACHE", raising=False)


def test_the_folder_is_in_the_cache_of_the_user_or_of_numba(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _jit._cache_folder()
    assert folder is not None
    assert folder.parent == tmp_path / "taxolearn"
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "numba"))
    assert _jit._cache_folder() == tmp_path / "numba" / folder.name


def test_other_sources_have_another_folder(tmp_path: Path) -> None:
    source = tmp_path / "a.py"
    source.write_text("one")
    before = _jit._digest([source])
    source.write_text("two")
    assert _jit._digest([source]) != before


@pytest.mark.parametrize("library", ["numba", "llvmlite", "np"])
def test_other_compilers_have_another_folder(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment with another NumPy would read code that was compiled for the types of the first."""
    before = _jit._digest([])
    monkeypatch.setattr(getattr(_jit, library), "__version__", "0.0")
    assert _jit._digest([]) != before


@pytest.mark.parametrize("said", ["0", ""])
def test_it_can_be_switched_off(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAXOLEARN_CACHE", said)
    assert _jit._cache_folder() is None
    assert _jit.kernel(_plus_one)(1) == 2


def _plus_one(number: int) -> int:
    return number + 1


def test_nowhere_to_write_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "taxolearn").write_text("a file")
    assert _jit._cache_folder() is None


def test_old_folders_go(tmp_path: Path) -> None:
    for age in range(6):
        folder = tmp_path / f"kernels-{age}"
        folder.mkdir()
        os.utime(folder, (1_000_000 - age, 1_000_000 - age))
    assert _jit._made(tmp_path, "kernels-new") == tmp_path / "kernels-new"
    assert {folder.name for folder in tmp_path.iterdir()} == {
        "kernels-new",
        *(f"kernels-{age}" for age in range(3)),
    }


def test_numba_keeps_others_elsewhere(tmp_path: Path) -> None:
    with _jit._numba_keeps_in(tmp_path):
        assert str(tmp_path) == numba.config.CACHE_DIR
    assert numba.config.CACHE_DIR == ""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_the_first_compilation_is_told_and_what_was_kept_is_not() -> None:
    told: list[str] = []
    with _jit.on_compilation(lambda: told.append("once")):
        made = _jit.kernel(_plus_one)
        assert told == []
        made(1)
        made(1.0)
    assert told == ["once"]
    with _jit.on_compilation(lambda: told.append("again")):
        _jit.kernel(_plus_one)(1)
    assert told == ["once"]


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")
def test_one_process_of_a_machine_compiles_a_kernel(tmp_path, monkeypatch):
    """Workers of a cluster that begin at once: the others wait, and read what the first one kept; other kernels do not
    wait."""
    import fcntl

    monkeypatch.setattr(_jit, "_cache_folder", lambda: tmp_path)
    outer, done = _jit.kernel(_outer), threading.Event()
    with (tmp_path / f"{__name__}._outer.lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)  # as another process that compiles it
        assert _jit.kernel(_plus_one)(1) == 2
        thread = threading.Thread(target=lambda: (outer(1), done.set()))
        thread.start()
        assert not done.wait(0.2)
    assert done.wait(60.0)
    thread.join()
    assert outer.stats.cache_misses
    again = _jit.kernel(_outer)
    assert again(1) == 2
    assert again.stats.cache_hits


def _outer(x):
    return x + 1


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_a_copy_of_the_sources_elsewhere_reads_what_was_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a new environment, or a new clone; with another text it is compiled anew."""

    def from_a_file(place: str, text: str) -> Any:
        file = tmp_path / place / "kernels" / "sums.py"
        file.parent.mkdir(parents=True)
        file.write_text(text)
        spec = importlib.util.spec_from_file_location(f"{__name__}.sums", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        spec.loader.exec_module(module)
        return _jit.kernel(module.plus)

    monkeypatch.setattr(_jit, "_cache_folder", lambda: tmp_path / "cache")
    (tmp_path / "cache").mkdir()
    text = "def plus(x):\n    return x + 1\n"
    first = from_a_file("one", text)
    assert (first(1), len(first.stats.cache_hits)) == (2, 0)
    second = from_a_file("two", text)
    assert (second(1), len(second.stats.cache_hits), len(second.stats.cache_misses)) == (2, 1, 0)
    other = from_a_file("three", text.replace("1", "2"))
    assert (other(1), len(other.stats.cache_hits)) == (3, 0)


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_where_nothing_can_be_written_numba_looks_for_a_place_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "file"))
    assert _kept._BySource.from_function(_plus_one, __file__) is None
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "folder"))
    found = _kept._BySource.from_function(_plus_one, __file__)
    assert found is not None
    assert found.get_cache_path() == str(tmp_path / "folder" / "kernels")
