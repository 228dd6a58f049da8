"""Listeners in the store: one worker in the cluster has a channel, and only its fence writes."""

from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import exc

from homing.model.errors import Lost
from homing.store import Store, Tx, listeners, sessions
from homing.store import tables as t
from store.scenes import add_session, do, many_stores, race, rows


def test_of_many_workers_one_listens(database: str) -> None:
    with many_stores(database) as stores:
        found = race(stores, lambda store, number: do(store, listeners.claim, "chat", f"worker_{number}", 60))
        [claimed] = [one for one in found if one is not None]
        [row] = rows(stores[0], t.listener)
        assert (row.worker_id, row.fence) == (claimed.worker_id, 1)


def test_many_who_take_over_an_expired_claim_get_it_once(database: str) -> None:
    with many_stores(database) as stores:
        stores[0].write_now(lambda tx: listeners.claim(tx, "chat", "worker_dead", 0))
        found = race(stores, lambda store, number: do(store, listeners.claim, "chat", f"worker_{number}", 60))
        assert [one.fence for one in found if one is not None] == [2]


def test_an_old_fence_renews_releases_and_writes_nothing(store: Store) -> None:
    def work(tx: Tx) -> None:
        listeners.claim(tx, "chat", "worker_a", 0)
        new = listeners.claim(tx, "chat", "worker_b", 60)
        assert new is not None
        assert not listeners.renew(tx, "chat", 1, 60)
        assert not listeners.release(tx, "chat", 1)
        assert not listeners.fail(tx, "chat", 1, "late")
        with pytest.raises(Lost):
            listeners.hold(tx, "chat", 1)
        listeners.hold(tx, "chat", 2)
        listeners.advance(tx, "chat", cursor="5", strangers=2, unstored=1)
        now = listeners.get(tx, "chat")
        assert now is not None
        assert (now.cursor, now.strangers, now.unstored, now.worker_id) == ("5", 2, 1, "worker_b")

    store.write_now(work)


def test_an_address_is_heard_by_at_most_one_session(store: Store) -> None:
    def work(tx: Tx) -> None:
        one, other = add_session(tx, "web:one"), add_session(tx, "web:other")
        sessions.hear(tx, one.id, "chat:7")
        sessions.hear(tx, other.id, "chat:7")
        found = sessions.hearing(tx, "chat:7")
        assert found is not None
        assert found.id == other.id
        with pytest.raises(exc.IntegrityError), tx.attempt():
            tx.run(sa.update(t.address).where(t.address.c.address == "chat:7").values(heard=True))
        # Editing the list keeps what is heard.
        sessions.set_addresses(tx, other.id, ["web:other", "chat:7"])
        assert sessions.hearing(tx, "chat:7") is not None

    store.write_now(work)


IMPOSSIBLE: dict[str, dict[str, Any]] = {
    "claimed by nobody": {"claimed_until": 1},
    "a claim that was not counted": {"worker_id": "w", "claimed_until": 1, "fence": 0},
    "strangers who never came": {"strangers": 3},
}


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_impossible_listeners_are_refused(store: Store, what: str) -> None:
    def spoil(tx: Tx) -> None:
        values = {k: tx.now() if k == "claimed_until" else v for k, v in IMPOSSIBLE[what].items()}
        tx.run(sa.insert(t.listener).values(channel="chat", **values))

    with pytest.raises(exc.IntegrityError):
        store.write_now(spoil)


def test_who_hears_an_address_is_found_by_an_index(store: Store) -> None:
    asked = sa.select(t.address.c.session_id).where(t.address.c.address == "chat:7", t.address.c.heard)

    def work(tx: Tx) -> str:
        if tx.postgres:
            tx.run(sa.text("set local enable_seqscan = off"))
        made = asked.compile(tx.connection, compile_kwargs={"literal_binds": True}).string
        explain = "explain" if tx.postgres else "explain query plan"
        return str(tx.connection.exec_driver_sql(f"{explain} {made}").all())

    assert "ux_address_heard" in store.write_now(work)
