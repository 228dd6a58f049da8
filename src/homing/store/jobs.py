"""Jobs. People write the definition and bump `revision`; the engine writes its own columns, relatively."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import sqlalchemy as sa

from homing.model.heartbeats import CHECKLIST, EVENTS
from homing.model.jobs import DueJob, Job, Verdict
from homing.store import rows as r
from homing.store import tables as t
from homing.store.base import Tx, insert_new
from homing.store.bulk import Bulk
from homing.store.fetch import Fetch

_LOCK = Fetch(
    lambda spelling: (
        sa.select(t.job.c.n).where(spelling.among(t.job.c.id)).order_by(t.job.c.n).with_for_update(key_share=True)
    )
)


def lock(tx: Tx, job_ids: Collection[str]) -> None:
    """Lock jobs, the first kind in the order of locks."""
    if tx.postgres:
        _LOCK.rows(tx, job_ids)


def take_due(tx: Tx, now: datetime, limit: int, *, after: datetime | None = None) -> list[DueJob]:
    """Lock and read jobs that are due (those after an instant), longest due first.

    What another scheduler holds is left to it.
    """
    statement = sa.select(*r.due_columns).where(t.job.c.next_run_at <= now).order_by(t.job.c.next_run_at).limit(limit)
    if after is not None:
        statement = statement.where(t.job.c.next_run_at > after)
    if tx.postgres:
        statement = statement.with_for_update(skip_locked=True, key_share=True)
    return [r.due_job_of(row) for row in tx.rows(statement)]


_ADVANCE = Bulk(
    sa.update(t.job)
    .where(t.job.c.id == sa.bindparam("b_job_id"))
    .values(
        # A job that this very firing set to rest, or that was to go after its run, has no next instant.
        next_run_at=sa.case(
            (sa.and_(t.job.c.enabled, t.job.c.removed_at.is_(None)), sa.bindparam("b_next_run_at", type_=t.Instant)),
            else_=sa.null(),
        ),
        runs_queued=t.job.c.runs_queued + sa.bindparam("b_queued", type_=sa.BigInteger),
        retry=sa.bindparam("b_retry"),
        retry_of=sa.bindparam("b_retry_of"),
        rev=sa.bindparam("b_rev"),
        schedule_errors=0,
    )
)


def advance(tx: Tx, moved: Sequence[tuple[Verdict, int]], revs: Mapping[int, int]) -> None:
    """Write the next due instant of jobs just taken, and how many runs of each are added to those counted."""
    rows = [
        {
            "job_id": verdict.job.id,
            "next_run_at": verdict.next_run_at,
            "queued": queued,
            "retry": verdict.job.timing.retry,
            "retry_of": verdict.job.timing.retry_of,
            "rev": revs[verdict.job.session_id],
        }
        for verdict, queued in moved
    ]
    _ADVANCE.run(tx, rows)


def uncount_runs(tx: Tx, job_ids: Collection[str]) -> None:
    """Take back the count of one run of each job: it never opened."""
    if job_ids:
        tx.run(
            sa.update(t.job)
            .where(t.job.c.id.in_(list(job_ids)), t.job.c.runs_queued > 0)
            .values(runs_queued=t.job.c.runs_queued - 1)
        )


def next_wake(tx: Tx, *, after: datetime | None = None) -> datetime | None:
    """Tell the next instant (after another) at which a scheduler has something to do."""
    c = t.job.c
    firsts = [
        tx.rows(sa.select(sa.func.min(at)).where(at.is_not(None) if after is None else at > after))[0][0]
        for at in (c.next_run_at, c.disabled_until)
    ]
    return min((instant for instant in firsts if instant is not None), default=None)


def take_waking(tx: Tx, now: datetime, limit: int, *, after: datetime | None = None) -> list[Job]:
    """Lock and read jobs whose pause ends now (and after an instant)."""
    statement = r.jobs.where(t.job.c.disabled_until <= now, t.job.c.removed_at.is_(None)).limit(limit)
    if after is not None:
        statement = statement.where(t.job.c.disabled_until > after)
    if tx.postgres:
        statement = statement.with_for_update(of=t.job, skip_locked=True, key_share=True)
    return [r.job_of(row) for row in tx.rows(statement)]


def take_recurring(tx: Tx, now: datetime, limit: int, *, after: int = 0) -> list[Job]:
    """Lock and read recurring jobs that wait for a later instant, in the order of their numbers."""
    waits = (t.job.c.next_run_at > now, t.job.c.schedule_kind != "at", t.job.c.n > after)
    statement = r.jobs.where(*waits).order_by(t.job.c.n).limit(limit)
    if tx.postgres:
        statement = statement.with_for_update(of=t.job, key_share=True)
    return [r.job_of(row) for row in tx.rows(statement)]


def insert(tx: Tx, values: Mapping[str, Any]) -> Job:
    """Write a new job."""
    now = tx.now()
    tx.run(sa.insert(t.job).values({**values, "created_at": now, "updated_at": now}))
    tx.ring("jobs", f"user:{values['user_id']}")
    job = get(tx, str(values["id"]))
    assert job is not None
    return job


def revive_or_insert(tx: Tx, values: Mapping[str, Any]) -> None:
    """Write a system job, or wake the one of its key that sleeps in that session."""
    revived = tx.run(
        sa.update(t.job)
        .where(
            t.job.c.session_id == values["session_id"],
            t.job.c.kind == "system",
            t.job.c.dedupe_key == values["dedupe_key"],
            t.job.c.removed_at.is_(None),
        )
        .values(
            enabled=True,
            disabled_by=None,
            disabled_reason=None,
            next_run_at=values["next_run_at"],
            every_ms=values["every_ms"],
        )
    )
    if not revived:
        insert_system(tx, values)


def insert_system(tx: Tx, values: Mapping[str, Any]) -> None:
    """Write a system job. Another worker may just be giving the same session its own: then that one is it."""
    now = tx.now()
    tx.run(insert_new(tx, t.job).values({**values, "created_at": now, "updated_at": now}))
    tx.ring("jobs")


def change(tx: Tx, job: Job, values: Mapping[str, Any]) -> Job | None:
    """Write a person's change under the revision it was made for; None when somebody was faster."""
    changed = tx.run(
        sa.update(t.job)
        .where(t.job.c.id == job.id, t.job.c.revision == job.revision)
        .values({**values, "revision": job.revision + 1, "updated_at": tx.now()})
    )
    tx.ring("jobs", f"user:{job.user_id}")
    return get(tx, job.id) if changed else None


