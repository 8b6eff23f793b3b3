"""The rooms of the house and who may call whom, read from the sources."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import taxolearn

SOURCE = Path(taxolearn.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))

# What each room may import besides itself, `errors` and the floor. Later rooms stand above earlier ones.
_FLOOR = {"files", "terminal", "opening"}  # nothing but Python itself
_GROUND = {"kernels", "conic", "full_columns"}
_BASIS = _GROUND | {"structure", "gram", "problem"}
_SLOTS = _BASIS | {"losses", "ties", "scales", "objective", "vectors", "engines", "decoders"}
_CORE = _SLOTS | {"solvers", "certificates", "explain", "storage", "registry"}
_WHOLE = _CORE | {"methods", "metrics", "report", "text", "selection", "auditing"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "registry": {"methods"},  # for type checkers only: see the test of cycles
    "files": set(),
    "terminal": set(),
    "opening": set(),
    "full_columns": set(),
    "kernels": {"full_columns"},
    "conic": set(),
    "structure": {"kernels"},
    "gram": set(),
    "problem": {"structure", "kernels", "gram"},
    "engines": set(),
    "losses": _BASIS,
    "scales": _BASIS,
    "ties": _BASIS | {"scales"},
    "objective": _BASIS | {"losses", "ties"},
    "vectors": _BASIS | {"engines"},
    "decoders": _BASIS | {"vectors", "engines"},
    "norms": {"conic", "structure"},
    "solvers": _SLOTS,
    "certificates": {
        "gram",
        "kernels",
        "losses",
        "problem",
        "ties",
        "objective",
        "engines",
        "solvers",
        "structure",
    },
    "explain": _BASIS | {"vectors", "decoders"},
    "storage": _SLOTS | {"solvers", "certificates", "registry"},
    "metrics": {"structure", "problem", "kernels"},
    "datasets": {"structure", "problem", "kernels"},
    "report": _CORE | {"metrics"},
    "methods": _CORE | {"report"},
    "text": _CORE | {"methods", "metrics", "report", "selection"},
    "selection": _CORE | {"methods", "metrics"},
    "auditing": _CORE | {"methods", "metrics"},
    "testing": _WHOLE | {"datasets", "cli"},
    "reproduce": set(),
    "serving": {"decoders", "explain", "storage", "structure"},
    "cli": _WHOLE | {"datasets", "reproduce", "serving"},
}
# `import taxolearn` inside a room would be a way round the table; only these ask for the top-level names.
ASK_THE_TOP = {"serving", "storage", "selection", "text", "cli", "testing"}


def room(path: Path) -> str:
    parts = path.relative_to(SOURCE).parts
    return parts[0].removesuffix(".py")


@cache
def parsed(path: Path) -> tuple[list[ast.Import | ast.ImportFrom], set[int]]:
    """The import statements of a file, and the ids of those that only type checkers see."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    for_types = {
        id(inner)
        for node in nodes
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)], for_types


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Every imported module of a file, and whether only type checkers see it."""
    found, for_types = parsed(path)
    for node in found:
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in for_types) for alias in node.names)
            continue
        assert node.level == 0, f"{path.name} has a relative import"
        assert node.module is not None
        if node.module == "taxolearn":
            yield from ((f"taxolearn.{alias.name}", id(node) in for_types) for alias in node.names)
        else:
            yield node.module, id(node) in for_types


def names_imported(path: Path) -> Iterator[tuple[str, str]]:
    """(module, name) of every `from module import name`, which may be a module too; without those for type checkers."""
    found, for_types = parsed(path)
    for node in found:
        if isinstance(node, ast.ImportFrom) and node.module and id(node) not in for_types:
            yield from ((node.module, alias.name) for alias in node.names)


def name_in_python(path: Path) -> str:
    """The dotted name of a file."""
    parts = ("taxolearn", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def test_imports_go_down_only() -> None:
    wrong = []
    for path in FILES:
        here = room(path)
        if here == "__init__":
            continue  # the lazy top level names every room
        assert here in MAY_IMPORT, f"{here} is a new room: say in this test what it may import"
        for module, _ in imports(path):
            parts = module.split(".")
            if parts[0] != "taxolearn":
                continue
            if len(parts) == 1 or parts[1] not in MAY_IMPORT:
                if here not in ASK_THE_TOP:
                    wrong.append(f"{name_of(path)} imports {module} through the top level")
            elif parts[1] not in MAY_IMPORT[here] | _FLOOR | {here, "errors"}:
                wrong.append(f"{name_of(path)} must not import {parts[1]}")
    assert not wrong


def test_no_cycle_of_imports_lazy_ones_included() -> None:
    """File by file, also through imports inside functions; only what type checkers alone see is left out."""
    dotted = {name_in_python(path): path for path in FILES}
    edges: dict[str, set[str]] = {}
    for name, path in dotted.items():
        found = {module for module, for_types in imports(path) if not for_types}
        found |= {f"{module}.{part}" for module, part in names_imported(path)}
        edges[name] = {module for module in found if module in dotted and module != name}
        # `from taxolearn.room import name` runs the room's __init__, which may import this very file: that is no cycle
        edges[name] -= {name.rpartition(".")[0]}
    edges["taxolearn"] = set()  # the lazy top level loads names when they are asked for
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail[trail.index(name) :], name))
        if name not in done:
            for module in sorted(edges[name]):
                visit(module, (*trail, name))
            done.add(name)

    for name in sorted(edges):
        visit(name, ())


def test_certificates_use_nothing_of_the_solvers_but_the_shape_of_a_solution() -> None:
    files = (SOURCE / "certificates").glob("*.py")
    found = {
        module for file in files for module, _ in imports(file) if module.startswith("taxolearn.solvers")
    }
    assert found == {"taxolearn.solvers.base"}


def test_certificates_and_solvers_share_no_kernel() -> None:
    for path in FILES:
        found = {
            module
            for module, _ in imports(path)
            if module.startswith("taxolearn.kernels") and room(path) != "kernels"
        }
        own = {"taxolearn.kernels.exact_scores", "taxolearn.kernels.exact_sets"}
        assert found <= own if room(path) == "certificates" else not own & found


def test_only_kernels_import_numba_and_nobody_pickles() -> None:
    pickling = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve"}
    wrong = []
    for path in FILES:
        modules = {module.split(".")[0] for module, _ in imports(path)}
        may_not = pickling if room(path) == "kernels" else {*pickling, "numba"}
        if room(path) == "engines" and path.stem == "elsewhere":
            # tasks on their way between processes of one user; nothing of that is stored
            may_not = may_not - {"pickle"}
        wrong += [f"{name_of(path)} imports {module}" for module in modules & may_not]
    assert not wrong


def test_nobody_asks_which_engine_it_is() -> None:
    """One code for all engines: only the engines, and the options of the command line, know them by name."""
    names = re.compile(r"\b(ray|joblib|RayEngine|JoblibEngine|SerialEngine)\b")
    others = [path for path in FILES if room(path) not in ("engines", "cli")]
    assert [name_of(path) for path in others if names.search(path.read_text())] == []


def test_files_stay_short() -> None:
    lines = {name_of(path): len(path.read_text().splitlines()) for path in FILES}
    assert not {name: n for name, n in lines.items() if n > 400}


@pytest.mark.parametrize(
    "statement",
    [
        "import taxolearn",
        "import taxolearn; taxolearn.Taxonomy.from_paths(['a/b', 'a/c']).to_text()",
        "import taxolearn; taxolearn.ClassGraph.from_edges([('a', 'b')])",
        "import taxolearn; dir(taxolearn)",
    ],
)
def test_a_light_import(statement: str) -> None:
    look = "import sys; heavy = {'numba', 'sklearn', 'pandas', 'polars', 'networkx', 'pyarrow'} & set(sys.modules)"
    code = f"{statement}; {look}; assert not heavy, heavy"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def public_modules() -> list[str]:
    found = []
    for path in FILES:
        dotted = name_in_python(path)
        if not any(part.startswith("_") for part in dotted.split(".")):
            found.append(dotted)
    return found


def public_things() -> list[tuple[str, Any]]:
    things: dict[str, Any] = {}
    for dotted in public_modules():
        module = importlib.import_module(dotted)
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if isinstance(thing, ModuleType) or not (inspect.isclass(thing) or inspect.isroutine(thing)):
                continue  # constants and type aliases explain themselves beside their definition
            if not thing.__module__.startswith("taxolearn"):
                continue  # an alias such as Any
            things.setdefault(f"{thing.__module__}.{thing.__qualname__}", thing)
    return sorted(things.items())


THINGS = public_things()


def test_the_top_level_offers_what_was_promised() -> None:
    assert {"Taxonomy", "ClassGraph", "OneVsRestSVM", "OneVsRestLogistic", "load"} <= set(taxolearn.__all__)
    assert set(dir(taxolearn)) == {*taxolearn.__all__, *taxolearn._SUBMODULES, "__version__"}
    for name in taxolearn.__all__:
        assert getattr(taxolearn, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'OneVsRst'"):
        taxolearn.OneVsRst  # noqa: B018


def test_every_public_name_has_a_docstring_with_an_example() -> None:
    without = [name for name, thing in THINGS if ">>>" not in (thing.__doc__ or "")]
    assert not without, f"no docstring, or none with an example: {without}"


def test_every_public_method_has_a_docstring() -> None:
    without = [
        f"{name}.{member}"
        for name, thing in THINGS
        if inspect.isclass(thing)
        for member, value in vars(thing).items()
        if not member.startswith("_") and (inspect.isroutine(value) or isinstance(value, property))
        if not getattr(value, "__doc__", None)
    ]
    assert not without
