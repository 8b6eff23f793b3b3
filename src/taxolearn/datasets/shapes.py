"""Sizes of published data sets, so that a generator can make rows of the same shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from taxolearn.errors import DataError


@dataclass(frozen=True)
class Shape:
    """The sizes of a data set: training rows, features, nodes, leaves, edges from root to deepest leaf.

    `mean_length` is the mean number of words of a row before repeated ones are counted together. `source`
    says where rows, features, nodes, leaves and labels per row are printed; depth and length are set here.

    >>> SHAPES["ipc"].n_rows
    46324
    """

    n_rows: int
    n_features: int
    n_nodes: int
    n_leaves: int
    depth: int
    labels_per_row: float = 1.0
    mean_length: float = 150.0
    dag: bool = False
    source: str = ""


# Gopal and Yang, "Recursive regularization for large-scale classification with hierarchical and graphical
# dependencies" (KDD 2013), its table of data sets and that of the talk; where the talk counts classes
# otherwise, nodes and leaves are those of the paper or of the distributed hierarchy, and CLEF's features
# those of the distributed rows.
_GOPAL_YANG = "Gopal and Yang (2013), data sets"
# Choi, Sasaki and Srebro, "Normalized Hierarchical SVM", Table 2 (sizes rounded to thousands there).
_CHOI_SASAKI_SREBRO = "Choi, Sasaki and Srebro, Table 2"
# Xiao, Zhou and Wu, "Hierarchical classification via orthogonal transfer" (2011), Table 1.
_XIAO_ZHOU_WU = "Xiao, Zhou and Wu (2011), Table 1"

SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        "clef": Shape(10_000, 80, 97, 63, 3, source=_GOPAL_YANG),
        "rcv1": Shape(23_149, 48_728, 117, 101, 4, 3.18, 120.0, source=_GOPAL_YANG),
        "ipc": Shape(46_324, 541_869, 553, 451, 3, mean_length=300.0, source=_GOPAL_YANG),
        "lshtc_small": Shape(4_463, 51_033, 1_563, 1_139, 5, mean_length=230.0, source=_GOPAL_YANG),
        "dmoz_2010": Shape(128_710, 381_580, 17_221, 12_294, 5, source=_GOPAL_YANG),
        "dmoz_2011": Shape(394_756, 594_158, 35_448, 27_875, 5, 1.03, source=_GOPAL_YANG),
        "dmoz_2012": Shape(383_408, 348_548, 13_347, 11_947, 5, source=_GOPAL_YANG),
        "swiki_2011": Shape(456_886, 346_299, 50_312, 36_504, 10, 1.85, 80.0, dag=True, source=_GOPAL_YANG),
        "lwiki": Shape(2_365_436, 1_617_899, 614_428, 325_056, 13, 3.26, 80.0, dag=True, source=_GOPAL_YANG),
        "ipc_75k": Shape(75_000, 228_000, 553, 451, 3, mean_length=300.0, source=_CHOI_SASAKI_SREBRO),
        "wiki_d5": Shape(41_000, 1_000, 1_512, 1_218, 5, 1.1, 80.0, dag=True, source=_CHOI_SASAKI_SREBRO),
        "imagenet": Shape(100_000, 51_000, 1_676, 1_000, 12, dag=True, source=_CHOI_SASAKI_SREBRO),
        "dmoz_163k": Shape(163_000, 165_000, 17_221, 12_294, 5, source=_CHOI_SASAKI_SREBRO),
        "wiki_456k": Shape(
            456_000, 346_000, 50_312, 36_504, 10, 1.8, 80.0, dag=True, source=_CHOI_SASAKI_SREBRO
        ),
        "rcv1_ccat": Shape(5_810, 47_236, 31, 26, 3, mean_length=120.0, source=_XIAO_ZHOU_WU),
        "rcv1_mcat": Shape(5_438, 47_236, 9, 7, 2, mean_length=120.0, source=_XIAO_ZHOU_WU),
        "rcv1_ecat": Shape(2_196, 47_236, 23, 18, 2, mean_length=120.0, source=_XIAO_ZHOU_WU),
    }
)


def find_shape(shape: str | Shape) -> Shape:
    """The shape itself, or the one called so.

    >>> find_shape("DMOZ-2010").n_leaves
    12294
    """
    if isinstance(shape, Shape):
        return shape
    found = SHAPES.get(str(shape).lower().replace("-", "_"))
    if found is None:
        raise DataError(f"shape must be one of {', '.join(SHAPES)}, found {shape!r}")
    return found
