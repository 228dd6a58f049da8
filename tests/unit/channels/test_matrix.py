"""The Matrix channel against a strict stub, and what its events mean. Synapse itself is in tests/servers."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from homing.channels import File, IncomingMessage
from homing.channels.matrix import MatrixChannel, make_matrix_channel
from homing.channels.matrix_events import Room, media_of, read_event, text_content
from homing.channels.matrix_keys import MatrixKeys
from homing.channels.matrix_sync import MatrixSync
from homing.model.errors import ChannelFailed
from homing.testing.channel_contract import Shown, prove_channel
from support.matrix_stub import ANN, ME, ROOM, TOKEN, MatrixStub
from unit.channels.sample_parts import part

ADDRESS = f"matrix:{ROOM}"
PATIENCE = 20.0


@pytest.fixture
def matrix() -> Iterator[MatrixStub]:
    with MatrixStub() as stub:
        yield stub


@pytest.fixture
def channel(matrix: MatrixStub, tmp_path: Path) -> MatrixChannel:
    return MatrixChannel(
        name="matrix", base_url=matrix.url, token=TOKEN, keys_folder=tmp_path, timeout_seconds=5, poll_seconds=2
    )


class Notes:
    """An intake in memory."""

    def __init__(self, *contacts: str, code: bool = False) -> None:
        self.cursor: str | None = None
        self.contacts, self.code = set(contacts), code
        self.taken: list[IncomingMessage] = []
        self.unread = 0
        self.news = asyncio.Event()

    async def knows(self, address: str, sender: str) -> bool:
        return sender in self.contacts

    async def awaits_link(self) -> bool:
        return self.code

    async def take(self, messages: Any, cursor: str | None, *, unread: int = 0, strangers: int = 0) -> None:
        self.taken += messages
        self.unread += unread
        self.cursor = cursor
        self.news.set()

    async def until(self, number: int) -> list[str]:
        async with asyncio.timeout(PATIENCE):
            while len(self.taken) + self.unread < number or self.cursor is None:
                self.news.clear()
                await self.news.wait()
        return [message.text for message in self.taken]


@asynccontextmanager
async def listening(channel: MatrixChannel, notes: Notes) -> AsyncIterator[None]:
    task = asyncio.create_task(channel.listen(notes))
    try:
        await notes.until(0)
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class Chat:
    """The stub as the contract kit sees it."""

    address, bad_address = ADDRESS, "matrix:nowhere"

    def __init__(self, stub: MatrixStub) -> None:
        self._stub = stub

    def shown(self) -> Sequence[Shown]:
        return [Shown(text=sent["body"]) for sent in self._stub.sent]

    def say(self, text: str) -> None:
        self._stub.write(text)


async def test_matrix_passes_the_contract(matrix: MatrixStub, channel: MatrixChannel) -> None:
    await prove_channel(channel, Chat(matrix))


async def test_a_cut_timeline_is_fetched_whole_and_in_order(matrix: MatrixStub, channel: MatrixChannel) -> None:
    notes = Notes()
    async with listening(channel, notes):
        pass
    said = [f"missed {number}" for number in range(270)]
    for text in said:
        matrix.write(text)
    matrix.write("not ours to hear", sender=ME)
    async with listening(channel, notes):
        assert await notes.until(270) == said
    assert notes.cursor == f"{ME} s271"


async def test_an_empty_page_does_not_end_a_gap(matrix: MatrixStub, channel: MatrixChannel) -> None:
    notes = Notes()
    async with listening(channel, notes):
        pass
    said = [f"missed {number}" for number in range(60)]
    for text in said:
        matrix.write(text)
    matrix.empty_pages = 2
    async with listening(channel, notes):
        assert await notes.until(60) == said


async def test_a_gap_holds_so_much_and_the_rest_is_counted(
    matrix: MatrixStub, channel: MatrixChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("homing.channels.matrix_sync._MOST_HELD", 150_000)
    notes = Notes()
    async with listening(channel, notes):
        pass
    said = [f"{number} {'x' * 1000}" for number in range(350)]
    for text in said:
        matrix.write(text)
    async with listening(channel, notes):
        # The newest 50, and two pages: the second one was too much.
        assert await notes.until(251) == said[-250:]
    assert notes.unread == 1


async def test_a_room_whose_id_reads_as_a_thread_is_neither_heard_nor_entered(
    matrix: MatrixStub, channel: MatrixChannel
) -> None:
    notes = Notes(ANN)
    strange = f"{ROOM}/$event1"
    matrix.members[strange] = {ME, ANN}
    matrix.invite(f"{ROOM}/x", ANN)
    async with listening(channel, notes):
        matrix.write("hidden", room=strange)
        matrix.write("shown")
        assert await notes.until(1) == ["shown"]
        matrix.invite("!second:stub", ANN)
        async with asyncio.timeout(PATIENCE):
            while not matrix.joined:  # noqa: ASYNC110 - the stub's own thread does it
                await asyncio.sleep(0.01)
    assert matrix.joined == ["!second:stub"]
    assert [message.address for message in notes.taken] == [ADDRESS]


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("mxc://example.org:8448/abc", ("example.org:8448", "abc")),
        ("mxc://[2001:db8::1]:80/abc", ("[2001:db8::1]:80", "abc")),
        ("mxc://../config", None),
        ("mxc://./config", None),
        ("mxc://a%2F..b/abc", None),
    ],
)
def test_a_files_address_names_a_server(url: str, place: tuple[str, str] | None) -> None:
    assert media_of(url) == place


async def test_what_an_agent_says_rings_nobody(matrix: MatrixStub, channel: MatrixChannel) -> None:
    for number, text in enumerate(("@room **come**", "@room " + "* <\"&'>\n" * 2000)):
        await channel.send(replace(part(ADDRESS, text), id=f"part_{number}"))
    await channel.edit(ADDRESS, f"{ROOM}:$sent0", "@room")
    assert [sent["m.mentions"] for sent in matrix.sent] == [{}, {}, {}]
    assert matrix.sent[2]["m.new_content"]["m.mentions"] == {}


async def test_only_contacts_and_people_with_a_code_are_followed_into_rooms(
    matrix: MatrixStub, channel: MatrixChannel
) -> None:
    notes = Notes(ANN)
    async with listening(channel, notes):
        matrix.invite("!strange:stub", "@mallory:stub")
        matrix.invite("!second:stub", ANN)
        async with asyncio.timeout(PATIENCE):
            while not matrix.joined:  # noqa: ASYNC110 - the stub's own thread does it
                await asyncio.sleep(0.01)
        matrix.write("hello", room="!second:stub")
        await notes.until(1)
        assert matrix.joined == ["!second:stub"]
        # The invitation waits: a code is often made after it.
        notes.code = True
        async with asyncio.timeout(PATIENCE):
            while len(matrix.joined) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    assert matrix.joined == ["!second:stub", "!strange:stub"]


async def test_a_room_that_cannot_be_entered_keeps_nobody_from_being_heard(
    matrix: MatrixStub, channel: MatrixChannel
) -> None:
    notes = Notes(ANN)
    matrix.refuse(502, "M_UNKNOWN", "its server is away")
    matrix.invite("!away:stub", ANN)
    async with listening(channel, notes):
        matrix.write("is anybody there?")
        assert await notes.until(1) == ["is anybody there?"]
    assert matrix.refusals == []


async def test_few_rooms_are_entered_before_listening_goes_on(matrix: MatrixStub, channel: MatrixChannel) -> None:
    notes = Notes(ANN)
    for number in range(7):
        matrix.invite(f"!room{number}:stub", ANN)
    async with listening(channel, notes):
        async with asyncio.timeout(PATIENCE):
            while len(matrix.joined) < 7:  # noqa: ASYNC110 - the stub's own thread does it
                await asyncio.sleep(0.01)
    assert "join join join sync" in " ".join(matrix.calls)
    assert "join join join join" not in " ".join(matrix.calls)


@pytest.mark.parametrize(
    ("status", "errcode", "said", "expected"),
    [
        (429, "M_LIMIT_EXCEEDED", "Too Many Requests", {"limited": True, "retry_after": 2.5, "permanent": False}),
        (401, "M_UNKNOWN_TOKEN", "Token is not active", {"permanent": False, "unsure": False}),
        (403, "M_FORBIDDEN", "You were removed", {"permanent": True, "blocked": True}),
        (413, "M_TOO_LARGE", "event too large", {"permanent": True, "blocked": False}),
        (500, "M_UNKNOWN", "Internal server error", {"permanent": False, "unsure": True}),
    ],
)
async def test_a_refusal_says_what_it_means(
    matrix: MatrixStub, channel: MatrixChannel, status: int, errcode: str, said: str, expected: dict[str, Any]
) -> None:
    matrix.refuse(status, errcode, f"{said} {TOKEN}", retry_after_ms=2500)
    with pytest.raises(ChannelFailed) as caught:
        await channel.send(part(ADDRESS))
    error = caught.value
    assert {name: getattr(error, name) for name in expected} == expected
    assert TOKEN not in error.detail
    assert status == 500 or said in error.detail


async def test_a_server_that_is_away_surely_took_nothing(tmp_path: Path) -> None:
    with MatrixStub() as gone:
        url = gone.url
    channel = MatrixChannel(name="matrix", base_url=url, token=TOKEN, keys_folder=tmp_path)
    with pytest.raises(ChannelFailed, match="could not be reached") as caught:
        await channel.send(part(ADDRESS))
    assert not caught.value.unsure


async def test_a_revoked_token_ends_listening_with_the_servers_sentence(
    matrix: MatrixStub, channel: MatrixChannel
) -> None:
    notes = Notes()
    task = asyncio.create_task(channel.listen(notes))
    await notes.until(0)
    matrix.token = "another"
    with pytest.raises(ChannelFailed, match="does not accept the token of matrix: Invalid access token passed"):
        await task


async def test_an_encrypted_room_without_the_extra_is_said_once_and_nothing_is_sent_in_the_clear(
    matrix: MatrixStub, channel: MatrixChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "nio", None)
    notes = Notes()
    task = asyncio.create_task(channel.listen(notes))
    await notes.until(0)
    matrix.encrypted.add(ROOM)
    matrix.add({"algorithm": "m.megolm.v1.aes-sha2", "session_id": "s", "ciphertext": "x"}, kind="m.room.encrypted")
    with pytest.raises(ChannelFailed, match=r"!room:stub is encrypted\. That needs the extra `matrix`: install"):
        await task
    assert notes.unread == 1
    async with listening(channel, notes):
        matrix.add({"algorithm": "m.megolm.v1.aes-sha2", "session_id": "s"}, kind="m.room.encrypted")
        matrix.write("and in the clear")
        assert await notes.until(3) == ["and in the clear"]
    with pytest.raises(ChannelFailed, match=r"install homing\[matrix\]") as caught:
        await channel.send(part(ADDRESS))
    assert (matrix.sent, caught.value.permanent) == ([], False)


async def test_a_message_that_nobody_has_the_key_of_is_counted_and_the_next_is_heard(
    matrix: MatrixStub, channel: MatrixChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("nio")
    monkeypatch.setattr("homing.channels.matrix_sync._KEY_SECONDS", 0.2)
    sealed = {"algorithm": "m.megolm.v1.aes-sha2", "session_id": "s", "ciphertext": "x", "sender_key": "k"}
    notes = Notes()
    async with listening(channel, notes):
        matrix.add({**sealed, "device_id": "D"}, kind="m.room.encrypted")
        matrix.write("readable")
        assert await notes.until(2) == ["readable"]
    assert notes.unread == 1


def sealed_with_keys_in(folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
    crypto: Any = pytest.importorskip("nio.crypto")
    stores: Any = pytest.importorskip("nio.store")
    [file] = folder.glob("*.db")
    machine = crypto.Olm(ME, "D", stores.SqliteStore(ME, "D", str(folder), database_name=file.name))
    machine.create_outbound_group_session(ROOM)
    machine.outbound_group_sessions[ROOM].shared = True
    sealed = machine.group_encrypt(ROOM, payload)
    machine.store.database.close()
    return sealed


@pytest.mark.parametrize(("content", "opens"), [({"body": "x", "msgtype": "m.text"}, True), ([], False)])
async def test_what_is_sealed_does_not_say_who_wrote_it(tmp_path: Path, content: Any, opens: bool) -> None:
    """nio gives a payload that is not as it should be as its sender wrote it, with any name in it."""
    pytest.importorskip("nio")
    keys = MatrixKeys(tmp_path, user_id=ME, device_id="D")
    await keys.open([], {})
    forged = {"type": "m.room.message", "sender": ANN, "event_id": "$forged", "origin_server_ts": 1}
    sealed = sealed_with_keys_in(tmp_path, {**forged, "content": content})
    given = {"event_id": "$1", "sender": "@mallory:stub", "origin_server_ts": 1_700_000_000_123}
    found = await keys.open([], {ROOM: [{**given, "type": "m.room.encrypted", "content": sealed}]})
    assert [{name: one[name] for name in given} for one in found.values()] == [given] * opens


def lists_in_lists(depth: int = 100_000) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


class Deep:
    """A server's answers with lists so deep that no JSON reader gives them: a test must not depend on its depth."""

    def __init__(self) -> None:
        deep = {**event(body=lists_in_lists()), "event_id": "$deep"}
        shown = {"events": [deep, event()], "limited": False}
        self._syncs = iter([{"next_batch": "s0"}, {"next_batch": "s1", "rooms": {"join": {ROOM: {"timeline": shown}}}}])

    async def get(self, path: str, *_: object, **__: object) -> Any:
        if path.endswith("/members"):
            joined = {"membership": "join", "displayname": lists_in_lists()}
            return {"chunk": [{"state_key": who, "content": joined} for who in (ME, ANN)]}
        if (found := next(self._syncs, None)) is None:
            await asyncio.Event().wait()
        return found


