"""Labels, notations, synonyms and definitions are saved with a model and come back, or are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from taxolearn import OneVsRestSVM, Taxonomy, load
from taxolearn.errors import ModelError
from taxolearn.storage.terms import pack_terms, unpack_terms
from taxolearn.structure.terms import Term

TREE = Taxonomy.from_paths(["A/A1", "A/A2", "B"]).with_terms(
    {"A1": Term("Cat", "1.1", ("Puss", "Tom"), "It purrs.", "http://p.org/1"), "B": "Bee"}
)


def test_a_model_keeps_them(tmp_path: Path) -> None:
    model = OneVsRestSVM(taxonomy=TREE).fit([[-1.0], [0.5], [2.0]], ["A1", "A2", "B"])
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.taxonomy.terms == TREE.terms
    assert again.taxonomy.show_as(again.predict([[-1.0], [2.0]]), "label") == ["Cat", "Bee"]
    assert again.explain([-1.0]).titles == {"A1": "Cat", "B": "Bee"}


@pytest.mark.parametrize(
    "change",
    [
        {"nodes": [1, 1]},
        {"nodes": [1, 9]},
        {"nodes": [1, True]},
        {"nodes": [1]},
        {"label": ["Cat", 3]},
        {"label": "Cat"},
        {"n_synonyms": [1, 0]},
        {"n_synonyms": [3, -1]},
        {"synonyms": ["Puss", None]},
        {"more": []},
    ],
)
def test_what_was_altered_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match="the terms of the nodes are not in order"):
        unpack_terms({**pack_terms(TREE), **change}, TREE)
