"""Let a real Annif ask a taxolearn model through its `http` backend, and compare what it says with the model.

Usage: python tools/try_annif.py ANNIF_PYTHON [MODEL]

ANNIF_PYTHON is the interpreter of an environment with Annif (`pip install annif`). MODEL is a folder of a model of
texts, by default that of `taxolearn demo`. Everything happens on this machine, in a temporary folder.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import numpy as np

import taxolearn
from taxolearn.cli.demo import demo_folder
from taxolearn.datasets import load_icd10cm

_TEXTS = 20
_PROJECT = """[icd]
name=ICD by taxolearn
language=en
backend=http
vocab=icd
endpoint={address}v1/projects/icd/suggest
limit=10
"""


def main() -> int:
    """Print how many texts Annif answers as the model does; return 0 when all are."""
    annif = str(Path(sys.argv[1]).with_name("annif"))
    folder = sys.argv[2] if len(sys.argv) > 2 else str(demo_folder())
    model = taxolearn.load(folder)
    texts = load_icd10cm().test.texts[:_TEXTS]
    with tempfile.TemporaryDirectory() as here:
        command = [sys.executable, "-m", "taxolearn.cli", "serve", folder, "--port", "0", "--no-corrections"]
        server = subprocess.Popen(
            [*command, "--project", "icd", "--language", "en"], stderr=subprocess.PIPE, text=True
        )
        try:
            assert server.stderr is not None
            line = server.stderr.readline()
            address = re.search(r"served at (\S+)", line)
            if address is None:
                raise SystemExit(line + server.stderr.read())
            Path(here, "projects.cfg").write_text(_PROJECT.format(address=address[1]))
            vocabulary = Path(here, "icd.tsv")
            with urllib.request.urlopen(f"{address[1]}v1/projects/icd/vocabulary.tsv") as answer:
                vocabulary.write_bytes(answer.read())
            environment = {**os.environ, "PYTHONPATH": "", "ANNIF_DATADIR": str(Path(here, "data"))}

            def run(*arguments: str) -> str:
                done = subprocess.run(
                    [annif, *arguments],
                    cwd=here,
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                if done.returncode:
                    raise SystemExit(f"annif {' '.join(arguments)}\n{done.stdout}{done.stderr}")
                return done.stdout

            print(run("--version").strip())
            run("load-vocab", "--language", "en", "icd", str(vocabulary))
            print(run("list-projects").strip())
            files = []
            for number, text in enumerate(texts):
                files.append(Path(here, f"{number}.txt"))
                files[-1].write_text(text)
            same = 0
            told = run("suggest", "--limit", "3", "icd", *map(str, files))
            answers = told.split("Suggestions for ")[1:]
            for text, answer_text in zip(texts, answers, strict=True):
                rows = [line.split("\t") for line in answer_text.splitlines()[1:] if "\t" in line]
                names, scores, *probable = model.top_k([text], 3, probability=hasattr(model, "predict_proba"))
                expected = [f"<{name}>" for name in names[0].tolist()]
                chances = probable[0][0] if probable else 1 / (1 + np.exp(-scores[0].astype(float)))
                same += [row[0] for row in rows] == expected and np.allclose(
                    [float(row[-1]) for row in rows], chances, atol=1e-3
                )
        finally:
            server.terminate()
            server.wait(30)
    print(
        f"Annif's http backend answered {same} of {_TEXTS} texts with the model's three best labels and scores"
    )
    return 0 if same == _TEXTS else 1


if __name__ == "__main__":
    sys.exit(main())
