"""Parameters of estimators, declared once: default, meaning and what is allowed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, TypeVar, dataclass_transform

import numpy as np

from taxolearn.errors import DataError
from taxolearn.structure.names import show

Class = TypeVar("Class", bound=type)
Check = Callable[[str, Any], None]
_NUMBERS = (int, float, np.integer, np.floating)


def parameter(
    *, default: Any, doc: str, choices: tuple[str, ...] = (), check: Check | None = None, kw_only: bool = True
) -> Any:
    """A parameter of an estimator: its default, its meaning for `help()`, and what it may be.

    `choices` are the words it may be; `check(name, value)` raises for what is not allowed.

    >>> parameter(default=1.0, doc="Weight of the losses.").default
    1.0
    """
    return field(default=default, kw_only=kw_only, metadata={"doc": doc, "choices": choices, "check": check})


@dataclass_transform(kw_only_default=True, field_specifiers=(parameter,))
def estimator(cls: Class) -> Class:
    """A class whose fields are parameters as an estimator: its `__init__` and the lists in its docstring are made.

    What a fit leaves behind is described in `_fitted`, name -> "type: meaning", by the class or any of its bases.

    >>> @estimator
    ... class Shrinker:
    ...     '''It shrinks.'''
    ...     amount: float = parameter(default=0.5, doc="By how much.")
    >>> Shrinker(amount=0.1).amount, Shrinker.__doc__.splitlines()[-1].strip()
    (0.1, 'By how much.')
    """
    _settle_bases(cls)
    dataclass(eq=False, repr=False)(cls)  # changes the class in place
    cls.__doc__ = _described(cls)
    return cls


def _settle_bases(cls: Any) -> None:
    """Of a parameter that several bases declare the first base in the order of inheritance decides, as for methods.

    A dataclass would let a base that merely inherits a parameter overrule one that declares it anew.
    """
    own = inspect.get_annotations(cls)
    bases = [base for base in cls.__mro__[1:] if "__dataclass_fields__" in base.__dict__]
    for name in {one.name for base in bases for one in fields(base)} - set(own):
        first = next(base for base in bases if name in inspect.get_annotations(base))
        declared = first.__dataclass_fields__[name]
        if any(base.__dataclass_fields__.get(name, declared) is not declared for base in bases):
            cls.__annotations__ = {**inspect.get_annotations(cls), name: declared.type}
            setattr(
                cls,
                name,
                field(default=declared.default, kw_only=declared.kw_only, metadata=declared.metadata),
            )


def _described(cls: Any) -> str:
    """The docstring with all parameters and fitted attributes described before its first example."""
    text = inspect.cleandoc(cls.__doc__ or "")
    start = text.find(">>>")
    head, example = (text, "") if start < 0 else (text[:start].rstrip(), text[start:])
    lines = ["Parameters", "----------"]
    # positional ones first, as in the signature
    for one in sorted(fields(cls), key=lambda one: one.kw_only is True):
        choices = one.metadata["choices"]
        kind = "{" + ", ".join(map(repr, choices)) + "}" if choices else str(one.type).replace(" | ", " or ")
        lines += [f"{one.name} : {kind}, default {one.default!r}", *_wrapped(one.metadata["doc"])]
    parts = [head, "\n".join(lines), _attributes(cls), example]
    return "\n\n".join(part for part in parts if part) + "\n"


def _attributes(cls: Any) -> str:
    """The section on what a fit leaves behind: what bases say first, unless a class says it anew."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        found |= vars(base).get("_fitted", {})
    lines = ["Attributes", "----------"]
    for name, told in found.items():
        kind, meaning = told.split(": ", 1)
        lines += [f"{name} : {kind}", *_wrapped(meaning)]
    return "\n".join(lines) if found else ""


def _wrapped(text: str, width: int = 100) -> list[str]:
    lines, line = [], "   "
    for word in text.split():
        if len(line) + len(word) >= width:
            lines.append(line)
            line = "   "
        line += f" {word}"
    return [*lines, line]


