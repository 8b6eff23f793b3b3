"""Models of a few kilobytes that claim to be huge: no command takes memory for what is only claimed."""

from __future__ import annotations

import json
import os
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_folders import arrays_path, edit_document, fingerprint, load_content, sample_content, save_content
from scipy import sparse

import warm_process
from taxolearn.errors import ModelError
from taxolearn.storage import read_manifest, read_model, write_model
from taxolearn.storage.arrays_file import map_arrays
from taxolearn.storage.folders import _open_regular
from taxolearn.storage.json_extent import json_extent
from taxolearn.storage.manifest import check_extent
from taxolearn.vectors import ClassVectors, NodeVectors

FEATURES = 2**28
MEGABYTES = 200

# Runs code and prints by how many megabytes the memory of the process grew beyond that after the imports.
MEASURE = """
import resource, sys
import taxolearn, taxolearn.cli.app, taxolearn.cli.models, taxolearn.storage, taxolearn.storage.loading
import scipy.sparse, taxolearn.datasets, taxolearn.cli.predict, taxolearn.cli.inspect
def most():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
before = most()
{code}
print("grown by", most() - before)
"""


def growth(code: str, *arguments: str) -> tuple[float, str]:
    script = MEASURE.replace("{code}", textwrap.dedent(code))
    command = [sys.executable, "-c", script, *arguments]
    done = warm_process.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    found = re.search(r"grown by ([\d.e+-]+)", done.stdout)
    assert found, done.stdout
    return float(found[1]), done.stdout


def save_wide(folder: Path, storage: str) -> None:
    """A model of three classes and a handful of weights that claims a quarter of a billion features."""
    header: dict[str, Any] = {
        "method": "OneVsRestSVM",
        "params": {},
        "classes": {"names": ["a", "b", "c"], "dtype": "<U1"},
        "labels": {"form": "names", "indicator": None},
        "weights": {"storage": storage, "n_classes": 3, "n_features": FEATURES},
        "certificate": {"status": "converged", "primal": 3.0, "dual": 3.0, "gap": 0.0},
        "n_iter": 1,
        "data": {"rows": 3, "fingerprint": ""},
        "feature_names": None,
        "taxonomy": None,
    }
    arrays = {
        "weights/data": np.array([1.0, -3.0, 2.0, 0.5]),
        "weights/indices": np.array([7, FEATURES - 1, 7, 9], dtype=np.int32),
        "weights/indptr": np.array([0, 2, 3, 4], dtype=np.int32),
        "weights/intercept": np.zeros(3),
        "thresholds": np.zeros(3),
        "certificate/primal": np.ones(3),
        "certificate/dual": np.ones(3),
    }
    if storage == "nodes-csr":
        header["weights"]["n_nodes"] = 3
        arrays["weights/paths/indices"] = np.array([0, 1, 0, 2, 2], dtype=np.int32)
        arrays["weights/paths/indptr"] = np.array([0, 2, 4, 5], dtype=np.int32)
        arrays["weights/squares"] = np.ones(3)
    write_model(folder, header, arrays)


@pytest.mark.parametrize(("storage", "weight"), [("csr", "-3.0000"), ("nodes-csr", "-3.0000")])
def test_inspecting_a_node_takes_room_for_its_weights_only(storage: str, weight: str, tmp_path: Path) -> None:
    save_wide(tmp_path / "model", storage)
    assert sum(path.stat().st_size for path in (tmp_path / "model").iterdir()) < 30_000
    code = """
    from taxolearn.cli.app import run
    assert run(["inspect", sys.argv[1], "--node", "a"]) == 0
    assert run(["inspect", sys.argv[1]]) == 0
    """
    grown, out = growth(code, str(tmp_path / "model"))
    assert grown < MEGABYTES
    assert f"feature {FEATURES}" in out
    assert weight in out


@pytest.mark.parametrize("storage", ["csr", "nodes-csr"])
def test_predicting_with_it_takes_no_more(storage: str, tmp_path: Path) -> None:
    save_wide(tmp_path / "model", storage)
    rows = tmp_path / "rows.svm"
    rows.write_text(f"a 8:1\nb 8:2\nc 10:1 11:5\na 1:1 {FEATURES}:-1\n")
    code = """
    from taxolearn.cli.app import run
    assert run(["predict", sys.argv[1], sys.argv[2]]) == 0
    """
    grown, out = growth(code, str(tmp_path / "model"), str(rows))
    assert grown < MEGABYTES
    assert len(out.splitlines()) == 6


