"""A whole Homing over HTTP, whose model is scripted and whose owner answers approvals."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from support.package_index import PackageIndex, serve_packages
from support.whole import Whole, open_whole


@pytest.fixture
async def whole(database: str, tmp_path: Path) -> AsyncIterator[Whole]:
    async with open_whole(database, tmp_path / "home") as whole:
        yield whole


@pytest.fixture
async def still(database: str, tmp_path: Path) -> AsyncIterator[Whole]:
    """One in which approved actions begin when the test says so."""
    async with open_whole(database, tmp_path / "home", acting=False) as whole:
        yield whole


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[PackageIndex]:
    """An index with tiny wheels, which this host's uv and npm are set up with."""
    with serve_packages() as index:
        for name, value in index.host.items():
            if name != "HOME":
                monkeypatch.setenv(name, value)
        index.add_wheel("owl", requires=("feather",), scripts=("hoot = owl:main",))
        index.add_wheel("feather")
        index.add_wheel("wren")
        yield index
