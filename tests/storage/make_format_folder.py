"""Write tests/models/data/format-<version>: run once when a format version is released, never again after.

PYTHONPATH=src python tests/storage/make_format_folder.py
"""

from __future__ import annotations

from pathlib import Path

from model_folders import sample_content, save_content

from taxolearn.storage import Manifest

if __name__ == "__main__":
    folder = Path(__file__).parent / "data" / f"format-{Manifest.format_version}"
    if folder.exists():
        raise SystemExit(f"{folder.name} exists and stays as it is")
    save_content(folder, sample_content())
