"""Runs: one row for each due instant, or counted in one."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from homing.model.runs import ACTIVE, Rendered, Run, RunState, Trigger
from homing.model.turns import Turn
from homing.store import rows as r
from homing.store import tables as t
from homing.store.base import Tx, insert_new
from homing.store.bulk import Bulk, names_of
from homing.store.fetch import Fetch


@dataclass(frozen=True, kw_only=True)
class NewRun:
    """A run about to be written: queued, or skipped on the spot."""

    id: str
    job_id: str
    session_id: int
    lane_id: int
    user_id: str
    trigger: Trigger
    scheduled_for: datetime
    state: RunState = "queued"
    reason: str | None = None
    revision: int
    rev: int
    attempt: int = 1
    lateness_ms: int | None = None
    missed_count: int | None = None
    missed_until: datetime | None = None
    next_run_at: datetime | None = None
    error: str | None = None


_ADD = Bulk(
    sqlite.insert(t.run)
    .values({name: sa.bindparam(name) for name in names_of(NewRun, "queued_at", "finished_at")})
    .on_conflict_do_nothing()
)


def add_runs(tx: Tx, runs: Sequence[NewRun]) -> set[str]:
    """Write runs; return the ids that were really new. A refused row never takes its neighbours along."""
    if not runs:
        return set()
    now = tx.now()
    rows = [{**vars(n), "queued_at": now, "finished_at": None if n.state in ACTIVE else now} for n in runs]
    if tx.postgres:
        return {run_id for (run_id,) in tx.rows(insert_new(tx, t.run).returning(t.run.c.id), rows)}
    # SQLite returns nothing from many inserts at once; but it has one writer, so what is new has a number above these.
    before = tx.rows(sa.select(sa.func.coalesce(sa.func.max(t.run.c.n), 0)))[0][0]
    if _ADD.run(tx, rows) == len(rows):
        return {run.id for run in runs}
    known = sa.select(t.run.c.id).where(t.run.c.n > before, t.run.c.id.in_([run.id for run in runs]))
    return {run_id for (run_id,) in tx.rows(known)}


_ACTIVE = Fetch(
    lambda spelling: sa.select(t.run.c.job_id, t.run.c.id).where(
        spelling.among(t.run.c.job_id), sa.or_(t.run.c.state == "queued", t.run.c.state == "running")
    )
)


def active_jobs(tx: Tx, job_ids: Collection[str]) -> dict[str, str]:
    """Read which jobs have a run queued or running: job id to run id."""
    return dict(_ACTIVE.rows(tx, job_ids))


def active_runs(tx: Tx, job_ids: Collection[str]) -> dict[str, Run]:
    """Read the runs of jobs that are queued or running, by job."""
    rows = tx.rows(r.runs.where(t.run.c.job_id.in_(list(job_ids)), t.run.c.state.in_(ACTIVE)))
    return {run.job_id: run for run in map(r.run_of, rows)}


def last_skip(tx: Tx, job_id: str) -> Run | None:
    """Read the newest run of a job's schedule, if it is a skip that may go on."""
    rows = tx.rows(
        r.runs.where(t.run.c.job_id == job_id, t.run.c.trigger.in_(("timer", "catch_up")))
        .order_by(t.run.c.scheduled_for.desc())
        .limit(1)
    )
    run = r.run_of(rows[0]) if rows else None
    return run if run is not None and run.state == "skipped" else None


def skip_before(tx: Tx, job_id: str, instant: datetime, reason: str) -> Run | None:
    """Read the run of a job's schedule that stands right before an instant, if it was skipped for this reason."""
    c = t.run.c
    rows = tx.rows(
        r.runs.where(c.job_id == job_id, c.trigger.in_(("timer", "catch_up")), c.scheduled_for < instant)
        .order_by(c.scheduled_for.desc())
        .limit(1)
    )
    run = r.run_of(rows[0]) if rows else None
    return run if run is not None and (run.state, run.reason) == ("skipped", reason) else None


