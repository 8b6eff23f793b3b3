"""Taxonomies in published formats: fuzzed files, round trips, and real files against an independent count.

    python benchmarks/check_formats.py [FOLDER]

200 SKOS files (Turtle, RDF/XML, JSON-LD) and 200 OBO files (text, graphs), 60% of them damaged: each must be a
taxolearn error that names the file, or the structure that a slow reader finds. 200 taxonomies go through SKOS and back.
With a FOLDER, every .obo and .ttl file in it, compressed or not, is read, and its terms, obsolete ones and edges are
counted a second time by regular expressions on the text, redundant edges by networkx. Exits with 1 if anything differs.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import networkx
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from structure.format_cases import check_file, draw, reduced
from taxolearn import Taxonomy
from taxolearn.errors import TaxolearnError
from taxolearn.opening import plain_suffix, read_text
from taxolearn.structure.terms import Term

FILES = 200


def fuzz(family: str) -> int:
    """How many of the files went wrong."""
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(FILES):
            try:
                outcomes[check_file(seed, family, Path(folder))] += 1
            except Exception as error:  # noqa: BLE001  whatever comes through is what is looked for
                outcomes["wrong"] += 1
                print(f"{type(error).__name__}: {error}")
    print(
        f"{family}: {FILES} files, {outcomes['whole']} whole and right, {outcomes['read']} damaged and right, "
        f"{outcomes['error']} taxolearn errors, {outcomes['wrong']} wrong"
    )
    return outcomes["wrong"]


def round_trips() -> int:
    """How many taxonomies are not the same after SKOS."""
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(FILES):
            rng = np.random.default_rng(seed)
            drawn = draw(rng, "node ")
            names = set(drawn.names)
            edges = sorted(reduced({(drawn.names[a], drawn.names[b]) for a, b in drawn.edges}, names))
            tree = Taxonomy.from_parents(
                {name: [a for a, b in edges if b == name] or None for name in drawn.names}
            )
            terms = [
                Term(label, str(i), tuple(also), f"About {i}")
                for i, (label, also) in enumerate(zip(drawn.labels, drawn.synonyms, strict=True))
            ]
            tree = tree.with_terms(dict(zip(drawn.names, terms, strict=True)))
            path = Path(folder, f"t.{rng.choice(['ttl', 'rdf', 'jsonld', 'nt'])}")
            tree.to_skos(path, prefix="http://example.org/")
            again = Taxonomy.from_skos(path, prefix="http://example.org/")
            wrong += again.terms != tree.terms or set(again.edges) != set(tree.edges)
    print(f"round trips through SKOS: {FILES} taxonomies, {wrong} not the same")
    return wrong


def counted_obo(text: str) -> tuple[int, int, set[tuple[str, str]]]:
    """Terms that are not obsolete, obsolete ones, and the is_a pairs of the former."""
    frames = re.findall(r"^\[Term\][^\n]*\n((?:(?!\[)[^\n]*\n?)*)", text, re.MULTILINE)
    dead = [frame for frame in frames if re.search(r"^is_obsolete:\s*true", frame, re.MULTILINE)]
    alive = [frame for frame in frames if not re.search(r"^is_obsolete:\s*true", frame, re.MULTILINE)]
    edges = {
        (parent, re.search(r"^id:\s*(\S+)", frame, re.MULTILINE)[1])  # type: ignore[index]
        for frame in alive
        for parent in re.findall(r"^is_a:\s*(\S+)", frame, re.MULTILINE)
    }
    return len(alive), len(dead), edges


def counted_turtle(text: str) -> tuple[int, int, set[tuple[str, str]]]:
    """The same for Turtle in blocks of one subject each, with the prefix skos."""
    blocks = re.split(r"\.\s*\n(?=\S)", text)
    concepts = [block for block in blocks if re.search(r"\ba\s+[^;]*skos:Concept\b(?!S)", block)]
    links = set()
    for block in concepts:
        subject = re.match(r"\s*(\S+)", block)[1]  # type: ignore[index]
        for word, others in re.findall(r"skos:(broader|narrower)\s+([^;]*?)(?=\s*;|\s*$)", block):
            for other in re.split(r"\s*,\s*", others.rstrip(" .\n")):
                links.add((other, subject) if word == "broader" else (subject, other))
    dead = sum("owl:deprecated" in block for block in concepts)
    return len(concepts) - dead, dead, links


def real_files(folder: Path) -> int:
    """How many real files give other counts than the regular expressions do."""
    wrong = 0
    for path in sorted(folder.iterdir()):
        suffix = plain_suffix(path)
        if suffix not in (".obo", ".ttl"):
            continue
        began = time.perf_counter()
        try:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                taxonomy = Taxonomy.from_file(path)
        except TaxolearnError as error:
            print(f"{path.name}: {error}")
            continue
        seconds = time.perf_counter() - began
        alive, dead, edges = (counted_obo if suffix == ".obo" else counted_turtle)(read_text(path))
        described = sum(name in taxonomy.terms for name in taxonomy.nodes)
        found = sum(parent != "<root>" for parent, _ in taxonomy.edges)
        needed = len(edges)
        if needed != found:  # some are implied by longer ways
            needed = networkx.transitive_reduction(networkx.DiGraph(edges)).number_of_edges()
        good = described == alive and found == needed
        wrong += not good
        more = f", {len(told)} warning" if told else ""
        print(
            f"{path.name}: {taxonomy!r} in {seconds:.2f} s; {described:,} described (counted {alive:,}), "
            f"{found:,} edges (counted {needed:,} and {len(edges) - needed:,} that others imply), "
            f"{dead:,} obsolete left out{more}{'' if good else '  WRONG'}"
        )
    return wrong


def main() -> int:
    """Print what was read and what was wrong."""
    wrong = fuzz("skos") + fuzz("obo") + round_trips()
    if len(sys.argv) > 1:
        wrong += real_files(Path(sys.argv[1]))
    print(f"wrong: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