def test_mean_entries_and_entries_are_those_of_the_dense_weights() -> None:
    rng = np.random.default_rng(0)
    nodes = np.where(rng.random((5, 9)) < 0.5, rng.normal(size=(5, 9)), 0.0)
    paths = sparse.csr_array(np.array([[1.0, 1, 0, 0, 0], [1, 0, 1, 0, 0], [1, 0, 0, 1, 1]]))
    dense = np.asarray(paths @ nodes)
    every: list[Any] = [
        ClassVectors(sparse.csr_array(dense), np.zeros(3)),
        ClassVectors(dense, np.zeros(3)),
        NodeVectors(sparse.csr_array(nodes), paths, np.zeros(3)),
        NodeVectors(np.ascontiguousarray(nodes.T), paths, np.zeros(3)),
    ]
    columns = [8, 0, 3, 3]
    for weights in every:
        for classes in ([0], [2, 1], [0, 1, 2]):
            places, values = weights.mean_entries(classes)
            found = np.zeros(9)
            found[places] = values
            np.testing.assert_allclose(found, dense[classes].mean(axis=0), atol=1e-15)
        np.testing.assert_allclose(weights.entries(2, columns), dense[2, columns], atol=1e-15)


@pytest.mark.parametrize(
    "filling", ["[],", "{},", '{"":0},', '"ab",'], ids=["list", "object", "pair", "text"]
)
def test_a_large_model_json_beside_few_arrays_is_refused_before_it_is_parsed(
    filling: str, tmp_path: Path
) -> None:
    save_content(tmp_path, sample_content())
    path = tmp_path / "model.json"
    text = path.read_text()
    path.write_text(
        text.replace('"header": {', '"header": {"x": [' + filling * (60_000_000 // len(filling)) + "0], ")
    )
    code = """
    from taxolearn.errors import ModelError
    try:
        taxolearn.storage.read_model(sys.argv[1])
    except ModelError as error:
        print(error)
    """
    grown, out = growth(code, str(tmp_path))
    assert "model.json has 60,00" in out
    assert "put large lists into arrays" in out
    assert grown < MEGABYTES


@pytest.mark.parametrize("filling", ["[],", "{},"])
def test_many_lists_are_refused_before_they_are_made(filling: str, tmp_path: Path) -> None:
    save_content(tmp_path, sample_content())
    path = tmp_path / "model.json"
    path.write_text(
        path.read_text().replace('"header": {', '"header": {"x": [' + filling * 9_000_000 + "0], ")
    )
    code = """
    from taxolearn.errors import ModelError
    try:
        taxolearn.storage.read_model(sys.argv[1])
    except ModelError as error:
        print(error)
    """
    grown, out = growth(code, str(tmp_path))
    assert "lists and objects" in out
    assert grown < MEGABYTES


@pytest.mark.parametrize("bomb", ["[" * 300 + "]" * 300, '{"a":' * 300 + "0" + "}" * 300])
def test_depth_is_refused_before_the_parser_sees_it(bomb: str, tmp_path: Path) -> None:
    save_content(tmp_path, sample_content())
    edit_document(tmp_path, lambda document: document["header"].update(x=json.loads(bomb)))
    with pytest.raises(ModelError, match=r"model\.json is nested too deep, 30\d levels"):
        read_manifest(tmp_path)


def test_what_would_not_load_is_not_saved(tmp_path: Path) -> None:
    save_content(tmp_path, sample_content())
    with pytest.raises(ModelError, match="lists and objects"):
        write_model(tmp_path, {"edges": [[]] * 1_100_000}, {"w": np.zeros(2)})
    assert fingerprint(load_content(tmp_path)) == fingerprint(sample_content())


TEXTS = [
    "", "[]", "[[[]]]", '{"a": [1, {"b": []}]}', '"[[["', '["\\"[[", []]', '["\\\\", [[]]]', '["\\\\\\"[", {}]',
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("shift", [0, 1, 2, 3, 5])
def test_brackets_are_counted_where_they_are_brackets(
    text: str, shift: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def extent(value: Any) -> tuple[int, int]:
        if not isinstance(value, dict | list):
            return 0, 0
        inner = [extent(entry) for entry in (value.values() if isinstance(value, dict) else value)]
        return 1 + sum(n for n, _ in inner), 1 + max((depth for _, depth in inner), default=0)

    expected = extent(json.loads(text)) if text else (0, 0)
    assert json_extent(text.encode()) == expected
    monkeypatch.setattr(
        "taxolearn.storage.json_extent._MARKS_AT_A_TIME", shift + 1
    )  # strings and escapes across pieces
    assert json_extent(text.encode()) == expected


def test_names_with_brackets_do_not_count() -> None:
    check_extent(json.dumps(["[0, 1) {" * 100] * 3000).encode(), 0)


def test_a_file_cut_off_before_it_is_mapped_is_an_error(tmp_path: Path) -> None:
    save_content(tmp_path, sample_content())
    specs = read_manifest(tmp_path).arrays
    with _open_regular(arrays_path(tmp_path)) as file:
        real, sizes = os.fstat, iter([None])

        def cut(descriptor: int) -> os.stat_result:
            found = real(descriptor)
            if next(sizes, "again") is None:
                os.truncate(arrays_path(tmp_path), found.st_size - 8)
            return found

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(os, "fstat", cut)
            with pytest.raises(ModelError, match="changed its size"):
                map_arrays(file, specs)


def test_reading_stays_as_it_was(tmp_path: Path) -> None:
    save_content(tmp_path, sample_content())
    header, arrays = read_model(tmp_path)
    assert header["method"] == "OneVsRestSVM"
    assert not arrays["weights/data"].flags.writeable
