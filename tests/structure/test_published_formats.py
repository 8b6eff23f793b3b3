"""Taxonomies as publishers have them: SKOS, OBO, MeSH, tables of codes, plain text."""

from __future__ import annotations

import gzip
import json
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from structure.format_cases import check_file
from taxolearn import OneVsRestSVM, Taxonomy
from taxolearn.errors import DataError, FileFormatError, LabelError, TaxolearnError, TaxonomyError
from taxolearn.metrics import accuracy
from taxolearn.problem import encode_labels
from taxolearn.structure.terms import Term

HEAD = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n@prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
HEAD += "@prefix : <http://p.org/> .\n"
P = "http://p.org/"


def skos(folder: Path, text: str, **options: object) -> Taxonomy:
    path = folder / "pets.ttl"
    path.write_text(HEAD + text)
    return Taxonomy.from_skos(path, prefix=P, **options)


def obo(folder: Path, text: str, **options: object) -> Taxonomy:
    path = folder / "pets.obo"
    path.write_text("format-version: 1.4\n\n" + text)
    return Taxonomy.from_obo(path, **options)


@pytest.mark.parametrize("family", ["skos", "obo"])
def test_fuzzed_files_are_errors_or_the_right_structure(family: str, tmp_path: Path) -> None:
    outcomes = {check_file(seed, family, tmp_path) for seed in range(25)}
    assert outcomes == {"whole", "read", "error"}


