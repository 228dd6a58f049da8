"""A schedule and a payload, bound to a session; and the pure decision of what a due instant becomes."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, Literal

from homing.model.job_fields import JobFields, Payload, PayloadKind, TimingFields
from homing.model.runs import Trigger
from homing.model.schedules import At, Schedule, count_between, next_after, previous_before
from homing.model.scripts import Language, Script

ON_TIME = timedelta(seconds=60)
RETRY_MINUTES = (1, 5, 15)
MAX_FAILURES = 10
MAX_SCHEDULE_ERRORS = 3
UNDO_FOR = timedelta(days=30)
LISTED_FOR = timedelta(days=7)
"""A one-shot that is done leaves the lists after this."""

JobKind = Literal["user", "system", "legacy"]
Status = Literal["active", "paused", "attention", "done"]

_SOON = timedelta(minutes=1)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, kw_only=True)
class Timing(TimingFields):
    """All that decides when a job is due."""

    schedule: Schedule
    runs_queued: int = 0
    retry: int = 0
    retry_of: datetime | None = None

    @property
    def instants(self) -> tuple[object, ...]:
        """All that decides which instants there are; two that are alike here fire at the same times."""
        return (self.schedule, self.starts_at, self.ends_at, self.max_runs)

    @property
    def runs_left(self) -> int | None:
        """How many more runs may be queued; None is any number."""
        return None if self.max_runs is None else max(0, self.max_runs - self.runs_queued)

    def left_of(self, count: int) -> int:
        """How many of so many instants may still become runs."""
        return count if self.runs_left is None else min(count, self.runs_left)

    def next_due(self, after: datetime) -> datetime | None:
        """Find the next instant inside the job's bounds, strictly after the one given."""
        if self.runs_left == 0:
            return None
        if self.starts_at is not None and after < self.starts_at and not isinstance(self.schedule, At):
            upcoming: datetime | None = self.starts_at
        else:
            upcoming = next_after(self.schedule, after)
        if upcoming is None or (self.ends_at is not None and upcoming > self.ends_at):
            return None
        return upcoming


@dataclass(frozen=True, kw_only=True)
class Job(JobFields):
    """A schedule and a payload, bound to a session."""

    n: int
    id: str
    session_id: int
    session_key: str
    session_title: str | None
    user_id: str
    agent_id: str
    kind: JobKind
    timing: Timing
    payload: Payload
    origin_door: str
    origin_turn_id: str | None
    outside: str | None
    """What from outside, in words, was shown to the agent that wrote its message; null for a person's words."""
    legacy: Mapping[str, object] | None
    revision: int
    undo: Mapping[str, Any] | None
    disabled_by: Literal["person", "engine", "done"] | None
    disabled_reason: str | None
    disabled_until: datetime | None
    next_run_at: datetime | None
    last_run_id: str | None
    last_run_at: datetime | None
    last_status: str | None
    last_error: str | None
    last_duration_ms: int | None
    consecutive_failures: int
    last_note: str | None
    """What a quiet run found last, for the next one."""
    last_note_at: datetime | None
    script_state: Any
    """What its script asked to remember for the next check."""
    rev: int
    created_at: datetime
    updated_at: datetime
    removed_at: datetime | None

    @property
    def gate(self) -> Script | None:
        """The script that looks before each run."""
        if self.script is None:
            return None
        hosts = tuple(self.script_hosts or ())
        return Script(text=self.script, language=self.script_language, hosts=hosts, seconds=self.script_seconds)

    @property
    def status(self) -> Status:
        match self.disabled_by:
            case "person":
                return "paused"
            case "engine":
                return "attention"
            case "done":
                return "done"
            case None:
                return "attention" if self.last_status == "error" else "active"