async def test_an_event_that_is_too_deep_is_counted_and_the_next_is_heard() -> None:
    notes = Notes()
    calls: Any = Deep()
    fetch: Any = None
    listener = MatrixSync(
        name="matrix", user_id=ME, calls=calls, keys=None, fetch=fetch, poll_seconds=1, told=set[str]()
    )
    task = asyncio.create_task(listener.run(notes))
    heard = asyncio.create_task(notes.until(2))
    await asyncio.wait([task, heard], return_when=asyncio.FIRST_COMPLETED)
    task.cancel()
    assert (await heard, notes.unread) == (["hi"], 1)


@pytest.mark.parametrize("kind", ["m.replace", "m.thread", "m.in_reply_to"])
def test_a_relation_to_something_that_is_no_event_is_none(kind: str) -> None:
    deep = {"rel_type": kind, "event_id": lists_in_lists(), "m.in_reply_to": {"event_id": lists_in_lists()}}
    message = read(event(**{"m.relates_to": deep}))
    assert message is not None
    assert (message.edited, message.replies_to, message.address) == (False, None, ADDRESS)


async def test_files_go_up_and_come_down(matrix: MatrixStub, channel: MatrixChannel) -> None:
    async def read() -> AsyncIterator[bytes]:
        yield b"%PDF"
        yield b"-1.7"

    file = File(id="file_1", name="plan.pdf", media_type="application/pdf", size=8, read=read)
    await channel.send(replace(part(ADDRESS, ""), file=file))
    [sent] = matrix.sent
    assert sent["m.mentions"] == {}
    assert (sent["msgtype"], sent["body"], matrix.files) == ("m.file", "plan.pdf", {"file0": b"%PDF-1.7"})
    notes = Notes()
    async with listening(channel, notes):
        matrix.add({"msgtype": "m.image", "body": "cat.png", "url": sent["url"], "info": {"size": 8}})
        matrix.add({"msgtype": "m.image", "body": "cat.png", "url": "mxc://stub/gone"})
        await notes.until(2)
    [there], [gone] = [message.files for message in notes.taken]
    assert b"".join([piece async for piece in there.read()]) == b"%PDF-1.7"
    with pytest.raises(ChannelFailed) as caught:
        _ = [piece async for piece in gone.read()]
    assert caught.value.permanent


