"""Random vocabularies written by hand as SKOS and OBO files, whole and damaged, and slow readers of the same files."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from taxolearn import Taxonomy
from taxolearn.errors import TaxolearnError

SKOS = "http://www.w3.org/2004/02/skos/core#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
OWL = "http://www.w3.org/2002/07/owl#"
BASE = "http://example.org/c/"
OBO = "http://purl.obolibrary.org/obo/"
WORDS = ["Cat", "Lynx", "café", "漢字", "rock & roll", "a 'b'", "x < y", "Ünal", "Tea", "Oak tree", "Emu"]

Edges = set[tuple[str, str]]


@dataclass
class Known:
    """A vocabulary as it should come out: ids, reduced edges, labels and synonyms."""

    names: set[str]
    edges: Edges
    labels: dict[str, str]
    synonyms: dict[str, set[str]]


@dataclass
class Drawn:
    """A vocabulary before it is written: edges may be redundant."""

    names: list[str]
    edges: list[tuple[int, int]]  # parent, child
    dead: set[int]
    labels: list[str]
    synonyms: list[list[str]]

    @property
    def known(self) -> Known:
        above = {(self.names[a], self.names[b]) for a, b in self.edges}
        kept = {name for i, name in enumerate(self.names) if i not in self.dead}
        return Known(
            kept,
            reduced(above, kept),
            {name: self.labels[i] for i, name in enumerate(self.names) if name in kept},
            {name: set(self.synonyms[i]) for i, name in enumerate(self.names) if name in kept},
        )


def reduced(edges: Edges, kept: set[str]) -> Edges:
    """Whatever stands above what, among those kept, without the pairs that have one in between."""
    above = set(edges)
    while True:
        more = {(a, d) for a, b in above for c, d in above if b == c} - above
        if not more:
            break
        above |= more
    above = {(a, b) for a, b in above if a in kept and b in kept}
    return {(a, b) for a, b in above if not any((a, c) in above and (c, b) in above for c in kept)}


def draw(rng: np.random.Generator, prefix: str) -> Drawn:
    """3 to 14 concepts, each below up to three earlier ones; some edges are said by longer ways, too."""
    n = int(rng.integers(3, 15))
    edges = [
        (int(parent), child)
        for child in range(1, n)
        for parent in rng.choice(child, size=min(child, int(rng.integers(0, 4))), replace=False)
    ]
    labels = [f"{rng.choice(WORDS)} {i}" for i in range(n)]
    synonyms = [[f"{rng.choice(WORDS)} s{i}.{k}" for k in range(rng.integers(0, 3))] for i in range(n)]
    dead = {int(i) for i in rng.choice(n, size=int(rng.integers(0, 3)), replace=False)} if n > 4 else set()
    return Drawn([f"{prefix}{i}" for i in range(n)], edges, dead, labels, synonyms)


def skos_text(drawn: Drawn, kind: str, rng: np.random.Generator) -> str:
    """Broader here, narrower there, both somewhere; German labels that nobody asked for."""
    triples: list[
        tuple[str, str, str, str | None]
    ] = []  # subject, predicate, object, language (None: a resource)
    for i, name in enumerate(drawn.names):
        triples.append((name, RDF + "type", SKOS + "Concept", None))
        triples.append((name, SKOS + "prefLabel", drawn.labels[i], "en"))
        if rng.random() < 0.5:
            triples.append((name, SKOS + "prefLabel", f"de {i}", "de"))
            triples.append((name, SKOS + "altLabel", f"de {i}", "de"))
        triples += [(name, SKOS + "altLabel", synonym, "en") for synonym in drawn.synonyms[i]]
        if i in drawn.dead:
            triples.append((name, OWL + "deprecated", "true", ""))
        else:
            triples.append((name, SKOS + "inScheme", BASE + "scheme", None))
    for parent, child in drawn.edges:
        way = rng.integers(3)
        if way != 1:
            triples.append((drawn.names[child], SKOS + "broader", drawn.names[parent], None))
        if way != 0:
            triples.append((drawn.names[parent], SKOS + "narrower", drawn.names[child], None))
    order = rng.permutation(len(triples)) if rng.random() < 0.5 else range(len(triples))
    return {"ttl": _turtle, "rdf": _rdf_xml, "jsonld": _json_ld}[kind]([triples[i] for i in order])


def _turtle(triples: list[tuple[str, str, str, str | None]]) -> str:
    lines = [f"@prefix skos: <{SKOS}> .", f"@prefix c: <{BASE}> .", ""]
    for subject, predicate, value, language in triples:
        said = predicate.replace(SKOS, "skos:") if predicate.startswith(SKOS) else f"<{predicate}>"
        tag = f"@{language}" if language else ""
        shown = f"<{value}>" if language is None else f'"{value}"{tag}'
        lines.append(f"{subject.replace(BASE, 'c:')} {said} {shown} .")
    return "\n".join(lines) + "\n"


def _rdf_xml(triples: list[tuple[str, str, str, str | None]]) -> str:
    lines = [
        "<?xml version='1.0' encoding='UTF-8'?>",
        f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:skos="{SKOS}" xmlns:owl="{OWL}">',
    ]
    for subject, predicate, value, language in triples:
        said = predicate.replace(SKOS, "skos:").replace(RDF, "rdf:").replace(OWL, "owl:")
        tag = f' xml:lang="{language}"' if language else ""
        inner = (
            f"<{said} rdf:resource={quoteattr(value)}/>"
            if language is None
            else f"<{said}{tag}>{escape(value)}</{said}>"
        )
        lines.append(f"<rdf:Description rdf:about={quoteattr(subject)}>{inner}</rdf:Description>")
    return "\n".join([*lines, "</rdf:RDF>"]) + "\n"


def _json_ld(triples: list[tuple[str, str, str, str | None]]) -> str:
    graph = []
    for subject, predicate, value, language in triples:
        if predicate == RDF + "type":
            graph.append({"@id": subject, "@type": value})
            continue
        shown = {"@id": value} if language is None else {"@value": value}
        if language:
            shown["@language"] = language
        graph.append({"@id": subject, predicate: shown})
    context = {"skos": SKOS, "c": BASE}
    return json.dumps({"@context": context, "@graph": graph}, ensure_ascii=False, indent=1)


def obo_text(drawn: Drawn, kind: str, rng: np.random.Generator) -> str:
    """OBO text, or an OBO graph; some edges are part_of and must not count."""
    if kind == "json":
        return _obo_graph(drawn)
    lines = ["format-version: 1.4", "ontology: t", ""]
    for i, name in enumerate(drawn.names):
        lines += ["[Term]", f"id: {name}", f"name: {drawn.labels[i]}", f'def: "About {i}." [X:1]']
        lines += [f'synonym: "{synonym}" EXACT []' for synonym in drawn.synonyms[i]]
        for parent, child in drawn.edges:
            if child == i:
                note = f" ! {drawn.labels[parent]}" if rng.random() < 0.5 else ""
                lines.append(f"is_a: {drawn.names[parent]}{note}")
        if i:
            lines.append(f"relationship: part_of {drawn.names[0]}")
        if i in drawn.dead:
            lines.append("is_obsolete: true")
        lines.append("")
    return "\n".join([*lines, "[Typedef]", "id: part_of", "name: part of", ""])


def _obo_graph(drawn: Drawn) -> str:
    iri = [OBO + name.replace(":", "_") for name in drawn.names]
    nodes = []
    for i in range(len(drawn.names)):
        synonyms = [{"pred": "hasExactSynonym", "val": synonym} for synonym in drawn.synonyms[i]]
        meta = {"definition": {"val": f"About {i}."}, "synonyms": synonyms}
        if i in drawn.dead:
            meta["deprecated"] = True
        nodes.append({"id": iri[i], "lbl": drawn.labels[i], "type": "CLASS", "meta": meta})
    edges = [{"sub": iri[child], "pred": "is_a", "obj": iri[parent]} for parent, child in drawn.edges]
    edges += [{"sub": other, "pred": OBO + "BFO_0000050", "obj": iri[0]} for other in iri[1:]]
    return json.dumps({"graphs": [{"nodes": nodes, "edges": edges}]}, ensure_ascii=False, indent=1)


def damaged(raw: bytes, rng: np.random.Generator) -> bytes:
    """One or two wounds: a byte changed, added or taken; a line lost, doubled or moved; an end cut off."""
    for _ in range(int(rng.integers(1, 3))):
        lines = raw.split(b"\n")
        place, line = int(rng.integers(len(raw) + 1)), int(rng.integers(len(lines)))
        way = int(rng.integers(7))
        if way == 0:
            raw = raw[:place]
        elif way == 1:
            raw = raw[:place] + bytes([int(rng.choice(list(b'"<>{}[]:;.,!\\\n\xff\x00@#ax1')))]) + raw[place:]
        elif way == 2:
            raw = raw[:place] + raw[place + 1 :]
        elif way == 3:
            raw = raw[:place] + bytes([int(rng.integers(256))]) + raw[place + 1 :]
        elif way == 4:
            raw = b"\n".join(lines[:line] + lines[line + 1 :])
        elif way == 5:
            raw = b"\n".join([*lines[: line + 1], *lines[line:]])
        else:
            raw = b"\n".join([*lines[:line], *lines[line + 1 :], lines[line]])
    return raw


def read_slowly(raw: bytes, kind: str) -> Known | None:
    """What a file says, by sets of triples or lines; None where it is not even text or triples."""
    try:
        return {"obo": _slow_obo, "json": _slow_graph}.get(kind, _slow_skos)(raw, kind)
    except (SyntaxError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _slow_skos(raw: bytes, kind: str) -> Known:
    import pyoxigraph as oxigraph

    formats = {
        "ttl": oxigraph.RdfFormat.TURTLE,
        "rdf": oxigraph.RdfFormat.RDF_XML,
        "jsonld": oxigraph.RdfFormat.JSON_LD,
    }
    triples = [
        (q.subject.value, q.predicate.value, q.object)
        for q in oxigraph.parse(raw, formats[kind], base_iri=f"file:///f.{kind}")
    ]
    above = {(o.value, s) for s, p, o in triples if p == SKOS + "broader"}
    above |= {(s, o.value) for s, p, o in triples if p == SKOS + "narrower"}
    names = {s for s, p, o in triples if p == RDF + "type" and o.value == SKOS + "Concept"}
    names |= {s for s, p, _ in triples if p in (SKOS + "broader", SKOS + "narrower")}
    called = {s for s, p, o in triples if p in (SKOS + "prefLabel", SKOS + "altLabel") and o.value}
    names |= {name for pair in above for name in pair if name in called}
    dead = {s for s, p, o in triples if p == OWL + "deprecated" and o.value in ("true", "1")}
    labels, synonyms = {}, {}
    for s, p, o in triples:
        if getattr(o, "language", None) != "en" or not o.value:
            continue
        if p == SKOS + "prefLabel":
            labels.setdefault(s, o.value)
        if p == SKOS + "altLabel":
            synonyms.setdefault(s, set()).add(o.value)
    return _known(names, above, dead, labels, synonyms)


def _slow_obo(raw: bytes, kind: str) -> Known:
    names, above, dead, labels, synonyms = [], set(), set(), {}, {}
    for frame in re.split(r"^\[", raw.decode(), flags=re.MULTILINE)[1:]:
        head, *lines = frame.splitlines()
        if _plain(head) != "Term]":
            continue
        pairs = [line.split(":", 1) for line in lines if ":" in line and not line.startswith("!")]
        tags = [(tag.strip(), _plain(value)) for tag, value in pairs]
        name = next(value for tag, value in tags if tag == "id")
        names.append(name)
        above |= {(value, name) for tag, value in tags if tag == "is_a"}
        labels[name] = next((value for tag, value in tags if tag == "name"), "")
        synonyms[name] = {value.split('"')[1] for tag, value in tags if tag == "synonym"}
        if ("is_obsolete", "true") in tags:
            dead.add(name)
    return _known(set(names), above, dead, labels, synonyms)


def _plain(value: str) -> str:
    """Without comment and qualifiers, and without backslashes."""
    return re.sub(r"\\(.)", r"\1", re.split(r"(?<!\\)!|(?<!\\)\{", value)[0]).strip(" \t")


def _slow_graph(raw: bytes, kind: str) -> Known:
    names, above, dead, labels, synonyms = set(), set(), set(), {}, {}
    for graph in json.loads(raw)["graphs"]:
        for node in graph["nodes"]:
            if node.get("type", "CLASS" if node.get("lbl") else "") == "CLASS":
                name = _short(node["id"])
                names.add(name)
                meta = node.get("meta", {})
                labels[name] = node.get("lbl")
                synonyms[name] = {synonym["val"] for synonym in meta.get("synonyms", [])}
                if meta.get("deprecated"):
                    dead.add(name)
        for edge in graph["edges"]:
            if edge["pred"] == "is_a":
                above.add((_short(edge["obj"]), _short(edge["sub"])))
    return _known(names, above, dead, labels, synonyms)


def _short(iri: str) -> str:
    return re.sub(rf"^{re.escape(OBO)}([A-Za-z_]+)_(\w+)$", r"\1:\2", iri)


def _known(names: set[str], above: Edges, dead: set[str], labels: dict, synonyms: dict) -> Known:
    """Those described, and those that are only mentioned above or below one that is kept."""
    mentioned = {name for pair in above for name in pair} - names
    edges = reduced(above, (names | mentioned) - dead)
    kept = (names - dead) | {name for pair in edges for name in pair}
    return Known(
        kept,
        edges,
        {name: labels[name] for name in kept if labels.get(name)},
        {name: synonyms.get(name, set()) for name in kept},
    )


def read(path: Path) -> Known | TaxolearnError:
    """What taxolearn says about a file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            build = Taxonomy.from_obo if path.suffix in (".obo", ".json") else Taxonomy.from_skos
            taxonomy = build(path, **({} if build == Taxonomy.from_obo else {"language": "en"}))
    except TaxolearnError as error:
        return error
    names = {name for name in taxonomy.nodes if name != "<root>"}
    terms = taxonomy.terms
    return Known(
        names,
        {(a, b) for a, b in taxonomy.edges if a != "<root>"},
        {name: terms[name].label for name in names if name in terms and terms[name].label},
        {name: set(terms[name].synonyms) if name in terms else set() for name in names},
    )


