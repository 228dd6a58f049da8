"""The same rows, written by hand in batches: what the database itself can do."""

import sqlite3
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from benchmarks._instance import instance, let_be_due, stock
from homing.model.ids import new_id

BATCH = 500
Rows = Sequence[tuple[Any, ...]]


class Connection:
    """One text for both drivers; transactions are ours."""

    def __init__(self, url: str) -> None:
        self._postgres = url.startswith("postgresql")
        if self._postgres:
            import psycopg

            self._raw: Any = psycopg.connect(url, autocommit=True)
            return
        self._raw = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
        for pragma in ("journal_mode=wal", "synchronous=full", "foreign_keys=on", "cache_size=-16384"):
            self._raw.execute(f"pragma {pragma}")

    def execute(self, text: str, values: tuple[Any, ...] = ()) -> Any:
        return self._raw.execute(self._text(text), values)

    def executemany(self, text: str, rows: Rows) -> None:
        cursor = self._raw.cursor()
        if self._postgres and text.startswith("insert"):
            # One statement for all rows; changes go as one pipeline, without waiting for each answer.
            head, values = self._text(text).split(" values ", 1)
            cursor.execute(f"{head} values {', '.join([values] * len(rows))}", [value for row in rows for value in row])
            return
        cursor.executemany(self._text(text), rows)

    def begin(self) -> None:
        self._raw.execute("begin" if self._postgres else "begin immediate")

    def close(self) -> None:
        self._raw.close()

    def _text(self, text: str) -> str:
        return text.replace("?", "%s") if self._postgres else text


def measure(url: str, due: int, stored: int) -> float:
    """Write what a dispatch of `due` jobs writes, in the same order and durability; return the seconds."""
    with instance(url) as homing:
        stock(homing, stored=stored, sessions=due)
        homing.store.write_now(lambda tx: let_be_due(tx, tx.now(), 0, due))
        homing.store.engine.dispose()
    connection = Connection(url)
    begun = time.perf_counter()
    now = int(datetime.now(UTC).timestamp() * 1_000_000)
    jobs = connection.execute(
        "select id, session_id, message, name from job where next_run_at <= ? order by next_run_at limit ?", (now, due)
    ).fetchall()
    for start in range(0, len(jobs), BATCH):
        batch = [(*job, f"{job[0]}:{now // 1000}", new_id("in")) for job in jobs[start : start + BATCH]]
        _tick(connection, batch, now)
    for start in range(0, len(jobs), BATCH):
        batch = [
            (*job, f"{job[0]}:{now // 1000}", new_id("turn"), new_id("dlv")) for job in jobs[start : start + BATCH]
        ]
        _open(connection, batch, now)
        _close(connection, batch, now)
    seconds = time.perf_counter() - begun
    connection.close()
    return seconds


def _tick(connection: Connection, batch: Rows, now: int) -> None:
    connection.begin()
    connection.executemany(
        "insert into run (id, job_id, session_id, lane_id, user_id, trigger, scheduled_for, state, revision, rev,"
        " queued_at, lateness_ms, next_run_at) values (?, ?, ?, ?, 'default', 'timer', ?, 'queued', 1, 1, ?, 0, ?)",
        [(run, job, session, session, now, now, now) for job, session, _, _, run, _ in batch],
    )
    connection.executemany(
        "insert into inbound (id, session_id, lane_id, user_id, source, text, line, mode, state, run_id, job_id,"
        " queued_at) values (?, ?, ?, 'default', 'run', ?, 'machines', 'queue', 'waiting', ?, ?, ?)",
        [(inbound, session, session, text, run, job, now) for job, session, text, _, run, inbound in batch],
    )
    connection.executemany(
        "update job set next_run_at = ?, runs_queued = runs_queued + 1, rev = 1 where id = ?",
        [(now + 86_400_000_000, job) for job, *_ in batch],
    )
    connection.executemany("update session set rev = rev + 1 where id = ?", [(session,) for _, session, *_ in batch])
    connection.execute("commit")


