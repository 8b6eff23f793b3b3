"""The documentation site: `make docs` builds it from these pages, strictly, and needs no network to be read."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_sphinx"))

import taxolearn

project = "taxolearn"
author = copyright = "The taxolearn authors"
release = version = taxolearn.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "docstring_text"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "_sphinx"]

# Markdown: headings are link targets as on GitHub
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

# docstrings
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
default_role = "code"
suppress_warnings = ["ref.python"]  # `name` of several classes: attributes that are no links

# the page: no fonts, scripts or pictures from a network
html_theme = "furo"
html_title = f"taxolearn {version}"
html_theme_options = {"navigation_with_keys": True}
html_show_sourcelink = False
html_copy_source = False
html_show_copyright = False
