"""Small models to save, a whole load of one, and ways to alter a folder while keeping its checksums right."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from taxolearn.storage import (
    decode_names,
    encode_names,
    pack_taxonomy,
    pack_vectors,
    read_model,
    unpack_taxonomy,
    unpack_vectors,
    write_model,
)
from taxolearn.storage.manifest import document_checksum
from taxolearn.structure import Taxonomy
from taxolearn.vectors import ClassVectors

Content = dict[str, Any]


def sample_content(scale: float = 1.0, storage: str = "csr") -> Content:
    """A model in memory: a tree with names of several types, two sets of weights, a few parameters."""
    taxonomy = Taxonomy.from_edges(
        [("all", "animal"), ("animal", 7), ("animal", ("cat", 1)), ("all", b"rock")]
    )
    coef = scale * np.array([[0.0, 1.5, 0.0, -2.0], [0.0, 0.0, 0.0, 0.0], [0.25, 0.0, 3.0, 0.0]])
    intercept = scale * np.array([0.5, -1.0, 0.0])
    coef_stored = sparse.csr_array(coef) if storage == "csr" else coef
    return {
        "taxonomy": taxonomy,
        "classes": (7, ("cat", 1), b"rock"),
        "weights": ClassVectors(coef_stored, intercept),
        "calibration": ClassVectors(coef.astype(np.float32), intercept),
        "params": {"C": scale, "loss": "hinge", "ngram_range": (1, 2), "max_seconds": float("inf")},
    }


def save_content(folder: Path, content: Content) -> None:
    tax_header, arrays = pack_taxonomy(content["taxonomy"])
    header = {
        "method": "OneVsRestSVM",
        "params": content["params"],
        "classes": encode_names(content["classes"]),
        "taxonomy": tax_header,
    }
    for part in ("weights", "calibration"):
        header[part], more = pack_vectors(content[part], part)
        arrays |= more
    write_model(folder, header, arrays)


def load_content(folder: Path, *, verify: bool = True) -> Content:
    header, arrays = read_model(folder, verify=verify)
    content = {
        "taxonomy": unpack_taxonomy(header.get("taxonomy"), arrays),
        "classes": decode_names(header.get("classes")),
        "params": header.get("params"),
    }
    for part in ("weights", "calibration"):
        content[part] = unpack_vectors(header.get(part), arrays, part)
    return content


def fingerprint(content: Content) -> str:
    """Equal for equal contents, whatever the objects are."""
    described: list[Any] = [content["taxonomy"].edges, content["classes"], content["params"]]
    for part in ("weights", "calibration"):
        weights = content[part]
        dense = weights.coef.toarray() if weights.is_sparse else weights.coef
        described += [
            weights.is_sparse,
            weights.dtype,
            dense.shape,
            dense.tolist(),
            weights.intercept.tolist(),
        ]
    return repr(described)


def arrays_path(folder: Path) -> Path:
    [path] = folder.glob("arrays-*.safetensors")
    return path


def edit_document(folder: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    """Change model.json and put its checksum right again."""
    path = folder / "model.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    edit(document)
    document["checksum"] = document_checksum(document)
    path.write_text(json.dumps(document), encoding="utf-8")


def replace_arrays_file(folder: Path, raw: bytes) -> None:
    """Put other bytes in place of the arrays file, with name, size and checksum right again."""
    arrays_path(folder).unlink()
    digest = hashlib.sha256(raw).hexdigest()
    name = f"arrays-{digest[:16]}.safetensors"
    (folder / name).write_bytes(raw)
    entry = {"name": name, "bytes": len(raw), "sha256": digest}
    edit_document(folder, lambda document: document.update(files=[entry]))


def split_arrays_file(folder: Path) -> tuple[dict[str, Any], bytes]:
    """Return the header and the entries of the arrays file."""
    raw = arrays_path(folder).read_bytes()
    [length] = struct.unpack("<Q", raw[:8])
    return json.loads(raw[8 : 8 + length]), raw[8 + length :]


def join_arrays_file(header: dict[str, Any], entries: bytes) -> bytes:
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + entries
