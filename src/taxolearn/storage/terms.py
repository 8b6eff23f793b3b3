"""What the nodes of a taxonomy are called besides their names, as header entries of a model and back."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

from taxolearn.errors import ModelError
from taxolearn.structure import Taxonomy
from taxolearn.structure.terms import Term

_TEXTS = ("label", "notation", "definition", "id")


def pack_terms(taxonomy: Taxonomy) -> dict[str, list[Any]]:
    """One list per property, in the order of `nodes`: which nodes have terms, their texts, synonyms one after another.

    >>> tree = Taxonomy.from_paths(["A/A1"]).with_terms({"A1": Term("Cat", synonyms=("Puss", "Tom"))})
    >>> packed = pack_terms(tree)
    >>> packed["nodes"], packed["label"], packed["n_synonyms"]
    ([1], ['Cat'], [2])
    """
    nodes = [node for node, name in enumerate(taxonomy.nodes) if name in taxonomy.terms]
    terms = [taxonomy.terms[taxonomy.nodes[node]] for node in nodes]
    return {
        "nodes": nodes,
        **{text: [getattr(term, text) for term in terms] for text in _TEXTS},
        "n_synonyms": [len(term.synonyms) for term in terms],
        "synonyms": [synonym for term in terms for synonym in term.synonyms],
    }


def unpack_terms(stored: Any, taxonomy: Taxonomy) -> Taxonomy:
    """The taxonomy with the terms that `pack_terms` wrote; anything else is a `ModelError`.

    >>> tree = Taxonomy.from_paths(["A/A1"]).with_terms({"A1": Term("Cat", synonyms=("Puss",))})
    >>> unpack_terms(pack_terms(tree), tree).terms == tree.terms
    True
    >>> unpack_terms({"nodes": [1]}, tree)
    Traceback (most recent call last):
    ...
    taxolearn.errors.ModelError: stored taxonomy: the terms of the nodes are not in order
    """
    wrong = ModelError("stored taxonomy: the terms of the nodes are not in order")
    keys = {"nodes", "n_synonyms", "synonyms", *_TEXTS}
    if (
        type(stored) is not dict
        or set(stored) != keys
        or any(type(part) is not list for part in stored.values())
    ):
        raise wrong
    nodes, counts, synonyms = stored["nodes"], stored["n_synonyms"], stored["synonyms"]
    texts = [stored[text] for text in _TEXTS]
    if any(len(part) != len(nodes) for part in (counts, *texts)) or len(set(map(repr, nodes))) != len(nodes):
        raise wrong
    if not all(type(node) is int and 0 <= node < taxonomy.n_nodes for node in nodes):
        raise wrong
    if not all(type(count) is int and count >= 0 for count in counts) or sum(counts) != len(synonyms):
        raise wrong
    if not all(type(text) is str for text in synonyms):
        raise wrong
    if not all(text is None or type(text) is str for part in texts for text in part):
        raise wrong
    bounds = pairwise(accumulate(counts, initial=0))
    terms = {}
    for place, (node, (first, last)) in enumerate(zip(nodes, bounds, strict=True)):
        own = {text: stored[text][place] for text in _TEXTS}
        terms[taxonomy.nodes[node]] = Term(**own, synonyms=tuple(synonyms[first:last]))
    return taxonomy.with_terms(terms)