class TestSkos:
    def test_broader_and_narrower_are_one_and_redundant_edges_go(self, tmp_path: Path) -> None:
        tree = skos(
            tmp_path,
            ":a a skos:Concept ; skos:narrower :b, :c . :b a skos:Concept ; skos:broader :a .\n"
            ":c a skos:Concept ; skos:broader :b, :a .",
        )
        assert tree.edges == (("a", "b"), ("b", "c"))

    def test_labels_by_language(self, tmp_path: Path) -> None:
        text = (
            ':c a skos:Concept ; skos:prefLabel "Cat"@en, "Katze"@de, "Büsi"@de-CH ;'
            ' skos:altLabel "Puss"@en, "Mieze"@de, "Felis" ; skos:definition "It purrs."@en ;'
            ' skos:notation "1.2" . :d a skos:Concept ; skos:prefLabel "Dog"@en .'
        )
        assert skos(tmp_path, text).terms["c"] == Term("Cat", "1.2", ("Puss", "Felis"), "It purrs.")
        german = skos(tmp_path, text, language="de").terms
        assert german["c"].label == "Katze"
        assert german["c"].synonyms == ("Mieze", "Felis")
        assert german["d"].label == "Dog"  # there is no German one
        assert skos(tmp_path, text, language="de-CH").terms["c"].label == "Büsi"
        with pytest.raises(FileFormatError, match=r"language 'fr', found en \(4\), de \(2\)"):
            skos(tmp_path, text, language="fr")

    def test_labels_of_skos_xl(self, tmp_path: Path) -> None:
        xl = "http://www.w3.org/2008/05/skos-xl#"
        tree = skos(
            tmp_path,
            f':c a skos:Concept ; <{xl}prefLabel> :l . :l <{xl}literalForm> "Cat"@en . :d a skos:Concept .',
        )
        assert tree.terms["c"].label == "Cat"

    def test_deprecated_concepts_are_left_out_and_bridged(self, tmp_path: Path) -> None:
        text = (
            ":a a skos:Concept . :b a skos:Concept ; skos:broader :a ; owl:deprecated true .\n"
            ":c a skos:Concept ; skos:broader :b ."
        )
        assert skos(tmp_path, text).edges == (("a", "c"),)
        assert skos(tmp_path, text, deprecated=True).edges == (("a", "b"), ("b", "c"))
        with pytest.raises(FileFormatError, match="found none once deprecated"):
            skos(tmp_path, ":b a skos:Concept ; owl:deprecated true .")

    def test_schemes(self, tmp_path: Path) -> None:
        text = (
            ":s a skos:ConceptScheme ; skos:hasTopConcept :a . :t a skos:ConceptScheme .\n"
            ":a a skos:Concept . :b skos:broader :a ; skos:inScheme :s .\n"
            ":c a skos:Concept ; skos:topConceptOf :t ."
        )
        assert skos(tmp_path, text).children("<root>") == ("a", "c")
        assert skos(tmp_path, text, scheme=P + "s").edges == (("a", "b"),)
        assert skos(tmp_path, text, scheme=[P + "s", P + "t"]).n_nodes == 4
        with pytest.raises(FileFormatError, match=r"expected the scheme 'http://p\.org/u'"):
            skos(tmp_path, text, scheme=P + "u")

    def test_names(self, tmp_path: Path) -> None:
        text = (
            ':a a skos:Concept ; skos:prefLabel "Pet" ; skos:notation "1" .\n'
            ':b a skos:Concept ; skos:prefLabel "Cat" ; skos:broader :a .'
        )
        assert skos(tmp_path, text, names="label").edges == (("Pet", "Cat"),)
        by_code = skos(tmp_path, text, names="notation")
        assert by_code.nodes == ("1", "b")  # the id where there is no notation
        assert by_code.terms["1"] == Term("Pet", "1", id="a")
        assert by_code.show_as(["1", "b"], "id") == ["a", "b"]
        with pytest.raises(FileFormatError, match="'a' and 'b' have the same label 'Pet'"):
            skos(tmp_path, text.replace("Cat", "Pet"), names="label")
        with pytest.raises(DataError, match="names must be"):
            skos(tmp_path, text, names="title")

    def test_what_is_only_mentioned_is_told(self, tmp_path: Path) -> None:
        with pytest.warns(
            UserWarning, match="1 concept is only mentioned and not described, for example 'x'"
        ):
            tree = skos(tmp_path, ":a a skos:Concept ; skos:broader :x .")
        assert tree.edges == (("x", "a"),)

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            (":a a skos:Concept ; skos:broader :b .\n:b skos:broader .", r":5: expected TURTLE: "),
            (":a skos:broader :b . :b skos:broader :a .", "form a cycle: '[ab]' -> "),
            (":a skos:broader :a .", "'a' is its own parent"),
            (':a skos:broader "b" .', r"broader of 'http://p.org/a' is the text 'b'; expected a resource"),
            ("[] a skos:Concept .", "expected an IRI for each concept"),
            (":a a skos:ConceptScheme .", "expected concepts .* found none"),
        ],
    )
    def test_broken(self, text: str, told: str, tmp_path: Path) -> None:
        with pytest.raises(FileFormatError, match=told) as caught:
            skos(tmp_path, text)
        assert str(tmp_path) in str(caught.value)

    def test_broken_xml_and_json_have_lines(self, tmp_path: Path) -> None:
        path = tmp_path / "a.rdf"
        rdf = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
        path.write_text(f"<?xml version='1.0'?>\n<rdf:RDF {rdf}>\n<rdf:Description></rdf:RDF>")
        with pytest.raises(FileFormatError, match=r"a\.rdf:3: expected RDF/XML"):
            Taxonomy.from_skos(path)
        path = tmp_path / "a.jsonld"
        path.write_text('{\n"@id": "http://p.org/a",\n]')
        with pytest.raises(FileFormatError, match=r"a\.jsonld:3: expected JSON-LD"):
            Taxonomy.from_skos(path)
        path.write_text('{"@context": "http://p.org/context.jsonld", "@id": "http://p.org/a"}')
        with pytest.raises(FileFormatError, match="nothing is fetched"):
            Taxonomy.from_skos(path)

    @pytest.mark.parametrize("suffix", ["ttl", "rdf", "jsonld", "nt", "ttl.gz"])
    def test_round_trip(self, suffix: str, tmp_path: Path) -> None:
        tree = Taxonomy.from_edges(
            [("Pet", "a/b c"), ("Pet", "Dog"), ("Wild", "Dog"), ("Wild", "http://x.org/1")]
        )
        tree = tree.with_terms(
            {"Dog": Term("dog", "1", ("hound", 'a "cur"'), "It barks.\nLoud."), "Pet": "pet"}
        )
        path = tmp_path / f"t.{suffix}"
        tree.to_skos(path)
        again = Taxonomy.from_skos(path, prefix="urn:taxonomy:")
        assert again == tree
        assert again.terms == tree.terms

    def test_round_trip_of_one_root_and_names_that_collide(self, tmp_path: Path) -> None:
        tree = Taxonomy.from_paths(["Pet/Dog"])
        tree.to_skos(tmp_path / "t.ttl", prefix=P, scheme="http://p.org/all", language="en")
        assert Taxonomy.from_skos(tmp_path / "t.ttl", prefix=P, scheme="http://p.org/all") == tree
        with pytest.raises(LabelError, match="would be one"):
            Taxonomy.from_edges([("1", 1)]).to_skos(tmp_path / "t.ttl")
        with pytest.raises(DataError, match="does not tell the format"):
            tree.to_skos(tmp_path / "t.txt")

    def test_without_pyoxigraph(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pyoxigraph", None)
        with pytest.raises(DataError, match=r"taxolearn\[skos\]"):
            skos(tmp_path, ":a a skos:Concept .")


class TestObo:
    TEXT = (
        "[Term]\nid: P:1\nname: pet\n\n[Term]\nid: P:2\nname: cat\n"
        'def: "It purrs." [X:1]\nsynonym: "puss" EXACT []\nis_a: P:1 ! pet\n\n'
        "[Term]\nid: P:3\nname: paw\nrelationship: part_of P:2\n\n"
        "[Term]\nid: P:4\nname: dodo\nis_obsolete: true\n\n[Typedef]\nid: part_of\n"
    )

    def test_terms_part_of_and_obsolete(self, tmp_path: Path) -> None:
        tree = obo(tmp_path, self.TEXT)
        assert tree.nodes == ("<root>", "P:1", "P:2", "P:3")
        assert tree.terms["P:2"] == Term("cat", None, ("puss",), "It purrs.")
        assert obo(tmp_path, self.TEXT, part_of=True).path("P:3") == ("P:1", "P:2", "P:3")
        assert "P:4" in obo(tmp_path, self.TEXT, obsolete=True)
        assert obo(tmp_path, self.TEXT, names="label").children("pet") == ("cat",)

    def test_graphs_have_the_same_ids(self, tmp_path: Path) -> None:
        base = "http://purl.obolibrary.org/obo/"
        nodes = [
            {"id": base + "P_1", "lbl": "pet", "type": "CLASS"},
            {"id": base + "P_2", "lbl": "cat", "type": "CLASS", "meta": {"definition": {"val": "It purrs."}}},
            {"id": base + "P_3", "lbl": "paw", "type": "CLASS"},
            {"id": base + "P_4", "lbl": "dodo", "type": "CLASS", "meta": {"deprecated": True}},
            {"id": base + "BFO_0000050", "lbl": "part of", "type": "PROPERTY"},
        ]
        nodes[1]["meta"]["synonyms"] = [{"pred": "hasExactSynonym", "val": "puss"}]  # type: ignore[index]
        edges = [
            {"sub": base + "P_2", "pred": "is_a", "obj": base + "P_1"},
            {"sub": base + "P_3", "pred": base + "BFO_0000050", "obj": base + "P_2"},
        ]
        path = tmp_path / "pets.json"
        path.write_text(json.dumps({"graphs": [{"nodes": nodes, "edges": edges}]}))
        for part_of in (False, True):
            by_text = obo(tmp_path, self.TEXT, part_of=part_of)
            by_graph = Taxonomy.from_obo(path, part_of=part_of)
            assert by_graph == by_text
            assert by_graph.terms == by_text.terms
        assert Taxonomy.from_file(path) == Taxonomy.from_obo(path)

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("[Term]\nid: P:1\nis_a:\n", r"pets\.obo:5: expected "),
            ("[Tern]\nid: P:1\n", r"pets\.obo:3: expected EntityFrame, found '\[Tern\]'"),
            (
                "[Term]\nid: P:1\n\n[Term]\nid: P:1\n",
                r"pets\.obo:7: expected each term once, found 'P:1' again",
            ),
            ("[Term]\nid: P:1\nis_a: P:2\n\n[Term]\nid: P:2\nis_a: P:1\n", "form a cycle: 'P:[12]' -> "),
            ("[Typedef]\nid: part_of\n", "expected terms .* found none"),
        ],
    )
    def test_broken(self, text: str, told: str, tmp_path: Path) -> None:
        with pytest.raises(FileFormatError, match=told):
            obo(tmp_path, text)

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ('{"graphs": [\n{]}', ":2: expected JSON"),
            ('{"graph": []}', "expected a list as 'graphs' of the file"),
            ('{"graphs": [{"nodes": [{"id": 3}], "edges": []}]}', "expected a text as 'id'|found none"),
            ('{"graphs": [{"nodes": [], "edges": [{"sub": "a"}]}]}', "expected a text as 'pred' of an edge"),
        ],
    )
    def test_broken_graphs(self, text: str, told: str, tmp_path: Path) -> None:
        path = tmp_path / "pets.json"
        path.write_text(text)
        with pytest.raises(FileFormatError, match=told):
            Taxonomy.from_obo(path)

    def test_without_fastobo(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "fastobo", None)
        with pytest.raises(DataError, match=r"taxolearn\[obo\]"):
            obo(tmp_path, self.TEXT)


