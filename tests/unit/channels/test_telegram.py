"""Telegram against a strict stub of its API: what is sent, what is refused, what may have arrived, what is heard."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest

from homing.channels import File, IncomingMessage, Part, PartQuestion
from homing.channels.telegram import TelegramChannel, make
from homing.channels.telegram_updates import Bot, read_update
from homing.model.cutting import cut
from homing.model.errors import ChannelFailed
from homing.testing import TelegramStub
from homing.testing.loopback import Exchange, LoopbackServer
from homing.testing.telegram import TOKEN
from unit.channels.sample_parts import part

BOT = Bot(id=4664, username="homing_bot")
FROM_THE_START = "4664:0"


@pytest.fixture
def telegram() -> Iterator[TelegramStub]:
    with TelegramStub() as stub:
        yield stub


def channel_to(telegram: TelegramStub, *, token: str | None = None, seconds: float = 5.0) -> TelegramChannel:
    return TelegramChannel(
        name="telegram", token=token or telegram.token, base_url=telegram.url, timeout_seconds=seconds, poll_seconds=5
    )


async def failure(channel: TelegramChannel, what: Part, token: str = TOKEN) -> ChannelFailed:
    with pytest.raises(ChannelFailed) as caught:
        await channel.send(what)
    assert token not in str(caught.value)
    return caught.value


async def test_a_message_arrives_in_its_chat_and_its_receipt_names_it(telegram: TelegramStub) -> None:
    telegram.write("hello")
    receipt = await channel_to(telegram).send(part("telegram:7", "It is nine."))
    [sent] = telegram.sent
    assert (sent["chat"]["id"], sent["text"]) == (7, "It is nine.")
    assert receipt.external_id == f"4664:7:{sent['message_id']}"
    assert receipt.detail == {"chat_id": 7, "message_id": sent["message_id"]}


async def test_a_topic_of_a_group_is_an_address_and_a_reply_names_what_it_answers(telegram: TelegramStub) -> None:
    asked = telegram.write("hello", chat=-1004, message_thread_id=12, is_topic_message=True)
    what = replace(part("telegram:-1004/12", "Hi."), replies_to=f"4664:-1004:{asked}")
    await channel_to(telegram).send(what)
    [sent] = telegram.sent
    assert (sent["chat"]["id"], sent["message_thread_id"]) == (-1004, 12)
    assert sent["reply_parameters"] == {"message_id": asked, "allow_sending_without_reply": True}


@pytest.mark.parametrize("place", ["", "ada", "7/", "7/x", "1e5", "7 8", "9" * 30])
async def test_what_is_not_a_chat_is_refused_without_a_call(telegram: TelegramStub, place: str) -> None:
    error = await failure(channel_to(telegram), part(f"telegram:{place}"))
    assert (error.permanent, telegram.calls) == (True, [])


async def test_structure_is_sent_as_a_rich_message_and_plain_words_are_not(telegram: TelegramStub) -> None:
    telegram.write("hello")
    channel = channel_to(telegram)
    await channel.send(part("telegram:7", "# Fruit\n\n- apples\n- pears"))
    await channel.send(part("telegram:7", "Apples - and pears, 5 * 3."))
    assert [method for method, _ in telegram.calls] == ["sendRichMessage", "sendMessage"]
    assert telegram.sent[0]["rich_message"] == {"markdown": "# Fruit\n\n- apples\n- pears"}


@pytest.mark.parametrize(("rich", "text"), [(False, "**bold**"), (True, "**bold** \u0000")])
async def test_only_a_definite_refusal_of_rich_text_falls_back_to_plain(
    telegram: TelegramStub, rich: bool, text: str
) -> None:
    telegram.write("hello")
    telegram.rich = rich
    await channel_to(telegram).send(part("telegram:7", text))
    assert [method for method, _ in telegram.calls] == ["sendRichMessage", "sendMessage"]
    assert [sent["text"] for sent in telegram.sent] == [text]


@pytest.mark.parametrize("how", ["lose", "close", "500"])
async def test_without_an_answer_nobody_can_tell_and_nothing_is_sent_again(telegram: TelegramStub, how: str) -> None:
    telegram.write("hello")
    telegram.fail(how)
    error = await failure(channel_to(telegram, seconds=0.3), part("telegram:7", "**bold**"))
    assert (error.unsure, error.permanent) == (True, False)
    assert [method for method, _ in telegram.calls] == ["sendRichMessage"]


async def test_a_telegram_that_is_not_there_surely_got_nothing() -> None:
    channel = TelegramChannel(name="telegram", token="1:a", base_url="http://127.0.0.1:1")
    error = await failure(channel, part("telegram:7"))
    assert (error.unsure, error.permanent) == (False, False)


async def test_told_to_slow_down_the_account_waits_as_long_as_telegram_says(telegram: TelegramStub) -> None:
    telegram.write("hello")
    telegram.limit(17)
    error = await failure(channel_to(telegram), part("telegram:7"))
    assert (error.limited, error.retry_after, error.permanent) == (True, 17, False)


async def test_blocked_by_the_person_it_is_dead_at_once(telegram: TelegramStub) -> None:
    telegram.write("hello")
    telegram.block()
    error = await failure(channel_to(telegram), part("telegram:7"))
    assert (error.permanent, error.blocked) == (True, True)
    assert error.detail == "Telegram refused it: Forbidden: bot was blocked by the user."


async def test_a_chat_that_never_wrote_is_refused_for_good(telegram: TelegramStub) -> None:
    assert (await failure(channel_to(telegram), part("telegram:8"))).permanent


async def test_a_wrong_token_is_told_in_telegrams_words_and_never_shown(telegram: TelegramStub) -> None:
    channel = channel_to(telegram, token="4664:wrong-secret")
    error = await failure(channel, part("telegram:7"), "4664:wrong-secret")
    assert (error.permanent, error.unsure) == (False, False)
    assert error.detail == "Telegram does not accept the token of telegram: Unauthorized. Check its setting."
    with pytest.raises(ChannelFailed, match="Unauthorized"):
        await channel.check()
    telegram.token = "4664:wrong-secret"
    assert await channel.check() == "@homing_bot"
    assert channel.link_url == "https://t.me/homing_bot?start={code}"


@pytest.mark.parametrize("fields", [{"token": "secret"}, {"token": "1:a", "base_url": "telegram"}])
def test_what_cannot_be_a_bot_is_refused_without_showing_the_token(fields: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="must") as caught:
        make("telegram", fields)
    assert "secret" not in str(caught.value)


async def test_twenty_thousand_characters_arrive_in_parts_that_telegram_takes(telegram: TelegramStub) -> None:
    telegram.write("hello")
    text = ("Good 👨‍👩‍👧‍👦 שָׁלוֹם. " * 2000)[:20_000].strip()
    channel = channel_to(telegram)
    can = channel.capabilities
    for piece in cut(text, can.max_length, can.length_unit):
        await channel.send(part("telegram:7", piece))
    assert "".join("".join(sent["text"] for sent in telegram.sent).split()) == "".join(text.split())


async def test_a_question_has_a_button_per_option_and_a_press_comes_back_by_number(telegram: TelegramStub) -> None:
    telegram.write("hello")
    options = ["Äpfel " * 20, "Pears"]
    what = replace(part("telegram:7", "Which?"), question=PartQuestion(id="q_k3v9x2mq7a", options=options))
    channel = channel_to(telegram)
    await channel.send(what)
    async with listening(channel) as intake:
        press = telegram.press(telegram.sent[0], 2)
        [heard] = await intake.next()
        await asyncio.to_thread(telegram.wait_for, lambda stub: stub.answered == [press])
    assert heard.answer == ("q_k3v9x2mq7a", 2)
    assert (heard.text, heard.sender, heard.direct, heard.addressed) == ("Pears", "7", True, True)
    assert heard.replies_to == f"4664:7:{telegram.sent[0]['message_id']}"


async def test_typing_is_shown(telegram: TelegramStub) -> None:
    await channel_to(telegram).show("telegram:-1004/12", "typing")
    assert telegram.actions == [{"chat_id": -1004, "message_thread_id": 12, "action": "typing"}]


class Notes:
    """An intake in memory; it can break off before or after it has written."""

    def __init__(self, cursor: str | None = FROM_THE_START) -> None:
        self.cursor = cursor
        self.taken: list[IncomingMessage] = []
        self.unread = 0
        self.break_off: str | None = None
        self._batches: asyncio.Queue[list[IncomingMessage]] = asyncio.Queue()

    async def knows(self, address: str, sender: str) -> bool:
        return True

    async def awaits_link(self) -> bool:
        return False

    async def take(
        self, messages: Sequence[IncomingMessage], cursor: str | None, *, unread: int = 0, strangers: int = 0
    ) -> None:
        if self.break_off == "before":
            raise ConnectionError("killed")
        self.taken += messages
        self.unread += unread
        self.cursor = cursor
        if self.break_off == "after":
            raise ConnectionError("killed")
        await self._batches.put(list(messages))

    async def next(self) -> list[IncomingMessage]:
        async with asyncio.timeout(10):
            return await self._batches.get()


@asynccontextmanager
async def listening(channel: TelegramChannel, intake: Notes | None = None) -> AsyncIterator[Notes]:
    intake = intake or Notes()
    task = asyncio.create_task(channel.listen(intake))
    try:
        if intake.cursor == FROM_THE_START:
            # Everything that is there already.
            await intake.next()
        yield intake
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_what_a_person_writes_is_heard_and_confirmed_only_after_it_was_written(telegram: TelegramStub) -> None:
    telegram.write("one")
    intake = Notes()
    async with listening(channel_to(telegram), intake):
        telegram.write("two")
        await intake.next()
    assert [message.text for message in intake.taken] == ["one", "two"]
    first = intake.taken[0]
    assert (first.external_id, first.address) == ("4664:7:1", "telegram:7")
    assert (first.sender, first.sender_name) == ("7", "Ada No7")
    assert (first.direct, first.addressed, first.edited, intake.cursor) == (True, True, False, "4664:3")


@pytest.mark.parametrize("when", ["before", "after"])
async def test_killed_around_the_write_nothing_is_lost_and_the_same_id_comes_again(
    telegram: TelegramStub, when: str
) -> None:
    telegram.write("one")
    intake = Notes()
    intake.break_off = when
    with pytest.raises(ConnectionError):
        await channel_to(telegram).listen(intake)
    assert telegram.confirmed == 0, "nothing is confirmed before it is known to be written"
    again = Notes(cursor=FROM_THE_START if when == "before" else intake.cursor)
    telegram.write("two")
    task = asyncio.create_task(channel_to(telegram).listen(again))
    await again.next()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    heard = [*intake.taken, *again.taken]
    assert [message.text for message in heard] == ["one", "two"]


@pytest.mark.parametrize("cursor", [None, "9:1", "1", "4664:x", "4664:"])
async def test_the_first_listen_to_a_bot_starts_at_now(telegram: TelegramStub, cursor: str | None) -> None:
    """Also where the cursor is another bot's, which counts its updates by itself, or makes no sense."""
    telegram.write("long ago")
    telegram.write("before")
    intake = Notes(cursor=cursor)
    task = asyncio.create_task(channel_to(telegram).listen(intake))
    assert await intake.next() == []
    telegram.write("now")
    assert [message.text for message in await intake.next()] == ["now"]
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_a_second_poller_is_reported_as_such(telegram: TelegramStub) -> None:
    first = asyncio.create_task(channel_to(telegram).listen(Notes()))
    await asyncio.to_thread(telegram.wait_for, lambda stub: stub.polling)
    second = asyncio.create_task(channel_to(telegram).listen(Notes()))
    async with asyncio.timeout(10):
        with pytest.raises(ChannelFailed, match="Another program reads the messages of this bot: Conflict"):
            await first
    second.cancel()
    with suppress(asyncio.CancelledError):
        await second


