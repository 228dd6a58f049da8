"""How times, lengths and states read: the same words and shapes as on the page. Pure, and light to import."""

import shlex
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from homing.cli.visible import visible
from homing.model.contract import Json

# ok ●  error ✕  waiting ○  running ◐  skipped –  cancelled ⊘  disabled ‖  done ✓: as in the page's Glyph.tsx
RUN_GLYPHS = {
    "ok": ("●", "green"),
    "error": ("✕", "red"),
    "queued": ("○", "yellow"),
    "running": ("◐", "cyan"),
    "skipped": ("–", "bright_black"),
    "cancelled": ("⊘", "bright_black"),
}
JOB_GLYPHS = {
    "active": ("●", "green"),
    "paused": ("‖", "bright_black"),
    "attention": ("✕", "red"),
    "done": ("✓", "bright_black"),
}
TURN_GLYPHS = {
    "answered": ("●", "green"),
    "empty": ("●", "green"),
    "failed": ("✕", "red"),
    "cancelled": ("⊘", "bright_black"),
    "running": ("◐", "cyan"),
}
APPROVAL_GLYPHS = {
    "pending": ("○", "yellow"),
    "approved": ("◐", "cyan"),
    "running": ("◐", "cyan"),
    "done": ("●", "green"),
    "failed": ("✕", "red"),
    "unknown": ("?", "red"),
    "denied": ("⊘", "bright_black"),
    "expired": ("–", "bright_black"),
}
QUESTION_GLYPHS = {"pending": ("○", "yellow"), "answered": ("●", "green"), "expired": ("–", "bright_black")}
INBOX_GLYPHS = {
    "unread": ("●", "cyan"),
    "approval": ("○", "yellow"),
    "question": ("?", "yellow"),
    "failure": ("✕", "red"),
}
DELIVERY_GLYPHS = {"pending": ("○", "yellow"), "sent": ("●", "green"), "dead": ("✕", "red")}

_STEPS = ((60, "s", 1), (3600, "min", 60), (86_400, "h", 3600))
_DAY, _WEEK, _TWO_MONTHS = 86_400, 604_800, 5_184_000
_MONTH, _YEAR = 2_592_000, 31_536_000


def unkept_promise(message: Json) -> str | None:
    """Say that an answer promises something for which nothing was scheduled, and how to schedule it."""
    promise = message.get("promise")
    if not promise or promise["job_id"]:
        return None
    words = [promise["when"] or "WHEN", promise["message"] or "WHAT", "-s", message["session_key"]]
    # As on the page: given twice, it is one automation.
    words += ["--dedupe-key", f"promise:{message['seq']}"]
    given = " ".join(shlex.quote(visible(word)) for word in words) + (" --reminder" if promise["reminder"] else "")
    return f"Nothing was scheduled for this. To schedule it: homing cron add {given}"


def instant(text: str) -> datetime:
    """Read an instant as the API spells it."""
    return datetime.fromisoformat(text)


def moment(at: datetime, now: datetime) -> str:
    """Say a wall time: the day, and no more of it than is needed."""
    year = "" if at.year == now.astimezone(at.tzinfo).year else f" {at.year}"
    seconds = ":%S" if at.second else ""
    return at.strftime(f"%a {at.day} %b{year} %H:%M{seconds}")


def away(at: datetime, now: datetime) -> str:
    """Say how far an instant is: `in 13 h`, `5 min ago`."""
    seconds = (at - now).total_seconds()
    given = _span(abs(seconds))
    if given == "0 s":
        return "now"
    return f"in {given}" if seconds > 0 else f"{given} ago"


def took(ms: int | None) -> str:
    """Say how long something took."""
    if ms is None:
        return ""
    return f"{ms} ms" if ms < 1000 else f"{ms / 1000:.1f} s" if ms < 60_000 else _span(ms / 1000)


def spent(usage: Json) -> str:
    """Say what model calls used; nothing when there was none."""
    tokens = usage["input_tokens"] + usage["output_tokens"]
    if not tokens:
        return ""
    return f"{tokens:,} tokens, {dollars(usage)}"


def dollars(usage: Json) -> str:
    """Say a price, small ones with as many digits as they need."""
    cost = usage["cost_usd"]
    if cost is None:
        return "price unknown"
    return f"${cost:.2f}" if cost >= 1 or cost == 0 else f"${cost:.2g}" if cost >= 0.0001 else "less than $0.0001"


def in_zone(text: str, tz: str) -> datetime:
    """Put an instant of the API on the clock of a zone."""
    return instant(text).astimezone(ZoneInfo(tz))


def now() -> datetime:
    return datetime.now(UTC)


def outcome(run: Json) -> str:
    """Say what became of a run, and of its message."""
    reason = f": {run['reason_words']}" if run["reason_words"] else ""
    waits = f" for its {run['waiting_for']}" if run.get("waiting_for") else ""
    given = f"{run['state_words']}{reason or waits}"
    lost = [carried["address"] for carried in run.get("deliveries") or () if carried["state"] == "dead"]
    return f"{given}, not delivered to {', '.join(lost)}" if lost else given


def hook_of(message: Json) -> str | None:
    """Name the hook that a message came from."""
    meta: Json = message.get("meta") or {}
    match meta.get("source"):
        case "hook":
            return f"Hook “{meta.get('hook_name') or meta['hook_id']}”"
        case "agent":
            return f"Agent {meta.get('from_agent') or ''}".strip()
        case _:
            return None


def why_empty(none: str, command: str, *filters: object) -> str:
    """Say why a list is empty: there are none at all, or none that the filters let through."""
    if all(one is None for one in filters):
        return none
    return f"Nothing matches the filter. To see all: homing {command}"


def words_and_zone(job: Json) -> tuple[str, str]:
    """Part a schedule's words from its zone, so that the zone can stand beside the times."""
    tz = job["schedule"]["tz"]
    return job["words"].removesuffix(f" ({tz})").removesuffix(f" {tz}"), tz


def _span(seconds: float) -> str:
    for below, unit, size in _STEPS:
        if seconds < below:
            return f"{round(seconds / size) if unit != 's' else int(seconds)} {unit}"
    if seconds < _WEEK:
        days, hours = divmod(round(seconds / 3600), 24)
        return f"{days} d {hours} h" if hours else f"{days} d"
    if seconds < _TWO_MONTHS:
        return f"{round(seconds / _DAY)} d"
    if seconds < 2 * _YEAR:
        return f"{int(seconds // _MONTH)} months"
    return f"{int(seconds // _YEAR)} years"
