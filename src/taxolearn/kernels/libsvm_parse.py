"""Parse libsvm text (`label,label index:value index:value`) held in a byte buffer.

The functions know arrays only: errors come back as a code and a byte offset, and the few numbers that are not
settled here, bit for bit, come back as offsets for Python's own `float`.
"""

from __future__ import annotations

import numpy as np

from taxolearn.kernels._jit import kernel

# What can be wrong at the returned offset.
OK, EXPECTED_FEATURE, INDEX_BELOW_FIRST, INDEX_TOO_LARGE, EMPTY_VALUE, EMPTY_LABEL, CONTROL_BYTE = range(7)

_TAB, _NEWLINE, _RETURN, _SPACE, _HASH, _COMMA, _COLON = 9, 10, 13, 32, 35, 44, 58
_PLUS, _MINUS, _DOT, _ZERO, _NINE, _UPPER_E, _LOWER_E, _DELETE = 43, 45, 46, 48, 57, 69, 101, 127

# 10**0 .. 10**22 are the powers of ten that a double holds exactly.
_POWERS = np.array([float(f"1e{k}") for k in range(23)])
_MAX_POWER = 22  # exponent of the largest of these powers
_MAX_EXACT_MANTISSA = 2**53  # largest mantissa up to which every integer is a double
_LONGEST_MANTISSA = 10**17  # from here on digits are dropped: of 18 digits rounding leaves an exact remainder
_LARGEST_EXPONENT = 10**6  # exponent from which on digits are dropped: the value is 0 or infinite anyway
_SPLITTER = 2.0**27 + 1.0  # factor that splits a double into two halves (Dekker)
_REMAINDER_MARGIN = 1.0 + 2.0**-30  # factor on a remainder, which covers its own rounding


@kernel
def _is_blank(byte):
    return byte == _SPACE or (_TAB <= byte <= _RETURN and byte != _NEWLINE)


@kernel
def _is_digit(byte):
    return _ZERO <= byte <= _NINE


@kernel
def _ends_token(byte):
    return byte in (_SPACE, _HASH) or _TAB <= byte <= _RETURN


@kernel
def _starts_feature(buffer, pos):
    """Whether digits and a colon stand at `pos`."""
    end = pos
    while _is_digit(buffer[end]):
        end += 1
    return end > pos and buffer[end] == _COLON


@kernel
def _product_error(a, b, product):
    """`a * b - product` exactly, `product` being the rounded `a * b` (Dekker 1971)."""
    wide = _SPLITTER * a
    a_high = wide - (wide - a)
    a_low = a - a_high
    wide = _SPLITTER * b
    b_high = wide - (wide - b)
    b_low = b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@kernel
def _scale(mantissa, exponent):
    """(value, exact): `mantissa * 10**exponent` correctly rounded when exact, for mantissa < 10**18.

    A mantissa up to 2**53 and the power are exact doubles, so one multiplication or division rounds once,
    as `float` does (Clinger 1990). A longer mantissa is the sum of two doubles; the quotient or product is
    then a double plus a rest known to about 100 bits, which settles the rounding except next to a tie.
    """
    value = np.float64(mantissa)
    if mantissa <= _MAX_EXACT_MANTISSA:
        return (value / _POWERS[-exponent] if exponent < 0 else value * _POWERS[exponent]), True
    low = np.float64(mantissa - np.int64(value))
    if exponent < 0:
        power = _POWERS[-exponent]
        first = value / power
        product = first * power
        rest = ((value - product) - _product_error(first, power, product) + low) / power
    else:
        power = _POWERS[exponent]
        first = value * power
        rest = _product_error(value, power, first) + low * power
    rounded = first + rest
    rest -= rounded - first
    return rounded, rounded + rest * _REMAINDER_MARGIN == rounded


@kernel
def _parse_number(buffer, pos):
    """(value, end, exact): the decimal at `pos`; exact is False when Python's `float` has to read it."""
    negative = buffer[pos] == _MINUS
    if negative or buffer[pos] == _PLUS:
        pos += 1
    mantissa = np.int64(0)
    exponent = np.int64(0)
    digits = 0
    fits = True
    while _is_digit(buffer[pos]):
        if mantissa < _LONGEST_MANTISSA:
            mantissa = mantissa * 10 + np.int64(buffer[pos]) - _ZERO
        else:
            fits = False
        digits += 1
        pos += 1
    if buffer[pos] == _DOT:
        pos += 1
        while _is_digit(buffer[pos]):
            if mantissa < _LONGEST_MANTISSA:
                mantissa = mantissa * 10 + np.int64(buffer[pos]) - _ZERO
                exponent -= 1
            else:
                fits = False
            digits += 1
            pos += 1
    if digits > 0 and (buffer[pos] == _LOWER_E or buffer[pos] == _UPPER_E):
        pos += 1
        down = buffer[pos] == _MINUS
        if down or buffer[pos] == _PLUS:
            pos += 1
        if not _is_digit(buffer[pos]):
            fits = False
        power = np.int64(0)
        while _is_digit(buffer[pos]):
            if power < _LARGEST_EXPONENT:
                power = power * 10 + np.int64(buffer[pos]) - _ZERO
            pos += 1
        exponent += -power if down else power
    value = 0.0
    exact = fits and digits > 0 and _ends_token(buffer[pos]) and -_MAX_POWER <= exponent <= _MAX_POWER
    if exact:
        value, exact = _scale(mantissa, exponent)
        if negative:
            value = -value
    else:
        while not _ends_token(buffer[pos]):
            pos += 1
    return value, pos, exact


