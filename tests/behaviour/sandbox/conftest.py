"""A driver for each user, shared by the tests of a file."""

from collections.abc import Iterator

import pytest

from support.sandboxes import Driver, drive


@pytest.fixture(scope="module", params=["root", "user"])
def driver(request: pytest.FixtureRequest) -> Iterator[Driver]:
    with drive(request.param) as driver:
        yield driver
