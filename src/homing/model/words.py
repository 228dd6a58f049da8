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
APPROVAL_STATES: Mapping[str, str] = {
    "pending": "waiting for an answer",
    "approved": "approved, about to begin",
    "running": "approved, running",
    "done": "approved and done",
    "failed": "approved, but it failed",
    "unknown": "approved; whether it happened is unknown",
    "denied": "denied",
    "expired": "ended without being done",
}
APPROVAL_ENDINGS: Mapping[str, str] = {
    "time": "nobody answered in time",
    "replaced": "a newer request replaced it",
    "session_deleted": "its conversation was deleted",
    "agent_changed": "its agent was changed or removed",
    "tool_changed": "the tool is not as it was when it was asked for",
    "approver_gone": "the person who approved it is no longer allowed to approve",
}
QUESTION_STATES: Mapping[str, str] = {
    "pending": "waiting for an answer",
    "answered": "answered",
    "expired": "ended without an answer",
}
AUDIENCES: Mapping[str, str] = {
    "owner": "the user of the conversation",
    "admin": "an administrator",
}
SOURCES: Mapping[str, str] = {
    "person": "a turn that a person's message opened",
    "run": "a scheduled run",
    "report": "a turn about a run's report",
    "hook": "a turn that a hook opened",
    "agent": "a turn that another agent opened",
    "system": "a turn that Homing opened",
}
# Of a model call that is made again; never a provider's own words (rule 26).
RETRY_CAUSES: Mapping[str | None, str] = {
    "limit": "rate limit reached",
    "server": "the model's server reported an error",
    None: "the model failed",
}
_REASONS = {
    "empty": "its answer was empty",
    "quiet": "it had nothing to report",
    "model": "model error",
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
    "gate": "its script found nothing to do",
    "script": "its script did not work",
    "budget": "the budget of the day was used up",
    "brake": "turns that no person asked for kept causing others",
}


def reason_words(reason: str | None) -> str | None:
    """Say the reason of a run; one that is not in the list is shown as it is."""
    return None if reason is None else _REASONS.get(reason, reason.replace("_", " "))
