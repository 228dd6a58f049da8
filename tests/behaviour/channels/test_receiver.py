"""What people say in a channel is heard once, by one worker of all, and confirmed after it is kept (rule 52)."""

import asyncio
from datetime import timedelta

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from behaviour.channels.scenes import PATIENCE, Place, make_receiver, until
from homing.model.errors import ChannelFailed, Lost
from homing.operations.incoming import LeftOut
from homing.operations.session_deletion import delete_session
from homing.operations.shapes.session_asks import DeleteSession
from homing.store import Tx, contacts, listeners
from homing.store import tables as t
from homing.testing import ListeningChannel
from support.mortal import MortalStore
from support.worlds import World


async def test_the_first_listen_starts_at_now(world: World) -> None:
    channel = ListeningChannel("chat")
    channel.say("from long ago", at=world.clock.now())
    place = Place(world=world, channel=channel, receiver=make_receiver(world.store, world, channel))
    await place.receiver.step()
    await until(lambda: place.listener().cursor == "1")
    assert (place.inbounds(), place.listener().strangers) == ([], 0)
    await place.receiver.leave()


async def test_a_message_comes_into_its_conversation_and_then_the_platform_is_told(place: Place) -> None:
    contact = await place.link()
    await place.say("hello")
    await place.say("again")
    [first, second] = place.rows(t.inbound)
    assert (first.text, first.line, first.source, first.state) == ("hello", "people", "person", "waiting")
    assert (first.sender_id, first.address, first.external_id) == ("default", "chat:7", "chat:7:2")
    assert second.session_id == first.session_id
    assert contact.session_key == "chat:7"
    assert place.listener().cursor == "3"


async def test_an_empty_poll_writes_nothing(place: Place) -> None:
    await place.link()

    def version(tx: Tx) -> object:
        return tx.rows(sa.select(t.listener))

    before = place.world.write(version)
    intake = _Remembering(place)
    await intake.poll()
    assert place.world.write(version) == before


async def test_what_was_left_out_is_counted_though_the_cursor_stays(place: Place) -> None:
    await place.link()
    before = place.listener()
    receiver = place.receiver
    claim = receiver._claims["chat"]  # pyright: ignore[reportPrivateUsage]
    await receiver.take("chat", claim, (), claim.cursor, LeftOut(unread=2, strangers=1))
    after = place.listener()
    assert (after.unstored - before.unstored, after.strangers - before.strangers) == (2, 1)
    assert after.cursor == before.cursor


class _Remembering:
    """Polls under the claim that the receiver of a place holds."""

    def __init__(self, place: Place) -> None:
        self._place = place

    async def poll(self) -> None:
        receiver = self._place.receiver
        claim = receiver._claims["chat"]  # pyright: ignore[reportPrivateUsage]
        await receiver.take("chat", claim, (), claim.cursor)


async def test_one_worker_listens_and_the_next_one_goes_on_when_it_leaves(place: Place) -> None:
    other = place.another()
    assert not await other.step()
    assert place.channel.listeners == 1
    await place.receiver.leave()
    assert (place.listener().worker_id, place.channel.listeners) == (None, 0)
    assert await other.step()
    await until(lambda: place.channel.listeners == 1)
    listener = place.listener()
    assert (listener.worker_id, listener.fence) == ("worker_b", 2)


async def test_a_worker_that_lost_its_claim_takes_nothing_and_stops_listening(place: Place) -> None:
    await place.link()
    place.world.write(lambda tx: tx.run(sa.update(t.listener).values(claimed_until=tx.now())))
    stolen = place.world.write(lambda tx: listeners.claim(tx, "chat", "worker_b", 60))
    assert stolen is not None
    place.channel.say("into the void", at=place.world.clock.now())
    await until(lambda: place.channel.listeners == 0)
    assert place.inbounds() == []
    assert place.channel.confirmed == 1
    # It does not try again while the other listens.
    await place.receiver.step()
    assert place.channel.listeners == 0


