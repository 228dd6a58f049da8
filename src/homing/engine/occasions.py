"""What a prompt knows of the occasion on which a turn opens: its job, the instant, how late it is."""

from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from homing.agent.frames import clean_name, frame, one_line
from homing.agent.sources import hook_name
from homing.engine.prompts import Rendered, render
from homing.engine.speaking import Company, shown
from homing.model.jobs import ON_TIME
from homing.model.messages import NewMessage
from homing.model.turns import Inbound
from homing.store.runs import Task


def about_run(task: Task, now: datetime, sender: str | None) -> dict[str, object]:
    """What a scheduled prompt knows: job, instant, lateness, missed count, last outcome, last note (rules 24, 36)."""
    zone = ZoneInfo(task.tz)
    late = task.queued_at - task.scheduled_for
    return {
        "job_id": task.job_id,
        "job_name": clean_name(task.job_name),
        "sender": sender,
        "message": task.message,
        "scheduled_for": _clock(task.scheduled_for, zone),
        "now": _clock(now, zone),
        "trigger": task.trigger,
        "late_words": _span(late) if task.trigger == "catch_up" and late > ON_TIME else None,
        "missed_count": task.missed_count or 0,
        "last_status": task.last_status,
        "last_run_at": _clock(task.last_run_at, zone) if task.last_run_at else None,
        "last_error": one_line(task.last_error) if task.last_error else None,
        "found": frame("status.line", task.last_note, name=task.job_name) if task.last_note else None,
        "found_at": _clock(task.last_note_at, zone) if task.last_note_at else None,
        "isolated": task.isolated,
        "quiet": task.quiet,
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


def run_prompt(task: Task, variables: dict[str, object]) -> Rendered:
    return render("cron.heartbeat" if task.system else "cron.agent_turn.reminder", variables)


def prompt_text(inbound: Inbound, opening: NewMessage, company: Company) -> str:
    """Write what a turn without a run is about, as its model sees it."""
    _, content = shown(opening, company)
    job = {"job_id": inbound.job_id, "job_name": clean_name(str(opening.meta.get("cron_job_name") or ""))}
    match inbound.source:
        case "report" if inbound.job_id:
            count = inbound.meta.get("count", 1)
            return render("cron.report.continuation", job | {"count": count, "content": content}).text
        case "system" if inbound.job_id:
            return render("cron.event", job | {"content": content}).text
        case "hook":
            return render("hook.call", {"name": hook_name(opening), "content": content}).text
        case _:
            return content