def message(**fields: Any) -> dict[str, Any]:
    base = {"message_id": 5, "date": 1_800_000_000, "chat": {"id": -9, "type": "supergroup"}}
    return {"update_id": 1, "message": base | {"from": {"id": 3, "is_bot": False, "first_name": "Ada"}} | fields}


@pytest.mark.parametrize(
    "fields",
    [
        {"from": {"id": 9, "is_bot": True, "first_name": "Bot"}, "text": "beep"},
        {"from": {"id": BOT.id, "is_bot": False, "first_name": "Us"}, "text": "echo"},
        {"sender_chat": {"id": -100, "type": "channel"}, "text": "post"},
        {"new_chat_members": [{"id": 3}]},
        {"pinned_message": {"message_id": 1}},
    ],
)
def test_bots_our_own_words_and_notes_of_telegram_are_dropped(fields: dict[str, Any]) -> None:
    assert read_update(message(**fields), BOT, "telegram") is None


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"sticker": {"emoji": "🍎"}}, "[sticker 🍎]"),
        ({"voice": {"duration": 12}}, "[voice message, 12 s]"),
        ({"photo": [{}], "caption": "my cat"}, "[photo]\nmy cat"),
        ({"document": {"file_name": "report.pdf"}}, "[file report.pdf]"),
        ({"location": {"latitude": 52.5, "longitude": 13.4}}, "[location 52.5, 13.4]"),
        ({"contact": {"first_name": "Eve", "phone_number": "+49"}}, "[contact Eve, +49]"),
        ({"poll": {"question": "Tea?"}}, "[poll: Tea?]"),
    ],
)
def test_what_is_not_words_becomes_a_line(fields: dict[str, Any], text: str) -> None:
    heard = read_update(message(**fields), BOT, "telegram")
    assert heard is not None
    assert heard.text == text