async def test_a_claim_that_cannot_be_renewed_in_time_ends_by_this_workers_own_clock(place: Place) -> None:
    claim = place.receiver._claims["chat"]  # pyright: ignore[reportPrivateUsage]
    place.world.clock.advance(61)
    with pytest.raises(Lost):
        await place.receiver.take("chat", claim, (), "9")


async def test_claims_are_renewed_while_nothing_is_said(place: Place) -> None:
    before = place.listener().claimed_until
    place.world.clock.advance(30)
    await place.receiver.step()
    listener = place.listener()
    assert listener.claimed_until is not None
    assert before is not None
    assert listener.claimed_until > before
    assert (listener.fence, place.channel.listeners) == (1, 1)


async def test_a_failing_channel_says_why_backs_off_and_comes_back(place: Place) -> None:
    await place.link()
    place.channel.break_off(ChannelFailed("Unauthorized: wrong token."))
    await until(lambda: place.channel.listeners == 0)
    await until(lambda: place.listener().error == "Unauthorized: wrong token.")
    place.channel.say("are you there?", at=place.world.clock.now())
    await place.receiver.step()
    assert place.channel.listeners == 0
    place.world.clock.advance(1)
    await place.hear()
    assert place.listener().error is None
    assert place.inbounds() == ["are you there?"]


async def test_a_broken_channel_is_a_failing_one_and_shows_no_secrets(place: Place) -> None:
    place.channel.break_off(ValueError("token 12:secret"))
    with capture_logs() as logs:
        await until(lambda: place.listener().error is not None)
    assert place.listener().error == "The channel chat broke (ValueError); see the server's log."
    assert [entry["event"] for entry in logs if entry["log_level"] == "error"] == ["listener_broken"]


async def test_the_same_message_given_again_is_taken_once(place: Place) -> None:
    await place.link()
    for _ in range(2):
        await place.say("once", message_id="5")
    assert place.inbounds() == ["once"]


async def test_two_accounts_with_equal_message_ids_lose_nothing(place: Place) -> None:
    work = ListeningChannel("work")
    there = Place(world=place.world, channel=work, receiver=make_receiver(place.world.store, place.world, work))
    await there.receiver.step()
    await until(lambda: there.listener().cursor is not None)
    contact = await place.link()
    assert contact.session_key is not None
    await there.link(session_key=contact.session_key)
    await place.say("from home", message_id="9")
    await there.say("from work", message_id="9")
    assert place.inbounds() == ["from home", "from work"]
    assert len({row.session_id for row in place.rows(t.inbound)}) == 1
    await there.receiver.leave()


async def test_a_message_that_cannot_be_stored_is_counted_and_the_rest_is_heard(place: Place) -> None:
    await place.link()
    now = place.world.clock.now()
    place.channel.say("before", at=now)
    place.channel.say("of nobody's place", at=now, address="other:7")
    place.channel.say("after", at=now)
    await place.hear()
    assert place.inbounds() == ["before", "after"]
    listener = place.listener()
    assert (listener.unstored, listener.cursor) == (1, "4")


async def test_what_no_database_keeps_is_left_out_and_what_is_too_long_becomes_a_file(place: Place) -> None:
    await place.link()
    await place.say("a\x00b \ud800c")
    await place.say("x" * 20_000)
    await place.say("   ")
    await place.say("👩‍👩‍👧 مرحبا ```code```")
    clean, long, empty, emoji = place.inbounds()
    assert clean == "ab c"
    assert len(long) == 16_384
    assert long.endswith("(The message has 20,000 characters; all of it is in the file message.txt.)")
    assert "without text" in empty
    assert emoji == "👩‍👩‍👧 مرحبا ```code```"


