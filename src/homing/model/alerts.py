"""Alerts: what is told by another route, once, and once more when it is over (rule 38). Pure; no I/O."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from homing.model.jobs import Job
from homing.model.schedules.describe import listed, moment

AlertKind = Literal["failing", "undelivered", "left_out", "away"]
AlertState = Literal["pending", "given", "over"]

APART = timedelta(hours=6)
"""A job gets at most one alert in this time."""
AWAY_AFTER = timedelta(hours=1)
"""What comes due and is not looked at for so long stayed away."""
LEFT_OUT_FOR = timedelta(hours=1)
"""A job whose instants are left out for so long does not only have a slow run."""
NAMED = 5


@dataclass(frozen=True, kw_only=True)
class Alert:
    """Something that does not work, and whether its people know."""

    n: int
    user_id: str
    job_id: str | None
    kind: AlertKind
    state: AlertState
    since_at: datetime
    count: int
    run_id: str | None
    line: str | None
    """What went wrong, in a short line."""
    address: str | None
    names: Sequence[str] | None
    given_at: datetime | None
    given_to: Sequence[str] | None
    session_id: int | None
    seq: int | None
    """Of the message that told it."""


def alert_words(alert: Alert, job: Job) -> str:
    """Say what does not work."""
    called, tz = f'The automation "{job.name}"', job.timing.schedule.tz
    why = f" {_ended(alert.line)}" if alert.line else ""
    match alert.kind:
        case "undelivered":
            what = "The last message" if alert.count == 1 else f"The last {alert.count} messages"
            return f'{what} of the automation "{job.name}" could not be delivered to {alert.address}.{why}'
        case "left_out":
            return f"{called} was left out {_times(alert.count)} in a row: its run before has not ended."
        case _:
            pass
    failed = f"{called} failed{f' {_times(alert.count)} in a row' if alert.count > 1 else ''}.{why}"
    if job.next_run_at is not None:
        return f"{failed} It runs next on {moment(job.next_run_at, tz)}."
    if job.disabled_by == "engine":
        return f"{failed} Homing paused it: enable it to go on."
    return f"{failed} It does not run again by itself."


def over_words(alert: Alert, job: Job) -> str:
    """Say that it works again."""
    match alert.kind:
        case "undelivered":
            return f'Messages of the automation "{job.name}" reach {alert.address} again.'
        case "left_out":
            return f'The automation "{job.name}" is no longer left out.'
        case _:
            return f'The automation "{job.name}" works again.'


def away_words(alert: Alert, tz: str) -> str:
    """Say what came due while Homing was not running."""
    names = [f'"{name}"' for name in alert.names or ()][:NAMED]
    rest = alert.count - len(names)
    what = "An automation was" if alert.count == 1 else f"{alert.count} automations were"
    which = listed([*names, f"{rest} more"] if rest > 0 else names)
    return (
        f"{what} due while Homing was not running, the first on {moment(alert.since_at, tz)}: {which}."
        " Each says what became of it: ask why on the page, or with `homing cron why`."
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