class TestMesh:
    def test_tree_numbers_make_a_dag(self, tmp_path: Path) -> None:
        path = tmp_path / "mtrees.bin"
        path.write_text("Head;A01.456\nFace;A01.456.505\nSense;A09\nEye;A09.371\nEye;A01.456.505.420\n")
        tree = Taxonomy.from_file(path)
        assert tree.parents("Eye") == ("Face", "Sense")
        assert tree.children("<root>") == ("Head", "Sense")
        assert tree.terms["Eye"].notation == "A01.456.505.420"

    def test_records(self, tmp_path: Path) -> None:
        path = tmp_path / "d2026.bin"
        path.write_text(
            "*NEWRECORD\nRECTYPE = D\nMH = Eye\nENTRY = Eyes|T023|NON|EQV|NLM (2000)\nMN = A09.371\n"
            "MS = It sees.\nUI = D005123\n\n*NEWRECORD\nMH = Sense\nMN = A09\nUI = D012679\n\n"
            "*NEWRECORD\nMH = Female\nUI = D005260\n"
        )
        tree = Taxonomy.from_mesh(path)
        assert tree.edges == (("D012679", "D005123"),)
        assert tree.terms["D005123"] == Term("Eye", "A09.371", ("Eyes",), "It sees.")

    def test_xml(self, tmp_path: Path) -> None:
        path = tmp_path / "desc2026.xml"
        eye = (
            "<DescriptorRecord><DescriptorUI>D005123</DescriptorUI><DescriptorName><String>Eye</String>"
            "</DescriptorName><TreeNumberList><TreeNumber>A09.371</TreeNumber></TreeNumberList><ConceptList>"
            "<Concept PreferredConceptYN='Y'><ScopeNote>It sees.</ScopeNote><TermList><Term><String>Eye</String>"
            "</Term><Term><String>Eyes</String></Term></TermList></Concept></ConceptList></DescriptorRecord>"
        )
        sense = (
            "<DescriptorRecord><DescriptorUI>D012679</DescriptorUI><DescriptorName><String>Sense</String>"
            "</DescriptorName><TreeNumberList><TreeNumber>A09</TreeNumber></TreeNumberList></DescriptorRecord>"
        )
        whole = f"<?xml version='1.0'?>\n<DescriptorRecordSet>\n{eye}\n{sense}\n</DescriptorRecordSet>"
        path.write_text(whole)
        tree = Taxonomy.from_file(path)
        assert tree.edges == (("D012679", "D005123"),)
        assert tree.terms["D005123"] == Term("Eye", "A09.371", ("Eyes",), "It sees.")
        path.write_text(whole.replace("<TreeNumberList>", "<TreeNumberLst>"))
        with pytest.raises(FileFormatError, match=r"desc2026\.xml:3: expected XML: mismatched tag"):
            Taxonomy.from_file(path)
        path.write_text(whole.replace("<DescriptorUI>D012679</DescriptorUI>", ""))
        with pytest.raises(FileFormatError, match="expected a DescriptorUI"):
            Taxonomy.from_mesh(path)

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("Head;A01\nFace A02\n", ":2: expected 'heading;tree number', found 'Face A02'"),
            ("Head;A01\nFace;A01\n", ":2: expected each tree number once"),
            ("*NEWRECORD\nMH = Eye\nMN = A09\n", ":1: expected MH and UI"),
            ("*NEWRECORD\nMH Eye\n", ":2: expected 'KEY = value'"),
        ],
    )
    def test_broken(self, text: str, told: str, tmp_path: Path) -> None:
        path = tmp_path / "mtrees.bin"
        path.write_text(text)
        with pytest.raises(FileFormatError, match=told):
            Taxonomy.from_mesh(path)


