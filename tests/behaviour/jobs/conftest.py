"""Homes on both databases."""

from collections.abc import Callable
from typing import Any

import pytest

from behaviour.jobs.homes import Home
from homing.store import Store
from homing.testing import FakeClock

MakeHome = Callable[..., Home]


@pytest.fixture
def make_home(store: Store, clock: FakeClock) -> MakeHome:
    """Make a home with other settings."""

    def make(**settings: Any) -> Home:
        return Home(store, clock, **settings)

    return make


@pytest.fixture
def home(make_home: MakeHome) -> Home:
    return make_home()
