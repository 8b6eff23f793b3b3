"""Text of unknown origin, made fit for a terminal or a page."""

from __future__ import annotations

import re

# Control characters of both kinds (ESC, CSI), line separators, marks that turn the direction of writing, and halves of
# characters, which cannot be encoded.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: str, keep: str = "") -> str:
    r"""The text with every control character written as JSON would, but those in `keep`: nothing moves the cursor.

    >>> print(printable("red \x1b[31m cat\n"))
    red \u001b[31m cat\n
    """
    if text.isprintable():
        return text

    def escaped(match: re.Match[str]) -> str:
        found = match[0]
        return found if found in keep else _SHORT.get(found, f"\\u{ord(found):04x}")

    return _CONTROLS.sub(escaped, text)


def cut(text: str, longest: int) -> str:
    """A text, or its beginning and how much is left out.

    >>> cut("abc", 3), cut("abcdef", 3)
    ('abc', 'abc… (3 of 6 characters)')
    """
    return text if len(text) <= longest else f"{text[:longest]}… ({longest:,} of {len(text):,} characters)"
