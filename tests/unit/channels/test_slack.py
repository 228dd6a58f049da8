"""Slack against a strict stub: what is sent, what is refused, what may have arrived, what is heard and acknowledged."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from homing.channels import File, Part, PartQuestion
from homing.channels.slack import (
    SlackChannel,
    _Hearing,  # pyright: ignore[reportPrivateUsage]
    make,
)
from homing.channels.slack_events import Me, read_event
from homing.model.errors import ChannelFailed
from homing.testing import SlackStub
from homing.testing.channel_contract import Shown, prove_channel
from unit.channels.notes import Notes, failure, listening
from unit.channels.sample_parts import part

ME = Me(user_id="UHOMING", name="homing-bot", team_id="T1", team="Acme")


@pytest.fixture
def slack() -> Iterator[SlackStub]:
    with SlackStub() as stub:
        stub.write("hello")
        yield stub


def channel_to(slack: SlackStub, *, seconds: float = 5.0, pause: float = 0, **tokens: str) -> SlackChannel:
    given = {"app_token": slack.app_token, "bot_token": slack.bot_token} | tokens
    return SlackChannel(name="slack", base_url=slack.url, timeout_seconds=seconds, pause_seconds=pause, **given)


async def heard_after(slack: SlackStub, intake: Notes) -> None:
    """Wait until the channel listens, and the cursor says from where."""
    await intake.until()
    await asyncio.to_thread(slack.wait_for, lambda stub: stub.listening)


def answer_with(slack: SlackStub, monkeypatch: pytest.MonkeyPatch, method: str, code: int, *, times: int) -> None:
    """Let the first calls of a method fail."""
    perform, asked = slack._perform, list[str]()  # pyright: ignore[reportPrivateUsage]

    async def answer(called: str, fields: dict[str, Any], exchange: Any) -> Any:
        asked.append(called)
        if called == method and asked.count(called) <= times:
            exchange.answer_json(code, {"ok": False, "error": "ratelimited"}, {"retry-after": "1"})
            return None
        return await perform(called, fields, exchange)

    monkeypatch.setattr(slack, "_perform", answer)


class Platform:
    """The stub as the contract kit wants it."""

    address, bad_address = "slack:D1", "slack:C404"

    def __init__(self, stub: SlackStub) -> None:
        self.stub = stub

    def shown(self) -> Sequence[Shown]:
        return [
            Shown(
                text=one["blocks"][0]["text"],
                options=[button["text"]["text"] for block in one["blocks"][1:] for button in block["elements"]],
            )
            for one in self.stub.sent
        ]

    def say(self, text: str) -> None:
        self.stub.write(text)


async def test_it_keeps_the_contract_of_channels(slack: SlackStub) -> None:
    await prove_channel(channel_to(slack), Platform(slack))


async def test_a_message_arrives_with_its_id_and_its_receipt_names_it(slack: SlackStub) -> None:
    receipt = await channel_to(slack).send(part("slack:D1", "**It** is <nine> & more."))
    [sent] = slack.sent
    assert sent["blocks"] == [{"type": "markdown", "text": "**It** is <nine> & more."}]
    assert sent["text"] == "**It** is &lt;nine&gt; &amp; more."
    assert sent["metadata"]["event_payload"] == {"id": "dlv_k3v9x2mq7a.0"}
    assert (receipt.external_id, receipt.detail) == (f"D1:{sent['ts']}", {"channel": "D1", "ts": sent["ts"]})


async def test_a_thread_is_an_address(slack: SlackStub) -> None:
    root = slack.write("shall we?", channel="C1")
    await channel_to(slack).send(part(f"slack:C1/{root}", "Yes."))
    assert slack.sent[0]["thread_ts"] == root


async def test_an_agents_words_ring_nobody(slack: SlackStub) -> None:
    await channel_to(slack).send(part("slack:D1", "<!channel> and <!here|here>, read <!-- this -->"))
    assert slack.sent[0]["blocks"][0]["text"] == "@channel and @here, read <!-- this -->"


@pytest.mark.parametrize("place", ["", "ada", "U7", "C1/", "C1/x", "c1", "C1 2", "C" + "1" * 40])
async def test_what_is_not_a_channel_is_refused_without_a_call(slack: SlackStub, place: str) -> None:
    error = await failure(channel_to(slack), part(f"slack:{place}"))
    assert (error.permanent, slack.calls) == (True, [])


@pytest.mark.parametrize("how", ["lose", "close", "500", "fatal_error"])
async def test_without_an_answer_nobody_can_tell_and_the_next_attempt_looks_first(slack: SlackStub, how: str) -> None:
    slack.fail(how)
    channel, what = channel_to(slack, seconds=0.5), part("slack:D1", "Once.")
    error = await failure(channel, what)
    assert (error.unsure, error.permanent) == (True, False)
    shown = len(slack.sent)
    receipt = await channel_to(slack).send(replace(what, unsure=True))
    assert len(slack.sent) == 1, f"{shown} were shown before"
    assert receipt.external_id == f"D1:{slack.sent[0]['ts']}"


async def test_an_unsure_part_of_a_thread_is_looked_for_in_the_thread(slack: SlackStub) -> None:
    root = slack.write("shall we?", channel="C1")
    what = part(f"slack:C1/{root}", "Yes.")
    await channel_to(slack).send(what)
    await channel_to(slack).send(replace(what, unsure=True))
    assert len(slack.sent) == 1


async def test_told_to_slow_down_the_account_waits_as_long_as_slack_says(slack: SlackStub) -> None:
    slack.limit(17)
    error = await failure(channel_to(slack), part("slack:D1"))
    assert (error.limited, error.retry_after, error.permanent, error.unsure) == (True, 17, False, False)


async def test_nobody_waits_longer_than_an_hour(slack: SlackStub) -> None:
    slack.limit(99_999)
    assert (await failure(channel_to(slack), part("slack:D1"))).retry_after == 3600


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("is_archived", "Slack says: is_archived."),
        ("not_in_channel", "Slack says: not_in_channel. Invite the app there (/invite)."),
    ],
)
async def test_what_slack_refuses_is_dead_in_its_words(slack: SlackStub, how: str, said: str) -> None:
    slack.fail(how)
    error = await failure(channel_to(slack), part("slack:D1"))
    assert (error.permanent, error.detail) == (True, said)


async def test_a_revoked_token_fails_in_slacks_words_until_it_works_again(slack: SlackStub) -> None:
    channel = channel_to(slack)
    slack.bot_token = "xoxb-another"
    error = await failure(channel, part("slack:D1"))
    assert (error.permanent, error.unsure) == (False, False)
    assert error.detail == "Slack says: invalid_auth. Check the tokens of slack and the scopes of its app."
    with pytest.raises(ChannelFailed, match="Slack says: invalid_auth"):
        await channel.listen(Notes())
    slack.bot_token = "xoxb-stub-bot"
    assert await channel.check() == "@homing in Acme"
    with pytest.raises(ChannelFailed, match="Slack says: invalid_auth"):
        await channel_to(slack, app_token="xapp-wrong").listen(Notes())


async def test_a_slack_that_is_not_there_surely_got_nothing() -> None:
    channel = SlackChannel(name="slack", app_token="xapp-1", bot_token="xoxb-1", base_url="http://127.0.0.1:1")
    error = await failure(channel, part("slack:D1"))
    assert (error.unsure, error.permanent) == (False, False)


@pytest.mark.parametrize(
    "fields",
    [
        {"app_token": "xoxb-secret", "bot_token": "xoxb-1"},
        {"app_token": "xapp-1", "bot_token": "xapp-secret"},
        {"app_token": "xapp-1", "bot_token": "xoxb-1", "base_url": "slack"},
    ],
)
def test_what_cannot_be_an_app_is_refused_without_showing_a_token(fields: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="must") as caught:
        make("slack", fields)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("break_off", ["before", "after"])
async def test_an_event_is_acknowledged_after_it_was_written(slack: SlackStub, break_off: str) -> None:
    first = Notes()
    async with listening(channel_to(slack), first):
        await heard_after(slack, first)
    ts = slack.write(f"killed {break_off}")
    before = slack.waiting
    broken = Notes(first.cursor, break_off=break_off)
    with pytest.raises(ConnectionError):
        await channel_to(slack).listen(broken)
    assert slack.waiting == before, "nothing is acknowledged before it is known to be written"
    again = Notes(first.cursor if break_off == "before" else broken.cursor)
    async with listening(channel_to(slack), again):
        await asyncio.to_thread(slack.wait_for, lambda stub: not stub.waiting)
    heard = [*(broken.taken if break_off == "after" else ()), *again.taken]
    assert [message.external_id for message in heard] == [f"D1:{ts}"]


async def test_one_mention_that_comes_as_two_events_is_one_message(slack: SlackStub) -> None:
    intake = Notes()
    async with listening(channel_to(slack), intake):
        await heard_after(slack, intake)
        ts = slack.write("<@UHOMING> hi", channel="C1")
        await asyncio.to_thread(slack.wait_for, lambda stub: not stub.waiting)
    [heard] = intake.taken
    assert (heard.external_id, heard.address, heard.text) == (f"C1:{ts}", "slack:C1", "@homing hi")
    assert (heard.direct, heard.addressed, heard.sender, heard.sender_name) == (False, True, "U7", "Ada U7")


@pytest.mark.parametrize("redelivered", [True, False])
async def test_thirty_messages_missed_while_away_arrive_in_order(slack: SlackStub, redelivered: bool) -> None:
    """Slack gives them again for some minutes; after that only its history has them."""
    first = Notes()
    async with listening(channel_to(slack), first):
        await heard_after(slack, first)
    root = slack.write("in a channel", channel="C1")
    for number in range(30):
        place = {"channel": "C1", "thread_ts": root} if number % 10 == 7 else {}
        slack.write(f"missed {number}", **place)
    if not redelivered:
        slack.forget_events()
    again = Notes(first.cursor)
    async with listening(channel_to(slack), again):
        await again.until(31)
        slack.write("and now")
        await again.until(32)
    assert again.texts == ["in a channel", *(f"missed {number}" for number in range(30)), "and now"]
    assert len({message.external_id for message in again.taken}) == 32


async def test_a_thread_that_began_before_is_caught_up_too(slack: SlackStub) -> None:
    root = slack.write("long ago", channel="C1")
    first = Notes()
    async with listening(channel_to(slack), first):
        await heard_after(slack, first)
    slack.write("missed", channel="C1", thread_ts=root)
    slack.forget_events()
    async with listening(channel_to(slack), Notes(first.cursor)) as again:
        await again.until(1)
    assert (again.texts, again.taken[0].address) == (["missed"], f"slack:C1/{root}")


async def test_the_history_is_waited_for_when_slack_wants_it_slower(
    slack: SlackStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_with(slack, monkeypatch, "conversations.history", 429, times=1)
    slack.write("missed")
    slack.forget_events()
    async with listening(channel_to(slack), Notes("T1:1:1")) as intake:
        await intake.until(2)
    assert intake.texts == ["hello", "missed"]


async def test_what_came_late_in_another_channel_is_caught_up_though_newer_was_written(slack: SlackStub) -> None:
    late = slack.write("late", channel="C1")
    ts = slack.write("newer")
    slack.forget_events()
    cursor = f"T1:{late.partition('.')[0]}:{ts}:D1"
    async with listening(channel_to(slack), Notes(cursor)) as intake:
        await intake.until(1)
    assert intake.texts == ["late"]


async def test_a_code_that_was_heard_is_not_heard_again(slack: SlackStub) -> None:
    slack.write("link hm-aaaaaaaaaaaaaaaa")
    ts = slack.write("newer", channel="C1")
    slack.write("newest")
    slack.forget_events()
    async with listening(channel_to(slack), Notes(f"T1:1:{ts}:C1")) as intake:
        await intake.until(2)
    assert intake.texts == ["hello", "newest"]


@pytest.mark.parametrize(("awaiting", "texts"), [(True, ["hello", "shared"]), (False, ["shared"])])
async def test_the_history_of_strangers_is_not_read_unless_one_may_be_linked(
    slack: SlackStub, awaiting: bool, texts: list[str]
) -> None:
    slack.write("shared", channel="C1")
    slack.forget_events()
    async with listening(channel_to(slack), Notes("T1:1:1", known=False, awaiting=awaiting)) as intake:
        await intake.until(len(texts))
    assert intake.texts == texts


async def test_a_page_of_the_history_that_fails_is_asked_for_again(
    slack: SlackStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("homing.channels.slack._RETRY_SECONDS", 0)
    answer_with(slack, monkeypatch, "conversations.history", 500, times=2)
    slack.forget_events()
    async with listening(channel_to(slack), Notes("T1:1:1")) as intake:
        await intake.until(1)
    assert intake.texts == ["hello"]
    answer_with(slack, monkeypatch, "conversations.history", 500, times=3)
    with pytest.raises(ChannelFailed, match="Slack answered 500"):
        await channel_to(slack).listen(Notes("T1:1:1"))


async def test_of_a_history_that_is_too_long_the_rest_is_counted(
    slack: SlackStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("homing.channels.slack._PAGE", 2)
    monkeypatch.setattr("homing.channels.slack._MOST_PAGES", 1)
    for number in range(4):
        slack.write(f"missed {number}")
    slack.forget_events()
    async with listening(channel_to(slack), Notes("T1:1:1")) as intake:
        await intake.until(2, unread=1)
    assert (intake.texts, intake.unread) == (["missed 2", "missed 3"], 1)


async def test_told_to_slow_down_while_it_looks_for_a_part_the_account_waits(
    slack: SlackStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_with(slack, monkeypatch, "conversations.history", 429, times=1)
    error = await failure(channel_to(slack), replace(part("slack:D1"), unsure=True))
    assert (error.limited, error.retry_after, error.unsure, slack.sent) == (True, 1, False, [])


@pytest.mark.parametrize("cursor", [None, "T2:1:1.0:D1", "1712", "T1:1:x"])
async def test_the_first_listen_to_a_workspace_starts_at_now(slack: SlackStub, cursor: str | None) -> None:
    """What Slack gives again of the time before is acknowledged, and not taken."""
    intake = Notes(cursor)
    async with listening(channel_to(slack), intake):
        await asyncio.to_thread(slack.wait_for, lambda stub: not stub.waiting)
        slack.write("now")
        await intake.until(1)
    assert intake.texts == ["now"]


async def test_when_slack_wants_another_connection_nothing_is_lost(slack: SlackStub) -> None:
    intake = Notes()
    async with listening(channel_to(slack), intake):
        await heard_after(slack, intake)
        slack.write("one")
        slack.refresh()
        slack.write("two")
        await intake.until(2)
    assert intake.texts == ["one", "two"]


async def test_before_another_connection_it_pauses(slack: SlackStub) -> None:
    """A server that always says "try again" must not cause an endless loop."""

    def opened(stub: SlackStub) -> int:
        return [method for method, _ in stub.calls].count("apps.connections.open")

    async with listening(channel_to(slack, pause=0.3), Notes()) as intake:
        await heard_after(slack, intake)
        asked_at = time.monotonic()
        slack.refresh()
        await asyncio.to_thread(slack.wait_for, lambda stub: opened(stub) == 2)
    assert time.monotonic() - asked_at >= 0.3


async def test_a_connection_that_breaks_off_is_a_failure_of_the_channel(slack: SlackStub) -> None:
    intake = Notes()
    task = asyncio.create_task(channel_to(slack).listen(intake))
    await heard_after(slack, intake)
    slack.cut()
    with pytest.raises(ChannelFailed, match="Slack closed the connection"):
        await task
    task = asyncio.create_task(channel_to(slack).listen(intake))
    await heard_after(slack, intake)
    slack.refresh("link_disabled")
    with pytest.raises(ChannelFailed, match="Socket Mode is turned off"):
        await task


async def test_a_pressed_button_comes_back_by_number(slack: SlackStub) -> None:
    options = ["Äpfel " * 20, "Pears"]
    channel = channel_to(slack)
    await channel.send(replace(part("slack:D1", "Which?"), question=PartQuestion(id="q_k3v9x2mq7a", options=options)))
    async with listening(channel, Notes()) as intake:
        await heard_after(slack, intake)
        slack.press(slack.sent[0], 2)
        [heard] = await intake.until(1)
        await asyncio.to_thread(slack.wait_for, lambda stub: not stub.waiting)
    assert heard.answer == ("q_k3v9x2mq7a", 2)
    assert (heard.text, heard.sender, heard.direct, heard.addressed) == ("Pears", "U7", True, True)
    assert heard.replies_to == f"D1:{slack.sent[0]['ts']}"
    await channel.edit("slack:D1", f"D1:{slack.sent[0]['ts']}", "Which?\nAnswer: Pears")
    assert (slack.sent[0]["text"], slack.sent[0]["blocks"]) == ("Which?\nAnswer: Pears", [])


async def test_a_reply_in_a_thread_names_what_it_answers(slack: SlackStub) -> None:
    channel = channel_to(slack)
    await channel.send(part("slack:D1", "Stretch now."))
    await channel.send(part("slack:D1", "Again."))
    slack.write("hello", channel="C1")
    receipt = await channel.send(part("slack:C1", "Lunch?"))
    async with listening(channel, Notes()) as intake:
        await heard_after(slack, intake)
        slack.write("did it", thread_ts=slack.sent[0]["ts"])
        slack.write("yes", channel="C1", thread_ts=slack.sent[2]["ts"])
        direct, shared = await intake.until(2)
    assert (direct.address, direct.replies_to) == ("slack:D1", f"D1:{slack.sent[0]['ts']}")
    assert (shared.address, shared.replies_to) == (f"slack:C1/{slack.sent[2]['ts']}", receipt.external_id)
    assert shared.addressed, "it answers one of our messages"


async def test_an_edit_keeps_the_id_and_is_marked(slack: SlackStub) -> None:
    async with listening(channel_to(slack), Notes()) as intake:
        await heard_after(slack, intake)
        ts = slack.write("at eight")
        slack.edit(ts, "at nine")
        _, edited = await intake.until(2)
    assert (edited.external_id, edited.text, edited.edited) == (f"D1:{ts}", "at nine", True)


@pytest.mark.parametrize(
    "fields",
    [
        {"bot_id": "B9", "user": "U9"},
        {"user": "UHOMING"},
        {"subtype": "bot_message", "bot_id": "B9"},
        {"subtype": "channel_join", "user": "U3"},
        {"subtype": "message_deleted"},
        {"type": "reaction_added", "user": "U3"},
        {"subtype": "message_changed", "message": {"user": "U3", "text": "a link", "ts": "1.1"}},
    ],
)
def test_bots_our_own_words_and_notes_of_slack_are_dropped(fields: dict[str, Any]) -> None:
    event = {"type": "message", "channel": "C1", "ts": "1.1", "text": "beep", **fields}
    assert read_event(event, ME, "slack", no_file) is None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<@UHOMING> link hm-x", "@homing_bot link hm-x"),
        ("a &lt;@UHOMING&gt; &amp; b", "a <@UHOMING> & b"),
        ("<https://a.example/x|the page> <https://b.example>", "the page (https://a.example/x) https://b.example"),
        ("<https://a.example|a.example>", "https://a.example"),
        ("in <#C2|general>, <@U3|eve> and <@U4>, <!here>", "in #general, @eve and @U4, @here"),
    ],
)
def test_marks_of_slack_are_written_as_people_read_them(text: str, shown: str) -> None:
    event = {"type": "message", "channel": "C1", "ts": "1.1", "user": "U3", "text": text}
    heard = read_event(event, ME, "slack", no_file)
    assert heard is not None
    assert heard.text == shown


async def no_file(url: str) -> AsyncIterator[bytes]:
    raise AssertionError(url)
    yield b""


async def test_an_event_that_makes_no_sense_does_not_keep_back_the_next(slack: SlackStub) -> None:
    async with listening(channel_to(slack), Notes()) as intake:
        await heard_after(slack, intake)
        slack.tell({"type": "message", "user": "U3", "text": "nowhere"})
        slack.write("whole")
        await intake.until(1, unread=1)
        await asyncio.to_thread(slack.wait_for, lambda stub: not stub.waiting)
    assert (intake.texts, intake.unread) == (["whole"], 1)


async def test_an_event_that_breaks_its_reader_is_counted(slack: SlackStub) -> None:
    intake, channel = Notes(), channel_to(slack)
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"deep": deep}
    event = {"type": "message", "channel": "C1", "ts": "1.1", "user": "U3", "text": deep}
    async with httpx2.AsyncClient() as client:
        hearing = _Hearing(client=client, intake=intake, me=ME, since="1", floor="1")
        envelope = {"type": "events_api", "payload": {"event": event}}
        await channel._take(hearing, envelope)  # pyright: ignore[reportPrivateUsage]
    assert (intake.texts, intake.unread) == ([], 1)


def file_part(data: bytes, address: str = "slack:D1") -> Part:
    async def read() -> AsyncIterator[bytes]:
        yield data[:5]
        yield data[5:]

    file = File(id="file_1", name="prices é.txt", media_type="text/plain", size=len(data), read=read)
    return replace(part(address, ""), file=file)


async def test_a_file_goes_out_whole_and_is_not_shown_twice(slack: SlackStub) -> None:
    channel = channel_to(slack, seconds=0.5)
    slack.fail("lose")
    assert (await failure(channel, file_part(b"pears 2.99"))).unsure
    receipt = await channel_to(slack).send(replace(file_part(b"pears 2.99"), unsure=True))
    [sent] = slack.sent
    assert slack.files[sent["files"][0]["id"]] == {"name": "prices é.txt", "length": 10, "data": b"pears 2.99"}
    assert receipt.external_id == f"D1:{sent['ts']}"
    await channel.send(file_part(b"pears 2.98"))
    assert len(slack.sent) == 2


async def test_an_equal_file_of_another_part_or_another_app_does_not_count_as_sent(slack: SlackStub) -> None:
    channel, unsure = channel_to(slack), replace(file_part(b"pears 2.99"), unsure=True)
    shown = {"id": "F900", "name": "prices é.txt", "size": 10}
    slack.write("", sender="U9", bot_id="B9", subtype="file_share", files=[shown])
    first = await channel.send(unsure)
    assert len(slack.sent) == 1, "another app's file is not ours"
    await channel.send(replace(unsure, id="dlv_k3v9x2mq7a.1", others=[first.detail]))
    assert len(slack.sent) == 2, "the first of two equal files is not the second"
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    await channel.send(replace(unsure, id="dlv_k3v9x2mq7b.0", created_at=tomorrow))
    assert len(slack.sent) == 3, "an older file is not this one"
    found = await channel.send(replace(unsure, others=[first.detail]))
    assert (len(slack.sent), found.external_id) == (3, f"D1:{slack.sent[2]['ts']}")


async def test_a_file_that_a_person_sends_can_be_fetched_and_the_token_goes_to_slack_only(slack: SlackStub) -> None:
    async with listening(channel_to(slack), Notes()) as intake:
        await heard_after(slack, intake)
        slack.write_file(b"pixels", "cat.png", text="my cat")
        elsewhere = {"id": "F9", "name": "notes", "url_private": "https://slack.com.evil.example/x"}
        slack.write("", subtype="file_share", files=[elsewhere])
        mine, foreign = await intake.until(2)
        [file] = mine.files
        assert (mine.text, file.name, file.size) == ("my cat", "cat.png", 6)
        assert b"".join([piece async for piece in file.read()]) == b"pixels"
        with pytest.raises(ChannelFailed, match="not kept at Slack") as caught:
            _ = [piece async for piece in foreign.files[0].read()]
        assert caught.value.permanent


async def test_no_log_shows_a_token_or_a_ticket(slack: SlackStub, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="httpx2")
    async with listening(channel_to(slack), Notes()) as intake:
        await heard_after(slack, intake)
        slack.write("now")
        await intake.until(1)
    assert "ticket=…" in caplog.text
    assert slack.bot_token not in caplog.text
    assert slack.app_token not in caplog.text