async def test_typing_is_shown(matrix: MatrixStub, channel: MatrixChannel) -> None:
    await channel.show(f"{ADDRESS}/$event1", "typing")
    assert matrix.typing == [ROOM]


async def test_a_long_text_goes_out_whole_though_its_html_would_not_fit(
    matrix: MatrixStub, channel: MatrixChannel
) -> None:
    text = ("* <\"&'>\n" * 3000)[:20_000]
    await channel.send(part(ADDRESS, text))
    assert matrix.sent[0]["body"] == text
    assert "formatted_body" not in matrix.sent[0]


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("Just words.\nTwo lines & more.", None),
        ("**bold**", "<p><strong>bold</strong></p>"),
        ("<script>x</script> `y`", "<p>&lt;script&gt;x&lt;/script&gt; <code>y</code></p>"),
        ("[a](javascript:x) *b*", "<p>[a](javascript:x) <em>b</em></p>"),
    ],
)
def test_markdown_becomes_html_and_tags_stay_text(text: str, html: str | None) -> None:
    content = text_content(text)
    assert (content["body"], content.get("formatted_body")) == (text, html)


def event(**content: Any) -> dict[str, Any]:
    return {
        "type": "m.room.message", "event_id": "$1", "sender": ANN, "origin_server_ts": 1_700_000_000_123,
        "content": {"msgtype": "m.text", "body": "hi", **content},
    }  # fmt: skip


