"""Rule 29: with a unified session all chats of a user share lane, history and memory; each shows its own messages."""

import pytest
import sqlalchemy as sa

from homing.engine import turn_context
from homing.model.people import Caller
from homing.operations.context import Context
from homing.operations.messages import send_message
from homing.operations.session_deletion import delete_session
from homing.operations.shapes.session_asks import DeleteSession, SendMessage
from homing.store import Store
from homing.store import tables as t
from homing.testing.scripted import wire_messages
from support.rooms import Room


@pytest.fixture
def unified(room_store: Store) -> Room:
    return Room(room_store, unified_session="on")


def users(room: Room, call: int = -1) -> list[str]:
    return [message.text for message in wire_messages(room.model.seen[call]) if message.role == "user"]


async def drain(room: Room) -> None:
    runner = room.runner()
    while await runner.step():
        pass


async def test_a_chat_shows_its_own_messages_and_the_model_sees_all_of_that_user(unified: Room) -> None:
    unified.ledger.say("I like apples", "web:phone", user_id="ann")
    await drain(unified)
    unified.ledger.say("what do I like?", "web:desk", user_id="ann")
    await drain(unified)
    assert users(unified) == ["I like apples", "what do I like?"]
    assert unified.ledger.texts("web:phone") == ["I like apples", "You said: I like apples"]
    assert unified.ledger.texts("web:desk") == ["what do I like?", "You said: what do I like?"]
    for key in ("web:phone", "web:desk"):
        unified.ledger.check_whole(key)


async def test_two_users_in_it_see_nothing_of_each_other(unified: Room) -> None:
    unified.ledger.say("I like apples", "web:ann", user_id="ann")
    await drain(unified)
    unified.ledger.say("what do I like?", "web:bob", user_id="bob")
    await drain(unified)
    assert users(unified) == ["what do I like?"]
    assert "apples" not in (unified.model.infos[-1].instructions or "")


async def test_chats_of_one_user_wait_for_each_other_and_those_of_two_do_not(unified: Room) -> None:
    unified.model.reply("first", hold=True)
    async with unified.running():
        unified.ledger.say("first", "web:phone", user_id="ann")
        unified.ring()
        await unified.called(1)
        unified.ledger.say("second", "web:desk", user_id="ann")
        unified.ledger.say("hello", "web:bob", user_id="bob")
        unified.ring()
        await unified.until_closed(1, "web:bob")
        assert unified.ledger.turns("web:desk") == []
        unified.model.release()
        await unified.until_closed(1, "web:desk")
    # It came from another chat, so it was no part of the first turn.
    assert users(unified, 0) == ["first"]
    assert unified.ledger.texts("web:phone") == ["first", "first"]


async def test_a_job_is_delivered_to_the_chat_that_made_it(unified: Room) -> None:
    unified.ledger.say("hello", "web:desk", user_id="ann")
    run_id = unified.ledger.run("look at the weather", "web:phone", user_id="ann")
    await drain(unified)
    assert unified.ledger.find_run(run_id).state == "ok"
    assert [message.kind for message in unified.ledger.messages("web:phone")] == ["scheduled", "scheduled"]
    assert [row.cause for row in unified.ledger.outbounds("web:phone")] == ["closing"]
    assert len(unified.ledger.messages("web:desk")) == 2
    assert "hello" in users(unified)
    shared = unified.ledger.write(lambda tx: tx.rows(sa.select(t.session.c.id).where(t.session.c.key == "unified:ann")))
    assert unified.ledger.count(t.message, t.message.c.session_id == shared[0][0]) == 0


async def test_a_worker_that_dies_in_it_is_taken_up_in_the_same_chat(unified: Room) -> None:
    unified.model.reply("nobody hears this", hold=True)
    async with unified.running():
        unified.ledger.say("hello", "web:phone", user_id="ann")
        unified.ring()
        await unified.called(1)
    await drain(unified)
    assert unified.ledger.texts("web:phone") == ["hello", "You said: hello"]


