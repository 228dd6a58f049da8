"""A Homing for measurements: real store, scheduler, lanes and runner; only the thinking is a no-op."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa
import structlog

from homing.engine.opening import Opened
from homing.engine.step_journal import StepJournal
from homing.engine.turn_result import TurnResult
from homing.settings import load
from homing.store import Tx
from homing.store import tables as t
from homing.wiring import Homing, prepare, wire

HISTORY = "[]"


def say(metric: str, value: float, unit: str, **more: object) -> None:
    """Print one result."""
    print(json.dumps({"metric": metric, "value": round(value, 4), "unit": unit, **more}), flush=True)


@contextmanager
def database(kind: str) -> Iterator[str]:
    """Give the URL of a fresh database of a kind, as durable as in production."""
    if kind == "postgresql":
        from homing.testing.postgres import PostgresServer

        # `make bench` starts one server for all who are measured; alone, a measurement starts its own.
        with PostgresServer.shared(fsync=True) as server:
            yield server.fresh()
        return
    with tempfile.TemporaryDirectory(prefix="homing-bench-") as folder:
        yield f"sqlite:///{Path(folder) / 'homing.db'}"


@contextmanager
def instance(url: str, **settings: object) -> Iterator[Homing]:
    """Wire a Homing on a database."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    with tempfile.TemporaryDirectory(prefix="homing-home-") as home:
        env = {"HOMING_HOME": home, "HOMING_DATABASE_URL": url, "HOMING_MODEL": "offline"}
        env |= {f"HOMING_{name.upper()}": str(value) for name, value in settings.items()}
        homing = wire(load(env))
        prepare(homing)
        yield homing


async def no_op(opened: Opened, keeper: StepJournal) -> TurnResult:
    """Answer at once, without a model."""
    return TurnResult(outcome="answered", text="done", history=HISTORY, model="none")


def stock(homing: Homing, *, stored: int, sessions: int) -> None:
    """Store jobs in bulk, all of them due in the far future."""
    now = datetime.now(UTC)

    def fill(tx: Tx) -> None:
        for start in range(0, sessions, 5000):
            tx.run(sa.insert(t.session), [
                {"key": f"web:s{i}", "user_id": "default", "agent_id": "main", "created_at": now, "updated_at": now}
                for i in range(start, min(sessions, start + 5000))
            ])  # fmt: skip
        ids = [row[0] for row in tx.rows(sa.select(t.session.c.id).where(t.session.c.key.startswith("web:s")))]
        for start in range(0, sessions, 5000):
            tx.run(sa.insert(t.address), [
                {"session_id": i, "address": f"web:s{i}"} for i in ids[start : start + 5000]
            ])  # fmt: skip
        for start in range(0, stored, 5000):
            some = range(start, min(stored, start + 5000))
            tx.run(sa.insert(t.job), [_job(i, ids[i % sessions], now) for i in some])

    homing.store.write_now(fill)


def let_be_due(tx: Tx, at: datetime, first: int, count: int) -> None:
    """Let `count` stored jobs, from the `first` on, come due at one instant."""
    chosen = sa.and_(t.job.c.n > first, t.job.c.n <= first + count)
    tx.run(sa.update(t.job).where(chosen).values(next_run_at=at, anchor=at))
    tx.ring("jobs")


def _job(i: int, session_id: int, now: datetime) -> dict[str, Any]:
    at = now + timedelta(days=30, seconds=i % 86400)
    return {
        "id": f"job_bench{i:07d}", "session_id": session_id, "user_id": "default", "agent_id": "main", "kind": "user",
        "name": f"job {i}", "schedule_kind": "every", "every_ms": 86_400_000, "anchor": at, "tz": "UTC",
        "payload_kind": "agent_turn", "message": "look again", "context": "session", "write_back": "full",
        "wake": "now", "catch_up": "latest", "catch_up_window_seconds": 86400, "origin_door": "api",
        "next_run_at": at, "timeout_seconds": 300.0, "created_at": now, "updated_at": now,
    }  # fmt: skip
