"""From scores to labels and probabilities."""

from taxolearn.decoders.base import Answers, Contest, Decoder, RowFacts
from taxolearn.decoders.best import Best
from taxolearn.decoders.calibration import comparable, fit_sigmoids, normalized, sigmoid
from taxolearn.decoders.choice import (
    DECODERS,
    best_class,
    best_or_thresholds,
    decoder_of,
    passing_decoder,
    set_decoder,
    top_down_decoder,
    unit_nodes,
)
from taxolearn.decoders.expected_cost import HierarchicalF1, NodeSums, TreeLoss, cost_by_table
from taxolearn.decoders.expected_f1 import expected_f1_sets, falling
from taxolearn.decoders.label_sets import LabelSets, decode_sets
from taxolearn.decoders.label_space import LabelSpace
from taxolearn.decoders.least_cost import LeastCost, probability_blocks
from taxolearn.decoders.links import Link, Sigmoids, Temperature, link_of
from taxolearn.decoders.probable_labels import (
    MarginalColumns,
    NodeMarginals,
    ProbableLabels,
    labels_are_closed,
)
from taxolearn.decoders.probable_sets import ProbableSets, calibrated_sets, node_marginals
from taxolearn.decoders.set_offset import set_f1, sets_f1, tune_offset
from taxolearn.decoders.set_programme import SetProgramme
from taxolearn.decoders.sets import Sets
from taxolearn.decoders.temperature import fit_link, fit_temperature
from taxolearn.decoders.thresholds import Thresholds, above, common_threshold, tune_thresholds
from taxolearn.decoders.top_down import TopDown

__all__ = [
    "DECODERS",
    "Answers",
    "Best",
    "Contest",
    "Decoder",
    "HierarchicalF1",
    "LabelSets",
    "LabelSpace",
    "LeastCost",
    "Link",
    "MarginalColumns",
    "NodeMarginals",
    "NodeSums",
    "ProbableLabels",
    "ProbableSets",
    "RowFacts",
    "SetProgramme",
    "Sets",
    "Sigmoids",
    "Temperature",
    "Thresholds",
    "TopDown",
    "TreeLoss",
    "above",
    "best_class",
    "best_or_thresholds",
    "calibrated_sets",
    "common_threshold",
    "comparable",
    "cost_by_table",
    "decode_sets",
    "decoder_of",
    "expected_f1_sets",
    "falling",
    "fit_link",
    "fit_sigmoids",
    "fit_temperature",
    "labels_are_closed",
    "link_of",
    "node_marginals",
    "normalized",
    "passing_decoder",
    "probability_blocks",
    "set_decoder",
    "set_f1",
    "sets_f1",
    "sigmoid",
    "top_down_decoder",
    "tune_offset",
    "tune_thresholds",
    "unit_nodes",
]