def counting(tx: Tx, job_id: str, instant: datetime) -> Run | None:
    """Find the skip that counts an instant of a job's schedule."""
    c = t.run.c
    rows = tx.rows(
        r.runs.where(c.job_id == job_id, c.state == "skipped", c.scheduled_for <= instant, c.missed_until >= instant)
        .order_by(c.scheduled_for.desc())
        .limit(1)
    )
    return r.run_of(rows[0]) if rows else None


def pass_gate(tx: Tx, run_id: str, *, lane_id: int, rev: int) -> None:
    """Let a queued run go on into a lane."""
    tx.run(sa.update(t.run).where(t.run.c.id == run_id, t.run.c.state == "queued").values(lane_id=lane_id, rev=rev))


def left_out_until(tx: Tx, job_id: str) -> datetime | None:
    """Say up to which instant somebody asked to leave out a job's times, be it over or still to come."""
    skip = last_skip(tx, job_id)
    return (skip.missed_until or skip.scheduled_for) if skip is not None and skip.reason == "asked" else None


def missed_beyond(tx: Tx, job_id: str, now: datetime) -> list[tuple[str, datetime]]:
    """List stretches of a job that count instants as missed which are still to come: their ids and first instants."""
    c = t.run.c
    counted = sa.func.coalesce(c.missed_until, c.scheduled_for) > now
    return [
        (row.id, row.scheduled_for)
        for row in tx.rows(
            sa.select(c.id, c.scheduled_for).where(
                c.job_id == job_id, c.state == "skipped", c.reason == "missed", counted
            )
        )
    ]


def forget_skip(tx: Tx, run_id: str) -> None:
    """Take back a stretch that was never missed."""
    tx.run(sa.delete(t.run).where(t.run.c.id == run_id, t.run.c.state == "skipped"))


def prolong_skip(tx: Tx, run_id: str, *, until: datetime, more: int, rev: int) -> None:
    """Count further instants in a stretch that was skipped for the same reason."""
    now = tx.now()
    tx.run(
        sa.update(t.run)
        .where(t.run.c.id == run_id, t.run.c.state == "skipped")
        .values(
            missed_until=until, missed_count=sa.func.coalesce(t.run.c.missed_count, 1) + more, rev=rev, finished_at=now
        )
    )


def shorten_skip(tx: Tx, run_id: str, *, until: datetime, count: int, rev: int) -> None:
    """Let a skipped stretch end earlier than was asked."""
    tx.run(
        sa.update(t.run)
        .where(t.run.c.id == run_id, t.run.c.state == "skipped")
        .values(missed_until=until, missed_count=count, rev=rev)
    )


def set_next(tx: Tx, run_id: str, next_run_at: datetime | None) -> None:
    """Note what follows a run."""
    tx.run(sa.update(t.run).where(t.run.c.id == run_id).values(next_run_at=next_run_at))


_OPEN = Bulk(
    sa.update(t.run)
    .where(t.run.c.id == sa.bindparam("b_run_id"), t.run.c.state == "queued")
    .values(
        state="running",
        started_at=sa.bindparam("b_now"),
        turn_id=sa.bindparam("b_turn_id"),
        opening_seq=sa.bindparam("b_opening_seq"),
        rev=sa.bindparam("b_rev"),
        prompt_id=sa.bindparam("b_prompt_id"),
        prompt_version=sa.bindparam("b_prompt_version"),
        prompt_sha256=sa.bindparam("b_prompt_sha256"),
        prompt=sa.bindparam("b_prompt"),
        variables=sa.bindparam("b_variables", type_=t.Json),
    )
)


def open_runs(tx: Tx, opened: Sequence[tuple[Turn, Rendered, int]]) -> None:
    """Mark queued runs as running: with its turn, the prompt as used, and the revision of its session."""
    rows = [
        {
            "run_id": turn.run_id,
            "turn_id": turn.id,
            "opening_seq": turn.opening_seq,
            "rev": rev,
            "prompt_id": rendered.id,
            "prompt_version": rendered.version,
            "prompt_sha256": rendered.sha256,
            "prompt": turn.prompt,
            "variables": dict(rendered.variables),
        }
        for turn, rendered, rev in opened
    ]
    _OPEN.run(tx, rows, now=tx.now())