def check_file(seed: int, family: str, folder: Path) -> str:
    """Draw, write, perhaps damage and read one file; what came of it: "whole", "read" or "error".

    AssertionError when the structure is not the right one, any other error when taxolearn lets it through.
    """
    rng = np.random.default_rng([seed, len(family)])
    kind = str(rng.choice(["ttl", "rdf", "jsonld"] if family == "skos" else ["obo", "json"]))
    drawn = draw(rng, BASE if family == "skos" else "T:")
    raw = (skos_text if family == "skos" else obo_text)(drawn, kind, rng).encode()
    hurt = rng.random() < 0.6
    if hurt:
        raw = damaged(raw, rng)
    path = folder / f"f.{kind}"
    path.write_bytes(raw)
    found = read(path)
    if not hurt:
        assert not isinstance(found, TaxolearnError), f"{family} {seed}: {found}"
        assert found == drawn.known, f"{family} {seed} ({kind}) is read as something else"
        return "whole"
    if isinstance(found, TaxolearnError):
        assert str(path) in str(found), f"{family} {seed}: the error does not name the file: {found}"
        return "error"
    expected = read_slowly(raw, kind)
    assert expected is not None, f"{family} {seed} ({kind}) was read, though it is broken"
    if family == "skos":  # a label in another language stands in for one that is missing
        expected.labels = {**found.labels, **expected.labels}
        expected.synonyms = {
            name: found.synonyms.get(name, set()) if name not in expected.labels else synonyms
            for name, synonyms in expected.synonyms.items()
        }
    assert found.names == expected.names, f"{family} {seed} ({kind}): other names"
    assert found.edges == expected.edges, f"{family} {seed} ({kind}): other edges"
    assert found.labels == expected.labels, f"{family} {seed} ({kind}): other labels"
    return "read"
