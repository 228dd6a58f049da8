"""How states, reasons and triggers read: the one list that every answer, the terminal and the page show.

They start with a small letter, to stand inside a sentence. A reason completes "failed: …" and "skipped: …".
"""

from collections.abc import Mapping

JOB_STATUSES: Mapping[str, str] = {
    "active": "active",
    "paused": "paused",
    "attention": "needs you",
    "done": "done",
}
RUN_STATES: Mapping[str, str] = {
    "queued": "waiting",
    "running": "running",
    "ok": "OK",
    "error": "failed",
    "skipped": "skipped",
    "cancelled": "cancelled",
}
TRIGGERS: Mapping[str, str] = {
    "timer": "on schedule",
    "catch_up": "caught up",
    "manual": "run now",
    "retry": "tried again",
}
TURN_OUTCOMES: Mapping[str, str] = {
    "answered": "answered",
    "empty": "empty answer",
    "failed": "failed",
    "cancelled": "stopped",
}
_REASONS = {
    "empty": "its answer was empty",
    "quiet": "it had nothing to report",
    "model": "the model gave no answer",
    "tool": "a tool did not work",
    "timeout": "it took longer than it may",
    "interrupted": "its worker stopped three times in the middle",
    "session_missing": "its session is gone",
    "schedule": "its schedule cannot be computed",
    "missed": "Homing was not running, or came too late for it",
    "overlap": "the run before it had not ended",
    "asked": "somebody asked for that",
    "disabled": "the automation was paused before it could start",
    "rescheduled": "the automation was given another time before it could start",
    "removed": "the automation was removed",
    "session_deleted": "the session was deleted",
    "gate": "its condition did not hold",
    "brake": "turns that no person asked for kept causing others",
}


def reason_words(reason: str | None) -> str | None:
    """Say the reason of a run; one that is not in the list is shown as it is."""
    return None if reason is None else _REASONS.get(reason, reason.replace("_", " "))