@kernel
def _parse_labels(buffer, pos, n_labels, label_start, label_end):
    """(end, number of labels so far, code): comma-separated labels; blanks may follow a comma."""
    while True:
        start = pos
        while not _ends_token(buffer[pos]) and buffer[pos] != _COMMA:
            if buffer[pos] < _SPACE or buffer[pos] == _DELETE:
                return pos, n_labels, CONTROL_BYTE
            pos += 1
        if pos == start:
            return pos, n_labels, EMPTY_LABEL
        label_start[n_labels] = start
        label_end[n_labels] = pos
        n_labels += 1
        if buffer[pos] != _COMMA:
            return pos, n_labels, OK
        pos += 1
        while _is_blank(buffer[pos]):
            pos += 1
        if _starts_feature(buffer, pos):
            return pos, n_labels, EMPTY_LABEL


@kernel
def _parse_index(buffer, pos, first_index, max_index):
    """(index from zero, position after the colon, code) of a feature."""
    start = pos
    index = np.int64(0)
    while _is_digit(buffer[pos]):
        index = min(index * 10 + np.int64(buffer[pos]) - _ZERO, max_index + first_index + 1)
        pos += 1
    if pos == start or buffer[pos] != _COLON:
        return index, start, EXPECTED_FEATURE
    index -= first_index
    if index < 0:
        return index, start, INDEX_BELOW_FIRST
    if index > max_index:
        return index, start, INDEX_TOO_LARGE
    pos += 1
    if _ends_token(buffer[pos]):
        return index, start, EMPTY_VALUE
    return index, pos, OK


@kernel
def parse_rows(
    buffer,
    first_index,
    max_index,
    keep_blank,
    row_start,
    indptr,
    indices,
    data,
    slow,
    label_indptr,
    label_start,
    label_end,
):
    """Fill the arrays from `buffer`, whose last byte must be a newline.

    `first_index` is 0 or 1, `max_index` the largest index allowed, counted from zero. With `keep_blank` a
    blank line is a row without labels and features; otherwise it is skipped. `slow[k]` is set where `float`
    has to read the number: `data[k]` then holds the number's offset in the buffer.
    `buffer[label_start[j]:label_end[j]]` is a label.

    Sizes: newlines bound the rows, colons the features, newlines and commas together the labels.

    Returns (rows, features, labels, sorted, code, offset): `sorted` is False when some row's indices do not
    ascend strictly; `code` is OK or what is wrong at `offset`.
    """
    pos = 0
    row = 0
    nnz = 0
    n_labels = np.int64(0)
    ascending = True
    indptr[0] = 0
    label_indptr[0] = 0
    while pos < buffer.size:
        line = pos
        while _is_blank(buffer[pos]):
            pos += 1
        if buffer[pos] != _NEWLINE and buffer[pos] != _HASH and not _starts_feature(buffer, pos):
            pos, n_labels, code = _parse_labels(buffer, pos, n_labels, label_start, label_end)
            if code != OK:
                return row, nnz, n_labels, ascending, code, pos
        previous = np.int64(-1)
        while True:
            while _is_blank(buffer[pos]):
                pos += 1
            if buffer[pos] == _NEWLINE or buffer[pos] == _HASH:
                break
            index, pos, code = _parse_index(buffer, pos, first_index, max_index)
            if code != OK:
                return row, nnz, n_labels, ascending, code, pos
            if index <= previous:
                ascending = False
            previous = index
            value, end, exact = _parse_number(buffer, pos)
            indices[nnz] = index
            data[nnz] = value if exact else np.float64(pos)
            slow[nnz] = not exact
            nnz += 1
            pos = end
        while buffer[pos] != _NEWLINE:
            pos += 1
        pos += 1
        if keep_blank or nnz > indptr[row] or n_labels > label_indptr[row]:
            row_start[row] = line
            row += 1
            indptr[row] = nnz
            label_indptr[row] = n_labels
    return row, nnz, n_labels, ascending, OK, pos
