"""Small files for the tests of the command line."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

WORDS = {
    "Animal/Cat": ["purr", "meow", "whiskers", "fur"],
    "Animal/Dog": ["bark", "woof", "fetch", "fur"],
    "Plant/Oak": ["acorn", "leaf", "bark", "wood"],
    "Plant/Rose": ["petal", "thorn", "leaf", "red"],
}
FIT_OPTIONS = ["--features", "word", "--ngrams", "1-1", "--jobs", "1"]


def pet_rows(n_rows: int = 80, seed: int = 0) -> list[tuple[str, str]]:
    """(text, label path) pairs."""
    choice = random.Random(seed)
    return [
        (" ".join(choice.choices(WORDS[label], k=5)), label)
        for label in (list(WORDS) * (n_rows // len(WORDS) + 1))[:n_rows]
    ]


def write_csv(path: Path, rows: list[tuple[str, str]], delimiter: str = ",") -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter=delimiter)
        writer.writerow(["id", "text", "label"])
        writer.writerows([f"row {i}", *row] for i, row in enumerate(rows))
    return path


def write_levels(path: Path, rows: list[tuple[str, str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", "level_1", "level_2"])
        writer.writerows([text, *label.split("/")] for text, label in rows)
    return path


def write_json(path: Path, rows: list[tuple[str, str]]) -> Path:
    lines = [json.dumps({"id": i, "text": text, "labels": [label]}) for i, (text, label) in enumerate(rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_svm(path: Path, rows: list[tuple[str, str]]) -> Path:
    vocabulary = sorted({word for words in WORDS.values() for word in words})
    lines = []
    for text, label in rows:
        columns = sorted({vocabulary.index(word) + 1 for word in text.split()})
        lines.append(" ".join([label.split("/")[1], *(f"{column}:1" for column in columns)]))
    path.write_text("\n".join(lines) + "\n")
    return path
