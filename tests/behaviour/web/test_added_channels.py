"""Channels are added, changed and removed at a door, and each change counts at once, without a restart."""

import asyncio
import json
import os
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from homing.model.contract import BY_NAME
from homing.store import maintenance
from homing.testing import TelegramStub
from homing.wiring import ServerHands
from support.site import OWNER_TOKEN, STRANGER_TOKEN
from support.whole import Whole, open_whole

OLD, NEW, WRONG = "4664:stub-token", "4664:new-token", "4664:wrong-token"


@pytest.fixture
def telegram() -> Iterator[TelegramStub]:
    with TelegramStub(token=OLD) as stub:
        yield stub


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
async def whole(database: str, home: Path) -> AsyncIterator[Whole]:
    async with open_whole(database, home, SANDBOX="off") as whole:
        yield whole


async def until(stub: TelegramStub, enough: Callable[[TelegramStub], bool]) -> None:
    await asyncio.to_thread(stub.wait_for, enough, seconds=60)


async def gone_quiet(stub: TelegramStub) -> None:
    async with asyncio.timeout(60):
        while stub.polling:  # noqa: ASYNC110 - the stub runs in another thread
            await asyncio.sleep(0.02)


async def refuses_links(whole: Whole) -> None:
    """Wait until the worker has handed its claim back."""
    async with asyncio.timeout(60):
        while True:
            headers = {"Authorization": f"Bearer {OWNER_TOKEN}"}
            answer = await whole.http.post("/api/channels/telegram/link", json={}, headers=headers)
            if answer.status_code == 404:
                return
            await asyncio.sleep(0.02)


async def listed(whole: Whole, name: str) -> Any:
    return next((one for one in (await whole.ask("GET", "/channels"))["items"] if one["name"] == name), None)


async def seen(whole: Whole, name: str, **wanted: Any) -> Any:
    """Wait until a channel is shown so."""
    async with asyncio.timeout(60):
        while True:
            found = await listed(whole, name)
            if found and {key: found[key] for key in wanted} == wanted:
                return found
            await asyncio.sleep(0.02)


async def add(whole: Whole, stub: TelegramStub, *, token: str = OLD, code: int = 201, **more: Any) -> Any:
    given = {"name": "telegram", "fields": {"token": token, "base_url": stub.url}, **more}
    return await whole.ask("POST", "/channels", given, code=code)


async def link(whole: Whole, stub: TelegramStub) -> None:
    # The first listen begins at now: what was written before it is not heard.
    await until(stub, lambda stub: stub.polling)
    code = await whole.ask("POST", "/channels/telegram/link", {}, code=201)
    stub.write(code["say"])
    await until(stub, lambda stub: any("linked" in one["text"] for one in stub.sent))


def keepers(home: Path) -> list[Path]:
    return sorted((home / "secrets").glob("channel_*"))


async def test_a_channel_that_is_added_hears_and_answers_without_a_restart(
    whole: Whole, telegram: TelegramStub, home: Path
) -> None:
    added = await add(whole, telegram)
    assert (added["kind"], added["added"], added["linking"]) == ("telegram", True, "code")
    await seen(whole, "telegram", state="listening", account="@homing_bot")
    await link(whole, telegram)
    whole.model.reply("Good morning.")
    telegram.write("hello")
    await until(telegram, lambda stub: stub.sent[-1]["text"] == "Good morning.")
    [file] = keepers(home)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(file.read_text())["token"] == OLD
    kept = await whole.homing.store.read(maintenance.kept_channels)
    assert OLD not in repr(kept)


async def test_a_new_token_counts_at_once_also_when_the_old_one_was_refused(
    whole: Whole, telegram: TelegramStub
) -> None:
    await add(whole, telegram)
    await seen(whole, "telegram", state="listening")
    await link(whole, telegram)
    # Revoked by the owner of the bot: the next poll is refused.
    telegram.token = NEW
    # A poll that is under way may still hear it; the answer is then refused, and sent again.
    whole.model.reply("I heard that.")
    telegram.write("said while nobody could hear it")
    await seen(whole, "telegram", state="failing")
    changed = await whole.ask("PATCH", "/channels/telegram", {"fields": {"token": NEW}})
    assert changed["error"] is None
    await until(telegram, lambda stub: stub.sent[-1]["text"] == "I heard that.")
    await seen(whole, "telegram", state="listening", error=None)


async def test_a_refused_token_changes_nothing(whole: Whole, telegram: TelegramStub, home: Path) -> None:
    refused = await add(whole, telegram, token=WRONG, code=422)
    assert "Telegram does not accept the token of telegram: Unauthorized" in refused["detail"]
    assert "Nothing was changed" in refused["detail"]
    assert await listed(whole, "telegram") is None
    await add(whole, telegram)
    await seen(whole, "telegram", state="listening")
    refused = await whole.ask("PATCH", "/channels/telegram", {"fields": {"token": WRONG}}, code=422)
    assert WRONG not in json.dumps(refused)
    await seen(whole, "telegram", state="listening", error=None)
    assert len(keepers(home)) == 1


