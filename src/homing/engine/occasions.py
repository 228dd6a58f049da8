"""What a prompt knows of the occasion on which a turn opens: its job, the instant, how late it is."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from homing.engine.prompts import Rendered, render
from homing.model.jobs import ON_TIME
from homing.model.turns import Inbound
from homing.store.runs import Task


def about_run(task: Task, now: datetime) -> dict[str, object]:
    """What a scheduled prompt knows: job, instant, lateness, missed count, last outcome (rule 24)."""
    zone = ZoneInfo(task.tz)
    late = task.queued_at - task.scheduled_for
    return {
        "job_id": task.job_id,
        "job_name": task.job_name,
        "message": task.message,
        "scheduled_for": _clock(task.scheduled_for, zone),
        "now": _clock(now, zone),
        "trigger": task.trigger,
        "late_words": _span(late) if task.trigger == "catch_up" and late > ON_TIME else None,
        "missed_count": task.missed_count or 0,
        "last_status": task.last_status,
        "last_run_at": _clock(task.last_run_at, zone) if task.last_run_at else None,
        "last_error": task.last_error,
        "quiet": task.quiet,
    }


def about_report(inbound: Inbound, names: Mapping[str, str]) -> dict[str, object]:
    if inbound.job_id is None:
        return {}
    return {
        "job_id": inbound.job_id,
        "job_name": names[inbound.job_id],
        "message": inbound.text,
        "count": inbound.meta.get("count", 1),
    }


@lru_cache(256)
def _clock(instant: datetime, zone: ZoneInfo) -> str:
    return f"{instant.astimezone(zone):%Y-%m-%d %H:%M:%S} {zone.key}"


def _span(late: timedelta) -> str:
    minutes = int(late.total_seconds() // 60)
    for size, word in ((1440, "day"), (60, "hour"), (1, "minute")):
        if minutes >= size:
            count = minutes // size
            return f"{count} {word}{'' if count == 1 else 's'}"
    return "a moment"


def rendered_prompt(inbound: Inbound, variables: Mapping[str, object]) -> Rendered | None:
    match inbound.source:
        case "run":
            return render("cron.agent_turn.reminder", variables)
        case "report" if variables:
            return render("cron.report.continuation", variables)
        case _:
            return None
