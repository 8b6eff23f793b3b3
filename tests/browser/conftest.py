"""One browser for all tests of pages; a machine without one skips them and says how to get it."""

from __future__ import annotations

from collections.abc import Iterator

import browsing
import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one browser stay together, where workers take whole groups."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="session")
def browser() -> Iterator[browsing.Browser]:
    lacking = browsing.missing()
    if lacking is not None:
        pytest.skip(lacking)
    with browsing.started() as found:
        yield found
