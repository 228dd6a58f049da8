"""Matrix against a real Synapse: as a person uses it, in plain and in encrypted rooms, and what it must not lose."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from behaviour.channels.test_telegram_scenario import PNG, pictures_in
from homing.channels import IncomingMessage
from homing.channels.matrix import MatrixChannel
from homing.testing import tool_call
from homing.testing.channel_contract import Shown, contract_part, prove_channel
from homing.testing.scripted import wire_messages
from support.sandboxes import need_bubblewrap
from support.synapse import CLIENT, PATIENCE, Login, Person, Synapse, nio_person, person, running_synapse
from support.whole import Whole, open_whole

pytestmark = pytest.mark.slow

_numbers = count(1)


@pytest.fixture(scope="module")
def synapse() -> Iterator[Synapse]:
    with running_synapse() as server:
        yield server


@pytest.fixture
def bot(synapse: Synapse) -> Login:
    return synapse.register(f"homing{next(_numbers)}")


@pytest.fixture(params=["plain", "encrypted"])
async def ann(synapse: Synapse, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Person]:
    name = f"ann{next(_numbers)}"
    someone = person(synapse, name) if request.param == "plain" else nio_person(synapse, name, tmp_path / "ann")
    async with someone as found:
        yield found


@asynccontextmanager
async def homing_at(synapse: Synapse, bot: Login, home: Path) -> AsyncIterator[Whole]:
    settings: dict[str, Any] = {"CHANNEL_MATRIX_BASE_URL": synapse.url, "CHANNEL_MATRIX_TOKEN": bot.token}
    async with open_whole(f"sqlite:///{home}.db", home, **settings) as whole:
        await until_state(whole, "listening")
        yield whole


async def until_state(whole: Whole, state: str) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        while True:
            [channel] = (await whole.ask("GET", "/channels"))["items"]
            if channel["state"] == state and (channel["account"] or state == "failing"):
                return channel
            await asyncio.sleep(0.05)


async def on_page(whole: Whole, key: str, text: str) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        while True:
            for message in (await whole.ask("GET", f"/sessions/{key}/messages?limit=100"))["items"]:
                if text in message["text"]:
                    return message
            await asyncio.sleep(0.05)


async def test_a_person_lives_in_matrix_and_on_the_page_alike(
    synapse: Synapse, bot: Login, ann: Person, tmp_path: Path
) -> None:
    need_bubblewrap()
    async with homing_at(synapse, bot, tmp_path / "home") as whole:
        # She invites it first; it comes in once a code is made.
        key = f"matrix:{await ann.invite(bot.user_id)}"
        link = await whole.ask("POST", "/channels/matrix/link", {}, code=201)
        await ann.until_in(bot.user_id)
        await ann.write(link["say"])
        await ann.came("This chat is linked")

        # "Remind me in 1 minute to stretch": it is scheduled by the tool, and arrives there and on the page.
        remind = {"when": "in 1 minute", "message": "Stretch now", "kind": "reminder"}
        whole.model.reply([tool_call("schedule_task", remind)])
        whole.model.reply("I **will** remind you.")
        await ann.write("remind me in 1 minute to stretch")
        shown = await ann.came("remind you.")
        assert shown["content"]["formatted_body"] == "<p>I <strong>will</strong> remind you.</p>"
        [job] = (await whole.ask("GET", "/jobs"))["items"]
        await whole.ask("POST", f"/jobs/{job['id']}/run", {}, code=202)
        reminder = await ann.came("Stretch now")
        await on_page(whole, key, "Stretch now")

        # A reply there is a turn of the same conversation.
        whole.model.reply("Well done.")
        await ann.write("did it", **{"m.relates_to": {"m.in_reply_to": {"event_id": reminder["event_id"]}}})
        await ann.came("Well done.")
        assert (await on_page(whole, key, "did it"))["role"] == "user"

        # A scheduled answer arrives there.
        report = {"session_key": key, "when": "every day at 9:00", "message": "Say what the day brings"}
        daily = await whole.ask("POST", "/jobs", report, code=201)
        whole.model.reply("The day brings pears.")
        await whole.ask("POST", f"/jobs/{daily['id']}/run", {}, code=202)
        await ann.came("The day brings pears.")
        await on_page(whole, key, "The day brings pears.")

        # A question answered by its number goes on.
        whole.model.reply([tool_call("ask_question", {"title": "Which fruit?", "options": ["Apple", "Pear"]})])
        whole.model.reply("I asked you.")
        await ann.write("what shall I eat?")
        await ann.came("Which fruit?\n1. Apple\n2. Pear")
        await until_arrived(whole)
        whole.model.reply("A pear it is.")
        await ann.write("2")
        await ann.came("A pear it is.")
        [asked] = (await whole.ask("GET", "/questions"))["items"]
        assert (asked["state"], asked["answer"]) == ("answered", "Pear")

        # A picture in, seen in the model's request.
        whole.model.reply("A cat.")
        where = await ann.upload(PNG, "image/png")
        picture: dict[str, Any] = {"msgtype": "m.image", "body": "what is this?", "filename": "cat.png", **where}
        await ann.put({**picture, "info": {"mimetype": "image/png", "size": len(PNG)}})
        await ann.came("A cat.")
        said = [message for message in wire_messages(whole.model.seen[-1]) if message.role == "user"][-1]
        assert "what is this?" in said.text
        kept = (await on_page(whole, key, "what is this?"))["files"][0]
        assert (kept["name"], kept["media_type"], kept["bytes"]) == ("cat.png", "image/png", len(PNG))
        assert PNG in pictures_in(whole.model.seen[-1])

        # A file out, which the agent wrote.
        whole.model.reply([tool_call("write_file", {"path": "prices.txt", "text": "pears 2.99"})])
        whole.model.reply([tool_call("send_file", {"path": "prices.txt"})])
        whole.model.reply("There they are.")
        await ann.write("send me the prices")
        sent = (await ann.came("prices.txt"))["content"]
        assert sent["msgtype"] == "m.file"
        assert await ann.download(sent) == b"pears 2.99"
        await ann.came("There they are.")


async def until(look: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await look():  # noqa: ASYNC110 - another process does it
            await asyncio.sleep(0.05)


async def until_arrived(whole: Whole) -> None:
    """Wait until every delivery is known to have arrived: a question is open from then on."""

    async def look() -> bool:
        return not (await whole.ask("GET", "/deliveries?state=pending"))["items"]

    await until(look)


async def test_thirty_messages_that_were_missed_arrive_in_order(
    synapse: Synapse, bot: Login, ann: Person, tmp_path: Path
) -> None:
    notes = Notes()
    channel = channel_of(synapse, bot, tmp_path)
    async with listening(channel, notes):
        await ann.invite(bot.user_id)
        await ann.until_in(bot.user_id)
        await ann.write("first")
        await notes.until(1)
    said = [f"missed {number}" for number in range(60)]
    for text in said:
        await ann.write(text)
    async with listening(channel, notes):
        await notes.until(61)
    assert [message.text for message in notes.taken] == ["first", *said]
    assert len({message.external_id for message in notes.taken}) == 61


async def test_strangers_who_invite_get_silence_until_they_have_a_code(
    synapse: Synapse, bot: Login, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        mallory = await stack.enter_async_context(person(synapse, f"mallory{next(_numbers)}"))
        ann = await stack.enter_async_context(person(synapse, f"ann{next(_numbers)}"))
        whole = await stack.enter_async_context(homing_at(synapse, bot, tmp_path / "home"))
        await ann.invite(bot.user_id)
        link = await whole.ask("POST", "/channels/matrix/link", {}, code=201)
        await ann.until_in(bot.user_id)
        await ann.write(link["say"])
        await ann.came("This chat is linked")

        # No code is open now. The linked person's second room is entered, the stranger's is not.
        await mallory.invite(bot.user_id)
        first = ann.room
        second = await ann.invite(bot.user_id)
        await ann.until_in(bot.user_id)
        assert not await mallory.is_in(bot.user_id)

        # Linked in one room is not linked in another, nor where others read.
        await ann.write("and here?")
        await until_strangers(whole, 1)
        link = await whole.ask("POST", "/channels/matrix/link", {}, code=201)
        await ann.write(link["say"])
        await ann.came("This chat is linked")
        await ann.call("POST", f"{CLIENT}/rooms/{second}/invite", {"user_id": mallory.login.user_id})
        await ann.write("can you hear me?", **{"m.mentions": {"user_ids": [bot.user_id]}})
        await until_strangers(whole, 2)
        for room in (first, second):
            ann.room = room
            await ann.look()
            assert ["This chat is linked" in one["content"]["body"] for one in ann.seen] == [True]
        assert not await mallory.is_in(bot.user_id)


async def until_strangers(whole: Whole, number: int) -> None:
    async def look() -> bool:
        return (await whole.ask("GET", "/channels"))["items"][0]["strangers"]["count"] >= number

    await until(look)


async def test_a_direct_room_that_gains_a_reader_gets_nothing_private(
    synapse: Synapse, bot: Login, ann: Person, tmp_path: Path
) -> None:
    async with homing_at(synapse, bot, tmp_path / "home") as whole, person(synapse, f"ben{next(_numbers)}") as ben:
        key = f"matrix:{await ann.invite(bot.user_id)}"
        link = await whole.ask("POST", "/channels/matrix/link", {}, code=201)
        await ann.until_in(bot.user_id)
        await ann.write(link["say"])
        await ann.came("This chat is linked")
        pills = {"kind": "reminder", "message": "Take the pills"}
        asked = {"session_key": key, "when": "every day at 9:00", "payload": pills}
        job = await whole.ask("POST", "/jobs", asked, code=201)
        await whole.ask("POST", f"/jobs/{job['id']}/run", {}, code=202)
        await ann.came("Take the pills")
        await until_arrived(whole)

        async def remind_in_vain() -> dict[str, Any]:
            await whole.ask("POST", f"/jobs/{job['id']}/run", {}, code=202)

            async def are_dead() -> bool:
                return len((await whole.ask("GET", "/deliveries?state=dead"))["items"]) == 1

            await until(are_dead)
            [dead] = (await whole.ask("GET", "/deliveries?state=dead"))["items"]
            assert "Other people are in this direct room now" in dead["error"]
            return dead

        # Somebody who is asked in will read what is there.
        others = f"{CLIENT}/rooms/{ann.room}"
        await ann.call("POST", f"{others}/invite", {"user_id": ben.login.user_id})
        held = await remind_in_vain()
        # She is alone with it again, and what was held back can be sent.
        await ann.call("POST", f"{others}/kick", {"user_id": ben.login.user_id})
        await whole.ask("POST", f"/deliveries/{held['id']}/retry", {}, code=202)
        await until_arrived(whole)
        shown = await said_in(ann)
        assert len(shown) == 3

        # Two are in the room; one of them is not she.
        await ann.call("POST", f"{others}/invite", {"user_id": ben.login.user_id})
        await ben.call("POST", f"{CLIENT}/join/{ann.room}", {})
        await ann.call("POST", f"{others}/leave", {})
        await remind_in_vain()
        ben.room, ben.bot = ann.room, bot.user_id
        assert await said_in(ben) == shown


async def said_in(who: Person) -> list[str]:
    """Name the events that the account of Homing sent to a room, as somebody there gets them."""
    return [one["event_id"] for kind in ("m.room.message", "m.room.encrypted") for one in await who.said(kind)]


async def test_a_revoked_token_is_failing_with_the_servers_own_sentence(
    synapse: Synapse, bot: Login, tmp_path: Path
) -> None:
    async with homing_at(synapse, bot, tmp_path / "home") as whole, person(synapse, f"ann{next(_numbers)}") as ann:
        await ann.invite(bot.user_id)
        link = await whole.ask("POST", "/channels/matrix/link", {}, code=201)
        await ann.until_in(bot.user_id)
        headers = {"Authorization": f"Bearer {bot.token}"}
        assert (await ann.http.post(f"{CLIENT}/logout", headers=headers)).status_code == 200
        # Its long poll ends by itself, or with the next thing that is said.
        await ann.write(link["say"])
        failing = await until_state(whole, "failing")
        assert failing["error"].startswith("The Matrix server does not accept the token of matrix: ")
        assert bot.token not in str(failing)


async def test_messages_threads_edits_and_typing_are_what_other_clients_show(
    synapse: Synapse, bot: Login, ann: Person, tmp_path: Path
) -> None:
    notes, channel = Notes(), channel_of(synapse, bot, tmp_path)
    async with listening(channel, notes):
        await ann.invite(bot.user_id)
        await ann.until_in(bot.user_id)
        written = await ann.write("a thread?")
        relates = {"rel_type": "m.thread", "event_id": written}
        await ann.write("in it", **{"m.relates_to": relates})
        new = {"msgtype": "m.text", "body": "a thread!"}
        await ann.put({**new, "m.new_content": new, "m.relates_to": {"rel_type": "m.replace", "event_id": written}})
        await notes.until(3)
    first, inner, edit = notes.taken
    assert (first.direct, first.edited, first.address) == (True, False, f"matrix:{ann.room}")
    assert (inner.address, inner.replies_to) == (f"matrix:{ann.room}/{written}", f"{ann.room}:{written}")
    assert (edit.edited, edit.external_id, edit.text) == (True, first.external_id, "a thread!")

    sent = await channel.send(contract_part(inner.address, "A thread.", 1))
    await channel.edit(inner.address, str(sent.external_id), "Edited.")
    await channel.edit(inner.address, str(sent.external_id), "Edited.")
    await ann.look()
    shown, edited = [one["content"] for one in ann.seen]
    assert shown["m.relates_to"]["event_id"] == written
    assert edited["m.new_content"]["body"] == "Edited."
    assert edited["m.relates_to"]["event_id"] == str(sent.detail["event_id"])
    await channel.show(f"matrix:{ann.room}", "typing")


class Notes:
    """An intake in memory."""

    def __init__(self) -> None:
        self.cursor: str | None = None
        self.taken: list[IncomingMessage] = []

    async def knows(self, address: str, sender: str) -> bool:
        return True

    async def awaits_link(self) -> bool:
        return False

    async def take(self, messages: Any, cursor: str | None, *, unread: int = 0, strangers: int = 0) -> None:
        assert unread == 0
        self.taken += messages
        self.cursor = cursor

    async def until(self, number: int) -> None:
        async def look() -> bool:
            return len(self.taken) >= number

        await until(look)


@asynccontextmanager
async def listening(channel: MatrixChannel, notes: Notes) -> AsyncIterator[None]:
    task = asyncio.create_task(channel.listen(notes))

    async def began() -> bool:
        return notes.cursor is not None or task.done()

    try:
        await until(began)
        yield
    finally:
        task.cancel()
        [ended] = await asyncio.gather(task, return_exceptions=True)
        assert isinstance(ended, asyncio.CancelledError), ended


def channel_of(synapse: Synapse, bot: Login, folder: Path) -> MatrixChannel:
    return MatrixChannel(
        name="matrix", base_url=synapse.url, token=bot.token, keys_folder=folder / "keys", poll_seconds=5
    )


class Bystander:
    """The room as the contract kit sees it. A person's client runs in a loop of its own, because the kit waits."""

    bad_address = "matrix:nowhere"

    def __init__(self, ann: Person, loop: asyncio.AbstractEventLoop) -> None:
        self._ann, self._loop = ann, loop
        self.address = f"matrix:{ann.room}"

    def shown(self) -> list[Shown]:
        self._do(self._ann.look())
        return [Shown(text=one["content"]["body"]) for one in self._ann.seen]

    def say(self, text: str) -> None:
        self._do(self._ann.write(text))

    def _do(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)


@pytest.mark.parametrize("kind", ["plain", "encrypted"])
async def test_matrix_passes_the_contract(synapse: Synapse, bot: Login, tmp_path: Path, kind: str) -> None:
    channel, notes = channel_of(synapse, bot, tmp_path), Notes()
    name = f"ann{next(_numbers)}"
    someone = person(synapse, name) if kind == "plain" else nio_person(synapse, name, tmp_path / "ann")
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()

    def there(work: Any) -> Any:
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))

    try:
        ann = await there(someone.__aenter__())
        try:
            async with listening(channel, notes):
                await there(ann.invite(bot.user_id))
                await there(ann.until_in(bot.user_id))
            await prove_channel(channel, Bystander(ann, loop))
        finally:
            await there(someone.__aexit__(None, None, None))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