@pytest.mark.parametrize(
    ("fields", "addressed"),
    [
        ({"text": "hello all"}, False),
        ({"text": "🍎 @Homing_Bot hi", "entities": [{"type": "mention", "offset": 3, "length": 11}]}, True),
        ({"text": "@other hi", "entities": [{"type": "mention", "offset": 0, "length": 6}]}, False),
        ({"text": "/help@homing_bot", "entities": [{"type": "bot_command", "offset": 0, "length": 16}]}, True),
        ({"text": "yes", "reply_to_message": {"message_id": 2, "from": {"id": BOT.id}}}, True),
        ({"text": "yes", "reply_to_message": {"message_id": 2, "from": {"id": 8}}}, False),
    ],
)
def test_in_a_group_we_are_addressed_by_name_or_by_a_reply(fields: dict[str, Any], addressed: bool) -> None:
    heard = read_update(message(**fields), BOT, "telegram")
    assert heard is not None
    assert (heard.direct, heard.addressed) == (False, addressed)


def test_a_deleted_message_is_not_told_to_bots_and_what_is_told_of_one_changes_nothing() -> None:
    # Telegram has no such update for bots; the nearest one is of business accounts, and we never ask for it.
    gone = {"update_id": 2, "deleted_business_messages": {"chat": {"id": 7, "type": "private"}, "message_ids": [1]}}
    assert read_update(gone, BOT, "telegram") is None


