"""A browser, a stub model and a house for each file of tests; a window for each test."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser

from e2e.page.browser import Window, find_chromium, open_browser, open_window
from e2e.page.house import House
from homing.testing import StubModelServer

OpenWindow = Callable[..., Window]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if find_chromium() is None:
        pytest.skip("need chromium")
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def stub() -> Iterator[StubModelServer]:
    with StubModelServer() as stub:
        yield stub


@pytest.fixture(scope="module")
def house(stub: StubModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house whose model is the stub."""
    with House(tmp_path_factory.mktemp("house"), stub) as house:
        yield house


@pytest.fixture
def fresh_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house nobody has entered yet, with the offline model."""
    with House(tmp_path_factory.mktemp("fresh")) as house:
        yield house


@pytest.fixture
def new_window(browser: Browser) -> Iterator[OpenWindow]:
    """Open windows that are checked and closed with the test."""
    with ExitStack() as held:

        def open_one(house: House, **options: Any) -> Window:
            return held.enter_context(open_window(browser, house, **options))

        yield open_one