class TestTexts:
    def test_indented_files(self, tmp_path: Path) -> None:
        path = tmp_path / "pets.txt"
        path.write_text("# my pets\nPet\n\tCat\n\t\tLion\n\tDog\n\nPlant\n\tOther\n")
        tree = Taxonomy.from_file(path)
        assert tree.path("Lion") == ("<root>", "Pet", "Cat", "Lion")
        path.write_text("Pet\n    Cat\n  Dog\n")
        with pytest.raises(FileFormatError, match=r"pets\.txt:3: expected 0 or 4 blanks before 'Dog'"):
            Taxonomy.from_file(path)

    @pytest.mark.parametrize("lines", [[" Pet"], ["Pet", 3]])
    def test_indented_lines_that_are_none(self, lines: list[object]) -> None:
        with pytest.raises(TaxonomyError, match=r"line [12]: expected"):
            Taxonomy.from_indented(lines)

    def test_google_and_shopify(self, tmp_path: Path) -> None:
        path = tmp_path / "taxonomy.txt"
        path.write_text(
            "# Google_Product_Taxonomy_Version: 2021-09-21\n1 - Animals\n3237 - Animals > Live\n"
            "5 - Animals > Other\n6 - Media\n7 - Media > Other\n"
        )
        tree = Taxonomy.from_file(path)
        assert tree.children("Animals") == ("Live", "Animals > Other")
        assert tree.find("7") == ("Media > Other",)
        assert tree.terms["Media > Other"] == Term("Other", "7")
        path.write_text("gid://shopify/TaxonomyCategory/ap-1 : Animals > Live\n")
        assert Taxonomy.from_file(path).terms["Live"].notation == "gid://shopify/TaxonomyCategory/ap-1"
        path.write_text("A > B\nA >  > C\n")
        with pytest.raises(FileFormatError, match=":2: expected names between"):
            Taxonomy.from_file(path)

    def test_edge_files_are_left_to_their_reader(self, tmp_path: Path) -> None:
        path = tmp_path / "edges.txt"
        path.write_text("Pet Cat\nPet Dog\n")
        with pytest.raises(FileFormatError, match="see read_edges"):
            Taxonomy.from_file(path)


