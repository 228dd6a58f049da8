"""Messages: numbered under the session's lock, read in pages, told to models, shown to streams."""

from typing import Any

import sqlalchemy as sa

from homing.engine.scheduler import tick
from homing.model.messages import NewMessage
from homing.model.sessions import Session
from homing.operations.context import Instance
from homing.store import Store, Tx, inbounds, messages, sessions
from homing.store import tables as t
from homing.store.inbounds import NewInbound
from store.followers import Follower
from store.scenes import add_job, add_session, claim, close_turn, do, open_lane, person_says, say


def new(session: Session, text: str, **values: Any) -> NewMessage:
    plain: dict[str, Any] = {
        "session_id": session.id, "lane_id": session.id, "role": "assistant", "kind": "note", "text": text
    }  # fmt: skip
    return NewMessage(**plain | values)


def test_messages_are_numbered_in_order_and_share_the_revision_of_their_transaction(store: Store) -> None:
    def work(tx: Tx) -> tuple[list[int], int, int]:
        one, other, third = (add_session(tx, f"web:{n}") for n in range(3))
        sessions.lock(tx, [one.id, other.id, third.id])
        seqs, marks = sessions.append_messages(tx, [new(one, "a"), new(other, "b"), new(one, "c")], also=[third.id])
        assert set(marks) == {one.id, other.id, third.id}
        assert sessions.get(tx, third.id).rev == third.rev + 1 == marks[third.id].rev
        assert sessions.get(tx, third.id).seq == 0
        seqs += sessions.append_messages(tx, [new(one, "d")])[0]
        return seqs, marks[one.id].rev, sessions.get(tx, one.id).rev

    assert store.write_now(work) == ([1, 1, 2, 3], 2, 3)
    assert do(store, lambda tx: sessions.append_messages(tx, [])) == ([], {})


def test_a_message_comes_back_as_it_was_said(store: Store) -> None:
    def work(tx: Tx) -> None:
        session = add_session(tx)
        card = {"kind": "job", "job_id": "job_1", "change": "added", "revision": 1}
        said = new(session, "ünï 苹果 🍎", role="user", kind="chat", meta={"a": [1, None]}, cards=[card], model="m")
        sessions.append_messages(tx, [said])
        back = messages.get(tx, session.id, 1)
        assert back is not None
        assert (back.text, back.role, back.kind, back.model) == ("ünï 苹果 🍎", "user", "chat", "m")
        assert (dict(back.meta), list(back.cards), back.session_key) == ({"a": [1, None]}, [card], "web:a")
        assert messages.get(tx, session.id, 2) is None

    store.write_now(work)


def test_pages_go_back_from_the_newest_and_forward_from_a_number(store: Store) -> None:
    def work(tx: Tx) -> None:
        session = add_session(tx)
        sessions.append_messages(tx, [new(session, str(n)) for n in range(1, 8)])
        messages.fold(tx, session.id, [6])

        def page(**values: Any) -> list[str]:
            plain: dict[str, Any] = {"after": None, "before": None, "limit": 3}
            return [message.text for message in messages.page(tx, session.id, **plain | values)]

        assert page() == ["4", "5", "7"]
        assert page(before=4) == ["1", "2", "3"]
        assert page(after=4) == ["5", "7"]
        assert page(after=7) == []
        assert messages.last_of(tx, [session.id])[session.id].text == "7"
        before = messages.last_visible(tx, session.id, 7)
        assert before is not None
        assert before.text == "5"

    store.write_now(work)


def test_a_stream_cut_anywhere_shows_each_message_once(store: Store) -> None:
    def work(tx: Tx) -> int:
        session = add_session(tx)
        for size in (1, 5, 2, 7, 1):
            sessions.append_messages(tx, [new(session, "x") for _ in range(size)])
        return session.id

    session_id = store.write_now(work)
    for limit in (1, 2, 3, 5, 16, 100):
        follower = Follower(session_id, limit=limit)
        follower.catch_up(store)
        assert follower.seqs == list(range(1, 17)), limit
        assert follower.rev == do(store, sessions.get, session_id).rev


