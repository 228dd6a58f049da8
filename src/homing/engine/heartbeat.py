"""When a heartbeat beats: only if something waits for it, and inside the active hours."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, time
from zoneinfo import ZoneInfo

from homing.model.jobs import Stretch, Verdict
from homing.operations.context import Instance
from homing.store import Tx, inbounds


def hold_heartbeats(tx: Tx, decided: Sequence[Verdict], instance: Instance) -> list[Verdict]:
    """Let a heartbeat run only when something waits for it, inside the active hours."""
    beats = {one.job.session_id for one in decided if one.job.kind == "system"}
    if not beats:
        return list(decided)
    waiting = inbounds.with_notes(tx, beats)
    return [_held(one, tx.now(), instance) if _idle(one, waiting, tx.now(), instance) else one for one in decided]


def _idle(one: Verdict, waiting: set[int], now: datetime, instance: Instance) -> bool:
    if one.job.kind != "system" or one.scheduled_for is None:
        return False
    settings = instance.settings
    awake = _inside(settings.active_hours, now, one.job.timing.schedule.tz)
    return not settings.heartbeat_minutes or not awake or one.job.session_id not in waiting


def _held(one: Verdict, now: datetime, instance: Instance) -> Verdict:
    instant = one.scheduled_for or now
    gate = Stretch(reason="gate", first=instant, until=instant, count=1)
    # Switched off, it beats no more: events then wake their sessions by themselves.
    upcoming = one.next_run_at if instance.settings.heartbeat_minutes else None
    return replace(one, scheduled_for=None, skips=(*one.skips, gate), next_run_at=upcoming)


def _inside(hours: tuple[time, time] | None, now: datetime, zone: str) -> bool:
    if hours is None:
        return True
    first, last = hours
    wall = now.astimezone(ZoneInfo(zone)).time()
    return first <= wall < last if first <= last else wall >= first or wall < last
