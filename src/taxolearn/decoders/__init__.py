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
    top_down_decoder,
    unit_nodes,
)
from taxolearn.decoders.thresholds import Thresholds, above, tune_thresholds
from taxolearn.decoders.top_down import TopDown

__all__ = [
    "DECODERS",
    "Answers",
    "Best",
    "Contest",
    "Decoder",
    "RowFacts",
    "Thresholds",
    "TopDown",
    "above",
    "best_class",
    "best_or_thresholds",
    "comparable",
    "decoder_of",
    "fit_sigmoids",
    "normalized",
    "passing_decoder",
    "sigmoid",
    "top_down_decoder",
    "tune_thresholds",
    "unit_nodes",
]