def test_an_edit_keeps_the_id_and_is_marked() -> None:
    update = message(text="nine, not eight")
    edited = {"update_id": 2, "edited_message": update["message"] | {"edit_date": 1_800_000_060}}
    heard = read_update(edited, BOT, "work")
    assert heard is not None
    assert (heard.external_id, heard.edited, heard.address) == ("4664:-9:5", True, "work:-9")
    assert heard.at.timestamp() == 1_800_000_060


async def test_an_update_that_makes_no_sense_does_not_keep_back_the_next(telegram: TelegramStub) -> None:
    nobody: dict[str, Any] = {"from": {"is_bot": False}}
    telegram.write("broken", **nobody)
    telegram.write("whole")
    intake = Notes()
    async with listening(channel_to(telegram), intake):
        pass
    assert [heard.text for heard in intake.taken] == ["whole"]
    assert intake.unread == 1


def test_a_live_location_that_moves_is_not_an_edit() -> None:
    moved = message(location={"latitude": 52.5, "longitude": 13.4})["message"]
    assert read_update({"update_id": 2, "edited_message": moved}, BOT, "telegram") is None


async def test_presses_are_answered_together_so_that_a_slow_answer_stops_nothing(telegram: TelegramStub) -> None:
    telegram.write("hello")
    what = replace(part("telegram:7", "Which?"), question=PartQuestion(id="q_k3v9x2mq7a", options=["Apple", "Pear"]))
    channel = channel_to(telegram)
    await channel.send(what)
    telegram.holds_presses = True
    for number in (1, 2, 1):
        telegram.press(telegram.sent[0], number)

    def all_are_asked(stub: TelegramStub) -> bool:
        return [method for method, _ in stub.calls].count("answerCallbackQuery") == 3

    async with listening(channel):
        await asyncio.to_thread(telegram.wait_for, all_are_asked, seconds=4)


