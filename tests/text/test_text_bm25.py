"""BM25 weights against the slow twin, and their limits."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import normalize
from text_cases import MEDICAL, plain_texts

from reference.text_twin import bm25_rows
from taxolearn.text import TextFeatures

EXAMPLES = settings(deadline=None, max_examples=60)


@EXAMPLES
@given(st.lists(plain_texts, min_size=1, max_size=8), st.floats(0, 3), st.floats(0, 1))
def test_twin(texts, k1, b):
    texts = [*texts, "left hip"]
    names, rows = bm25_rows(texts, (1, 2), k1, b)
    features = TextFeatures(weighting="bm25", k1=k1, b=b, norm=None)
    np.testing.assert_allclose(features.fit_transform(texts).toarray(), rows, rtol=1e-10)
    np.testing.assert_allclose(features.transform(texts).toarray(), rows, rtol=1e-10)
    assert features.get_feature_names_out().tolist() == names
    for norm in ("l1", "l2"):
        scaled = features.set_params(norm=norm).fit_transform(texts).toarray()
        np.testing.assert_allclose(scaled, normalize(rows, norm=norm), rtol=1e-10)


def test_longer_texts_weigh_less_and_counts_saturate():
    features = TextFeatures(weighting="bm25", word_ngrams=(1, 1), norm=None).fit(
        ["hip", "hip femur femur femur"]
    )
    short, long = features.transform(["hip", "hip femur femur femur"]).toarray()[:, 1]
    assert short > long > 0
    flat = TextFeatures(weighting="bm25", word_ngrams=(1, 1), norm=None, b=0.0).fit(MEDICAL)
    column = flat.get_feature_names_out().tolist().index("fever")
    one, two, many = (flat.transform(["fever " * n])[0, column] for n in (1, 2, 1000))
    assert one < two < 2 * one
    assert many < 2.2 * one  # the limit is k1 + 1 times


def test_unit_rows_of_both_kinds():
    rows = TextFeatures(analyzer="word+char", weighting="bm25").fit_transform(MEDICAL)
    sizes = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)))
    np.testing.assert_allclose(sizes, [2**0.5] * 4 + [0] + [2**0.5])