async def test_a_channel_that_is_removed_is_heard_no_more_and_comes_back_with_its_links(
    whole: Whole, telegram: TelegramStub
) -> None:
    await add(whole, telegram)
    await seen(whole, "telegram", state="listening")
    await link(whole, telegram)
    assert (await whole.ask("DELETE", "/channels/telegram"))["removed"] is True
    assert await listed(whole, "telegram") is None
    await gone_quiet(telegram)
    await refuses_links(whole)
    await whole.ask("DELETE", "/channels/telegram", code=404)
    await add(whole, telegram)
    whole.model.reply("Welcome back.")
    telegram.write("hello again")
    await until(telegram, lambda stub: stub.sent[-1]["text"] == "Welcome back.")


async def test_what_was_added_is_there_after_a_restart(database: str, home: Path, telegram: TelegramStub) -> None:
    async with open_whole(database, home, SANDBOX="off") as whole:
        await add(whole, telegram)
        await seen(whole, "telegram", state="listening")
        await link(whole, telegram)
    async with open_whole(database, home, SANDBOX="off") as whole:
        whole.model.reply("Still here.")
        telegram.write("hello")
        await until(telegram, lambda stub: stub.sent[-1]["text"] == "Still here.")


async def test_a_new_value_in_a_file_of_secrets_counts_without_a_restart(
    database: str, home: Path, telegram: TelegramStub
) -> None:
    secret = home / "secrets" / "BOT"
    secret.parent.mkdir(mode=0o700)
    secret.touch(0o600)
    secret.write_text(WRONG)
    settings = f'[channels.telegram]\ntoken = {{ secret = "BOT" }}\nbase_url = "{telegram.url}"\n'
    (home / "homing.toml").write_text(settings, "utf-8")
    async with open_whole(database, home, SANDBOX="off") as whole:
        await seen(whole, "telegram", state="failing")
        fresh = secret.with_name("fresh")
        fresh.touch(0o600)
        fresh.write_text(OLD)
        fresh.replace(secret)
        await seen(whole, "telegram", state="listening", error=None)


async def test_what_the_servers_settings_name_is_changed_there_and_the_answer_says_so(
    database: str, home: Path, telegram: TelegramStub
) -> None:
    settings = f'[channels.telegram]\ntoken = "{OLD}"\nbase_url = "{telegram.url}"\n'
    (home / "homing.toml").write_text(settings, "utf-8")
    async with open_whole(database, home, SANDBOX="off", SMTP_URL="smtp://127.0.0.1:1") as whole:
        assert (await listed(whole, "telegram"))["added"] is False
        told = [
            await add(whole, telegram, code=409),
            await whole.ask("PATCH", "/channels/telegram", {"fields": {"token": NEW}}, code=409),
            await whole.ask("DELETE", "/channels/telegram", code=409),
        ]
        for one in told:
            assert "[channels.telegram] in homing.toml" in one["detail"]
            assert "start Homing again" in one["detail"]
        smtp = await whole.ask("DELETE", "/channels/email", code=409)
        assert "HOMING_SMTP_URL" in smtp["detail"]


async def test_what_is_missing_or_unknown_is_named(whole: Whole, telegram: TelegramStub) -> None:
    async def refused(code: int = 422, **body: Any) -> Any:
        return await whole.ask("POST", "/channels", {"name": "telegram", "fields": {}, **body}, code=code)

    assert [one["field"] for one in (await refused())["errors"]] == ["fields.token"]
    unknown = await refused(fields={"token": OLD, "colour": "red"})
    assert [(one["field"], one["code"]) for one in unknown["errors"]] == [("fields.colour", "unknown_field")]
    assert "telegram, matrix" in (await refused(kind="pigeon"))["detail"]
    assert "needs another name" in (await refused(name="web", kind="telegram", fields={"token": OLD}))["detail"]
    await add(whole, telegram)
    assert "update_channel" in (await add(whole, telegram, code=409))["detail"]


async def test_only_an_admin_adds_changes_or_removes_channels_and_no_program_is_offered_it(
    whole: Whole, telegram: TelegramStub
) -> None:
    await add(whole, telegram)
    for method, path, body in (
        ("POST", "/channels", {"name": "other", "kind": "telegram", "fields": {"token": OLD}}),
        ("PATCH", "/channels/telegram", {"fields": {"token": NEW}}),
        ("DELETE", "/channels/telegram", None),
        ("GET", "/channel-kinds", None),
    ):
        await whole.ask(method, path, body, token=STRANGER_TOKEN, code=403)
    for name in ("add_channel", "update_channel", "remove_channel", "list_channel_kinds"):
        assert not BY_NAME[name].mcp
    assert (await listed(whole, "telegram"))["added"] is True


