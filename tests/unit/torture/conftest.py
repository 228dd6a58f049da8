"""One finished house for all tests of this folder, and a fresh copy for each."""

import asyncio
import shutil
from pathlib import Path

import pytest

from homing.testing import Script, StubModelServer, WebhookReceiver
from support.houses import finish_house
from torture.model import play


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which everything is sound."""
    folder = tmp_path_factory.mktemp("finished")
    script = Script()
    script.otherwise(play)
    with (
        StubModelServer(log=folder / "model.jsonl", script=script) as stub,
        WebhookReceiver(log=folder / "letters.jsonl") as receiver,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in stub.environment().items():
            patch.setenv(name, value)
        asyncio.run(finish_house(folder, receiver))
    return folder


@pytest.fixture
def house(finished: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    return shutil.copytree(finished, tmp_path / "house")
