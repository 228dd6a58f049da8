"""Typing is shown while a person's turn runs, by the worker that has it, and stops with it; it is never owed."""

import asyncio
from datetime import timedelta

import pytest
import sqlalchemy as sa

from behaviour.channels.scenes import PATIENCE, Place, until
from homing.channels import Capabilities, Sign
from homing.engine.signs import Signs
from homing.model.errors import ChannelFailed
from homing.operations.contacts import remove_contact
from homing.operations.questions import answer_question
from homing.operations.shapes.approval import AnswerQuestion
from homing.operations.shapes.contact_asks import ContactRef
from homing.store import Tx, parts, turns
from homing.store import tables as t
from homing.testing import ListeningChannel
from support.asking import ask_people_for
from support.explaining import explain
from support.mortal import AwayStore


def signs_of(place: Place, worker_id: str = "worker_a") -> Signs:
    return Signs(place.world.store, {"chat": place.channel}, worker_id)


def begin(place: Place, **values: object) -> str:
    """Open a person's turn in the linked chat, at a worker."""
    turn_id = place.world.open_turn("chat:7")
    given = {"worker_id": "worker_a"} | values
    place.world.write(lambda tx: tx.run(sa.update(t.turn).where(t.turn.c.id == turn_id).values(given)))
    return turn_id


def close(place: Place) -> None:
    ended = {"state": "closed", "outcome": "answered"}
    place.world.write(lambda tx: tx.run(sa.update(t.turn).values(**ended, closed_at=tx.now())))


async def look(place: Place, signs: Signs, *, seconds: float = 0) -> bool:
    place.world.clock.advance(timedelta(seconds=seconds))
    waiting = await signs.step()
    await signs.settle()
    return waiting


async def test_typing_is_shown_every_few_seconds_until_the_turn_ends(place: Place) -> None:
    await place.link()
    signs = signs_of(place)
    assert not await look(place, signs)
    begin(place)
    assert await look(place, signs)
    await look(place, signs, seconds=1)
    assert place.channel.shown == ["chat:7"]
    await look(place, signs, seconds=4)
    assert place.channel.shown == ["chat:7"] * 2
    close(place)
    assert not await look(place, signs, seconds=4)
    assert place.channel.shown == ["chat:7"] * 2


@pytest.mark.parametrize("why", ["another worker", "cancelled", "removed contact"])
async def test_typing_is_not_shown(place: Place, why: str) -> None:
    contact = await place.link()
    begin(place, **({"cancel_requested_at": place.world.now()} if why == "cancelled" else {}))
    if why == "removed contact":
        place.world.ask(remove_contact, ContactRef(contact_id=contact.id))
    await look(place, signs_of(place, "worker_b" if why == "another worker" else "worker_a"))
    assert place.channel.shown == []


async def test_a_sign_that_fails_stops_nothing_and_is_left_alone_for_a_while(place: Place) -> None:
    class Broken(ListeningChannel):
        async def show(self, address: str, sign: Sign) -> None:
            await super().show(address, sign)
            raise ChannelFailed("Too Many Requests", limited=True)

    await place.link()
    broken = Broken("chat")
    signs = Signs(place.world.store, {"chat": broken}, "worker_a")
    begin(place)
    for _ in range(3):
        await look(place, signs, seconds=5)
    assert broken.shown == ["chat:7"]
    await look(place, signs, seconds=60)
    assert broken.shown == ["chat:7"] * 2


async def answered_question(place: Place) -> tuple[str, str, str]:
    """Send a question with buttons, and answer it elsewhere; give the edit that shows its answer."""
    await place.link()
    turn_id = place.world.open_turn("chat:7")
    place.channel.capabilities = Capabilities(max_length=None, buttons=4)
    _, question = ask_people_for(place.world, "chat:7", turn_id)
    await place.deliver()
    place.world.ask(answer_question, AnswerQuestion(question_id=question.id, option=2))
    [number] = [n for n, part in enumerate(place.channel.sent, 1) if part.text == "Which fruit?"]
    return "chat:7", f"7:out{number}", "Which fruit?\nAnswer: Pear (Owner)"


async def test_an_answered_question_shows_its_answer_in_the_place_of_its_buttons(place: Place) -> None:
    edit = await answered_question(place)
    await look(place, signs_of(place))
    assert place.channel.edits == [edit]


async def test_a_worker_without_the_channel_leaves_its_buttons_to_one_that_has_it(place: Place) -> None:
    edit = await answered_question(place)
    await look(place, Signs(place.world.store, {"other": ListeningChannel("other")}, "worker_b"))
    await look(place, signs_of(place))
    assert place.channel.edits == [edit]


async def test_signs_outlast_a_database_that_is_away(place: Place, database: str) -> None:
    edit = await answered_question(place)
    store = AwayStore(database)
    store.away, store.look_seconds = True, 0.1
    run = asyncio.create_task(Signs(store, {"chat": place.channel}, "worker_a").run())
    await asyncio.wait_for(store.refused.wait(), PATIENCE)
    store.away = False
    await until(lambda: run.done() or place.channel.edits == [edit])
    assert not run.done()
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    await store.close()


async def test_a_look_for_signs_reads_no_table_whole(place: Place) -> None:
    """Everything that rings wakes it, so its looks must not grow with what was ever said."""
    await place.link()
    begin(place)

    def plans(tx: Tx) -> str:
        return explain(tx, lambda: (turns.answering(tx, "worker_a"), parts.has_useless_buttons(tx, ["chat"])))

    found = place.world.write(plans)
    assert "Seq Scan" not in found
    whole = [line for line in found.splitlines() if "'SCAN " in line and "USING INDEX" not in line]
    assert whole == [], found


async def test_a_look_that_finds_nothing_to_take_away_writes_nothing(place: Place, database: str) -> None:
    await place.link()
    begin(place)
    store = AwayStore(database)
    store.away = True
    await look(place, Signs(store, {"chat": place.channel}, "worker_a"))
    assert place.channel.shown == ["chat:7"]
    await store.close()
