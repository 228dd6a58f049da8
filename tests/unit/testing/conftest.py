from collections.abc import Iterator

import pytest

from homing.testing import StubModelServer


@pytest.fixture
def stub() -> Iterator[StubModelServer]:
    with StubModelServer() as server:
        yield server
