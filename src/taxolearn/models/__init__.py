"""Class weights and their storage on disk."""

from __future__ import annotations

from taxolearn.models.dual_weights import DualWeights
from taxolearn.models.manifest import ArraySpec, Manifest
from taxolearn.models.names import decode_names, encode_names
from taxolearn.models.node_weights import NodeWeights
from taxolearn.models.packing import pack_taxonomy, pack_weights, unpack_taxonomy, unpack_weights
from taxolearn.models.scoring import ClassWeights
from taxolearn.models.storage import read_manifest, read_model, write_model
from taxolearn.models.weights import LinearWeights

__all__ = [
    "ArraySpec",
    "ClassWeights",
    "DualWeights",
    "LinearWeights",
    "Manifest",
    "NodeWeights",
    "decode_names",
    "encode_names",
    "pack_taxonomy",
    "pack_weights",
    "read_manifest",
    "read_model",
    "unpack_taxonomy",
    "unpack_weights",
    "write_model",
]
