"""What people say goes into the lane; what was said is read page by page."""

from typing import Any

import pytest
import sqlalchemy as sa

from homing.model.errors import Invalid, NotFound
from homing.model.messages import NewMessage
from homing.operations.messages import cancel_turn, list_messages, send_message
from homing.operations.sessions import get_session
from homing.operations.shapes.base import read
from homing.operations.shapes.session_asks import CancelTurn, ListMessages, SendMessage, SessionRef
from homing.store import Tx, inbounds, sessions, turns
from homing.store import tables as t
from support.asking import add, field_codes, refused, session
from support.worlds import STRANGER, World


def send(world: World, text: str = "hello", **given: Any):
    return world.ask(send_message, read(SendMessage, {"session_key": "web:abc", "text": text, **given}))


def test_a_first_message_makes_the_session_and_will_start_a_turn(world: World) -> None:
    sent = send(world)
    assert (sent.session_key, sent.will) == ("web:abc", "start")
    inbound = world.write(lambda tx: inbounds.inbound_by_id(tx, sent.inbound_id))
    assert inbound is not None
    assert (inbound.source, inbound.line, inbound.mode, inbound.address) == ("person", "people", "inject", "web:abc")
    assert (inbound.sender_id, inbound.text) == ("default", "hello")
    assert send(world).will == "queue"


def test_during_a_persons_turn_a_message_is_injected_unless_it_is_to_wait(world: World) -> None:
    session(world)
    world.open_turn("web:abc")
    assert send(world).will == "inject"
    assert send(world, mode="queue").will == "queue"
    world.ask(cancel_turn, CancelTurn(session_key="web:abc"))
    assert send(world).will == "queue"


def test_during_a_scheduled_turn_a_message_waits(world: World) -> None:
    job = add(world)
    world.open_turn("web:abc", job_id=job.id)
    assert send(world).will == "queue"


def test_nobody_takes_over_a_key_of_another_channel_or_of_another_user(world: World) -> None:
    error = refused(lambda: send(world, session_key="telegram:1"), Invalid)
    assert field_codes(error) == {"session_key": "reserved_key"}
    send(world)
    # A key is each user's own: the same one makes another session.
    world.ask(send_message, SendMessage(session_key="web:abc", text="x"), caller=STRANGER)
    assert world.ask(get_session, SessionRef(session_key="web:abc")).lane_size == 1
    with pytest.raises(NotFound):
        send(world, session_key="unified:default")


def test_texts_that_cannot_be_taken_are_refused(world: World) -> None:
    assert field_codes(refused(lambda: send(world, "x" * 16385), Invalid)) == {"text": "out_of_range"}
    assert field_codes(refused(lambda: send(world, ""), Invalid)) == {"text": "missing"}
    assert field_codes(refused(lambda: send(world, " \n"), Invalid)) == {"text": "missing"}
    assert field_codes(refused(lambda: send(world, mode="shout"), Invalid)) == {"mode": "out_of_range"}


def test_with_a_unified_session_all_chats_stand_in_one_lane(world: World) -> None:
    unified = world.with_settings(unified_session=True)
    assert send(unified).will == "start"
    assert send(unified, session_key="web:other").will == "queue"
    lane = world.write(lambda tx: sessions.find(tx, "unified:default", user_id="default"))
    assert lane is not None
    rows = world.write(lambda tx: tx.rows(sa.select(t.inbound.c.lane_id)))
    assert {lane_id for (lane_id,) in rows} == {lane.id}
    shown = unified.ask(get_session, SessionRef(session_key="web:other"))
    assert (shown.lane_size, [w.text for w in shown.lane]) == (1, ["hello"])


def say(world: World, *texts: str) -> None:
    session_id = session(world)

    def work(tx: Tx) -> None:
        new = [
            NewMessage(session_id=session_id, lane_id=session_id, role="assistant", kind="chat", text=text)
            for text in texts
        ]
        sessions.append_messages(tx, new)

    world.write(work)


def test_the_newest_page_comes_first_oldest_first_and_the_cursor_goes_back(world: World) -> None:
    say(world, *(f"m{n}" for n in range(1, 8)))

    def page(**given: Any):
        return world.ask(list_messages, read(ListMessages, {"session_key": "web:abc", "limit": 3, **given}))

    newest = page()
    assert [m.text for m in newest.items] == ["m5", "m6", "m7"]
    middle = page(cursor=newest.next_cursor)
    assert [m.text for m in middle.items] == ["m2", "m3", "m4"]
    oldest = page(cursor=middle.next_cursor)
    assert ([m.text for m in oldest.items], oldest.next_cursor) == (["m1"], None)
    after = page(after=2)
    assert [m.seq for m in after.items] == [3, 4, 5]
    assert [m.seq for m in page(cursor=after.next_cursor).items] == [6, 7]
    assert page(after=7).items == []
    before = page(before=6)
    assert [m.seq for m in before.items] == [3, 4, 5]
    assert [m.seq for m in page(cursor=before.next_cursor).items] == [1, 2]
    assert page(before=1).items == []
    with pytest.raises(Invalid, match="not both"):
        page(after=1, before=3)


def test_a_message_has_every_field_of_the_contract_in_its_order(world: World) -> None:
    say(world, "hello")
    [message] = world.ask(list_messages, ListMessages(session_key="web:abc")).items
    assert (
        list(message.plain())
        == (
            "session_key seq role kind text turn_id inbound_id model meta created_at cards deliveries unasked"
            " files approval question promise"
        ).split()
    )


def test_the_open_turn_is_asked_to_stop(world: World) -> None:
    session(world)
    nothing = world.ask(cancel_turn, CancelTurn(session_key="web:abc"))
    assert nothing.plain() == {"cancelled": False, "turn_id": None}
    turn_id = world.open_turn("web:abc")
    assert world.ask(cancel_turn, CancelTurn(session_key="web:abc", turn_id="turn_other")).cancelled is False
    done = world.ask(cancel_turn, CancelTurn(session_key="web:abc", turn_id=turn_id))
    assert done.plain() == {"cancelled": True, "turn_id": turn_id}
    turn = world.write(lambda tx: turns.get_turn(tx, turn_id))
    assert turn is not None
    assert turn.cancel_reason == "asked"
