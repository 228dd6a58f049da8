"""Deliveries: owed with their message, tried in order, counted before the attempt, sent beats all."""

from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from homing.model.messages import Delivery, NewMessage
from homing.model.sessions import Session
from homing.store import Store, Tx, deliveries, inbounds, sessions
from homing.store import tables as t
from homing.store.deliveries import ATTEMPT
from homing.store.inbounds import NewInbound
from store.scenes import OWNER, add_session, do, rows
from store.scenes import owe as owe_to


def owe(tx: Tx, session: Session, *addresses: str, text: str = "hello") -> int:
    return owe_to(tx, session, text, addresses)


def finish(store: Store, delivery: Delivery, **values: Any) -> bool:
    if values.pop("sent", False):
        return do(store, deliveries.finish_part, delivery, rev=50, **values)
    return do(store, deliveries.fail_attempt, delivery, **{"rev": 50, "error": "no"} | values)


def take_one(store: Store) -> Delivery:
    [delivery] = do(store, deliveries.take_deliveries, 5)
    return delivery


def make_due(store: Store) -> None:
    pending = sa.update(t.delivery).where(t.delivery.c.state == "pending")
    do(store, lambda tx: tx.run(pending.values(next_attempt_at=tx.now() - timedelta(seconds=1))))


def test_on_a_screen_the_message_is_the_delivery_and_elsewhere_it_is_owed(store: Store) -> None:
    session = do(store, add_session)
    seq = do(store, owe, session, "web:a", "webhook:wh_1", "email:me@example.org")
    found = {row.address: row for row in rows(store, t.delivery)}
    assert {address: row.state for address, row in found.items()} == {
        "web:a": "sent", "webhook:wh_1": "pending", "email:me@example.org": "pending"
    }  # fmt: skip
    assert {row.rev for row in found.values()} == {do(store, sessions.get, session.id).rev}
    [shown] = do(store, deliveries.of_messages, session.id, [seq]).values()
    assert [delivery.address for delivery in shown] == ["web:a", "webhook:wh_1", "email:me@example.org"]
    assert do(store, deliveries.count_by_state, OWNER) == {"pending": 2, "dead": 0}


def test_many_outbounds_at_once_each_get_their_own_deliveries(store: Store) -> None:
    def work(tx: Tx) -> None:
        made = [add_session(tx, f"web:{n}") for n in range(20)]
        for session in made:
            sessions.set_addresses(tx, session.id, [f"webhook:{session.key}"] * (session.id % 2))
        deliveries.post(
            tx,
            [
                NewMessage(session_id=session.id, lane_id=session.id, role="assistant", kind="note", text="x")
                for session in made
            ],
        )

    store.write_now(work)
    numbers = {row.n: row.session_id for row in rows(store, t.outbound)}
    assert len(numbers) == 20
    assert all(numbers[row.outbound_n] == row.session_id for row in rows(store, t.delivery))
    assert len(rows(store, t.delivery)) == 10


def test_an_attempt_is_counted_before_it_is_made_and_the_next_one_set(store: Store) -> None:
    session = do(store, add_session)
    do(store, owe, session, "webhook:wh_1")
    delivery = take_one(store)
    now = do(store, lambda tx: tx.now())
    assert delivery.attempts == 1
    assert delivery.next_attempt_at is not None
    assert abs(delivery.next_attempt_at - now - ATTEMPT) < timedelta(seconds=20)
    assert do(store, deliveries.take_deliveries, 5) == []
    assert do(store, deliveries.next_attempt) == delivery.next_attempt_at


