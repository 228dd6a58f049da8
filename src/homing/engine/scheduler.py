"""Tick: due jobs become queued runs, in batches, one transaction each. Any number of schedulers may do so at once.

One armed timer: it wakes at the next due instant, at least every 60 s, and at once when jobs change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

import structlog

from homing.engine.clock_leaps import plan_again
from homing.engine.heartbeat import hold_heartbeats
from homing.engine.job_outcomes import note_failing
from homing.model.alerts import AWAY_AFTER, LEFT_OUT_FOR
from homing.model.clock import BACK, LEAP, Clock, ClockWatch
from homing.model.errors import NotReady
from homing.model.jobs import MAX_SCHEDULE_ERRORS, DueJob, Stretch, Verdict, decide
from homing.model.runs import COUNTED, Run, run_id
from homing.model.schedules import At
from homing.model.schedules.zones import zone
from homing.model.scripts import DueMeanwhile
from homing.operations.budgets import Beyond, after_skip, hold_back
from homing.operations.context import Instance
from homing.operations.firing import Fired, Firing, fire
from homing.operations.heartbeats import give_heartbeats
from homing.operations.homes import note_places
from homing.operations.notes import give_note
from homing.store import Store, Tx, alerts, gates, jobs, maintenance, runs, sessions
from homing.store.alerts import Trouble
from homing.store.lanes import lane_of, unified_lanes
from homing.store.runs import NewRun

log = structlog.get_logger(__name__)

BATCH = 500
# The first batch of many is small, so that its runs begin while the rest are still being written.
FIRST_BATCH = 50
SHORTEST_SLEEP = 0.001
OTHERS_SLEEP = 0.05
PAUSE_SECONDS = 1.0
# How long a clock that leapt ahead has to prove right.
HOLD_SECONDS = 300.0
_LOOK_AGAIN = timedelta(minutes=1)


def tick(tx: Tx, instance: Instance, *, limit: int = BATCH, after: datetime | None = None) -> int:
    """Turn due jobs (those due after an instant) into queued runs; say how many jobs were due."""
    due = jobs.take_due(tx, tx.now(), limit, after=after)
    if due:
        _fire_due(tx, due, instance)
    return len(due)


def _fire_due(tx: Tx, due: Sequence[DueJob], instance: Instance) -> None:
    now = tx.now()
    active = runs.active_jobs(tx, [job.id for job in due])
    decided: list[Verdict] = []
    bad: list[tuple[DueJob, Exception]] = []
    for job in due:
        try:
            # Whatever its kind, a run is told on the clock of its zone.
            zone(job.timing.schedule.tz)
            decided.append(decide(job, now, active=job.id in active))
        except Exception as error:  # noqa: BLE001 - one bad job never stops a batch: it alone gets the error
            bad.append((job, error))
    decided = hold_heartbeats(tx, decided, instance)
    decided, stopped, bad_too = hold_back(tx, decided, instance)
    unified = instance.settings.unified_session
    places = note_places(tx, {one.job.user_id for one in decided if one.job.id in stopped}, unified=unified)
    beating = give_heartbeats(tx, [one.job for one in decided], instance.settings)
    firings = [_firing(one, now) for one in decided if one.scheduled_for is not None]
    skipping = [one for one in decided if one.skips]
    if instance.settings.unified_session:
        # Also for notes about jobs that do not fire: a shared lane is made before any session is locked.
        unified_lanes(tx, ((job.user_id, job.agent_id) for job in due))
    fired = fire(
        tx,
        firings,
        unified=instance.settings.unified_session,
        beating=beating,
        also={job.session_id for job in due} | {i for at in places.values() for i in (at.home.id, at.lane_id)},
    )
    _skip(tx, [one for one in skipping if not _counted_at_gate(tx, one, active)], fired, active)
    counted = [(one, int(_ran(one, fired) and one.trigger in COUNTED)) for one in decided]
    jobs.advance(tx, counted, fired.revs)
    # What is announced is locked by user, in one order for everybody.
    for one in sorted((one for one in decided if one.job.id in stopped), key=lambda one: one.job.user_id):
        after_skip(tx, one.job, stopped[one.job.id], places[one.job.user_id])
    _note_away(tx, due)
    for one in decided:
        if one.next_run_at is None and not _ran(one, fired) and not _is_kept(one, stopped):
            _run_out(tx, one, instance, fired.revs[one.job.session_id])
    for job, error in [*bad, *bad_too]:
        _schedule_error(tx, job, error, instance)
    tx.ring("jobs")


def _firing(one: Verdict, now: datetime) -> Firing:
    assert one.scheduled_for is not None
    return Firing(
        job=one.job,
        trigger=one.trigger,
        scheduled_for=one.scheduled_for,
        retry=one.retry,
        lateness_ms=max(0, (now - one.scheduled_for) // timedelta(milliseconds=1)),
        missed_count=one.missed or None,
        next_run_at=one.next_run_at,
    )


def _is_kept(one: Verdict, stopped: Mapping[str, Beyond]) -> bool:
    """Say whether it is a one-shot that a budget stopped: it is disabled with that reason, and not done."""
    return one.job.id in stopped and isinstance(one.job.timing.schedule, At)


def _ran(one: Verdict, fired: Fired) -> bool:
    """Say whether a run was written: an instant that has its row already is not run again."""
    if one.scheduled_for is None:
        return False
    return run_id(one.job.id, one.scheduled_for, one.trigger, one.retry) in fired.run_ids


def _counted_at_gate(tx: Tx, one: Verdict, active: Mapping[str, str]) -> bool:
    """Rule 14: what comes due while a gate decides is counted there, since it may be counted in the gate's row."""
    if one.job.gate is None or one.scheduled_for is not None or one.job.id not in active:
        return False
    count = sum(stretch.count for stretch in one.skips)
    due = DueMeanwhile(first=one.skips[0].first, until=one.skips[-1].until, count=count)
    return gates.count_due(tx, active[one.job.id], due)


