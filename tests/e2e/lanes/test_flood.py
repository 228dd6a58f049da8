"""Ten thousand due runs do not delay one person's hello."""

from datetime import timedelta

import sqlalchemy as sa

from homing.store import Tx
from homing.store import tables as t
from homing.testing import Reply, StubModelServer
from support.crews import Crew
from support.ledger import Ledger

DUE = 10_000
SLOTS = 4


def test_a_persons_hello_is_thought_about_at_once_while_ten_thousand_runs_wait(
    crew: Crew, ledger: Ledger, stub: StubModelServer
) -> None:
    # Every run takes its time, so that the line behind it stays as long as it is.
    stub.when("look again", Reply(text="Nothing new.", first_byte_seconds=0.2))
    fill(ledger)
    crew.start(max_concurrent_runs=SLOTS, claim_seconds=30)
    waiting = (t.inbound.c.line == "machines", t.inbound.c.state == "waiting")
    ledger.until(lambda: ledger.count(t.inbound, *waiting) > 0.9 * DUE, "nearly all of them wait", seconds=60)
    opened = ledger.count(t.turn)
    ledger.say("hello", "web:person")
    crew.ring()
    stub.wait_for(lambda seen: any(request.last_user_text == "hello" for request in seen), timeout=30)
    ledger.until_closed(1, "web:person")
    turn = ledger.turn("web:person")
    # Its own slots, so at most the runs that were in their slots anyway went before it, and as many again.
    before = ledger.count(t.turn, t.turn.c.source == "run", t.turn.c.opened_at < turn.opened_at)
    assert before - opened <= 2 * SLOTS
    inbound = ledger.write(lambda tx: tx.rows(sa.select(t.inbound.c.queued_at).where(t.inbound.c.turn_id == turn.id)))
    assert (turn.opened_at - inbound[0][0]).total_seconds() < 1
    assert ledger.texts("web:person") == ["hello", "You said: hello"]


def fill(ledger: Ledger) -> None:
    """Store so many jobs in conversations of their own, all due now."""

    def work(tx: Tx) -> None:
        now = tx.now()
        tx.run(
            sa.insert(t.session),
            [
                {"key": f"web:flood-{i}", "user_id": "default", "agent_id": "main", "created_at": now,
                 "updated_at": now}
                for i in range(DUE)
            ],
        )  # fmt: skip
        ids = [i for (i,) in tx.rows(sa.select(t.session.c.id).where(t.session.c.key.startswith("web:flood")))]
        tx.run(
            sa.insert(t.job),
            [
                {
                    "id": f"job_flood{i}", "session_id": i, "user_id": "default", "agent_id": "main", "kind": "user",
                    "name": "look", "schedule_kind": "every", "every_ms": 86_400_000, "anchor": now, "tz": "UTC",
                    "payload_kind": "agent_turn", "message": "look again", "context": "session", "write_back": "full",
                    "wake": "now", "catch_up": "latest", "catch_up_window_seconds": 86400, "origin_door": "api",
                    "next_run_at": now - timedelta(seconds=1), "timeout_seconds": 300.0, "created_at": now,
                    "updated_at": now,
                }
                for i in ids
            ],
        )  # fmt: skip

    ledger.write(work)
