"""An index on loopback, and the packages of a share that is set up with it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from homing.sandbox.packages import Packages
from homing.sandbox.share import Share
from support.package_index import PackageIndex, serve_packages


@pytest.fixture
def index() -> Iterator[PackageIndex]:
    with serve_packages() as index:
        yield index


@pytest.fixture
def packages(index: PackageIndex, tmp_path: Path) -> Packages:
    return Packages(share=Share(folder=tmp_path / "share"), host=index.host)