def _note_away(tx: Tx, due: Sequence[DueJob]) -> None:
    """Rule 38: what came due long ago was not looked at by anybody; its users are told in one message each."""
    since = tx.now() - AWAY_AFTER
    late = [job for job in due if job.next_run_at < since and job.kind != "system" and job.alert_after]
    for user_id in sorted({job.user_id for job in late}):
        of_user = [job for job in late if job.user_id == user_id]
        alerts.note_away(tx, user_id, [job.name for job in of_user], min(job.next_run_at for job in of_user))


def _skip(tx: Tx, skipping: Sequence[Verdict], fired: Fired, active: Mapping[str, str]) -> None:
    """Count what does not run: consecutive skips of a job for one reason are one row."""
    fresh: list[NewRun] = []
    for one in skipping:
        rev = fired.revs[one.job.session_id]
        last = runs.last_skip(tx, one.job.id)
        for stretch in one.skips:
            if last is not None and last.reason == stretch.reason:
                runs.prolong_skip(tx, last.id, until=stretch.until, more=stretch.count, rev=rev)
                _note_left_out(tx, one.job, last, stretch, active.get(one.job.id))
            else:
                fresh.append(_skipped_run(one, stretch, rev))
            last = None
    runs.add_runs(tx, fresh)


def _note_left_out(tx: Tx, job: DueJob, last: Run, stretch: Stretch, active: str | None) -> None:
    """Rule 38: a job whose run does not end is left out again and again; that has a count of its own."""
    count = (last.missed_count or 1) + stretch.count
    for_long = tx.now() - last.scheduled_for >= LEFT_OUT_FOR
    if stretch.reason != "overlap" or active is None or not for_long or not 0 < job.alert_after <= count:
        return
    if job.kind != "system":
        left_out = Trouble(job_id=job.id, user_id=job.user_id, kind="left_out", count=count, run_id=active)
        alerts.note_trouble(tx, left_out)


def _skipped_run(one: Verdict, stretch: Stretch, rev: int) -> NewRun:
    return NewRun(
        id=run_id(one.job.id, stretch.first, "timer"),
        job_id=one.job.id,
        session_id=one.job.session_id,
        lane_id=one.job.session_id,
        user_id=one.job.user_id,
        trigger="timer",
        scheduled_for=stretch.first,
        state="skipped",
        reason=stretch.reason,
        revision=one.job.revision,
        rev=rev,
        missed_count=stretch.count,
        missed_until=stretch.until,
        next_run_at=one.next_run_at,
    )


