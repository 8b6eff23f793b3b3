"""Models of every format version that was ever written keep loading, with the same answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import taxolearn

FOLDER = Path(__file__).parent / "data" / "estimators"
# what the models answered when they were saved
ANSWERS = {
    "svm": ([[0.5, 2.0]], [0.23529263521580296, -1.7647006832340795, 0.3529163582702717]),
    "text": (["a purring dog"], [-0.2142714362857584, -0.21399190924030226, -0.542471992585077]),
}


@pytest.mark.parametrize("version", [path.name for path in sorted(FOLDER.iterdir())])
@pytest.mark.parametrize("name", ANSWERS)
def test_models_of_older_formats_load(version, name):
    model = taxolearn.load(FOLDER / version / name)
    rows, scores = ANSWERS[name]
    np.testing.assert_allclose(model.decision_function(rows), [scores], rtol=1e-9)
    assert model.classes_.tolist() == ["Cat", "Dog", "Oak"]
    assert model.predict_path(rows)[0][-1] == model.classes_[np.argmax(scores)]
    assert model.certificate_.gap < 1e-3
    assert model.explain(rows[0]).label == model.classes_[np.argmax(scores)]
