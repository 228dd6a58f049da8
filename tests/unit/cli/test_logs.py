"""Lines of the log: nothing from outside steers a terminal, and a line that cannot be written costs no answer."""

import logging
import sys
from pathlib import Path

import httpx2
import pytest
import sqlalchemy as sa
import structlog

from homing.cli.logs import set_up_logs
from homing.model.errors import NotReady
from support.site import BASE, OWNER_TOKEN, Site, open_site, problem
from support.worlds import World


class Full:
    """A file on a full disk."""

    def write(self, _: str) -> int:
        raise OSError(28, "No space left on device")

    def flush(self) -> None:
        raise OSError(28, "No space left on device")

    def isatty(self) -> bool:
        return False


@pytest.fixture
def site(world: World) -> Site:
    return open_site(world)


async def test_a_log_on_a_full_disk_leaves_every_answer_as_it_is(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOMING_DEBUG", "1")
    monkeypatch.setattr(sys, "stderr", Full())
    set_up_logs()
    transport = httpx2.ASGITransport(app=site.app)
    async with httpx2.AsyncClient(transport=transport, base_url=BASE) as client:
        assert (await client.get("/healthz")).status_code == 200
        assert (await client.get("/api/me", headers={"Authorization": f"Bearer {OWNER_TOKEN}"})).status_code == 200
        site.world.write(lambda tx: tx.run(sa.text("update alembic_version set version_num = '9999'")))
        waiting = await client.get("/readyz")
        assert waiting.status_code == 503
        problem(waiting)
    logging.getLogger("library").error("nor does a library's line")
    logging.getLogger().handlers.clear()


async def test_escapes_in_a_path_do_not_reach_the_log(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOMING_DEBUG", "1")
    set_up_logs()
    await site.owner.post("/api/sessions/%1b]0;pwn%07%0d%0aforged/cancel")
    try:
        raise NotReady("\x1b[2J\nfrom outside")
    except NotReady:
        structlog.get_logger().exception("a bug", path="\x9b31m\u202e")
    logging.getLogger("library").error("\x1b]52;c;aGk=\x07")
    logging.getLogger().handlers.clear()
    lines = capsys.readouterr().err
    assert "pwn" in lines
    assert "from outside" in lines
    assert "52;c" in lines
    assert all(char.isprintable() or char == "\n" for char in lines), lines
    assert "\nforged" not in lines
    assert Path(__file__).name in lines, "the trace is there"
