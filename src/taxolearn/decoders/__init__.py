"""From scores to labels and probabilities."""

from taxolearn.decoders.calibration import fit_sigmoids, normalized, sigmoid
from taxolearn.decoders.thresholds import above, tune_thresholds

__all__ = ["above", "fit_sigmoids", "normalized", "sigmoid", "tune_thresholds"]