def check_parameters(made: Any) -> None:
    """Refuse a parameter that is not allowed, in one sentence.

    >>> from taxolearn import OneVsRestSVM
    >>> check_parameters(OneVsRestSVM(loss="cubic"))
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: loss='cubic' is not known; choose 'squared_hinge' or 'hinge'
    """
    for name, check, choices in _checks(made.__class__):
        if check is not None:
            check(name, getattr(made, name))
        else:
            check_choice(name, getattr(made, name), choices)


@cache
def _checks(cls: Any) -> list[tuple[str, Check | None, tuple[str, ...]]]:
    """The name of every parameter that is checked, and by what."""
    found = [(one.name, one.metadata["check"], one.metadata["choices"]) for one in fields(cls)]
    return [one for one in found if one[1] is not None or one[2]]


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Must be one of a few words.

    >>> check_choice("root", "loose", ("pinned", "free"))
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: root='loose' is not known; choose 'pinned' or 'free'
    """
    if not isinstance(value, str) or value not in choices:
        known = (
            ", ".join(map(repr, choices[:-1])) + f" or {choices[-1]!r}" if choices[1:] else repr(choices[0])
        )
        raise DataError(f"{name}={show(value)} is not known; choose {known}")


def is_number(value: Any) -> bool:
    """Whether it is a number, and no bool.

    >>> is_number(1.5), is_number(True)
    (True, False)
    """
    return isinstance(value, _NUMBERS) and not isinstance(value, bool)


def positive(name: str, value: Any) -> None:
    """Must be a positive finite number.

    >>> positive("C", 0)
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: C=0 is not allowed; give a positive number
    """
    try:
        allowed = is_number(value) and 0.0 < float(value) < float("inf")
    except OverflowError:  # a whole number beyond all floats
        allowed = False
    if not allowed:
        raise DataError(f"{name}={show(value)} is not allowed; give a positive number")


def positive_or_none(name: str, value: Any) -> None:
    """Must be None or a positive finite number.

    >>> positive_or_none("max_seconds", None)
    """
    if value is not None:
        positive(name, value)


def whole(name: str, value: Any) -> None:
    """Must be a positive whole number.

    >>> whole("max_iter", 1.5)
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: max_iter=1.5 is not allowed; give a whole number
    """
    positive(name, value)
    if value != int(value):
        raise DataError(f"{name}={show(value)} is not allowed; give a whole number")


def whole_or_none(name: str, value: Any) -> None:
    """Refuse all but a whole number from one on, or None.

    >>> whole_or_none("landmarks", 0)
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: landmarks=0 is not allowed; give a positive number
    """
    if value is not None:
        whole(name, value)


def share(name: str, value: Any) -> None:
    """Must be a float between 0 and 1.

    >>> share("holdout", 2)
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: holdout=2 is not allowed; give a share of rows between 0 and 1
    """
    if not isinstance(value, float) or not 0 < value < 1:
        raise DataError(f"{name}={show(value)} is not allowed; give a share of rows between 0 and 1")


def share_or_zero(name: str, value: Any) -> None:
    """Must be 0 or a float between 0 and 1.

    >>> share_or_zero("coverage_holdout", 0)
    """
    if isinstance(value, bool) or value != 0:
        share(name, value)


def number_or(*words: str) -> Check:
    """A check: must be a finite number or one of the words.

    >>> number_or("auto")("intercept_prior", "none")
    Traceback (most recent call last):
    ...
    taxolearn.errors.DataError: intercept_prior='none' is not allowed; give a number or 'auto'
    """

    def check(name: str, value: Any) -> None:
        if isinstance(value, str) and value in words:
            return
        if not is_number(value) or not np.isfinite(value):
            choices = " or ".join(["a number", *(repr(word) for word in words)])
            raise DataError(f"{name}={show(value)} is not allowed; give {choices}")

    return check
