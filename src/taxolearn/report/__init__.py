"""A report on a model: what it knows, where it fails, what to do about it; as a dict, and as HTML, Markdown or JSON."""

from taxolearn.report.collect import collect
from taxolearn.report.report import Report

__all__ = ["Report", "collect"]
