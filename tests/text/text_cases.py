"""Texts that tests of `taxolearn.text` share."""

from __future__ import annotations

from hypothesis import strategies as st

# Letters that change length in lower case or when accents go, all sorts of blanks, marks, zero bytes.
ODD = "abAB_1 -,.?éÉßİıΣσςﬁ¨\u00b4\u0301\u0327\u00a0\u1680\u2003\u2028\u0085\x1c\x00\t\n日本가ع٣😀"
odd_texts = st.text(st.sampled_from(ODD), max_size=25)
plain_texts = st.lists(st.sampled_from(["femur", "left", "Femur,", "hip", "a", "x-ray"]), max_size=8).map(
    " ".join
)
any_texts = st.one_of(odd_texts, plain_texts, st.text(max_size=15))
corpora = st.lists(any_texts, min_size=1, max_size=8)

MEDICAL = [
    "Fracture of left femur, initial encounter",
    "Fracture of right femur, subsequent encounter",
    "Fièvre typhoïde",
    "Fever of unknown origin; fever!",
    "",
    "X-ray of the left hip",
]
