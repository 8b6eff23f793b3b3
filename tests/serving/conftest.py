"""Small models that the tests of the server share: fitted once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from served_models import calibrated_pets, label_sets, points
from starlette.testclient import TestClient

from taxolearn.serving import create_app


@pytest.fixture(scope="session")
def pets() -> Any:
    return calibrated_pets()


@pytest.fixture(scope="session")
def sets() -> Any:
    return label_sets()


@pytest.fixture(scope="session")
def numbers() -> Any:
    return points()


@pytest.fixture
def client(pets: Any) -> Iterator[TestClient]:
    app = create_app(pets, name="pets")
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as found:
        yield found