def _run_out(tx: Tx, one: Verdict, instance: Instance, rev: int) -> None:
    """Nothing runs and nothing follows: the job is done, and a one-shot that nobody saw fire says so."""
    missed = isinstance(one.job.timing.schedule, At) and any(s.reason == "missed" for s in one.skips)
    if missed:
        jobs.disable(tx, one.job.id, by="engine", reason="It was missed.", rev=rev)
        job = jobs.get(tx, one.job.id)
        home = sessions.get(tx, one.job.session_id)
        assert job is not None
        give_note(
            tx,
            home=home,
            lane_id=lane_of(tx, home, unified=instance.settings.unified_session),
            job=job,
            run_id=None,
            text=f'The automation "{job.name}" was missed: it was due while Homing was not running.',
        )
        return
    jobs.retire(tx, [one.job.id], reason="It has no further time to run.")


def _schedule_error(tx: Tx, job: DueJob, error: Exception, instance: Instance) -> None:
    """Rule 20: record it on this job alone; after three in a row it is paused with a reason and a note."""
    sessions.lock(tx, [job.session_id])
    home = sessions.get(tx, job.session_id)
    rev = sessions.touch(tx, home.id)
    line = _cannot_compute(error)
    run = NewRun(
        id=run_id(job.id, job.next_run_at, "timer"),
        job_id=job.id,
        session_id=home.id,
        lane_id=home.id,
        user_id=job.user_id,
        trigger="timer",
        scheduled_for=job.next_run_at,
        state="error",
        reason="schedule",
        revision=job.revision,
        rev=rev,
        error=repr(error),
    )
    runs.add_runs(tx, [run])
    errors = job.schedule_errors + 1
    again_at = tx.now() + _LOOK_AGAIN
    jobs.note_schedule_error(tx, job.id, run_id=run.id, error=line, errors=errors, again_at=again_at, rev=rev)
    if errors >= MAX_SCHEDULE_ERRORS:
        jobs.disable(tx, job.id, by="engine", reason=line, rev=rev)
        note_failing(tx, job, run_id=run.id, line=line, count=errors, begins=True)
        bad = jobs.get(tx, job.id)
        assert bad is not None
        give_note(
            tx,
            home=home,
            lane_id=lane_of(tx, home, unified=instance.settings.unified_session),
            job=bad,
            run_id=run.id,
            text=f'I paused the automation "{bad.name}". {line}',
        )


def _cannot_compute(error: Exception) -> str:
    return f"Its schedule cannot be computed: {error}"[:200]


def wake_paused(tx: Tx, *, limit: int = BATCH, after: datetime | None = None) -> int:
    """Enable jobs whose pause ends now (and after an instant): an overdue one goes on at its next instant."""
    now = tx.now()
    waking = jobs.take_waking(tx, now, limit, after=after)
    sessions.lock(tx, {job.session_id for job in waking})
    for job in waking:
        rev = sessions.touch(tx, job.session_id)
        try:
            upcoming = job.timing.next_due(max(now, runs.left_out_until(tx, job.id) or now))
        except Exception as error:  # noqa: BLE001 - one bad job keeps nobody else asleep
            jobs.disable(tx, job.id, by="engine", reason=_cannot_compute(error), rev=rev)
            continue
        if upcoming is None:
            jobs.disable(tx, job.id, by="done", reason="Its time passed while it was paused.", rev=rev)
        else:
            jobs.wake(tx, job.id, upcoming, rev=rev)
    return len(waking)


def _is_leap(by: timedelta) -> bool:
    return by > LEAP or by < -BACK


@dataclass(frozen=True, kw_only=True)
class _Held:
    """What came due in a leap of the clock, held until it has proved right for a while."""

    instant: datetime
    until: float
    by: timedelta

    @property
    def note(self) -> str:
        return (
            f"the clock leapt {round(self.by.total_seconds() / 3600)} h ahead; what came due in between waits"
            f" {HOLD_SECONDS / 60:.0f} minutes, in case it is set back"
        )