def test_a_later_message_waits_for_an_earlier_one_to_the_same_address(store: Store) -> None:
    session = do(store, add_session)
    for text in ("one", "two"):
        do(store, owe, session, "webhook:wh_1", text=text)
    do(store, owe, session, "webhook:wh_2", text="elsewhere")
    taken = do(store, deliveries.take_deliveries, 5)
    assert {(delivery.address, delivery.seq) for delivery in taken} == {("webhook:wh_1", 1), ("webhook:wh_2", 3)}
    first, elsewhere = sorted(taken, key=lambda delivery: delivery.seq)
    assert finish(store, elsewhere, sent=True)
    later = do(store, lambda tx: tx.now() + timedelta(minutes=5))
    assert finish(store, first, error="busy", next_attempt_at=later)
    # Still tried: the second waits, although its own time has come.
    assert do(store, deliveries.take_deliveries, 5) == []
    make_due(store)
    assert finish(store, take_one(store), error="refused")
    # Dead: the line goes on.
    assert take_one(store).seq == 2


def test_sent_beats_all_and_an_older_failure_changes_nothing(store: Store) -> None:
    session = do(store, add_session)
    do(store, owe, session, "webhook:wh_1")
    first = take_one(store)
    make_due(store)
    second = take_one(store)
    assert (first.attempts, second.attempts) == (1, 2)
    assert not finish(store, first, error="late news")
    assert finish(store, second, error="refused")
    dead = do(store, deliveries.get, first.id)
    assert dead is not None
    assert (dead.state, dead.error, dead.next_attempt_at) == ("dead", "refused", None)
    # The first attempt's answer arrives at last: it was taken.
    assert finish(store, first, sent=True, receipt={"status": 200})
    sent = do(store, deliveries.get, first.id)
    assert sent is not None
    assert (sent.state, sent.error, sent.receipt, sent.rev) == ("sent", None, {"status": 200}, 50)
    assert not finish(store, second, sent=True)
    assert not finish(store, second, error="no")
    assert not do(store, deliveries.retry, first.id, rev=9)


def test_a_dead_delivery_is_tried_again_from_the_start_under_the_same_id(store: Store) -> None:
    session = do(store, add_session)
    do(store, owe, session, "webhook:wh_1")
    delivery = take_one(store)
    assert finish(store, delivery, error="refused")
    assert do(store, deliveries.next_attempt) is None
    assert do(store, deliveries.retry, delivery.id, rev=9)
    again = take_one(store)
    assert (again.id, again.attempts, again.rev) == (delivery.id, 1, 9)


def test_deliveries_are_listed_newest_first_and_by_what_they_are(store: Store) -> None:
    session = do(store, add_session)
    for n in range(3):
        do(store, owe, session, f"webhook:wh_{n}")
    finish(store, do(store, deliveries.take_deliveries, 1)[0], error="no")

    def listed(**values: Any) -> list[str]:
        plain: dict[str, Any] = {"user_id": OWNER, "state": None, "session_id": None, "before_n": None, "limit": 10}
        return [delivery.address for _, delivery in do(store, deliveries.listed, **plain | values)]

    assert listed() == ["webhook:wh_2", "webhook:wh_1", "webhook:wh_0"]
    assert listed(state="dead") == ["webhook:wh_0"]
    assert listed(limit=1) == ["webhook:wh_2"]
    assert listed(user_id="stranger") == listed(session_id=4711) == []
    number = do(store, deliveries.listed, user_id=OWNER, state=None, session_id=None, before_n=None, limit=1)[0][0]
    assert listed(before_n=number) == ["webhook:wh_1", "webhook:wh_0"]


def test_one_note_about_an_address_replaces_the_one_before(store: Store) -> None:
    def work(tx: Tx) -> tuple[int, int]:
        session = add_session(tx)
        notes = [("webhook:wh_1", 2), ("webhook:wh_1", 1), ("webhook:wh_2", 5)]
        inbounds.take_in(
            tx,
            [
                NewInbound(
                    session_id=session.id, lane_id=session.id, user_id=OWNER, source="system", line="note", text="x",
                    meta={"undelivered": address, "count": number},
                )
                for address, number in notes
            ],
        )  # fmt: skip
        replaced = deliveries.replace_note(tx, session.id, "webhook:wh_1")
        return replaced, deliveries.replace_note(tx, session.id, "webhook:wh_1")

    assert store.write_now(work) == (3, 0)
    assert [row.state for row in rows(store, t.inbound)] == ["withdrawn", "withdrawn", "waiting"]