@dataclass(frozen=True, kw_only=True)
class DueJob:
    """What the tick needs to know of a job that came due."""

    id: str
    name: str
    session_id: int
    user_id: str
    agent_id: str
    sender_id: str | None
    payload_kind: PayloadKind
    message: str
    isolated: bool
    wake: Literal["now", "next_heartbeat"]
    max_cost_usd_per_day: float | None
    alert_after: int
    kind: JobKind
    revision: int
    schedule_errors: int
    next_run_at: datetime
    gate: Language | None = None
    """The language of its script; None where nothing looks before its runs."""
    timing: Timing


_COPIED = {one.name for one in fields(DueJob)} & {one.name for one in fields(Job)}


def due_at(job: Job, instant: datetime) -> DueJob:
    """See a job as the tick would if it were due at an instant."""
    copied: dict[str, Any] = {name: getattr(job, name) for name in _COPIED} | {"next_run_at": instant}
    gate = job.script_language if job.script is not None else None
    return DueJob(**copied, payload_kind=job.payload.kind, message=job.payload.message, schedule_errors=0, gate=gate)


@dataclass(frozen=True, kw_only=True, slots=True)
class Stretch:
    """Consecutive instants that do not run, for one reason."""

    reason: Literal["missed", "overlap", "asked", "gate", "budget"]
    first: datetime
    until: datetime
    count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What a due job's instants become: at most one run, and every other instant counted."""

    job: DueJob
    scheduled_for: datetime | None
    trigger: Trigger = "timer"
    retry: int = 0
    skips: tuple[Stretch, ...] = ()
    next_run_at: datetime | None

    @property
    def missed(self) -> int:
        return sum(stretch.count for stretch in self.skips if stretch.reason == "missed")


def decide(job: DueJob, now: datetime, *, active: bool) -> Verdict:
    """Rules 12–14: of all instants that came due only the newest can run; the others are accounted for."""
    timing = job.timing
    if timing.retry and timing.retry_of:
        if active:
            return Verdict(job=job, scheduled_for=None, next_run_at=now + _SOON)
        return Verdict(job=job, scheduled_for=timing.retry_of, trigger="retry", retry=timing.retry, next_run_at=None)

    first = job.next_run_at
    newest, older = _newest_due(timing, first, now)
    late = now - newest
    if active:
        skips = (*older, Stretch(reason="overlap", first=newest, until=newest, count=1))
        return Verdict(job=job, scheduled_for=None, skips=skips, next_run_at=timing.next_due(now))
    window = timedelta(seconds=timing.catch_up_window_seconds)
    if late <= ON_TIME or (timing.catch_up == "latest" and late <= window):
        return Verdict(
            job=job,
            scheduled_for=newest,
            trigger="timer" if late <= ON_TIME else "catch_up",
            skips=older,
            next_run_at=_after_one_more(timing, now),
        )
    count = 1 + sum(stretch.count for stretch in older)
    return Verdict(
        job=job,
        scheduled_for=None,
        skips=(Stretch(reason="missed", first=first, until=newest, count=count),),
        next_run_at=timing.next_due(now),
    )


def _after_one_more(timing: Timing, now: datetime) -> datetime | None:
    return timing.next_due(now) if timing.left_of(2) > 1 else None


def _newest_due(timing: Timing, first: datetime, now: datetime) -> tuple[datetime, tuple[Stretch, ...]]:
    following = timing.next_due(first)
    if following is None or following > now:
        return first, ()
    until = now if timing.ends_at is None else min(now, timing.ends_at)
    newest = previous_before(timing.schedule, until + _MICROSECOND)
    if newest is None or newest <= first:
        return first, ()
    # `first` is counted by itself: with `starts_at` it need not be on the schedule's own grid.
    between = count_between(timing.schedule, first, newest)
    last_missed = previous_before(timing.schedule, newest)
    until_missed = first if last_missed is None or last_missed < first else last_missed
    return newest, (Stretch(reason="missed", first=first, until=until_missed, count=between),)


def retry_after_failure(retry: int, now: datetime) -> datetime | None:
    """Rule 15: say when a failed one-shot gets its next run, or None when it had its three."""
    return now + timedelta(minutes=RETRY_MINUTES[retry]) if retry < len(RETRY_MINUTES) else None
