"""Text classifiers in one folder: the same after loading, and 300 damaged or forged folders that never crash."""

from __future__ import annotations

import random
import shutil
import signal
import struct
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_folders import arrays_path, edit_document, replace_arrays_file
from safetensors.numpy import load_file, save

import taxolearn
from reference.text_models import LABELS, NEW_TEXTS, TEXTS, TREE, text_model
from taxolearn import OneVsRestLogistic, OneVsRestSVM, TextClassifier
from taxolearn.errors import ModelError
from taxolearn.storage import read_manifest
from taxolearn.storage.classifiers import unpack_params
from taxolearn.text import TextFeatures

Damage = Callable[[Path, random.Random], None]
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    """A load that hangs fails instead."""
    if hasattr(signal, "alarm"):
        signal.alarm(120)
    yield
    if hasattr(signal, "alarm"):
        signal.alarm(0)


@cache
def row_model() -> OneVsRestSVM:
    """A model without text that has everything optional: several labels, thresholds, probabilities, names."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    y = [[1] if x > 0 else [2, 3] for x in table["a"]]
    model = OneVsRestSVM(probability=True, thresholds="tuned", class_weight={1: 2.0}, random_state=0)
    return model.fit(table, y)


def answers(model: Any) -> str:
    """All that a loaded model says; equal for equal models."""
    if isinstance(model, TextClassifier):
        told = [model.predict(NEW_TEXTS), model.predict_path(NEW_TEXTS), model.decision_function(NEW_TEXTS)]
        told += [model.explain(text).to_dict()["nodes"] for text in NEW_TEXTS[:2]]
    else:
        rows = np.array([[0.5, -1.0, 2.0], [-0.5, 0.0, 1.0]])
        told = [model.predict(rows), model.predict_path(rows), model.decision_function(rows)]
    return repr([entry.tolist() if isinstance(entry, np.ndarray) else entry for entry in told])


@pytest.mark.parametrize("labels", ["names", "sets"])
@pytest.mark.parametrize("analyzer", ["word", "char", "word+char"])
def test_a_loaded_text_classifier_is_the_same(tmp_path: Path, labels: str, analyzer: str) -> None:
    model = text_model(labels, analyzer)
    model.save(tmp_path)
    loaded = taxolearn.load(tmp_path)
    assert type(loaded) is TextClassifier
    assert answers(loaded) == answers(model)
    assert [loaded.explain(text) for text in NEW_TEXTS] == [model.explain(text) for text in NEW_TEXTS]
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert loaded.certificate_.gap == model.certificate_.gap
    assert loaded.taxonomy == TREE
    assert loaded.titles == model.titles
    assert str(loaded) == str(model)
    assert sorted(path.name for path in tmp_path.iterdir()) == [arrays_path(tmp_path).name, "model.json"]


def test_the_choice_of_features_is_kept(tmp_path: Path) -> None:
    model = TextClassifier(OneVsRestSVM(), random_state=0).fit(TEXTS, LABELS)
    model.save(tmp_path)
    loaded = taxolearn.load(tmp_path)
    assert (loaded.features, loaded.random_state, loaded.titles) == (None, 0, None)
    assert loaded.estimator.get_params() == model.estimator.get_params()
    assert loaded.tried_ == model.tried_
    assert loaded.fit(TEXTS, LABELS).predict(NEW_TEXTS).tolist() == model.predict(NEW_TEXTS).tolist()


def test_probabilities_and_odd_names_are_kept(tmp_path: Path) -> None:
    names = [7 if name in ("femur", "tibia") else name for name in LABELS]
    titles = {("bone", 1): "bones", 7: "seven"}
    model = TextClassifier(OneVsRestLogistic(class_weight={7: 3.0}), TextFeatures(), titles=titles)
    model.fit(TEXTS, names).save(tmp_path)
    loaded = taxolearn.load(tmp_path)
    assert loaded.predict_proba(NEW_TEXTS).tolist() == model.predict_proba(NEW_TEXTS).tolist()
    assert loaded.titles == titles
    assert loaded.estimator_.class_weight == {7: 3.0}
    assert [type(name) for name in loaded.classes_] == [type(name) for name in model.classes_]


def test_the_manifest_tells_method_and_parts(tmp_path: Path) -> None:
    text_model().save(tmp_path)
    header = read_manifest(tmp_path).header
    assert header["method"] == "TextClassifier"
    assert header["estimator"]["method"] == "OneVsRestSVM"
    assert header["estimator"]["params"]["C"] == 3.0
    assert header["features"]["settings"]["analyzer"] == "word"


def test_a_folder_without_text_loads_as_its_estimator(tmp_path: Path) -> None:
    row_model().save(tmp_path)
    loaded = taxolearn.load(tmp_path)
    assert type(loaded) is OneVsRestSVM
    assert answers(loaded) == answers(row_model())
    assert (
        loaded.predict_proba([[1.0, 0.0, 0.0]]).tolist()
        == row_model().predict_proba([[1.0, 0.0, 0.0]]).tolist()
    )
    assert loaded.get_params() == row_model().get_params()
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c"]


def test_text_replaces_rows_and_rows_text(tmp_path: Path) -> None:
    for model in (row_model(), text_model(), row_model()):
        model.save(tmp_path)
        assert answers(taxolearn.load(tmp_path)) == answers(model)


def test_only_fitted_models_of_taxolearn_are_saved(tmp_path: Path) -> None:
    class Own(OneVsRestSVM):
        pass

    with pytest.raises(ModelError, match="this TextClassifier is not fitted yet"):
        TextClassifier().save(tmp_path / "model")
    with pytest.raises(ModelError, match="Own is not one of taxolearn's methods"):
        Own().fit([[-1.0], [1.0]], ["a", "b"]).save(tmp_path / "model")
    model = text_model("names", "char")
    model = TextClassifier(model.estimator, model.features, random_state=np.random.RandomState(0))
    with pytest.raises(ModelError, match=r"params\.random_state is a RandomState"):
        model.fit(TEXTS, LABELS).save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


# ---- damage


def flip_a_bit(folder: Path, rng: random.Random) -> None:
    path = rng.choice([folder / "model.json", arrays_path(folder)])
    raw = bytearray(path.read_bytes())
    raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    path.write_bytes(raw)


def cut_or_extend(folder: Path, rng: random.Random) -> None:
    path = rng.choice([folder / "model.json", arrays_path(folder)])
    raw = path.read_bytes()
    path.write_bytes(raw[: rng.randrange(len(raw))] if rng.random() < 0.7 else raw + b"\0" * rng.randrange(9))


def swap_files(folder: Path, rng: random.Random) -> None:
    other = folder.with_name("other")
    (row_model() if rng.random() < 0.5 else text_model("sets", "char")).save(other)
    way = rng.randrange(4)
    if way == 0:
        shutil.copy(other / "model.json", folder / "model.json")
    elif way == 1:
        shutil.copy(arrays_path(other), arrays_path(folder))
    elif way == 2:  # the other's arrays as a file of this one
        replace_arrays_file(folder, arrays_path(other).read_bytes())
    else:
        arrays_path(folder).unlink()


def forge_array(folder: Path, rng: random.Random) -> None:
    """A value or a shape that cannot be, with all checksums right."""
    arrays = {name: array.copy() for name, array in load_file(arrays_path(folder)).items()}
    name = rng.choice(sorted(arrays))
    array = arrays[name]
    if rng.random() < 0.4:
        arrays[name] = rng.choice(
            [array[:-1], array[:0], np.concatenate([array, array[:1]]), array[None]]
        ).copy()
    elif array.dtype.kind == "f":
        array.reshape(-1)[rng.randrange(array.size)] = rng.choice([np.nan, np.inf, -np.inf])
    else:
        wrong = rng.choice([255] if array.dtype == np.uint8 else [-1, 2**31 - 1, -(2**31)])
        array.reshape(-1)[rng.randrange(array.size)] = wrong
    shape = list(arrays[name].shape)
    replace_arrays_file(folder, save(arrays))
    edit_document(folder, lambda document: document["arrays"][name].update(shape=shape))


def drop_array(folder: Path, rng: random.Random) -> None:
    arrays = load_file(arrays_path(folder))
    name = rng.choice(sorted(arrays))
    if rng.random() < 0.5:
        del arrays[name]
    else:
        # float32 weights would be an honest model of their own
        arrays[name] = arrays[name].astype(rng.choice([np.int64, np.uint8]))
    replace_arrays_file(folder, save(arrays))
    specs = {key: {"dtype": str(array.dtype), "shape": list(array.shape)} for key, array in arrays.items()}
    edit_document(folder, lambda document: document.update(arrays=specs))


JUNK: list[Any] = [None, True, -1, 2**70, 1.5, [], [[]], {}, {"a": 1}, "", "x" * 50, "../up", {"$tuple": [1]}]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All paths into a JSON value."""
    inner: list[Any] = []
    if isinstance(value, dict):
        inner = [places(entry, (*path, key)) for key, entry in value.items()]
    elif isinstance(value, list):
        inner = [places(entry, (*path, i)) for i, entry in enumerate(value)]
    return [path] * bool(path) + [place for some in inner for place in some]


