"""Ten thousand due runs do not delay one person's hello."""

import sqlalchemy as sa

from homing.store import Tx
from homing.store import tables as t
from homing.testing import Reply, StubModelServer
from support.crews import Crew
from support.ledger import Ledger

WAITING = 10_000
SLOTS = 4


def test_a_persons_hello_is_thought_about_at_once_while_ten_thousand_runs_wait(
    crew: Crew, ledger: Ledger, stub: StubModelServer
) -> None:
    # Every run takes its time, so that the line behind it stays as long as it is.
    stub.when("look again", Reply(text="Nothing new.", first_byte_seconds=0.5))
    ledger.write(fill)
    ledger.session("web:person")
    crew.start(max_concurrent_runs=SLOTS, claim_seconds=60, scheduler_enabled="off")
    ledger.until(lambda: ledger.count(t.turn) > SLOTS, "the runs go on", seconds=60)
    inbound_id = ledger.say("hello", "web:person")
    crew.ring()
    stub.wait_for(lambda seen: any(request.last_user_text == "hello" for request in seen), timeout=60)
    ledger.until_closed(1, "web:person")
    turn = ledger.turn("web:person")
    # People have slots of their own: meanwhile only those runs could open for which a slot became free anyway.
    since = t.turn.c.opened_at > ledger.inbound(inbound_id).queued_at
    assert ledger.count(t.turn, t.turn.c.source == "run", since, t.turn.c.opened_at < turn.opened_at) <= 2 * SLOTS
    assert ledger.texts("web:person") == ["hello", "You said: hello"]
    waiting = ledger.count(t.inbound, t.inbound.c.line == "machines", t.inbound.c.state == "waiting")
    assert waiting > 0.9 * WAITING


def fill(tx: Tx) -> None:
    """Lay in so many queued runs, each in a conversation of its own."""
    now = tx.now()
    tx.run(
        sa.insert(t.session),
        [
            {"key": f"web:flood-{i}", "user_id": "default", "agent_id": "main", "created_at": now, "updated_at": now}
            for i in range(WAITING)
        ],
    )
    ids = [i for (i,) in tx.rows(sa.select(t.session.c.id).where(t.session.c.key.startswith("web:flood")))]
    plain = {"user_id": "default", "queued_at": now}
    tx.run(sa.insert(t.job), [_job(i, now) for i in ids])
    tx.run(
        sa.insert(t.run),
        [
            plain | {
                "id": f"job_{i}:1", "job_id": f"job_{i}", "session_id": i, "lane_id": i, "trigger": "timer",
                "scheduled_for": now, "state": "queued", "revision": 1, "rev": 1, "attempt": 1,
            }
            for i in ids
        ],
    )  # fmt: skip
    tx.run(
        sa.insert(t.inbound),
        [
            plain | {
                "id": f"in_{i}", "session_id": i, "lane_id": i, "source": "run", "text": "look again",
                "line": "machines", "mode": "queue", "state": "waiting", "run_id": f"job_{i}:1", "job_id": f"job_{i}",
            }
            for i in ids
        ],
    )  # fmt: skip


def _job(session_id: int, now: object) -> dict[str, object]:
    return {
        "id": f"job_{session_id}", "session_id": session_id, "user_id": "default", "agent_id": "main", "kind": "user",
        "name": "look", "schedule_kind": "every", "every_ms": 86_400_000, "anchor": now, "tz": "UTC",
        "payload_kind": "agent_turn", "message": "look again", "context": "session", "write_back": "full",
        "wake": "now", "catch_up": "latest", "catch_up_window_seconds": 86400, "origin_door": "api",
        "next_run_at": None, "timeout_seconds": 300.0, "created_at": now, "updated_at": now,
    }  # fmt: skip
