"""Agents that write at the same time, on real connections: the limit holds over all, and a taken back grant ends it."""

from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from homing.model.brakes import MOST_SENT
from homing.model.errors import Forbidden, NotFound
from homing.model.people import ActingTurn, Caller
from homing.model.sessions import Session
from homing.operations.agent_messages import send
from homing.operations.context import Context, Instance
from homing.operations.grants import add_grant, remove_grant
from homing.operations.session_deletion import delete_session
from homing.operations.shapes.people_asks import AddGrant, GrantRef
from homing.operations.shapes.session_asks import DeleteSession
from homing.store import Store, Tx, people, sessions
from homing.store import tables as t
from store.scenes import (
    OWNER,
    TAKERS,
    add_session,
    close_turn,
    count,
    do,
    many_stores,
    open_lane,
    person_says,
    race,
    rows,
    watched,
)
from support.worlds import OWNER_CALLER

EACH = 4
WAITING_FOR_LOCK = "pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"


def furnish(tx: Tx) -> tuple[list[Session], str]:
    made = [add_session(tx, f"web:{n}") for n in range(TAKERS)]
    return made, people.add_grant(tx, user_id=OWNER, agent_id="main", address="agent:other").id


def send_in(tx: Tx, session: Session, instance: Instance, text: str, turn_id: str | None = None) -> str:
    """Send as a turn of a conversation would."""
    turn = ActingTurn(
        id=turn_id or f"turn_{session.id}", session_id=session.id, session_key=session.key, agent_id="main",
        source="person", job_id=None, sender_id=OWNER, depth=0, may_schedule=True,
    )  # fmt: skip
    ctx = Context(tx=tx, caller=Caller(user_id=OWNER, door="tool", turn=turn), instance=instance)
    return send(ctx, session, to="other", text=text, file_ids=())


def send_from(store: Store, session: Session, instance: Instance, text: str) -> str:
    """Send in a transaction of its own; say how it ended."""

    def work(tx: Tx) -> str:
        return send_in(tx, session, instance, text)

    try:
        return store.write_now(work).split(" ")[0]
    except Forbidden as refused:
        return "many" if "within a minute" in refused.detail else "revoked"


def test_many_conversations_of_one_agent_send_no_more_than_the_limit_into_one_conversation(
    database: str, instance: Instance
) -> None:
    with many_stores(database) as stores, watched(stores) as trouble:
        chats, _ = do(stores[0], furnish)

        def work(store: Store, number: int) -> list[str]:
            return [send_from(store, chats[number], instance, f"{number}.{n}") for n in range(EACH)]

        ends = Counter(end for taker in race(stores, work) for end in taker)
        assert ends == {"Sent": MOST_SENT, "many": TAKERS * EACH - MOST_SENT}
        assert trouble.deadlocks == 0
        [place] = rows(stores[0], t.session, t.session.c.key == "agent:other")
        sent = rows(stores[0], t.inbound, t.inbound.c.session_id == place.id)
        assert len(sent) == len({row.text for row in sent}) == MOST_SENT


def test_after_a_grant_was_taken_back_nothing_of_it_waits_whoever_was_sending(
    database: str, instance: Instance
) -> None:
    with many_stores(database) as stores, watched(stores) as trouble:
        chats, grant_id = do(stores[0], furnish)

        def work(store: Store, number: int) -> list[str]:
            if number:
                return [send_from(store, chats[number], instance, f"{number}.{n}") for n in range(2)]
            ask = GrantRef(grant_id=grant_id)
            try:
                store.write_now(lambda tx: remove_grant(Context(tx=tx, caller=OWNER_CALLER, instance=instance), ask))
            except NotFound:
                return ["gone"]
            return ["removed"]

        ends = Counter(end for taker in race(stores, work) for end in taker)
        assert (ends["removed"], ends["many"]) == (1, 0)
        assert trouble.deadlocks == 0
        states = Counter(row.state for row in rows(stores[0], t.inbound, t.inbound.c.grant_id == grant_id))
        assert states == Counter({"withdrawn": ends["Sent"]} if ends["Sent"] else {})
        assert rows(stores[0], t.grant) == []


def test_a_conversation_that_became_a_shared_place_between_look_and_lock_asks_apart(
    database: str, instance: Instance
) -> None:
    with many_stores(database, 1) as [store]:
        chats, _ = do(store, furnish)
        do(store, sessions.mark_several, chats[0].id)
        # Seen alone at first, as somebody did who looked before the second person came.
        looks = [chats[0]]

        def work(tx: Tx) -> str:
            return send_in(tx, looks.pop() if looks else sessions.get(tx, chats[0].id), instance, "How red?")

        assert f"in the conversation agent:other:{chats[0].id}." in store.write_now(work)
        assert rows(store, t.session, t.session.c.key == "agent:other") == []


def test_a_question_that_a_turn_opened_while_its_conversation_is_deleted_is_not_told_as_unread(
    database: str, instance: Instance
) -> None:
    with many_stores(database, 3) as [opener, deleter, watcher], watched([opener, deleter]) as trouble:
        [chat, *_], _ = do(opener, furnish)
        do(opener, person_says, chat, "Ask")
        asking = do(opener, open_lane, chat.id, instance)
        do(opener, send_in, chat, instance, "How red?", asking.turn.id)
        do(opener, close_turn, asking, instance, "I asked.")
        [place] = rows(opener, t.session, t.session.c.key == "agent:other")
        deleting: list[Future[None]] = []

        def delete(tx: Tx) -> None:
            ask = DeleteSession(session_key="agent:other")
            delete_session(Context(tx=tx, caller=OWNER_CALLER, instance=instance), ask)

        with ThreadPoolExecutor(1) as pool:

            def open_first(tx: Tx) -> None:
                open_lane(tx, place.id, instance)
                deleting.append(pool.submit(deleter.write_now, delete))
                # One that may look while we write has seen the question and waits for our lock; SQLite lets none look.
                while tx.postgres and not (deleting[0].done() or count(watcher, WAITING_FOR_LOCK)):
                    pass

            opener.write_now(open_first)
            deleting[0].result(60)
        assert trouble.deadlocks == 0
        told = rows(opener, t.inbound, t.inbound.c.session_id == chat.id, t.inbound.c.source == "system")
        assert [row.text for row in told] == []


def test_a_grant_to_a_conversation_that_is_being_deleted_is_refused(database: str, instance: Instance) -> None:
    with many_stores(database, 3) as [deleter, granter, watcher], watched([deleter, granter]) as trouble:
        do(deleter, add_session, "web:plans")
        granting: list[Future[str]] = []

        def grant(tx: Tx) -> str:
            ask = AddGrant(session_key="web:plans")
            return add_grant(Context(tx=tx, caller=OWNER_CALLER, instance=instance), ask).id

        with ThreadPoolExecutor(1) as pool:

            def delete(tx: Tx) -> None:
                ask = DeleteSession(session_key="web:plans")
                delete_session(Context(tx=tx, caller=OWNER_CALLER, instance=instance), ask)
                granting.append(pool.submit(granter.write_now, grant))
                while tx.postgres and not (granting[0].done() or count(watcher, WAITING_FOR_LOCK)):
                    pass

            deleter.write_now(delete)
            with pytest.raises(NotFound, match="There is no session web:plans"):
                granting[0].result(60)
        assert trouble.deadlocks == 0
        assert rows(deleter, t.grant) == []