async def test_two_who_change_a_channel_at_once_cannot_undo_each_other_unseen(
    whole: Whole, telegram: TelegramStub
) -> None:
    await add(whole, telegram)
    changes = [
        whole.http.patch(
            "/api/channels/telegram",
            json={"fields": {"token": OLD}},
            headers={"Authorization": f"Bearer {OWNER_TOKEN}"},
            timeout=60,
        )
        for _ in range(4)
    ]
    codes = sorted(answer.status_code for answer in await asyncio.gather(*changes))
    assert codes[0] == 200
    assert set(codes) <= {200, 409}
    await seen(whole, "telegram", state="listening", error=None)


async def test_a_token_is_not_sent_to_another_server_than_the_one_it_was_given_for(
    whole: Whole, telegram: TelegramStub
) -> None:
    await add(whole, telegram)
    with TelegramStub(token=OLD) as other:
        moved = {"fields": {"base_url": other.url}}
        refused = await whole.ask("PATCH", "/channels/telegram", moved, code=422)
        assert [one["field"] for one in refused["errors"]] == ["fields.token"]
        assert not other.calls
        moved["fields"]["token"] = OLD
        await whole.ask("PATCH", "/channels/telegram", moved)
        await until(other, lambda stub: stub.polling)
    # Giving the same address again asks for no token.
    same = {"fields": {"base_url": telegram.url, "token": OLD}}
    await whole.ask("PATCH", "/channels/telegram", same)
    del same["fields"]["token"]
    await whole.ask("PATCH", "/channels/telegram", same)


@pytest.mark.parametrize("written", ["{", '["a"]', '{"token": 7}', "{}", b"\xff\xfe"])
async def test_a_damaged_file_of_a_channel_stops_neither_the_server_nor_the_other_channels(
    database: str, home: Path, telegram: TelegramStub, written: str | bytes
) -> None:
    async with open_whole(database, home, SANDBOX="off") as whole:
        await add(whole, telegram)
        await add(whole, telegram, name="second", kind="telegram")
        kept = {one.name: one.secret for one in await whole.homing.store.read(maintenance.kept_channels)}
    (home / "secrets" / kept["second"]).write_bytes(written if isinstance(written, bytes) else written.encode())
    async with open_whole(database, home, SANDBOX="off") as whole:
        await seen(whole, "telegram", state="listening")
        damaged = await seen(whole, "second", state="failing", added=True)
        assert "homing channels update second" in damaged["error"]
        assert written not in ("{", "{}") or written not in damaged["error"]
        mended = {"fields": {"token": OLD, "base_url": telegram.url}}
        await whole.ask("PATCH", "/channels/second", mended)
        await seen(whole, "second", error=None)


async def test_a_channel_added_by_two_at_once_is_added_once(whole: Whole, telegram: TelegramStub) -> None:
    given = {"name": "telegram", "fields": {"token": OLD, "base_url": telegram.url}}
    headers = {"Authorization": f"Bearer {OWNER_TOKEN}"}
    adding = [whole.http.post("/api/channels", json=given, headers=headers, timeout=60) for _ in range(4)]
    assert sorted(answer.status_code for answer in await asyncio.gather(*adding)) == [201, 409, 409, 409]


async def test_an_address_that_is_none_is_refused_without_showing_the_token(whole: Whole) -> None:
    for base_url in (
        "http://[::1",
        "https://",
        "http://x:99999999",
        "http://a b",
        "http://127.0.0.1:1/?q=",
        "http://\u2603.\ud7ff",
    ):
        given = {"name": "telegram", "fields": {"token": OLD, "base_url": base_url}}
        refused = await whole.ask("POST", "/channels", given, code=422)
        assert OLD not in json.dumps(refused)


async def test_only_files_that_homing_wrote_are_swept(whole: Whole, telegram: TelegramStub, home: Path) -> None:
    await add(whole, telegram)
    theirs = home / "secrets" / "channel_family_bot"
    theirs.touch(0o600)
    old = home / "secrets" / "channel_abcdefghij"
    old.touch(0o600)
    folder = home / "secrets" / "channel_klmnopqrst"
    folder.mkdir()
    for path in (theirs, old, folder, *keepers(home)):
        os.utime(path, (0, 0))
    hands = whole.homing.instance.hands
    assert isinstance(hands, ServerHands)
    await hands.sweep_secrets()
    assert theirs.exists()
    assert not old.exists()
    assert len(keepers(home)) == 3