def _write(tx: Tx, job_id: str, **values: object) -> None:
    """Write the engine's own columns."""
    tx.ring("jobs")
    tx.run(sa.update(t.job).where(t.job.c.id == job_id).values(values))


def plan(
    tx: Tx, job_id: str, at: datetime | None, *, rev: int, retry: int = 0, retry_of: datetime | None = None
) -> None:
    """Let a job run next at an instant; with `retry`, as a further try at an earlier one."""
    _write(tx, job_id, next_run_at=at, retry=retry, retry_of=retry_of, rev=rev)


def disable(tx: Tx, job_id: str, *, by: Literal["engine", "done"], reason: str, rev: int) -> None:
    """Disable a job ourselves: it has no time left (`done`), or something is wrong with it."""
    off: dict[str, object] = {"enabled": False, "disabled_until": None, "next_run_at": None, "retry": 0}
    _write(tx, job_id, **off, retry_of=None, disabled_by=by, disabled_reason=reason, rev=rev)


def wake(tx: Tx, job_id: str, at: datetime, *, rev: int) -> None:
    """Enable a job whose pause is over."""
    on = dict.fromkeys(("disabled_by", "disabled_reason", "disabled_until"))
    _write(tx, job_id, **on, enabled=True, next_run_at=at, rev=rev)


def touch(tx: Tx, job_id: str, rev: int) -> None:
    """Let a job change visibly with its runs."""
    _write(tx, job_id, rev=rev)


def note_run(tx: Tx, job_id: str, *, run_id: str | None, at: datetime, rev: int) -> None:
    """Name a job's last run; how the one before ended still counts."""
    _write(tx, job_id, last_run_id=run_id, last_run_at=at, rev=rev)


def note_failure(
    tx: Tx, job_id: str, *, run_id: str | None, at: datetime, ms: int, error: str, failures: int, rev: int
) -> None:
    """Note that a job's run failed, as the last of so many in a row."""
    ended = {"last_run_id": run_id, "last_run_at": at, "last_duration_ms": ms}
    _write(tx, job_id, **ended, last_status="error", last_error=error, consecutive_failures=failures, rev=rev)


def note_schedule_error(
    tx: Tx, job_id: str, *, run_id: str, error: str, errors: int, again_at: datetime, rev: int
) -> None:
    """Note that a job's next instant could not be computed, so many times by now; it is looked at again later."""
    ended = {"last_run_id": run_id, "last_run_at": tx.now(), "last_status": "error", "last_error": error}
    _write(tx, job_id, **ended, schedule_errors=errors, next_run_at=again_at, rev=rev)