class Scheduler:
    """Ticks when something is due."""

    def __init__(self, store: Store, instance: Instance, clock: Clock) -> None:
        self.next_wake_at: datetime | None = None
        self._store = store
        self._instance = instance
        self._clock = clock
        self._limit = FIRST_BATCH
        self._moved = 0
        self._passed_by: datetime | None = None
        self._watch = ClockWatch()
        self._leap = timedelta(0)
        """By how much the clock was set, until that is made good: the watch tells it once."""
        self._begun = False
        self._held: _Held | None = None

    @property
    def note(self) -> str | None:
        """What people should know: that the clock leapt, and what waits for that."""
        return self._held.note if self._held is not None and self._clock.monotonic() < self._held.until else None

    async def step(self) -> bool:
        """Move one batch; say whether there may be more."""
        limit = self._limit
        try:
            moved = await self._store.write(lambda tx: self._tick(tx, limit))
            if isinstance(moved, timedelta):
                await self._leapt(moved)
                self._leap = timedelta(0)
                return True
        except NotReady:
            # Nobody's fault, so nobody is looked for.
            raise
        except Exception:  # a batch that fails is halved down to the culprit
            if limit > 1:
                self._limit = limit // 2
                return True
            log.exception("tick_failed")
            # A leap that can never be made good must not keep everything else from firing.
            self._leap = timedelta(0)
            await self._store.write(self._accuse)
            moved = 1
        if moved:
            log.info("tick", due=moved)
        self._moved = moved
        more = moved >= limit
        if not more:
            # After what is due: that is late already, and a pause that ends asks for a later instant.
            await self._store.write(partial(wake_paused, after=self._held_until()))
        self._limit = min(BATCH, limit * 2) if more else FIRST_BATCH
        return more

    def _tick(self, tx: Tx, limit: int) -> int | timedelta:
        """Tick, unless the clock was set: then say by how much."""
        leap = self._watch.leapt(tx.now(), self._clock.monotonic())
        if _is_leap(leap):
            # One that is still owed is added: set back and right again is not a leap.
            self._leap += leap
        if _is_leap(self._leap):
            return self._leap
        self._leap = timedelta(0)
        return tick(tx, self._instance, limit=limit, after=self._held_until())

    def _held_until(self) -> datetime | None:
        """Tell up to which instant what is due waits for the clock to prove right."""
        if self._held is not None and self._clock.monotonic() >= self._held.until:
            self._held = None
        return self._held.instant if self._held is not None else None

    async def _begin(self) -> None:
        """At the start: a clock that is behind what the database knows was set back meanwhile."""
        newest, now = await self._store.read(lambda tx: (maintenance.newest_stamp(tx), tx.now()))
        if newest is not None and newest - now > BACK:
            await self._leapt(now - newest)

    async def _leapt(self, by: timedelta) -> None:
        log.warning("clock_leapt", seconds=round(by.total_seconds()))
        if by > timedelta(0):
            now = await self._store.read(lambda tx: tx.now())
            self._held = _Held(instant=now, until=self._clock.monotonic() + HOLD_SECONDS, by=by)
            return
        self._held = None
        after: int | None = 0
        while after is not None:
            after = await self._store.write(partial(plan_again, after=after))

    def _accuse(self, tx: Tx) -> None:
        """Try the first due job once more, alone. Another scheduler may hold the culprit, and this one be innocent."""
        for job in jobs.take_due(tx, tx.now(), 1, after=self._held_until()):
            try:
                with tx.attempt():
                    _fire_due(tx, [job], self._instance)
            except Exception as error:  # noqa: BLE001 - whatever it was, it is this job's
                _schedule_error(tx, job, error, self._instance)

    async def run(self) -> None:
        """Tick forever: at the next due instant, when jobs change, and at least every minute."""
        ear = self._store.bell.listen("jobs")
        try:
            while True:
                if (seconds := await self._go()) > 0:
                    await ear.wait(seconds)
        finally:
            ear.close()

    async def _go(self) -> float:
        """Move one batch; say how long there is nothing more to do."""
        try:
            if not self._begun:
                await self._begin()
                self._begun = True
            if self._store.outdated is None and await self.step():
                return 0.0
            return await self._sleep_for()
        except NotReady:
            log.warning("scheduler_waits")
            return PAUSE_SECONDS

    async def _sleep_for(self) -> float:
        after = self._held_until()
        self.next_wake_at, now = await self._store.read(lambda tx: (jobs.next_wake(tx, after=after), tx.now()))
        if self._store.outdated:
            return self._store.look_seconds
        if self.next_wake_at is None:
            return self._store.look_seconds
        until = (self.next_wake_at - now).total_seconds()
        if until <= 0 and self._moved == 0:
            # It came due since our look; or, when we looked for it already, another scheduler is at it.
            before, self._passed_by = self._passed_by, self.next_wake_at
            return OTHERS_SLEEP if before == self.next_wake_at else SHORTEST_SLEEP
        return min(self._store.look_seconds, max(until, SHORTEST_SLEEP))
