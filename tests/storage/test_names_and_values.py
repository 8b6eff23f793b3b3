"""Names and header values come back from JSON as what they were, type and all."""

from __future__ import annotations

import enum
import json
from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taxolearn.errors import ModelError
from taxolearn.storage import decode_names, encode_names
from taxolearn.storage.values import decode_header, encode_header

scalars = st.one_of(
    st.text(max_size=8),
    st.integers(),
    st.integers(min_value=-(2**80), max_value=2**80),
    st.floats(),
    st.booleans(),
    st.binary(max_size=8),
)
names = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6)
values = st.recursive(
    st.one_of(st.none(), scalars),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.text(max_size=5).filter(lambda key: not key.startswith("$")), inner, max_size=4),
    ),
    max_leaves=12,
)


def exact(value: Any) -> str:
    """1, 1.0, True and "1" differ here, as do 0.0 and -0.0; NaN equals itself."""
    if isinstance(value, dict):
        return f"dict({sorted((exact(key), exact(entry)) for key, entry in value.items())})"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}({[exact(entry) for entry in value]})"
    return f"{type(value).__name__}:{value!r}"


def through_json(encoded: Any) -> Any:
    return json.loads(json.dumps(encoded, allow_nan=False))


@settings(deadline=None, max_examples=300)
@given(st.lists(names, max_size=6))
def test_names_round_trip_with_their_types(original: list[Any]) -> None:
    assert exact(decode_names(through_json(encode_names(original)))) == exact(tuple(original))


@settings(deadline=None, max_examples=300)
@given(st.dictionaries(st.sampled_from(["a", "b", "params"]), values))
def test_headers_round_trip_with_their_types(header: dict[str, Any]) -> None:
    assert exact(decode_header(through_json(encode_header(header)))) == exact(header)


def test_look_alikes_stay_apart() -> None:
    original = (1, "1", True, 1.0, (1,), ("1",), b"1", ((1,),))
    assert exact(decode_names(through_json(encode_names(original)))) == exact(original)


def test_integers_have_no_limit() -> None:
    original = (10**5000, -(2**63), 2**63)
    assert decode_names(through_json(encode_names(original))) == original


def test_plain_strings_are_stored_as_they_are() -> None:
    assert encode_names(("root", "Tier/Hündchen")) == ["root", "Tier/Hündchen"]


def test_numpy_scalars_become_the_python_values_they_equal() -> None:
    original = [np.str_("a"), np.int64(3), np.float32(0.5), np.bool_(True), np.bytes_(b"x"), (np.int8(1),)]
    decoded = decode_names(through_json(encode_names(original)))
    assert exact(decoded) == exact(("a", 3, 0.5, True, b"x", (1,)))


class Colour(enum.IntEnum):
    RED = 1


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (None, "NoneType"),
        ((1, None), "NoneType"),
        (frozenset([1]), "frozenset"),
        (date(2024, 1, 1), "date"),
        (Colour.RED, "Colour"),
        (1j, "complex"),
        (np.datetime64("2024-01-01"), "date"),
        (np.longdouble(1), "longdouble"),
        ([1], "list"),
    ],
)
def test_other_types_are_refused_by_name(name: Any, kind: str) -> None:
    with pytest.raises(ModelError, match=f"a {kind}, which a model file cannot hold"):
        encode_names(["fine", name])


def test_lone_surrogates_are_refused() -> None:
    with pytest.raises(ModelError, match="surrogate"):
        encode_names(["fine", "\ud83d\ude00"])
    with pytest.raises(ModelError, match="surrogate"):
        encode_names([1, "\ud83d"])


def test_nesting_has_an_end() -> None:
    deep: Any = "x"
    for _ in range(5000):
        deep = (deep,)
    with pytest.raises(ModelError, match="nested"):
        encode_names([deep])
    with pytest.raises(ModelError, match="nested"):
        encode_header({"deep": deep})


@pytest.mark.parametrize(
    "encoded",
    [
        "cat",
        None,
        {"names": []},
        [None],
        [["cat"]],
        [{}],
        [{"tuple": [1], "bytes": ""}],
        [{"tuple": "ab"}],
        [{"tuple": [None]}],
        [{"bytes": "xyz"}],
        [{"bytes": 7}],
        [{"float": "1.5"}],
        [{"float": 1.5}],
        [{"int": "12"}],
        [{"set": [1]}],
    ],
)
def test_bad_encodings_of_names_are_model_errors(encoded: Any) -> None:
    with pytest.raises(ModelError):
        decode_names(encoded)


@pytest.mark.parametrize(
    "encoded",
    [[], 3, {"a": {"$tuple": 1}}, {"a": {"$tuple": [], "b": 1}}, {"$tuple": []}, {"a": {"$eval": "1"}}],
)
def test_bad_encodings_of_headers_are_model_errors(encoded: Any) -> None:
    with pytest.raises(ModelError):
        decode_header(encoded)


@pytest.mark.parametrize(
    ("header", "culprit"),
    [
        ({"params": {"x": np.zeros(2)}}, "params.x is a ndarray"),
        ({"a": [1, {2}]}, r"a\[1\] is a set"),
        ({"a": {1: 2}}, "header key 1"),
        ({"a": {"$tuple": []}}, "leading"),
        ([("a", 1)], "must be a dict"),
    ],
)
def test_headers_that_cannot_be_stored_name_the_entry(header: Any, culprit: str) -> None:
    with pytest.raises(ModelError, match=culprit):
        encode_header(header)