def test_a_stream_shows_what_changed_after_a_revision_and_nothing_else(store: Store, instance: Instance) -> None:
    def work(tx: Tx) -> None:
        session, other = add_session(tx), add_session(tx, "web:b")
        job = add_job(tx, session, rev=1)
        say(tx, session, "before")
        seen = sessions.get(tx, session.id).rev
        tick(tx, instance)
        say(tx, other, "elsewhere")
        changed = messages.changes(tx, session.id, seen, 100)
        assert (changed.job_ids, len(changed.run_ids), changed.messages) == ([job.id], 1, [])
        assert messages.changes(tx, session.id, changed.rev, 100).run_ids == []
        opened = open_lane(tx, session.id, instance)
        close_turn(tx, opened, instance)
        after = messages.changes(tx, session.id, changed.rev, 100)
        assert [message.kind for message in after.messages] == ["scheduled", "scheduled"]
        assert after.run_ids == changed.run_ids
        assert len(after.delivery_ids) == 1

    store.write_now(work)


def test_a_model_is_told_each_turn_once_by_its_history_and_what_no_turn_wrote(store: Store, instance: Instance) -> None:
    def work(tx: Tx) -> None:
        session = add_session(tx)
        say(tx, session, "a reminder", kind="reminder")
        person_says(tx, session, "hello")
        close_turn(tx, open_lane(tx, session.id, instance), instance, history="first turn")
        person_says(tx, session, "again")
        opened = open_lane(tx, session.id, instance)

        def told(**values: Any) -> list[str]:
            plain: dict[str, Any] = {"after_n": 0, "limit": 10}
            found = messages.history(tx, session.id, **plain | values)
            return [one.history or one.messages[0].text for one in found]

        # The open turn is not yet past.
        assert told() == ["a reminder", "first turn"]
        close_turn(tx, opened, instance, history="second turn")
        assert told() == ["a reminder", "first turn", "second turn"]
        assert told(limit=2) == ["first turn", "second turn"]
        first = messages.history(tx, session.id, after_n=0, limit=10)[0]
        assert told(after_n=first.n) == ["first turn", "second turn"]
        messages.fold(tx, session.id, [1])
        assert told() == ["first turn", "second turn"]

    store.write_now(work)


def test_since_the_last_run_means_since_the_jobs_last_closing(store: Store, instance: Instance) -> None:
    def work(tx: Tx) -> None:
        session = add_session(tx)
        job = add_job(tx, session)
        person_says(tx, session, "before")
        close_turn(tx, open_lane(tx, session.id, instance), instance, history="before")
        tick(tx, instance)
        close_turn(tx, open_lane(tx, session.id, instance), instance, history="the run")
        person_says(tx, session, "after")
        close_turn(tx, open_lane(tx, session.id, instance), instance, history="after")
        found = messages.history(tx, session.id, after_n=0, limit=10, job_id=job.id)
        assert [one.history for one in found] == ["after"]
        assert len(messages.history(tx, session.id, after_n=0, limit=10, job_id="job_none")) == 3

    store.write_now(work)


def test_in_a_shared_lane_a_note_of_another_chat_does_not_tell_a_turn_twice(store: Store, instance: Instance) -> None:
    """Numbers count in each chat by themselves: a note's may well be that of the opening beside it."""

    def work(tx: Tx) -> None:
        lane = add_session(tx, "unified:default")
        one, other = add_session(tx, "web:one"), add_session(tx, "web:other")
        inbounds.take_in(
            tx,
            [
                NewInbound(
                    session_id=other.id, lane_id=lane.id, user_id="default", source="system", line="note", text="a note"
                )
            ],
        )  # fmt: skip
        person_says(tx, one, "hello", lane_id=lane.id)
        close_turn(tx, open_lane(tx, lane.id, instance, claim()), instance, history="the turn")
        assert {row.seq for row in tx.rows(sa.select(t.message.c.seq).where(t.message.c.role == "user"))} == {1}
        assert [one.history for one in messages.history(tx, lane.id, after_n=0, limit=10)] == ["the turn"]

    store.write_now(work)
