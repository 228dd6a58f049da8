"""A home somebody has lived in for years: one long conversation, and more automations than anybody reads."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from homing.model.schedules import Cron, next_times
from homing.settings import load
from homing.store import Tx, people
from homing.store import tables as t
from homing.wiring import prepare, wire

KEY = "web:long"
TOKEN = "hom_of_the_benchmark_and_long_enough"
ZONE = "Europe/Berlin"
# Many a row a statement: one at a time, the filling would take longer than what is measured.
_ROWS = 2000
ANSWER = """Three prices moved since yesterday:

- **Apples** 2.49 €, up 0.20
- **Pears** 2.99 €, down 0.20

The rest is `as it was`; [the list](https://example.org/prices) has them all."""


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """How much there is. `ran` of the automations have thirty runs each behind them."""

    messages: int = 5000
    automations: int = 2000
    ran: int = 400
    deliveries: int = 3000
    sessions: int = 40
    now: datetime

    def session_of(self, i: int) -> int:
        """Sixty automations live in the long conversation, the others in turn in those beside it."""
        return 0 if i % 33 == 0 else 1 + i % (self.sessions - 1)


def fill(home: Path, **sizes: int) -> Crowd:
    """Make a home of that size on SQLite, with nothing due for a while."""
    crowd = Crowd(now=datetime.now(UTC).replace(microsecond=0), **sizes)
    homing = wire(load({"HOMING_HOME": str(home), "HOMING_MODEL": "offline", "HOMING_TIMEZONE": ZONE}))
    home.mkdir(parents=True, exist_ok=True)
    prepare(homing)
    homing.store.write_now(lambda tx: _fill(tx, crowd))
    homing.store.write_now(
        lambda tx: people.add_token(tx, user_id="default", role="admin", kind="token", secret=TOKEN, expires_at=None)
    )
    homing.store.engine.dispose()
    return crowd


def _fill(tx: Tx, crowd: Crowd) -> None:
    _insert(tx, t.session, (_session(i, crowd) for i in range(crowd.sessions)))
    found = tx.rows(sa.select(t.session.c.id, t.session.c.key).order_by(t.session.c.id))
    _insert(tx, t.address, ({"session_id": n, "address": key} for n, key in found))
    ids = [n for n, _ in found]
    _insert(tx, t.job, (_job(i, ids[crowd.session_of(i)], crowd) for i in range(crowd.automations)))
    _insert(tx, t.run, _runs(crowd, ids))
    _insert(tx, t.turn, (_turn(i, ids[0], crowd) for i in range(crowd.messages // 2)))
    _insert(tx, t.message, (_message(i, ids[0], crowd) for i in range(crowd.messages)))
    _insert(tx, t.message, (_beside(n, crowd) for n in ids[1:]))
    _insert(tx, t.outbound, (_outbound(i, ids[0], crowd) for i in range(crowd.deliveries)))
    numbers = [n for (n,) in tx.rows(sa.select(t.outbound.c.n).order_by(t.outbound.c.n))]
    _insert(tx, t.delivery, (_delivery(i, n, ids[0], crowd) for i, n in enumerate(numbers)))
    tx.run(sa.text("analyze"))


def _insert(tx: Tx, table: sa.Table, rows: Iterator[dict[str, Any]]) -> None:
    some: list[dict[str, Any]] = []
    for row in rows:
        some.append(row)
        if len(some) == _ROWS:
            tx.run(sa.insert(table), some)
            some = []
    tx.run(sa.insert(table), some)


def _session(i: int, crowd: Crowd) -> dict[str, Any]:
    at = crowd.now - timedelta(minutes=i)
    size = crowd.messages if i == 0 else 1
    return {
        "key": KEY if i == 0 else f"web:beside{i}", "title": "The long one" if i == 0 else f"Beside {i}",
        "user_id": "default", "agent_id": "main", "timezone": ZONE, "created_at": at - timedelta(days=700),
        "updated_at": at, "seq": size, "rev": size,
    }  # fmt: skip


def _cron(i: int) -> str:
    """Two hundred clock times, one automation in five only on weekdays."""
    return f"{i * 7 % 60} {i % 24} * * {'1-5' if i % 5 == 0 else '*'}"


_KINDS = ("active",) * 14 + ("paused", "paused", "attention", "attention", "done", "active")


def _job(i: int, session_id: int, crowd: Crowd) -> dict[str, Any]:
    status = _KINDS[i % len(_KINDS)]
    idle = status in ("paused", "done")
    ran = i < crowd.ran
    [following] = next_times(Cron(cron=_cron(i), tz=ZONE), crowd.now + timedelta(minutes=30), 1)
    return {
        "id": _job_id(i), "session_id": session_id, "user_id": "default", "agent_id": "main", "kind": "user",
        "name": f"watch number {i}", "schedule_kind": "cron", "cron": _cron(i), "tz": ZONE,
        "payload_kind": "agent_turn", "message": f"Look at shelf {i} and tell what changed since the last look.",
        "context": "session", "write_back": "full", "wake": "now", "catch_up": "latest",
        "catch_up_window_seconds": 86400, "timeout_seconds": 300.0,
        "origin_door": "tool" if i % 33 == 0 else "api", "origin_turn_id": None,
        "enabled": not idle, "disabled_by": {"paused": "person", "done": "done"}.get(status),
        "next_run_at": None if idle else following,
        "last_run_id": _run_id(i, 0, crowd) if ran else None, "last_run_at": _ran_at(i, 0, crowd) if ran else None,
        "last_status": ("error" if status == "attention" else "ok") if ran or status == "attention" else None,
        "last_error": "The model `stub` refused the key." if status == "attention" else None,
        "last_duration_ms": 900 if ran else None, "rev": 1,
        "created_at": crowd.now - timedelta(days=400, seconds=-i), "updated_at": crowd.now - timedelta(days=1),
    }  # fmt: skip


def _job_id(i: int) -> str:
    return f"job_crowd{i:05d}"


def _ran_at(i: int, back: int, crowd: Crowd) -> datetime:
    return crowd.now - timedelta(days=back, minutes=5 + i % 1200)


def _run_id(i: int, back: int, crowd: Crowd) -> str:
    return f"{_job_id(i)}:{int(_ran_at(i, back, crowd).timestamp() * 1000)}"


def _runs(crowd: Crowd, ids: list[int]) -> Iterator[dict[str, Any]]:
    """Oldest first, as they would have been written."""
    for back in reversed(range(30)):
        for i in range(min(crowd.ran, crowd.automations)):
            at, failed = _ran_at(i, back, crowd), (i + back) % 17 == 0
            session_id = ids[crowd.session_of(i)]
            yield {
                "id": _run_id(i, back, crowd), "job_id": _job_id(i), "session_id": session_id, "lane_id": session_id,
                "user_id": "default", "trigger": "timer", "scheduled_for": at, "queued_at": at, "started_at": at,
                "finished_at": at + timedelta(seconds=2), "lateness_ms": 12, "state": "error" if failed else "ok",
                "reason": "model" if failed else None, "summary": "As it was.", "prompt": ANSWER, "rev": 1,
            }  # fmt: skip


def _turn_id(i: int) -> str:
    return f"turn_crowd{i:05d}"


def _turn(i: int, session_id: int, crowd: Crowd) -> dict[str, Any]:
    at = _said_at(2 * i, crowd)
    return {
        "id": _turn_id(i), "lane_id": session_id, "session_id": session_id, "user_id": "default", "agent_id": "main",
        "source": "person", "state": "closed", "outcome": "answered", "model": "offline", "prompt": "", "history": "[]",
        "opening_seq": 2 * i + 1, "closing_seq": 2 * i + 2, "opened_at": at, "closed_at": at,
    }  # fmt: skip


def _said_at(i: int, crowd: Crowd) -> datetime:
    return crowd.now - timedelta(minutes=20 * (crowd.messages - i))


def _message(i: int, session_id: int, crowd: Crowd) -> dict[str, Any]:
    """Turns of an opening and an answer. One in five was begun by the clock; one in fifty scheduled something."""
    turn, opens = i // 2, i % 2 == 0
    scheduled = turn % 5 == 0
    job = 33 * (turn % 60) % crowd.automations
    text = f"What do apples cost on day {turn}?" if opens else f"{ANSWER}\n\nThat was answer {turn}."
    card = {"kind": "job", "job_id": _job_id(job), "change": "added", "revision": 1}
    carded = not opens and turn % 50 == 1 and job < crowd.automations
    return {
        "session_id": session_id, "lane_id": session_id, "seq": i + 1, "rev": i + 1,
        "role": "user" if opens else "assistant", "kind": "scheduled" if scheduled else "chat", "text": text,
        "turn_id": _turn_id(turn), "job_id": _job_id(job) if scheduled else None, "run_id": None,
        "model": None if opens else "offline", "cards": [card] if carded else None,
        "meta": {"cron_job_id": _job_id(job), "cron_job_name": f"watch number {job}"} if scheduled else None,
        "folded": False, "created_at": _said_at(i, crowd),
    }  # fmt: skip


def _beside(session_id: int, crowd: Crowd) -> dict[str, Any]:
    return {
        "session_id": session_id, "lane_id": session_id, "seq": 1, "rev": 1, "role": "assistant", "kind": "chat",
        "text": "Nothing new here.", "folded": False, "created_at": crowd.now - timedelta(days=1),
    }  # fmt: skip


def _outbound(i: int, session_id: int, crowd: Crowd) -> dict[str, Any]:
    return {"session_id": session_id, "seq": _seq_of(i, crowd), "cause": "note", "created_at": _said_at(i, crowd)}


def _seq_of(i: int, crowd: Crowd) -> int:
    return 2 * (i % (crowd.messages // 2)) + 2


def _delivery(i: int, outbound_n: int, session_id: int, crowd: Crowd) -> dict[str, Any]:
    dead = i % 150 == 0
    return {
        "id": f"dlv_crowd{i:05d}", "outbound_n": outbound_n, "session_id": session_id, "user_id": "default",
        "seq": _seq_of(i, crowd), "address": "webhook:wh_crowd", "state": "dead" if dead else "sent",
        "attempts": 5 if dead else 1, "sent_at": None if dead else crowd.now,
        "error": "The receiver answered 410." if dead else None, "rev": 1, "created_at": _said_at(i, crowd),
    }  # fmt: skip
