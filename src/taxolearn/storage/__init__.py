"""Models on disk: a folder of JSON and arrays, checked before it is used."""

from __future__ import annotations

from taxolearn.storage.folders import read_manifest, read_model, write_model
from taxolearn.storage.manifest import ArraySpec, Manifest
from taxolearn.storage.names import decode_names, encode_names
from taxolearn.storage.packing import pack_taxonomy, pack_vectors, unpack_taxonomy, unpack_vectors

__all__ = [
    "ArraySpec",
    "Manifest",
    "decode_names",
    "encode_names",
    "pack_taxonomy",
    "pack_vectors",
    "read_manifest",
    "read_model",
    "unpack_taxonomy",
    "unpack_vectors",
    "write_model",
]