def read(given: dict[str, Any], *members: str) -> IncomingMessage | None:
    async def fetch(_: Any) -> AsyncIterator[bytes]:
        yield b""

    return read_event(given, Room(id=ROOM, names=dict.fromkeys((ME, ANN, *members), "")), ME, "matrix", fetch)


@pytest.mark.parametrize(
    "given",
    [event(msgtype="m.notice"), {**event(), "sender": ME}, {**event(), "content": {}}, {**event(), "type": "m.other"}],
)
def test_what_no_person_wrote_is_dropped(given: dict[str, Any]) -> None:
    assert read(given) is None


def test_where_others_read_only_a_mention_addresses_us() -> None:
    everyone = read(event(), "@bob:stub")
    named = read(event(**{"m.mentions": {"user_ids": [ME]}}), "@bob:stub")
    old = read(event(body=f"{ME}: hello"), "@bob:stub")
    assert everyone is not None
    assert named is not None
    assert old is not None
    assert (everyone.direct, everyone.addressed) == (False, False)
    assert (named.direct, named.addressed, old.addressed) == (False, True, True)


def test_an_answer_comes_without_what_old_clients_quote() -> None:
    relates = {"m.in_reply_to": {"event_id": "$0"}}
    answer = read(event(body=f"> <{ME}> Which fruit?\n> 1. Apple\n\n2", **{"m.relates_to": relates}))
    assert answer is not None
    assert (answer.text, answer.replies_to) == ("2", f"{ROOM}:$0")


@pytest.mark.parametrize("fields", [{"base_url": "example.org", "token": "x"}, {"base_url": "https://x", "token": ""}])
def test_settings_that_cannot_be_used_are_refused(fields: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must be"):
        make_matrix_channel("matrix", fields, keys_folder=tmp_path)