def _open(connection: Connection, batch: Rows, now: int) -> None:
    connection.begin()
    connection.executemany(
        "update session set rev = rev + 1, seq = seq + 1, updated_at = ? where id = ?",
        [(now, session) for _, session, *_ in batch],
    )
    connection.executemany(
        "insert into message (session_id, lane_id, seq, rev, role, kind, text, turn_id, inbound_id, job_id, run_id,"
        " meta, created_at) values (?, ?, 1, 2, 'user', 'scheduled', ?, ?, 'in', ?, ?, '{\"cron_turn\": true}', ?)",
        [
            (session, session, f"Scheduled cron job triggered: {name}\n\n{text}", turn, job, run, now)
            for job, session, text, name, run, turn, _ in batch
        ],
    )
    connection.executemany(
        "insert into turn (id, lane_id, session_id, user_id, agent_id, source, run_id, job_id, state, worker_id,"
        " claimed_until, deadline_at, model, prompt, policy, opening_seq, opened_at)"
        " values (?, ?, ?, 'default', 'main', 'run', ?, ?, 'running', 'w', ?, ?, 'none', ?, '{}', 1, ?)",
        [(turn, session, session, run, job, now, now, text * 20, now) for job, session, text, _, run, turn, _ in batch],
    )
    connection.executemany(
        "update inbound set state = 'taken', turn_id = ? where run_id = ? and state = 'waiting'",
        [(turn, run) for _, _, _, _, run, turn, _ in batch],
    )
    connection.executemany(
        "update run set state = 'running', started_at = ?, turn_id = ?, opening_seq = 1, rev = 2, prompt_id = 'p',"
        " prompt_version = 1, prompt_sha256 = 'x', prompt = ?, variables = '{}' where id = ? and state = 'queued'",
        [(now, turn, text * 20, run) for _, _, text, _, run, turn, _ in batch],
    )
    connection.execute("commit")


def _close(connection: Connection, batch: Rows, now: int) -> None:
    connection.begin()
    connection.executemany(
        "update session set rev = rev + 1, seq = seq + 1, updated_at = ? where id = ?",
        [(now, session) for _, session, *_ in batch],
    )
    connection.executemany(
        "insert into message (session_id, lane_id, seq, rev, role, kind, text, turn_id, job_id, run_id, model,"
        " meta, created_at) values (?, ?, 2, 3, 'assistant', 'scheduled', 'done', ?, ?, ?, 'none',"
        " '{\"cron_turn\": true}', ?)",
        [(session, session, turn, job, run, now) for job, session, _, _, run, turn, _ in batch],
    )
    connection.executemany(
        "update turn set state = 'closed', outcome = 'answered', worker_id = null, claimed_until = null, closed_at = ?,"
        " history = '[]', closing_seq = 2 where id = ? and state = 'running' and fence = 1",
        [(now, turn) for _, _, _, _, _, turn, _ in batch],
    )
    connection.executemany(
        "update run set state = 'ok', finished_at = ?, summary = 'done', closing_seq = 2, rev = 3"
        " where id = ? and state = 'running'",
        [(now, run) for _, _, _, _, run, _, _ in batch],
    )
    first = connection.execute("select coalesce(max(n), 0) from outbound").fetchone()[0]
    connection.executemany(
        "insert into outbound (session_id, seq, cause, turn_id, run_id, created_at) values (?, 2, 'closing', ?, ?, ?)",
        [(session, turn, run, now) for _, session, _, _, run, turn, _ in batch],
    )
    connection.executemany(
        "insert into delivery (id, outbound_n, session_id, user_id, seq, address, state, attempts, sent_at, rev,"
        " created_at) values (?, ?, ?, 'default', 2, 'web:s', 'sent', 1, ?, 3, ?)",
        [(delivery, first + i, session, now, now) for i, (_, session, _, _, _, _, delivery) in enumerate(batch, 1)],
    )
    connection.executemany(
        "update job set last_run_id = ?, last_run_at = ?, last_status = 'ok', last_duration_ms = 1, rev = 3,"
        " consecutive_failures = 0 where id = ?",
        [(run, now, job) for job, _, _, _, run, _, _ in batch],
    )
    connection.execute("commit")
