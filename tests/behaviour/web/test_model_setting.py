"""A model in one minute: chosen at a door, tried, kept, and used by the next turn without a restart."""

import asyncio
import json
import os
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog.testing

from homing.agent import model_trial
from homing.agent.choice import _NEEDS  # pyright: ignore[reportPrivateUsage]
from homing.model.contract import BY_NAME
from homing.store import maintenance
from homing.testing import StubModelServer
from homing.wiring import ServerHands
from support.site import STRANGER_TOKEN
from support.whole import Whole, open_whole

KEY = "sk-test-0123456789abcdefghij"
OTHER = "sk-other-9876543210zyxwvutsr"
SMALL = "openai-chat:stub-small"
PATH = "/settings/model"


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key of this machine, and nobody at Ollama's port."""
    for _, names in _NEEDS.values():
        for name in names:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(model_trial, "LOCAL_SERVERS", ())


@pytest.fixture
def stub() -> Iterator[StubModelServer]:
    with StubModelServer() as stub:
        yield stub


@pytest.fixture
async def whole(database: str, tmp_path: Path) -> AsyncIterator[Whole]:
    (tmp_path / "home").mkdir()
    async with open_whole(database, tmp_path / "home", MODEL="", SANDBOX="off") as whole:
        yield whole


def keys(home: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (home / "secrets").glob("*")}


async def choose(whole: Whole, stub: StubModelServer, *, code: int = 200, **more: Any) -> Any:
    given = {"model": SMALL, "base_url": stub.openai_url, "key": KEY} | more
    return await whole.ask("PUT", PATH, given, code=code)