class TestCodes:
    def test_digits(self) -> None:
        tree = Taxonomy.from_paths(["0101.21", "0101.29", "02"], sep=(2, 4, 6))
        assert tree.path("0101.29") == ("<root>", "01", "0101", "0101.29")
        assert Taxonomy.from_paths(np.array([1, 12, 123]), sep=[1, 2, 3]).path("123") == ("1", "12", "123")

    @pytest.mark.parametrize(
        ("codes", "sep", "told"),
        [
            (["010"], (2, 4), "path 0: the code '010' has 3 digits; expected one of 2, 4"),
            (["01", None], (2, 4), "path 1: expected a code"),
            (["01"], (4, 2), "rising numbers"),
            (["000000-999999"], (2, 6), "the range '000000-999999' stands for more than 1,000 codes"),
            (["01"], (), "rising numbers"),
        ],
    )
    def test_wrong_digits(self, codes: list[object], sep: tuple[int, ...], told: str) -> None:
        with pytest.raises(TaxonomyError, match=told):
            Taxonomy.from_paths(codes, sep=sep)

    def test_gs1_and_unspsc(self, tmp_path: Path) -> None:
        path = tmp_path / "gpc.csv"
        path.write_text(
            "Segment Code,Segment Title,Segment Definition,Family Code,Family Title,Family Definition\n"
            '50,Food,"All, to eat",5010,Fruit,\n50,Food,"All, to eat",5020,Fish,\n60,Text,,,,\n'
        )
        tree = Taxonomy.from_file(path)
        assert tree.edges == (("<root>", "50"), ("<root>", "60"), ("50", "5010"), ("50", "5020"))
        assert tree.terms["50"] == Term("Food", definition="All, to eat")
        path.write_text("Key;Segment;Segment Title;Family;Family Title\n1;10000000;Live;10100000;Animals\n")
        assert Taxonomy.from_file(path).show_as(["10100000"], "label") == ["Animals"]
        path.write_text(
            "Segment Code,Segment Title,Family Code,Family Title\n5,Food,51,Fruit\n5,Feed,52,Hay\n"
        )
        with pytest.raises(FileFormatError, match="the code '5' is called 'Feed' here, and 'Food' above"):
            Taxonomy.from_file(path)
        path.write_text("Segment Code,Segment Title,Family Code,Family Title\n5,Food,51\n")
        with pytest.raises(FileFormatError, match=r"gpc\.csv:2: expected 4 cells as in the header, found 3"):
            Taxonomy.from_file(path)

    def test_naics(self, tmp_path: Path) -> None:
        path = tmp_path / "naics.csv.gz"
        text = "Seq. No.,2022 NAICS US Code,2022 NAICS US Title\n1,31-33,Making\n2,321,Wood\n3,3211,Mills\n"
        path.write_bytes(gzip.compress(text.encode()))
        assert Taxonomy.from_file(path).path("3211") == ("31-33", "321", "3211")

    def test_level_columns(self, tmp_path: Path) -> None:
        path = tmp_path / "levels.csv"
        path.write_text("level1,level2\nA,Other\nB,Other\nC,\n")
        assert Taxonomy.from_file(path).leaves == ("A/Other", "B/Other", "C")


