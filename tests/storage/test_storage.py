"""Saving and loading: round trips, mapping, what may be replaced, and models of each format version."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_np
from model_folders import (
    arrays_path,
    edit_document,
    fingerprint,
    load_content,
    sample_content,
    save_content,
)
from safetensors.numpy import load_file
from scipy import sparse

from taxolearn.errors import ModelError
from taxolearn.storage import (
    Manifest,
    pack_taxonomy,
    pack_vectors,
    read_manifest,
    read_model,
    unpack_taxonomy,
    unpack_vectors,
    write_model,
)
from taxolearn.structure import Taxonomy
from taxolearn.vectors import ClassVectors

DTYPES = ["uint8", "int32", "int64", "float32", "float64"]


@pytest.mark.parametrize("storage", ["csr", "dense"])
def test_a_whole_model_round_trips(tmp_path: Path, storage: str) -> None:
    content = sample_content(storage=storage)
    save_content(tmp_path / "new" / "model", content)
    assert fingerprint(load_content(tmp_path / "new" / "model")) == fingerprint(content)


@settings(deadline=None, max_examples=60)
@given(
    st.dictionaries(
        st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,20}", fullmatch=True),
        st.sampled_from(DTYPES).flatmap(
            lambda dtype: st_np.arrays(
                dtype, st_np.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
            )
        ),
        max_size=6,
    )
)
def test_arrays_round_trip_bit_by_bit(
    tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("arrays")
    write_model(folder, {}, arrays)
    _, loaded = read_model(folder)
    by_library = load_file(arrays_path(folder))
    assert loaded.keys() == arrays.keys() == by_library.keys()
    for name, array in arrays.items():
        for other in (loaded[name], by_library[name]):
            assert (other.dtype, other.shape, other.tobytes()) == (array.dtype, array.shape, array.tobytes())


def test_other_memory_orders_are_stored_by_value(tmp_path: Path) -> None:
    grid = np.arange(12.0).reshape(3, 4)
    arrays = {"f": np.asfortranarray(grid), "t": grid.T, "big": grid.astype(">f8"), "step": grid[:, ::2]}
    write_model(tmp_path, {}, arrays)
    _, loaded = read_model(tmp_path)
    for name, array in arrays.items():
        np.testing.assert_array_equal(loaded[name], array)


@st.composite
def linear_weights(draw: st.DrawFn) -> ClassVectors:
    shape = (draw(st.integers(0, 6)), draw(st.integers(0, 6)))
    dtype = draw(st.sampled_from(["float32", "float64"]))
    finite = st.floats(width=32 if dtype == "float32" else 64, allow_nan=False, allow_infinity=False)
    coef: Any = draw(st_np.arrays(dtype, shape, elements=finite, fill=st.just(0.0)))
    intercept = draw(
        st_np.arrays("float64", shape[0], elements=st.floats(allow_nan=False, allow_infinity=False))
    )
    return ClassVectors(sparse.csr_array(coef) if draw(st.booleans()) else coef, intercept)


@settings(deadline=None, max_examples=80)
@given(linear_weights())
def test_weights_round_trip(weights: ClassVectors) -> None:
    header, arrays = pack_vectors(weights, "w")
    back = unpack_vectors(json.loads(json.dumps(header)), arrays, "w")
    assert back.is_sparse == weights.is_sparse
    assert back.dtype == weights.dtype
    assert back.coef.shape == weights.coef.shape
    mine, theirs = (matrix.toarray() if back.is_sparse else matrix for matrix in (weights.coef, back.coef))
    assert mine.tobytes() == theirs.tobytes()
    assert back.intercept.tobytes() == weights.intercept.tobytes()


def test_unsorted_and_repeated_entries_are_put_in_order_on_saving() -> None:
    coef = sparse.csr_array((np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    back = unpack_vectors(*pack_vectors(ClassVectors(coef, np.zeros(1))))
    assert back.coef.toarray().tolist() == [[2.0, 0.0, 5.0]]
    assert coef.indices.tolist() == [2, 0, 2]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_not_saved(bad: float) -> None:
    for coef, intercept in ((np.full((1, 1), bad), np.zeros(1)), (np.zeros((1, 1)), np.full(1, bad))):
        for stored in (coef, sparse.csr_array(coef)):
            with pytest.raises(ModelError, match="NaN or infinite"):
                pack_vectors(ClassVectors(stored, intercept))


NODE_NAMES = st.one_of(
    st.text(min_size=1, max_size=6),
    st.integers(min_value=2),
    st.binary(min_size=1, max_size=3),
    st.tuples(st.integers(), st.text(max_size=2)),
)


@settings(deadline=None, max_examples=80)
@given(st.data(), st.lists(NODE_NAMES, min_size=2, max_size=12, unique=True))
def test_taxonomies_round_trip(data: st.DataObject, names: list[Any]) -> None:
    edges = []
    for i in range(1, len(names)):
        parents = data.draw(st.sets(st.integers(0, i - 1), min_size=1, max_size=3))
        edges += [(names[p], names[i]) for p in sorted(parents)]
    taxonomy = Taxonomy.from_edges(edges)
    header, arrays = pack_taxonomy(taxonomy, "t")
    back = unpack_taxonomy(json.loads(json.dumps(header)), arrays, "t")
    assert back == taxonomy
    assert [type(name) for name in back.nodes] == [type(name) for name in taxonomy.nodes]


def test_arrays_are_read_only_views_of_the_mapped_file(tmp_path: Path) -> None:
    big = np.zeros(4_000_000)
    big[-1] = 5.0
    write_model(tmp_path, {}, {"big": big, "small": np.arange(3, dtype=np.int32)})
    del big
    for verify in (True, False):
        tracemalloc.start()
        _, arrays = read_model(tmp_path, verify=verify)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2_000_000  # of 32 MB
        for array in arrays.values():
            assert isinstance(array.base, np.memmap)
            assert type(array) is np.ndarray
            assert not array.flags.writeable
            assert array.flags.aligned
        assert np.shares_memory(arrays["big"], arrays["big"].base)
        assert arrays["big"][-1] == 5.0


def test_loaded_weights_stay_on_the_mapped_file(tmp_path: Path) -> None:
    save_content(tmp_path, sample_content())
    header, arrays = read_model(tmp_path)
    weights = unpack_vectors(header["weights"], arrays)
    for part in ("data", "indices", "indptr"):
        assert np.shares_memory(getattr(weights.coef, part), arrays[f"weights/{part}"])
    dense = unpack_vectors(header["calibration"], arrays, "calibration")
    assert np.shares_memory(dense.coef, arrays["calibration/coef"])


def test_arrays_outlive_the_replacement_of_their_model(tmp_path: Path) -> None:
    write_model(tmp_path, {}, {"w": np.arange(1000.0)})
    _, old = read_model(tmp_path)
    write_model(tmp_path, {}, {"w": np.zeros(7)})
    np.testing.assert_array_equal(old["w"], np.arange(1000.0))
    assert read_model(tmp_path)[1]["w"].shape == (7,)


def test_replacing_leaves_two_files_and_what_others_put_there(tmp_path: Path) -> None:
    save_content(tmp_path, sample_content(1.0))
    (tmp_path / "README.md").write_text("my model")
    (tmp_path / ".saving-0123456789abcdef").write_text("left by a killed save")
    for scale in (2.0, 2.0, 3.0):
        save_content(tmp_path, sample_content(scale))
        assert load_content(tmp_path)["params"]["C"] == scale
        assert len(list(tmp_path.iterdir())) == 3
        arrays_path(tmp_path)
    assert (tmp_path / "README.md").read_text() == "my model"


@pytest.mark.skipif(os.name != "posix", reason="Windows has no umask and no mode bits to look at")
def test_both_files_can_be_read_by_those_who_may_read_new_files(tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        write_model(tmp_path, {}, {"w": np.zeros(2)})
    finally:
        os.umask(old)
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o644}


def test_only_models_and_empty_folders_are_written_to(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write_model(tmp_path / "empty", {}, {})
    (tmp_path / "file").write_text("x")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").write_text("x")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "model.json").write_text('{"format": "another"}')
    (tmp_path / "strange" / "model.json").mkdir(parents=True)
    for name in ("file", "photos", "other", "strange"):
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(ModelError, match=f"cannot save a model to .*{name}"):
            write_model(tmp_path / name, {}, {"w": np.zeros(2)})
        assert sorted(tmp_path.rglob("*")) == before


def test_a_first_save_that_was_killed_does_not_block_the_next(tmp_path: Path) -> None:
    (tmp_path / ".saving-0123456789abcdef").write_text("x")
    (tmp_path / "arrays-0123456789abcdef.safetensors").write_text("x")
    with pytest.raises(ModelError, match=r"there is no model\.json"):
        read_model(tmp_path)
    write_model(tmp_path, {"a": 1}, {})
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("header", "arrays"),
    [
        ({"f": print}, {}),
        ({}, {"w": [1, 2]}),
        ({}, {"w": np.array(["a"])}),
        ({}, {"w": np.array([None])}),
        ({}, {"w": np.zeros(2, dtype=bool)}),
        ({}, {"w": np.zeros((1, 1, 1, 1, 1))}),
        ({}, {"": np.zeros(2)}),
        ({}, {"../w": np.zeros(2)}),
        ({}, {"__metadata__": np.zeros(2)}),
        ({}, {3: np.zeros(2)}),
    ],
)
def test_what_cannot_be_stored_is_refused_before_anything_is_written(
    tmp_path: Path, header: Any, arrays: Any
) -> None:
    with pytest.raises(ModelError):
        write_model(tmp_path / "model", header, arrays)
    assert not (tmp_path / "model").exists()


def test_a_save_that_fails_leaves_the_old_model_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "model"
    save_content(folder, sample_content(1.0))
    before = sorted(folder.iterdir())

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    real = os.replace
    for fails in (1, 2):
        calls: list[Any] = []

        def replace(*where: Any, calls: list[Any] = calls, fails: int = fails) -> None:
            calls.append(where)
            (full if len(calls) == fails else real)(*where)

        monkeypatch.setattr(os, "replace", replace)
        with pytest.raises(ModelError, match="No space left"):
            save_content(folder, sample_content(2.0))
        assert sorted(folder.iterdir()) == before
        assert load_content(folder)["params"]["C"] == 1.0
        calls.clear()
        with pytest.raises(ModelError, match="No space left"):
            save_content(tmp_path / "fresh", sample_content(2.0))
        assert not (tmp_path / "fresh").exists()


def test_a_reader_follows_a_replacement_made_under_its_hands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    from taxolearn.storage import folders

    write_model(tmp_path, {"v": 1}, {"w": np.zeros(2)})
    real, replaced = folders._read_manifest, []

    def slow(folder: Path) -> Manifest:
        manifest = real(folder)
        if not replaced:
            replaced.append(True)
            write_model(tmp_path, {"v": 2}, {"w": np.ones(2)})
        return manifest

    monkeypatch.setattr(folders, "_read_manifest", slow)
    header, arrays = read_model(tmp_path)
    assert header == {"v": 2}
    assert arrays["w"].tolist() == [1.0, 1.0]


def test_the_manifest_tells_where_the_model_comes_from(tmp_path: Path) -> None:
    write_model(tmp_path, {"method": "demo"}, {"w": np.zeros((2, 3), dtype=np.float32)})
    manifest = read_manifest(tmp_path)
    assert manifest.header == {"method": "demo"}
    assert set(manifest.provenance) == {"taxolearn", "numpy", "scipy", "python", "date"}
    assert manifest.provenance["numpy"] == np.__version__
    assert manifest.provenance["date"].endswith("+00:00")
    assert manifest.arrays["w"].shape == (2, 3)
    assert manifest.file_bytes == arrays_path(tmp_path).stat().st_size


def test_layout_and_line_ends_of_model_json_do_not_matter(tmp_path: Path) -> None:
    save_content(tmp_path, sample_content())
    path = tmp_path / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()), indent=3).replace("\n", "\r\n"))
    assert fingerprint(load_content(tmp_path)) == fingerprint(sample_content())
    save_content(tmp_path, sample_content(2.0))


def test_a_newer_format_says_so(tmp_path: Path) -> None:
    write_model(tmp_path, {}, {})
    edit_document(tmp_path, lambda document: document.update(format_version=2, novelty=True))
    with pytest.raises(ModelError, match=r"format version 2, .* reads up to version 1; install a newer"):
        read_model(tmp_path)
    write_model(tmp_path, {"now": "old again"}, {})
    assert read_model(tmp_path)[0] == {"now": "old again"}


def test_the_kept_model_of_format_1_still_loads() -> None:
    folder = Path(__file__).parent / "data" / "format-1"
    assert read_manifest(folder).format_version == 1
    content = load_content(folder)
    assert fingerprint(content) == fingerprint(sample_content())
    assert content["taxonomy"].leaves == (7, ("cat", 1), b"rock")
    scores = content["weights"].scores(np.array([[1.0, 2.0, 3.0, 4.0]]))
    np.testing.assert_array_equal(scores, [[-4.5, -1.0, 9.25]])


def test_neither_scikit_learn_nor_numba_is_needed() -> None:
    code = "import sys, taxolearn.storage, taxolearn.vectors; print({'sklearn', 'numba'} & set(sys.modules))"
    path = os.pathsep.join(filter(None, sys.path))
    result = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert result.stdout.strip() == "set()", result.stderr
