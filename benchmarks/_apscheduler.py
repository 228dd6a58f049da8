"""APScheduler 3.11 as it comes: background scheduler, ten threads, SQLAlchemy job store; a no-op job of every day.

Its jobs are written in bulk, for adding them one by one is not what is measured, and never count as missed. Like ours
they recur: each firing writes the next instant back. On SQLite it has the driver's defaults (a rollback journal), or
WAL with synchronous=FULL, which is what Homing has.
"""

import pickle
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from apscheduler.events import EVENT_JOB_EXECUTED
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.interval import IntervalTrigger
from sqlalchemy import event

_BATCH = 5000


def no_op() -> None:
    """Be a job."""


def measure(url: str, due: int, stored: int, *, wal: bool) -> float:
    """Let jobs come due at once; return the seconds until every one has been executed and written back."""
    engine = _engine(url, wal=wal)
    jobs = SQLAlchemyJobStore(engine=engine)
    scheduler = BackgroundScheduler(jobstores={"default": jobs}, timezone=UTC)
    scheduler.start(paused=True)
    now = datetime.now(UTC)
    _fill(scheduler, jobs, due, stored, now)
    left, done = [due], threading.Event()

    def count(_event: object) -> None:
        # Listeners are called by ten threads.
        with lock:
            left[0] -= 1
            if not left[0]:
                done.set()

    lock = threading.Lock()
    scheduler.add_listener(count, EVENT_JOB_EXECUTED)
    begun = time.perf_counter()
    scheduler.resume()
    done.wait(600)
    # A job is executed before its next instant is written: the last one's is on its way.
    while _still_due(engine, jobs, now):
        time.sleep(0.005)
    seconds = time.perf_counter() - begun
    scheduler.shutdown()
    engine.dispose()
    return seconds


def _engine(url: str, *, wal: bool) -> sa.Engine:
    engine = sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    if wal:

        @event.listens_for(engine, "connect")
        def on_connect(connection: Any, _record: object) -> None:
            connection.execute("pragma journal_mode=wal")
            connection.execute("pragma synchronous=full")

    return engine


def _fill(scheduler: Any, jobs: SQLAlchemyJobStore, due: int, stored: int, now: datetime) -> None:
    """Write rows as the store itself writes them; one real job is the pattern for all."""
    job = scheduler.add_job(
        no_op, IntervalTrigger(days=1, timezone=UTC), misfire_grace_time=None, next_run_time=now, id="pattern"
    )
    job.remove()
    rows: list[dict[str, Any]] = []
    for i in range(stored):
        at = now if i < due else now + timedelta(days=30, seconds=i % 86400)
        state = {**job.__getstate__(), "id": f"job{i:07d}", "next_run_time": at}
        state["trigger"] = IntervalTrigger(days=1, start_date=at, timezone=UTC)
        rows.append({"id": state["id"], "next_run_time": at.timestamp(), "job_state": pickle.dumps(state, -1)})
    with jobs.engine.begin() as connection:
        for start in range(0, stored, _BATCH):
            connection.execute(jobs.jobs_t.insert(), rows[start : start + _BATCH])


def _still_due(engine: sa.Engine, jobs: SQLAlchemyJobStore, now: datetime) -> bool:
    due = sa.select(jobs.jobs_t.c.id).where(jobs.jobs_t.c.next_run_time <= now.timestamp()).limit(1)
    with engine.connect() as connection:
        return connection.execute(due).first() is not None
