"""HOMING_ENGINE: what cannot be used is refused before anything starts."""

import asyncio
import socket
import sys
from pathlib import Path

import pytest

from homing.cli.checks import look_at_restate
from homing.model.errors import Invalid
from homing.settings import load
from homing.wiring import make_engine, prepare, wire


def given(home: Path, **values: str) -> dict[str, str]:
    return {"HOMING_HOME": str(home)} | {f"HOMING_{name.upper()}": value for name, value in values.items()}


def test_the_own_engine_is_the_default_and_needs_no_restate(tmp_path: Path) -> None:
    settings = load(given(tmp_path))
    assert settings.engine == "own"
    assert look_at_restate(settings) == []


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("engine", "temporal", "must be own or restate"),
        ("restate_url", "ftp://127.0.0.1", "must begin with http:// or https://"),
        ("restate_url", "http://me:secret@host", "without a user name or password"),
        ("restate_admin_url", "nowhere", "must begin with http:// or https://"),
        ("restate_workers_url", "127.0.0.1:9080", "must begin with http:// or https://"),
        ("restate_listen", "9080", "must be an address and a port such as 127.0.0.1:9080"),
        ("restate_listen", "127.0.0.1:0", "must be an address and a port such as 127.0.0.1:9080"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_with_what_it_must_be(
    tmp_path: Path, name: str, value: str, sentence: str
) -> None:
    with pytest.raises(Invalid, match=sentence):
        load(given(tmp_path, **{name: value}))


def test_addresses_follow_from_each_other(tmp_path: Path) -> None:
    settings = load(given(tmp_path, restate_url="http://[::1]:8080/", restate_listen="10.0.0.7:9081"))
    assert settings.restate_admin == "http://[::1]:9070"
    assert settings.restate_workers == "http://10.0.0.7:9081"


def test_without_its_libraries_restate_is_refused_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load(given(tmp_path, engine="restate"))
    homing = wire(settings)
    prepare(homing)
    monkeypatch.setitem(sys.modules, "restate", None)
    with pytest.raises(Invalid, match=r"Install homing\[restate\], or set HOMING_ENGINE=own"):
        make_engine(homing, think=None, channels={})
    [found] = look_at_restate(settings)
    assert (found.state, "homing[restate]" in (found.fix or "")) == ("wrong", True)
    homing.store.engine.dispose()


async def test_a_port_that_another_program_has_is_named_in_the_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        homing = wire(load(given(tmp_path, engine="restate", restate_listen=address)))
        await asyncio.to_thread(prepare, homing)
        engine = make_engine(homing, channels={})
        assert engine.restate is not None
        running = asyncio.create_task(engine.restate.run())
        said = ""
        async with asyncio.timeout(60):
            while "restate_cannot_listen" not in said:
                await asyncio.sleep(0.01)
                said += capsys.readouterr().out
        assert address in said
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await homing.store.close()