def keep_note(tx: Tx, job_id: str, note: str) -> None:
    """Keep what a quiet job found, for its next run."""
    _write(tx, job_id, last_note=note, last_note_at=tx.now())


def note_no(tx: Tx, job_id: str, *, revision: int, rev: int) -> None:
    """Note that a job's script found nothing to do: it works. How the last turn ended still counts."""
    same = t.job.c.revision == revision
    failed = sa.and_(same, t.job.c.last_status == "error")
    _write(
        tx,
        job_id,
        consecutive_failures=sa.case((same, 0), else_=t.job.c.consecutive_failures),
        last_status=sa.case((failed, "skipped"), else_=t.job.c.last_status),
        last_error=sa.case((failed, sa.null()), else_=t.job.c.last_error),
        rev=rev,
    )


def keep_script_state(tx: Tx, job_id: str, state: Any, *, revision: int) -> None:
    """Keep what a script asked to remember, unless the job was edited since its run was queued."""
    tx.run(sa.update(t.job).where(t.job.c.id == job_id, t.job.c.revision == revision).values(script_state=state))


@dataclass(frozen=True, kw_only=True)
class GoodEnd:
    """A run of a job that ended well."""

    job_id: str
    run_id: str | None
    at: datetime
    ms: int
    rev: int
    revision: int | None
    """Of the definition that ran."""


_FINISH_OK = Bulk(
    sa.update(t.job)
    .where(t.job.c.id == sa.bindparam("b_job_id"))
    .values(
        last_run_id=sa.bindparam("b_run_id"),
        last_run_at=sa.bindparam("b_at", type_=t.Instant),
        last_status="ok",
        last_error=sa.null(),
        last_duration_ms=sa.bindparam("b_ms"),
        rev=sa.bindparam("b_rev"),
        consecutive_failures=sa.case(
            (t.job.c.revision == sa.bindparam("b_revision"), 0), else_=t.job.c.consecutive_failures
        ),
    )
)


def finish_ok(
    tx: Tx, finished: Sequence[GoodEnd], *, last: Collection[str], done: Collection[str], reason: str
) -> None:
    """Note good ends of runs; of the `last`, remove those that go after a run (rule 18); set the `done` to rest."""
    _FINISH_OK.run(tx, finished)
    gone = set(remove_after_run(tx, last))
    retire(tx, [job_id for job_id in done if job_id not in gone], reason=reason)


def remove(tx: Tx, job: Job, *, rev: int, undo: Mapping[str, object] | None) -> Job:
    """Remove a locked job for a person."""
    gone = dict.fromkeys(("next_run_at", "disabled_until", "retry_of"))
    removed = change(tx, job, {**gone, "removed_at": tx.now(), "retry": 0, "rev": rev, "undo": undo})
    assert removed is not None, "the job is locked"
    return removed


def retire(tx: Tx, job_ids: Collection[str], *, reason: str) -> None:
    """Set jobs to rest that have no instant left, unless they are at rest already."""
    if job_ids:
        tx.ring("jobs")
        tx.run(
            sa.update(t.job)
            .where(t.job.c.id.in_(list(job_ids)), t.job.c.enabled, t.job.c.removed_at.is_(None))
            .values(enabled=False, disabled_by="done", disabled_reason=reason, disabled_until=None, next_run_at=None)
            .values(retry=0, retry_of=None)
        )


def remove_after_run(tx: Tx, job_ids: Collection[str]) -> list[str]:
    """Remove those of the jobs that were to go after a good run; return their ids."""
    if not job_ids:
        return []
    now = tx.now()
    tx.ring("jobs")
    rows = tx.rows(
        sa.update(t.job)
        .where(t.job.c.id.in_(list(job_ids)), t.job.c.delete_after_run, t.job.c.removed_at.is_(None))
        # Behind for search, as a deleted session is.
        .values(removed_at=now, updated_at=now, next_run_at=None, disabled_until=None, searched_revision=-1)
        .returning(t.job.c.id)
    )
    return [job_id for (job_id,) in rows]


def with_heartbeat(tx: Tx, session_ids: Collection[int]) -> set[int]:
    """Name the sessions that have a heartbeat: their system job of that key, enabled."""
    rows = tx.rows(
        sa.select(t.job.c.session_id).where(
            t.job.c.session_id.in_(list(session_ids)),
            t.job.c.kind == "system",
            t.job.c.dedupe_key == EVENTS,
            t.job.c.enabled,
            t.job.c.removed_at.is_(None),
        )
    )
    return {session_id for (session_id,) in rows}