async def test_a_group_that_became_a_supergroup_has_to_be_linked_again(telegram: TelegramStub) -> None:
    telegram.write("hello", chat=-4)
    telegram.upgrade(-4, to=-1004)
    error = await failure(channel_to(telegram), part("telegram:-4"))
    assert error.permanent
    assert error.detail == (
        "This group became a supergroup with another address, telegram:-1004. "
        "Link it again there (homing channels link telegram --group)."
    )


async def test_no_log_shows_the_token_whatever_level_a_program_sets(
    telegram: TelegramStub, caplog: pytest.LogCaptureFixture
) -> None:
    telegram.write("hello")
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="httpx2")
    await channel_to(telegram).send(part("telegram:7"))
    assert "/bot…/sendMessage" in caplog.text
    assert telegram.token not in caplog.text


async def test_a_token_in_telegrams_own_words_is_taken_out_before_they_are_cut() -> None:
    token = "1:abcdefghijklmnop"

    async def refuse(exchange: Exchange) -> None:
        exchange.answer_json(400, {"ok": False, "error_code": 400, "description": "x" * 290 + token})

    server = LoopbackServer(refuse)
    server.start()
    try:
        error = await failure(TelegramChannel(name="telegram", token=token, base_url=server.url), part("telegram:7"))
    finally:
        server.close()
    assert "1:abc" not in error.detail


def test_a_channel_that_is_only_described_reads_no_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr("httpx2.create_ssl_context", lambda: read.append("certificates"))
    assert make("telegram", {"token": "1:a"}).capabilities.markdown
    assert read == []


PNG = b"\x89PNG\r\n\x1a\n" + b"pixels" * 100


@pytest.fixture
def chat(telegram: TelegramStub) -> TelegramStub:
    """A bot to which somebody has written."""
    telegram.write("hello")
    return telegram


def file_part(data: bytes, *, name: str = "plot.png", media_type: str = "image/png") -> Part:
    async def read() -> AsyncIterator[bytes]:
        for start in range(0, len(data), 256):
            yield data[start : start + 256]

    file = File(id="file_1", name=name, media_type=media_type, size=len(data), read=read)
    return replace(part("telegram:7", ""), file=file)


@pytest.mark.parametrize(
    ("media_type", "data", "kind"),
    [
        ("image/png", PNG, "photo"),
        ("application/pdf", b"%PDF-1.7", "document"),
        ("image/png", b"no picture at all", "document"),
        ("image/png", PNG + b"x" * 10_000_000, "document"),
    ],
)
async def test_a_file_goes_out_as_a_picture_or_as_a_document(
    chat: TelegramStub, media_type: str, data: bytes, kind: str
) -> None:
    receipt = await channel_to(chat).send(file_part(data, name='a "b"é.png', media_type=media_type))
    [sent] = chat.sent
    found = sent["photo"][-1] if kind == "photo" else sent["document"]
    assert chat.files[found["file_id"]] == data
    assert found["file_name"] == "a %22b%22é.png"
    assert receipt.external_id == f"4664:7:{sent['message_id']}"


