"""How a kernel is compiled that another kernel calls: as a part of its caller, without machine code of its own.

Numba compiles what a kernel calls as if Python called it, too: each such function is optimised, gets two wrappers for
calls from Python and from C, and becomes machine code. All of it is done again inside its caller, and the first is
never run. Here it stays in LLVM's own terms until a kernel that Python calls is optimised, with all that belongs to it,
once. The code that runs is the same, and a first fit compiles in little more than half the time.

This goes by Numba's `pipeline_class`, and relies on how its libraries are put together. So it is used with versions
that it was tried with; with others Numba compiles as it always does.
"""

from __future__ import annotations

from typing import Any

import numba
from numba.core import codegen, compiler
from numba.core.compiler_machinery import register_pass
from numba.core.environment import lookup_environment
from numba.core.typed_passes import NativeLowering
from numba.extending import overload

TRIED = numba.version_info[:2] in {(0, 60), (0, 68)}  # versions whose insides are known


class _Part(codegen.JITCodeLibrary):
    """The code of a function that is only called by compiled ones: linked, not optimised, never machine code."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):
    """Writes a part in LLVM's terms and lets other functions call it."""

    _name = "taxolearn_part_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        entry = [
            state.library
        ].copy  # Numba wants a built-in function as a name for the part; nobody calls it
        state.targetctx.insert_user_function(entry, state.cr.fndesc, [state.library])
        state["cr"] = state.cr._replace(cfunc=entry)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _ApartLowering(_PartLowering):
    """Writes a part that its callers share as one function, instead of a copy at every call."""

    _name = "taxolearn_apart_lowering"

    def run_pass(self, state: Any) -> bool:
        super().run_pass(state)
        function = state.library._final_module.get_function(state.cr.fndesc.llvm_func_name)
        function.add_function_attribute("noinline")
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _WholeLowering(NativeLowering):
    """Lowers a function that Python calls; its parts get the environments that they would have had on their own."""

    _name = "taxolearn_whole_lowering"

    def run_pass(self, state: Any) -> bool:
        super().run_pass(state)
        for place in state.library._final_module.global_variables:
            environment = lookup_environment(place.name)
            if environment is not None:
                state.library.codegen.set_env(place.name, environment)
        return True


def _compiler(lowering: Any) -> Any:
    class Compiler(compiler.CompilerBase):
        def define_pipelines(self) -> list[Any]:
            passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
            found = [place for place, (kind, _) in enumerate(passes.passes) if kind is NativeLowering]
            passes.passes[found[0]] = (lowering, "lowering of kernels")
            passes.finalize()
            return [passes]

    return Compiler


def _options(lowering: Any, **wrappers: bool) -> Any:
    return {"pipeline_class": _compiler(lowering), "no_cfunc_wrapper": True, **wrappers} if TRIED else {}


WHOLE_OPTIONS = _options(_WholeLowering)
PART_OPTIONS = _options(_PartLowering, no_cpython_wrapper=True)
APART_OPTIONS = _options(_ApartLowering, no_cpython_wrapper=True)


def part(stub: Any, **options: Any) -> Any:
    """Numba's `overload`: compiled code that calls `stub` gets the body that the decorated function chooses."""
    return overload(stub, jit_options=PART_OPTIONS, **options)


def apart(function: Any) -> Any:
    """A plain function that compiled ones call as it is, not as a copy: long loops are compiled once per kernel.

    For calls that are few: arrays that are handed over are counted.
    """
    overload(function, jit_options=APART_OPTIONS, strict=False)(lambda *_: function)
    return function


def any_order(function: Any) -> Any:
    """A plain function that compiled ones may call; its sums are added up in any order, as vector instructions do."""
    options: Any = {**PART_OPTIONS, "fastmath": {"reassoc", "contract"}}
    overload(function, jit_options=options, strict=False)(lambda *_: function)
    return function


def scalar(function: Any) -> Any:
    """A plain function that compiled ones may call."""
    part(function, strict=False)(lambda *_: function)
    return function


def called_as_part(made: Any) -> Any:
    """Let other kernels call a compiled kernel as a part of them."""
    if PART_OPTIONS:
        inner = numba.njit(**PART_OPTIONS)(made.py_func)
        made.get_call_template, made.get_overload = inner.get_call_template, inner.get_overload
    return made
