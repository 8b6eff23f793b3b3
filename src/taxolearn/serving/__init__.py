"""A page and a REST interface over one model; needs the extra `serve`."""

from taxolearn.serving.app import Application, create_app
from taxolearn.serving.corrections import Corrections
from taxolearn.serving.limits import Limits
from taxolearn.serving.served import ServedModel

__all__ = ["Application", "Corrections", "Limits", "ServedModel", "create_app"]