async def test_a_file_that_cannot_be_read_is_not_sent_and_its_error_comes_through(chat: TelegramStub) -> None:
    async def read() -> AsyncIterator[bytes]:
        yield b"half"
        raise ChannelFailed("its content is missing", permanent=True)

    broken = replace(file_part(PNG), file=File(id="file_1", name="a", media_type="image/png", size=9, read=read))
    with pytest.raises(ChannelFailed, match="its content is missing"):
        await channel_to(chat).send(broken)
    assert chat.sent == []


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        ("photo", "photo.jpg", "my cat"),
        ("document", "report.pdf", "my cat"),
        ("voice", "voice.ogg", "[voice message, 3 s]\nmy cat"),
        ("video", "video.mp4", "[video, 3 s]\nmy cat"),
        ("audio", "audio.mp3", "[audio, no title]\nmy cat"),
    ],
)
async def test_a_file_that_a_person_sends_can_be_fetched(chat: TelegramStub, kind: str, name: str, text: str) -> None:
    async with listening(channel_to(chat)) as intake:
        chat.write_file(kind, PNG, name=name if kind == "document" else "", caption="my cat")
        [heard] = await intake.next()
        [file] = heard.files
        assert (heard.text, file.name, file.size) == (text, name, len(PNG))
        assert b"".join([piece async for piece in file.read()]) == PNG


@pytest.mark.parametrize("what", ["gone", "too large", "unknown"])
async def test_a_file_that_telegram_does_not_give_says_why(chat: TelegramStub, what: str) -> None:
    async with listening(channel_to(chat)) as intake:
        chat.write_file("document", b"x" * (20_000_001 if what == "too large" else 5))
        [heard] = await intake.next()
        if what == "gone":
            chat.lost_files |= set(chat.files)
        if what == "unknown":
            chat.files.clear()
        with pytest.raises(ChannelFailed) as caught:
            _ = [piece async for piece in heard.files[0].read()]
    assert caught.value.permanent
    assert "http" not in caught.value.detail
    assert chat.token not in caught.value.detail


async def test_a_download_that_breaks_off_may_be_tried_again() -> None:
    with TelegramStub() as telegram:
        telegram.write("hello")
        async with listening(channel_to(telegram)) as intake:
            telegram.write_file("document", b"x" * 5)
            [heard] = await intake.next()
    with pytest.raises(ChannelFailed) as caught:
        _ = [piece async for piece in heard.files[0].read()]
    assert not caught.value.permanent
    assert telegram.token not in caught.value.detail


async def test_an_edit_takes_the_buttons_away_and_shows_plain_words(chat: TelegramStub) -> None:
    channel = channel_to(chat)
    asked = replace(part("telegram:7", "Which fruit?"), question=PartQuestion(id="q_1", options=("Apple", "Pear")))
    receipt = await channel.send(asked)
    assert receipt.external_id is not None
    await channel.edit("telegram:7", receipt.external_id, "**Which** fruit?\nAnswer: Pear (Ada)")
    [shown] = chat.sent
    assert shown["text"] == "**Which** fruit?\nAnswer: Pear (Ada)"
    assert "reply_markup" not in shown
    await channel.edit("telegram:7", "999:7:1", "another bot's message is left alone")
    assert len(chat.edits) == 1


def test_a_photo_whose_file_has_no_id_or_that_was_edited_is_a_line() -> None:
    update = message(photo=[{}], caption="my cat")
    heard = read_update(update, BOT, "telegram", fetch=pytest.fail)
    assert heard is not None
    assert (heard.text, heard.files) == ("[photo]\nmy cat", ())