async def test_an_edit_is_a_note_that_wakes_nobody_and_an_edit_of_nothing_is_ignored(place: Place) -> None:
    await place.link()
    await place.say("at eight", message_id="5")
    for _ in range(2):
        await place.say("at nine", message_id="5", edited=True)
    await place.say("never taken", message_id="77", edited=True)
    said, edit = place.rows(t.inbound)
    assert (said.text, said.line) == ("at eight", "people")
    assert (edit.line, edit.text) == ("note", "An earlier message was edited. It reads now:\nat nine")


async def test_an_edit_that_changes_nothing_is_ignored_and_a_newer_one_replaces_the_waiting_note(place: Place) -> None:
    await place.link()
    await place.say("at eight", message_id="5")
    now = place.world.clock.now()

    async def edits(*texts: str) -> None:
        for text in texts:
            # Telegram names the second only.
            place.channel.say(text, at=now, message_id="5", edited=True)
        await place.hear()

    def waiting() -> list[str]:
        return [row.text.rpartition("\n")[2] for row in place.rows(t.inbound) if row.state == "waiting"]

    await edits("at eight")
    assert waiting() == ["at eight"]
    await edits("at nine", "at ten")
    assert waiting() == ["at eight", "at ten"]
    now += timedelta(seconds=1)
    await edits("at ten", "at eight")
    assert waiting() == ["at eight", "at eight"]
    assert len(place.rows(t.inbound)) == 4


async def test_an_edit_that_is_heard_with_its_message_is_not_lost(place: Place) -> None:
    await place.link()
    now = place.world.clock.now()
    place.channel.say("at eight", at=now, message_id="5")
    place.channel.say("at nine", at=now, message_id="5", edited=True)
    await place.hear()
    assert [row.line for row in place.rows(t.inbound)] == ["people", "note"]


async def test_after_its_conversation_was_deleted_a_contact_begins_a_new_one(place: Place) -> None:
    await place.link()
    await place.say("one")
    place.world.ask(delete_session, DeleteSession(session_key="chat:7"))
    await place.say("two")
    one, two = place.rows(t.inbound)
    assert one.session_id != two.session_id
    [contact] = place.contacts()
    assert contact.session_key == "chat:7"


@pytest.mark.parametrize("place_of_death", ["before", "after"])
async def test_killed_around_the_commit_a_message_is_neither_lost_nor_doubled(
    place: Place, database: str, place_of_death: str
) -> None:
    """`before`: heard, not committed. `after`: committed, and the platform was not told."""
    await place.link()
    await place.receiver.leave()
    # The claim, the account's name, and then what was heard.
    mortal = MortalStore(database, nth=3, place=place_of_death)  # type: ignore[arg-type]
    doomed = place.another(mortal, "worker_doomed")
    await doomed.step()
    await until(lambda: place.channel.listeners == 1)
    place.channel.say("hello", at=place.world.clock.now())
    await asyncio.wait_for(mortal.died.wait(), PATIENCE)
    assert place.channel.confirmed == 1
    assert len(place.inbounds()) == (place_of_death == "after")
    for claim in doomed._claims.values():  # pyright: ignore[reportPrivateUsage]
        assert claim.task is not None
        claim.task.cancel()
    place.extra.clear()
    place.world.write(lambda tx: tx.run(sa.update(t.listener).values(claimed_until=tx.now())))
    heir = place.another(worker_id="worker_heir")
    await heir.step()
    async with asyncio.timeout(PATIENCE):
        await place.channel.all_confirmed()
    assert place.inbounds() == ["hello"]
    assert place.listener().cursor == "2"
    mortal.engine.dispose()


async def test_a_contact_that_is_removed_at_that_moment_is_judged_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    contact = await place.link()
    tries: list[int] = []

    def hold(tx: Tx, channel: str, fence: int) -> None:
        # Between the last look and the writing.
        tries.append(fence)
        if len(tries) == 1:
            contacts.remove(tx, contact.id)

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr("homing.operations.incoming.listeners.hold", hold)
        await place.say("hello")
    assert len(tries) == 2
    assert place.inbounds() == ["hello"]
