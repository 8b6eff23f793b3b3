"""The libsvm kernel against a twin that splits lines and calls float()."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taxolearn.kernels import libsvm_parse

MAX_INDEX = 2**31 - 2


def parse(text: bytes, first_index=1, max_index=MAX_INDEX, keep_blank=False):
    """(rows, code, offset); a row is (labels, indices, values)."""
    buffer = np.frombuffer(text, np.uint8)
    n_lines, n_commas, n_colons = text.count(b"\n"), text.count(b","), text.count(b":")
    row_start = np.empty(n_lines, np.int64)
    indptr, label_indptr = np.empty(n_lines + 1, np.int64), np.empty(n_lines + 1, np.int64)
    indices, data, slow = np.empty(n_colons, np.int32), np.empty(n_colons), np.empty(n_colons, np.bool_)
    label_start, label_end = np.empty((2, n_lines + n_commas), np.int64)
    n_rows, nnz, n_labels, ascending, code, offset = libsvm_parse.parse_rows(
        buffer, first_index, max_index, keep_blank,
        row_start, indptr, indices, data, slow, label_indptr, label_start, label_end,
    )  # fmt: skip
    for k in np.flatnonzero(slow[:nnz]):
        data[k] = float(re.match(rb"[^\s#]*", text[int(data[k]) :])[0])
    labels = [text[a:b].decode() for a, b in zip(label_start[:n_labels], label_end[:n_labels], strict=True)]
    rows = [
        (
            labels[label_indptr[r] : label_indptr[r + 1]],
            indices[indptr[r] : indptr[r + 1]].tolist(),
            data[indptr[r] : indptr[r + 1]].tolist(),
        )
        for r in range(n_rows)
    ]
    return rows, code, offset, ascending, row_start[:n_rows].tolist()


def twin(text: str, first_index=1, keep_blank=False):
    rows = []
    for line in text.split("\n")[:-1]:
        tokens = line.split("#")[0].split()
        labels = []
        if tokens and not re.match(r"[0-9]+:", tokens[0]):
            labels = tokens.pop(0).split(",")
        pairs = [token.split(":") for token in tokens]
        if labels or pairs or keep_blank:
            rows.append((labels, [int(i) - first_index for i, _ in pairs], [float(v) for _, v in pairs]))
    return rows


LABELS = st.lists(st.sampled_from(["1", "22", "a:b", "7x", "-3", "01/02", "é"]), max_size=3).map(",".join)
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(allow_nan=False, width=32).map(repr),
    st.floats(-1e6, 1e6).map(lambda x: f"{x:.6f}"),
    st.integers(-(2**64), 2**64).map(str),
    st.sampled_from(
        ["0", "-0", ".5", "5.", "+1e2", "1E-7", "1e400", "0.1e-300", "inf", "-Infinity", "00012.50"]
    ),
)
BLANKS = st.sampled_from([" ", "\t", "  ", " \t "])
COMMENTS = st.sampled_from(["", "", "", " # 3:4", "#", "\r"])


@st.composite
def files(draw):
    lines = []
    for _ in range(draw(st.integers(1, 4))):
        indices = sorted(draw(st.sets(st.integers(1, 10**6), max_size=5)))
        tokens = [f"{index}:{draw(NUMBERS)}" for index in indices]
        line = draw(LABELS) + "".join(draw(BLANKS) + token for token in tokens)
        lines.append(line + draw(COMMENTS) + "\n")
    return "".join(lines)


@given(files(), st.booleans())
@settings(max_examples=80, deadline=None)
def test_rows_equal_the_twins(text, keep_blank):
    rows, code, _, ascending, _ = parse(text.encode(), keep_blank=keep_blank)
    assert code == libsvm_parse.OK
    assert ascending
    # repr tells 0.0 from -0.0
    assert repr(rows) == repr(twin(text, keep_blank=keep_blank))


@given(st.integers(0, 2**60), st.integers(-30, 30), st.booleans())
@settings(max_examples=150, deadline=None)
def test_long_numbers_are_bit_identical_to_float(mantissa, exponent, negative):
    number = f"{'-' if negative else ''}{mantissa}e{exponent}"
    rows, *_ = parse(f"1 1:{number}\n".encode())
    assert rows[0][2] == [float(number)]


@pytest.mark.parametrize("half", [1, 3, 5, 2**20 + 1])
@pytest.mark.parametrize("power", [53, 54, 57])
def test_ties_between_two_doubles(half, power):
    """Whole numbers half way between two doubles, and their neighbours."""
    tie = 2**power + half * 2 ** (power - 53)
    for number in (tie - 1, tie, tie + 1):
        for text in (f"{number}", f"{number}0e-1", f"{number // 10}.{number % 10}e1"):
            assert parse(f"1 1:{text}\n".encode())[0][0][2] == [float(number)]


@pytest.mark.parametrize(
    ("text", "code", "offset"),
    [
        (b"1 7\n", libsvm_parse.EXPECTED_FEATURE, 2),
        (b"1 a:2\n", libsvm_parse.EXPECTED_FEATURE, 2),
        (b"1 2:3 -1:2\n", libsvm_parse.EXPECTED_FEATURE, 6),
        (b"1 0:3\n", libsvm_parse.INDEX_BELOW_FIRST, 2),
        (b"1 2:3\n1 99999999999999999999:3\n", libsvm_parse.INDEX_TOO_LARGE, 8),
        (b"1 2: 3:4\n", libsvm_parse.EMPTY_VALUE, 2),
        (b"1, 2:3\n", libsvm_parse.EMPTY_LABEL, 3),
        (b",1 2:3\n", libsvm_parse.EMPTY_LABEL, 0),
        (b"1,,2 2:3\n", libsvm_parse.EMPTY_LABEL, 2),
        (b"1\x00 2:3\n", libsvm_parse.CONTROL_BYTE, 1),
    ],
)
def test_errors_have_a_code_and_an_offset(text, code, offset):
    assert parse(text)[1:3] == (code, offset)


def test_index_limits_and_first_index():
    assert parse(b"1 3:1\n", max_index=2)[1] == libsvm_parse.OK
    assert parse(b"1 4:1\n", max_index=2)[1] == libsvm_parse.INDEX_TOO_LARGE
    assert parse(b"1 0:1\n", first_index=0)[0] == [(["1"], [0], [1.0])]


def test_order_is_reported_and_blanks_may_follow_a_comma():
    rows, code, _, ascending, starts = parse(b"# head\n1, 2 5:1 3:1\n\n4 1:1\n")
    assert (code, ascending, starts) == (libsvm_parse.OK, False, [7, 21])
    assert rows[0] == (["1", "2"], [4, 2], [1.0, 1.0])
    assert parse(b"1 5:1 5:1\n")[3] == np.False_


def test_blank_lines_are_rows_on_request():
    assert parse(b"\n1\n", keep_blank=True)[0] == [([], [], []), (["1"], [], [])]
    assert parse(b"\n1\n")[0] == [(["1"], [], [])]