def at(document: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        document = document[step]
    return document


def forge_header(folder: Path, rng: random.Random) -> None:
    """Drop or replace any one entry of the header that could change an answer."""

    def edit(document: Any) -> None:
        # Parameters, titles and the table of what was tried do not enter predictions; names may be others.
        harmless = {"params", "titles", "tried", "names", "given", "feature_names"}
        candidates = [path for path in places(document["header"]) if not harmless & set(path)]
        *above, key = rng.choice(candidates)
        holder = at(document["header"], tuple(above))
        if rng.random() < 0.4:
            del holder[key]
        else:
            holder[key] = rng.choice(JUNK)

    edit_document(folder, edit)


def forge_harmless(folder: Path, rng: random.Random) -> None:
    """Parameters and the like: refused, or without effect on predictions."""

    def edit(document: Any) -> None:
        header = document["header"]
        wanted = {"params", "tried", "given", "feature_names"}
        *above, key = rng.choice([path for path in places(header) if wanted & set(path)])
        holder = at(header, tuple(above))
        if rng.random() < 0.3:
            del holder[key]
        elif rng.random() < 0.3 and isinstance(holder, dict):
            holder[f"{key}_more"] = 1
        else:
            holder[key] = rng.choice(JUNK)

    edit_document(folder, edit)


def forge_classes(folder: Path, rng: random.Random) -> None:
    def edit(document: Any) -> None:
        header = document["header"].get("estimator", document["header"])
        classes = header["classes"]
        way = rng.randrange(5)
        if way == 0:
            classes["names"].pop()
        elif way == 1:
            classes["names"].append("more")
        elif way == 2:
            classes["names"][0] = classes["names"][1]
        elif way == 3:
            classes["names"][0] = rng.choice([None, [], {}, {"tuple": None}, {"bytes": "0"}, {"x": 1}, ["a"]])
        else:
            classes["dtype"] = rng.choice(
                ["<U1", "<U999999999", "<U9999999999999", "int8", "M8[s]", "(((", "O", "V8", "f8,f8", "bool"]
            )

    edit_document(folder, edit)


def forge_method(folder: Path, rng: random.Random) -> None:
    def edit(document: Any) -> None:
        header = document["header"]
        inner = header.get("estimator", header)
        target = rng.choice([header, inner])
        # OneVsRestLogistic would be an honest model of its own, if its parameters were the same.
        names = [
            "Taxonomy",
            "load",
            "ClassGraph",
            "os.system",
            "__class__",
            "",
            "TextClassifier",
            "OneVsRestLogistic",
        ]
        target["method"] = rng.choice([*names, *JUNK])

    edit_document(folder, edit)


def forge_labels(folder: Path, rng: random.Random) -> None:
    def edit(document: Any) -> None:
        labels = document["header"].get("estimator", document["header"])["labels"]
        if rng.random() < 0.3:
            labels["form"] = rng.choice(["indicator", "sentences", "", None, 3])
        else:
            bad = [["columns", 4, "int64"], ["columns", -1, "int64", True], ["columns", 2**40, "int64", True]]
            bad += [["columns", 4, "(((", True], ["columns", 4, "object", False], [4, "int64"]]
            labels["form"] = rng.choice(["indicator", labels["form"]])
            labels["indicator"] = {"$tuple": rng.choice(bad)}

    edit_document(folder, edit)


DAMAGES: list[Damage] = [
    flip_a_bit,
    cut_or_extend,
    swap_files,
    forge_array,
    drop_array,
    forge_header,
    forge_harmless,
    forge_classes,
    forge_method,
    forge_labels,
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_thirty_damaged_folders_are_refused_or_answer_as_before(tmp_path: Path, damage: Damage) -> None:
    models = (text_model("names", "word+char"), row_model())
    kept = tmp_path / "kept"
    sentences = []
    for seed in range(30):
        model = models[seed % 2]
        folder = tmp_path / f"{seed}" / "model"
        source = kept / f"{seed % 2}"
        if not source.exists():
            model.save(source)
        shutil.copytree(source, folder)
        damage(folder, random.Random(f"{damage.__name__} {seed}"))
        try:
            loaded = taxolearn.load(folder)
        except ModelError as error:
            sentences.append(str(error))
        else:
            assert answers(loaded) == answers(model), seed
    assert len(sentences) >= (5 if damage is forge_harmless else 15)
    for sentence in sentences:
        assert sentence.count("cannot load a model from") == 1
        assert "\n" not in sentence
        assert len(sentence) < 600


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (lambda header: header.update(method="Nobody"), "the method 'Nobody' is not known"),
        (lambda header: header.update(estimator=dict(header)), "a text classifier holds another one"),
        (
            lambda header: header["estimator"]["classes"]["names"].pop(),
            "the numbers of rows are not 3 counts, one a class",
        ),
        (
            lambda header: (
                header["estimator"]["classes"]["names"].pop(),
                header["estimator"]["data"].pop("class_rows"),
            ),
            "the array 'thresholds' should hold 3 float64 numbers",
        ),
        (
            lambda header: header["estimator"]["labels"].update(form="x"),
            "the form of labels 'x' is not known",
        ),
        (lambda header: header["estimator"]["certificate"].update(gap=0.5), "the certificate says gap 0.5"),
        (lambda header: header["estimator"]["params"].update(D=1), "OneVsRestSVM has no parameter 'D'"),
        (lambda header: header["titles"]["titles"].pop(), "the titles are not strings, one a name"),
        (lambda header: header.pop("features"), "the header has no valid entry 'features'"),
    ],
)
def test_the_sentence_says_what_does_not_fit(
    tmp_path: Path, edit: Callable[[Any], Any], sentence: str
) -> None:
    text_model().save(tmp_path)
    edit_document(tmp_path, lambda document: edit(document["header"]))
    with pytest.raises(ModelError, match=f"cannot load a model from .*: .*{sentence}"):
        taxolearn.load(tmp_path)


def test_features_and_weights_must_fit_each_other(tmp_path: Path) -> None:
    model, other = text_model("names", "word"), text_model("names", "char")
    mixed = TextClassifier()
    mixed.features_, mixed.estimator_, mixed.tried_ = other.features_, model.estimator_, []
    mixed.save(tmp_path)
    with pytest.raises(ModelError, match=r"features of texts do not fit .* columns of weights"):
        taxolearn.load(tmp_path)


def test_a_huge_header_is_refused_at_once(tmp_path: Path) -> None:
    text_model().save(tmp_path)
    raw = arrays_path(tmp_path).read_bytes()
    replace_arrays_file(tmp_path, struct.pack("<Q", 2**62) + raw[8:])
    with pytest.raises(ModelError, match="header of impossible length"):
        taxolearn.load(tmp_path)


def test_parameters_are_read_back_exactly() -> None:
    with pytest.raises(ModelError, match="no valid entry 'mapping'"):
        unpack_params({"params": {"class_weight": {"a": 1}}}, OneVsRestSVM)