class TestTerms:
    def tree(self) -> Taxonomy:
        tree = Taxonomy.from_edges([("A", "B"), ("B", "C"), ("A", "C"), ("A", "D")])
        return tree.with_terms({"C": Term("Cat", "1"), "D": "Dog"})

    def test_they_stay_with_their_nodes(self) -> None:
        tree = self.tree()
        for other in (
            tree.transitive_reduction(),
            tree.merge_duplicates()[0],
            pickle.loads(pickle.dumps(tree)),
        ):
            assert other.terms["C"] == Term("Cat", "1")
        assert dict(tree.sub("B").terms) == {"C": Term("Cat", "1")}

    def test_equality_is_that_of_names_and_edges(self) -> None:
        assert self.tree() == self.tree().with_terms({})

    @pytest.mark.parametrize(
        ("terms", "told"),
        [
            ({"X": "x"}, "unknown name 'X'"),
            ({"A": 3}, "give a label or a Term"),
            ({"A": Term(3)}, "give a label or a Term"),
            ({"A": Term("a", synonyms=("b", 3))}, "give a label or a Term"),
            ([("A", "a")], "must be a mapping"),
        ],
    )
    def test_wrong_terms(self, terms: object, told: str) -> None:
        with pytest.raises(TaxolearnError, match=told):
            self.tree().with_terms(terms)

    def test_showing(self) -> None:
        assert self.tree().show_as([["C", "D"], ["A"]], "label") == [["Cat", "Dog"], ["A"]]
        assert self.tree().show_as(np.array(["C"]), "name") == ["C"]
        with pytest.raises(LabelError, match="unknown name 'Z'"):
            self.tree().show_as(["Z"], "label")
        with pytest.raises(LabelError, match="iterable"):
            self.tree().show_as("C", "label")

    def test_labels_in_y_may_be_any_term_of_one_node(self) -> None:
        tree = self.tree()
        assert encode_labels(["C", "Cat", "A/Cat"], tree).indices.tolist() == [tree.id_of("C")] * 3
        both = tree.with_terms({"C": "Cat", "B": "Cat"})
        with pytest.raises(LabelError, match="y, row 1: 'Cat' may be 'B' or 'C'; give one of these"):
            encode_labels(["C", "Cat"], both)

    def test_a_model_of_terms(self) -> None:
        tree = Taxonomy.from_paths(["p/c1", "p/c2", "q/c3"]).with_terms(
            {"c1": Term("Cat", "1"), "c2": Term("Dog", "2", ("Hound",)), "c3": Term("Oak", "3"), "p": "Pet"}
        )
        X, y = np.eye(3), ["Cat", "Hound", "Oak"]
        model = OneVsRestSVM(tree, class_weight={"Cat": 2.0}).fit(X, y)
        assert model.classes_.tolist() == ["c1", "c2", "c3"]
        assert model.score(X, y) == model.score(X, [1, 2, 3]) == accuracy(y, model.predict(X), tree) == 1.0
        levels = np.array([["Pet", "Cat"], ["Pet", "Dog"], ["q", "Oak"]])
        assert model.score(X, levels) == 1.0
        assert model.explain(X[0], label="Oak").label == "c3"

    def test_finding(self) -> None:
        tree = self.tree().with_terms(
            {"C": Term("Cat", synonyms=("Pet",)), "D": Term("Pet"), "B": Term("Cat")}
        )
        assert tree.find("Pet") == ("D",)  # a label before a synonym
        assert tree.find("Cat") == ("B", "C")
        assert tree.find("A") == ("A",)
