"""A command line to try: a home of its own, and each command run whole in this process."""

import asyncio
import io
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from homing.cli.main import run
from homing.cli.process import own_server
from homing.settings import load
from homing.wiring import prepare, wire
from support.commands import Homing, Said


@pytest.fixture(scope="session")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database as a first start leaves it; each test copies it."""
    home = tmp_path_factory.mktemp("furnished")
    ready = wire(load({"HOMING_HOME": str(home), "HOMING_TIMEZONE": "Europe/Berlin"}))
    prepare(ready)
    asyncio.run(ready.store.close())
    return home / "homing.db"


@pytest.fixture
def home(tmp_path: Path, furnished: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in Berlin."""
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(furnished, home / "homing.db")
    monkeypatch.setenv("HOMING_HOME", str(home))
    monkeypatch.setenv("HOMING_TIMEZONE", "Europe/Berlin")
    return home


@pytest.fixture
def homing(home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Homing:
    """Run a command in this home; without a server unless the test has one."""

    def say(*args: str, stdin: str = "") -> Said:
        capsys.readouterr()
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        code = run(args)
        captured = capsys.readouterr()
        return Said(code=code, out=captured.out, err=captured.err)

    return say


@pytest.fixture
def server(home: Path) -> Iterator[str]:
    """A whole Homing, running on this home's database."""
    with own_server(load()) as url:
        yield url