async def test_a_pasted_key_answers_the_next_message_and_is_nowhere_but_in_its_file(
    whole: Whole, stub: StubModelServer, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    before = await whole.ask("GET", PATH)
    assert (before["model"], before["offline"], before["source"], before["chosen"]) == ("offline", True, "found", None)
    stub.key = KEY
    with structlog.testing.capture_logs() as logs:
        chosen = await choose(whole, stub)
        stub.reply("Hello from the stub.")
        assert await whole.say("hello") == "Hello from the stub."
    assert (chosen["model"], chosen["source"], chosen["problem"]) == (SMALL, "chosen", None)
    assert chosen["chosen"]["has_key"] is True
    assert len(stub.requests) == 2
    [(name, kept)] = keys(home).items()
    assert kept == KEY
    assert stat.S_IMODE((home / "secrets" / name).stat().st_mode) == 0o600
    status = await whole.ask("GET", "/status")
    assert (status["model"]["name"], status["model"]["offline"]) == (SMALL, False)
    assert "chose it" in status["model"]["why"]
    [main] = [agent for agent in (await whole.ask("GET", "/agents"))["items"] if agent["id"] == "main"]
    assert main["model_in_effect"] == SMALL
    shown = json.dumps([chosen, await whole.ask("GET", PATH), status]) + repr(logs)
    assert KEY not in shown
    rows = whole.homing.store.write_now(lambda tx: [str(row) for row in _all_rows(tx)])
    assert not [row for row in rows if KEY in row]


def _all_rows(tx: Any) -> list[Any]:
    from homing.store.tables import metadata

    return [row for table in metadata.sorted_tables for row in tx.rows(table.select())]


async def test_a_wrong_key_is_refused_with_the_providers_sentence_and_the_old_model_stays(
    whole: Whole, stub: StubModelServer, tmp_path: Path
) -> None:
    await choose(whole, stub)
    stub.fail(401, message=f"Incorrect API key provided: {OTHER}, or {OTHER[:14]}****.")
    refusal = await choose(whole, stub, key=OTHER, model="openai-chat:stub-large", code=422)
    assert [(error["field"], error["code"]) for error in refusal["errors"]] == [("key", "model_refused")]
    assert "Incorrect API key provided: ***" in refusal["detail"]
    assert f"Nothing was changed: {SMALL} stays." in refusal["detail"]
    assert OTHER[:9] not in json.dumps(refusal)
    assert list(keys(tmp_path / "home").values()) == [KEY]
    stub.reply("Still here.")
    assert await whole.say("hello") == "Still here."
    # In a turn the key is as little told as here.
    stub.fail(401, message=f"Incorrect API key provided: {KEY}.")
    await whole.say("again")
    rows = whole.homing.store.write_now(lambda tx: [str(row) for row in _all_rows(tx)])
    assert any("Incorrect API key provided" in row for row in rows)
    assert not [row for row in rows if KEY in row]


async def test_a_key_goes_only_where_it_was_given_for(
    whole: Whole, stub: StubModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    stub.key = "no-key"
    await choose(whole, stub, key="")
    stub.key = KEY
    await choose(whole, stub)
    again = await whole.ask("PUT", PATH, {"model": "openai-chat:stub-large", "base_url": stub.openai_url})
    assert again["chosen"]["has_key"] is True
    with StubModelServer() as elsewhere:
        moved = {"model": SMALL, "base_url": elsewhere.openai_url}
        refusal = await whole.ask("PUT", PATH, moved, code=422)
        assert [(error["field"], error["code"]) for error in refusal["errors"]] == [("key", "missing")]
        assert elsewhere.requests == []
        elsewhere.key = "no-key"
        assert (await whole.ask("PUT", PATH, moved | {"key": ""}))["chosen"]["has_key"] is False
        assert len(elsewhere.requests) == 1


async def test_what_can_never_be_asked_is_refused_before_anything_is_sent(whole: Whole, stub: StubModelServer) -> None:
    for given, field in (
        ({"model": "nope/never"}, "model"),
        ({"model": "openai:"}, "model"),
        ({"model": "openai:gpt-5"}, "key"),
        ({"model": ""}, "model"),
        ({}, "model"),
        ({"model": None, "key": KEY}, "model"),
        ({"model": SMALL, "base_url": "ftp://x"}, "base_url"),
        ({"model": SMALL, "base_url": "http://user:pw@127.0.0.1/v1"}, "base_url"),
        ({"model": SMALL, "base_url": "http://169.254.169.254/v1"}, "base_url"),
        ({"model": SMALL, "base_url": "http://8.8.8.8/v1", "key": KEY}, "base_url"),
        ({"model": SMALL, "base_url": stub.openai_url, "key": "two words"}, "key"),
        ({"model": SMALL, "base_url": stub.openai_url, "key": "x" * 5000}, "key"),
        ({"model": SMALL, "base_url": stub.openai_url, "key": 12345678}, "key"),
        ({"model": SMALL, "base_url": "http://127.0.0.1:1/v1"}, "base_url"),
    ):
        refusal = await whole.ask("PUT", PATH, given, code=422)
        assert [error["field"] for error in refusal["errors"]] == [field], refusal
        assert "12345678" not in json.dumps(refusal)
    assert stub.requests == []
    assert (await whole.ask("GET", PATH))["source"] == "found"


async def test_an_address_without_v1_gets_the_one_that_was_meant(whole: Whole, stub: StubModelServer) -> None:
    refusal = await choose(whole, stub, base_url=stub.url, code=422)
    assert f"Did you mean {stub.openai_url}?" in refusal["detail"]
    assert refusal["errors"][0]["field"] == "base_url"
    listed = await whole.ask("GET", f"/settings/models?base_url={stub.url}")
    assert (listed["items"], listed["suggested_url"]) == ([], stub.openai_url)
    listed = await whole.ask("GET", f"/settings/models?base_url={stub.openai_url}")
    assert [item["model"] for item in listed["items"]] == [SMALL, "openai-chat:stub-large"]
    assert (listed["suggested_url"], listed["note"]) == (None, None)
    assert {"openai", "anthropic", "openrouter"} <= {one["provider"] for one in listed["providers"]}


async def test_a_server_of_this_machine_is_found(
    whole: Whole, stub: StubModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_trial, "LOCAL_SERVERS", (("Ollama", "ollama", stub.openai_url),))
    found = (await whole.ask("GET", "/settings/models"))["items"][0]
    assert found == {"model": "ollama:stub-small", "base_url": stub.openai_url, "server": "Ollama on this machine"}
    await whole.ask("PUT", PATH, {"model": found["model"], "base_url": found["base_url"]})
    stub.reply("From here.")
    assert await whole.say("hello") == "From here."


async def test_one_precedence_automation_conversation_agent_server(whole: Whole, stub: StubModelServer) -> None:
    await choose(whole, stub)
    asked = lambda: stub.requests[-1].body["model"]  # noqa: E731
    await whole.say("hello")
    assert asked() == "stub-small"
    agent = await whole.ask("GET", "/agents/main")
    await whole.ask("PATCH", "/agents/main", {"model": "openai-chat:of-agent", "revision": agent["revision"]})
    await whole.say("hello")
    assert asked() == "of-agent"
    session = await whole.ask("PATCH", "/sessions/web:chat", {"model": "openai-chat:of-session"})
    assert session["model"] == "openai-chat:of-session"
    await whole.say("hello")
    assert asked() == "of-session"
    for isolated, model, wanted in (("main", None, "of-session"), ("isolated", None, "of-session"),
                                    ("main", "openai-chat:of-job", "of-job")):  # fmt: skip
        payload = {"kind": "agent_turn", "message": "look", "model": model}
        body = {"session_key": "web:chat", "when": "every 1h", "payload": payload, "session": isolated}
        job = await whole.ask("POST", "/jobs", body, code=201)
        count = len(stub.requests)
        await whole.ask("POST", f"/jobs/{job['id']}/run", code=202)
        # The report of an isolated run opens a turn as well.
        seen = lambda all_: any(one.body["model"] == wanted for one in all_[count:])  # noqa: E731, B023
        await asyncio.to_thread(stub.wait_for, seen)
    own = (await whole.ask("GET", PATH))["own_models"]
    assert own["agents"] == [{"id": "main", "name": "Main", "model": "openai-chat:of-agent"}]
    assert (own["sessions"], own["jobs"]) == (1, 1)
    assert (await whole.ask("PATCH", "/sessions/web:chat", {"model": None}))["model"] is None
    for bad in ("nope/never", "anthropic:x"):
        refusal = await whole.ask("PATCH", "/sessions/web:chat", {"model": bad}, code=422)
        assert refusal["code"] == "unknown_model"


async def test_it_is_an_admins_and_no_programs(whole: Whole, stub: StubModelServer) -> None:
    for method, path in (("GET", PATH), ("PUT", PATH), ("GET", "/settings/models")):
        body = {"model": SMALL, "base_url": stub.openai_url, "key": KEY} if method == "PUT" else None
        await whole.ask(method, path, body, token=STRANGER_TOKEN, code=403)
    assert stub.requests == []
    assert not any(BY_NAME[name].mcp for name in ("get_model", "set_model", "list_models"))
    await choose(whole, stub)
    # What the server uses is free for everybody, another model is not.
    await whole.say("hello", key="web:theirs", token=STRANGER_TOKEN)
    path = "/sessions/web:theirs"
    await whole.ask("PATCH", path, {"model": SMALL}, token=STRANGER_TOKEN)
    await whole.ask("PATCH", path, {"model": "openai-chat:dear"}, token=STRANGER_TOKEN, code=403)


async def test_the_setting_wins_and_says_so(database: str, tmp_path: Path, stub: StubModelServer) -> None:
    (tmp_path / "home").mkdir()
    async with open_whole(database, tmp_path / "home", SANDBOX="off") as whole:
        answer = await choose(whole, stub)
        assert (answer["model"], answer["source"]) == ("scripted", "setting")
        assert "HOMING_MODEL says scripted." in answer["why"]
        assert f"It wins over {SMALL}" in answer["why"]
        whole.model.reply("Scripted.")
        assert await whole.say("hello") == "Scripted."


async def test_offline_and_nothing_are_choices_too(whole: Whole, stub: StubModelServer) -> None:
    await choose(whole, stub)
    answer = await whole.ask("PUT", PATH, {"model": "offline"})
    assert (answer["model"], answer["source"], answer["offline"]) == ("offline", "chosen", True)
    answer = await whole.ask("PUT", PATH, {"model": None})
    assert (answer["source"], answer["chosen"]) == ("found", None)


async def test_doors_without_the_engines_home_say_which_settings_to_use(
    whole: Whole, stub: StubModelServer, tmp_path: Path
) -> None:
    whole.homing.store.write_now(
        lambda tx: maintenance.beat(tx, "worker_far", name="far", schedules=True, next_wake_at=None, can=["home:other"])
    )
    refusal = await choose(whole, stub, code=409)
    assert "Set HOMING_MODEL" in refusal["detail"]
    assert (await whole.ask("GET", PATH))["cannot_set"] == refusal["detail"]
    assert (stub.requests, keys(tmp_path / "home")) == ([], {})


async def test_two_admins_at_once_leave_one_whole_choice(whole: Whole, stub: StubModelServer, tmp_path: Path) -> None:
    await asyncio.gather(choose(whole, stub, key=KEY), choose(whole, stub, key=OTHER, model="openai-chat:stub-large"))
    kept = whole.homing.store.write_now(maintenance.model_setting)
    assert kept is not None
    assert kept.secret is not None
    wanted = {SMALL: KEY, "openai-chat:stub-large": OTHER}[kept.model]
    assert keys(tmp_path / "home")[kept.secret] == wanted
    stub.key = wanted
    stub.reply("Of one of them.")
    assert await whole.say("hello") == "Of one of them."
    # What lost is removed later, not while somebody may be about to name it.
    hands = whole.homing.instance.hands
    assert isinstance(hands, ServerHands)
    await hands.sweep_secrets()
    assert len(keys(tmp_path / "home")) == 2
    for path in (tmp_path / "home" / "secrets").glob("*"):
        os.utime(path, (0, 0))
    await hands.sweep_secrets()
    assert list(keys(tmp_path / "home").values()) == [wanted]


async def test_a_full_disk_and_a_lost_key_file_are_told(whole: Whole, stub: StubModelServer, tmp_path: Path) -> None:
    (tmp_path / "home" / "secrets").write_text("in the way")
    refusal = await choose(whole, stub, code=409)
    assert "could not be written" in refusal["detail"]
    (tmp_path / "home" / "secrets").unlink()
    await choose(whole, stub)
    for path in (tmp_path / "home" / "secrets").glob("*"):
        path.unlink()
    assert "is not on this machine" in (await whole.ask("GET", PATH))["problem"]


_MORTAL = """
import os, sys
from homing.cli.main import run
import homing.wiring
from support.tripwires import Trip, hang

home, url, key, place = sys.argv[1:]
os.environ["HOMING_HOME"] = home
real = homing.wiring.wire
def wire(*args, **more):
    made = real(*args, **more)
    if place != "none":
        hang(made.store.engine, Trip(statement="update setting", place=place))
    return made
homing.wiring.wire = wire
import homing.cli.instance
homing.cli.instance.wire = wire
sys.exit(run(["model", "set", "openai-chat:" + place, "--base-url", url, "--key", "--json"]))
"""


def test_killed_between_key_and_row_the_old_model_works(tmp_path: Path, stub: StubModelServer) -> None:
    home = tmp_path / "home"

    def choose_and_die(place: str) -> int:
        given = [sys.executable, "-c", _MORTAL, str(home), stub.openai_url, "", place]
        tests = Path(__file__).parents[2]
        ran = subprocess.run(
            given, input=f"{KEY}-{place}\n", text=True, capture_output=True, check=False,
            env=os.environ | {"PYTHONPATH": str(tests)},
        )  # fmt: skip
        assert KEY not in ran.stdout + ran.stderr
        return ran.returncode

    def kept() -> tuple[str, str]:
        import sqlite3

        with sqlite3.connect(home / "homing.db") as database:
            [(value,)] = database.execute("select value from setting where name = 'model'").fetchall()
        row = json.loads(value)
        return row["model"], keys(home)[row["secret"]]

    assert choose_and_die("none") == 0
    for place, counts in (("before", "none"), ("commit", "none"), ("committed", "committed")):
        assert choose_and_die(place) == -9
        assert kept() == (f"openai-chat:{counts}", f"{KEY}-{counts}")