@dataclass(frozen=True, kw_only=True)
class Finished:
    """How a run ended."""

    run_id: str
    state: RunState
    reason: str | None
    rev: int
    summary: str | None = None
    error: str | None = None
    closing_seq: int | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost_nano_usd: int | None = 0


_FINISH = Bulk(
    sa.update(t.run)
    .where(t.run.c.id == sa.bindparam("b_run_id"), sa.or_(t.run.c.state == "queued", t.run.c.state == "running"))
    .values(
        finished_at=sa.bindparam("b_now"),
        **{name: sa.bindparam(f"b_{name}") for name in names_of(Finished)[1:]},
        # A run says how many were missed before it; withdrawn it stands for itself alone, and those have their own row.
        missed_count=sa.case((sa.literal("skipped") == sa.bindparam("b_state"), sa.null()), else_=t.run.c.missed_count),
    )
)


def finish_runs(tx: Tx, finished: Sequence[Finished]) -> None:
    """Write how active runs ended."""
    _FINISH.run(tx, finished, now=tx.now())


def get(tx: Tx, run_id: str) -> Run | None:
    rows = tx.rows(r.runs.where(t.run.c.id == run_id))
    return r.run_of(rows[0]) if rows else None


def get_many(tx: Tx, run_ids: Collection[str]) -> dict[str, Run]:
    rows = tx.rows(r.runs.where(t.run.c.id.in_(list(run_ids))))
    return {run.id: run for run in map(r.run_of, rows)}


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """A queued run with what its job wants of the turn: read for many at once, so no more than that."""

    run_id: str
    job_id: str
    session_id: int
    trigger: Trigger
    scheduled_for: datetime
    queued_at: datetime
    missed_count: int | None
    revision: int
    tz: str
    job_name: str
    message: str
    context: Literal["session", "since_last", "none"]
    model: str | None
    thinking: str | None
    timeout_seconds: float | None
    quiet: bool
    may_schedule: bool
    max_cost_usd_per_day: float | None
    last_status: str | None
    last_run_at: datetime | None
    last_error: str | None
    last_note: str | None
    last_note_at: datetime | None
    isolated: bool
    system_key: str | None
    """Which of Homing's own jobs it is."""

    @property
    def system(self) -> bool:
        return self.system_key is not None


_OF_RUN = ("job_id", "session_id", "trigger", "scheduled_for", "queued_at", "missed_count", "revision")
_NAMED: Mapping[str, sa.ColumnElement[Any]] = {
    "run_id": t.run.c.id,
    "job_name": t.job.c.name,
    "system_key": sa.case((t.job.c.kind == "system", sa.func.coalesce(t.job.c.dedupe_key, ""))).label("system_key"),
}
_TASKS = Fetch(
    lambda spelling: (
        sa.select(
            *(
                _NAMED[name] if name in _NAMED else (t.run if name in _OF_RUN else t.job).c[name]
                for name in names_of(RunSpec)
            )
        )
        .join(t.job, t.job.c.id == t.run.c.job_id)
        .where(spelling.among(t.run.c.id))
    )
)


def run_specs(tx: Tx, run_ids: Collection[str]) -> dict[str, RunSpec]:
    """Read what runs that are about to open will do."""
    return {task.run_id: task for task in (r.noun_of(RunSpec, row) for row in _TASKS.rows(tx, run_ids))}


def delete_skip(tx: Tx, run_id: str) -> bool:
    """Take back a skip, with its gate and what was withdrawn from the lane for it: the instant may fire after all."""
    skip = sa.select(t.run.c.id).where(t.run.c.id == run_id, t.run.c.state == "skipped")
    tx.run(sa.delete(t.gate).where(t.gate.c.run_id.in_(skip)))
    tx.run(sa.delete(t.inbound).where(t.inbound.c.run_id == run_id, t.inbound.c.state == "withdrawn"))
    return tx.run(sa.delete(t.run).where(t.run.c.id == run_id, t.run.c.state == "skipped")) == 1