async def test_what_waits_when_it_is_switched_off_is_still_answered(unified: Room, room_store: Store) -> None:
    unified.ledger.say("hello", "web:phone", user_id="ann")
    apart = Room(room_store)
    await drain(apart)
    assert apart.ledger.texts("web:phone") == ["hello", "You said: hello"]
    apart.ledger.say("and now?", "web:phone", user_id="ann")
    await drain(apart)
    # Nothing is migrated: this chat's own lane begins empty.
    assert users(apart) == ["and now?"]


def delete(room: Room, key: str) -> None:
    caller = Caller(user_id="ann", role="user", door="api")
    ask = DeleteSession(session_key=key)
    room.ledger.write(lambda tx: delete_session(Context(tx=tx, caller=caller, instance=room.instance), ask))


async def test_what_was_said_in_a_deleted_chat_is_not_shown_to_the_model_in_another(unified: Room) -> None:
    for text, key in (("I like apples", "web:phone"), ("hello", "web:desk")):
        unified.ledger.say(text, key, user_id="ann")
        await drain(unified)
    delete(unified, "web:phone")
    unified.ledger.say("what do I like?", "web:desk", user_id="ann")
    await drain(unified)
    assert users(unified) == ["hello", "what do I like?"]


async def test_what_was_said_in_a_deleted_chat_leaves_the_summary_too(unified: Room) -> None:
    big = "apple " * (turn_context.HISTORY_TOKENS * 4 // 6 // 3)
    unified.model.when("Messages since then", "They like pears.", times=1)
    unified.model.otherwise("Fine.")
    unified.ledger.say("I like pears", "web:phone", user_id="ann")
    await drain(unified)
    for name in ("one", "two", "three", "four"):
        unified.ledger.say(f"{name} {big}", "web:desk", user_id="ann")
        await drain(unified)
    assert "They like pears." in (unified.model.infos[-1].instructions or "")
    delete(unified, "web:phone")
    unified.ledger.say("what do I like?", "web:desk", user_id="ann")
    await drain(unified)
    assert "They like pears." not in (unified.model.infos[-1].instructions or "")
    assert "pears" not in " ".join(message.text for seen in unified.model.seen[-2:] for message in wire_messages(seen))


async def test_a_summary_made_while_one_of_its_chats_is_deleted_is_not_kept(unified: Room) -> None:
    big = "apple " * (turn_context.HISTORY_TOKENS * 4 // 6 // 3)
    unified.model.otherwise("Fine.")
    unified.ledger.say("I like pears", "web:phone", user_id="ann")
    await drain(unified)
    for name in ("one", "two", "three"):
        unified.ledger.say(f"{name} {big}", "web:desk", user_id="ann")
        await drain(unified)
    calls = len(unified.model.seen)
    unified.model.when("Messages since then", "They like pears.", times=1, hold=True)
    async with unified.running():
        unified.ledger.say(f"four {big}", "web:desk", user_id="ann")
        unified.ring()
        await unified.called(calls + 1)
        delete(unified, "web:phone")
        unified.model.release()
        await unified.until_closed(4, "web:desk")
    unified.ledger.say("what do I like?", "web:desk", user_id="ann")
    await drain(unified)
    assert "They like pears." not in (unified.model.infos[-1].instructions or "")


async def test_a_senders_label_moves_no_chat_out_of_the_shared_lane(unified: Room) -> None:
    def say(text: str, key: str, sender_id: str | None = None) -> None:
        caller = Caller(user_id="default", role="admin", door="api")
        asked = SendMessage(session_key=key, text=text, sender_id=sender_id)
        unified.store.write_now(
            lambda tx: send_message(Context(tx=tx, caller=caller, instance=unified.instance), asked)
        )

    for sender in ("ann", "bob"):
        say(f"I am {sender}", "web:phone", sender)
        await drain(unified)
    assert users(unified) == ["ann: I am ann", "bob: I am bob"]
    say("who wrote?", "web:phone")
    say("and here?", "web:desk")
    await drain(unified)
    lanes = unified.ledger.write(lambda tx: tx.rows(sa.select(t.turn.c.lane_id).distinct()))
    assert len(lanes) == 1