def get(tx: Tx, job_id: str) -> Job | None:
    rows = tx.rows(r.jobs.where(t.job.c.id == job_id))
    return r.job_of(rows[0]) if rows else None


def names(tx: Tx, job_ids: Collection[str]) -> dict[str, str]:
    if not job_ids:
        return {}
    return dict(tx.rows(sa.select(t.job.c.id, t.job.c.name).where(t.job.c.id.in_(job_ids))))


_LAST = Fetch(
    lambda spelling: sa.select(t.job.c.id).where(
        spelling.among(t.job.c.id), sa.or_(t.job.c.next_run_at.is_(None), t.job.c.delete_after_run)
    )
)


def last_runs(tx: Tx, job_ids: Collection[str]) -> set[str]:
    """Name those of some jobs for which a run that ends now may be the last."""
    return {job_id for (job_id,) in _LAST.rows(tx, job_ids)}


def get_many(tx: Tx, job_ids: Collection[str]) -> dict[str, Job]:
    rows = tx.rows(r.jobs.where(t.job.c.id.in_(list(job_ids))))
    return {job.id: job for job in map(r.job_of, rows)}


def by_dedupe_key(tx: Tx, session_id: int, dedupe_key: str) -> Job | None:
    rows = tx.rows(
        r.jobs.where(t.job.c.session_id == session_id, t.job.c.dedupe_key == dedupe_key, t.job.c.removed_at.is_(None))
    )
    return r.job_of(rows[0]) if rows else None


def with_dedupe_keys(tx: Tx, session_id: int, keys: Collection[str]) -> dict[str, str]:
    """Name the living jobs of a session that have one of these keys."""
    c = t.job.c
    rows = tx.rows(
        sa.select(c.dedupe_key, c.id).where(
            c.session_id == session_id, c.dedupe_key.in_(list(keys)), c.removed_at.is_(None)
        )
    )
    return {str(key): str(job_id) for key, job_id in rows}


def bound_to(tx: Tx, session_id: int) -> list[Job]:
    """List the living jobs bound to a session."""
    rows = tx.rows(r.jobs.where(t.job.c.session_id == session_id, t.job.c.removed_at.is_(None)).order_by(t.job.c.n))
    return [r.job_of(row) for row in rows]


def ids_of_session(tx: Tx, session_id: int) -> list[str]:
    """Name all jobs of a session, also removed ones, which an undo may bring back."""
    return [job_id for (job_id,) in tx.rows(sa.select(t.job.c.id).where(t.job.c.session_id == session_id))]


def give_agent(tx: Tx, session_id: int, agent_id: str, *, rev: int) -> None:
    """Give the locked jobs of a session its new agent; people's revisions are not touched by it.

    What an agent does for itself stays its own (its checklist's job).
    """
    follows = sa.or_(t.job.c.kind != "system", ~t.job.c.dedupe_key.startswith(CHECKLIST, autoescape=True))
    tx.run(sa.update(t.job).where(t.job.c.session_id == session_id, follows).values(agent_id=agent_id, rev=rev))
    tx.ring("jobs")


def count_living(tx: Tx, user_id: str) -> int:
    return tx.rows(
        sa.select(sa.func.count()).where(
            t.job.c.user_id == user_id, t.job.c.removed_at.is_(None), t.job.c.kind != "system"
        )
    )[0][0]


def has_room(tx: Tx, user_id: str, most: int) -> bool:
    """Say whether a user may have one more job. The rough count by index alone is nearly always enough."""
    rows = sa.select(t.job.c.n).where(t.job.c.user_id == user_id).limit(most).subquery()
    rough = tx.rows(sa.select(sa.func.count()).select_from(rows))[0][0]
    return rough < most or count_living(tx, user_id) < most


def remove_bound(tx: Tx, session_id: int, *, rev: int) -> None:
    """Remove every job of a session that is being deleted; there is no way back."""
    now = tx.now()
    tx.run(
        sa.update(t.job)
        .where(t.job.c.session_id == session_id, t.job.c.removed_at.is_(None))
        .values(
            removed_at=now,
            updated_at=now,
            next_run_at=None,
            disabled_until=None,
            undo=None,
            retry=0,
            retry_of=None,
            rev=rev,
            revision=t.job.c.revision + 1,
        )
    )
    tx.ring("jobs")
