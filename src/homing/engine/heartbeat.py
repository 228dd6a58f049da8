"""The heartbeat: a system job that lets an agent look at what was laid into its session, and asks it nothing otherwise.

Off unless `HOMING_HEARTBEAT_MINUTES` is set. A session gets one with the first event that waits for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from homing.model.ids import new_id
from homing.model.jobs import DEFAULT_TIMEOUT_SECONDS, DEFAULT_WINDOW_SECONDS, DueJob, Stretch, Verdict
from homing.operations.desk import House
from homing.store import Tx, inbounds, jobs, people, sessions

KEY = "heartbeat"
MESSAGE = (
    "Look at what was laid into this conversation since the last turn, and act on it where it needs you."
    " If nothing of it concerns the user now, call nothing_to_report."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Decided:
    """A due job and what its instants become."""

    job: DueJob
    verdict: Verdict


def hold_heartbeats(tx: Tx, decided: Sequence[Decided], house: House) -> list[Decided]:
    """Let a heartbeat run only when something waits for it, inside the active hours."""
    beats = {one.job.session_id for one in decided if one.job.kind == "system"}
    if not beats:
        return list(decided)
    waiting = inbounds.with_notes(tx, beats)
    return [_held(one, tx.now(), house) if _idle(one, waiting, tx.now(), house) else one for one in decided]


def _idle(one: Decided, waiting: set[int], now: datetime, house: House) -> bool:
    if one.job.kind != "system" or one.verdict.scheduled_for is None:
        return False
    settings = house.settings
    awake = _inside(settings.active_hours, now, one.job.timing.schedule.tz)
    return not settings.heartbeat_minutes or not awake or one.job.session_id not in waiting


def _held(one: Decided, now: datetime, house: House) -> Decided:
    instant = one.verdict.scheduled_for or now
    gate = Stretch(reason="gate", first=instant, until=instant, count=1)
    # Switched off, it beats no more: events then wake their sessions by themselves.
    upcoming = one.verdict.next_run_at if house.settings.heartbeat_minutes else None
    verdict = replace(one.verdict, scheduled_for=None, skips=(*one.verdict.skips, gate), next_run_at=upcoming)
    return replace(one, verdict=verdict)


def _inside(hours: tuple[time, time] | None, now: datetime, zone: str) -> bool:
    if hours is None:
        return True
    first, last = hours
    wall = now.astimezone(ZoneInfo(zone)).time()
    return first <= wall < last if first <= last else wall >= first or wall < last


def give_heartbeats(tx: Tx, due: Sequence[DueJob], house: House) -> None:
    """Give a heartbeat to each session into which an event is about to be laid that waits for one."""
    minutes = house.settings.heartbeat_minutes
    wanting = {
        job.session_id: job for job in due if job.payload_kind == "system_event" and job.wake == "next_heartbeat"
    }
    if not minutes or not wanting:
        return
    now = tx.now()
    # In order: two schedulers that wait for each other's new rows must not do so in a ring.
    for session_id in sorted(set(wanting) - jobs.with_heartbeat(tx, list(wanting))):
        session = sessions.get(tx, session_id)
        user = people.get_user(tx, session.user_id)
        zone = session.timezone or (user.timezone if user else None) or house.settings.timezone
        jobs.revive_or_insert(
            tx,
            {
                "id": new_id("job"), "session_id": session_id, "user_id": session.user_id,
                "agent_id": session.agent_id, "kind": "system", "name": KEY, "schedule_kind": "every",
                "every_ms": minutes * 60_000, "anchor": now, "tz": zone, "payload_kind": "agent_turn",
                "message": MESSAGE, "timeout_seconds": DEFAULT_TIMEOUT_SECONDS, "context": "session",
                "write_back": "full", "wake": "now", "catch_up": "skip",
                "catch_up_window_seconds": DEFAULT_WINDOW_SECONDS, "quiet": True, "dedupe_key": KEY,
                "origin_door": "api", "next_run_at": now + timedelta(minutes=minutes),
            },
        )  # fmt: skip
